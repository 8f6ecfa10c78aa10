//! ASCONF (0xC1), RFC 5061 section 4.1.1.

use std::net::IpAddr;

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::parameter::address;
use crate::{DecodeError, Parameters, tlv};

/// Address Configuration Change: asks the peer to add or remove addresses of the sender.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Type = 0xC1   |  Chunk Flags  |      Chunk Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Sequence Number                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                    Address Parameter                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                     ASCONF Parameter #1                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                             ....                              /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                     ASCONF Parameter #N                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asconf<'a> {
    /// One more than that of the ASCONF before.
    pub sequence_number: u32,
    /// An address of the sender that is part of the association; all zeros if it knows none.
    pub address: IpAddr,
    /// The requests, to be met in order.
    pub parameters: Parameters<'a>,
}

impl<'a> Asconf<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (sequence_number, rest) = raw.split_fixed::<4>()?;
        let Some((address, rest)) = address::split_first(rest)? else {
            return Err(DecodeError::AsconfWithoutAddress { len: raw.bytes.len() });
        };
        Ok(Self {
            sequence_number: u32::from_be_bytes(*sequence_number),
            address,
            parameters: Parameters::from_bytes(rest),
        })
    }
}

impl EncodeChunk for Asconf<'_> {
    fn encoded_len(&self) -> usize {
        let fixed = super::HEADER_LEN + 4 + address::encoded_len(self.address);
        fixed + tlv::padded(self.parameters.as_bytes().len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        let parameters = self.parameters.as_bytes();
        let value_len = 4 + address::encoded_len(self.address) + parameters.len();
        buf.extend_from_slice(&super::header(ChunkType::ASCONF, 0, value_len));
        buf.extend_from_slice(&self.sequence_number.to_be_bytes());
        address::encode(self.address, buf);
        buf.extend_from_slice(parameters);
        tlv::pad(buf, parameters.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};
    use crate::{Chunk, Parameter};

    #[test]
    fn fields_stand_where_the_rfc_draws_them() {
        // The request is the example of RFC 5061 section 4.2.1.
        let request = hex("c0010010 01023474 00050008 c0000201");
        let asconf = Asconf {
            sequence_number: 7,
            address: [10, 77, 1, 2].into(),
            parameters: Parameters::from_bytes(&request),
        };
        let bytes = hex("c1000020 00000007 00050008 0a4d0102 c0010010 01023474 00050008 c0000201");
        assert_chunk(&bytes, &Chunk::Asconf(asconf));
        let requests: Vec<_> = asconf.parameters.iter().collect();
        let address = [192, 0, 2, 1].into();
        let added = Parameter::AddIpAddress { correlation_id: 0x0102_3474, address };
        assert_eq!(requests, [Ok(added)]);
    }

    #[test]
    fn survives_a_round_trip() {
        let mut requests = Vec::new();
        let address = "fd77:1::2".parse().unwrap();
        Parameter::DeleteIpAddress { correlation_id: 1, address }.encode(&mut requests);
        for parameters in [&[][..], &requests] {
            assert_round_trip(&Chunk::Asconf(Asconf {
                sequence_number: u32::MAX,
                address,
                parameters: Parameters::from_bytes(parameters),
            }));
        }
    }

    #[test]
    fn one_without_an_address_is_refused() {
        let too_short = DecodeError::ChunkTooShort { ty: ChunkType::ASCONF, len: 6, min: 8 };
        assert_eq!(first_chunk(&packet_around(&hex("c1000006 00070000"))), Err(too_short));
        let missing = DecodeError::AsconfWithoutAddress { len: 8 };
        assert_eq!(first_chunk(&packet_around(&hex("c1000008 00000007"))), Err(missing));
        let host_name = hex("c1000010 00000007 000b0008 612e6200");
        let missing = DecodeError::AsconfWithoutAddress { len: 16 };
        assert_eq!(first_chunk(&packet_around(&host_name)), Err(missing));
    }
}
