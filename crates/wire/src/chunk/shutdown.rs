//! SHUTDOWN (7), RFC 9260 section 3.3.8.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_shuts_down() {
        let shutdown = Shutdown { cumulative_tsn_ack: Tsn(999) };
        assert_chunk(&hex("07000008 000003e7"), &Chunk::Shutdown(shutdown));
    }

    #[test]
    fn survives_a_round_trip() {
        assert_round_trip(&Chunk::Shutdown(Shutdown { cumulative_tsn_ack: Tsn(u32::MAX) }));
    }

    #[test]
    fn another_length_is_refused() {
        for (bytes, len) in [("07000004", 4), ("0700000c 000003e7 00000000", 12)] {
            let ty = ChunkType::SHUTDOWN;
            assert_eq!(
                first_chunk(&packet_around(&hex(bytes))),
                Err(DecodeError::ChunkLengthWrong { ty, len, expected: 8 })
            );
        }
    }
}
