//! RE-CONFIG (130), RFC 6525 section 3.1.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{Parameters, tlv};

/// Re-configuration: asks to reset or to add streams, or answers that.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Type = 130    |  Chunk Flags  |      Chunk Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                  Re-configuration Parameter                   /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /             Re-configuration Parameter (optional)             /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReConfig<'a> {
    /// One or two requests or responses. Whether they may stand together is for the association
    /// to check.
    pub parameters: Parameters<'a>,
}

impl<'a> ReConfig<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Self {
        Self { parameters: Parameters::from_bytes(raw.value) }
    }
}

impl EncodeChunk for ReConfig<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + tlv::padded(self.parameters.as_bytes().len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_opaque(ChunkType::RE_CONFIG, 0, self.parameters.as_bytes(), buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_chunk, assert_round_trip, hex};
    use crate::{
        Chunk, Items, OutgoingSsnResetRequest, Parameter, ReconfigurationResponse,
        ReconfigurationResult, StreamId, Tsn,
    };

    #[test]
    fn usrsctp_asks_to_reset_a_stream() {
        let streams = [StreamId(5)];
        let request = Parameter::OutgoingSsnResetRequest(OutgoingSsnResetRequest {
            request_sequence_number: 1,
            response_sequence_number: 0,
            last_assigned_tsn: Tsn(1000),
            streams: Items::from_slice(&streams),
        });
        let mut parameters = Vec::new();
        request.encode(&mut parameters);
        let chunk = ReConfig { parameters: Parameters::from_bytes(&parameters) };
        let bytes = hex("82000016 000d0012 00000001 00000000 000003e8 00050000");
        assert_chunk(&bytes, &Chunk::ReConfig(chunk));
        let read: Vec<_> = chunk.parameters.iter().collect();
        assert_eq!(read, [Ok(request)]);
    }

    #[test]
    fn a_response_and_a_request_survive_a_round_trip() {
        let mut parameters = Vec::new();
        Parameter::ReconfigurationResponse(ReconfigurationResponse {
            response_sequence_number: u32::MAX,
            result: ReconfigurationResult::PERFORMED,
            next_tsns: None,
        })
        .encode(&mut parameters);
        Parameter::OutgoingSsnResetRequest(OutgoingSsnResetRequest {
            request_sequence_number: 1,
            response_sequence_number: u32::MAX,
            last_assigned_tsn: Tsn(u32::MAX),
            streams: Items::default(),
        })
        .encode(&mut parameters);
        let parameters = Parameters::from_bytes(&parameters);
        assert_eq!(parameters.iter().count(), 2);
        assert_round_trip(&Chunk::ReConfig(ReConfig { parameters }));
    }
}
