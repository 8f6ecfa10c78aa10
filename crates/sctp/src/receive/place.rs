//! [`Place`]: where a fragment belongs, in chunks of either format.

use std::num::NonZeroU64;

use anabranch_wire::{Mid, StreamId};

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

/// A message among those that interleave, in one word: each fragment moves and compares a few.
///
/// ```text
/// | stream: 16 | unordered: 1 | next life: 1 | 1 | 0: 13 | MID: 32 |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageKey(NonZeroU64);

impl MessageKey {
    const UNORDERED: u64 = 1 << 47;
    const NEXT_LIFE: u64 = 1 << 46;
    /// Set in each, so that none is zero.
    const PRESENT: NonZeroU64 = NonZeroU64::MIN.saturating_add((1 << 45) - 1);

    pub(super) fn new(stream: StreamId, unordered: bool, mid: Mid) -> Self {
        let unordered = if unordered { Self::UNORDERED } else { 0 };
        Self(Self::PRESENT | (u64::from(stream.0) << 48) | unordered | u64::from(mid.0))
    }

    /// The same where it belongs behind a reset of its stream that was not performed yet.
    pub(super) fn in_next_life(self) -> Self {
        Self(self.0 | Self::NEXT_LIFE)
    }

    /// The same once the reset was performed.
    pub(super) fn in_this_life(self) -> Self {
        Self(Self::PRESENT | (self.0.get() & !Self::NEXT_LIFE))
    }

    pub(super) const fn is_of_next_life(self) -> bool {
        self.0.get() & Self::NEXT_LIFE != 0
    }

    pub(super) const fn stream(self) -> StreamId {
        StreamId((self.0.get() >> 48) as u16)
    }

    pub(super) const fn mid(self) -> Mid {
        Mid(self.0.get() as u32)
    }
}

impl Place {
    pub(super) fn of(sequence: u64, is_next_life: bool, data: &DataChunk<'_>) -> Self {
        let Some(fsn) = data.fsn else { return Self { message: None, number: sequence } };
        let key = MessageKey::new(data.stream, data.unordered, data.mid);
        let key = if is_next_life { key.in_next_life() } else { key };
        Self { message: Some(key), number: fsn.0.into() }
    }

    pub(super) const fn plus(self, count: u64) -> Self {
        Self { number: self.number + count, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_what_it_was_made_of_and_sorts_by_it() {
        let streams = [0, 1, 0x8000, u16::MAX].map(StreamId);
        let mids = [0, 1, 0x8000_0000, u32::MAX].map(Mid);
        let mut keys = Vec::new();
        for stream in streams {
            for unordered in [false, true] {
                for life in [false, true] {
                    for mid in mids {
                        let key = MessageKey::new(stream, unordered, mid);
                        let key = if life { key.in_next_life() } else { key };
                        assert_eq!((key.stream(), key.mid()), (stream, mid));
                        assert_eq!(key.is_of_next_life(), life);
                        assert_eq!(key.in_this_life(), MessageKey::new(stream, unordered, mid));
                        keys.push(Some(key));
                    }
                }
            }
        }
        assert!(keys.is_sorted_by(|a, b| a < b), "by stream, order, life and MID");
        assert!(keys.iter().all(|key| *key > None), "DATA chunks come first");
    }
}
