//! The cause of chunk authentication, RFC 4895 section 4.1.
//!
//! Unsupported HMAC Identifier (0x0105):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Cause Code = 0x0105      |       Cause Length = 6        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         HMAC Identifier       |            Padding            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::tlv::Tlv;
use crate::{DecodeError, HmacIdentifier};

pub(super) fn decode_unsupported(tlv: Tlv<'_>) -> Result<HmacIdentifier, DecodeError> {
    super::fixed_value(tlv).map(|identifier| HmacIdentifier(u16::from_be_bytes(identifier)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_cause, hex};
    use crate::{CauseCode, ErrorCause, ErrorCauses};

    #[test]
    fn an_algorithm_is_not_supported() {
        let hmac_identifier = HmacIdentifier::SHA_256;
        let cause = ErrorCause::UnsupportedHmacIdentifier { hmac_identifier };
        assert_cause(&hex("01050006 0003 0000"), cause);
        assert_eq!(cause.to_string(), "the HMAC algorithm SHA-256 is not supported");
    }

    #[test]
    fn another_length_is_refused() {
        let code = CauseCode::UNSUPPORTED_HMAC_IDENTIFIER;
        let bytes = hex("01050008 00030000");
        let causes: Vec<_> = ErrorCauses::from_bytes(&bytes).iter().collect();
        assert_eq!(causes, [Err(DecodeError::CauseLengthWrong { code, len: 8, expected: 6 })]);
    }
}
