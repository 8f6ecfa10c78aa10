//! HEARTBEAT (4), RFC 9260 section 3.3.5.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{DecodeError, Parameter, ParameterType, Parameters, tlv};

/// Heartbeat Request: asks whether a destination address can be reached.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 4    |  Chunk Flags  |       Heartbeat Length        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /          Heartbeat Information TLV (Variable-Length)          /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// The value of the Heartbeat Info parameter: only the sender knows what it means.
    pub info: &'a [u8],
}

impl<'a> Heartbeat<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        Ok(Self { info: heartbeat_info(raw)? })
    }
}

/// The value of the Heartbeat Info parameter in a HEARTBEAT or HEARTBEAT ACK.
pub(super) fn heartbeat_info<'a>(raw: RawChunk<'a>) -> Result<&'a [u8], DecodeError> {
    for parameter in Parameters::from_bytes(raw.value).iter() {
        if let Parameter::HeartbeatInfo(info) = parameter? {
            return Ok(info);
        }
    }
    Err(DecodeError::MissingHeartbeatInfo { ty: raw.ty })
}

/// Appends a HEARTBEAT or HEARTBEAT ACK.
pub(super) fn encode_as(ty: ChunkType, info: &[u8], buf: &mut Vec<u8>) {
    buf.extend_from_slice(&super::header(ty, 0, tlv::HEADER_LEN + info.len()));
    tlv::encode(buf, ParameterType::HEARTBEAT_INFO.0, info);
}

/// The length of a HEARTBEAT or HEARTBEAT ACK.
pub(super) const fn encoded_len(info: &[u8]) -> usize {
    super::HEADER_LEN + tlv::HEADER_LEN + tlv::padded(info.len())
}

impl EncodeChunk for Heartbeat<'_> {
    fn encoded_len(&self) -> usize {
        encoded_len(self.info)
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        encode_as(ChunkType::HEARTBEAT, self.info, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_probes_a_path() {
        let bytes = hex(
            "0400003c 00010038 02001b637f00000200000000000000000000000000000000000000008095ffff
             000000007d98bc63c3d991f10000000000000000",
        );
        let info = hex("02001b637f00000200000000000000000000000000000000000000008095ffff
             000000007d98bc63c3d991f10000000000000000");
        assert_chunk(&bytes, &Chunk::Heartbeat(Heartbeat { info: &info }));
    }

    #[test]
    fn every_padding_survives_a_round_trip() {
        for info in [&b""[..], b"1", b"22", b"333", b"4444"] {
            assert_round_trip(&Chunk::Heartbeat(Heartbeat { info }));
        }
    }

    #[test]
    fn padding_that_the_length_counts_is_not_part_of_the_info() {
        let packet = packet_around(&hex("0400000c 00010005 61000000"));
        assert_eq!(first_chunk(&packet), Ok(Chunk::Heartbeat(Heartbeat { info: b"a" })));
    }

    #[test]
    fn a_heartbeat_without_its_parameter_is_refused() {
        for bytes in ["04000004", "04000008 80000004"] {
            assert_eq!(
                first_chunk(&packet_around(&hex(bytes))),
                Err(DecodeError::MissingHeartbeatInfo { ty: ChunkType::HEARTBEAT })
            );
        }
        let packet = packet_around(&hex("04000009 0001000a 61000000"));
        let (ty, len, available) = (ParameterType::HEARTBEAT_INFO, 10, 5);
        assert_eq!(
            first_chunk(&packet),
            Err(DecodeError::ParameterBeyondChunk { ty, len, available })
        );
    }
}
