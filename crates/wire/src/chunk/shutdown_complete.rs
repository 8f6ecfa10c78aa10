//! SHUTDOWN COMPLETE (14), RFC 9260 section 3.3.13.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::DecodeError;

/// Shutdown Complete: answers a SHUTDOWN ACK; the association is gone.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 14   |  Reserved   |T|          Length = 4           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownComplete {
    /// The T bit: the packet's Verification Tag is the one that came with the SHUTDOWN ACK.
    pub tag_reflected: bool,
}

impl ShutdownComplete {
    pub(super) fn decode(raw: RawChunk<'_>) -> Result<Self, DecodeError> {
        raw.only_fixed().map(|[]| Self { tag_reflected: raw.flags & super::TAG_REFLECTED != 0 })
    }
}

impl EncodeChunk for ShutdownComplete {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        let flags = if self.tag_reflected { super::TAG_REFLECTED } else { 0 };
        buf.extend_from_slice(&super::header(ChunkType::SHUTDOWN_COMPLETE, flags, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_completes_a_shutdown() {
        let complete = ShutdownComplete { tag_reflected: false };
        assert_chunk(&hex("0e000004"), &Chunk::ShutdownComplete(complete));
    }

    #[test]
    fn linux_reflects_the_tag_of_a_stray_shutdown_ack() {
        let complete = ShutdownComplete { tag_reflected: true };
        assert_chunk(&hex("0e010004"), &Chunk::ShutdownComplete(complete));
    }

    #[test]
    fn survives_a_round_trip() {
        for tag_reflected in [false, true] {
            assert_round_trip(&Chunk::ShutdownComplete(ShutdownComplete { tag_reflected }));
        }
    }

    #[test]
    fn another_length_is_refused() {
        let (ty, len) = (ChunkType::SHUTDOWN_COMPLETE, 8);
        assert_eq!(
            first_chunk(&packet_around(&hex("0e000008 00000000"))),
            Err(DecodeError::ChunkLengthWrong { ty, len, expected: 4 })
        );
    }
}
