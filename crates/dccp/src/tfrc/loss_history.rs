//! [`LossHistory`]: from packets that arrive to loss intervals. RFC 5348 section 5, with the window
//! counters of RFC 4342 section 10.2 for time.

use std::collections::VecDeque;

use super::INTERVALS;
use crate::seq::Seq;

/// NDUPACK: so many packets behind a gap make it a loss.
///
/// RFC 5348 section 5.1: "The loss of a packet is detected by the arrival of at least NDUPACK
/// packets with a higher sequence number than the lost packet, for NDUPACK set to 3."
const NDUPACK: usize = 3;

/// How many values a window counter has: WCTRMAX.
const COUNTERS: u8 = 16;

/// A packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) seq: Seq,
    /// Whether it is of a type that carries data.
    pub(crate) is_data: bool,
    /// CCVal, the window counter.
    pub(crate) counter: u8,
    /// Whether a router marked it.
    pub(crate) is_marked: bool,
    /// NDP Count: how many packets without data came right before.
    pub(crate) non_data_before: u64,
}

/// From one loss event to the next: RFC 4342 section 6.1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Interval {
    /// Packets from the first that was lost to the last.
    pub(crate) loss_length: u64,
    /// Packets behind.
    pub(crate) lossless_length: u64,
    /// Data packets in both; of the first interval, 0 before the first loss, and then what the
    /// equation makes of the rate.
    pub(crate) data_length: u64,
}

/// The latest loss intervals.
#[derive(Debug)]
pub(crate) struct LossHistory {
    /// Up to here it is decided what arrived and what is lost.
    settled: Seq,
    /// X_prev: the counter of the last data packet up to there.
    counter: u8,
    /// Packets behind a gap, in order; two at most.
    pending: Vec<Arrival>,
    /// The newest first; the last one may be the first of all.
    intervals: VecDeque<Interval>,
    /// The loss event that began the newest interval.
    event: Option<LossEvent>,
}

#[derive(Debug, Clone, Copy)]
struct LossEvent {
    /// C(X_prev): the counter before the first packet that was lost.
    counter: u8,
    /// Whether a packet has come that was sent more than a round-trip time later.
    is_over: bool,
}

impl LossHistory {
    pub(crate) fn new(first: &Arrival) -> Self {
        let interval = Interval { lossless_length: 1, ..Interval::default() };
        Self {
            settled: first.seq,
            counter: first.counter,
            pending: Vec::with_capacity(NDUPACK),
            intervals: [interval].into(),
            event: None,
        }
    }

    /// Takes a packet. True: a new loss event began. `first_interval` says how long the first
    /// interval was to be, when the first loss is found (RFC 5348 section 6.3.1).
    pub(crate) fn on_packet(
        &mut self,
        arrival: &Arrival,
        mut first_interval: impl FnMut() -> u64,
    ) -> bool {
        // What comes too late, or twice, changes nothing.
        if arrival.seq <= self.settled || self.pending.iter().any(|other| other.seq == arrival.seq)
        {
            return false;
        }
        let at = self.pending.partition_point(|other| other.seq < arrival.seq);
        self.pending.insert(at, *arrival);
        let mut is_new = false;
        while let Some(next) = self.pending.first().copied() {
            let missing = next.seq.since(self.settled) - 1;
            if missing > 0 && self.pending.len() < NDUPACK {
                break;
            }
            if missing > 0 {
                is_new |= self.settle_missing(missing, &next, &mut first_interval);
            }
            is_new |= self.settle(&next, &mut first_interval);
            self.pending.remove(0);
        }
        is_new
    }

    /// The intervals, the newest first: at most the one that goes on and eight before.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter()
    }

    /// How many packets up to the greatest number that arrived are in no interval yet.
    pub(crate) fn undecided(&self) -> u64 {
        self.pending.last().map_or(0, |newest| newest.seq.since(self.settled))
    }

    /// Packets between the last one that is settled and `next` are lost.
    fn settle_missing(
        &mut self,
        missing: u64,
        next: &Arrival,
        first_interval: &mut impl FnMut() -> u64,
    ) -> bool {
        // RFC 4340 section 7.7.1: "Then some application data was lost within those sequence
        // numbers unless the packet following the hole contains an NDP Count option whose value is
        // greater than or equal to K." RFC 4342 section 6.1: "Lost and ECN-marked non-data packets
        // may occur freely in the lossless part of a loss interval."
        if next.non_data_before >= missing {
            if let Some(interval) = self.intervals.front_mut() {
                interval.lossless_length += missing;
            }
            return false;
        }
        self.lose(missing, first_interval)
    }

    /// A packet arrived, and so did all before that are not lost.
    fn settle(&mut self, arrival: &Arrival, first_interval: &mut impl FnMut() -> u64) -> bool {
        self.settled = arrival.seq;
        let mut is_new = false;
        if arrival.is_data && arrival.is_marked {
            is_new = self.lose(1, first_interval);
        } else if let Some(interval) = self.intervals.front_mut() {
            interval.lossless_length += 1;
            // RFC 4342 section 6.1.1: "The first loss interval's data length is undefined until the
            // first loss event."
            if arrival.is_data && self.event.is_some() {
                interval.data_length += 1;
            }
        }
        if arrival.is_data {
            self.counter = arrival.counter;
            // RFC 4342 section 10.2: "Packets X and Y belong to different loss events if there
            // exists a packet with sequence number S so that X_prev < S <= Y_prev, and the distance
            // from C(X_prev) to C(S) is greater than 4."
            if let Some(event) = &mut self.event {
                event.is_over |= distance(event.counter, arrival.counter) > 4;
            }
        }
        is_new
    }

    /// So many packets in a row are lost, or one was marked.
    fn lose(&mut self, packets: u64, first_interval: &mut impl FnMut() -> u64) -> bool {
        let is_same = self.event.is_some_and(|event| !event.is_over);
        if let Some(interval) = self.intervals.front_mut().filter(|_| is_same) {
            interval.loss_length += interval.lossless_length + packets;
            interval.lossless_length = 0;
            interval.data_length += packets;
            return false;
        }
        if self.event.is_none()
            && let Some(first) = self.intervals.front_mut()
        {
            first.data_length = first_interval().max(1);
        }
        self.event = Some(LossEvent { counter: self.counter, is_over: false });
        let interval = Interval { loss_length: packets, lossless_length: 0, data_length: packets };
        self.intervals.push_front(interval);
        self.intervals.truncate(INTERVALS + 1);
        true
    }
}

/// "The distance is the number D so that C(X_prev) + D = C(S) (mod WCTRMAX)".
pub(crate) const fn distance(from: u8, to: u8) -> u8 {
    to.wrapping_sub(from) % COUNTERS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SequenceNumber;

    const FIRST_INTERVAL: u64 = 77;

    fn seq(n: u64) -> Seq {
        Seq::first(SequenceNumber::new(n))
    }

    fn arrival(n: u64, counter: u8) -> Arrival {
        Arrival { seq: seq(n), is_data: true, counter, is_marked: false, non_data_before: 0 }
    }

    /// Packets from 0 on; of those in `lost`, nothing is heard. The counter steps once in
    /// `per_quarter` packets.
    fn history(lost: &[u64], end: u64, per_quarter: u64) -> (LossHistory, Vec<u64>) {
        let mut history = LossHistory::new(&arrival(0, 0));
        let mut events = Vec::new();
        for n in (1..end).filter(|n| !lost.contains(n)) {
            let arrival = arrival(n, (n / per_quarter % 16) as u8);
            if history.on_packet(&arrival, || FIRST_INTERVAL) {
                events.push(n);
            }
        }
        (history, events)
    }

    fn lengths(history: &LossHistory) -> Vec<(u64, u64, u64)> {
        let lengths =
            history.intervals().map(|i| (i.loss_length, i.lossless_length, i.data_length));
        lengths.collect()
    }

    #[test]
    fn without_losses_there_is_one_interval_without_a_length() {
        let (history, events) = history(&[], 50, 5);
        assert_eq!(lengths(&history), [(0, 50, 0)]);
        assert_eq!((events, history.undecided()), (Vec::new(), 0));
    }

    #[test]
    fn the_example_of_rfc_4342_is_divided_as_it_says() {
        // RFC 4342 section 8.6.2: 10, 19 to 21 and 23, 32 and 43 of 44 are lost; the intervals
        // begin at 10, 19 and 32. A round-trip time is five packets.
        let lost = [10, 19, 20, 21, 23, 32, 43];
        let mut history = LossHistory::new(&arrival(0, 0));
        for n in (1..=44).filter(|n| !lost.contains(n)) {
            history.on_packet(&arrival(n, (n * 4 / 5 % 16) as u8), || 15);
        }
        assert_eq!(lengths(&history), [(1, 10, 11), (5, 8, 13), (1, 8, 9), (0, 10, 15)]);
        assert_eq!(history.undecided(), 2, "the Skip Length");
    }

    #[test]
    fn three_packets_behind_a_gap_make_a_loss() {
        let (history, events) = history(&[10], 13, 5);
        assert_eq!((events, history.undecided()), (Vec::new(), 3));
        let (history, events) = self::history(&[10], 14, 5);
        assert_eq!((events, history.undecided()), (vec![13], 0));
        assert_eq!(lengths(&history), [(1, 3, 4), (0, 10, FIRST_INTERVAL)]);
    }

    #[test]
    fn a_packet_that_is_late_by_two_is_no_loss() {
        let mut history = LossHistory::new(&arrival(0, 0));
        for n in [1, 3, 4, 2, 5] {
            assert!(!history.on_packet(&arrival(n, 0), || FIRST_INTERVAL));
        }
        assert_eq!(lengths(&history), [(0, 6, 0)]);
        // And one that comes after it was given up changes nothing.
        for n in [7, 8, 9, 6, 6, 9] {
            history.on_packet(&arrival(n, 0), || FIRST_INTERVAL);
        }
        assert_eq!(lengths(&history), [(1, 3, 4), (0, 6, FIRST_INTERVAL)]);
    }

    #[test]
    fn losses_of_one_round_trip_are_one_event() {
        // Four steps of the counter are a round-trip time: 20 packets.
        let (history, events) = history(&[30, 40, 49], 60, 5);
        assert_eq!(events.len(), 1);
        assert_eq!(lengths(&history), [(20, 10, 30), (0, 30, FIRST_INTERVAL)]);
        let (history, events) = self::history(&[30, 56], 70, 5);
        assert_eq!(events.len(), 2);
        assert_eq!(lengths(&history), [(1, 13, 14), (1, 25, 26), (0, 30, FIRST_INTERVAL)]);
    }

    #[test]
    fn a_counter_that_wraps_between_two_losses_tells_them_apart() {
        // 16 steps later it has the same value again.
        let (_, events) = history(&[30, 30 + 16 * 5], 150, 5);
        assert_eq!(events.len(), 2);
    }

    #[test]
    fn a_mark_is_an_event_at_once() {
        let mut history = LossHistory::new(&arrival(0, 0));
        (1..10).for_each(|n| assert!(!history.on_packet(&arrival(n, 0), || FIRST_INTERVAL)));
        let marked = Arrival { is_marked: true, ..arrival(10, 0) };
        assert!(history.on_packet(&marked, || FIRST_INTERVAL));
        assert_eq!(lengths(&history), [(1, 0, 1), (0, 10, FIRST_INTERVAL)]);
    }

    #[test]
    fn lost_packets_without_data_are_no_loss() {
        let mut history = LossHistory::new(&arrival(0, 0));
        for n in [1, 4, 5, 6] {
            let non_data_before = if n == 4 { 2 } else { 0 };
            let arrival = Arrival { non_data_before, ..arrival(n, 0) };
            assert!(!history.on_packet(&arrival, || FIRST_INTERVAL));
        }
        assert_eq!(lengths(&history), [(0, 7, 0)]);
        for n in [9, 10, 11] {
            let non_data_before = if n == 9 { 1 } else { 0 };
            let arrival = Arrival { non_data_before, ..arrival(n, 0) };
            assert_eq!(history.on_packet(&arrival, || FIRST_INTERVAL), n == 11);
        }
    }

    #[test]
    fn packets_without_data_do_not_count_in_the_data_length() {
        let (mut history, _) = history(&[10], 14, 5);
        for n in 14..20 {
            history.on_packet(&Arrival { is_data: false, ..arrival(n, 0) }, || 0);
        }
        assert_eq!(lengths(&history)[0], (1, 9, 4));
    }

    #[test]
    fn nine_intervals_are_kept() {
        let lost: Vec<_> = (1..20).map(|n| n * 100).collect();
        let (history, events) = history(&lost, 2_000, 5);
        assert_eq!(events.len(), 19);
        assert_eq!(lengths(&history).len(), INTERVALS + 1);
        assert_eq!(lengths(&history)[8], (1, 99, 100));
    }
}
