//! [`Replay`]: which packets have been here.

use crate::seq::Seq;

/// How many packets back a late one is told from a repeated one.
const WINDOW: u64 = 1_024;
const BITS: u64 = u64::BITS as u64;

/// Which of the latest packets have been here. What is older counts as if it had.
#[derive(Debug)]
pub(crate) struct Replay {
    newest: Seq,
    /// A ring of bits, by the low bits of a packet's place.
    seen: [u64; (WINDOW / BITS) as usize],
}

impl Replay {
    /// The first packet has arrived.
    pub(crate) fn new(first: Seq) -> Self {
        let mut replay = Self { newest: first, seen: [0; (WINDOW / BITS) as usize] };
        replay.mark(first);
        replay
    }

    /// Notes a packet. False: it has been here.
    pub(crate) fn on_packet(&mut self, seq: Seq) -> bool {
        if seq > self.newest {
            let ahead = seq.since(self.newest);
            if ahead >= WINDOW {
                self.seen.fill(0);
            } else {
                (1..ahead).for_each(|n| self.clear(self.newest + n));
            }
            self.newest = seq;
            self.mark(seq);
            return true;
        }
        if self.newest.since(seq) >= WINDOW || self.is_marked(seq) {
            return false;
        }
        self.mark(seq);
        true
    }

    fn place(seq: Seq) -> (usize, u64) {
        let bit = seq.number().value() % WINDOW;
        ((bit / BITS) as usize, 1 << (bit % BITS))
    }

    fn mark(&mut self, seq: Seq) {
        let (word, bit) = Self::place(seq);
        self.seen[word] |= bit;
    }

    fn clear(&mut self, seq: Seq) {
        let (word, bit) = Self::place(seq);
        self.seen[word] &= !bit;
    }

    fn is_marked(&self, seq: Seq) -> bool {
        let (word, bit) = Self::place(seq);
        self.seen[word] & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anabranch_sansio::Rng;

    use super::*;
    use crate::wire::SequenceNumber;

    #[test]
    fn it_agrees_with_a_set() {
        let mut rng = Rng::from_u64(1);
        let first = Seq::first(SequenceNumber::new((1 << 48) - 500));
        let (mut replay, mut set, mut newest) = (Replay::new(first), BTreeSet::new(), first);
        set.insert(first);
        for _ in 0..100_000 {
            let far = if rng.chance(0.01) { 3_000 } else { 20 };
            let seq = (newest + rng.range(0..far)) - rng.range(0..1_500);
            let is_new = seq > newest || newest.since(seq) < WINDOW && !set.contains(&seq);
            assert_eq!(replay.on_packet(seq), is_new);
            set.insert(seq);
            newest = newest.max(seq);
        }
    }
}
