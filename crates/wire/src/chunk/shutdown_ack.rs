//! SHUTDOWN ACK (8), RFC 9260 section 3.3.9.

use super::{ChunkType, EncodeChunk, RawChunk};
use crate::DecodeError;

/// Shutdown Acknowledgement: answers a SHUTDOWN.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 8    |  Chunk Flags  |          Length = 4           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownAck;

impl ShutdownAck {
    pub(super) fn decode(raw: RawChunk<'_>) -> Result<Self, DecodeError> {
        raw.only_fixed().map(|[]| Self)
    }
}

impl EncodeChunk for ShutdownAck {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(&super::header(ChunkType::SHUTDOWN_ACK, 0, 0));
    }
}
