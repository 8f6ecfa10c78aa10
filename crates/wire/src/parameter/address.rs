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

use std::net::{Ipv4Addr, Ipv6Addr};

use super::ParameterType;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, Items};

pub(super) fn decode_ipv4(tlv: Tlv<'_>) -> Result<Ipv4Addr, DecodeError> {
    super::fixed_value::<4>(tlv).map(Ipv4Addr::from)
}

pub(super) fn decode_ipv6(tlv: Tlv<'_>) -> Result<Ipv6Addr, DecodeError> {
    super::fixed_value::<16>(tlv).map(Ipv6Addr::from)
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
