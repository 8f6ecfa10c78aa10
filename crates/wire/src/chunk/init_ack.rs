//! INIT ACK (2), RFC 9260 section 3.3.3.

use super::{EncodeChunk, Init, RawChunk};
use crate::ChunkType;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};
    use crate::{Chunk, Parameter};

    const LINUX_PARAMETERS: &str = "
        000700e896f3b6bc5903aba2d140c92eaa61e3010000000000000000000000000000000000000000bd018c1c
        0d0c0b0a0000000000000000cf799b338f2bea180a000a00821fee9902001b587f0000020000000000000000
        000000000000000000000000ed1301000000000080020024075d88f4fbd3a75d3ec7e141cd8fceb3ab1202a7
        ab668b9ce6f1b4684ffc7f610000000000000000000000000000000000000000000000000000000000000000
        00000000010000240a0b0c0d000186a0000a000a000003e8c0ff000761626300c00000048000000400000000
        00000000000000000000000080000004c00000040008000bc0ff000761626300";

    #[test]
    fn linux_returns_a_cookie_and_an_unrecognized_parameter() {
        let parameters = hex(LINUX_PARAMETERS);
        let init_ack = InitAck {
            initiate_tag: VerificationTag(0x1c8c_01bd),
            a_rwnd: 106_496,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: Tsn(0x99ee_1f82),
            parameters: Parameters::from_bytes(&parameters),
        };
        let mut bytes = hex("0200010f 1c8c01bd 0001a000 000a000a 99ee1f82");
        bytes.extend_from_slice(&parameters);
        assert_chunk(&bytes, &Chunk::InitAck(init_ack));

        let parameters: Vec<_> = init_ack.parameters.iter().map(Result::unwrap).collect();
        let [Parameter::StateCookie(cookie), others @ ..] = &parameters[..] else {
            panic!("the cookie comes first")
        };
        assert_eq!(cookie.len(), 228);
        assert_eq!(
            others,
            [
                Parameter::EcnCapable,
                Parameter::ForwardTsnSupported,
                Parameter::UnrecognizedParameter(&hex("c0ff0007616263")),
            ]
        );
    }

    #[test]
    fn survives_a_round_trip() {
        let mut parameters = Vec::new();
        Parameter::StateCookie(b"stale").encode(&mut parameters);
        assert_round_trip(&Chunk::InitAck(InitAck {
            initiate_tag: VerificationTag(u32::MAX),
            a_rwnd: 1500,
            outbound_streams: 1,
            inbound_streams: 65_535,
            initial_tsn: Tsn(0),
            parameters: Parameters::from_bytes(&parameters),
        }));
    }

    #[test]
    fn missing_fixed_fields_are_refused() {
        let packet = packet_around(&hex("02000004"));
        assert_eq!(
            first_chunk(&packet),
            Err(DecodeError::ChunkTooShort { ty: ChunkType::INIT_ACK, len: 4, min: 20 })
        );
    }
}
