//! [`Scoreboard`]: what is outstanding, and what became of it (RFC 6675 section 4).

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use anabranch_congestion::{DeliveryRate, LostChunk, RateSample, SentData, Snapshot, Transmitted};
use anabranch_sansio::Time;

/// RFC 6675 section 2: DupThresh.
pub(super) const DUP_THRESH: u32 = 3;

/// The segments from HighACK to HighData, in order and without gaps.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Octets believed to be in the network.
    pipe: u64,
    /// Behind the highest octet that was selectively acknowledged.
    high_sacked: u64,
    /// All before it that was not selectively acknowledged is lost.
    lost_below: u64,
    /// All before it was selectively acknowledged or sent again.
    search_from: u64,
    rate: DeliveryRate,
    /// Segments sent so far, each time they were.
    transmissions: u64,
    /// Segments that were declared lost, until the controller is told.
    lost: Vec<LostChunk>,
    /// What was sent again, in the order of that, until it is known what became of it.
    retransmissions: VecDeque<Retransmission>,
    /// RFC 8985 section 5.2: RACK.min_RTT; none before the first measurement.
    rtt_min: Option<Duration>,
}

/// A segment that was sent again.
#[derive(Debug, Clone, Copy)]
struct Retransmission {
    start: u64,
    sent_at: Time,
    /// The number of this transmission.
    number: u64,
}

/// A segment that is outstanding.
#[derive(Debug, Clone)]
struct Sent {
    start: u64,
    end: u64,
    sent_at: Time,
    /// The number of its last transmission, and what was known then.
    transmission: u64,
    snapshot: Snapshot,
    /// An acknowledgment could be for any of several transmissions.
    is_ambiguous: bool,
    is_sacked: bool,
    is_lost: bool,
    /// Sent again since it was last taken for lost.
    is_resent: bool,
    /// Whether it was once acknowledged: after a timeout that counts for nothing but the rate.
    was_delivered: bool,
}

/// What an acknowledgment said for the first time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    /// Octets that arrived.
    pub(super) octets: u64,
    /// When the newest of the segments was sent.
    newest: Option<Time>,
    is_ambiguous: bool,
    /// RFC 8985 section 5.2: RACK.xmit_ts, when the newest transmission was sent that arrived.
    arrived_sent: Option<Time>,
    /// The newest transmission, for the delivery rate.
    transmitted: Option<Transmitted>,
}

impl Delivery {
    /// RFC 6298 section 3: "RTT samples MUST NOT be made using segments that were retransmitted".
    /// What waited behind one of them in the receiver says nothing either.
    pub(super) fn sampled(&self) -> Option<Time> {
        self.newest.filter(|_| !self.is_ambiguous)
    }

    fn take(&mut self, segment: &Sent) {
        self.octets += segment.len();
        self.is_ambiguous |= segment.is_ambiguous;
        self.newest = self.newest.max(Some(segment.sent_at));
    }
}

impl Sent {
    const fn len(&self) -> u64 {
        self.end - self.start
    }

    const fn transmitted(&self) -> Transmitted {
        Transmitted {
            number: self.transmission,
            sent_at: self.sent_at,
            sent_once: !self.is_ambiguous,
            snapshot: self.snapshot,
        }
    }

    const fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// RFC 6675 section 4, SetPipe: an octet that is not lost counts, and one that was sent again
    /// counts once more.
    fn pipe(&self) -> u64 {
        if self.is_sacked {
            return 0;
        }
        self.len() * (u64::from(!self.is_lost) + u64::from(self.is_resent))
    }
}

impl Scoreboard {
    /// Octets in the network, as far as is known.
    pub(super) const fn pipe(&self) -> u64 {
        self.pipe
    }

    /// The first segment.
    pub(super) fn first(&self) -> Option<Range<u64>> {
        self.segments.front().map(Sent::range)
    }

    /// Data was sent for the first time.
    pub(super) fn push(&mut self, now: Time, range: Range<u64>) {
        let Range { start, end } = range;
        let segment = Sent {
            start,
            end,
            sent_at: now,
            transmission: self.number_transmission(),
            snapshot: self.rate.on_sent(now, self.pipe as usize, (end - start) as usize),
            is_ambiguous: false,
            is_sacked: false,
            is_lost: false,
            is_resent: false,
            was_delivered: false,
        };
        self.pipe += segment.pipe();
        self.segments.push_back(segment);
    }

    /// All before this position has arrived.
    pub(super) fn acknowledge(&mut self, now: Time, position: u64) -> Delivery {
        let mut delivery = Delivery::default();
        while let Some(first) = self.segments.pop_front_if(|first| first.end <= position) {
            self.pipe -= first.pipe();
            if !first.is_sacked {
                self.deliver(now, &first, &mut delivery);
            }
        }
        if self.segments.front().is_some_and(|first| first.start < position) {
            self.change(0, |first| first.start = position);
        }
        delivery
    }

    /// These octets have arrived, with something missing before them.
    pub(super) fn sack(&mut self, now: Time, block: Range<u64>, delivery: &mut Delivery) {
        let from = self.segments.partition_point(|segment| segment.start < block.start);
        for index in from..self.segments.len() {
            let segment = &self.segments[index];
            if segment.end > block.end {
                return;
            }
            if segment.is_sacked {
                continue;
            }
            self.high_sacked = self.high_sacked.max(segment.end);
            let segment = segment.clone();
            self.deliver(now, &segment, delivery);
            self.change(index, |segment| (segment.is_sacked, segment.was_delivered) = (true, true));
        }
    }

    fn deliver(&mut self, now: Time, segment: &Sent, delivery: &mut Delivery) {
        delivery.take(segment);
        let rtt = now - segment.sent_at;
        // RFC 8985 section 6.2, step 2, leaves out what may have arrived by its first transmission:
        // "The segment was last retransmitted less than RACK.min_rtt ago."
        if !segment.is_ambiguous || self.rtt_min.is_some_and(|least| rtt >= least) {
            delivery.arrived_sent = delivery.arrived_sent.max(Some(segment.sent_at));
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
        if !segment.was_delivered {
            let (len, sent) = (segment.len() as usize, segment.transmitted());
            self.rate.on_acked(now, len, sent, &mut delivery.transmitted);
        }
    }

    /// Octets that arrived so far, and how fast, as an acknowledgment shows it whose news are
    /// `delivery`.
    pub(super) fn sample_rate(
        &mut self,
        now: Time,
        delivery: &Delivery,
    ) -> (u64, Option<RateSample>) {
        (self.rate.delivered(), self.rate.sample(now, delivery.transmitted))
    }

    /// All that there was to send is sent, although the window has room for more.
    pub(super) fn mark_app_limited(&mut self) {
        self.rate.mark_app_limited(self.pipe as usize);
    }

    /// What a controller is told of octets that went out when so many were in flight.
    pub(super) const fn sent_data(&self, now: Time, bytes: usize, flight: usize) -> SentData {
        self.rate.sent_data(now, bytes, flight)
    }

    /// The segments that were declared lost since the last call.
    pub(super) fn take_lost(&mut self) -> Vec<LostChunk> {
        std::mem::take(&mut self.lost)
    }

    /// RFC 6675 section 4, IsLost: "either DupThresh discontiguous SACKed sequences have arrived
    /// above 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers greater than
    /// 'SeqNum' have been SACKed."
    ///
    /// Returns whether the first segment is lost.
    pub(super) fn find_losses(&mut self, smss: usize) -> bool {
        let (mut octets, mut sequences, mut above_is_sacked) = (0, 0, false);
        let top = self.segments.partition_point(|segment| segment.start < self.high_sacked);
        for index in (0..top).rev() {
            let segment = &self.segments[index];
            if segment.end <= self.lost_below {
                break;
            }
            if segment.is_sacked {
                octets += segment.len();
                sequences += u32::from(!above_is_sacked);
            } else if sequences >= DUP_THRESH || octets > u64::from(DUP_THRESH - 1) * smss as u64 {
                self.lose_up_to(index);
                break;
            }
            above_is_sacked = segment.is_sacked;
        }
        self.segments.front().is_some_and(|first| first.is_lost)
    }

    fn lose_up_to(&mut self, last: usize) {
        let from = self.segments.partition_point(|segment| segment.end <= self.lost_below);
        for index in from..=last {
            self.note_loss(index);
            self.change(index, |segment| segment.is_lost = true);
        }
        self.lost_below = self.segments[last].end;
    }

    /// The first segment is lost, whether it was sent again or not.
    pub(super) fn lose_first(&mut self) {
        let Some(Range { start, end }) = self.first() else { return };
        self.note_loss(0);
        self.change(0, |first| (first.is_lost, first.is_resent) = (true, false));
        self.lost_below = self.lost_below.max(end);
        self.search_from = self.search_from.min(start);
    }

    /// RFC 8985 section 6.2, step 5, of what was sent again: it is lost again if something arrived
    /// that was sent later by more than the reordering window, a quarter of RACK.min_RTT.
    pub(super) fn lose_retransmissions(&mut self, delivery: &Delivery) {
        let Some(arrived) = delivery.arrived_sent else { return };
        let window = self.rtt_min.unwrap_or_default() / 4;
        while let Some(sent) = self.retransmissions.pop_front_if(|s| s.sent_at + window < arrived) {
            let index = self.segments.partition_point(|segment| segment.start < sent.start);
            let Some(segment) = self.segments.get(index) else { continue };
            if segment.is_sacked || segment.transmission != sent.number {
                continue;
            }
            self.note_loss(index);
            self.change(index, |segment| segment.is_resent = false);
            self.search_from = self.search_from.min(sent.start);
        }
    }

    /// The timer expired: all is lost.
    ///
    /// RFC 6675 section 5.1: "a TCP sender SHOULD expunge the SACK information gathered from a
    /// receiver upon a retransmission timeout".
    pub(super) fn lose_all(&mut self) {
        for index in 0..self.segments.len() {
            self.note_loss(index);
            let segment = &mut self.segments[index];
            (segment.is_sacked, segment.is_lost, segment.is_resent) = (false, true, false);
        }
        self.retransmissions.clear();
        self.pipe = 0;
        self.high_sacked = 0;
        self.search_from = 0;
        self.lost_below = self.segments.back().map_or(0, |last| last.end);
    }

    /// RFC 6675 section 4, NextSeg, rule 1: the first segment that is lost and was not sent again.
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        let mut index = self.segments.partition_point(|segment| segment.start < self.search_from);
        while let Some(segment) = self.segments.get(index)
            && segment.end <= self.lost_below
        {
            if !segment.is_sacked && !segment.is_resent {
                return Some(index);
            }
            index += 1;
            self.search_from = segment.end;
        }
        None
    }

    /// Rule 3: the first one that is missing, was not sent again, and may be lost.
    pub(super) fn next_missing(&self) -> Option<usize> {
        let from = self.segments.partition_point(|segment| segment.start < self.search_from);
        let candidates = self.segments.range(from..);
        let mut candidates = candidates.take_while(|segment| segment.end <= self.high_sacked);
        let missing = candidates.position(|segment| !segment.is_sacked && !segment.is_resent);
        missing.map(|index| from + index)
    }

    /// Rule 4: the last one that is missing.
    pub(super) fn last_missing(&self) -> Option<usize> {
        self.segments.iter().rposition(|segment| !segment.is_sacked)
    }

    /// A segment is about to be declared lost: counts it, unless it is known to be, or to have
    /// arrived, whatever the peer keeps of it.
    fn note_loss(&mut self, index: usize) {
        let segment = &self.segments[index];
        if (!segment.is_lost || segment.is_resent) && !segment.was_delivered {
            let len = segment.len() as usize;
            self.lost.push(self.rate.on_lost(len, &segment.snapshot));
        }
    }

    /// A segment goes out again.
    pub(super) fn resend(&mut self, now: Time, index: usize) -> Range<u64> {
        self.change(index, |segment| segment.is_resent = true);
        let range = self.rescue(now, index);
        let number = self.transmissions;
        let sent = Retransmission { start: range.start, sent_at: now, number };
        self.retransmissions.push_back(sent);
        range
    }

    /// A segment goes out again although nothing says that it is lost: it is in the network once.
    pub(super) fn rescue(&mut self, now: Time, index: usize) -> Range<u64> {
        let number = self.number_transmission();
        let segment = &mut self.segments[index];
        let others = (self.pipe - segment.pipe()) as usize;
        segment.snapshot = self.rate.on_sent(now, others, segment.len() as usize);
        (segment.sent_at, segment.transmission, segment.is_ambiguous) = (now, number, true);
        segment.range()
    }

    const fn number_transmission(&mut self) -> u64 {
        self.transmissions += 1;
        self.transmissions
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut Sent)) {
        let segment = &mut self.segments[index];
        self.pipe -= segment.pipe();
        change(segment);
        self.pipe += segment.pipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: usize = 100;
    const NOW: Time = Time::from_millis(100);

    /// So many full segments, sent one per millisecond.
    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..segments).for_each(|n| board.push(Time::from_millis(n), n * 100..(n + 1) * 100));
        board
    }

    fn sack(board: &mut Scoreboard, blocks: &[(u64, u64)]) -> Delivery {
        let mut delivery = Delivery::default();
        blocks.iter().for_each(|block| board.sack(NOW, block.0..block.1, &mut delivery));
        delivery
    }

    #[test]
    fn three_segments_above_a_hole_make_it_lost() {
        let mut board = board(10);
        sack(&mut board, &[(100, 300)]);
        assert!(!board.find_losses(SMSS));
        sack(&mut board, &[(300, 400)]);
        assert!(board.find_losses(SMSS));
        assert_eq!((board.pipe(), board.next_lost()), (600, Some(0)));
    }

    #[test]
    fn three_separate_pieces_above_a_hole_make_it_lost_however_short() {
        let mut board = Scoreboard::default();
        (0..10).for_each(|n| board.push(Time::ZERO, n * 10..(n + 1) * 10));
        sack(&mut board, &[(10, 20), (30, 40)]);
        assert!(!board.find_losses(SMSS));
        sack(&mut board, &[(50, 60)]);
        assert!(board.find_losses(SMSS));
        assert_eq!(board.next_lost(), Some(0));
        assert!(!board.segments[2].is_lost, "only two pieces arrived above");
    }

    #[test]
    fn what_was_sent_again_counts_and_is_not_found_again() {
        let mut board = board(10);
        sack(&mut board, &[(100, 200), (300, 700)]);
        board.find_losses(SMSS);
        assert_eq!(board.pipe(), 300);
        assert_eq!(board.next_lost(), Some(0));
        board.resend(Time::from_millis(50), 0);
        assert_eq!((board.pipe(), board.next_lost()), (400, Some(2)));
        board.resend(Time::from_millis(50), 2);
        assert_eq!((board.pipe(), board.next_lost()), (500, None));
        board.acknowledge(NOW, 700);
        assert_eq!(board.pipe(), 300);
    }

    #[test]
    fn missing_segments_are_found_though_not_lost() {
        let mut board = board(5);
        sack(&mut board, &[(100, 200)]);
        assert_eq!(
            (board.next_lost(), board.next_missing(), board.last_missing()),
            (None, Some(0), Some(4))
        );
        board.resend(Time::from_millis(9), 0);
        assert_eq!(board.next_missing(), None, "nothing was acknowledged above the others");
        assert_eq!(board.pipe(), 500, "both copies of the first may be in the network");
    }

    #[test]
    fn a_retransmission_is_lost_when_something_sent_later_arrives() {
        let mut board = board(10);
        sack(&mut board, &[(100, 500)]);
        board.find_losses(SMSS);
        board.resend(NOW, 0);
        let at = |millis| Time::from_millis(millis);
        board.push(at(200), 1_000..1_100);
        // The measured round trip is 96 ms, a quarter of it 24 ms.
        board.push(at(120), 1_100..1_200);
        let arrives = |board: &mut Scoreboard, from: u64| {
            let mut delivery = Delivery::default();
            board.sack(at(300), from..from + 100, &mut delivery);
            board.lose_retransmissions(&delivery);
            board.next_lost()
        };
        assert_eq!(arrives(&mut board, 1_100), None, "it may have been overtaken");
        assert_eq!(arrives(&mut board, 1_000), Some(0));
        assert_eq!(board.take_lost().len(), 2);
        board.resend(at(300), 0);
        board.acknowledge(at(400), 500);
        board.push(at(500), 1_200..1_300);
        assert_eq!(arrives(&mut board, 1_200), None, "it arrived");
    }

    #[test]
    fn a_timeout_forgets_what_was_selectively_acknowledged() {
        let mut board = board(3);
        sack(&mut board, &[(100, 200)]);
        board.lose_all();
        assert_eq!((board.pipe(), board.next_lost()), (0, Some(0)));
        board.resend(Time::from_millis(9), 0);
        assert_eq!(board.next_lost(), Some(1));
    }

    #[test]
    fn an_acknowledgment_inside_a_segment_leaves_the_rest() {
        let mut board = board(2);
        let delivery = board.acknowledge(NOW, 150);
        assert_eq!((delivery.octets, board.first(), board.pipe()), (100, Some(150..200), 50));
    }

    #[test]
    fn only_what_was_sent_once_and_did_not_wait_gives_a_sample() {
        let mut board = board(4);
        assert_eq!(board.acknowledge(NOW, 100).sampled(), Some(Time::ZERO));
        assert_eq!(sack(&mut board, &[(200, 300)]).sampled(), Some(Time::from_millis(2)));
        board.resend(Time::from_millis(9), 0);
        assert_eq!(board.acknowledge(NOW, 400).sampled(), None);
    }
}
