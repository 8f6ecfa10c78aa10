//! [`Reassembly`]: fragments become messages.

use std::collections::BTreeMap;

use anabranch_wire::{Level, Mid, Ppid, StreamId};

use super::DataOutcome;
use super::data_chunk::DataChunk;
use super::held::Held;
use super::place::{MessageKey, Place};
use super::revocable::TsnSpan;

/// A message that is whole but maybe not yet in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complete {
    pub(super) stream: StreamId,
    pub(super) mid: Mid,
    pub(super) ppid: Ppid,
    pub(super) unordered: bool,
    /// That of the fragment that matters most, so that a message counts as sent again if any of
    /// its fragments was.
    pub(super) level: Level,
    /// Its TSNs, if no other message has one among them.
    pub(super) span: Option<TsnSpan>,
    pub(super) payload: Vec<u8>,
}

/// Consecutive fragments of one message.
#[derive(Debug)]
struct Run {
    stream: StreamId,
    mid: Mid,
    ppid: Ppid,
    unordered: bool,
    level: Level,
    has_beginning: bool,
    has_ending: bool,
    /// How many fragments it has.
    count: u64,
    /// From the lowest to the highest of its TSNs.
    span: TsnSpan,
    payload: Vec<u8>,
}

impl Run {
    fn new(sequence: u64, data: &DataChunk<'_>, capacity: usize) -> Self {
        let mut payload = Vec::with_capacity(capacity.max(data.payload.len()));
        payload.extend_from_slice(data.payload);
        Self {
            stream: data.stream,
            mid: data.mid,
            ppid: data.ppid,
            unordered: data.unordered,
            level: data.level,
            has_beginning: data.beginning,
            has_ending: data.ending,
            count: 1,
            span: TsnSpan { first: sequence, last: sequence },
            payload,
        }
    }

    const fn is_complete(&self) -> bool {
        self.has_beginning && self.has_ending
    }

    fn complete(self) -> Complete {
        let Self { stream, mid, ppid, unordered, level, span, payload, .. } = self;
        let span = Some(span).filter(|span| span.last - span.first + 1 == self.count);
        Complete { stream, mid, ppid, unordered, level, span, payload }
    }

    /// RFC 9260 section 6.9: the fragments of a message have one stream, one SSN and one U bit.
    fn matches(&self, data: &DataChunk<'_>) -> bool {
        (self.stream, self.mid, self.unordered) == (data.stream, data.mid, data.unordered)
    }
}

/// Runs of fragments by the place of their first one. A message is complete when one run has both
/// its ends. A run never crosses a message's edge.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    runs: BTreeMap<Place, Run>,
    /// Payload bytes in the runs.
    bytes: usize,
    /// The length of the last message of several fragments: the next one likely needs as much.
    expected_len: usize,
}

impl Reassembly {
    /// Adds a fragment whose TSN was not there before; returns the message that it completes.
    pub(super) fn insert(
        &mut self,
        sequence: u64,
        is_next_life: bool,
        data: &DataChunk<'_>,
        message_size_max: usize,
    ) -> Result<Option<Complete>, DataOutcome> {
        let place = Place::of(sequence, is_next_life, data);
        if data.beginning && data.ending {
            if data.payload.len() > message_size_max {
                return Err(DataOutcome::MessageTooLarge);
            }
            self.make_way(place)?;
            return Ok(Some(Run::new(sequence, data, 0).complete()));
        }
        let first = match self.run_before(place, data)? {
            Some(first) => self.append(sequence, first, data, message_size_max)?,
            None => {
                // Only one run may reserve ahead, so that a peer cannot multiply the reserve.
                let reserve = data.beginning && self.runs.is_empty();
                let capacity = if reserve { self.expected_len } else { 0 };
                self.runs.insert(place, Run::new(sequence, data, capacity));
                place
            }
        };
        self.bytes += data.payload.len();
        self.join_following(first, message_size_max)?;
        Ok(self.take_complete(first))
    }

    /// A whole message ends the one before it, and cannot stand within one that goes on behind it.
    fn make_way(&mut self, place: Place) -> Result<(), DataOutcome> {
        let Some(message) = place.message else {
            if self.runs.get(&place.plus(1)).is_some_and(|run| !run.has_beginning) {
                return Err(DataOutcome::BadFragments);
            }
            let before = self.runs.range(..place).next_back();
            let unfinished =
                before.filter(|(first, run)| first.plus(run.count) == place && !run.has_ending);
            if let Some((&first, _)) = unfinished {
                self.discard(first);
            }
            return Ok(());
        };
        let following = self.runs.range(place..).next();
        let has_fragments = following.is_some_and(|(first, _)| first.message == Some(message));
        if has_fragments { Err(DataOutcome::BadFragments) } else { Ok(()) }
    }

    /// Where the run begins that the fragment continues.
    fn run_before(
        &mut self,
        place: Place,
        data: &DataChunk<'_>,
    ) -> Result<Option<Place>, DataOutcome> {
        // A later fragment of an I-DATA chunk cannot be the first: its B bit would be set.
        let lacks_beginning = place.message.is_some() && place.number == 0 && !data.beginning;
        let Some((&first, run)) = self.runs.range(..=place).next_back() else {
            return if lacks_beginning { Err(DataOutcome::BadFragments) } else { Ok(None) };
        };
        let next = first.plus(run.count);
        // The same FSN twice.
        let is_there = first.message == place.message && next > place;
        if lacks_beginning || is_there {
            return Err(DataOutcome::BadFragments);
        }
        if next != place {
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
    fn discard(&mut self, first: Place) {
        if let Some(run) = self.runs.remove(&first) {
            self.bytes -= run.payload.len();
        }
    }

    fn append(
        &mut self,
        sequence: u64,
        first: Place,
        data: &DataChunk<'_>,
        message_size_max: usize,
    ) -> Result<Place, DataOutcome> {
        let Some(run) = self.runs.get_mut(&first) else { return Ok(first) };
        if run.payload.len() + data.payload.len() > message_size_max {
            return Err(DataOutcome::MessageTooLarge);
        }
        run.payload.extend_from_slice(data.payload);
        run.has_ending = data.ending;
        run.level = run.level.min(data.level);
        run.span = run.span.with(TsnSpan { first: sequence, last: sequence });
        run.count += 1;
        Ok(first)
    }

    /// Joins a run with the one that begins where it stops, if they are of one message.
    fn join_following(&mut self, first: Place, message_size_max: usize) -> Result<(), DataOutcome> {
        let Some(run) = self.runs.get(&first) else { return Ok(()) };
        let next = first.plus(run.count);
        let Some(following) = self.runs.get(&next) else { return Ok(()) };
        if following.has_beginning {
            if !run.has_ending {
                self.discard(first);
            }
            return Ok(());
        }
        let same = (run.stream, run.mid, run.unordered)
            == (following.stream, following.mid, following.unordered);
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
            run.level = run.level.min(following.level);
            run.span = run.span.with(following.span);
            run.count += following.count;
        }
        Ok(())
    }

    fn take_complete(&mut self, first: Place) -> Option<Complete> {
        self.runs.get(&first).filter(|run| run.is_complete())?;
        let run = self.runs.remove(&first)?;
        self.bytes -= run.payload.len();
        self.expected_len = run.payload.len();
        Some(run.complete())
    }

    /// Removes every run of DATA chunks that lacks a TSN up to and including `point`.
    pub(super) fn discard_through(&mut self, point: u64) {
        self.retain(|first, run| {
            let next = first.number + run.count;
            let lacks_beginning = !run.has_beginning && first.number <= point + 1;
            let lacks_ending = !run.has_ending && next <= point;
            first.message.is_some() || (!lacks_beginning && !lacks_ending)
        });
    }

    /// Removes the unfinished messages of I-DATA chunks that are over.
    pub(super) fn discard_messages(
        &mut self,
        (stream, unordered): (StreamId, bool),
        is_over: impl Fn(Mid) -> bool,
    ) {
        let place = |mid, number| {
            let message = Some(MessageKey::new(stream, unordered, Mid(mid)));
            Place { message, number }
        };
        let of_stream = place(0, 0)..=place(u32::MAX, u64::MAX);
        let over = self.runs.extract_if(of_stream, |first, _| {
            first.message.is_some_and(|message| is_over(message.mid()))
        });
        let freed: usize = over.map(|(_, run)| run.payload.len()).sum();
        self.bytes -= freed;
    }

    /// Streams begin anew: what was not completed of their messages never will be, and those that
    /// came early are of the present from now on.
    pub(super) fn reset(&mut self, is_meant: impl Fn(StreamId) -> bool) {
        let concerned = |message: &MessageKey| is_meant(message.stream());
        self.retain(|first, _| {
            let message = first.message.filter(concerned);
            message.is_none_or(MessageKey::is_of_next_life)
        });
        let next_life = |first: &Place, _: &mut Run| {
            first.message.filter(concerned).is_some_and(MessageKey::is_of_next_life)
        };
        let early: Vec<_> = self.runs.extract_if(.., next_life).collect();
        self.runs.extend(early.into_iter().map(|(first, run)| {
            let message = first.message.map(MessageKey::in_this_life);
            (Place { message, ..first }, run)
        }));
    }

    fn retain(&mut self, keeps: impl Fn(&Place, &Run) -> bool) {
        let mut freed = 0;
        self.runs.retain(|first, run| {
            let keep = keeps(first, run);
            freed += if keep { 0 } else { run.payload.len() };
            keep
        });
        self.bytes -= freed;
    }

    /// Bytes kept, overhead included.
    pub(super) fn held(&self) -> Held {
        Held { payload: self.bytes, records: self.runs.len() }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rng;
    use anabranch_wire::{Fsn, Tsn};

    use super::*;

    const LIMIT: usize = 1_000;

    fn fragment(sequence: u64, ends: (bool, bool), payload: &[u8]) -> DataChunk<'_> {
        DataChunk {
            tsn: Tsn(sequence as u32),
            stream: StreamId(3),
            mid: Mid(9),
            fsn: None,
            ppid: Ppid(5),
            unordered: false,
            beginning: ends.0,
            ending: ends.1,
            immediate: false,
            level: Level::Urgent,
            payload,
        }
    }

    fn i_data(mid: u32, fsn: u32, ending: bool, payload: &[u8]) -> DataChunk<'_> {
        let (mid, fsn, beginning) = (Mid(mid), Some(Fsn(fsn)), fsn == 0);
        DataChunk { mid, fsn, ..fragment(0, (beginning, ending), payload) }
    }

    fn numbers(reassembly: &Reassembly) -> Vec<u64> {
        reassembly.runs.keys().map(|first| first.number).collect()
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
                complete = reassembly.insert(100 + i, false, &data, LIMIT).unwrap();
            }
            let expected: Vec<u8> = (0..8).flat_map(|i| [i; 3]).collect();
            assert_eq!(complete.unwrap().payload, expected);
            assert!(reassembly.held().is_empty());
        }
    }

    #[test]
    fn a_message_has_the_level_of_the_fragment_that_matters_most() {
        for order in [[0, 1, 2], [2, 1, 0], [0, 2, 1]] {
            for urgent in 0..3 {
                let mut reassembly = Reassembly::default();
                let mut complete = None;
                for i in order {
                    let level = if i == urgent { Level::Urgent } else { Level::Low };
                    let data = DataChunk { level, ..fragment(9 + i, (i == 0, i == 2), b"x") };
                    complete = reassembly.insert(9 + i, false, &data, LIMIT).unwrap();
                }
                assert_eq!(complete.unwrap().level, Level::Urgent, "{urgent} of {order:?}");
            }
        }
    }

    #[test]
    fn neighbouring_messages_stay_apart() {
        let mut reassembly = Reassembly::default();
        assert_eq!(reassembly.insert(2, false, &fragment(2, (false, true), b"b"), LIMIT), Ok(None));
        assert_eq!(reassembly.insert(3, false, &fragment(3, (true, false), b"c"), LIMIT), Ok(None));
        let first = reassembly.insert(1, false, &fragment(1, (true, false), b"a"), LIMIT).unwrap();
        assert_eq!(first.unwrap().payload, b"ab");
        let second = reassembly.insert(4, false, &fragment(4, (false, true), b"d"), LIMIT).unwrap();
        assert_eq!(second.unwrap().payload, b"cd");
    }

    #[test]
    fn fragments_that_contradict_each_other_are_an_error() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(1, false, &fragment(1, (true, false), b"a"), LIMIT).unwrap();
        let other = DataChunk { stream: StreamId(4), ..fragment(2, (false, true), b"b") };
        assert_eq!(reassembly.insert(2, false, &other, LIMIT), Err(DataOutcome::BadFragments));
        reassembly.insert(9, false, &fragment(9, (false, true), b"i"), LIMIT).unwrap();
        let goes_on = reassembly.insert(10, false, &fragment(10, (false, true), b"j"), LIMIT);
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
                assert_eq!(reassembly.insert(sequence, false, &data, LIMIT), Ok(None));
            }
            assert_eq!(numbers(&reassembly), [2]);
            assert_eq!(reassembly.bytes, 1);
        }
    }

    #[test]
    fn a_whole_message_ends_an_unfinished_one_before_it_but_none_behind_it() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(1, false, &fragment(1, (true, false), b"a"), LIMIT).unwrap();
        reassembly.insert(5, false, &fragment(5, (false, true), b"e"), LIMIT).unwrap();
        assert!(reassembly.insert(2, false, &fragment(2, (true, true), b"b"), LIMIT).is_ok());
        assert_eq!(numbers(&reassembly), [5]);
        let inside = reassembly.insert(4, false, &fragment(4, (true, true), b"d"), LIMIT);
        assert_eq!(inside, Err(DataOutcome::BadFragments));
    }

    #[test]
    fn a_message_beyond_the_limit_is_an_error_however_it_arrives() {
        let long = vec![0; 600];
        let mut reassembly = Reassembly::default();
        reassembly.insert(1, false, &fragment(1, (true, false), &long), LIMIT).unwrap();
        let too_large = Err(DataOutcome::MessageTooLarge);
        assert_eq!(
            reassembly.insert(2, false, &fragment(2, (false, false), &long), LIMIT),
            too_large
        );
        let mut reassembly = Reassembly::default();
        reassembly.insert(2, false, &fragment(2, (false, true), &long), LIMIT).unwrap();
        assert_eq!(
            reassembly.insert(1, false, &fragment(1, (true, false), &long), LIMIT),
            too_large
        );
        assert_eq!(
            Reassembly::default().insert(1, false, &fragment(1, (true, true), &[0; 1_001]), LIMIT),
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
            reassembly.insert(sequence, false, &fragment(sequence, ends, b"x"), LIMIT).unwrap();
        }
        reassembly.discard_through(5);
        assert_eq!(numbers(&reassembly), [4, 8], "4-5 may still be continued by 6");
        reassembly.discard_through(6);
        assert_eq!(numbers(&reassembly), [8], "6 will never come");
        reassembly.discard_through(7);
        assert_eq!(numbers(&reassembly), [0; 0], "7 will never come");
        assert!(reassembly.held().is_empty());
    }

    /// The TSNs of I-DATA chunks say nothing about where they belong.
    #[test]
    fn interleaved_messages_are_told_apart_by_stream_order_and_number() {
        let mut reassembly = Reassembly::default();
        let parts = [
            i_data(7, 1, true, b"b"),
            i_data(8, 0, false, b"c"),
            DataChunk { stream: StreamId(4), ..i_data(7, 0, false, b"e") },
            DataChunk { unordered: true, ..i_data(7, 0, false, b"g") },
            DataChunk { unordered: true, ..i_data(7, 1, true, b"h") },
            DataChunk { stream: StreamId(4), ..i_data(7, 1, true, b"f") },
            i_data(8, 1, true, b"d"),
            i_data(7, 0, false, b"a"),
        ];
        let completed: Vec<_> = parts
            .iter()
            .filter_map(|part| reassembly.insert(50, false, part, LIMIT).unwrap())
            .map(|message| message.payload)
            .collect();
        assert_eq!(completed, [b"gh", b"ef", b"cd", b"ab"]);
        assert!(reassembly.held().is_empty());
    }

    #[test]
    fn interleaved_fragments_that_contradict_each_other_are_an_error() {
        let contradictions = [
            ("the same number twice", [i_data(1, 0, false, b"a"), i_data(1, 0, false, b"a")]),
            ("within a run", [i_data(1, 1, false, b"b"), i_data(1, 1, true, b"b")]),
            ("behind the end", [i_data(1, 1, true, b"b"), i_data(1, 2, false, b"c")]),
            ("whole and cut", [i_data(1, 3, false, b"d"), i_data(1, 0, true, b"a")]),
            (
                "the first without its mark",
                [
                    DataChunk { stream: StreamId(2), ..i_data(1, 0, false, b"a") },
                    DataChunk { beginning: false, ..i_data(1, 0, false, b"a") },
                ],
            ),
        ];
        for (what, [first, second]) in contradictions {
            let mut reassembly = Reassembly::default();
            assert_eq!(reassembly.insert(1, false, &first, LIMIT), Ok(None), "{what}");
            let refused = reassembly.insert(2, false, &second, LIMIT);
            assert_eq!(refused, Err(DataOutcome::BadFragments), "{what}");
        }
    }

    #[test]
    fn what_is_over_of_one_stream_and_order_is_discarded() {
        let mut reassembly = Reassembly::default();
        for mid in [4, 5, 6] {
            for unordered in [false, true] {
                let part = DataChunk { unordered, ..i_data(mid, 1, false, b"x") };
                assert_eq!(reassembly.insert(1, false, &part, LIMIT), Ok(None));
            }
        }
        let elsewhere = DataChunk { stream: StreamId(4), ..i_data(4, 1, false, b"x") };
        assert_eq!(reassembly.insert(1, false, &elsewhere, LIMIT), Ok(None));
        reassembly.discard_messages((StreamId(3), true), |mid| mid.0 <= 5);
        let left = reassembly.runs.values().map(|run| (run.stream.0, run.mid.0, run.unordered));
        let expected = [(3, 4, false), (3, 5, false), (3, 6, false), (3, 6, true), (4, 4, false)];
        assert_eq!(left.collect::<Vec<_>>(), expected);
        assert_eq!(reassembly.bytes, 5);
    }

    #[test]
    fn a_reset_ends_what_is_unfinished_and_keeps_what_came_early() {
        let mut reassembly = Reassembly::default();
        let elsewhere = DataChunk { stream: StreamId(4), ..i_data(0, 0, false, b"x") };
        for (is_next_life, part) in
            [(false, i_data(0, 0, false, b"old")), (true, i_data(0, 0, false, b"new"))]
        {
            assert_eq!(reassembly.insert(1, is_next_life, &part, LIMIT), Ok(None));
        }
        assert_eq!(reassembly.insert(1, false, &elsewhere, LIMIT), Ok(None));
        reassembly.reset(|stream| stream == StreamId(3));
        assert_eq!(reassembly.bytes, 4);
        let rest = reassembly.insert(2, false, &i_data(0, 1, true, b"er"), LIMIT).unwrap();
        assert_eq!(rest.unwrap().payload, b"newer");
    }
}
