//! Chunks of unknown type, RFC 9260 section 3.2.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{UnrecognizedAction, tlv};

/// A chunk of a type that this crate does not know.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Chunk Type   |  Chunk Flags  |         Chunk Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                          Chunk Value                          /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownChunk<'a> {
    /// The chunk's type.
    pub ty: ChunkType,
    /// Its flags.
    pub flags: u8,
    /// Its value.
    pub value: &'a [u8],
    /// The whole chunk as it arrived, without padding, as the error cause Unrecognized Chunk Type
    /// returns it.
    pub raw: &'a [u8],
}

impl<'a> UnknownChunk<'a> {
    pub(super) const fn decode(raw: RawChunk<'a>) -> Self {
        Self { ty: raw.ty, flags: raw.flags, value: raw.value, raw: raw.bytes }
    }

    /// What the type demands of an endpoint that does not know it.
    #[must_use]
    pub const fn action(&self) -> UnrecognizedAction {
        UnrecognizedAction::from_upper_bits(self.ty.0)
    }
}

impl EncodeChunk for UnknownChunk<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + tlv::padded(self.value.len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_opaque(self.ty, self.flags, self.value, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, hex};

    /// A chunk of a type that no RFC has defined.
    const STRANGE: &str = "8f000016 000d0012 00000001 00000000 000003e8 0005 0000";

    #[test]
    fn an_unknown_chunk_is_kept_whole() {
        let bytes = hex(STRANGE);
        let (raw, _padding) = bytes.split_at(22);
        let chunk = UnknownChunk { ty: ChunkType(0x8f), flags: 0, value: &raw[4..], raw };
        assert_chunk(&bytes, &Chunk::Unknown(chunk));
        assert_eq!(chunk.action(), UnrecognizedAction { stop: false, report: false });
    }

    #[test]
    fn flags_survive_a_round_trip() {
        let raw = hex("7fa50004");
        let chunk = UnknownChunk { ty: ChunkType(0x7f), flags: 0xa5, value: &[], raw: &raw };
        assert_round_trip(&Chunk::Unknown(chunk));
        assert_eq!(chunk.action(), UnrecognizedAction { stop: true, report: true });
    }
}
