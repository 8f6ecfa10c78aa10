//! [`History`]: which packets have arrived, as Ack Vectors and Data Dropped options tell it.

use std::collections::VecDeque;

use crate::seq::Seq;
use crate::wire::{AckRun, AckRuns, AckState, DropCode, DropRuns, OptionsBuf, PacketOption};

/// Bytes of Ack Vectors that a packet is to have at most: with two full options, the others still
/// fit.
const VECTOR_LEN_MAX: usize = 2 * 253;

/// Runs in the history; each takes a byte at least.
const RUNS_MAX: usize = VECTOR_LEN_MAX;

/// Packets whose data were dropped.
const DROPPED_MAX: usize = 128;

/// Acknowledgements that the peer may acknowledge; older ones are forgotten.
const RECORDS_MAX: usize = 1_024;

/// The Acknowledgement Window: which packets have arrived, as far as the peer may not know it.
///
/// RFC 4340 appendix A describes such a thing.
#[derive(Debug)]
pub(crate) struct History {
    /// GSR when the history was last added to.
    newest: Seq,
    /// From the newest packet on towards older ones; neighbours differ.
    runs: VecDeque<Run>,
    /// How many packets they are.
    len: u64,
    /// Packets that arrived and whose data did not reach the application, the newest first.
    dropped: VecDeque<(Seq, DropCode)>,
    /// Our packets with Ack Vectors, and which was the newest packet then.
    records: VecDeque<Record>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    state: AckState,
    len: u64,
}

#[derive(Debug)]
struct Record {
    sent: Seq,
    /// What is known up to here once the packet is known to have arrived.
    acknowledged: Seq,
}

impl History {
    /// The first packet of the peer has arrived.
    pub(crate) fn new(first: Seq, is_marked: bool) -> Self {
        let run = Run { state: state(is_marked), len: 1 };
        Self {
            newest: first,
            runs: [run].into(),
            len: 1,
            dropped: VecDeque::new(),
            records: VecDeque::new(),
        }
    }

    /// Notes a packet that is acknowledgeable. False: it has been here before, or is too old to
    /// tell.
    pub(crate) fn on_packet(&mut self, seq: Seq, is_marked: bool) -> bool {
        let state = state(is_marked);
        if seq > self.newest {
            let missing = seq.since(self.newest) - 1;
            self.push_newest(AckState::NotYetReceived, missing);
            self.push_newest(state, 1);
            self.newest = seq;
            self.limit();
            return true;
        }
        if !self.fill(self.newest.since(seq), state) {
            return false;
        }
        // RFC 4340 appendix A.3: the peer may yet acknowledge an acknowledgement that said that
        // this packet was missing: "Ack 60 is now treated like a duplicate of Ack 59."
        for record in &mut self.records {
            record.acknowledged = record.acknowledged.min(seq - 1);
        }
        true
    }

    /// Notes that a packet's data did not reach the application.
    pub(crate) fn on_dropped(&mut self, seq: Seq, code: DropCode) {
        let at = self.dropped.partition_point(|(other, _)| *other > seq);
        self.dropped.insert(at, (seq, code));
        self.dropped.truncate(DROPPED_MAX);
    }

    /// Adds the options to a packet with the number `sent`, which acknowledges the newest packet.
    pub(crate) fn write(&mut self, sent: Seq, options: &mut OptionsBuf) {
        let mut vector = AckRuns::default();
        self.runs.iter().for_each(|run| vector.push(run.state, run.len));
        let mut acknowledged = None;
        for vector in vector.vectors() {
            if !options.push(&PacketOption::AckVector(vector)) {
                return;
            }
            acknowledged = Some(self.newest);
        }
        self.dropped_runs().options().for_each(|dropped| {
            if !options.push(&PacketOption::DataDropped(dropped)) {
                acknowledged = None;
            }
        });
        if let Some(acknowledged) = acknowledged {
            self.records.push_back(Record { sent, acknowledged });
            if self.records.len() > RECORDS_MAX {
                self.records.pop_front();
            }
        }
    }

    /// The peer has processed our packets from `first` to `last`. What they told need not be told
    /// again.
    ///
    /// RFC 4340 section 11.4.2: "this window both grows on the right and shrinks on the left."
    pub(crate) fn on_acknowledged(&mut self, first: Seq, last: Seq) {
        let end = self.records.partition_point(|record| record.sent <= last);
        let Some(newest) = end.checked_sub(1).and_then(|at| self.records.get(at)) else { return };
        if newest.sent < first {
            return;
        }
        // The newest packet is always told of: an Ack Vector begins with it.
        let known = newest.acknowledged.min(self.newest - 1);
        self.records.drain(..end);
        self.shorten(self.newest.since(known));
    }

    /// The states from the packet `offset` places before the newest on.
    #[cfg(test)]
    fn states(&self) -> Vec<AckState> {
        self.runs.iter().flat_map(|run| vec![run.state; run.len as usize]).collect()
    }

    fn push_newest(&mut self, state: AckState, len: u64) {
        if len == 0 {
            return;
        }
        self.len += len;
        match self.runs.front_mut() {
            Some(run) if run.state == state => run.len += len,
            _ => self.runs.push_front(Run { state, len }),
        }
    }

    /// RFC 4340 section 11.4.1: a packet that was missing has the state with which it arrives; of
    /// one that arrives twice, a mark is kept.
    fn fill(&mut self, offset: u64, state: AckState) -> bool {
        let mut start = 0;
        for at in 0..self.runs.len() {
            let Some(run) = self.runs.get(at).copied() else { return false };
            if offset >= start + run.len {
                start += run.len;
                continue;
            }
            if run.state != AckState::NotYetReceived {
                return false;
            }
            let (newer, older) = (offset - start, run.len - (offset - start) - 1);
            self.runs.remove(at);
            let parts = [(older, run.state), (1, state), (newer, run.state)];
            for (len, state) in parts.into_iter().filter(|(len, _)| *len > 0) {
                self.runs.insert(at, Run { state, len });
            }
            self.merge();
            self.limit();
            return true;
        }
        false
    }

    /// Joins neighbours of one state.
    fn merge(&mut self) {
        let mut merged: VecDeque<Run> = VecDeque::with_capacity(self.runs.len());
        for run in self.runs.drain(..) {
            match merged.back_mut() {
                Some(last) if last.state == run.state => last.len += run.len,
                _ => merged.push_back(run),
            }
        }
        self.runs = merged;
    }

    /// Forgets the oldest packets if there are more runs than fit.
    fn limit(&mut self) {
        let bytes_max = self.runs.len() as u64 + self.len / u64::from(AckRun::LEN_MAX);
        if bytes_max <= VECTOR_LEN_MAX as u64 {
            return;
        }
        let (mut runs, mut bytes, mut len) = (0, 0, 0);
        for run in &self.runs {
            bytes +=
                usize::try_from(run.len.div_ceil(AckRun::LEN_MAX.into())).unwrap_or(usize::MAX);
            if runs == RUNS_MAX || bytes > VECTOR_LEN_MAX {
                break;
            }
            runs += 1;
            len += run.len;
        }
        if len < self.len {
            // Of a burst that is too long for the vector, the newest packet remains.
            self.shorten(len.max(1));
        }
    }

    /// Keeps so many of the newest packets.
    fn shorten(&mut self, len: u64) {
        while self.len > len {
            let Some(run) = self.runs.back_mut() else { break };
            let surplus = (self.len - len).min(run.len);
            run.len -= surplus;
            self.len -= surplus;
            if run.len == 0 {
                self.runs.pop_back();
            }
        }
        let oldest = self.newest - self.len.saturating_sub(1);
        while self.dropped.back().is_some_and(|(seq, _)| *seq < oldest) {
            self.dropped.pop_back();
        }
    }

    fn dropped_runs(&self) -> DropRuns {
        let mut runs = DropRuns::default();
        let mut next = self.newest;
        for (seq, code) in &self.dropped {
            runs.push(None, next.since(*seq));
            runs.push(Some(*code), 1);
            next = *seq - 1;
        }
        runs
    }
}

const fn state(is_marked: bool) -> AckState {
    if is_marked { AckState::EcnMarked } else { AckState::Received }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SequenceNumber;
    use AckState::{EcnMarked, NotYetReceived, Received};

    fn seq(n: u64) -> Seq {
        Seq::first(SequenceNumber::new(n))
    }

    /// The Example Buffer of RFC 4340 appendix A.
    fn example() -> History {
        let mut history = History::new(seq(0), false);
        history.on_packet(seq(1), true);
        (2..=6).chain([10]).for_each(|n| assert!(history.on_packet(seq(n), false)));
        history
    }

    fn bytes(history: &mut History, sent: u64) -> Vec<u8> {
        let mut options = OptionsBuf::new();
        history.write(seq(sent), &mut options);
        let entries = options.as_options().iter().map(|entry| entry.unwrap());
        entries.flat_map(|entry| entry.data.to_vec()).collect()
    }

    #[test]
    fn the_example_of_the_rfc_is_told_as_it_says() {
        let mut history = example();
        // 10 received, three missing, five received, one marked, one received.
        assert_eq!(bytes(&mut history, 59), [0, 0xc2, 4, 0x40, 0]);
    }

    #[test]
    fn late_packets_fill_their_hole() {
        let mut history = example();
        assert!(history.on_packet(seq(8), false));
        assert_eq!(
            history.states()[..5],
            [Received, NotYetReceived, Received, NotYetReceived, Received]
        );
        assert!(history.on_packet(seq(9), true) && history.on_packet(seq(7), false));
        assert_eq!(history.states()[..4], [Received, EcnMarked, Received, Received]);
        assert_eq!(history.runs.len(), 5, "{history:?}");
    }

    #[test]
    fn repeated_packets_are_told_apart() {
        let mut history = example();
        let before = history.states();
        for (n, is_marked) in [(10, false), (6, true), (1, false), (0, false)] {
            assert!(!history.on_packet(seq(n), is_marked), "{n}");
        }
        assert_eq!(history.states(), before);
    }

    #[test]
    fn what_the_peer_knows_is_not_told_again() {
        // RFC 4340 appendix A.3: acknowledgement 59 told of packets up to 3.
        let mut history = History::new(seq(0), false);
        (1..=3).for_each(|n| assert!(history.on_packet(seq(n), false)));
        bytes(&mut history, 59);
        [4, 5, 6, 10].iter().for_each(|n| assert!(history.on_packet(seq(*n), false)));
        bytes(&mut history, 60);
        history.on_acknowledged(seq(59), seq(59));
        assert_eq!(bytes(&mut history, 61), [0, 0xc2, 2]);
        history.on_acknowledged(seq(60), seq(60));
        assert_eq!(bytes(&mut history, 62), [0], "the newest packet stays");
        // Nothing comes of an old acknowledgement, or of one that never was.
        history.on_acknowledged(seq(59), seq(59));
        history.on_acknowledged(seq(90), seq(99));
        assert_eq!(history.states(), [Received]);
        assert_eq!(history.records.len(), 2);
    }

    #[test]
    fn a_late_packet_is_told_of_though_the_peer_knows_it_as_missing() {
        let mut history = example();
        bytes(&mut history, 60);
        history.on_packet(seq(9), false);
        history.on_acknowledged(seq(60), seq(60));
        assert_eq!(history.states(), [Received, Received]);
    }

    #[test]
    fn a_range_of_acknowledgements_counts_as_its_newest() {
        let mut history = example();
        bytes(&mut history, 60);
        history.on_packet(seq(11), false);
        bytes(&mut history, 62);
        history.on_packet(seq(12), false);
        history.on_acknowledged(seq(50), seq(61));
        assert_eq!(history.len, 2, "from what 60 told on");
        history.on_acknowledged(seq(61), seq(70));
        assert_eq!(history.len, 1);
    }

    #[test]
    fn dropped_data_are_told_until_they_are_known() {
        let mut history = History::new(seq(97), false);
        (98..=100).for_each(|n| assert!(history.on_packet(seq(n), false)));
        history.on_dropped(seq(98), DropCode::CORRUPT);
        history.on_dropped(seq(99), DropCode::RECEIVE_BUFFER);
        assert_eq!(bytes(&mut history, 1), [3, 0, 0xa0, 0xb0]);
        history.on_packet(seq(101), false);
        history.on_acknowledged(seq(1), seq(1));
        assert_eq!(bytes(&mut history, 2), [0]);
    }

    #[test]
    fn the_history_is_never_longer_than_fits() {
        let mut history = History::new(seq(0), false);
        for n in 1..20_000 {
            history.on_packet(seq(2 * n), n % 3 == 0);
            history.on_dropped(seq(2 * n), DropCode::RECEIVE_BUFFER);
        }
        for sent in 0..2_000 {
            let mut options = OptionsBuf::new();
            history.write(seq(sent), &mut options);
            let vectors = options.as_options().iter().flatten().filter(|entry| entry.ty.0 == 38);
            let bytes: usize = vectors.map(|entry| entry.data.len()).sum();
            assert!((1..=VECTOR_LEN_MAX).contains(&bytes), "{bytes}");
        }
        assert!(history.runs.len() <= RUNS_MAX && history.dropped.len() <= DROPPED_MAX);
        assert!(history.records.len() <= RECORDS_MAX);
        assert!(history.on_packet(seq(1 << 40), false), "a gap longer than any vector");
        assert_eq!(history.states(), [Received]);
    }
}
