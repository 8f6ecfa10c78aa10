//! [`TsnTracker`]: which TSNs arrived, and what a SACK says about it.

use anabranch_wire::{GapAckBlock, Tsn};

use crate::ranges::RangeSet;
use crate::sequence::tsn;

/// Duplicates that are remembered for the next SACK. More are counted only.
const DUPLICATES_MAX: usize = 32;

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

    /// The cumulative TSN, extended.
    pub(crate) const fn cumulative(&self) -> u64 {
        self.cumulative
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
        self.urgent |= immediate || (is_gap && !self.delays_in_gaps);
    }

    /// RFC 9260 section 6.2: "When a packet arrives with duplicate DATA chunk(s) and with no new
    /// DATA chunk(s), the endpoint MUST immediately send a SACK chunk with no delay."
    pub(crate) fn note_duplicate(&mut self, tsn: Tsn) {
        if self.duplicates.len() < DUPLICATES_MAX {
            self.duplicates.push(tsn);
        }
        self.urgent = true;
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
        self.timing = if self.urgent || self.packets >= 2 || self.timing == SackTiming::Immediate {
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
        self.urgent |= !self.beyond.is_empty() && !self.delays_in_gaps;
        true
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
    pub(crate) fn on_sack_sent(&mut self) {
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
        tracker.on_sack_sent();
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
        tracker.on_sack_sent();
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
        tracker.on_sack_sent();
        tracker.note_duplicate(Tsn(1));
        tracker.end_packet();
        assert_eq!(
            (tracker.timing(), tracker.duplicates()),
            (SackTiming::Immediate, &[Tsn(1)][..])
        );
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
