//! Incoming SSN Reset Request (14), RFC 6525 section 4.2.

use crate::ParameterType;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, Items, StreamId};

/// Asks the peer to reset streams that it sends on.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     Parameter Type = 14       |  Parameter Length = 8 + 2 * N |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          Re-configuration Request Sequence Number             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Stream Number 1 (optional)   |    Stream Number 2 (optional) |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                            ......                             /
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Stream Number N-1 (optional) |    Stream Number N (optional) |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncomingSsnResetRequest<'a> {
    /// The request's place among those of its sender.
    pub request_sequence_number: u32,
    /// The streams; none stands for all.
    pub streams: Items<'a, StreamId>,
}

impl<'a> IncomingSsnResetRequest<'a> {
    pub(super) fn decode(tlv: Tlv<'a>) -> Result<Self, DecodeError> {
        let (&number, streams) = super::split_fixed::<4>(tlv)?;
        Ok(Self {
            request_sequence_number: u32::from_be_bytes(number),
            streams: super::decode_streams(tlv, streams)?,
        })
    }

    pub(super) fn encode(&self, buf: &mut Vec<u8>) {
        let value_len = 4 + self.streams.encoded_len();
        tlv::put_header(buf, ParameterType::INCOMING_SSN_RESET_REQUEST.0, value_len);
        buf.extend_from_slice(&self.request_sequence_number.to_be_bytes());
        self.streams.encode(buf);
        tlv::pad(buf, value_len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, Parameters};

    #[test]
    fn streams_are_listed_behind_the_number() {
        let streams = [StreamId(3)];
        let request = IncomingSsnResetRequest {
            request_sequence_number: 0x0102_0304,
            streams: Items::from_slice(&streams),
        };
        let bytes = hex("000e000a 01020304 00030000");
        assert_parameter(&bytes, Parameter::IncomingSsnResetRequest(request));
    }

    #[test]
    fn half_a_stream_is_refused() {
        let bytes = hex("000e0009 01020304 00000000");
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        let ty = ParameterType::INCOMING_SSN_RESET_REQUEST;
        assert_eq!(parameters, [Err(DecodeError::StreamNumbersLengthOdd { ty, len: 9 })]);
    }
}
