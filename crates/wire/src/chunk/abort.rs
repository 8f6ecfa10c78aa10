//! ABORT (6), RFC 9260 section 3.3.7.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{ErrorCauses, tlv};

/// Abort Association: ends it at once.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 6    |  Reserved   |T|            Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                   zero or more Error Causes                   /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abort<'a> {
    /// The T bit: the packet's Verification Tag is the one that came with what it answers.
    pub tag_reflected: bool,
    /// Why.
    pub causes: ErrorCauses<'a>,
}

impl<'a> Abort<'a> {
    pub(super) fn decode(raw: RawChunk<'a>) -> Self {
        Self {
            tag_reflected: raw.flags & super::TAG_REFLECTED != 0,
            causes: ErrorCauses::from_bytes(raw.value),
        }
    }
}

impl EncodeChunk for Abort<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + tlv::padded(self.causes.as_bytes().len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        let flags = if self.tag_reflected { super::TAG_REFLECTED } else { 0 };
        super::encode_opaque(ChunkType::ABORT, flags, self.causes.as_bytes(), buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_chunk, assert_round_trip, hex};
    use crate::{Chunk, ErrorCause};

    #[test]
    fn linux_aborts_for_its_application() {
        let causes = hex("000c0012 656e6f756768206f662074686973 0000");
        let abort = Abort { tag_reflected: false, causes: ErrorCauses::from_bytes(&causes) };
        let bytes = hex("06000016 000c0012 656e6f756768206f662074686973 0000");
        assert_chunk(&bytes, &Chunk::Abort(abort));
        let causes: Vec<_> = abort.causes.iter().collect();
        assert_eq!(causes, [Ok(ErrorCause::UserInitiatedAbort(b"enough of this"))]);
    }

    #[test]
    fn linux_reflects_the_tag_of_a_stray_packet() {
        let abort = Abort { tag_reflected: true, causes: ErrorCauses::default() };
        assert_chunk(&hex("06010004"), &Chunk::Abort(abort));
    }

    #[test]
    fn several_causes_survive_a_round_trip() {
        let mut causes = Vec::new();
        ErrorCause::ProtocolViolation(b"1").encode(&mut causes);
        ErrorCause::UserInitiatedAbort(b"22").encode(&mut causes);
        ErrorCause::ProtocolViolation(b"333").encode(&mut causes);
        for tag_reflected in [false, true] {
            let causes = ErrorCauses::from_bytes(&causes);
            assert_eq!(causes.iter().filter(Result::is_ok).count(), 3);
            assert_round_trip(&Chunk::Abort(Abort { tag_reflected, causes }));
        }
    }
}
