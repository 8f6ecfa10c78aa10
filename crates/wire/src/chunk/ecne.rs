//! ECNE (12), reserved by RFC 9260 section 3.2; its form is that of RFC 4960 appendix A.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{DecodeError, Tsn};

/// Explicit Congestion Notification Echo: a packet arrived with a congestion mark.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Chunk Type=12 | Flags=00000000|    Chunk Length = 8           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Lowest TSN Number                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ecne {
    /// The lowest TSN in the packet that was marked.
    pub lowest_tsn: Tsn,
}

impl Ecne {
    pub(super) fn decode(raw: RawChunk<'_>) -> Result<Self, DecodeError> {
        raw.only_fixed().map(|tsn| Self { lowest_tsn: Tsn(u32::from_be_bytes(tsn)) })
    }
}

impl EncodeChunk for Ecne {
    fn encoded_len(&self) -> usize {
        super::TSN_ONLY_LEN
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_tsn_only(ChunkType::ECNE, self.lowest_tsn, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_echoes_a_congestion_mark() {
        assert_chunk(&hex("0c000008 000003ef"), &Chunk::Ecne(Ecne { lowest_tsn: Tsn(1007) }));
    }

    #[test]
    fn survives_a_round_trip() {
        assert_round_trip(&Chunk::Ecne(Ecne { lowest_tsn: Tsn(u32::MAX) }));
    }

    #[test]
    fn another_length_is_refused() {
        let (ty, len) = (ChunkType::ECNE, 7);
        assert_eq!(
            first_chunk(&packet_around(&hex("0c000007 00000000"))),
            Err(DecodeError::ChunkLengthWrong { ty, len, expected: 8 })
        );
    }
}
