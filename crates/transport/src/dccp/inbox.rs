//! [`Inbox`]: parts become messages, and messages wait for their turn and to be read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anabranch_sansio::{PathId, Time};
use bytes::{Bytes, BytesMut};

use super::frame::Fragment;
use super::ranges::Ranges;
use crate::{Incoming, StreamId};

/// Bytes of repeated messages that a peer may send before it hears from us.
pub(super) const LIMIT_INITIAL: u64 = 64 << 10;

/// Messages of which parts are missing, and gaps in the numbers of those that are repeated.
const UNFINISHED_MAX: usize = 1_024;

/// Numbers of messages that are remembered, in case they come over another path as well.
const RECENT_MAX: usize = 4_096;

/// Parts of one message: a session's have 16 KiB at most.
const PARTS_MAX: usize = 256;

/// Messages that wait to be read, or for their turn in one stream.
const WAITING_MAX: usize = 16 << 10;

/// What has arrived and was not read.
#[derive(Debug)]
pub(super) struct Inbox {
    /// Bytes that may wait.
    capacity: u64,
    /// Each with whether it is a repeated one.
    ready: VecDeque<(bool, Incoming)>,
    /// Bytes of all that is here.
    bytes: u64,
    /// Bytes of repeated messages that were read.
    read: u64,
    /// By whether they are repeated, and number.
    unfinished: BTreeMap<(bool, u64), Parts>,
    /// Those that are repeated and whole.
    whole: Ranges,
    /// Those that are not, the latest.
    recent: BTreeSet<u64>,
    turns: BTreeMap<StreamId, Turns>,
}

/// Ordered messages of a stream that wait for those before them.
#[derive(Debug, Default)]
struct Turns {
    next: u64,
    held: BTreeMap<u64, Incoming>,
}

#[derive(Debug)]
struct Parts {
    parts: Vec<Option<Bytes>>,
    missing: usize,
    bytes: usize,
}

/// Where and when a part came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) now: Time,
    pub(super) path: PathId,
    /// Whether something arrived before it that was sent after it.
    pub(super) is_overtaken: bool,
}

impl Inbox {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            capacity,
            ready: VecDeque::new(),
            bytes: 0,
            read: 0,
            unfinished: BTreeMap::new(),
            whole: Ranges::default(),
            recent: BTreeSet::new(),
            turns: BTreeMap::new(),
        }
    }

    /// Takes a part. False: there is no room for it, and it must come again if it is to come at
    /// all.
    pub(super) fn take(&mut self, arrival: Arrival, fragment: Fragment) -> bool {
        if self.is_known(&fragment) {
            return true;
        }
        let len = fragment.payload.len() as u64;
        // A peer that keeps to the limit always has room for what it repeats.
        let room = if fragment.is_repeated { 2 * self.capacity } else { self.capacity };
        while self.bytes + len > room {
            if !self.give_up_oldest() {
                return false;
            }
        }
        if self.is_crowded() {
            return false;
        }
        let (stream, payload_id, turn) = (fragment.stream, fragment.payload_id, fragment.turn);
        let (is_repeated, number, is_again) =
            (fragment.is_repeated, fragment.message, fragment.is_again);
        let Some(payload) = self.complete(fragment) else { return true };
        self.remember(is_repeated, number);
        let message = Incoming {
            stream,
            payload_id,
            payload,
            completed_at: arrival.now,
            path: arrival.path,
            fills_gap: arrival.is_overtaken || is_again,
        };
        match turn {
            Some(turn) => self.hold(turn, message),
            None => self.ready.push_back((is_repeated, message)),
        }
        true
    }

    /// The next message.
    pub(super) fn pop(&mut self) -> Option<Incoming> {
        let (is_repeated, message) = self.ready.pop_front()?;
        let len = message.payload.len() as u64;
        self.bytes -= len;
        if is_repeated {
            self.read += len;
        }
        Some(message)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Bytes of repeated messages that the peer may send in all.
    pub(super) const fn limit(&self) -> u64 {
        self.read + self.capacity
    }

    /// Whether there are too many messages, however short.
    fn is_crowded(&self) -> bool {
        let held = self.turns.values().map(|turns| turns.held.len()).sum::<usize>();
        self.ready.len() + held > WAITING_MAX
            || self.whole.len() > UNFINISHED_MAX
            || self.unfinished.len() > 2 * UNFINISHED_MAX
    }

    fn is_known(&self, fragment: &Fragment) -> bool {
        match fragment.is_repeated {
            true => self.whole.contains(fragment.message),
            false => self.recent.contains(&fragment.message),
        }
    }

    fn remember(&mut self, is_repeated: bool, number: u64) {
        if is_repeated {
            self.whole.insert(number);
            return;
        }
        self.recent.insert(number);
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_first();
        }
    }

    /// The message that a part completes.
    fn complete(&mut self, fragment: Fragment) -> Option<Bytes> {
        let len = fragment.payload.len();
        if fragment.count == 1 {
            self.bytes += len as u64;
            return Some(fragment.payload);
        }
        let key = (fragment.is_repeated, fragment.message);
        let count = fragment.count as usize;
        if count > PARTS_MAX {
            return None;
        }
        let parts = self.unfinished.entry(key).or_insert_with(|| Parts::new(count));
        let place = parts.parts.get_mut(fragment.index as usize)?;
        if place.is_some() {
            return None;
        }
        *place = Some(fragment.payload);
        parts.missing -= 1;
        parts.bytes += len;
        self.bytes += len as u64;
        if parts.missing > 0 {
            self.bound_unfinished();
            return None;
        }
        let parts = self.unfinished.remove(&key)?;
        let mut whole = BytesMut::with_capacity(parts.bytes);
        parts.parts.iter().flatten().for_each(|part| whole.extend_from_slice(part));
        Some(whole.freeze())
    }

    fn bound_unfinished(&mut self) {
        while self.unfinished.len() > UNFINISHED_MAX && self.give_up_oldest() {}
    }

    /// Gives up the oldest message that nobody repeats and that lacks parts. False: there is none.
    fn give_up_oldest(&mut self) -> bool {
        let oldest = self.unfinished.first_entry().filter(|entry| !entry.key().0);
        let Some(parts) = oldest.map(|entry| entry.remove()) else { return false };
        self.bytes -= parts.bytes as u64;
        true
    }

    fn hold(&mut self, turn: u64, message: Incoming) {
        let turns = self.turns.entry(message.stream).or_default();
        turns.held.insert(turn, message);
        while let Some(message) = turns.held.remove(&turns.next) {
            turns.next += 1;
            self.ready.push_back((true, message));
        }
    }
}

impl Parts {
    fn new(count: usize) -> Self {
        Self { parts: vec![None; count], missing: count, bytes: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PayloadId;

    const ARRIVAL: Arrival = Arrival { now: Time::ZERO, path: PathId(0), is_overtaken: false };

    fn fragment(message: u64, payload: &'static [u8]) -> Fragment {
        Fragment {
            stream: StreamId(1),
            payload_id: PayloadId(7),
            message,
            is_repeated: false,
            is_again: false,
            turn: None,
            index: 0,
            count: 1,
            payload: Bytes::from_static(payload),
        }
    }

    fn ordered(number: u64, payload: &'static [u8]) -> Fragment {
        Fragment { is_repeated: true, turn: Some(number), ..fragment(number, payload) }
    }

    fn read(inbox: &mut Inbox) -> Vec<Bytes> {
        std::iter::from_fn(|| inbox.pop()).map(|message| message.payload).collect()
    }

    #[test]
    fn parts_become_a_message_in_any_order() {
        let mut inbox = Inbox::new(1_000);
        let part = |index, payload| Fragment { index, count: 3, ..fragment(4, payload) };
        for part in [part(2, b"c"), part(0, b"a"), part(0, b"a"), part(1, b"b"), part(1, b"b")] {
            assert!(inbox.take(ARRIVAL, part));
        }
        assert_eq!(read(&mut inbox), ["abc"]);
        assert_eq!(inbox.bytes, 0);
    }

    #[test]
    fn what_comes_twice_is_read_once() {
        let mut inbox = Inbox::new(1_000);
        for _ in 0..2 {
            inbox.take(ARRIVAL, fragment(1, b"once"));
            inbox.take(ARRIVAL, ordered(0, b"repeated"));
        }
        assert_eq!(read(&mut inbox), ["once", "repeated"]);
    }

    #[test]
    fn ordered_messages_wait_for_their_turn_and_others_do_not() {
        let mut inbox = Inbox::new(1_000);
        inbox.take(ARRIVAL, ordered(1, b"second"));
        inbox.take(ARRIVAL, fragment(0, b"other"));
        assert_eq!(read(&mut inbox), ["other"]);
        inbox.take(ARRIVAL, ordered(0, b"first"));
        assert_eq!(read(&mut inbox), ["first", "second"]);
        assert_eq!(inbox.limit(), 1_000 + 11, "room follows the reader");
    }

    #[test]
    fn regression_messages_that_lack_parts_left_no_room_for_any_other() {
        let mut inbox = Inbox::new(1_000);
        let part = |n| Fragment { count: 2, ..fragment(n, &[0; 100]) };
        (0..500).for_each(|n| assert!(inbox.take(ARRIVAL, part(n)), "message {n}"));
        assert!(inbox.take(ARRIVAL, fragment(500, b"whole")));
        assert_eq!(read(&mut inbox), ["whole"]);
        assert!(inbox.take(ARRIVAL, Fragment { index: 1, ..part(499) }));
        assert_eq!(read(&mut inbox), [[0; 200].as_slice()], "the latest are kept");
    }

    #[test]
    fn what_nobody_reads_is_bounded() {
        let mut inbox = Inbox::new(1_000);
        let taken = (0..5_000).filter(|n| inbox.take(ARRIVAL, fragment(*n, &[0; 10]))).count();
        assert_eq!(taken, 100);
        assert!(inbox.take(ARRIVAL, ordered(0, b"there is room for what keeps to the limit")));
        let part = |n| Fragment { count: 2, ..fragment(n, b"x") };
        let mut inbox = Inbox::new(1 << 20);
        (0..5_000).for_each(|n| _ = inbox.take(ARRIVAL, part(n)));
        assert_eq!((inbox.unfinished.len(), inbox.bytes), (UNFINISHED_MAX, UNFINISHED_MAX as u64));
        assert!(inbox.take(ARRIVAL, Fragment { count: u32::MAX, ..fragment(9_000, b"x") }));
        assert!(inbox.unfinished.len() <= UNFINISHED_MAX);
    }
}
