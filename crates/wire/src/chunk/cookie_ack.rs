//! COOKIE ACK (11), RFC 9260 section 3.3.12.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::DecodeError;

/// Cookie Acknowledgement: the association is established.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 11   |  Chunk Flags  |          Length = 4           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CookieAck;

impl CookieAck {
    pub(super) fn decode(raw: RawChunk<'_>) -> Result<Self, DecodeError> {
        raw.only_fixed().map(|[]| Self)
    }
}

impl EncodeChunk for CookieAck {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(&super::header(ChunkType::COOKIE_ACK, 0, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_acknowledges_a_cookie() {
        assert_chunk(&hex("0b000004"), &Chunk::CookieAck);
    }

    #[test]
    fn survives_a_round_trip() {
        assert_round_trip(&Chunk::CookieAck);
    }

    #[test]
    fn another_length_is_refused() {
        let (ty, len) = (ChunkType::COOKIE_ACK, 5);
        assert_eq!(
            first_chunk(&packet_around(&hex("0b000005 00000000"))),
            Err(DecodeError::ChunkLengthWrong { ty, len, expected: 4 })
        );
    }
}
