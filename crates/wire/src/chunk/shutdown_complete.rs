//! SHUTDOWN COMPLETE (14), RFC 9260 section 3.3.13.

use super::{ChunkType, EncodeChunk, RawChunk};
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
