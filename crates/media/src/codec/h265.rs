//! H.265 NAL units.

use super::{Class, Layer, Verdict};

/// The two bytes in front of each NAL unit (ITU-T H.265 section 7.3.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NalHeader {
    /// What the unit is (ITU-T H.265 table 7-1).
    pub nal_unit_type: u8,
    /// The layer of a scalable stream.
    pub nuh_layer_id: u8,
    /// The temporal sub-layer.
    pub temporal_id: u8,
}

/// Types below are slices.
const FIRST_NON_VCL: u8 = 32;

/// BLA_W_LP to RSV_IRAP_VCL23: decoding can begin here.
const IRAP: std::ops::RangeInclusive<u8> = 16..=23;

/// RSV_VCL_N14: even types up to here are sub-layer non-reference pictures.
const LAST_SUB_LAYER_TYPE: u8 = 15;

const SPS: u8 = 33;

impl NalHeader {
    /// Reads the header at the start of a NAL unit; `None` if the unit is shorter.
    #[must_use]
    pub fn parse(unit: &[u8]) -> Option<Self> {
        let [a, b] = *unit.first_chunk::<2>()?;
        Some(Self {
            nal_unit_type: a >> 1 & 0x3f,
            nuh_layer_id: (a & 1) << 5 | b >> 3,
            temporal_id: (b & 7).saturating_sub(1),
        })
    }
}

/// What a NAL unit says of its access unit, if it is a slice. Remembers the highest temporal
/// sub-layer when it passes by.
pub(super) fn verdict(unit: &[u8], highest_temporal_id: &mut Option<u8>) -> Option<Verdict> {
    let header = NalHeader::parse(unit)?;
    if header.nal_unit_type == SPS && header.nuh_layer_id == 0 {
        // sps_video_parameter_set_id u(4), sps_max_sub_layers_minus1 u(3)
        *highest_temporal_id = unit.get(2).map(|byte| byte >> 1 & 7).or(*highest_temporal_id);
    }
    if header.nal_unit_type >= FIRST_NON_VCL {
        return None;
    }
    let class = if IRAP.contains(&header.nal_unit_type) {
        Class::KeyFrame
    } else if is_disposable(header, *highest_temporal_id) {
        Class::Disposable
    } else {
        Class::Reference
    };
    Some(Verdict { class, layer: Layer(header.nuh_layer_id) })
}

/// ITU-T H.265 section 3: a sub-layer non-reference picture "contains samples that cannot be used
/// for inter prediction in the decoding process of subsequent pictures of the same sub-layer": in
/// the highest sub-layer nothing needs it.
fn is_disposable(header: NalHeader, highest_temporal_id: Option<u8>) -> bool {
    header.nal_unit_type <= LAST_SUB_LAYER_TYPE
        && header.nal_unit_type.is_multiple_of(2)
        && highest_temporal_id.is_some_and(|highest| header.temporal_id >= highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(nal_unit_type: u8, temporal_id: u8) -> [u8; 4] {
        [nal_unit_type << 1, temporal_id + 1, 0x80, 0]
    }

    fn class(nal_unit_type: u8, temporal_id: u8, highest: Option<u8>) -> Option<Class> {
        verdict(&unit(nal_unit_type, temporal_id), &mut { highest }).map(|verdict| verdict.class)
    }

    #[test]
    fn pictures_are_classed_by_type_and_sub_layer() {
        assert_eq!(class(19, 0, None), Some(Class::KeyFrame), "IDR_W_RADL");
        assert_eq!(class(21, 0, None), Some(Class::KeyFrame), "CRA_NUT");
        assert_eq!(class(1, 0, Some(0)), Some(Class::Reference), "TRAIL_R");
        assert_eq!(class(0, 0, Some(0)), Some(Class::Disposable), "TRAIL_N");
        assert_eq!(class(8, 0, Some(0)), Some(Class::Disposable), "RASL_N");
        assert_eq!(class(2, 2, Some(2)), Some(Class::Disposable), "TSA_N in the highest sub-layer");
        assert_eq!(class(2, 1, Some(2)), Some(Class::Reference), "TSA_N below the highest");
        assert_eq!(class(0, 0, None), Some(Class::Reference), "sub-layers unknown");
        assert_eq!(class(39, 0, Some(0)), None, "SEI");
    }

    #[test]
    fn the_highest_sub_layer_is_read_from_the_sequence_parameter_set() {
        let mut highest = None;
        assert_eq!(verdict(&[SPS << 1, 1, 0x25], &mut highest), None);
        assert_eq!(highest, Some(2));
        assert_eq!(verdict(&[SPS << 1, 1], &mut highest), None);
        assert_eq!(highest, Some(2), "a cut one changes nothing");
    }
}
