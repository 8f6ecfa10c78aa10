//! The items that wait for their time, by position, within a limit of memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;

use crate::piece::{Piece, Run};
use crate::ts::{NULL_PACKET, PACKET_LEN};
use crate::{Class, PerClass};

use super::Meta;

/// What the bookkeeping of a segment takes, its part of the piece's header included.
const SEGMENT_OVERHEAD: usize = 256;

/// Most null packets that are released at once: their bytes are a constant of this length.
const NULLS_AT_ONCE: u32 = 64;

static NULLS: [[u8; PACKET_LEN]; NULLS_AT_ONCE as usize] = [NULL_PACKET; NULLS_AT_ONCE as usize];

/// Items in a row, all of one piece.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) run: Run,
    pub(super) meta: Meta,
    /// Empty for null packets until they are released.
    pub(super) payload: Bytes,
    piece: PieceNumber,
}

impl Segment {
    /// Cuts off the first `n` items, fewer than all.
    fn split_first(&mut self, n: u32) -> Self {
        let item_len = self.payload.len() / self.run.count.max(1) as usize;
        let payload = self.payload.split_to(item_len * n as usize);
        let run = Run { count: n, ..self.run };
        self.run = self.run.without_first(n);
        Self { run, payload, ..*self }
    }
}

/// Counts pieces as they come.
type PieceNumber = u64;

/// A piece of which something waits: its memory is held until the last of it has gone.
#[derive(Debug)]
struct HeldPiece {
    bytes: usize,
    segments: usize,
}

/// How many items of a piece were taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Inserted {
    pub(super) accepted: u64,
    pub(super) duplicates: u64,
}

#[derive(Debug)]
pub(super) struct Queue {
    segments: BTreeMap<u64, Segment>,
    by_class: PerClass<BTreeSet<u64>>,
    pieces: BTreeMap<PieceNumber, HeldPiece>,
    next_piece: PieceNumber,
    bytes: usize,
    max_bytes: usize,
}

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            segments: BTreeMap::new(),
            by_class: PerClass::default(),
            pieces: BTreeMap::new(),
            next_piece: 0,
            bytes: 0,
            max_bytes,
        }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn first(&self) -> Option<&Segment> {
        self.segments.first_key_value().map(|(_, segment)| segment)
    }

    /// Takes parts of a piece, each a run and its place in the payload, unless one of its positions
    /// is taken. Makes room by dropping, and counting, the least important items that are farthest
    /// from their time.
    pub(super) fn insert(
        &mut self,
        piece: &Piece,
        parts: Vec<(Run, Range<usize>)>,
        dropped: &mut PerClass<u64>,
    ) -> Inserted {
        let mut inserted = Inserted::default();
        let mut segments = 0;
        for (run, range) in parts {
            if self.is_taken(&run) {
                inserted.duplicates += u64::from(run.count);
                continue;
            }
            inserted.accepted += u64::from(run.count);
            segments += 1;
            let payload = piece.payload.slice(range);
            let meta = Meta::from(&piece.header);
            self.put(Segment { run, meta, payload, piece: self.next_piece });
        }
        if segments > 0 {
            let bytes = piece.payload.len();
            self.pieces.insert(self.next_piece, HeldPiece { bytes, segments });
            self.bytes += bytes + segments * SEGMENT_OVERHEAD;
            self.next_piece += 1;
        }
        self.make_room(dropped);
        inserted
    }

    /// Takes the first `n` items at most.
    pub(super) fn pop_first(&mut self, n: u32) -> Option<Segment> {
        let head = self.segments.first_entry()?;
        let position = *head.key();
        let n = if head.get().meta.nulls { n.min(NULLS_AT_ONCE) } else { n };
        let mut segment = if n < head.get().run.count {
            let mut rest = head.remove();
            self.by_class.of_mut(rest.meta.class).remove(&position);
            let first = rest.split_first(n);
            self.put(rest);
            first
        } else {
            self.remove(position)?
        };
        if segment.meta.nulls {
            let nulls = Bytes::from_static(NULLS.as_flattened());
            segment.payload = nulls.slice(..PACKET_LEN * segment.run.count as usize);
        }
        Some(segment)
    }

    pub(super) fn clear(&mut self, dropped: &mut PerClass<u64>) {
        for segment in self.segments.values() {
            *dropped.of_mut(segment.meta.class) += u64::from(segment.run.count);
        }
        *self = Self::new(self.max_bytes);
    }

    fn is_taken(&self, run: &Run) -> bool {
        let before = self.segments.range(..run.end()).next_back();
        before.is_some_and(|(_, before)| before.run.end() > run.position)
    }

    fn make_room(&mut self, dropped: &mut PerClass<u64>) {
        while self.bytes > self.max_bytes {
            let least = Class::ALL.iter().rev();
            let victim = least.filter_map(|class| self.by_class.of(*class).last()).next();
            let Some(segment) = victim.copied().and_then(|position| self.remove(position)) else {
                return;
            };
            *dropped.of_mut(segment.meta.class) += u64::from(segment.run.count);
        }
    }

    fn put(&mut self, segment: Segment) {
        self.by_class.of_mut(segment.meta.class).insert(segment.run.position);
        self.segments.insert(segment.run.position, segment);
    }

    /// Takes out a segment, and gives back its memory.
    fn remove(&mut self, position: u64) -> Option<Segment> {
        let segment = self.segments.remove(&position)?;
        self.by_class.of_mut(segment.meta.class).remove(&position);
        self.bytes -= SEGMENT_OVERHEAD;
        if let Some(piece) = self.pieces.get_mut(&segment.piece) {
            piece.segments -= 1;
            if piece.segments == 0 {
                self.bytes -= piece.bytes;
                self.pieces.remove(&segment.piece);
            }
        }
        Some(segment)
    }
}
