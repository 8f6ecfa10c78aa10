//! HEARTBEAT ACK (5), RFC 9260 section 3.3.6.

use super::{EncodeChunk, RawChunk, heartbeat};
use crate::ChunkType;
use crate::DecodeError;

/// Heartbeat Acknowledgement: reflects the Heartbeat Info of a HEARTBEAT.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 5    |  Chunk Flags  |     Heartbeat Ack Length      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /          Heartbeat Information TLV (Variable-Length)          /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatAck<'a> {
    /// The value of the Heartbeat Info parameter, as it came in the HEARTBEAT.
    pub info: &'a [u8],
}

impl<'a> HeartbeatAck<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        Ok(Self { info: heartbeat::heartbeat_info(raw)? })
    }
}

impl EncodeChunk for HeartbeatAck<'_> {
    fn encoded_len(&self) -> usize {
        heartbeat::encoded_len(self.info)
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        heartbeat::encode_as(ChunkType::HEARTBEAT_ACK, self.info, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_answers_a_heartbeat() {
        let ack = Chunk::HeartbeatAck(HeartbeatAck { info: b"heartbeat info!" });
        // Linux reflects a HEARTBEAT as it came: here its length counted the final padding.
        let counted = hex("05000018 00010013 68656172746265617420696e666f21 00");
        assert_eq!(first_chunk(&packet_around(&counted)), Ok(ack));
        assert_chunk(&hex("05000017 00010013 68656172746265617420696e666f21 00"), &ack);
    }

    #[test]
    fn survives_a_round_trip() {
        assert_round_trip(&Chunk::HeartbeatAck(HeartbeatAck { info: &[7; 40] }));
    }

    #[test]
    fn an_answer_without_its_parameter_is_refused() {
        assert_eq!(
            first_chunk(&packet_around(&hex("05000004"))),
            Err(DecodeError::MissingHeartbeatInfo { ty: ChunkType::HEARTBEAT_ACK })
        );
    }
}
