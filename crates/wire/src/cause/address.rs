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

use crate::CauseCode;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_cause, hex};
    use crate::{ErrorCause, ErrorCauses};

    #[test]
    fn linux_resolves_no_host_name() {
        let bytes = hex("00050015 000b0011 686f73742e6578616d706c6500 000000");
        let parameter = hex("000b0011 686f73742e6578616d706c6500");
        assert_cause(&bytes, ErrorCause::UnresolvableAddress(&parameter));
    }

    #[test]
    fn linux_refuses_a_restart_with_a_new_address() {
        let parameters = hex("00050008 7f000009");
        let cause = ErrorCause::RestartWithNewAddresses(&parameters);
        assert_cause(&hex("000b000c 00050008 7f000009"), cause);
    }

    #[test]
    fn linux_refuses_a_restart_from_a_new_port() {
        // The association used port 9900, the INIT came from 9901: Linux writes the new port first.
        let cause = ErrorCause::NewEncapsulationPort { current: 9901, new: 9900 };
        assert_cause(&hex("000e0008 26ad26ac"), cause);
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let (code, len) = (CauseCode::NEW_ENCAPSULATION_PORT, 6);
        let bytes = hex("000e0006 26ad0000");
        let causes: Vec<_> = ErrorCauses::from_bytes(&bytes).iter().collect();
        let error = DecodeError::CauseLengthWrong { code, len, expected: 8 };
        assert_eq!(causes, [Err(error)]);
    }
}
