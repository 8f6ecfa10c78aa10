//! [`TsnTracker`]: which TSNs arrived, and what a SACK says about it.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{GapAckBlock, Tsn};

use crate::ranges::RangeSet;
use crate::sequence::tsn;

/// Duplicates that are remembered for the next SACK. More are counted only.
const DUPLICATES_MAX: usize = 32;

/// Spaced SACKs: the least and the most time between two.
const SPACING: (Duration, Duration) = (Duration::from_millis(5), SACK_SPACING_MAX);

/// The most time between two spaced SACKs.
pub(crate) const SACK_SPACING_MAX: Duration = Duration::from_millis(10);

/// Spaced SACKs: the least and the most time between two while something is missing. They get lost
/// as well, and what they tell cannot wait for the next one but one.
const SPACING_IN_GAPS: (Duration, Duration) =
    (Duration::from_micros(2_500), Duration::from_millis(6));

/// Spaced SACKs: the round trip that counts until one was measured.
const SPACED_RTT: Duration = Duration::from_millis(20);

/// Spaced SACKs: packets with DATA after which one is due in any case, a transmission with
/// segmentation offload.
const SPACED_PACKETS_MAX: u32 = 64;

/// A gap block's offsets have 16 bits: what is further ahead could not be reported.
const AHEAD_MAX: u64 = 0xffff;

/// How a TSN relates to those that arrived before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    Duplicate,
    New { fills_gap: bool },
    TooFarAhead,
}

/// When the next SACK is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SackTiming {
    /// Nothing to acknowledge.
    None,
    /// Within the SACK delay.
    Delayed,
    /// With the next packet out.
    Immediate,
}

/// Received TSNs: a cumulative point and the ranges beyond.
#[derive(Debug)]
pub(crate) struct TsnTracker {
    cumulative: u64,
    beyond: RangeSet,
    duplicates: Vec<Tsn>,
    timing: SackTiming,
    /// Packets with DATA since the last SACK.
    packets: u32,
    /// DAC of Iyengar 2006, section V: whether what arrives in the midst of gaps is acknowledged no
    /// sooner than other data, and SACKs count packets instead.
    delays_in_gaps: bool,
    /// Whether SACKs are spaced in time.
    is_spaced: bool,
    /// When the last SACK went out.
    last_sack: Time,
    /// Whether the current packet brought something that asks for a SACK at once.
    urgent: bool,
}

impl TsnTracker {
    /// Nothing received yet, `first` expected.
    pub(crate) fn new(first: u64) -> Self {
        Self {
            cumulative: first - 1,
            beyond: RangeSet::default(),
            duplicates: Vec::new(),
            timing: SackTiming::None,
            packets: 0,
            delays_in_gaps: false,
            is_spaced: false,
            last_sack: Time::ZERO,
            // RFC 9260 section 5.1: "After the reception of the first DATA chunk in an association,
            // the endpoint MUST immediately respond with a SACK chunk to acknowledge the DATA
            // chunk."
            urgent: true,
        }
    }

    /// Both ends agreed on delayed acknowledgements for CMT.
    ///
    /// Where data takes several paths, reordering is the rule, and a SACK for each packet would
    /// tell nothing that the next one does not.
    pub(crate) const fn delay_in_gaps(&mut self) {
        self.delays_in_gaps = true;
    }

    /// Whether SACKs are spaced in time from now on: both ends agreed on it, and one path alone
    /// brings data. Of several, a SACK shows by the path that it takes which one brought what.
    pub(crate) const fn space_sacks(&mut self, is_spaced: bool) {
        self.is_spaced = is_spaced;
    }

    /// When the next SACK is due where they are spaced in time: a few times per round trip, and
    /// three times as often while something is missing.
    pub(crate) fn spaced_sack_at(&self, now: Time, srtt: Option<Duration>) -> Option<Time> {
        let srtt = srtt.unwrap_or(SPACED_RTT);
        let spacing = match self.has_gaps() {
            false => (srtt / 4).clamp(SPACING.0, SPACING.1),
            true => (srtt / 12).clamp(SPACING_IN_GAPS.0, SPACING_IN_GAPS.1),
        };
        self.is_spaced.then(|| (self.last_sack + spacing).max(now))
    }

    /// The cumulative TSN, extended.
    pub(crate) const fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// Forgets that anything behind a TSN arrived.
    pub(crate) fn roll_back(&mut self, through: u64) {
        self.cumulative = self.cumulative.min(through);
        self.beyond = RangeSet::default();
    }

    pub(crate) fn classify(&self, sequence: u64) -> Arrival {
        if sequence <= self.cumulative || self.beyond.contains(sequence) {
            return Arrival::Duplicate;
        }
        if sequence - self.cumulative > AHEAD_MAX {
            return Arrival::TooFarAhead;
        }
        let highest = self.beyond.highest().unwrap_or(self.cumulative);
        Arrival::New { fills_gap: sequence < highest }
    }

    /// Notes a TSN that was kept.
    pub(crate) fn record(&mut self, sequence: u64, immediate: bool) {
        // RFC 9260 section 6.7: "If the endpoint detects a gap in the received DATA chunk sequence,
        // it SHOULD send a SACK chunk with Gap Ack Blocks immediately. The data receiver continues
        // sending a SACK chunk after receipt of each SCTP packet that does not fill the gap."
        let had_gap = !self.beyond.is_empty();
        if sequence == self.cumulative + 1 {
            self.cumulative = sequence;
            self.absorb();
        } else {
            self.beyond.insert(sequence..=sequence, |_| ());
        }
        let is_gap = had_gap || !self.beyond.is_empty();
        let tells_each = !self.delays_in_gaps && !self.is_spaced;
        self.urgent |= immediate || (is_gap && tells_each);
    }

    /// RFC 9260 section 6.2: "When a packet arrives with duplicate DATA chunk(s) and with no new
    /// DATA chunk(s), the endpoint MUST immediately send a SACK chunk with no delay."
    pub(crate) fn note_duplicate(&mut self, tsn: Tsn) {
        if self.duplicates.len() < DUPLICATES_MAX {
            self.duplicates.push(tsn);
        }
        // Copies are sent on purpose between peers that space their SACKs.
        self.urgent |= !self.is_spaced;
    }

    /// A chunk was dropped for lack of room: the peer should learn the window.
    pub(crate) const fn note_refused(&mut self) {
        self.urgent = true;
    }

    /// A packet with DATA or FORWARD TSN was handled: decides when it is acknowledged.
    ///
    /// RFC 9260 section 6.2: "an acknowledgement SHOULD be generated for at least every second
    /// packet (not every second DATA chunk) received and SHOULD be generated within 200 ms of the
    /// arrival of any unacknowledged DATA chunk."
    pub(crate) fn end_packet(&mut self) {
        self.packets += 1;
        let packets_max = if self.is_spaced { SPACED_PACKETS_MAX } else { 2 };
        self.timing =
            if self.urgent || self.packets >= packets_max || self.timing == SackTiming::Immediate {
                SackTiming::Immediate
            } else {
                SackTiming::Delayed
            };
        self.urgent = false;
    }

    /// Asks for a SACK with the next packet out.
    pub(crate) const fn demand_sack(&mut self) {
        self.timing = SackTiming::Immediate;
    }

    pub(crate) const fn timing(&self) -> SackTiming {
        self.timing
    }

    /// Moves the cumulative point forward over what the peer abandoned; false if it is there
    /// already.
    pub(crate) fn advance_to(&mut self, point: u64) -> bool {
        if point <= self.cumulative {
            self.urgent = true;
            return false;
        }
        self.cumulative = point;
        self.beyond.remove_through(point);
        self.absorb();
        let tells_each = !self.delays_in_gaps && !self.is_spaced;
        self.urgent |= !self.beyond.is_empty() && tells_each;
        true
    }

    /// What arrived beyond the cumulative point is dropped after all.
    pub(crate) fn renege(&mut self, first: u64, last: u64) {
        self.beyond.remove(first, last);
        self.urgent = true;
    }

    /// The first `limit` gap blocks, lowest first: those close to the cumulative point decide
    /// about retransmission.
    pub(crate) fn gap_ack_blocks(&self, limit: usize, blocks: &mut Vec<GapAckBlock>) {
        blocks.clear();
        let offset = |sequence: u64| (sequence - self.cumulative).min(AHEAD_MAX) as u16;
        let block = |(start, end)| GapAckBlock { start: offset(start), end: offset(end) };
        blocks.extend(self.beyond.iter().take(limit).map(block));
    }

    /// Whether anything arrived beyond the cumulative point.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// How many packets with data the next SACK reports: 1 where that was not agreed upon.
    pub(crate) fn data_packets(&self) -> u8 {
        let reported = if self.delays_in_gaps { self.packets } else { 1 };
        u8::try_from(reported).unwrap_or(u8::MAX)
    }

    pub(crate) fn duplicates(&self) -> &[Tsn] {
        &self.duplicates
    }

    /// A SACK goes out: what it said need not be said again.
    pub(crate) fn on_sack_sent(&mut self, now: Time) {
        self.last_sack = now;
        self.duplicates.clear();
        self.timing = SackTiming::None;
        self.packets = 0;
    }

    /// The cumulative TSN as it goes on the wire.
    pub(crate) fn cumulative_tsn(&self) -> Tsn {
        tsn(self.cumulative)
    }

    fn absorb(&mut self) {
        if let Some(end) = self.beyond.take_first_if_at(self.cumulative + 1) {
            self.cumulative = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracker(received: &[u64]) -> TsnTracker {
        let mut tracker = TsnTracker::new(1);
        for &sequence in received {
            assert!(matches!(tracker.classify(sequence), Arrival::New { .. }));
            tracker.record(sequence, false);
            tracker.end_packet();
        }
        tracker
    }

    fn blocks(tracker: &TsnTracker, limit: usize) -> Vec<(u16, u16)> {
        let mut blocks = Vec::new();
        tracker.gap_ack_blocks(limit, &mut blocks);
        blocks.iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn gap_blocks_are_offsets_from_the_cumulative_tsn() {
        let tracker = tracker(&[1, 2, 5, 6, 9]);
        assert_eq!(tracker.cumulative(), 2);
        assert_eq!(blocks(&tracker, 10), [(3, 4), (7, 7)]);
        assert_eq!(blocks(&tracker, 1), [(3, 4)], "the lowest ones when not all fit");
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_once_and_so_is_the_very_first() {
        let mut tracker = tracker(&[1]);
        assert_eq!(tracker.timing(), SackTiming::Immediate);
        tracker.on_sack_sent(Time::ZERO);
        for (sequence, timing) in [(2, SackTiming::Delayed), (3, SackTiming::Immediate)] {
            tracker.record(sequence, false);
            tracker.end_packet();
            assert_eq!(tracker.timing(), timing);
        }
    }

    #[test]
    fn a_gap_and_its_filling_are_reported_at_once() {
        assert_eq!(tracker(&[2]).timing(), SackTiming::Immediate);
        let mut tracker = tracker(&[2]);
        tracker.on_sack_sent(Time::ZERO);
        tracker.record(1, false);
        tracker.end_packet();
        assert_eq!((tracker.cumulative(), tracker.timing()), (2, SackTiming::Immediate));
    }

    #[test]
    fn the_i_bit_and_duplicates_ask_for_a_sack_at_once() {
        let mut tracker = TsnTracker::new(1);
        tracker.record(1, true);
        tracker.end_packet();
        assert_eq!(tracker.timing(), SackTiming::Immediate);
        tracker.on_sack_sent(Time::ZERO);
        tracker.note_duplicate(Tsn(1));
        tracker.end_packet();
        assert_eq!(
            (tracker.timing(), tracker.duplicates()),
            (SackTiming::Immediate, &[Tsn(1)][..])
        );
    }

    #[test]
    fn spaced_sacks_leave_a_quarter_of_a_round_trip_apart_and_sooner_when_something_is_missing() {
        let at = Time::from_millis;
        let mut tracker = tracker(&[1]);
        tracker.space_sacks(true);
        tracker.on_sack_sent(at(100));
        let rtt = |millis| Some(Duration::from_millis(millis));
        tracker.record(2, false);
        tracker.end_packet();
        assert_eq!(tracker.timing(), SackTiming::Delayed);
        let due = |tracker: &TsnTracker, rtt| tracker.spaced_sack_at(at(101), rtt);
        assert_eq!(due(&tracker, rtt(32)), Some(at(108)));
        assert_eq!(due(&tracker, rtt(1)), Some(at(105)), "not more often than each 5 ms");
        assert_eq!(due(&tracker, rtt(900)), Some(at(110)), "and not less than each 10 ms");
        tracker.record(4, false);
        tracker.end_packet();
        assert_eq!(tracker.timing(), SackTiming::Delayed);
        assert_eq!(due(&tracker, rtt(36)), Some(at(103)));
        assert_eq!(due(&tracker, rtt(900)), Some(at(106)));
    }

    #[test]
    fn spaced_sacks_are_due_after_64_packets_at_the_latest() {
        let mut tracker = tracker(&[1]);
        tracker.space_sacks(true);
        tracker.on_sack_sent(Time::ZERO);
        let mut receive = |sequence| {
            tracker.record(sequence, false);
            tracker.end_packet();
            tracker.timing()
        };
        assert!((2..65).all(|sequence| receive(sequence) == SackTiming::Delayed));
        assert_eq!(receive(65), SackTiming::Immediate);
    }

    #[test]
    fn remembered_duplicates_are_bounded() {
        let mut tracker = tracker(&[1]);
        (0..1_000).for_each(|_| tracker.note_duplicate(Tsn(1)));
        assert_eq!(tracker.duplicates().len(), DUPLICATES_MAX);
    }

    #[test]
    fn forward_tsn_moves_over_gaps_and_joins_what_follows() {
        // The example of RFC 3758 section 3.6, less 101.
        let mut tracker = tracker(&[1, 3, 4, 6]);
        assert!(tracker.advance_to(2));
        assert_eq!(tracker.cumulative(), 4);
        assert_eq!(blocks(&tracker, 9), [(2, 2)]);
        assert!(!tracker.advance_to(4), "out of date");
    }

    #[test]
    fn what_no_gap_block_could_report_is_refused() {
        let tracker = tracker(&[1]);
        assert_eq!(tracker.classify(1 + 65_535), Arrival::New { fills_gap: false });
        assert_eq!(tracker.classify(1 + 65_536), Arrival::TooFarAhead);
    }
}
