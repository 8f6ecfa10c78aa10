//! NAL units in a byte stream (ITU-T H.264 and H.265, annex B): what stands between start codes.

/// The NAL units of a byte stream, without their start codes and the zeros in front of them. The
/// last one may be cut short. The start codes of MPEG video are the same.
pub fn units(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut next = start_code(bytes, 0);
    std::iter::from_fn(move || {
        let begin = next?;
        next = start_code(bytes, begin);
        let end = next.map_or(bytes.len(), |after| after - START_CODE_LEN);
        Some(bytes.get(begin..end).unwrap_or_default())
    })
}

const START_CODE_LEN: usize = 3;

/// Where the first unit after `from` begins: behind the next 0x000001. No start code holds a byte
/// above 1, so that most of a picture is passed over by threes.
fn start_code(bytes: &[u8], from: usize) -> Option<usize> {
    let mut end = from + START_CODE_LEN;
    loop {
        match bytes.get(end - START_CODE_LEN..end)? {
            [0, 0, 1] => return Some(end),
            [_, _, third] if *third > 1 => end += START_CODE_LEN,
            _ => end += 1,
        }
    }
}

/// Reads bits of a NAL unit's payload, emulation prevention bytes left out.
#[derive(Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    zeros: u8,
    current: u8,
    left: u8,
}

impl<'a> BitReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, zeros: 0, current: 0, left: 0 }
    }

    pub(super) fn bit(&mut self) -> Option<u8> {
        if self.left == 0 {
            self.current = self.next_byte()?;
            self.left = 8;
        }
        self.left -= 1;
        Some(self.current >> self.left & 1)
    }

    pub(super) fn bits(&mut self, count: u8) -> Option<u32> {
        (0..count).try_fold(0, |value, _| Some(value << 1 | u32::from(self.bit()?)))
    }

    /// An unsigned Exp-Golomb number.
    pub(super) fn ue(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while self.bit()? == 0 {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        Some((1 << zeros) - 1 + self.bits(zeros)?)
    }

    fn next_byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        // ITU-T H.264 section 7.4.1: emulation_prevention_three_byte "shall be discarded by the
        // decoding process".
        if byte == 3 && self.zeros >= 2 {
            self.zeros = 0;
            return self.next_byte();
        }
        self.zeros = if byte == 0 { self.zeros.saturating_add(1) } else { 0 };
        Some(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_what_stands_between_start_codes() {
        let bytes = [9, 0, 0, 1, 0xaa, 0, 0, 0, 1, 0xbb, 0xcc, 0, 0, 1];
        let found: Vec<_> = units(&bytes).collect();
        assert_eq!(found, [&[0xaa, 0][..], &[0xbb, 0xcc], &[]]);
        assert_eq!(units(&[0, 0]).count(), 0);
    }

    #[test]
    fn a_start_code_is_found_at_any_distance_from_a_larger_byte() {
        for len in 0..8 {
            let mut bytes = vec![7; len];
            bytes.extend([0, 0, 1, 0xaa]);
            assert_eq!(units(&bytes).collect::<Vec<_>>(), [&[0xaa]], "behind {len} bytes");
        }
    }

    #[test]
    fn exp_golomb_numbers_are_read_through_emulation_prevention() {
        // 1, 010, 011, 00100 -> 0, 1, 2, 3
        let mut bits = BitReader::new(&[0b1010_0110, 0b0100_0000]);
        assert_eq!([(); 4].map(|()| bits.ue()), [Some(0), Some(1), Some(2), Some(3)]);
        let mut bits = BitReader::new(&[0, 0, 3, 1]);
        assert_eq!(bits.bits(24), Some(1));
        let mut bits = BitReader::new(&[0; 8]);
        assert_eq!(bits.ue(), None);
    }
}
