//! [`Queue`]: messages that wait to be sent, by stream.

use std::collections::{BTreeMap, VecDeque};

use anabranch_sansio::Time;

use super::frame::Fragment;
use crate::{Outgoing, PathPreference, Reliability, StreamId, StreamStats};

/// What a waiting message costs beside its bytes.
const MESSAGE_OVERHEAD: usize = 64;

/// Messages that wait to be sent, by stream: the stream of the highest priority goes first, equal
/// ones in turn, and a message that was begun before all of its priority.
#[derive(Debug)]
pub(super) struct Queue {
    streams: BTreeMap<StreamId, Stream>,
    limit: usize,
    /// What waits, with what it costs.
    cost: usize,
    bytes: usize,
    /// Whether a message was refused since there was no room.
    was_full: bool,
    /// The stream that had the last turn.
    last: StreamId,
    /// The numbers of the next messages: those that are sent once, and those that are repeated.
    next: [u64; 2],
    /// Bytes of repeated messages that were begun, and how many the peer takes.
    begun: u64,
    pub(super) peer_limit: u64,
}

#[derive(Debug, Default)]
struct Stream {
    priority: u16,
    waiting: VecDeque<Waiting>,
    next_turn: u64,
    stats: StreamStats,
}

#[derive(Debug)]
struct Waiting {
    message: Outgoing,
    /// When it is given up unless it was begun.
    deadline: Option<Time>,
    begun: Option<Begun>,
}

/// What became of a message when its first part was sent.
#[derive(Debug, Clone, Copy)]
struct Begun {
    number: u64,
    turn: Option<u64>,
    /// Bytes of each part but the last.
    len: usize,
    next: u32,
    count: u32,
}

impl Queue {
    pub(super) fn new(limit: usize, peer_limit: u64) -> Self {
        Self {
            streams: BTreeMap::new(),
            limit,
            cost: 0,
            bytes: 0,
            was_full: false,
            last: StreamId(0),
            next: [0; 2],
            begun: 0,
            peer_limit,
        }
    }

    pub(super) fn set_priority(&mut self, stream: StreamId, priority: u16) {
        self.streams.entry(stream).or_default().priority = priority;
    }

    /// False: there is no room.
    pub(super) fn push(&mut self, now: Time, message: Outgoing) -> bool {
        if self.cost > 0 && self.cost + cost(&message) > self.limit {
            self.was_full = true;
            return false;
        }
        self.cost += cost(&message);
        self.bytes += message.payload.len();
        let deadline = match message.reliability {
            Reliability::Lifetime(lifetime) => Some(now + lifetime),
            Reliability::Reliable | Reliability::MaxRetransmissions(_) => None,
        };
        let stream = self.streams.entry(message.stream).or_default();
        stream.stats.messages_queued += 1;
        stream.stats.bytes_queued += message.payload.len() as u64;
        stream.waiting.push_back(Waiting { message, deadline, begun: None });
        true
    }

    /// Whether there is room again after a message was refused. Said once.
    pub(super) fn take_writable(&mut self) -> bool {
        let is_writable = self.was_full && self.cost <= self.limit / 2;
        self.was_full &= !is_writable;
        is_writable
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.cost == 0
    }

    /// Payload bytes that wait.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn bytes_at(&self, priority: u16) -> usize {
        let streams = self.streams.values().filter(|stream| stream.priority <= priority);
        streams.flat_map(|stream| &stream.waiting).map(Waiting::rest).sum()
    }

    pub(super) fn stats(&self, stream: StreamId) -> StreamStats {
        self.streams.get(&stream).map(|stream| stream.stats).unwrap_or_default()
    }

    pub(super) fn stats_mut(&mut self, stream: StreamId) -> &mut StreamStats {
        &mut self.streams.entry(stream).or_default().stats
    }

    /// Gives up what waited for too long.
    pub(super) fn expire(&mut self, now: Time) {
        let Self { streams, cost: total, bytes, .. } = self;
        for stream in streams.values_mut() {
            let Stream { waiting, stats, .. } = stream;
            waiting.retain(|one| {
                let is_over = one.begun.is_none() && one.deadline.is_some_and(|at| at < now);
                if is_over {
                    stats.abandoned_unsent += 1;
                    *total -= cost(&one.message);
                    *bytes -= one.message.payload.len();
                }
                !is_over
            });
        }
    }

    /// Which path the next message would rather take; `None` if none may go now.
    pub(super) fn preference(&self) -> Option<PathPreference> {
        let stream = self.streams.get(&self.turn_of()?)?;
        Some(stream.waiting.front()?.message.path)
    }

    /// Takes the next message or part of one, of at most `len_max` bytes.
    pub(super) fn pop(&mut self, len_max: usize) -> Option<Fragment> {
        let id = self.turn_of()?;
        let stream = self.streams.get_mut(&id)?;
        let waiting = stream.waiting.front_mut()?;
        let message = &waiting.message;
        let is_repeated = repeats(message);
        let begun = waiting.begun.get_or_insert_with(|| {
            let next = &mut self.next[usize::from(is_repeated)];
            let number = *next;
            *next += 1;
            if is_repeated {
                self.begun += message.payload.len() as u64;
            }
            let turn = (is_repeated && message.ordered).then(|| {
                stream.next_turn += 1;
                stream.next_turn - 1
            });
            let count = message.payload.len().div_ceil(len_max.max(1)).max(1);
            Begun { number, turn, len: len_max.max(1), next: 0, count: count as u32 }
        });
        let from = begun.len * begun.next as usize;
        let to = (from + begun.len).min(message.payload.len());
        let fragment = Fragment {
            stream: id,
            payload_id: message.payload_id,
            message: begun.number,
            is_repeated,
            is_again: false,
            turn: begun.turn,
            index: begun.next,
            count: begun.count,
            payload: message.payload.slice(from..to),
        };
        begun.next += 1;
        self.bytes -= to - from;
        stream.stats.bytes_sent += (to - from) as u64;
        if begun.next == begun.count {
            stream.stats.messages_sent += 1;
            self.cost -= cost(message);
            stream.waiting.pop_front();
            self.last = id;
        }
        Some(fragment)
    }

    /// The bytes of the next fragment, if one may go now.
    pub(super) fn next_len(&self, len_max: usize) -> Option<usize> {
        let stream = self.streams.get(&self.turn_of()?)?;
        let waiting = stream.waiting.front()?;
        Some(waiting.rest().min(waiting.begun.map_or(len_max, |begun| begun.len)))
    }

    /// The stream whose turn it is.
    fn turn_of(&self) -> Option<StreamId> {
        let ready = self.streams.iter().filter_map(|(id, stream)| {
            let first = stream.waiting.front().filter(|first| self.may_go(first))?;
            let had_last_turn = *id <= self.last;
            Some((stream.priority, first.begun.is_none(), had_last_turn, *id))
        });
        ready.min().map(|(.., id)| id)
    }

    /// Bytes of repeated messages that the peer takes now.
    pub(super) const fn peer_room(&self) -> u64 {
        self.peer_limit.saturating_sub(self.begun)
    }

    /// Whether the peer has room for it.
    fn may_go(&self, waiting: &Waiting) -> bool {
        let len = waiting.message.payload.len() as u64;
        let is_free = waiting.begun.is_some() || !repeats(&waiting.message);
        is_free || self.begun + len <= self.peer_limit
    }
}

impl Waiting {
    /// Payload bytes that were not sent.
    fn rest(&self) -> usize {
        let sent = self.begun.map_or(0, |begun| begun.len * begun.next as usize);
        self.message.payload.len().saturating_sub(sent)
    }
}

/// Whether a message is sent until it is acknowledged.
const fn repeats(message: &Outgoing) -> bool {
    matches!(message.reliability, Reliability::Reliable)
}

fn cost(message: &Outgoing) -> usize {
    message.payload.len() + MESSAGE_OVERHEAD
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::*;
    use crate::PayloadId;

    fn queue() -> Queue {
        let mut queue = Queue::new(10_000, 1_000);
        queue.set_priority(StreamId(0), 0);
        queue.set_priority(StreamId(1), 1);
        queue.set_priority(StreamId(2), 1);
        queue
    }

    fn message(stream: u16, len: usize) -> Outgoing {
        let lifetime = Reliability::Lifetime(Duration::from_millis(100));
        let payload = Bytes::from(vec![stream as u8; len]);
        let message = Outgoing::new(StreamId(stream), PayloadId(0), payload);
        Outgoing { reliability: lifetime, ..message }
    }

    fn reliable(stream: u16, len: usize) -> Outgoing {
        Outgoing { reliability: Reliability::Reliable, ..message(stream, len) }
    }

    fn streams(queue: &mut Queue) -> Vec<u16> {
        std::iter::from_fn(|| queue.pop(100)).map(|fragment| fragment.stream.0).collect()
    }

    #[test]
    fn the_highest_priority_goes_first_and_equal_ones_in_turn() {
        let mut queue = queue();
        for stream in [1, 1, 2, 2, 0] {
            assert!(queue.push(Time::ZERO, message(stream, 10)));
        }
        assert_eq!((queue.bytes_at(0), queue.bytes_at(1)), (10, 50));
        assert_eq!(streams(&mut queue), [0, 1, 2, 1, 2]);
        assert!(queue.is_empty() && queue.bytes() == 0);
    }

    #[test]
    fn a_long_message_is_cut_and_sent_to_its_end() {
        let mut queue = queue();
        queue.push(Time::ZERO, message(2, 250));
        queue.pop(100);
        queue.push(Time::ZERO, message(1, 10));
        let part = queue.pop(60).unwrap();
        assert_eq!((part.index, part.count, part.payload.len()), (1, 3, 100));
        assert_eq!(queue.pop(100).unwrap().payload.len(), 50);
        assert_eq!(queue.pop(100).unwrap().stream, StreamId(1));
        assert_eq!(queue.stats(StreamId(2)).bytes_sent, 250);
    }

    #[test]
    fn what_waited_too_long_is_given_up_unless_it_was_begun() {
        let mut queue = queue();
        queue.push(Time::ZERO, message(1, 150));
        queue.push(Time::ZERO, message(1, 10));
        queue.push(Time::ZERO, reliable(1, 10));
        queue.pop(100);
        queue.expire(Time::from_millis(101));
        assert_eq!(queue.stats(StreamId(1)).abandoned_unsent, 1);
        assert_eq!(streams(&mut queue).len(), 2);
    }

    #[test]
    fn what_is_repeated_waits_for_the_peers_room_and_holds_up_nothing_else() {
        let mut queue = queue();
        queue.push(Time::ZERO, reliable(1, 1_001));
        queue.push(Time::ZERO, message(1, 10));
        queue.push(Time::ZERO, message(2, 10));
        assert_eq!(streams(&mut queue), [2], "of its own stream it does");
        queue.peer_limit = 1_001;
        assert_eq!(streams(&mut queue).len(), 12);
    }

    #[test]
    fn a_queue_that_was_full_says_when_half_of_it_is_free() {
        let mut queue = queue();
        while queue.push(Time::ZERO, message(1, 936)) {}
        assert_eq!(queue.bytes(), 9_360);
        queue.pop(1_000);
        assert!(!queue.take_writable());
        while queue.bytes() > 4_700 {
            queue.pop(1_000);
        }
        assert!(queue.take_writable() && !queue.take_writable());
    }
}
