//! The causes that blame an address or a port, RFC 9260 sections 3.3.10.5 and 3.3.10.11, and
//! draft-tuexen-tsvwg-sctp-udp-encaps-cons section 4.4, which updates RFC 6951.
//!
//! Unresolvable Address (5):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 5         |         Cause Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                     Unresolvable Address                      /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Restart of an Association with New Addresses (11):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 11        |         Cause Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                       New Address TLVs                        /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Restart of an Association with New Encapsulation Port (14):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 14        |       Cause Length = 8        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Current Encapsulation Port  |     New Encapsulation Port    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use super::CauseCode;
use crate::DecodeError;
use crate::tlv::{self, Tlv};

/// The current port and the new one.
pub(super) fn decode_new_encapsulation_port(tlv: Tlv<'_>) -> Result<(u16, u16), DecodeError> {
    super::fixed_value(tlv)
        .map(|[c0, c1, n0, n1]| (u16::from_be_bytes([c0, c1]), u16::from_be_bytes([n0, n1])))
}

pub(super) fn encode_new_encapsulation_port(current: u16, new: u16, buf: &mut Vec<u8>) {
    let [c0, c1] = current.to_be_bytes();
    let [n0, n1] = new.to_be_bytes();
    tlv::encode(buf, CauseCode::NEW_ENCAPSULATION_PORT.0, &[c0, c1, n0, n1]);
}
