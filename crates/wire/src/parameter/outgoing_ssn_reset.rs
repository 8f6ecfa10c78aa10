//! Outgoing SSN Reset Request (13), RFC 6525 section 4.1.

use crate::ParameterType;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, Items, StreamId, Tsn};

/// Asks the peer to begin its count of our streams' messages anew.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     Parameter Type = 13       | Parameter Length = 16 + 2 * N |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |           Re-configuration Request Sequence Number            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |           Re-configuration Response Sequence Number           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                Sender's Last Assigned TSN                     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Stream Number 1 (optional)   |    Stream Number 2 (optional) |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                            ......                             /
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Stream Number N-1 (optional) |    Stream Number N (optional) |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingSsnResetRequest<'a> {
    /// The request's place among those of its sender.
    pub request_sequence_number: u32,
    /// The Incoming SSN Reset Request that this one answers, or the last request that its sender
    /// has seen.
    pub response_sequence_number: u32,
    /// The last TSN that the sender gave to a chunk.
    pub last_assigned_tsn: Tsn,
    /// The streams; none stands for all.
    pub streams: Items<'a, StreamId>,
}

impl<'a> OutgoingSsnResetRequest<'a> {
    pub(super) fn decode(tlv: Tlv<'a>) -> Result<Self, DecodeError> {
        let (fixed, streams) = super::split_fixed::<12>(tlv)?;
        let &[q0, q1, q2, q3, p0, p1, p2, p3, t0, t1, t2, t3] = fixed;
        Ok(Self {
            request_sequence_number: u32::from_be_bytes([q0, q1, q2, q3]),
            response_sequence_number: u32::from_be_bytes([p0, p1, p2, p3]),
            last_assigned_tsn: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            streams: super::decode_streams(tlv, streams)?,
        })
    }

    pub(super) fn encode(&self, buf: &mut Vec<u8>) {
        let value_len = 12 + self.streams.encoded_len();
        tlv::put_header(buf, ParameterType::OUTGOING_SSN_RESET_REQUEST.0, value_len);
        buf.extend_from_slice(&self.request_sequence_number.to_be_bytes());
        buf.extend_from_slice(&self.response_sequence_number.to_be_bytes());
        buf.extend_from_slice(&self.last_assigned_tsn.0.to_be_bytes());
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
    fn three_streams_need_padding() {
        let streams = [StreamId(1), StreamId(2), StreamId(0xffff)];
        let request = OutgoingSsnResetRequest {
            request_sequence_number: 0x0102_0304,
            response_sequence_number: 0x0506_0708,
            last_assigned_tsn: Tsn(0x090a_0b0c),
            streams: Items::from_slice(&streams),
        };
        let bytes = hex("000d0016 01020304 05060708 090a0b0c 00010002 ffff0000");
        assert_parameter(&bytes, Parameter::OutgoingSsnResetRequest(request));
        let all = OutgoingSsnResetRequest { streams: Items::default(), ..request };
        let bytes = hex("000d0010 01020304 05060708 090a0b0c");
        assert_parameter(&bytes, Parameter::OutgoingSsnResetRequest(all));
    }

    #[test]
    fn missing_fields_and_half_a_stream_are_refused() {
        let ty = ParameterType::OUTGOING_SSN_RESET_REQUEST;
        for (bytes, error) in [
            ("000d000c 00000001 00000002", DecodeError::ParameterTooShort { ty, len: 12, min: 16 }),
            (
                "000d0011 00000001 00000002 00000003 01000000",
                DecodeError::StreamNumbersLengthOdd { ty, len: 17 },
            ),
        ] {
            let bytes = hex(bytes);
            let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
            assert_eq!(parameters, [Err(error)]);
        }
    }
}
