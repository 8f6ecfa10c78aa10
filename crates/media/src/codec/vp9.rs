//! VP9 frames, as far as their first bits tell what they are worth (VP9 bitstream specification,
//! section 6.2, uncompressed header).

use crate::Class;

const FRAME_MARKER: u32 = 2;
const SYNC_CODE: u32 = 0x49_8342;

/// The largest luma picture of a level (Annex A), and what the codec's name says of it. Of two
/// levels that differ in their rate only, the higher one: no decoder refuses less than it can.
const LEVELS: [(u64, u8); 8] = [
    (36_864, 10),
    (73_728, 11),
    (122_880, 20),
    (245_760, 21),
    (552_960, 30),
    (983_040, 31),
    (2_228_224, 41),
    (8_912_896, 51),
];

/// What is larger still.
const LEVEL_MAX: u8 = 62;

/// The first bits of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    profile: u8,
    /// Of key frames of profiles 2 and 3; else 8.
    bit_depth: u8,
    is_key: bool,
    /// Others may be predicted from it.
    refreshes: bool,
}

/// What a picture is worth, which may come with frames that are not shown. None if it is no VP9.
#[must_use]
pub fn class(chunk: &[u8]) -> Option<Class> {
    let heads = frames(chunk).map(Head::parse).collect::<Option<Vec<_>>>()?;
    Some(if heads.first()?.is_key {
        Class::KeyFrame
    } else if heads.iter().any(|head| head.refreshes) {
        Class::Reference
    } else {
        Class::Disposable
    })
}

/// The codec as `WebCodecs` spells it, from a key frame and the size of the picture: profile,
/// level, bits. None if it is no key frame.
#[must_use]
pub fn codec(key_frame: &[u8], width: u64, height: u64) -> Option<String> {
    let Head { profile, bit_depth, .. } =
        frames(key_frame).next().and_then(Head::parse).filter(|head| head.is_key)?;
    let luma = width.saturating_mul(height);
    let fits = LEVELS.iter().find(|(size, _)| luma <= *size);
    let level = fits.map_or(LEVEL_MAX, |(_, level)| *level);
    Some(format!("vp09.{profile:02}.{level}.{bit_depth:02}"))
}

/// The frames of a superframe (Annex B), or the one that it is.
fn frames(chunk: &[u8]) -> impl Iterator<Item = &[u8]> {
    let sizes = superframe_sizes(chunk).unwrap_or_else(|| vec![chunk.len()]);
    let mut rest = chunk;
    sizes.into_iter().map_while(move |size| {
        let (frame, after) = rest.split_at_checked(size)?;
        rest = after;
        Some(frame)
    })
}

fn superframe_sizes(chunk: &[u8]) -> Option<Vec<usize>> {
    let marker = *chunk.last()?;
    let (count, bytes) = (usize::from(marker & 7) + 1, usize::from(marker >> 3 & 3) + 1);
    let index = chunk.get(chunk.len().checked_sub(2 + count * bytes)?..)?;
    if marker & 0xe0 != 0xc0 || index.first() != Some(&marker) {
        return None;
    }
    let size =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |size, byte| size << 8 | usize::from(*byte));
    Some(index.get(1..=count * bytes)?.chunks(bytes).map(size).collect())
}

impl Head {
    fn parse(frame: &[u8]) -> Option<Self> {
        let mut bits = Bits::of(frame);
        if bits.take(2)? != FRAME_MARKER {
            return None;
        }
        let profile = bits.take(1)? as u8 | (bits.take(1)? as u8) << 1;
        if profile == 3 && bits.take(1)? != 0 {
            return None;
        }
        let mut head = Self { profile, bit_depth: 8, is_key: false, refreshes: false };
        let shows_existing = bits.take(1)? == 1;
        if shows_existing {
            return Some(head);
        }
        let is_inter = bits.take(1)? == 1;
        let (is_shown, is_resilient) = (bits.take(1)? == 1, bits.take(1)? == 1);
        if !is_inter {
            if bits.take(24)? != SYNC_CODE {
                return None;
            }
            if profile >= 2 {
                head.bit_depth = if bits.take(1)? == 1 { 12 } else { 10 };
            }
            return Some(Self { is_key: true, refreshes: true, ..head });
        }
        let is_intra_only = !is_shown && bits.take(1)? == 1;
        if !is_resilient {
            bits.take(2)?;
        }
        if is_intra_only {
            // What follows depends on the profile; nobody sends one for nothing.
            return Some(Self { refreshes: true, ..head });
        }
        head.refreshes = bits.take(8)? != 0;
        Some(head)
    }
}

/// The first bits of a frame, the highest first.
struct Bits {
    bits: u64,
    left: u32,
}

impl Bits {
    fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..8).unwrap_or(bytes);
        let bits = bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        Self { bits, left: 8 * bytes.len() as u32 }
    }

    fn take(&mut self, count: u32) -> Option<u32> {
        self.left = self.left.checked_sub(count)?;
        Some((self.bits >> self.left & ((1 << count) - 1)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::superframe;

    /// Profile 0, shown, 8 bits.
    const KEY: [u8; 6] = [0x82, 0x49, 0x83, 0x42, 0, 0];

    /// Profile 0, predicted, shown, with these references to be replaced.
    fn inter(refresh: u8) -> Vec<u8> {
        // 10 0 0 0 1 1 0 | 00, then eight bits.
        vec![0x86, refresh >> 2, refresh << 6, 0, 0]
    }

    #[test]
    fn frames_are_told_apart_by_what_is_predicted_from_them() {
        assert_eq!(class(&KEY), Some(Class::KeyFrame));
        assert_eq!(class(&inter(1)), Some(Class::Reference));
        assert_eq!(class(&inter(0)), Some(Class::Disposable));
        let shows_existing = [0x88, 0];
        assert_eq!(class(&shows_existing), Some(Class::Disposable));
    }

    #[test]
    fn a_picture_that_comes_with_a_hidden_frame_is_worth_as_much() {
        let hidden = vec![0x84, 0x01, 0x00, 0, 0];
        assert_eq!(class(&superframe(&hidden, Some(&inter(0)))), Some(Class::Reference));
        assert_eq!(class(&superframe(&KEY, Some(&inter(0)))), Some(Class::KeyFrame));
        assert_eq!(class(&superframe(&inter(0), Some(&inter(0)))), Some(Class::Disposable));
    }

    #[test]
    fn the_codec_is_named_by_profile_level_and_bits() {
        assert_eq!(codec(&KEY, 640, 360).as_deref(), Some("vp09.00.21.08"));
        assert_eq!(codec(&KEY, 1_920, 1_080).as_deref(), Some("vp09.00.41.08"));
        assert_eq!(codec(&KEY, 7_680, 4_320).as_deref(), Some("vp09.00.62.08"));
        // Profile 2: 10 0 1 0 0 1 0, the sync code, and a 0 for ten bits.
        let ten_bits = [0x92, 0x49, 0x83, 0x42, 0, 0];
        assert_eq!(codec(&ten_bits, 640, 360).as_deref(), Some("vp09.02.21.10"));
        assert_eq!(codec(&inter(1), 640, 360), None);
    }

    #[test]
    fn what_is_cut_or_something_else_is_nothing() {
        for bytes in [&[][..], &[0x82], &KEY[..3], &[0x42, 0, 0], &[0x82, 1, 2, 3, 4], &[0xc1]] {
            assert_eq!(class(bytes), None, "{bytes:?}");
        }
        // An index that promises more than there is.
        assert_eq!(class(&[0xc1, 200, 200, 0xc1]), None);
    }
}
