//! I-FORWARD-TSN (194), RFC 8260 section 2.3.1.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::items::sealed;
use crate::{DecodeError, Items, Mid, StreamId, Tsn};

/// Forward Cumulative TSN for I-DATA: the sender has abandoned what is missing up to here.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 194  | Flags = 0x00  |      Length = Variable        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       New Cumulative TSN                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |       Stream Identifier       |          Reserved           |U|
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Message Identifier                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                                                               /
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |       Stream Identifier       |          Reserved           |U|
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Message Identifier                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IForwardTsn<'a> {
    /// The receiver counts all TSNs up to this one as received.
    pub new_cumulative_tsn: Tsn,
    /// Where messages were skipped.
    pub streams: Items<'a, SkippedMessages>,
}

/// A stream in which ordered or unordered messages were skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SkippedMessages {
    /// The stream.
    pub stream: StreamId,
    /// The U bit: whether `mid` counts unordered messages.
    pub unordered: bool,
    /// The largest MID that was skipped.
    pub mid: Mid,
}

impl<'a> IForwardTsn<'a> {
    /// The chunk's length without any stream.
    pub const HEADER_LEN: usize = super::HEADER_LEN + 4;

    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (&tsn, streams) = raw.split_fixed::<4>()?;
        let (streams, []) = streams.as_chunks::<8>() else {
            return Err(DecodeError::IForwardTsnListLength { len: raw.bytes.len() });
        };
        Ok(Self {
            new_cumulative_tsn: Tsn(u32::from_be_bytes(tsn)),
            streams: Items::from_wire(streams),
        })
    }
}

impl EncodeChunk for IForwardTsn<'_> {
    fn encoded_len(&self) -> usize {
        Self::HEADER_LEN + self.streams.encoded_len()
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        let value_len = self.encoded_len() - super::HEADER_LEN;
        buf.extend_from_slice(&super::header(ChunkType::I_FORWARD_TSN, 0, value_len));
        buf.extend_from_slice(&self.new_cumulative_tsn.0.to_be_bytes());
        self.streams.encode(buf);
    }
}

impl sealed::Item for SkippedMessages {
    type Wire = [u8; 8];

    fn from_wire([s0, s1, _, flags, m0, m1, m2, m3]: [u8; 8]) -> Self {
        Self {
            stream: StreamId(u16::from_be_bytes([s0, s1])),
            unordered: flags & 1 != 0,
            mid: Mid(u32::from_be_bytes([m0, m1, m2, m3])),
        }
    }

    fn to_wire(self) -> [u8; 8] {
        let [s0, s1] = self.stream.0.to_be_bytes();
        let [m0, m1, m2, m3] = self.mid.0.to_be_bytes();
        [s0, s1, 0, u8::from(self.unordered), m0, m1, m2, m3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    fn skipped(stream: u16, unordered: bool, mid: u32) -> SkippedMessages {
        SkippedMessages { stream: StreamId(stream), unordered, mid: Mid(mid) }
    }

    #[test]
    fn ordered_and_unordered_messages_of_a_stream_are_skipped_apart() {
        let streams = [skipped(3, false, 9), skipped(3, true, 0x0102_0304)];
        let forward = IForwardTsn {
            new_cumulative_tsn: Tsn(0xac68_0a53),
            streams: Items::from_slice(&streams),
        };
        let bytes = hex("c2000018 ac680a53 00030000 00000009 00030001 01020304");
        assert_chunk(&bytes, &Chunk::IForwardTsn(forward));
    }

    #[test]
    fn survives_a_round_trip() {
        let streams: Vec<_> =
            (0..1_000).map(|n| skipped(n, n % 3 == 0, u32::MAX - u32::from(n))).collect();
        for streams in [&streams[..], &[]] {
            assert_round_trip(&Chunk::IForwardTsn(IForwardTsn {
                new_cumulative_tsn: Tsn(u32::MAX),
                streams: Items::from_slice(streams),
            }));
        }
    }

    #[test]
    fn reserved_bits_are_ignored() {
        let packet = packet_around(&hex("c2ff0010 00000001 0003fffe 00000009"));
        let Ok(Chunk::IForwardTsn(forward)) = first_chunk(&packet) else { panic!("another chunk") };
        assert_eq!(forward.streams.iter().collect::<Vec<_>>(), [skipped(3, false, 9)]);
    }

    #[test]
    fn a_broken_list_is_refused() {
        assert_eq!(
            first_chunk(&packet_around(&hex("c200000c ac680a53 00030000"))),
            Err(DecodeError::IForwardTsnListLength { len: 12 })
        );
        assert_eq!(
            first_chunk(&packet_around(&hex("c2000004"))),
            Err(DecodeError::ChunkTooShort { ty: ChunkType::I_FORWARD_TSN, len: 4, min: 8 })
        );
    }
}
