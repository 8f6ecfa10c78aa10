//! The causes that blame a DATA chunk, RFC 9260 sections 3.3.10.1 and 3.3.10.9.
//!
//! Invalid Stream Identifier (1):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 1         |       Cause Length = 8        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Stream Identifier       |          (Reserved)           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! No User Data (9):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 9         |       Cause Length = 8        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                              TSN                              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::CauseCode;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, StreamId, Tsn};

pub(super) fn decode_invalid_stream(tlv: Tlv<'_>) -> Result<StreamId, DecodeError> {
    super::fixed_value(tlv).map(|[s0, s1, _, _]| StreamId(u16::from_be_bytes([s0, s1])))
}

pub(super) fn encode_invalid_stream(stream: StreamId, buf: &mut Vec<u8>) {
    let [s0, s1] = stream.0.to_be_bytes();
    tlv::encode(buf, CauseCode::INVALID_STREAM_IDENTIFIER.0, &[s0, s1, 0, 0]);
}

pub(super) fn decode_no_user_data(tlv: Tlv<'_>) -> Result<Tsn, DecodeError> {
    super::fixed_value(tlv).map(|tsn| Tsn(u32::from_be_bytes(tsn)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_cause, hex};
    use crate::{ErrorCause, ErrorCauses};

    #[test]
    fn linux_knows_no_stream_77() {
        let cause = ErrorCause::InvalidStreamIdentifier { stream: StreamId(77) };
        assert_cause(&hex("00010008 004d0000"), cause);
    }

    #[test]
    fn linux_found_no_user_data() {
        assert_cause(&hex("00090008 000003e8"), ErrorCause::NoUserData { tsn: Tsn(1000) });
    }

    #[test]
    fn wrong_lengths_are_refused() {
        for (bytes, code, len) in [
            ("00010006 004d0000", CauseCode::INVALID_STREAM_IDENTIFIER, 6),
            ("0009000c 000003e8 00000000", CauseCode::NO_USER_DATA, 12),
        ] {
            let bytes = hex(bytes);
            let causes: Vec<_> = ErrorCauses::from_bytes(&bytes).iter().collect();
            let error = DecodeError::CauseLengthWrong { code, len, expected: 8 };
            assert_eq!(causes, [Err(error)]);
        }
    }
}
