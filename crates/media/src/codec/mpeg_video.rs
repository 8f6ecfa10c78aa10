//! Pictures of MPEG-1, MPEG-2 and MPEG-4 part 2 video: the type stands in the picture header.

use super::{Class, Verdict};

/// picture_start_code (ISO/IEC 13818-2 table 6-1).
const PICTURE: u8 = 0x00;

/// vop_start_code (ISO/IEC 14496-2 table 6-3).
const VOP: u8 = 0xb6;

/// What a unit says if it is an MPEG-1 or MPEG-2 picture header.
pub(super) fn mpeg2_verdict(unit: &[u8]) -> Option<Verdict> {
    let [PICTURE, _, byte] = *unit.first_chunk::<3>()? else { return None };
    // temporal_reference takes 10 bits, picture_coding_type the 3 after them.
    Some(Verdict::base(match byte >> 3 & 7 {
        1 => Class::KeyFrame,
        3 => Class::Disposable,
        _ => Class::Reference,
    }))
}

/// What a unit says if it is an MPEG-4 video object plane.
pub(super) fn mpeg4_verdict(unit: &[u8]) -> Option<Verdict> {
    let [VOP, byte] = *unit.first_chunk::<2>()? else { return None };
    Some(Verdict::base(match byte >> 6 {
        0 => Class::KeyFrame,
        2 => Class::Disposable,
        _ => Class::Reference,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_classed_by_coding_type() {
        let mpeg2 = |kind: u8| mpeg2_verdict(&[PICTURE, 0, kind << 3]).map(|v| v.class);
        assert_eq!(mpeg2(1), Some(Class::KeyFrame));
        assert_eq!(mpeg2(2), Some(Class::Reference));
        assert_eq!(mpeg2(3), Some(Class::Disposable));
        assert_eq!(mpeg2_verdict(&[0xb3, 0, 8]), None, "a sequence header");
        let mpeg4 = |kind: u8| mpeg4_verdict(&[VOP, kind << 6]).map(|v| v.class);
        assert_eq!(mpeg4(0), Some(Class::KeyFrame));
        assert_eq!(mpeg4(1), Some(Class::Reference));
        assert_eq!(mpeg4(2), Some(Class::Disposable));
        assert_eq!(mpeg4_verdict(&[VOP]), None, "cut short");
    }
}
