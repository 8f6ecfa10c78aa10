//! Numbers of one to ten bytes: seven bits a byte, the lowest first.

use super::DecodeError;

/// The most bytes that [`encode`] writes.
pub(super) const MAX_LEN: usize = 10;

pub(super) fn encode(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes that [`encode`] writes for a value.
pub(super) const fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Takes a number from the front of `bytes`.
pub(super) fn decode(bytes: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0_u64;
    for shift in (0..).step_by(7).take(MAX_LEN) {
        let Some((&byte, rest)) = bytes.split_first() else {
            return Err(DecodeError::Truncated);
        };
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(DecodeError::NumberTooLarge);
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DecodeError::NumberTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_survives_the_round_trip() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1_u64 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                encode(value, &mut bytes);
                assert_eq!(bytes.len(), len(value), "{value:#x}");
                assert_eq!(decode(&mut bytes.as_slice()), Ok(value));
            }
        }
    }

    #[test]
    fn unfinished_and_oversized_numbers_are_refused() {
        assert_eq!(decode(&mut [0x80, 0x80].as_slice()), Err(DecodeError::Truncated));
        assert_eq!(decode(&mut [0xff; 10].as_slice()), Err(DecodeError::NumberTooLarge));
        let mut above = [0xff; 10];
        above[9] = 0x02;
        assert_eq!(decode(&mut above.as_slice()), Err(DecodeError::NumberTooLarge));
    }
}
