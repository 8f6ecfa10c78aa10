//! An [`AccessUnit`], a picture or a frame of sound, as binary messages.

use anabranch_media::Class;
use anabranch_media::decoding::{AccessUnit, LayerUnit, MediaTrack};
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

/// Bytes of all messages of a unit.
#[must_use]
pub fn encoded_len(unit: &AccessUnit) -> usize {
    unit.layers.iter().map(|layer| UNIT_HEADER_BYTES + layer.bytes.len()).sum()
}

/// The messages of a unit, one for each layer. `discontinuity` adds to its own.
#[must_use]
pub fn encode_unit(unit: &AccessUnit, discontinuity: bool) -> Vec<Bytes> {
    let discontinuity = discontinuity || unit.discontinuity;
    let last = unit.layers.len().saturating_sub(1);
    let layers = unit.layers.iter().enumerate();
    layers
        .map(|(number, layer)| {
            let is_first_broken = discontinuity && number == 0;
            let mut flags = class_flags(unit.track, layer.class);
            flags |= if is_first_broken { FLAG_DISCONTINUITY } else { 0 };
            flags |= if number == last { FLAG_LAST } else { 0 };
            encode_layer(unit, number, flags, layer)
        })
        .collect()
}

const fn class_flags(track: MediaTrack, class: Class) -> u8 {
    match (track, class) {
        (MediaTrack::Audio, _) => FLAG_KEY,
        (MediaTrack::Video, Class::KeyFrame) => FLAG_KEY | FLAG_REFERENCE,
        (MediaTrack::Video, Class::Disposable) => FLAG_DISPOSABLE,
        (
            MediaTrack::Video,
            Class::Reference | Class::Tables | Class::Audio | Class::Data | Class::Padding,
        ) => FLAG_REFERENCE,
    }
}

fn encode_layer(unit: &AccessUnit, number: usize, flags: u8, layer: &LayerUnit) -> Bytes {
    let delay = layer.delay.and_then(|delay| u32::try_from(delay.as_micros()).ok());
    let mut out = BytesMut::with_capacity(UNIT_HEADER_BYTES + layer.bytes.len());
    out.put_u8(FORMAT);
    out.put_u8(unit.track as u8);
    out.put_u8(u8::try_from(number).unwrap_or(u8::MAX));
    out.put_u8(flags);
    out.put_u32(unit.frame);
    out.put_i64(unit.pts_us);
    out.put_u64(unit.play_at.as_micros());
    out.put_u32(delay.unwrap_or(DELAY_UNKNOWN));
    out.put_u32(u32::try_from(layer.bytes.len()).unwrap_or(u32::MAX));
    out.put_slice(&layer.bytes);
    out.freeze()
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use anabranch_sansio::Time;

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
        let messages = encode_unit(&unit, true);
        assert_eq!(messages.iter().map(Bytes::len).sum::<usize>(), encoded_len(&unit));
        let flags: Vec<_> = messages.iter().map(|message| (message[2], message[3])).collect();
        let first = FLAG_KEY | FLAG_REFERENCE | FLAG_DISCONTINUITY;
        assert_eq!(flags, [(0, first), (1, FLAG_DISPOSABLE | FLAG_LAST)]);
        assert_eq!(messages[1][24..28], [0xff; 4], "its delay is unknown");
    }
}
