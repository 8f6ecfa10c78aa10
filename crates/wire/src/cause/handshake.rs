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

use super::CauseCode;
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
