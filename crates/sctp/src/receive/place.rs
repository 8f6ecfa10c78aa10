//! [`Place`]: where a fragment belongs, in chunks of either format.

use anabranch_wire::StreamId;

use super::data_chunk::DataChunk;

/// Where a fragment belongs: what continues it has the next number.
///
/// RFC 9260 section 6.9, of DATA chunks: "The transmitter MUST then assign, in sequence, a separate
/// TSN to each of the DATA chunks in the series." RFC 8260 section 2.2.3, of I-DATA chunks: "the
/// receiver MUST first use the SID to identify the stream, consider the U bit to determine if it is
/// part of an ordered or unordered message, find the user message identified by the MID, and use
/// the FSN for reassembly of the message and not the TSN."
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Of fragments of I-DATA chunks.
    pub(super) message: Option<MessageKey>,
    /// The extended TSN, or the FSN.
    pub(super) number: u64,
}

/// A message among those that interleave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageKey {
    pub(super) stream: StreamId,
    pub(super) unordered: bool,
    /// Whether it belongs behind a reset of its stream that was not performed yet.
    pub(super) is_next_life: bool,
    pub(super) mid: u32,
}

impl Place {
    pub(super) fn of(sequence: u64, is_next_life: bool, data: &DataChunk<'_>) -> Self {
        let (stream, unordered, mid) = (data.stream, data.unordered, data.mid.0);
        match data.fsn {
            None => Self { message: None, number: sequence },
            Some(fsn) => Self {
                message: Some(MessageKey { stream, unordered, is_next_life, mid }),
                number: fsn.0.into(),
            },
        }
    }

    pub(super) const fn plus(self, count: u64) -> Self {
        Self { number: self.number + count, ..self }
    }
}
