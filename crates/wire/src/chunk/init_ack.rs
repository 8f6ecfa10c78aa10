//! INIT ACK (2), RFC 9260 section 3.3.3.

use super::{ChunkType, EncodeChunk, Init, RawChunk};
use crate::{DecodeError, Parameters, Tsn, VerificationTag};

/// Initiation Acknowledgement: answers an INIT and brings the State Cookie.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 2    |  Chunk Flags  |         Chunk Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                         Initiate Tag                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |               Advertised Receiver Window Credit               |
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
/// Values that the RFC forbids are decoded as they are, as in [`Init`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitAck<'a> {
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
    /// The State Cookie, addresses and extensions.
    pub parameters: Parameters<'a>,
}

impl<'a> InitAck<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let init = Init::decode(raw)?;
        Ok(Self {
            initiate_tag: init.initiate_tag,
            a_rwnd: init.a_rwnd,
            outbound_streams: init.outbound_streams,
            inbound_streams: init.inbound_streams,
            initial_tsn: init.initial_tsn,
            parameters: init.parameters,
        })
    }

    /// The INIT with the same fields: both chunks have one form.
    const fn as_init(&self) -> Init<'a> {
        Init {
            initiate_tag: self.initiate_tag,
            a_rwnd: self.a_rwnd,
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
            initial_tsn: self.initial_tsn,
            parameters: self.parameters,
        }
    }
}

impl EncodeChunk for InitAck<'_> {
    fn encoded_len(&self) -> usize {
        self.as_init().encoded_len()
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        self.as_init().encode_as(ChunkType::INIT_ACK, buf);
    }
}
