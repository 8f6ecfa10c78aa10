//! FORWARD TSN (192), RFC 3758 section 3.2.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::items::sealed;
use crate::{DecodeError, Items, Ssn, StreamId, Tsn};

/// Forward Cumulative TSN: the sender has abandoned what is missing up to here.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 192  |  Flags = 0x00 |        Length = Variable      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      New Cumulative TSN                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         Stream-1              |       Stream Sequence-1       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               /
/// /                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         Stream-N              |       Stream Sequence-N       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardTsn<'a> {
    /// The receiver counts all TSNs up to this one as received.
    pub new_cumulative_tsn: Tsn,
    /// Where ordered messages were skipped.
    pub streams: Items<'a, SkippedStream>,
}

/// A stream in which ordered messages were skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SkippedStream {
    /// The stream.
    pub stream: StreamId,
    /// The last SSN that was skipped.
    pub ssn: Ssn,
}

impl<'a> ForwardTsn<'a> {
    /// The chunk's length without any stream.
    pub const HEADER_LEN: usize = super::HEADER_LEN + 4;

    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (&tsn, streams) = raw.split_fixed::<4>()?;
        let (streams, []) = streams.as_chunks::<4>() else {
            return Err(DecodeError::ForwardTsnListLength { len: raw.bytes.len() });
        };
        Ok(Self {
            new_cumulative_tsn: Tsn(u32::from_be_bytes(tsn)),
            streams: Items::from_wire(streams),
        })
    }
}

impl EncodeChunk for ForwardTsn<'_> {
    fn encoded_len(&self) -> usize {
        Self::HEADER_LEN + self.streams.encoded_len()
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        let value_len = self.encoded_len() - super::HEADER_LEN;
        buf.extend_from_slice(&super::header(ChunkType::FORWARD_TSN, 0, value_len));
        buf.extend_from_slice(&self.new_cumulative_tsn.0.to_be_bytes());
        self.streams.encode(buf);
    }
}

impl sealed::Item for SkippedStream {
    type Wire = [u8; 4];

    fn from_wire([s0, s1, n0, n1]: [u8; 4]) -> Self {
        Self {
            stream: StreamId(u16::from_be_bytes([s0, s1])),
            ssn: Ssn(u16::from_be_bytes([n0, n1])),
        }
    }

    fn to_wire(self) -> [u8; 4] {
        let [s0, s1] = self.stream.0.to_be_bytes();
        let [n0, n1] = self.ssn.0.to_be_bytes();
        [s0, s1, n0, n1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_abandons_a_message() {
        let streams = [SkippedStream { stream: StreamId(3), ssn: Ssn(0) }];
        let forward_tsn = ForwardTsn {
            new_cumulative_tsn: Tsn(0xac68_0a53),
            streams: Items::from_slice(&streams),
        };
        assert_chunk(&hex("c000000c ac680a53 00030000"), &Chunk::ForwardTsn(forward_tsn));
    }

    #[test]
    fn survives_a_round_trip() {
        let streams: Vec<_> = (0..1_000)
            .map(|n| SkippedStream { stream: StreamId(n), ssn: Ssn(u16::MAX - n) })
            .collect();
        for streams in [&streams[..], &[]] {
            assert_round_trip(&Chunk::ForwardTsn(ForwardTsn {
                new_cumulative_tsn: Tsn(u32::MAX),
                streams: Items::from_slice(streams),
            }));
        }
    }

    #[test]
    fn a_broken_list_is_refused() {
        assert_eq!(
            first_chunk(&packet_around(&hex("c000000a ac680a53 00030000"))),
            Err(DecodeError::ForwardTsnListLength { len: 10 })
        );
        assert_eq!(
            first_chunk(&packet_around(&hex("c0000004"))),
            Err(DecodeError::ChunkTooShort { ty: ChunkType::FORWARD_TSN, len: 4, min: 8 })
        );
    }
}
