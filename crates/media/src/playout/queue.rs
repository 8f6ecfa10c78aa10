//! The items that wait for their time, by position, within a limit of memory.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::piece::{Header, Run};
use crate::ts::{NULL_PACKET, PACKET_LEN};
use crate::{Class, PerClass};

use super::Meta;

/// What the bookkeeping of a segment takes, roughly.
const SEGMENT_OVERHEAD: usize = 256;

/// Most null packets that one segment is released with: their bytes are a constant of this length.
const NULLS_AT_ONCE: usize = 64;

static NULLS: [[u8; PACKET_LEN]; NULLS_AT_ONCE] = [NULL_PACKET; NULLS_AT_ONCE];

/// Items in a row, all of one piece.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) run: Run,
    pub(super) meta: Meta,
    /// Empty for null packets until they are released.
    pub(super) payload: Bytes,
}

impl Segment {
    pub(super) fn new(run: Run, header: &Header, payload: Bytes) -> Self {
        Self { run, meta: header.into(), payload }
    }

    fn memory(&self) -> usize {
        self.payload.len() + SEGMENT_OVERHEAD
    }

    /// Cuts off the first `n` items, fewer than all.
    fn split_first(&mut self, n: u32) -> Self {
        let item_len = self.payload.len() / self.run.count as usize;
        let payload = self.payload.split_to(item_len * n as usize);
        let run = Run { count: n, ..self.run };
        self.run = self.run.without_first(n);
        Self { run, meta: self.meta, payload }
    }
}

/// What happened to a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    Accepted,
    Duplicate,
}

#[derive(Debug)]
pub(super) struct Queue {
    segments: BTreeMap<u64, Segment>,
    by_class: PerClass<BTreeSet<u64>>,
    bytes: usize,
    max_bytes: usize,
}

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { segments: BTreeMap::new(), by_class: PerClass::default(), bytes: 0, max_bytes }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn first(&self) -> Option<&Segment> {
        self.segments.first_key_value().map(|(_, segment)| segment)
    }

    /// Takes a segment unless one of its positions is taken; makes room by dropping, and counting,
    /// the least important items that are farthest from their time.
    pub(super) fn insert(&mut self, segment: Segment, dropped: &mut PerClass<u64>) -> Insertion {
        let (position, end) = (segment.run.position, segment.run.end());
        let before = self.segments.range(..end).next_back();
        if before.is_some_and(|(_, before)| before.run.end() > position) {
            return Insertion::Duplicate;
        }
        self.bytes += segment.memory();
        self.by_class.of_mut(segment.meta.class).insert(position);
        self.segments.insert(position, segment);
        while self.bytes > self.max_bytes {
            let Some(victim) = self.least_important() else { break };
            let Some(segment) = self.remove(victim) else { break };
            *dropped.of_mut(segment.meta.class) += u64::from(segment.run.count);
        }
        Insertion::Accepted
    }

    /// Takes the first `n` items at most.
    pub(super) fn pop_first(&mut self, n: u32) -> Option<Segment> {
        let (&position, head) = self.segments.first_key_value()?;
        let n = if head.meta.nulls { n.min(NULLS_AT_ONCE as u32) } else { n };
        let mut segment = self.remove(position)?;
        if n < segment.run.count {
            let mut rest = segment;
            segment = rest.split_first(n);
            self.put_back(rest);
        }
        if segment.meta.nulls {
            let nulls = Bytes::from_static(NULLS.as_flattened());
            segment.payload = nulls.slice(..PACKET_LEN * segment.run.count as usize);
        }
        Some(segment)
    }

    pub(super) fn clear(&mut self, dropped: &mut PerClass<u64>) {
        for segment in std::mem::take(&mut self.segments).into_values() {
            *dropped.of_mut(segment.meta.class) += u64::from(segment.run.count);
        }
        self.by_class = PerClass::default();
        self.bytes = 0;
    }

    fn least_important(&self) -> Option<u64> {
        Class::ALL.iter().rev().find_map(|class| self.by_class.of(*class).last().copied())
    }

    fn remove(&mut self, position: u64) -> Option<Segment> {
        let segment = self.segments.remove(&position)?;
        self.by_class.of_mut(segment.meta.class).remove(&position);
        self.bytes -= segment.memory();
        Some(segment)
    }

    fn put_back(&mut self, segment: Segment) {
        self.bytes += segment.memory();
        self.by_class.of_mut(segment.meta.class).insert(segment.run.position);
        self.segments.insert(segment.run.position, segment);
    }
}
