//! ASCONF-ACK (0x80), RFC 5061 section 4.1.2.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{DecodeError, Parameters, tlv};

/// Address Configuration Acknowledgment: what became of the requests of an ASCONF.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Type = 0x80   |  Chunk Flags  |      Chunk Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                     Sequence Number                           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                 ASCONF Parameter Response#1                   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                             ....                              /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                 ASCONF Parameter Response#N                   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsconfAck<'a> {
    /// That of the ASCONF.
    pub sequence_number: u32,
    /// Results; requests without one were met.
    pub responses: Parameters<'a>,
}

impl<'a> AsconfAck<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (sequence_number, rest) = raw.split_fixed::<4>()?;
        Ok(Self {
            sequence_number: u32::from_be_bytes(*sequence_number),
            responses: Parameters::from_bytes(rest),
        })
    }
}

impl EncodeChunk for AsconfAck<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + 4 + tlv::padded(self.responses.as_bytes().len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        let responses = self.responses.as_bytes();
        buf.extend_from_slice(&super::header(ChunkType::ASCONF_ACK, 0, 4 + responses.len()));
        buf.extend_from_slice(&self.sequence_number.to_be_bytes());
        buf.extend_from_slice(responses);
        tlv::pad(buf, responses.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};
    use crate::{Chunk, ErrorCause, ErrorCauses, Parameter};

    #[test]
    fn a_failed_delete_stands_as_the_rfc_draws_it() {
        // RFC 5061 section 4.3.1.
        let request = "c0020010 01023476 00050008 c0000201";
        let response = hex(&format!("c003001c 01023476 00a00014 {request}"));
        let ack = AsconfAck { sequence_number: 9, responses: Parameters::from_bytes(&response) };
        let bytes = hex(&format!("80000024 00000009 c003001c 01023476 00a00014 {request}"));
        assert_chunk(&bytes, &Chunk::AsconfAck(ack));

        let request = hex(request);
        let mut causes = Vec::new();
        ErrorCause::DeleteLastRemainingIpAddress(&request).encode(&mut causes);
        let causes = ErrorCauses::from_bytes(&causes);
        let failed = Parameter::ErrorCauseIndication { correlation_id: 0x0102_3476, causes };
        assert_eq!(ack.responses.iter().collect::<Vec<_>>(), [Ok(failed)]);
    }

    #[test]
    fn survives_a_round_trip() {
        let mut responses = Vec::new();
        Parameter::SuccessIndication { correlation_id: 5 }.encode(&mut responses);
        for responses in [&[][..], &responses] {
            assert_round_trip(&Chunk::AsconfAck(AsconfAck {
                sequence_number: u32::MAX,
                responses: Parameters::from_bytes(responses),
            }));
        }
    }

    #[test]
    fn one_without_a_sequence_number_is_refused() {
        let error = DecodeError::ChunkTooShort { ty: ChunkType::ASCONF_ACK, len: 6, min: 8 };
        assert_eq!(first_chunk(&packet_around(&hex("80000006 00070000"))), Err(error));
    }
}
