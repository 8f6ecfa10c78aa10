//! The causes of address reconfiguration, RFC 5061 section 4.3.
//!
//! Request to Delete Last Remaining IP Address (0x00A0), Operation Refused Due to Resource Shortage
//! (0x00A1), Request to Delete Source IP Address (0x00A2) and Request Refused - No Authorization
//! (0x00A4):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Cause Code=0x00A0         |      Cause Length=Variable    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                     TLV-Copied-From-ASCONF                    /
//! /                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Association Aborted Due to Illegal ASCONF-ACK (0x00A3):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Cause Code=0x00A3         |      Cause Length=4           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::ErrorCause;
    use crate::test_support::{assert_cause, hex};

    #[test]
    fn causes_stand_where_the_rfc_draws_them() {
        let text = "c0020010 01023476 00050008 c0000201";
        let request = hex(text);
        for (code, cause) in [
            ("00a0", ErrorCause::DeleteLastRemainingIpAddress(&request)),
            ("00a1", ErrorCause::ResourceShortage(&request)),
            ("00a2", ErrorCause::DeleteSourceIpAddress(&request)),
            ("00a4", ErrorCause::NoAuthorization(&request)),
        ] {
            assert_cause(&hex(&format!("{code}0014 {text}")), cause);
        }
        assert_cause(&hex("00a30004"), ErrorCause::IllegalAsconfAck);
        assert_cause(&hex("00a40004"), ErrorCause::NoAuthorization(&[]));
    }

    #[test]
    fn causes_are_told_in_plain_words() {
        let request = hex("c0020010 01023476 00050008 c0000201");
        let cause = ErrorCause::DeleteSourceIpAddress(&request);
        let words = "the address that a request came from cannot be deleted: 192.0.2.1";
        assert_eq!(cause.to_string(), words);
        assert_eq!(ErrorCause::NoAuthorization(&[]).to_string(), "not authorized");
    }
}
