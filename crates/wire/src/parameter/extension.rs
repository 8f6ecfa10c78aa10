//! The parameters whose presence says it all.
//!
//! Reserved for ECN Capable (0x8000), RFC 9260 section 3.3.2; its form is that of RFC 4960
//! appendix A:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Parameter Type = 32768      |     Parameter Length = 4      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Forward-TSN-Supported (0xC000), RFC 3758 section 3.1:
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Parameter Type = 49152     |  Parameter Length = 4         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::DecodeError;
use crate::tlv::Tlv;

pub(super) fn decode_flag(tlv: Tlv<'_>) -> Result<(), DecodeError> {
    super::fixed_value(tlv).map(|[]| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, ParameterType, Parameters};

    #[test]
    fn extensions_that_linux_announces() {
        assert_parameter(&hex("80000004"), Parameter::EcnCapable);
        assert_parameter(&hex("c0000004"), Parameter::ForwardTsnSupported);
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let (ty, len) = (ParameterType::FORWARD_TSN_SUPPORTED, 8);
        let bytes = hex("c0000008 00000000");
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        let error = DecodeError::ParameterLengthWrong { ty, len, expected: 4 };
        assert_eq!(parameters, [Err(error)]);
    }
}
