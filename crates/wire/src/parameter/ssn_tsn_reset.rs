//! SSN/TSN Reset Request (15), RFC 6525 section 4.3.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 15       |      Parameter Length = 8     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Re-configuration Request Sequence Number              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::DecodeError;
use crate::tlv::Tlv;

pub(super) fn decode(tlv: Tlv<'_>) -> Result<u32, DecodeError> {
    super::fixed_value(tlv).map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use crate::Parameter;
    use crate::test_support::{assert_parameter, hex};

    #[test]
    fn it_is_a_number_and_nothing_else() {
        let request = Parameter::SsnTsnResetRequest { request_sequence_number: 0x0102_0304 };
        assert_parameter(&hex("000f0008 01020304"), request);
    }
}
