//! SHUTDOWN ACK (8), RFC 9260 section 3.3.9.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_acknowledges_a_shutdown() {
        assert_chunk(&hex("08000004"), &Chunk::ShutdownAck);
    }

    #[test]
    fn survives_a_round_trip() {
        assert_round_trip(&Chunk::ShutdownAck);
    }

    #[test]
    fn another_length_is_refused() {
        let (ty, len) = (ChunkType::SHUTDOWN_ACK, 8);
        assert_eq!(
            first_chunk(&packet_around(&hex("08000008 00000000"))),
            Err(DecodeError::ChunkLengthWrong { ty, len, expected: 4 })
        );
    }
}
