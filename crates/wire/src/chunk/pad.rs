//! PAD (0x84), RFC 4820 section 3.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::tlv;

/// Padding: makes a packet longer, as one that probes what a path carries (RFC 8899).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Type = 0x84   |   Flags=0     |             Length            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                                                               /
/// \                         Padding Data                          \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pad<'a> {
    /// Bytes that mean nothing.
    pub data: &'a [u8],
}

impl<'a> Pad<'a> {
    pub(super) const fn decode(raw: RawChunk<'a>) -> Self {
        Self { data: raw.value }
    }
}

impl EncodeChunk for Pad<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + tlv::padded(self.data.len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_opaque(ChunkType::PAD, 0, self.data, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, hex};

    #[test]
    fn padding_is_as_long_as_it_likes() {
        assert_chunk(&hex("84000004"), &Chunk::Pad(Pad { data: &[] }));
        assert_chunk(
            &hex("8400000c 0102030405060708"),
            &Chunk::Pad(Pad { data: &[1, 2, 3, 4, 5, 6, 7, 8] }),
        );
    }

    #[test]
    fn survives_a_round_trip() {
        for data in [&b""[..], &[0; 1_400]] {
            assert_round_trip(&Chunk::Pad(Pad { data }));
        }
    }
}
