//! The causes that end an association for no chunk's fault, RFC 9260 sections 3.3.10.4, 3.3.10.12
//! and 3.3.10.13.
//!
//! Out of Resource (4):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 4         |       Cause Length = 4        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! User-Initiated Abort (12):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 12        |         Cause Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                   Upper Layer Abort Reason                    /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Protocol Violation (13):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 13         |        Cause Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                    Additional Information                     /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_cause, hex};
    use crate::{CauseCode, DecodeError, ErrorCause, ErrorCauses};

    #[test]
    fn resources_are_exhausted() {
        assert_cause(&hex("00040004"), ErrorCause::OutOfResource);
    }

    #[test]
    fn an_application_on_linux_gives_its_reason() {
        let bytes = hex("000c0012 656e6f756768206f662074686973 0000");
        assert_cause(&bytes, ErrorCause::UserInitiatedAbort(b"enough of this"));
    }

    #[test]
    fn linux_explains_a_violation() {
        let mut bytes = hex("000d0030");
        let information = b"The following chunk had invalid length:\0\x03\0\0\x08";
        bytes.extend_from_slice(information);
        assert_cause(&bytes, ErrorCause::ProtocolViolation(information));
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let bytes = hex("00040008 00000000");
        let (code, len) = (CauseCode::OUT_OF_RESOURCE, 8);
        let causes: Vec<_> = ErrorCauses::from_bytes(&bytes).iter().collect();
        assert_eq!(causes, [Err(DecodeError::CauseLengthWrong { code, len, expected: 4 })]);
    }
}
