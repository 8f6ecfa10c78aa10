//! SACK (3), RFC 9260 section 3.3.4.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
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
    /// Packets with data that arrived since the last SACK, from 1 to 4: one more than the upper two
    /// bits of the Chunk Flags say, which RFC 9260 leaves 0. It means something only between peers
    /// that agreed on delayed acknowledgements for CMT (DAC of Iyengar 2006, section V).
    pub data_packets: u8,
}

/// The most packets that a SACK can report.
const DATA_PACKETS_MAX: u8 = 4;

/// Where the Chunk Flags count packets.
const DATA_PACKETS_SHIFT: u32 = 6;

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
            data_packets: (raw.flags >> DATA_PACKETS_SHIFT) + 1,
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
        let flags = (self.data_packets.clamp(1, DATA_PACKETS_MAX) - 1) << DATA_PACKETS_SHIFT;
        buf.extend_from_slice(&super::header(ChunkType::SACK, flags, value_len));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_reports_gaps_and_a_duplicate() {
        let bytes = hex("0300001c 000003e8 00019ff9 00020001 00020002 00050005 000003ea");
        let gaps = [GapAckBlock { start: 2, end: 2 }, GapAckBlock { start: 5, end: 5 }];
        let sack = Sack {
            cumulative_tsn_ack: Tsn(1000),
            a_rwnd: 106_489,
            gap_ack_blocks: Items::from_slice(&gaps),
            duplicate_tsns: Items::from_slice(&[Tsn(1002)]),
            data_packets: 1,
        };
        assert_chunk(&bytes, &Chunk::Sack(sack));
    }

    #[test]
    fn the_example_of_the_rfc() {
        // RFC 9260 section 3.3.4: TSNs 10 to 12, 14, 15 and 17 have arrived.
        let gaps = [GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 5, end: 5 }];
        let sack = Sack {
            cumulative_tsn_ack: Tsn(12),
            a_rwnd: 4660,
            gap_ack_blocks: Items::from_slice(&gaps),
            duplicate_tsns: Items::default(),
            data_packets: 1,
        };
        let bytes = hex("03000018 0000000c 00001234 00020000 00020003 00050005");
        assert_chunk(&bytes, &Chunk::Sack(sack));
    }

    #[test]
    fn the_upper_flags_count_packets_from_one_to_four() {
        for (flags, data_packets) in [("00", 1), ("40", 2), ("80", 3), ("c0", 4)] {
            let bytes = hex(&format!("03{flags}0010 0000000c 00001234 00000000"));
            let sack = Sack {
                cumulative_tsn_ack: Tsn(12),
                a_rwnd: 4660,
                gap_ack_blocks: Items::default(),
                duplicate_tsns: Items::default(),
                data_packets,
            };
            assert_chunk(&bytes, &Chunk::Sack(sack));
            let (mut least, mut most) = (Vec::new(), Vec::new());
            Sack { data_packets: 0, ..sack }.encode(&mut least);
            Sack { data_packets: 9, ..sack }.encode(&mut most);
            assert_eq!((least[1], most[1]), (0x00, 0xc0));
        }
    }

    #[test]
    fn full_lists_survive_a_round_trip() {
        let gaps: Vec<_> =
            (0..8_000).map(|n| GapAckBlock { start: 2 * n, end: 2 * n + 1 }).collect();
        let duplicates: Vec<_> = (0..8_000).map(Tsn).collect();
        assert_round_trip(&Chunk::Sack(Sack {
            cumulative_tsn_ack: Tsn(u32::MAX),
            a_rwnd: u32::MAX,
            gap_ack_blocks: Items::from_slice(&gaps),
            duplicate_tsns: Items::from_slice(&duplicates),
            data_packets: 1,
        }));
    }

    #[test]
    fn counts_that_disagree_with_the_length_are_refused() {
        for (bytes, len, gap_ack_blocks, duplicate_tsns, expected) in [
            ("03000014 00000001 00000000 00010001 00020002", 20, 1, 1, 24),
            ("03000014 00000001 00000000 00000000 00020002", 20, 0, 0, 16),
            ("03000012 00000001 00000000 00000000 00020000", 18, 0, 0, 16),
            ("03000010 00000001 00000000 ffffffff", 16, 65_535, 65_535, 524_296),
        ] {
            assert_eq!(
                first_chunk(&packet_around(&hex(bytes))),
                Err(DecodeError::SackListLength { len, gap_ack_blocks, duplicate_tsns, expected })
            );
        }
    }

    #[test]
    fn missing_fixed_fields_are_refused() {
        let packet = packet_around(&hex("03000008 00000001"));
        assert_eq!(
            first_chunk(&packet),
            Err(DecodeError::ChunkTooShort { ty: ChunkType::SACK, len: 8, min: 16 })
        );
    }
}
