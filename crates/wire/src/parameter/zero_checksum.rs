//! Zero Checksum Acceptable (0x8001), RFC 9653 section 4.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Type = 0x8001         |          Length = 8           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Error Detection Method Identifier (EDMID)           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::DecodeError;
use crate::tlv::Tlv;

/// What finds errors instead of the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorDetectionMethod(pub u32);

impl ErrorDetectionMethod {
    /// SCTP over DTLS (RFC 8261): DTLS refuses what was changed on its way.
    pub const DTLS: Self = Self(1);
    /// The DTLS chunk, in packets that hold one: a number of our own, as its draft has none yet.
    pub const DTLS_CHUNK: Self = Self(0xbd00_0041);
}

pub(super) fn decode(tlv: Tlv<'_>) -> Result<ErrorDetectionMethod, DecodeError> {
    super::fixed_value(tlv).map(|value| ErrorDetectionMethod(u32::from_be_bytes(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, ParameterType, Parameters};

    #[test]
    fn the_method_is_told_by_its_number() {
        let dtls = Parameter::ZeroChecksumAcceptable(ErrorDetectionMethod::DTLS);
        assert_parameter(&hex("80010008 00000001"), dtls);
        let other = Parameter::ZeroChecksumAcceptable(ErrorDetectionMethod(0x0102_0304));
        assert_parameter(&hex("80010008 01020304"), other);
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let bytes = hex("80010004");
        let (ty, len) = (ParameterType::ZERO_CHECKSUM_ACCEPTABLE, 4);
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        let error = DecodeError::ParameterLengthWrong { ty, len, expected: 8 };
        assert_eq!(parameters, [Err(error)]);
    }
}
