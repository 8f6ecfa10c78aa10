//! AV1 (AOM, AV1 bitstream specification; its carriage in ISOBMFF and Matroska).

const SEQUENCE_HEADER: u8 = 1;

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
        let Some((&header, mut rest)) = unit.split_first() else { return false };
        if header >> 3 & 0x0f == SEQUENCE_HEADER {
            return true;
        }
        let (has_extension, has_size) = (header & 4 != 0, header & 2 != 0);
        if has_extension {
            rest = rest.get(1..).unwrap_or_default();
        }
        // Without a size, the OBU is the last one.
        let Some((size, after)) = leb128(rest).filter(|_| has_size) else { return false };
        unit = after.get(size..).unwrap_or_default();
    }
    false
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
}
