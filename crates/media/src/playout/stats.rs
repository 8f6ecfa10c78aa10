//! What a playout counts.

use crate::PerClass;

/// What became of all pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PlayoutStats {
    /// Pieces that came, by class.
    pub pieces: PerClass<u64>,
    /// Of those, pieces that came after their time, in whole or in part.
    pub late: PerClass<u64>,
    /// Pieces that did not come though later ones of their track and class did.
    pub missing: PerClass<u64>,
    /// Items that went because the memory was full.
    pub dropped_items: PerClass<u64>,
    /// Items released.
    pub released_items: u64,
    /// Bytes released.
    pub released_bytes: u64,
    /// Items given up at the time of the next one, for whatever reason they were not there.
    pub skipped_items: u64,
    /// Items that came again.
    pub duplicate_items: u64,
    /// Messages that are no pieces.
    pub malformed: u64,
    /// Pieces of a session that had already been replaced.
    pub stray: u64,
    /// Sessions begun: more than 1 means that the sender started again.
    pub sessions: u64,
    /// Times that the clocks had to be compared anew, see [`RESYNC_AFTER`](super::RESYNC_AFTER).
    pub resyncs: u64,
    /// Times that everything waited once for a path that turned out so slow.
    pub waits: u64,
    /// Bytes that wait now.
    pub queued_bytes: usize,
}

impl PlayoutStats {
    /// Adds what another playout counted, bytes that wait now included.
    pub fn add(&mut self, other: &Self) {
        self.pieces.add(&other.pieces);
        self.late.add(&other.late);
        self.missing.add(&other.missing);
        self.dropped_items.add(&other.dropped_items);
        self.released_items += other.released_items;
        self.released_bytes += other.released_bytes;
        self.skipped_items += other.skipped_items;
        self.duplicate_items += other.duplicate_items;
        self.malformed += other.malformed;
        self.stray += other.stray;
        self.sessions += other.sessions;
        self.resyncs += other.resyncs;
        self.waits += other.waits;
        self.queued_bytes += other.queued_bytes;
    }
}
