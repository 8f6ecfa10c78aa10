//! [`Unit`]: what media is made of, and the [`Class`] that decides how it is treated.

use std::fmt;

use anabranch_sansio::Time;
use bytes::Bytes;

/// One access unit of one track, or one layer of it: the most that a single loss should hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The track it belongs to.
    pub track: Track,
    /// What it is worth to the one who watches.
    pub class: Class,
    /// The layer of a scalable codec.
    pub layer: Layer,
    /// Number of the access unit in its track, from 0. The layers of one picture share it.
    pub frame: u64,
    /// When it came to the sender, on the sender's clock. Its deadline is this moment plus the
    /// latency that both ends agreed on.
    pub at: Time,
    /// When it is to be seen or heard: microseconds of the media's own time line.
    pub pts_us: i64,
    /// The source has no higher layer of this picture.
    pub last_layer: bool,
    /// Something that it may refer to never came from the source.
    pub discontinuity: bool,
    /// The media.
    pub bytes: Bytes,
}

impl Unit {
    /// Whether others are predicted from it.
    #[must_use]
    pub const fn is_reference(&self) -> bool {
        matches!(self.class, Class::KeyFrame | Class::Reference)
    }
}

/// What loses how much when a unit is lost. Declared from the most to the least important: this
/// order decides what goes first when memory runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[repr(u8)]
pub enum Class {
    /// PSI and SI sections, packets that carry nothing but a PCR: without them nothing plays.
    Tables = 0,
    /// A picture that decoding can begin with.
    KeyFrame = 1,
    /// Sound of any codec.
    Audio = 2,
    /// A picture that others are predicted from, or one that may be.
    Reference = 3,
    /// What we cannot look into, or do not know.
    Data = 4,
    /// A picture that no other is predicted from.
    Disposable = 5,
    /// Null packets: they keep the rate of a stream constant and mean nothing.
    Padding = 6,
}

impl Class {
    /// All classes, from the most to the least important.
    pub const ALL: [Self; 7] = [
        Self::Tables,
        Self::KeyFrame,
        Self::Audio,
        Self::Reference,
        Self::Data,
        Self::Disposable,
        Self::Padding,
    ];

    /// Its place in [`Class::ALL`], which is also its number on the wire.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The class with a number, if there is one.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// Its name, as in JSON and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::KeyFrame => "key-frame",
            Self::Audio => "audio",
            Self::Reference => "reference",
            Self::Data => "data",
            Self::Disposable => "disposable",
            Self::Padding => "padding",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How many refinement steps above the base a layer is: 0 is the base. Spatial and quality layers
/// count; temporal layers are told apart by [`Class::Disposable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Layer(pub u8);

impl Layer {
    /// The layer that all others build on.
    pub const BASE: Self = Self(0);
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.pad("base"),
            n => f.pad(&format!("enhancement-{n}")),
        }
    }
}

/// Number of a track in its source; the PID in an MPEG transport stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Track(pub u16);

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// One number for each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub struct PerClass<T> {
    /// Of [`Class::Tables`].
    pub tables: T,
    /// Of [`Class::KeyFrame`].
    pub key_frame: T,
    /// Of [`Class::Audio`].
    pub audio: T,
    /// Of [`Class::Reference`].
    pub reference: T,
    /// Of [`Class::Data`].
    pub data: T,
    /// Of [`Class::Disposable`].
    pub disposable: T,
    /// Of [`Class::Padding`].
    pub padding: T,
}

impl<T> PerClass<T> {
    /// The value of a class.
    #[must_use]
    pub const fn of(&self, class: Class) -> &T {
        match class {
            Class::Tables => &self.tables,
            Class::KeyFrame => &self.key_frame,
            Class::Audio => &self.audio,
            Class::Reference => &self.reference,
            Class::Data => &self.data,
            Class::Disposable => &self.disposable,
            Class::Padding => &self.padding,
        }
    }

    /// The value of a class, to be changed.
    #[must_use]
    pub const fn of_mut(&mut self, class: Class) -> &mut T {
        match class {
            Class::Tables => &mut self.tables,
            Class::KeyFrame => &mut self.key_frame,
            Class::Audio => &mut self.audio,
            Class::Reference => &mut self.reference,
            Class::Data => &mut self.data,
            Class::Disposable => &mut self.disposable,
            Class::Padding => &mut self.padding,
        }
    }

    /// Each class with its value, the most important first.
    pub fn iter(&self) -> impl Iterator<Item = (Class, &T)> {
        Class::ALL.into_iter().map(|class| (class, self.of(class)))
    }
}

impl PerClass<u64> {
    /// The sum over all classes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| *count).sum()
    }

    /// Adds another count of each class.
    pub fn add(&mut self, other: &Self) {
        for (class, count) in other.iter() {
            *self.of_mut(class) += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_on_screen_in_json_and_on_the_wire_agree() {
        for class in Class::ALL {
            assert_eq!(serde_json::to_string(&class).unwrap(), format!("\"{class}\""));
            assert_eq!(Class::from_index(class.index()), Some(class));
        }
        assert_eq!(Class::from_index(Class::ALL.len()), None);
    }

    #[test]
    fn per_class_json_uses_the_class_names() {
        let mut counts = PerClass::<u64>::default();
        *counts.of_mut(Class::KeyFrame) = 3;
        let json = serde_json::to_value(counts).unwrap();
        for (class, count) in counts.iter() {
            assert_eq!(json[class.name()], *count);
        }
        assert_eq!(counts.total(), 3);
    }
}
