//! [`Revocable`]: what arrived and may still be dropped for what matters more.

use std::collections::BTreeMap;

use anabranch_wire::{Level, StreamId};

use super::level_queue::Place;

/// The TSNs of a whole message, none of which is of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TsnSpan {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl TsnSpan {
    pub(super) fn with(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// Whole messages beyond the cumulative TSN that the user has not read.
///
/// RFC 9260 section 3.3.8: "In a SACK chunk, lack of Gap Ack Blocks that were previously included
/// indicates that the data receiver reneged on the associated DATA chunks." What the cumulative TSN
/// covers is never dropped: the peer does not have it any more. Nor is an ordered message whose
/// turn has come, since what follows it may have been read. A peer that sends a message for a
/// lifetime only sends what was dropped again within that, or says to wait for it no longer.
///
/// Messages that were read meanwhile stay listed until the cumulative TSN reaches them.
#[derive(Debug, Default)]
pub(super) struct Revocable {
    /// By the first TSN.
    levels: [BTreeMap<u64, Kept>; Level::ALL.len()],
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) span: TsnSpan,
    pub(super) at: KeptAt,
}

/// Where a message is.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeptAt {
    /// It can be read, and is unordered.
    Ready(Place),
    /// It waits for an earlier one of its stream.
    InStream(StreamId, u64),
}

impl Revocable {
    pub(super) fn note(&mut self, level: Level, kept: Kept) {
        self.levels[level.index()].insert(kept.span.first, kept);
    }

    /// The cumulative TSN has reached this one.
    pub(super) fn forget_through(&mut self, cumulative: u64) {
        for kept in &mut self.levels {
            while kept.first_entry().is_some_and(|first| *first.key() <= cumulative) {
                kept.pop_first();
            }
        }
    }

    /// Takes what matters least of what makes way for a chunk, of that what has the largest TSN.
    pub(super) fn take_least(&mut self, claim: Claim) -> Option<(Level, Kept)> {
        let of_level = |(level, kept): (Level, &mut BTreeMap<u64, Kept>)| {
            let last = kept.last_entry()?;
            let makes_way = match claim {
                Claim::Gap { sequence } => *last.key() > sequence,
                Claim::Level(claiming) => level > claiming,
            };
            makes_way.then(|| (level, last.remove()))
        };
        Level::ALL.into_iter().zip(&mut self.levels).rev().find_map(of_level)
    }
}

/// For what a chunk that finds no room may have others make way.
#[derive(Debug, Clone, Copy)]
pub(super) enum Claim {
    /// It fills a gap, for which all behind it makes way.
    ///
    /// RFC 9260 section 6.2: "if the new incoming DATA chunk holds a TSN value less than the
    /// largest TSN received so far, then the receiver SHOULD drop the largest TSN held for
    /// reordering and accept the new incoming DATA chunk."
    Gap { sequence: u64 },
    /// It comes behind all others: what matters less makes way.
    Level(Level),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anabranch_sansio::{Rng, Time};
    use anabranch_wire::{Mid, Ppid, Tsn};

    use super::super::{Buffer, DataChunk, DataOutcome, ReceiveOrder, Receiver};
    use super::*;
    use crate::format::DataFormat;
    use crate::path_name::PathId;
    use crate::sequence::extend;

    const CAPACITY: usize = 4_000;

    fn receiver() -> Receiver {
        let order = ReceiveOrder::PRIORITY;
        let buffer = Buffer { capacity: CAPACITY, message_size_max: 1_000, packet: 1_000, order };
        let mut receiver = Receiver::new(Tsn(1), 4, buffer, DataFormat::Data);
        receiver.read_marks();
        receiver
    }

    /// An unordered message of one chunk.
    fn data(tsn: u32, level: Level, payload: &[u8]) -> DataChunk<'_> {
        DataChunk {
            tsn: Tsn(tsn),
            stream: StreamId(0),
            mid: Mid(0),
            fsn: None,
            ppid: Ppid(tsn),
            unordered: true,
            beginning: true,
            ending: true,
            immediate: false,
            level,
            payload,
        }
    }

    /// A message of 1000 bytes arrives.
    fn arrive(receiver: &mut Receiver, tsn: u32, level: Level) {
        let outcome = receiver.on_data(Time::ZERO, PathId(0), &data(tsn, level, &[0; 1_000]));
        assert_eq!(outcome, DataOutcome::Handled);
    }

    /// The TSNs that a SACK would list beyond the cumulative one.
    fn beyond(receiver: &Receiver) -> Vec<u64> {
        let mut blocks = Vec::new();
        receiver.tracker.gap_ack_blocks(100, &mut blocks);
        let cumulative = u64::from(receiver.tracker.cumulative_tsn().0);
        blocks
            .iter()
            .flat_map(|it| u64::from(it.start)..=it.end.into())
            .map(|at| cumulative + at)
            .collect()
    }

    fn read(receiver: &mut Receiver) -> Vec<u32> {
        std::iter::from_fn(|| receiver.pop()).map(|message| message.ppid.0).collect()
    }

    #[test]
    fn what_finds_no_room_makes_what_matters_less_give_way_the_last_of_it_first() {
        let mut receiver = receiver();
        let levels = [Level::Low, Level::Low, Level::Normal, Level::High];
        (2..).zip(levels).for_each(|(tsn, level)| arrive(&mut receiver, tsn, level));
        arrive(&mut receiver, 6, Level::Normal);
        assert_eq!(beyond(&receiver), [2, 4, 5, 6], "3 is the last of the lowest level");
        arrive(&mut receiver, 7, Level::Low);
        arrive(&mut receiver, 8, Level::Normal);
        assert_eq!(beyond(&receiver), [4, 5, 6, 8], "7 finds nothing that matters less");
        arrive(&mut receiver, 9, Level::Normal);
        assert_eq!(beyond(&receiver), [4, 5, 6, 8], "equals do not make way");
        let dropped = receiver.level_stats().map(|stats| stats.dropped);
        assert_eq!((dropped, receiver.stats.messages), ([0, 0, 0, 2], 6), "counters never fall");
        assert_eq!(read(&mut receiver), [5, 4, 6, 8]);
    }

    #[test]
    fn what_fills_a_gap_makes_anything_behind_it_give_way() {
        let mut receiver = receiver();
        (20..24).for_each(|tsn| arrive(&mut receiver, tsn, Level::Urgent));
        (2..6).for_each(|tsn| arrive(&mut receiver, tsn, Level::Low));
        arrive(&mut receiver, 7, Level::Low);
        assert_eq!(beyond(&receiver), [2, 3, 4, 5, 7, 20, 21, 22]);
        arrive(&mut receiver, 6, Level::Low);
        assert_eq!(beyond(&receiver), [2, 3, 4, 5, 6, 20, 21, 22], "7 is low and came after it");
    }

    #[test]
    fn what_the_cumulative_tsn_covers_is_never_dropped() {
        let mut receiver = receiver();
        (1..5).for_each(|tsn| arrive(&mut receiver, tsn, Level::Low));
        arrive(&mut receiver, 5, Level::Urgent);
        assert_eq!(receiver.tracker.cumulative_tsn(), Tsn(4));
        assert_eq!((receiver.stats.dropped_no_room, read(&mut receiver).len()), (1, 4));
    }

    #[test]
    fn where_the_window_is_told_to_be_closed_new_data_claims_nothing() {
        let mut receiver = receiver();
        (2..6).for_each(|tsn| arrive(&mut receiver, tsn, Level::Low));
        receiver.advertised = 0;
        arrive(&mut receiver, 6, Level::Urgent);
        assert_eq!(beyond(&receiver), [2, 3, 4, 5]);
    }

    /// Sends messages of all levels in any order, heeds no window, and sends again what the SACK
    /// does not list: each is read once, streams stay in order, and memory within its limit.
    #[test]
    fn random_operations_deliver_each_message_once_and_in_order() {
        let mut dropped = 0;
        for seed in 0..50 {
            let mut rng = Rng::from_u64(seed);
            let mut receiver = receiver();
            let messages = messages(&mut rng);
            let mut read = Vec::new();
            let mut steps = 0;
            while read.len() < messages.len() {
                steps += 1;
                assert!(steps < 20_000, "seed {seed} does not end");
                let now = Time::from_millis(steps);
                let missing = missing(&receiver, messages.len());
                if rng.chance(0.6) && !missing.is_empty() {
                    let tsn = missing[rng.range(0..missing.len().min(30) as u64) as usize];
                    receiver.on_data(now, PathId(0), &messages[tsn as usize - 1]);
                    receiver.advertised = receiver.window();
                } else if rng.chance(0.4) {
                    read.extend(receiver.pop().map(|message| (message.stream, message.ppid.0)));
                }
                assert!(receiver.held().payload <= 3 * CAPACITY);
            }
            dropped += receiver.level_stats().iter().map(|stats| stats.dropped).sum::<u64>();
            check(&read, &messages);
            assert!(receiver.held().is_empty());
        }
        assert!(dropped > 100, "{dropped} dropped: this tests nothing");
    }

    fn messages(rng: &mut Rng) -> Vec<DataChunk<'static>> {
        static PAYLOAD: [u8; 1_000] = [0; 1_000];
        let mut next = [0_u32; 4];
        let message = |tsn: u32| {
            let level = Level::ALL[rng.range(0..4) as usize];
            let len = rng.range(300..1_000) as usize;
            let (stream, unordered) = (rng.range(0..4) as usize, rng.chance(0.5));
            let mid = Mid(next[stream]);
            next[stream] += u32::from(!unordered);
            let stream = StreamId(stream as u16);
            DataChunk { stream, mid, unordered, ..data(tsn, level, &PAYLOAD[..len]) }
        };
        (1..=300).map(message).collect()
    }

    /// The TSNs that a SACK would not list.
    fn missing(receiver: &Receiver, count: usize) -> Vec<u32> {
        let cumulative = receiver.tracker.cumulative();
        let first = extend(cumulative, Tsn(1));
        let beyond: BTreeSet<_> = beyond(receiver).into_iter().map(|tsn| tsn as u32).collect();
        let rest = (cumulative + 1 - first) as u32 + 1..=count as u32;
        rest.filter(|tsn| !beyond.contains(tsn)).collect()
    }

    fn check(read: &[(StreamId, u32)], messages: &[DataChunk<'_>]) {
        let numbers: BTreeSet<_> = read.iter().map(|(_, tsn)| *tsn).collect();
        assert_eq!(numbers.len(), read.len(), "each once");
        for stream in (0..4).map(StreamId) {
            let is_ordered = |tsn: &u32| !messages[*tsn as usize - 1].unordered;
            let of_stream = read.iter().filter(|(it, _)| *it == stream).map(|(_, tsn)| *tsn);
            let ordered: Vec<_> = of_stream.filter(is_ordered).collect();
            assert!(ordered.is_sorted(), "{stream:?}: {ordered:?}");
        }
    }
}
