//! The address parameters, RFC 9260 sections 3.3.2.1.1, 3.3.2.1.2, 3.3.2.1.4 and 3.3.2.1.5.
//!
//! IPv4 Address (5):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 5            |          Length = 8           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         IPv4 Address                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! IPv6 Address (6):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 6            |          Length = 20          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                                                               |
//! |                         IPv6 Address                          |
//! |                                                               |
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Host Name Address (11):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 11           |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                           Host Name                           /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Supported Address Types (12):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 12           |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Address Type #1        |        Address Type #2        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                            ......                             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-++-+-+-+-+-+-+-+-+-+-+-+-+-+-+-++-+-+-+
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::ParameterType;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, Items};

pub(super) fn decode_ipv4(tlv: Tlv<'_>) -> Result<Ipv4Addr, DecodeError> {
    super::fixed_value::<4>(tlv).map(Ipv4Addr::from)
}

pub(super) fn decode_ipv6(tlv: Tlv<'_>) -> Result<Ipv6Addr, DecodeError> {
    super::fixed_value::<16>(tlv).map(Ipv6Addr::from)
}

/// Splits the first parameter from `bytes`; `None` if it is no address, or if there is none.
pub(crate) fn split_first(bytes: &[u8]) -> Result<Option<(IpAddr, &[u8])>, DecodeError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let (tlv, rest) = tlv::split_first(bytes).map_err(DecodeError::in_parameter)?;
    Ok(match ParameterType(tlv.ty) {
        ParameterType::IPV4_ADDRESS => Some((IpAddr::V4(decode_ipv4(tlv)?), rest)),
        ParameterType::IPV6_ADDRESS => Some((IpAddr::V6(decode_ipv6(tlv)?), rest)),
        _ => None,
    })
}

/// The length of the parameter for an address.
pub(crate) const fn encoded_len(address: IpAddr) -> usize {
    tlv::HEADER_LEN + if address.is_ipv4() { 4 } else { 16 }
}

pub(crate) fn encode(address: IpAddr, buf: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => {
            tlv::encode(buf, ParameterType::IPV4_ADDRESS.0, &address.octets());
        }
        IpAddr::V6(address) => {
            tlv::encode(buf, ParameterType::IPV6_ADDRESS.0, &address.octets());
        }
    }
}

pub(super) fn decode_supported_types(
    tlv: Tlv<'_>,
) -> Result<Items<'_, ParameterType>, DecodeError> {
    let (types, []) = tlv.value.as_chunks::<2>() else {
        return Err(DecodeError::AddressTypesLengthOdd { len: tlv.bytes.len() });
    };
    Ok(Items::from_wire(types))
}

pub(super) fn encode_supported_types(types: &Items<'_, ParameterType>, buf: &mut Vec<u8>) {
    tlv::put_header(buf, ParameterType::SUPPORTED_ADDRESS_TYPES.0, types.encoded_len());
    types.encode(buf);
    tlv::pad(buf, types.encoded_len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, Parameters};

    #[test]
    fn addresses_that_linux_lists() {
        let address = Ipv4Addr::new(10, 77, 1, 2);
        assert_parameter(&hex("00050008 0a4d0102"), Parameter::Ipv4Address(address));
        let bytes = hex("00060014 fd770001000000000000000000000002");
        let address = Ipv6Addr::new(0xfd77, 1, 0, 0, 0, 0, 0, 2);
        assert_parameter(&bytes, Parameter::Ipv6Address(address));
    }

    #[test]
    fn address_types_that_linux_supports() {
        let types = [ParameterType::IPV6_ADDRESS, ParameterType::IPV4_ADDRESS];
        let supported = Parameter::SupportedAddressTypes(Items::from_slice(&types));
        assert_parameter(&hex("000c0008 00060005"), supported);
        let supported = Parameter::SupportedAddressTypes(Items::from_slice(&types[1..]));
        assert_parameter(&hex("000c0006 0005 0000"), supported);
    }

    #[test]
    fn a_host_name_as_linux_returns_it() {
        let bytes = hex("000b0011 686f73742e6578616d706c6500 000000");
        assert_parameter(&bytes, Parameter::HostNameAddress(b"host.example\0"));
    }

    #[test]
    fn wrong_lengths_are_refused() {
        for (bytes, error) in [
            (
                "00050009 0a4d0102 00000000",
                DecodeError::ParameterLengthWrong {
                    ty: ParameterType::IPV4_ADDRESS,
                    len: 9,
                    expected: 8,
                },
            ),
            (
                "00060008 0a4d0102",
                DecodeError::ParameterLengthWrong {
                    ty: ParameterType::IPV6_ADDRESS,
                    len: 8,
                    expected: 20,
                },
            ),
            ("000c0007 00050000", DecodeError::AddressTypesLengthOdd { len: 7 }),
        ] {
            let bytes = hex(bytes);
            let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
            assert_eq!(parameters, [Err(error)]);
        }
    }
}
