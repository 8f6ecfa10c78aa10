//! [`MediaClass`]: the rows of the treatment table.

use std::fmt;

use anabranch_media::{Class, Layer};
use anabranch_transport::{Level, StreamId};
use serde::{Deserialize, Serialize};

/// What the treatment table tells apart, from the most to the least important: when a queue is
/// full, the last goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum MediaClass {
    /// The session's own messages.
    Control = 0,
    /// [`Class::Tables`].
    Tables = 1,
    /// [`Class::KeyFrame`].
    KeyFrame = 2,
    /// [`Class::Audio`].
    Audio = 3,
    /// [`Class::Reference`].
    Reference = 4,
    /// [`Class::Data`]: what we cannot look into.
    Data = 5,
    /// [`Class::Disposable`].
    Disposable = 6,
    /// Any layer above the base: without it the picture is there, only less sharp.
    Enhancement = 7,
    /// [`Class::Padding`].
    Padding = 8,
}

impl MediaClass {
    /// All of them, from the most to the least important.
    pub const ALL: [Self; 9] = [
        Self::Control,
        Self::Tables,
        Self::KeyFrame,
        Self::Audio,
        Self::Reference,
        Self::Data,
        Self::Disposable,
        Self::Enhancement,
        Self::Padding,
    ];

    /// SCTP streams that a session needs in each direction.
    pub const STREAMS: u16 = Self::ALL.len() as u16;

    /// Where media of this class and layer belongs.
    #[must_use]
    pub const fn of(class: Class, layer: Layer) -> Self {
        if layer.0 > 0 {
            return Self::Enhancement;
        }
        match class {
            Class::Tables => Self::Tables,
            Class::KeyFrame => Self::KeyFrame,
            Class::Audio => Self::Audio,
            Class::Reference => Self::Reference,
            Class::Data => Self::Data,
            Class::Disposable => Self::Disposable,
            Class::Padding => Self::Padding,
        }
    }

    /// Its place in [`ALL`](Self::ALL).
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The SCTP stream that carries it.
    #[must_use]
    pub const fn stream(self) -> StreamId {
        StreamId(self as u16)
    }

    /// What a stream carries, if it is one of ours.
    #[must_use]
    pub fn of_stream(stream: StreamId) -> Option<Self> {
        Self::ALL.get(usize::from(stream.0)).copied()
    }

    /// Its name, as in tables, JSON and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Tables => "tables",
            Self::KeyFrame => "key-frame",
            Self::Audio => "audio",
            Self::Reference => "reference",
            Self::Data => "data",
            Self::Disposable => "disposable",
            Self::Enhancement => "enhancement",
            Self::Padding => "padding",
        }
    }

    /// How much it matters to a receiver that cannot keep up, unless the table says otherwise.
    #[must_use]
    pub const fn level(self) -> Level {
        match self {
            Self::Control => Level::Urgent,
            Self::Tables | Self::KeyFrame | Self::Audio => Level::High,
            Self::Reference | Self::Data => Level::Normal,
            Self::Disposable | Self::Enhancement | Self::Padding => Level::Low,
        }
    }

    /// What it holds, in words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Control => "the session's own messages",
            Self::Tables => "program tables and clocks",
            Self::KeyFrame => "pictures that decoding can begin with",
            Self::Audio => "sound",
            Self::Reference => "pictures that others are predicted from",
            Self::Data => "what cannot be told apart",
            Self::Disposable => "pictures that nothing is predicted from",
            Self::Enhancement => "layers that refine a picture",
            Self::Padding => "null packets",
        }
    }
}

impl fmt::Display for MediaClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_stream_of_its_own() {
        for (stream, class) in (0..).zip(MediaClass::ALL) {
            assert_eq!(class.stream(), StreamId(stream));
            assert_eq!(MediaClass::of_stream(StreamId(stream)), Some(class));
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
        assert_eq!(MediaClass::of_stream(StreamId(MediaClass::STREAMS)), None);
    }

    #[test]
    fn layers_above_the_base_are_enhancements_whatever_their_class() {
        for class in Class::ALL {
            assert_eq!(MediaClass::of(class, Layer(2)), MediaClass::Enhancement);
            assert_eq!(MediaClass::of(class, Layer::BASE).name(), class.name());
        }
    }
}
