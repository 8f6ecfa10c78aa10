//! ABORT (6), RFC 9260 section 3.3.7.

use super::{ChunkType, EncodeChunk, RawChunk};
use crate::{ErrorCauses, tlv};

/// Abort Association: ends it at once.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 6    |  Reserved   |T|            Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                   zero or more Error Causes                   /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abort<'a> {
    /// The T bit: the packet's Verification Tag is the one that came with what it answers.
    pub tag_reflected: bool,
    /// Why.
    pub causes: ErrorCauses<'a>,
}

impl<'a> Abort<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Self {
        Self {
            tag_reflected: raw.flags & super::TAG_REFLECTED != 0,
            causes: ErrorCauses::from_bytes(raw.value),
        }
    }
}

impl EncodeChunk for Abort<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + tlv::padded(self.causes.as_bytes().len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        let flags = if self.tag_reflected { super::TAG_REFLECTED } else { 0 };
        super::encode_opaque(ChunkType::ABORT, flags, self.causes.as_bytes(), buf);
    }
}
