//! SACK (3), RFC 9260 section 3.3.4.

use super::{ChunkType, EncodeChunk, RawChunk};
use crate::items::sealed;
use crate::{DecodeError, Items, Tsn};

/// Selective Acknowledgement: what arrived, and what arrived twice.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 3    |  Chunk Flags  |         Chunk Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Cumulative TSN Ack                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          Advertised Receiver Window Credit (a_rwnd)           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Number of Gap Ack Blocks = N  |  Number of Duplicate TSNs = M |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Gap Ack Block #1 Start     |     Gap Ack Block #1 End      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                                                               /
/// \                              ...                              \
/// /                                                               /
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Gap Ack Block #N Start     |     Gap Ack Block #N End      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                        Duplicate TSN 1                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                                                               /
/// \                              ...                              \
/// /                                                               /
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                        Duplicate TSN M                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sack<'a> {
    /// All TSNs up to this one have arrived.
    pub cumulative_tsn_ack: Tsn,
    /// How many bytes the receiver can still buffer.
    pub a_rwnd: u32,
    /// What arrived behind the first gap. Whether the blocks are in order and isolated is for
    /// the association to check.
    pub gap_ack_blocks: Items<'a, GapAckBlock>,
    /// What arrived again since the last SACK, once for each time.
    pub duplicate_tsns: Items<'a, Tsn>,
}

/// A run of TSNs that arrived, as offsets from the Cumulative TSN Ack, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GapAckBlock {
    /// The offset of the first TSN.
    pub start: u16,
    /// The offset of the last TSN.
    pub end: u16,
}

impl<'a> Sack<'a> {
    /// The chunk's length without gap ack blocks and duplicate TSNs.
    pub const HEADER_LEN: usize = super::HEADER_LEN + FIXED_LEN;

    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (fixed, lists) = raw.split_fixed::<FIXED_LEN>()?;
        let &[c0, c1, c2, c3, w0, w1, w2, w3, g0, g1, d0, d1] = fixed;
        let gap_ack_blocks = usize::from(u16::from_be_bytes([g0, g1]));
        let duplicate_tsns = usize::from(u16::from_be_bytes([d0, d1]));
        let wrong_length = || DecodeError::SackListLength {
            len: raw.bytes.len(),
            gap_ack_blocks,
            duplicate_tsns,
            expected: Self::HEADER_LEN + 4 * (gap_ack_blocks + duplicate_tsns),
        };
        let (lists, []) = lists.as_chunks::<4>() else { return Err(wrong_length()) };
        let (gaps, duplicates) = lists.split_at_checked(gap_ack_blocks).ok_or_else(wrong_length)?;
        if duplicates.len() != duplicate_tsns {
            return Err(wrong_length());
        }
        Ok(Self {
            cumulative_tsn_ack: Tsn(u32::from_be_bytes([c0, c1, c2, c3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            gap_ack_blocks: Items::from_wire(gaps),
            duplicate_tsns: Items::from_wire(duplicates),
        })
    }
}

const FIXED_LEN: usize = 12;

impl EncodeChunk for Sack<'_> {
    fn encoded_len(&self) -> usize {
        Self::HEADER_LEN + self.gap_ack_blocks.encoded_len() + self.duplicate_tsns.encoded_len()
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        let value_len = self.encoded_len() - super::HEADER_LEN;
        buf.extend_from_slice(&super::header(ChunkType::SACK, 0, value_len));
        buf.extend_from_slice(&self.cumulative_tsn_ack.0.to_be_bytes());
        buf.extend_from_slice(&self.a_rwnd.to_be_bytes());
        // The length has been checked, and each count is at most a quarter of it.
        buf.extend_from_slice(&(self.gap_ack_blocks.len() as u16).to_be_bytes());
        buf.extend_from_slice(&(self.duplicate_tsns.len() as u16).to_be_bytes());
        self.gap_ack_blocks.encode(buf);
        self.duplicate_tsns.encode(buf);
    }
}

impl sealed::Item for GapAckBlock {
    type Wire = [u8; 4];

    fn from_wire([s0, s1, e0, e1]: [u8; 4]) -> Self {
        Self { start: u16::from_be_bytes([s0, s1]), end: u16::from_be_bytes([e0, e1]) }
    }

    fn to_wire(self) -> [u8; 4] {
        let [s0, s1] = self.start.to_be_bytes();
        let [e0, e1] = self.end.to_be_bytes();
        [s0, s1, e0, e1]
    }
}
