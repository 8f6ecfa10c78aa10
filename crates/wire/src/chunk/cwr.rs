//! CWR (13), reserved by RFC 9260 section 3.2; its form is that of RFC 4960 appendix A.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{DecodeError, Tsn};

/// Congestion Window Reduced: answers an ECNE.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Chunk Type=13 | Flags=00000000|    Chunk Length = 8           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Lowest TSN Number                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cwr {
    /// The TSN of the ECNE that is answered.
    pub lowest_tsn: Tsn,
}

impl Cwr {
    pub(super) fn decode(raw: RawChunk<'_>) -> Result<Self, DecodeError> {
        raw.only_fixed().map(|tsn| Self { lowest_tsn: Tsn(u32::from_be_bytes(tsn)) })
    }
}

impl EncodeChunk for Cwr {
    fn encoded_len(&self) -> usize {
        super::TSN_ONLY_LEN
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_tsn_only(ChunkType::CWR, self.lowest_tsn, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_has_reduced_its_window() {
        let cwr = Cwr { lowest_tsn: Tsn(0xda86_6afb) };
        assert_chunk(&hex("0d000008 da866afb"), &Chunk::Cwr(cwr));
    }

    #[test]
    fn survives_a_round_trip() {
        assert_round_trip(&Chunk::Cwr(Cwr { lowest_tsn: Tsn(0) }));
    }

    #[test]
    fn another_length_is_refused() {
        let (ty, len) = (ChunkType::CWR, 4);
        assert_eq!(
            first_chunk(&packet_around(&hex("0d000004"))),
            Err(DecodeError::ChunkLengthWrong { ty, len, expected: 8 })
        );
    }
}
