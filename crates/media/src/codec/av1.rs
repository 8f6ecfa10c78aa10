//! AV1 (AOM, AV1 bitstream specification; its carriage in ISOBMFF and Matroska).

use super::Verdict;
use super::nal::BitReader;
use crate::Class;

/// Types of OBUs (AV1 bitstream specification, section 6.2.2).
pub(crate) const SEQUENCE_HEADER: u8 = 1;
pub(crate) const TEMPORAL_DELIMITER: u8 = 2;
const FRAME_HEADER: u8 = 3;
const FRAME: u8 = 6;

/// The first of the types of frames.
const KEY_FRAME: u32 = 0;

/// Up to level 3.3 there is one tier.
const TIERLESS_LEVEL_MAX: u32 = 7;

/// Each frame says it.
const SELECTED: u8 = 2;

/// A temporal unit has more OBUs only where somebody wants to keep us busy.
const OBUS_MAX: usize = 256;

/// The codec as `WebCodecs` spells it, from the configuration record of a container (`av1C`).
#[must_use]
pub fn codec(record: &[u8]) -> Option<String> {
    let &[0x81, profile_and_level, depth, ..] = record else { return None };
    let (profile, level) = (profile_and_level >> 5, profile_and_level & 0x1f);
    let tier = if depth & 0x80 == 0 { 'M' } else { 'H' };
    let bits = match (depth & 0x40 != 0, depth & 0x20 != 0) {
        (false, _) => 8,
        (true, false) => 10,
        (true, true) => 12,
    };
    Some(format!("av01.{profile}.{level:02}{tier}.{bits:02}"))
}

/// Whether a temporal unit brings a sequence header, as those do with which decoding can begin.
#[must_use]
pub fn has_sequence_header(mut unit: &[u8]) -> bool {
    for _ in 0..OBUS_MAX {
        let Some(header) = ObuHeader::parse(unit) else { return false };
        if header.kind == SEQUENCE_HEADER {
            return true;
        }
        // Without a size, the OBU is the last one.
        let Some(size) = header.size else { return false };
        unit = unit.get(header.len.saturating_add(size)..).unwrap_or_default();
    }
    false
}

/// What stands in front of an OBU's payload (AV1 bitstream specification, section 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObuHeader {
    pub(crate) kind: u8,
    /// Bytes of the header, of its extension and of the size.
    pub(crate) len: usize,
    /// Whether there is an extension.
    pub(crate) is_extended: bool,
    /// Bytes of the payload, if that is said.
    pub(crate) size: Option<usize>,
}

impl ObuHeader {
    pub(crate) fn parse(obu: &[u8]) -> Option<Self> {
        let (&first, mut rest) = obu.split_first()?;
        let kind = first >> 3 & 0x0f;
        let (is_extended, has_size) = (first & 4 != 0, first & 2 != 0);
        if is_extended {
            rest = rest.get(1..)?;
        }
        let mut size = None;
        if has_size {
            let (value, after) = leb128(rest)?;
            (size, rest) = (Some(value), after);
        }
        Some(Self { kind, len: obu.len() - rest.len(), is_extended, size })
    }
}

/// The beginning of a frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameStart {
    /// Nothing is decoded, but a frame shown that was decoded before.
    pub(crate) shows_existing: bool,
    /// It needs no other frame.
    pub(crate) is_key: bool,
    /// It is shown when it is decoded.
    pub(crate) is_shown: bool,
}

impl FrameStart {
    /// Of an OBU as a transport stream has it, if it is one that begins a frame. Streams of still
    /// pictures have shorter headers; no broadcast is one.
    pub(crate) fn of(obu: &[u8]) -> Option<Self> {
        let header = ObuHeader::parse(obu)?;
        if !matches!(header.kind, FRAME_HEADER | FRAME) {
            return None;
        }
        let mut bits = BitReader::new(obu.get(header.len..)?);
        if bits.bit()? == 1 {
            return Some(Self { shows_existing: true, is_key: false, is_shown: true });
        }
        let is_key = bits.bits(2)? == KEY_FRAME;
        Some(Self { shows_existing: false, is_key, is_shown: bits.bit()? == 1 })
    }
}

/// What an access unit of a transport stream is worth, by its first frame. Decoding can begin with
/// a key frame that is shown.
pub(super) fn verdict(obu: &[u8]) -> Option<Verdict> {
    let frame = FrameStart::of(obu)?;
    let begins = frame.is_key && frame.is_shown;
    Some(Verdict::base(if begins { Class::KeyFrame } else { Class::Reference }))
}

/// The codec as `WebCodecs` spells it, from a sequence header OBU as a transport stream has it;
/// none for still pictures.
pub(crate) fn codec_of_sequence(obu: &[u8]) -> Option<String> {
    let header = ObuHeader::parse(obu).filter(|header| header.kind == SEQUENCE_HEADER)?;
    let mut bits = BitReader::new(obu.get(header.len..)?);
    let profile = bits.bits(3)?;
    let (_still_picture, is_reduced) = (bits.bit()?, bits.bit()? == 1);
    if is_reduced {
        return None;
    }
    let (level, tier) = operating_points(&mut bits)?;
    frame_size_and_tools(&mut bits)?;
    let high_bitdepth = bits.bit()? == 1;
    let depth = match (high_bitdepth, profile) {
        (false, _) => 8,
        (true, 2) if bits.bit()? == 1 => 12,
        (true, _) => 10,
    };
    let tier = if tier == 0 { 'M' } else { 'H' };
    Some(format!("av01.{profile}.{level:02}{tier}.{depth:02}"))
}

/// AV1 bitstream specification, section 5.5.1: level and tier of the first operating point, and all
/// that is told of the others.
fn operating_points(bits: &mut BitReader<'_>) -> Option<(u32, u8)> {
    let has_timing = bits.bit()? == 1;
    let mut delay_bits = None;
    if has_timing {
        skip(bits, 64)?;
        if bits.bit()? == 1 {
            bits.ue()?;
        }
        if bits.bit()? == 1 {
            let length = bits.bits(5)? as u8 + 1;
            skip(bits, 42)?;
            delay_bits = Some(length);
        }
    }
    let has_display_delay = bits.bit()? == 1;
    let mut first = None;
    for _ in 0..=bits.bits(5)? {
        skip(bits, 12)?;
        let level = bits.bits(5)?;
        let tier = if level > TIERLESS_LEVEL_MAX { bits.bit()? } else { 0 };
        first.get_or_insert((level, tier));
        if let Some(length) = delay_bits
            && bits.bit()? == 1
        {
            skip(bits, 2 * u32::from(length) + 1)?;
        }
        if has_display_delay && bits.bit()? == 1 {
            skip(bits, 4)?;
        }
    }
    first
}

/// The same section, from the size of frames to the colours.
fn frame_size_and_tools(bits: &mut BitReader<'_>) -> Option<()> {
    let (width_bits, height_bits) = (bits.bits(4)? + 1, bits.bits(4)? + 1);
    skip(bits, width_bits + height_bits)?;
    let has_frame_ids = bits.bit()? == 1;
    if has_frame_ids {
        skip(bits, 7)?;
    }
    // Superblocks, filter intra, intra edge filter; interintra, masked, warped, dual filter.
    skip(bits, 7)?;
    let has_order_hint = bits.bit()? == 1;
    if has_order_hint {
        skip(bits, 2)?;
    }
    let screen_content = if bits.bit()? == 1 { SELECTED } else { bits.bit()? };
    if screen_content > 0 && bits.bit()? == 0 {
        skip(bits, 1)?;
    }
    if has_order_hint {
        skip(bits, 3)?;
    }
    // Super-resolution, CDEF, loop restoration.
    skip(bits, 3)
}

fn skip(bits: &mut BitReader<'_>, count: u32) -> Option<()> {
    (0..count).try_for_each(|_| bits.bit().map(drop))
}

/// AV1 bitstream specification, section 4.10.5: at most eight bytes, the lowest bits first.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0;
    for (nth, byte) in bytes.iter().take(8).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * nth);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok()?, bytes.get(nth + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codec_is_named_by_its_record() {
        assert_eq!(codec(&[0x81, 0x08, 0x0c, 0]).as_deref(), Some("av01.0.08M.08"));
        assert_eq!(codec(&[0x81, 0x2d, 0xc0, 0]).as_deref(), Some("av01.1.13H.10"));
        assert_eq!(codec(&[0x82, 0x08, 0x0c, 0]), None, "another version");
        assert_eq!(codec(&[0x81]), None);
    }

    #[test]
    fn a_sequence_header_is_found_among_the_parts_of_a_unit() {
        let delimiter = [0x12, 0];
        let metadata = [&[0x2e, 0, 0x81, 0x01][..], &[9; 129]].concat();
        let sequence = [0x0a, 1, 7];
        let frame = [0x32, 2, 1, 1];
        let key = [&delimiter[..], &metadata, &sequence, &frame].concat();
        assert!(has_sequence_header(&key));
        assert!(!has_sequence_header(&[&delimiter[..], &metadata, &frame].concat()));
        for len in 0..key.len() - frame.len() - sequence.len() {
            assert!(!has_sequence_header(&key[..len]));
        }
        assert!(!has_sequence_header(&[0x32; 3]) && !has_sequence_header(&[0x12; 2_000]));
    }

    /// Of libaom: 320 x 180, and the record that ffmpeg made of it for Matroska.
    const SEQUENCE: [u8; 13] =
        [0x0a, 0x0b, 0, 0, 0, 0x04, 0x3c, 0xfe, 0xcc, 0xda, 0xf9, 0x00, 0x40];
    const RECORD: [u8; 4] = [0x81, 0x00, 0x0c, 0x00];

    #[test]
    fn the_sequence_header_says_the_same_as_the_record() {
        assert_eq!(codec_of_sequence(&SEQUENCE), codec(&RECORD));
        assert_eq!(codec(&RECORD).as_deref(), Some("av01.0.00M.08"));
        for len in 0..SEQUENCE.len() - 3 {
            assert_eq!(codec_of_sequence(&SEQUENCE[..len]), None, "{len}");
        }
        let reduced = [0x0a, 0x0b, 0x18, 0, 0, 0x04];
        assert_eq!(codec_of_sequence(&reduced), None, "a still picture");
    }

    #[test]
    fn the_first_bits_of_a_frame_say_what_it_is_worth() {
        let frame = |first: u8| FrameStart::of(&[0x32, 9, first]);
        let begins = |first: u8| verdict(&[0x32, 9, first]).unwrap().class == Class::KeyFrame;
        assert_eq!(frame(0x10).map(|it| (it.is_key, it.is_shown)), Some((true, true)));
        assert_eq!(frame(0x20).map(|it| (it.is_key, it.is_shown)), Some((false, false)));
        assert_eq!(frame(0x80).map(|it| (it.shows_existing, it.is_shown)), Some((true, true)));
        assert!(begins(0x10) && !begins(0x00) && !begins(0x30) && !begins(0x80));
        assert_eq!(FrameStart::of(&[0x32, 9]), None, "cut");
        assert_eq!(FrameStart::of(&[0x2a, 1, 0x10]), None, "metadata");
    }
}
