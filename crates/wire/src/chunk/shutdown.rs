//! SHUTDOWN (7), RFC 9260 section 3.3.8.

use super::{ChunkType, EncodeChunk, RawChunk};
use crate::{DecodeError, Tsn};

/// Shutdown Association: ends it when all data has arrived.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 7    |  Chunk Flags  |          Length = 8           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Cumulative TSN Ack                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// All TSNs up to this one have arrived. Nothing is said about those behind a gap.
    pub cumulative_tsn_ack: Tsn,
}

impl Shutdown {
    pub(super) fn decode(raw: RawChunk<'_>) -> Result<Self, DecodeError> {
        raw.only_fixed().map(|tsn| Self { cumulative_tsn_ack: Tsn(u32::from_be_bytes(tsn)) })
    }
}

impl EncodeChunk for Shutdown {
    fn encoded_len(&self) -> usize {
        super::TSN_ONLY_LEN
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_tsn_only(ChunkType::SHUTDOWN, self.cumulative_tsn_ack, buf);
    }
}
