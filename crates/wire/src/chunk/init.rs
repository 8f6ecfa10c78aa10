//! INIT (1), RFC 9260 section 3.3.2.

use super::{ChunkType, EncodeChunk, RawChunk};
use crate::{DecodeError, Parameters, Tsn, VerificationTag, tlv};

/// Initiation: asks for an association.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 1    |  Chunk Flags  |      Chunk Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                         Initiate Tag                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          Advertised Receiver Window Credit (a_rwnd)           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Number of Outbound Streams   |   Number of Inbound Streams   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                          Initial TSN                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /              Optional/Variable-Length Parameters              /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// The values that the RFC forbids (an Initiate Tag or a number of streams of 0, an a_rwnd below
/// 1,500) are decoded as they are: each has an answer of its own, which the association gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Init<'a> {
    /// The tag that packets to the sender of this chunk carry.
    pub initiate_tag: VerificationTag,
    /// How many bytes the sender can buffer.
    pub a_rwnd: u32,
    /// How many streams the sender wishes to open.
    pub outbound_streams: u16,
    /// How many streams the sender lets the peer open.
    pub inbound_streams: u16,
    /// The first TSN that the sender will use.
    pub initial_tsn: Tsn,
    /// Addresses and extensions.
    pub parameters: Parameters<'a>,
}

impl<'a> Init<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (fixed, parameters) = raw.split_fixed::<FIXED_LEN>()?;
        let &[t0, t1, t2, t3, w0, w1, w2, w3, o0, o1, i0, i1, n0, n1, n2, n3] = fixed;
        Ok(Self {
            initiate_tag: VerificationTag(u32::from_be_bytes([t0, t1, t2, t3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            outbound_streams: u16::from_be_bytes([o0, o1]),
            inbound_streams: u16::from_be_bytes([i0, i1]),
            initial_tsn: Tsn(u32::from_be_bytes([n0, n1, n2, n3])),
            parameters: Parameters::from_bytes(parameters),
        })
    }

    /// Appends the chunk as an INIT or as an INIT ACK, which differ in their type only.
    pub(super) fn encode_as(&self, ty: ChunkType, buf: &mut Vec<u8>) {
        let parameters = self.parameters.as_bytes();
        buf.extend_from_slice(&super::header(ty, 0, FIXED_LEN + parameters.len()));
        buf.extend_from_slice(&self.initiate_tag.0.to_be_bytes());
        buf.extend_from_slice(&self.a_rwnd.to_be_bytes());
        buf.extend_from_slice(&self.outbound_streams.to_be_bytes());
        buf.extend_from_slice(&self.inbound_streams.to_be_bytes());
        buf.extend_from_slice(&self.initial_tsn.0.to_be_bytes());
        buf.extend_from_slice(parameters);
        tlv::pad(buf, parameters.len());
    }
}

const FIXED_LEN: usize = 16;

impl EncodeChunk for Init<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + FIXED_LEN + tlv::padded(self.parameters.as_bytes().len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        self.encode_as(ChunkType::INIT, buf);
    }
}
