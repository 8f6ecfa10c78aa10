//! The causes that blame the handshake, RFC 9260 sections 3.3.10.2, 3.3.10.3, 3.3.10.7 and
//! 3.3.10.10.
//!
//! Missing Mandatory Parameter (2):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 2         |   Cause Length = 8 + N * 2    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                 Number of missing params = N                  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Missing Param Type #1     |     Missing Param Type #2     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Missing Param Type #N-1    |     Missing Param Type #N     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Stale Cookie (3):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 3         |       Cause Length = 8        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                 Measure of Staleness (usec.)                  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Invalid Mandatory Parameter (7):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 7         |       Cause Length = 4        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Cookie Received While Shutting Down (10):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 10        |       Cause Length = 4        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::CauseCode;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, Items, ParameterType};

/// The Number of missing params.
const COUNT_LEN: usize = 4;

pub(super) fn decode_missing(tlv: Tlv<'_>) -> Result<Items<'_, ParameterType>, DecodeError> {
    let len = tlv.bytes.len();
    let Some((&count, types)) = tlv.value.split_first_chunk::<COUNT_LEN>() else {
        return Err(DecodeError::CauseTooShort {
            code: CauseCode(tlv.ty),
            len,
            min: tlv::HEADER_LEN + COUNT_LEN,
        });
    };
    let count = u32::from_be_bytes(count);
    match types.as_chunks::<2>() {
        (types, []) if u32::try_from(types.len()) == Ok(count) => Ok(Items::from_wire(types)),
        _ => Err(DecodeError::MissingParameterCount { len, count }),
    }
}

pub(super) fn encode_missing(missing: &Items<'_, ParameterType>, buf: &mut Vec<u8>) {
    let value_len = COUNT_LEN + missing.encoded_len();
    tlv::put_header(buf, CauseCode::MISSING_MANDATORY_PARAMETER.0, value_len);
    // The length has been checked, and the count is at most half of it.
    buf.extend_from_slice(&(missing.len() as u32).to_be_bytes());
    missing.encode(buf);
    tlv::pad(buf, value_len);
}

pub(super) fn decode_stale_cookie(tlv: Tlv<'_>) -> Result<u32, DecodeError> {
    super::fixed_value(tlv).map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_cause, hex};
    use crate::{ErrorCause, ErrorCauses};

    #[test]
    fn linux_misses_the_cookie() {
        let types = [ParameterType::STATE_COOKIE];
        let missing = Items::from_slice(&types);
        let cause = ErrorCause::MissingMandatoryParameter { missing };
        assert_cause(&hex("0002000a 00000001 0007 0000"), cause);
    }

    #[test]
    fn several_missing_parameters_survive_a_round_trip() {
        let types = [ParameterType(1), ParameterType(2), ParameterType(0xffff)];
        for types in [&types[..], &types[..2], &[]] {
            let missing = Items::from_slice(types);
            let cause = ErrorCause::MissingMandatoryParameter { missing };
            let mut bytes = Vec::new();
            cause.encode(&mut bytes);
            assert_cause(&bytes, cause);
        }
    }

    #[test]
    fn a_cookie_came_too_late_for_linux() {
        assert_cause(&hex("00030008 000ab7e0"), ErrorCause::StaleCookie { measure_us: 702_432 });
    }

    #[test]
    fn linux_refuses_zero_streams() {
        assert_cause(&hex("00070004"), ErrorCause::InvalidMandatoryParameter);
    }

    #[test]
    fn linux_is_shutting_down() {
        assert_cause(&hex("000a0004"), ErrorCause::CookieReceivedWhileShuttingDown);
    }

    #[test]
    fn wrong_lengths_and_counts_are_refused() {
        let missing = CauseCode::MISSING_MANDATORY_PARAMETER;
        let wrong = |code, len, expected| DecodeError::CauseLengthWrong { code, len, expected };
        for (bytes, error) in [
            ("00020006 0000 0000", DecodeError::CauseTooShort { code: missing, len: 6, min: 8 }),
            (
                "0002000a 00000002 0007 0000",
                DecodeError::MissingParameterCount { len: 10, count: 2 },
            ),
            (
                "0002000b 00000001 000700 00",
                DecodeError::MissingParameterCount { len: 11, count: 1 },
            ),
            ("00020008 ffffffff", DecodeError::MissingParameterCount { len: 8, count: u32::MAX }),
            ("00030004", wrong(CauseCode::STALE_COOKIE, 4, 8)),
            ("00070008 00000000", wrong(CauseCode::INVALID_MANDATORY_PARAMETER, 8, 4)),
            ("000a0005 00000000", wrong(CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN, 5, 4)),
        ] {
            let bytes = hex(bytes);
            let causes: Vec<_> = ErrorCauses::from_bytes(&bytes).iter().collect();
            assert_eq!(causes, [Err(error)]);
        }
    }
}
