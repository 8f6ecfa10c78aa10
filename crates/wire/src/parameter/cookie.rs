//! The parameters around the cookie, RFC 9260 sections 3.3.3.1.1 and 3.3.2.1.3.
//!
//! State Cookie (7):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 7            |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                            Cookie                             /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Cookie Preservative (9):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 9            |          Length = 8           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Suggested Cookie Life-Span Increment (msec.)          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::DecodeError;
use crate::tlv::Tlv;

pub(super) fn decode_preservative(tlv: Tlv<'_>) -> Result<u32, DecodeError> {
    super::fixed_value(tlv).map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, ParameterType, Parameters};

    #[test]
    fn linux_asks_for_a_cookie_that_lives_longer() {
        let preservative = Parameter::CookiePreservative { increment_ms: 500 };
        assert_parameter(&hex("00090008 000001f4"), preservative);
    }

    #[test]
    fn a_cookie_is_opaque() {
        // A whole cookie of Linux stands in the test of INIT ACK.
        assert_parameter(&hex("00070009 7374616c65 000000"), Parameter::StateCookie(b"stale"));
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let bytes = hex("0009000a 000001f4 00000000");
        let (ty, len) = (ParameterType::COOKIE_PRESERVATIVE, 10);
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        let error = DecodeError::ParameterLengthWrong { ty, len, expected: 8 };
        assert_eq!(parameters, [Err(error)]);
    }
}
