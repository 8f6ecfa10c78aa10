//! [`AccessUnit`]: a picture or a frame of sound, as binary messages.

use std::time::Duration;

use anabranch_media::Class;
use anabranch_media::decoding::MediaTrack;
use anabranch_sansio::Time;
use bytes::{BufMut, Bytes, BytesMut};

/// Bytes before the payload of a media unit.
pub const UNIT_HEADER_BYTES: usize = 32;

const FORMAT: u8 = 1;
const FLAG_KEY: u8 = 1;
const FLAG_REFERENCE: u8 = 2;
const FLAG_DISPOSABLE: u8 = 4;
const FLAG_DISCONTINUITY: u8 = 8;
const FLAG_LAST: u8 = 16;
const DELAY_UNKNOWN: u32 = u32::MAX;

/// A picture with all its layers that came, or a frame of sound: a page gets it whole or not at
/// all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessUnit {
    /// Picture or sound.
    pub track: MediaTrack,
    /// Counts the pictures, or the frames of sound, at the sender.
    pub frame: u32,
    /// From the media.
    pub pts_us: i64,
    /// When it is to be seen or heard, on the program's clock.
    pub play_at: Time,
    /// Something that this one may refer to is missing.
    pub discontinuity: bool,
    /// From the base upwards, without a gap. Never empty.
    pub layers: Vec<LayerUnit>,
}

/// One layer of a picture, or a whole frame of sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerUnit {
    /// What loses how much without it.
    pub class: Class,
    /// How long it took from the sender's hand to the receiver's, if that is known.
    pub delay: Option<Duration>,
    /// The media.
    pub bytes: Bytes,
}

impl AccessUnit {
    /// Whether decoding can begin with it.
    #[must_use]
    pub fn is_key(&self) -> bool {
        self.track == MediaTrack::Audio
            || self.layers.first().is_some_and(|base| base.class == Class::KeyFrame)
    }

    /// Bytes of all its messages.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.layers.iter().map(|layer| UNIT_HEADER_BYTES + layer.bytes.len()).sum()
    }

    /// Its messages, one for each layer. `discontinuity` adds to its own.
    #[must_use]
    pub fn encode(&self, discontinuity: bool) -> Vec<Bytes> {
        let discontinuity = discontinuity || self.discontinuity;
        let last = self.layers.len().saturating_sub(1);
        let layers = self.layers.iter().enumerate();
        layers
            .map(|(layer, unit)| {
                let is_first_broken = discontinuity && layer == 0;
                let mut flags = self.class_flags(unit.class);
                flags |= if is_first_broken { FLAG_DISCONTINUITY } else { 0 };
                flags |= if layer == last { FLAG_LAST } else { 0 };
                self.encode_layer(layer, flags, unit)
            })
            .collect()
    }

    const fn class_flags(&self, class: Class) -> u8 {
        match (self.track, class) {
            (MediaTrack::Audio, _) => FLAG_KEY,
            (MediaTrack::Video, Class::KeyFrame) => FLAG_KEY | FLAG_REFERENCE,
            (MediaTrack::Video, Class::Disposable) => FLAG_DISPOSABLE,
            (
                MediaTrack::Video,
                Class::Reference | Class::Tables | Class::Audio | Class::Data | Class::Padding,
            ) => FLAG_REFERENCE,
        }
    }

    fn encode_layer(&self, layer: usize, flags: u8, unit: &LayerUnit) -> Bytes {
        let delay = unit.delay.and_then(|delay| u32::try_from(delay.as_micros()).ok());
        let mut out = BytesMut::with_capacity(UNIT_HEADER_BYTES + unit.bytes.len());
        out.put_u8(FORMAT);
        out.put_u8(self.track as u8);
        out.put_u8(u8::try_from(layer).unwrap_or(u8::MAX));
        out.put_u8(flags);
        out.put_u32(self.frame);
        out.put_i64(self.pts_us);
        out.put_u64(self.play_at.as_micros());
        out.put_u32(delay.unwrap_or(DELAY_UNKNOWN));
        out.put_u32(u32::try_from(unit.bytes.len()).unwrap_or(u32::MAX));
        out.put_slice(&unit.bytes);
        out.freeze()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The example of the document.
    pub(in super::super) fn example() -> AccessUnit {
        AccessUnit {
            track: MediaTrack::Video,
            frame: 104,
            pts_us: 4_160_000,
            play_at: Time::from_micros(5_200_000),
            discontinuity: false,
            layers: vec![LayerUnit {
                class: Class::KeyFrame,
                delay: Some(Duration::from_micros(34_200)),
                bytes: Bytes::from_static(&[0x82, 0x49, 0x83, 0x42, 0x00]),
            }],
        }
    }

    #[test]
    fn only_the_last_layer_is_marked_last_and_only_the_first_broken() {
        let mut unit = example();
        let enhancement =
            LayerUnit { class: Class::Disposable, delay: None, ..unit.layers[0].clone() };
        unit.layers.push(enhancement);
        let messages = unit.encode(true);
        assert_eq!(messages.iter().map(Bytes::len).sum::<usize>(), unit.encoded_len());
        let flags: Vec<_> = messages.iter().map(|message| (message[2], message[3])).collect();
        let first = FLAG_KEY | FLAG_REFERENCE | FLAG_DISCONTINUITY;
        assert_eq!(flags, [(0, first), (1, FLAG_DISPOSABLE | FLAG_LAST)]);
        assert_eq!(messages[1][24..28], [0xff; 4], "its delay is unknown");
    }
}
