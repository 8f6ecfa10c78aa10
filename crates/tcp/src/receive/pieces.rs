//! [`Pieces`]: what arrived out of order.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use bytes::Bytes;

use crate::segment::SACK_BLOCKS_MAX;

/// Pieces kept at once, lest many small ones cost more than the window they are in.
const PIECES_MAX: usize = 4_096;

/// Data behind a gap.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// By position. Pieces may overlap; none is inside another.
    data: BTreeMap<u64, Bytes>,
    bytes: usize,
    /// What is covered, in the order in which it last grew.
    blocks: VecDeque<Range<u64>>,
}

impl Pieces {
    pub(super) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Keeps data, unless it is known or there would be more than `bytes_max` of it.
    pub(super) fn insert(&mut self, start: u64, data: &[u8], bytes_max: usize) {
        let end = start + data.len() as u64;
        let is_full = self.data.len() >= PIECES_MAX || self.bytes + data.len() > bytes_max;
        if data.is_empty() || is_full {
            return;
        }
        let covers = |block: &Range<u64>| block.start <= start && end <= block.end;
        if self.blocks.iter().any(covers) {
            return self.remember(start..end);
        }
        self.bytes += data.len();
        if let Some(shorter) = self.data.insert(start, Bytes::copy_from_slice(data)) {
            self.bytes -= shorter.len();
        }
        self.remember(start..end);
    }

    /// Takes the data at this position, without what is before it.
    pub(super) fn pop_at(&mut self, position: u64) -> Option<Bytes> {
        while let Some(first) = self.data.first_entry()
            && *first.key() <= position
        {
            let known = position - first.key();
            let mut data = first.remove();
            self.bytes -= data.len();
            if known < data.len() as u64 {
                let data = data.split_off(known as usize);
                self.forget_below(position + data.len() as u64);
                return Some(data);
            }
        }
        None
    }

    /// RFC 2018 section 4: the first block is that of the segment which came last, and the others
    /// repeat what was told last.
    pub(super) fn newest_blocks(&self) -> [Option<Range<u64>>; SACK_BLOCKS_MAX] {
        std::array::from_fn(|n| self.blocks.get(n).cloned())
    }

    /// Joins a range with those that touch it; together they are the newest.
    fn remember(&mut self, mut range: Range<u64>) {
        self.blocks.retain(|block| {
            let is_apart = block.end < range.start || range.end < block.start;
            if !is_apart {
                range = range.start.min(block.start)..range.end.max(block.end);
            }
            is_apart
        });
        self.blocks.push_front(range);
    }

    fn forget_below(&mut self, position: u64) {
        self.blocks.retain(|block| block.end > position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_bound_on_bytes_and_one_on_pieces() {
        let mut pieces = Pieces::default();
        pieces.insert(10, &[0; 60], 100);
        pieces.insert(100, &[0; 60], 100);
        assert_eq!((pieces.bytes, pieces.data.len()), (60, 1));
        let mut many = Pieces::default();
        (0..10_000).for_each(|n| many.insert(2 * n, &[0], usize::MAX));
        assert_eq!(many.data.len(), PIECES_MAX);
    }

    #[test]
    fn overlaps_come_out_once() {
        let mut pieces = Pieces::default();
        pieces.insert(2, b"cdef", 100);
        pieces.insert(4, b"efgh", 100);
        pieces.insert(3, b"d", 100);
        assert_eq!(pieces.pop_at(2).as_deref(), Some(b"cdef".as_slice()));
        assert_eq!(pieces.pop_at(6).as_deref(), Some(b"gh".as_slice()));
        assert_eq!((pieces.pop_at(8), pieces.bytes, pieces.blocks.len()), (None, 0, 0));
    }
}
