//! AV1 in a transport stream (AOM, Carriage of AV1 in MPEG-2 TS, version 1.0.1): a PES packet has
//! an access unit, which is the OBUs of one frame, each behind a start code and escaped.

use crate::codec::av1::{
    FrameStart, ObuHeader, SEQUENCE_HEADER, TEMPORAL_DELIMITER, codec_of_sequence,
};
use crate::codec::nal;

/// A temporal unit has at most so many bytes: a page takes no longer messages.
const UNIT_BYTES_MAX: usize = 4 << 20;

/// A sequence header longer than this is none.
const SEQUENCE_BYTES_MAX: usize = 1_024;

const HAS_SIZE: u8 = 2;

/// Gathers access units into temporal units, which is what decoders take: frames that are not
/// shown go with the next one that is.
#[derive(Debug, Default)]
pub(super) struct TemporalUnits {
    /// The last sequence header, in the low overhead format.
    sequence: Option<Vec<u8>>,
    codec: Option<String>,
    open: Vec<u8>,
    /// Whether decoding can begin with the open unit, and whether it says how.
    begins: bool,
    has_sequence: bool,
}

/// What a decoder takes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TemporalUnit {
    /// In the low overhead format, without a temporal delimiter.
    pub(super) data: Vec<u8>,
    /// Whether decoding can begin with it.
    pub(super) is_key: bool,
}

impl TemporalUnits {
    /// The codec as `WebCodecs` spells it.
    pub(super) fn codec(&self) -> Option<String> {
        self.codec.clone()
    }

    /// Takes an access unit; answers with the temporal unit that it completes.
    pub(super) fn push(&mut self, unit: &[u8]) -> Option<TemporalUnit> {
        let mut is_shown = false;
        for escaped in nal::units(unit) {
            let frame = FrameStart::of(escaped);
            is_shown |= frame.is_some_and(|frame| frame.is_shown);
            self.begins |= frame.is_some_and(|frame| frame.is_key && frame.is_shown);
            self.take(escaped);
        }
        is_shown.then(|| self.complete())
    }

    /// Something of the open unit is missing.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        (self.begins, self.has_sequence) = (false, false);
    }

    fn take(&mut self, escaped: &[u8]) {
        let obu = unescaped(escaped);
        let Some(header) = ObuHeader::parse(&obu).filter(|it| it.kind != TEMPORAL_DELIMITER) else {
            return;
        };
        let Some(obu) = sized(&obu, header) else { return };
        if header.kind == SEQUENCE_HEADER && obu.len() <= SEQUENCE_BYTES_MAX {
            self.codec = codec_of_sequence(escaped);
            self.sequence = Some(obu.clone());
            self.has_sequence = true;
        }
        if self.open.len() + obu.len() > UNIT_BYTES_MAX {
            return self.forget();
        }
        self.open.extend(obu);
    }

    fn complete(&mut self) -> TemporalUnit {
        let is_key = self.begins;
        let mut data = std::mem::take(&mut self.open);
        if is_key
            && !self.has_sequence
            && let Some(sequence) = &self.sequence
        {
            data.splice(..0, sequence.iter().copied());
        }
        self.forget();
        TemporalUnit { data, is_key }
    }
}

/// Section 3.2: "emulation_prevention_three_byte", behind two zeros, is none of the OBU's bytes.
fn unescaped(escaped: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut zeros = 0;
    for &byte in escaped {
        if zeros >= 2 && byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        bytes.push(byte);
    }
    bytes
}

/// The OBU with its size in it, and nothing behind it; none if it is cut.
fn sized(obu: &[u8], header: ObuHeader) -> Option<Vec<u8>> {
    let rest = obu.get(header.len..)?;
    let payload = rest.get(..header.size.unwrap_or(rest.len()))?;
    let first = obu.get(..1 + usize::from(header.is_extended))?;
    let mut out = Vec::with_capacity(payload.len() + 8);
    out.extend(first);
    if let Some(flags) = out.first_mut() {
        *flags |= HAS_SIZE;
    }
    let mut left = payload.len();
    while left > 0x7f {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
    out.extend(payload);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELIMITER: &[u8] = &[0x12, 0];
    const SEQUENCE: &[u8] = &[0x0a, 0x0b, 0, 0, 0, 4, 0x3c, 0xfe, 0xcc, 0xda, 0xf9, 0, 0x40];
    const KEY: &[u8] = &[0x32, 3, 0x10, 7, 8];
    const HIDDEN: &[u8] = &[0x32, 2, 0x20, 9];
    const SHOWS_EXISTING: &[u8] = &[0x1a, 1, 0x80];

    /// As a multiplexer writes it.
    fn unit(obus: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for obu in obus {
            out.extend([0, 0, 1]);
            let mut zeros = 0;
            for &byte in *obu {
                if zeros >= 2 && byte <= 3 {
                    out.push(3);
                    zeros = 0;
                }
                out.push(byte);
                zeros = if byte == 0 { zeros + 1 } else { 0 };
            }
        }
        out
    }

    #[test]
    fn frames_that_are_not_shown_go_with_the_next_that_is() {
        let mut units = TemporalUnits::default();
        let key = units.push(&unit(&[DELIMITER, SEQUENCE, KEY])).unwrap();
        assert_eq!((key.data, key.is_key), ([SEQUENCE, KEY].concat(), true));
        assert_eq!(units.codec().as_deref(), Some("av01.0.00M.08"));
        assert_eq!(units.push(&unit(&[HIDDEN])), None);
        let shown = units.push(&unit(&[SHOWS_EXISTING])).unwrap();
        assert_eq!((shown.data, shown.is_key), ([HIDDEN, SHOWS_EXISTING].concat(), false));
    }

    #[test]
    fn a_key_frame_without_a_sequence_header_gets_the_last_one() {
        let mut units = TemporalUnits::default();
        units.push(&unit(&[SEQUENCE, KEY])).unwrap();
        assert_eq!(units.push(&unit(&[KEY])).unwrap().data, [SEQUENCE, KEY].concat());
    }

    #[test]
    fn escapes_go_and_sizes_come() {
        let frame = [0x30, 0x10, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 2, 0x80];
        let mut units = TemporalUnits::default();
        let shown = units.push(&unit(&[&frame])).unwrap();
        assert_eq!(shown.data, [&[0x32, 14][..], &frame[1..]].concat());
        let long = [&[0x34, 0x20, 0x10][..], &[9; 300]].concat();
        let shown = units.push(&unit(&[&long])).unwrap();
        assert_eq!(shown.data[..5], [0x36, 0x20, 0xad, 0x02, 0x10], "301 bytes");
    }

    #[test]
    fn zeros_behind_an_obu_that_says_its_size_are_none_of_it() {
        let mut units = TemporalUnits::default();
        let stuffed = [&unit(&[KEY])[..], &[0]].concat();
        assert_eq!(units.push(&stuffed).unwrap().data, KEY);
    }

    #[test]
    fn a_unit_that_never_ends_is_forgotten_at_the_bound() {
        let mut units = TemporalUnits::default();
        let hidden = unit(&[&[&[0x30, 0x20][..], &[9; 1 << 20]].concat()]);
        for _ in 0..10 {
            assert_eq!(units.push(&hidden), None);
            assert!(units.open.len() <= UNIT_BYTES_MAX);
        }
    }

    #[test]
    fn what_is_cut_or_forgotten_is_left_out() {
        let mut units = TemporalUnits::default();
        assert_eq!(units.push(&unit(&[&KEY[..4]])).map(|it| it.data), Some(Vec::new()));
        units.push(&unit(&[HIDDEN]));
        units.forget();
        assert_eq!(units.push(&unit(&[SHOWS_EXISTING])).unwrap().data, SHOWS_EXISTING);
        assert_eq!(units.push(&[]), None);
    }
}
