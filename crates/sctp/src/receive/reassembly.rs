//! [`Reassembly`]: fragments become messages.

use std::collections::BTreeMap;

use anabranch_wire::{Data, Ppid, Ssn, StreamId};

use super::{DataOutcome, RECORD_OVERHEAD};

/// A message that is whole but maybe not yet in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complete {
    pub(super) stream: StreamId,
    pub(super) ssn: Ssn,
    pub(super) ppid: Ppid,
    pub(super) unordered: bool,
    pub(super) payload: Vec<u8>,
}

/// Consecutive fragments of one message.
#[derive(Debug)]
struct Run {
    stream: StreamId,
    ssn: Ssn,
    ppid: Ppid,
    unordered: bool,
    has_beginning: bool,
    has_ending: bool,
    /// The TSN that would continue it.
    next: u64,
    payload: Vec<u8>,
}

impl Run {
    fn new(sequence: u64, data: &Data<'_>, capacity: usize) -> Self {
        let mut payload = Vec::with_capacity(capacity.max(data.payload.len()));
        payload.extend_from_slice(data.payload);
        Self {
            stream: data.stream,
            ssn: data.ssn,
            ppid: data.ppid,
            unordered: data.unordered,
            has_beginning: data.beginning,
            has_ending: data.ending,
            next: sequence + 1,
            payload,
        }
    }

    const fn is_complete(&self) -> bool {
        self.has_beginning && self.has_ending
    }

    fn complete(self) -> Complete {
        let Self { stream, ssn, ppid, unordered, payload, .. } = self;
        Complete { stream, ssn, ppid, unordered, payload }
    }

    /// RFC 9260 section 6.9: the fragments of a message have one stream, one SSN and one U bit.
    fn matches(&self, data: &Data<'_>) -> bool {
        (self.stream, self.ssn, self.unordered) == (data.stream, data.ssn, data.unordered)
    }
}

/// Runs of fragments by their first TSN.
///
/// RFC 9260 section 6.9: "The transmitter MUST then assign, in sequence, a separate TSN to each of
/// the DATA chunks in the series." So a message is complete when one run has both its ends. A run
/// never crosses a message's edge.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    runs: BTreeMap<u64, Run>,
    /// Payload bytes in the runs.
    bytes: usize,
    /// The length of the last message of several fragments: the next one likely needs as much.
    expected_len: usize,
}

impl Reassembly {
    /// Adds a fragment that was not there before; returns the message that it completes.
    pub(super) fn insert(
        &mut self,
        sequence: u64,
        data: &Data<'_>,
        message_size_max: usize,
    ) -> Result<Option<Complete>, DataOutcome> {
        if data.beginning && data.ending {
            if data.payload.len() > message_size_max {
                return Err(DataOutcome::MessageTooLarge);
            }
            self.make_way(sequence)?;
            return Ok(Some(Run::new(sequence, data, 0).complete()));
        }
        let first = match self.run_before(sequence, data)? {
            Some(first) => self.append(first, sequence, data, message_size_max)?,
            None => {
                // Only one run may reserve ahead, so that a peer cannot multiply the reserve.
                let reserve = data.beginning && self.runs.is_empty();
                let capacity = if reserve { self.expected_len } else { 0 };
                self.runs.insert(sequence, Run::new(sequence, data, capacity));
                sequence
            }
        };
        self.bytes += data.payload.len();
        self.join_following(first, message_size_max)?;
        Ok(self.take_complete(first))
    }

    /// A whole message ends the one before it, and cannot stand within one that goes on behind it.
    fn make_way(&mut self, sequence: u64) -> Result<(), DataOutcome> {
        if self.runs.get(&(sequence + 1)).is_some_and(|run| !run.has_beginning) {
            return Err(DataOutcome::BadFragments);
        }
        let before = self.runs.range(..sequence).next_back();
        let unfinished = before.filter(|(_, run)| run.next == sequence && !run.has_ending);
        if let Some((&first, _)) = unfinished {
            self.discard(first);
        }
        Ok(())
    }

    /// The first TSN of the run that the fragment continues.
    fn run_before(&mut self, sequence: u64, data: &Data<'_>) -> Result<Option<u64>, DataOutcome> {
        let Some((&first, run)) = self.runs.range(..sequence).next_back() else { return Ok(None) };
        if run.next != sequence {
            return Ok(None);
        }
        if data.beginning {
            if !run.has_ending {
                self.discard(first);
            }
            return Ok(None);
        }
        if run.has_ending || !run.matches(data) {
            return Err(DataOutcome::BadFragments);
        }
        Ok(Some(first))
    }

    /// Drops a run that another message's beginning follows: the peer abandoned the rest before it
    /// gave it a TSN.
    fn discard(&mut self, first: u64) {
        if let Some(run) = self.runs.remove(&first) {
            self.bytes -= run.payload.len();
        }
    }

    fn append(
        &mut self,
        first: u64,
        sequence: u64,
        data: &Data<'_>,
        message_size_max: usize,
    ) -> Result<u64, DataOutcome> {
        let Some(run) = self.runs.get_mut(&first) else { return Ok(first) };
        if run.payload.len() + data.payload.len() > message_size_max {
            return Err(DataOutcome::MessageTooLarge);
        }
        run.payload.extend_from_slice(data.payload);
        run.has_ending = data.ending;
        run.next = sequence + 1;
        Ok(first)
    }

    /// Joins a run with the one that begins where it stops, if they are of one message.
    fn join_following(&mut self, first: u64, message_size_max: usize) -> Result<(), DataOutcome> {
        let Some(run) = self.runs.get(&first) else { return Ok(()) };
        let next = run.next;
        let Some(following) = self.runs.get(&next) else { return Ok(()) };
        if following.has_beginning {
            if !run.has_ending {
                self.discard(first);
            }
            return Ok(());
        }
        let same = (run.stream, run.ssn, run.unordered)
            == (following.stream, following.ssn, following.unordered);
        if run.has_ending || !same {
            return Err(DataOutcome::BadFragments);
        }
        if run.payload.len() + following.payload.len() > message_size_max {
            return Err(DataOutcome::MessageTooLarge);
        }
        let Some(following) = self.runs.remove(&next) else { return Ok(()) };
        if let Some(run) = self.runs.get_mut(&first) {
            run.payload.extend_from_slice(&following.payload);
            run.has_ending = following.has_ending;
            run.next = following.next;
        }
        Ok(())
    }

    fn take_complete(&mut self, first: u64) -> Option<Complete> {
        self.runs.get(&first).filter(|run| run.is_complete())?;
        let run = self.runs.remove(&first)?;
        self.bytes -= run.payload.len();
        self.expected_len = run.payload.len();
        Some(run.complete())
    }

    /// Removes every run that lacks a TSN up to and including `point`; returns how many.
    pub(super) fn discard_through(&mut self, point: u64) -> u64 {
        let before = self.runs.len();
        let mut freed = 0;
        self.runs.retain(|&first, run| {
            let lacks_beginning = !run.has_beginning && first <= point + 1;
            let lacks_ending = !run.has_ending && run.next <= point;
            let keep = !lacks_beginning && !lacks_ending;
            freed += if keep { 0 } else { run.payload.len() };
            keep
        });
        self.bytes -= freed;
        (before - self.runs.len()) as u64
    }

    /// Bytes kept, overhead included.
    pub(super) fn held(&self) -> usize {
        self.bytes + self.runs.len() * RECORD_OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rng;
    use anabranch_wire::Tsn;

    use super::*;

    const LIMIT: usize = 1_000;

    fn fragment(sequence: u64, ends: (bool, bool), payload: &[u8]) -> Data<'_> {
        Data {
            tsn: Tsn(sequence as u32),
            stream: StreamId(3),
            ssn: Ssn(9),
            ppid: Ppid(5),
            unordered: false,
            beginning: ends.0,
            ending: ends.1,
            immediate: false,
            payload,
        }
    }

    #[test]
    fn fragments_in_any_order_make_the_message() {
        let mut rng = Rng::from_u64(11);
        for _ in 0..200 {
            let mut reassembly = Reassembly::default();
            let mut order: Vec<u64> = (0..8).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.range(0..i as u64 + 1) as usize);
            }
            let mut complete = None;
            for (count, &i) in order.iter().enumerate() {
                assert_eq!(complete, None, "complete after {count} of 8 fragments");
                let payload = [i as u8; 3];
                let data = fragment(100 + i, (i == 0, i == 7), &payload);
                complete = reassembly.insert(100 + i, &data, LIMIT).unwrap();
            }
            let expected: Vec<u8> = (0..8).flat_map(|i| [i; 3]).collect();
            assert_eq!(complete.unwrap().payload, expected);
            assert_eq!(reassembly.held(), 0);
        }
    }

    #[test]
    fn neighbouring_messages_stay_apart() {
        let mut reassembly = Reassembly::default();
        assert_eq!(reassembly.insert(2, &fragment(2, (false, true), b"b"), LIMIT), Ok(None));
        assert_eq!(reassembly.insert(3, &fragment(3, (true, false), b"c"), LIMIT), Ok(None));
        let first = reassembly.insert(1, &fragment(1, (true, false), b"a"), LIMIT).unwrap();
        assert_eq!(first.unwrap().payload, b"ab");
        let second = reassembly.insert(4, &fragment(4, (false, true), b"d"), LIMIT).unwrap();
        assert_eq!(second.unwrap().payload, b"cd");
    }

    #[test]
    fn fragments_that_contradict_each_other_are_an_error() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(1, &fragment(1, (true, false), b"a"), LIMIT).unwrap();
        let other = Data { stream: StreamId(4), ..fragment(2, (false, true), b"b") };
        assert_eq!(reassembly.insert(2, &other, LIMIT), Err(DataOutcome::BadFragments));
        reassembly.insert(9, &fragment(9, (false, true), b"i"), LIMIT).unwrap();
        let goes_on = reassembly.insert(10, &fragment(10, (false, true), b"j"), LIMIT);
        assert_eq!(goes_on, Err(DataOutcome::BadFragments));
    }

    /// dcSCTP gives the abandoned rest of a message no TSNs: the next message begins right behind
    /// what was sent, and the association was aborted for that.
    #[test]
    fn regression_beginning_behind_an_unfinished_message_was_a_protocol_violation() {
        for order in [[1, 2], [2, 1]] {
            let mut reassembly = Reassembly::default();
            for sequence in order {
                let data = fragment(sequence, (true, false), b"x");
                assert_eq!(reassembly.insert(sequence, &data, LIMIT), Ok(None));
            }
            assert_eq!(reassembly.runs.keys().copied().collect::<Vec<_>>(), [2]);
            assert_eq!(reassembly.bytes, 1);
        }
    }

    #[test]
    fn a_whole_message_ends_an_unfinished_one_before_it_but_none_behind_it() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(1, &fragment(1, (true, false), b"a"), LIMIT).unwrap();
        reassembly.insert(5, &fragment(5, (false, true), b"e"), LIMIT).unwrap();
        assert!(reassembly.insert(2, &fragment(2, (true, true), b"b"), LIMIT).is_ok());
        assert_eq!(reassembly.runs.keys().copied().collect::<Vec<_>>(), [5]);
        let inside = reassembly.insert(4, &fragment(4, (true, true), b"d"), LIMIT);
        assert_eq!(inside, Err(DataOutcome::BadFragments));
    }

    #[test]
    fn a_message_beyond_the_limit_is_an_error_however_it_arrives() {
        let long = vec![0; 600];
        let mut reassembly = Reassembly::default();
        reassembly.insert(1, &fragment(1, (true, false), &long), LIMIT).unwrap();
        let too_large = Err(DataOutcome::MessageTooLarge);
        assert_eq!(reassembly.insert(2, &fragment(2, (false, false), &long), LIMIT), too_large);
        let mut reassembly = Reassembly::default();
        reassembly.insert(2, &fragment(2, (false, true), &long), LIMIT).unwrap();
        assert_eq!(reassembly.insert(1, &fragment(1, (true, false), &long), LIMIT), too_large);
        assert_eq!(
            Reassembly::default().insert(1, &fragment(1, (true, true), &[0; 1_001]), LIMIT),
            too_large
        );
    }

    #[test]
    fn discarding_removes_what_cannot_be_completed_and_nothing_else() {
        let mut reassembly = Reassembly::default();
        // 1 lost, 2-3 its end; 4-5 a beginning that goes on at 6; 8 the middle of a later one.
        for (sequence, ends) in [
            (2, (false, false)),
            (3, (false, true)),
            (4, (true, false)),
            (5, (false, false)),
            (8, (false, false)),
        ] {
            reassembly.insert(sequence, &fragment(sequence, ends, b"x"), LIMIT).unwrap();
        }
        assert_eq!(reassembly.discard_through(5), 1, "4-5 may still be continued by 6");
        assert_eq!(reassembly.discard_through(6), 1, "6 will never come");
        assert_eq!(reassembly.runs.keys().copied().collect::<Vec<_>>(), [8]);
        assert_eq!(reassembly.discard_through(7), 1, "7 will never come");
        assert_eq!(reassembly.held(), 0);
    }
}
