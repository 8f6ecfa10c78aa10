//! HEARTBEAT ACK (5), RFC 9260 section 3.3.6.

use super::{ChunkType, EncodeChunk, RawChunk, heartbeat};
use crate::DecodeError;

/// Heartbeat Acknowledgement: reflects the Heartbeat Info of a HEARTBEAT.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 5    |  Chunk Flags  |     Heartbeat Ack Length      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /          Heartbeat Information TLV (Variable-Length)          /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatAck<'a> {
    /// The value of the Heartbeat Info parameter, as it came in the HEARTBEAT.
    pub info: &'a [u8],
}

impl<'a> HeartbeatAck<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        Ok(Self { info: heartbeat::heartbeat_info(raw)? })
    }
}

impl EncodeChunk for HeartbeatAck<'_> {
    fn encoded_len(&self) -> usize {
        heartbeat::encoded_len(self.info)
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        heartbeat::encode_as(ChunkType::HEARTBEAT_ACK, self.info, buf);
    }
}
