//! INIT (1), RFC 9260 section 3.3.2.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
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

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};
    use crate::{Chunk, Items, Parameter, ParameterType};

    #[test]
    fn linux_opens_a_multihomed_association() {
        let bytes = hex("010000a0 1763a40d 0001a000 000affff afb9a18a
             00050008 7f000001 00060014 00000000000000000000000000000001
             00050008 0a4d0102 00060014 fd770001000000000000000000000002
             00060014 fe80000000000000505400fffe770000
             00050008 0a4d0202 00060014 fd770002000000000000000000000002
             00060014 fe80000000000000505400fffe770001
             000c0008 00060005 80000004 c0000004");
        let parameters = hex("00050008 7f000001 00060014 00000000000000000000000000000001
             00050008 0a4d0102 00060014 fd770001000000000000000000000002
             00060014 fe80000000000000505400fffe770000
             00050008 0a4d0202 00060014 fd770002000000000000000000000002
             00060014 fe80000000000000505400fffe770001
             000c0008 00060005 80000004 c0000004");
        let init = Init {
            initiate_tag: VerificationTag(0x1763_a40d),
            a_rwnd: 106_496,
            outbound_streams: 10,
            inbound_streams: 65_535,
            initial_tsn: Tsn(0xafb9_a18a),
            parameters: Parameters::from_bytes(&parameters),
        };
        assert_chunk(&bytes, &Chunk::Init(init));

        let mut addresses: Vec<IpAddr> = Vec::new();
        for parameter in init.parameters {
            let parameter = parameter.unwrap();
            if let Parameter::Ipv4Address(address) = parameter {
                addresses.push(address.into());
            }
            if let Parameter::Ipv6Address(address) = parameter {
                addresses.push(address.into());
            }
        }
        let addresses: Vec<_> = addresses.iter().map(IpAddr::to_string).collect();
        assert_eq!(
            addresses,
            [
                "127.0.0.1",
                "::1",
                "10.77.1.2",
                "fd77:1::2",
                "fe80::5054:ff:fe77:0",
                "10.77.2.2",
                "fd77:2::2",
                "fe80::5054:ff:fe77:1",
            ]
        );
    }

    #[test]
    fn survives_a_round_trip() {
        let types = [ParameterType::IPV4_ADDRESS];
        let mut parameters = Vec::new();
        Parameter::CookiePreservative { increment_ms: 500 }.encode(&mut parameters);
        Parameter::SupportedAddressTypes(Items::from_slice(&types)).encode(&mut parameters);
        let init = Init {
            initiate_tag: VerificationTag(0),
            a_rwnd: 0,
            outbound_streams: 0,
            inbound_streams: 0,
            initial_tsn: Tsn(u32::MAX),
            parameters: Parameters::from_bytes(&parameters),
        };
        assert_round_trip(&Chunk::Init(init));
        assert_round_trip(&Chunk::Init(Init { parameters: Parameters::default(), ..init }));
    }

    #[test]
    fn the_length_counts_no_padding_of_the_last_parameter() {
        // Supported Address Types with one type: 6 bytes and 2 of padding.
        let parameters = hex("000c0006 00050000");
        let init = Init {
            initiate_tag: VerificationTag(1),
            a_rwnd: 1500,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: Tsn(1),
            parameters: Parameters::from_bytes(&parameters),
        };
        let bytes = hex("0100001a 00000001 000005dc 00010001 00000001 000c0006 00050000");
        assert_chunk(&bytes, &Chunk::Init(init));

        let counted = hex("0100001c 00000001 000005dc 00010001 00000001 000c0006 00050000");
        assert_eq!(first_chunk(&packet_around(&counted)), Ok(Chunk::Init(init)));
    }

    #[test]
    fn missing_fixed_fields_are_refused() {
        let packet = packet_around(&hex("01000013 00000001 000005dc 00010001 00000001"));
        assert_eq!(
            first_chunk(&packet),
            Err(DecodeError::ChunkTooShort { ty: ChunkType::INIT, len: 19, min: 20 })
        );
    }
}
