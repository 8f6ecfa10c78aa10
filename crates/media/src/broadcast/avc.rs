//! H.264 access units in Annex B form (ITU-T H.264).

use crate::codec::nal;

const START_CODE: [u8; 4] = [0, 0, 0, 1];

const IDR_SLICE: u8 = 5;
const SEQUENCE_PARAMETER_SET: u8 = 7;
const PICTURE_PARAMETER_SET: u8 = 8;

/// A parameter set longer than this is none.
const PARAMETER_SET_BYTES_MAX: usize = 4_096;

/// Sequence and picture parameter sets, as they came last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParameterSets {
    sequence: Option<Vec<u8>>,
    picture: Option<Vec<u8>>,
}

impl ParameterSets {
    /// The codec as `WebCodecs` spells it: profile, constraints and level.
    pub(super) fn codec(&self) -> Option<String> {
        let [_, profile, constraints, level, ..] = self.sequence.as_deref()? else { return None };
        Some(format!("avc1.{profile:02x}{constraints:02x}{level:02x}"))
    }

    /// Looks through an access unit; answers whether decoding can begin with it.
    pub(super) fn look_at(&mut self, unit: &[u8]) -> bool {
        let mut is_key = false;
        for nal in nal::units(unit) {
            let Some(header) = nal.first() else { continue };
            let set = match header & 0x1f {
                IDR_SLICE => {
                    is_key = true;
                    continue;
                }
                SEQUENCE_PARAMETER_SET => &mut self.sequence,
                PICTURE_PARAMETER_SET => &mut self.picture,
                _ => continue,
            };
            // Zeros at the end belong to the next start code.
            let end = nal.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            if end <= PARAMETER_SET_BYTES_MAX {
                *set = nal.get(..end).map(<[u8]>::to_vec);
            }
        }
        is_key
    }

    /// A key frame with parameter sets in front, if it has none of its own.
    pub(super) fn in_front_of(&self, unit: Vec<u8>) -> Vec<u8> {
        let has_own = nal::units(&unit)
            .any(|nal| nal.first().is_some_and(|header| header & 0x1f == SEQUENCE_PARAMETER_SET));
        if has_own {
            return unit;
        }
        let mut out = Vec::with_capacity(unit.len() + PARAMETER_SET_BYTES_MAX);
        for set in [&self.sequence, &self.picture].into_iter().flatten() {
            out.extend(START_CODE);
            out.extend(set);
        }
        out.extend(unit);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(nals: &[&[u8]]) -> Vec<u8> {
        nals.iter().flat_map(|nal| [&START_CODE[..], nal].concat()).collect()
    }

    const SPS: &[u8] = &[0x67, 0x4d, 0x40, 0x1e, 1, 2];
    const PPS: &[u8] = &[0x68, 9];
    const IDR: &[u8] = &[0x65, 3];
    const SLICE: &[u8] = &[0x41, 4];

    #[test]
    fn the_codec_is_that_of_the_last_sequence_parameter_set() {
        let mut sets = ParameterSets::default();
        assert!(!sets.look_at(&unit(&[SLICE])));
        assert_eq!(sets.codec(), None);
        assert!(sets.look_at(&unit(&[SPS, PPS, IDR])));
        assert_eq!(sets.codec().as_deref(), Some("avc1.4d401e"));
    }

    #[test]
    fn a_key_frame_without_parameter_sets_gets_the_last_ones() {
        let mut sets = ParameterSets::default();
        let with_own = unit(&[SPS, PPS, IDR]);
        sets.look_at(&with_own);
        assert_eq!(sets.in_front_of(unit(&[IDR])), with_own);
        assert_eq!(sets.in_front_of(with_own.clone()), with_own);
    }
}
