//! Add Outgoing Streams Request (17) and Add Incoming Streams Request (18), RFC 6525 sections 4.5
//! and 4.6.

use crate::DecodeError;
use crate::ParameterType;
use crate::tlv::{self, Tlv};

/// Asks for more streams: of the sender's own, or of the peer's.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Parameter Type = 17 or 18    |      Parameter Length = 12    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          Re-configuration Request Sequence Number             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      Number of new streams    |         Reserved              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddStreamsRequest {
    /// The request's place among those of its sender.
    pub request_sequence_number: u32,
    /// How many streams more.
    pub new_streams: u16,
}

impl AddStreamsRequest {
    pub(super) fn decode(tlv: Tlv<'_>) -> Result<Self, DecodeError> {
        let [q0, q1, q2, q3, n0, n1, _, _] = super::fixed_value(tlv)?;
        Ok(Self {
            request_sequence_number: u32::from_be_bytes([q0, q1, q2, q3]),
            new_streams: u16::from_be_bytes([n0, n1]),
        })
    }

    pub(super) fn encode(&self, ty: ParameterType, buf: &mut Vec<u8>) {
        tlv::put_header(buf, ty.0, 8);
        buf.extend_from_slice(&self.request_sequence_number.to_be_bytes());
        buf.extend_from_slice(&self.new_streams.to_be_bytes());
        buf.extend_from_slice(&[0; 2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, Parameters};

    #[test]
    fn outgoing_and_incoming_streams_are_asked_for_alike() {
        let request = AddStreamsRequest { request_sequence_number: 0x0102_0304, new_streams: 16 };
        let bytes = hex("0011000c 01020304 00100000");
        assert_parameter(&bytes, Parameter::AddOutgoingStreamsRequest(request));
        let bytes = hex("0012000c 01020304 00100000");
        assert_parameter(&bytes, Parameter::AddIncomingStreamsRequest(request));
    }

    #[test]
    fn what_is_reserved_is_ignored() {
        let bytes = hex("0011000c 01020304 0010ffff");
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        let request = AddStreamsRequest { request_sequence_number: 0x0102_0304, new_streams: 16 };
        assert_eq!(parameters, [Ok(Parameter::AddOutgoingStreamsRequest(request))]);
    }
}
