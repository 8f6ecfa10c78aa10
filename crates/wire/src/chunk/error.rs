//! ERROR (9), RFC 9260 section 3.3.10.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{ErrorCauses, tlv};

/// Operation Error: tells the peer what was wrong; the association lives on.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 9    |  Chunk Flags  |            Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                   one or more Error Causes                    /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorChunk<'a> {
    /// What was wrong.
    pub causes: ErrorCauses<'a>,
}

impl<'a> ErrorChunk<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Self {
        Self { causes: ErrorCauses::from_bytes(raw.value) }
    }
}

impl EncodeChunk for ErrorChunk<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + tlv::padded(self.causes.as_bytes().len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_opaque(ChunkType::ERROR, 0, self.causes.as_bytes(), buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_chunk, assert_round_trip, hex};
    use crate::{Chunk, ErrorCause, Tsn};

    #[test]
    fn linux_reports_an_unrecognized_chunk() {
        let causes = hex("00060010 fe00000b 756e6b6e6f776e 00");
        let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
        let bytes = hex("09000014 00060010 fe00000b 756e6b6e6f776e 00");
        assert_chunk(&bytes, &Chunk::Error(error));
        // Linux counts the padding of the chunk that it returns.
        let returned = hex("fe00000b 756e6b6e6f776e 00");
        let causes: Vec<_> = error.causes.iter().collect();
        assert_eq!(causes, [Ok(ErrorCause::UnrecognizedChunkType(&returned))]);
    }

    #[test]
    fn several_causes_survive_a_round_trip() {
        let mut causes = Vec::new();
        ErrorCause::UnrecognizedParameters(b"\xc0\xfe\0\x05!").encode(&mut causes);
        ErrorCause::NoUserData { tsn: Tsn(4) }.encode(&mut causes);
        assert_round_trip(&Chunk::Error(ErrorChunk { causes: ErrorCauses::from_bytes(&causes) }));
    }
}
