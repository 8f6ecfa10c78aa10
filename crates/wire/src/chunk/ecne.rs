//! ECNE (12), reserved by RFC 9260 section 3.2; its form is that of RFC 4960 appendix A.

use super::{ChunkType, EncodeChunk, RawChunk};
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
