//! ERROR (9), RFC 9260 section 3.3.10.

use super::{ChunkType, EncodeChunk, RawChunk};
use crate::{ErrorCauses, tlv};

/// Operation Error: tells the peer what was wrong; the association lives on.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 9    |  Chunk Flags  |            Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                   one or more Error Causes                    /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorChunk<'a> {
    /// What was wrong.
    pub causes: ErrorCauses<'a>,
}

impl<'a> ErrorChunk<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Self {
        Self { causes: ErrorCauses::from_bytes(raw.value) }
    }
}

impl EncodeChunk for ErrorChunk<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + tlv::padded(self.causes.as_bytes().len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_opaque(ChunkType::ERROR, 0, self.causes.as_bytes(), buf);
    }
}
