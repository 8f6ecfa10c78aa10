//! [`MessageQueue`]: messages that have no TSNs yet.

mod interleaving;
mod keys;
mod reset;

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{Fsn, Level, Mid, Ppid, StreamId};
use bytes::Bytes;

use super::chunk::Occasion;
use super::error::SendError;
use super::message::{
    Abandonment, Fragment, OutgoingMessage, PathPreference, Reliability, SendFailure, Undelivered,
};
use super::scheduler::{StreamScheduler, StreamSchedulerFactory};
use super::skips::later;
use crate::stats::StreamStats;
pub(crate) use interleaving::Interleaving;
use keys::KeyGate;

/// What one queued message costs beside its bytes, so that a flood of tiny ones is bounded too.
const MESSAGE_OVERHEAD: usize = 64;

/// The messages of all streams that wait to be sent.
#[derive(Debug)]
pub(crate) struct MessageQueue {
    streams: Vec<OutStream>,
    scheduler: Box<dyn StreamScheduler>,
    /// The streams in the middle of a message. Without interleaving there is one at most: the
    /// fragments of a message then have consecutive TSNs.
    begun: Vec<StreamId>,
    /// How messages of different streams interleave, if they do (RFC 8260).
    interleaving: Option<Interleaving>,
    gate: KeyGate,
    /// Bytes that wait, overhead included.
    queued: usize,
    limit: usize,
    message_size_max: usize,
    /// The counters of streams that the peer does not accept.
    gone: StreamStats,
    /// Whether the user was refused and waits for room.
    refused: bool,
    /// Messages with a context that were dropped since the last call of
    /// [`take_undelivered`](Self::take_undelivered).
    undelivered: Vec<Undelivered>,
}

#[derive(Debug, Default)]
struct OutStream {
    waiting: VecDeque<Waiting>,
    /// What waits for the stream to be reset, while it is to be.
    held: Option<Box<reset::Held>>,
    next_ordered: u32,
    next_unordered: u32,
    priority: u16,
    /// Payload bytes of `waiting`.
    queued: usize,
    stats: StreamStats,
}

/// The first message of a stream, which looks for a path.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) preference: PathPreference,
    pub(crate) expires: Option<Time>,
    priority: u16,
    message: &'a Waiting,
    streams: &'a [OutStream],
}

impl Head<'_> {
    /// Whether it goes ahead of what is sent again, where anything does.
    pub(crate) fn is_urgent(&self) -> bool {
        self.message.level == Level::Urgent
    }

    /// Payload bytes that wait and are as urgent as this message, itself included.
    pub(crate) fn backlog(&self) -> usize {
        let urgent = self.streams.iter().filter(|stream| stream.priority <= self.priority);
        urgent.map(|stream| stream.queued).sum()
    }
}

/// A message that waits, or what is left of it.
#[derive(Debug)]
struct Waiting {
    payload: Bytes,
    ppid: Ppid,
    ordered: bool,
    /// The bytes that it had when it was handed over.
    len: usize,
    /// The number of its next fragment.
    next_fsn: u32,
    expires: Option<Time>,
    max_retransmissions: Option<u32>,
    preference: PathPreference,
    level: Level,
    sack_immediately: bool,
    context: Option<u64>,
    /// Whether it is about keys, and waits for none.
    is_about_keys: bool,
}

impl Waiting {
    fn is_expired(&self, now: Time) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    const fn is_begun(&self) -> bool {
        self.next_fsn > 0
    }

    const fn may_be_given_up(&self) -> bool {
        self.expires.is_some() || self.max_retransmissions.is_some()
    }

    fn cost(&self) -> usize {
        self.payload.len() + MESSAGE_OVERHEAD
    }

    /// What there is to report, if it is not delivered.
    fn undelivered(&self, stream: StreamId, why: SendFailure) -> Option<Undelivered> {
        let context = self.context?;
        Some(Undelivered { context, stream, was_sent: self.is_begun(), why })
    }
}

impl MessageQueue {
    pub(crate) fn new(
        streams: u16,
        limit: usize,
        message_size_max: usize,
        scheduler: &dyn StreamSchedulerFactory,
    ) -> Self {
        let mut queue = Self {
            streams: Vec::new(),
            scheduler: scheduler.build(),
            begun: Vec::new(),
            interleaving: None,
            gate: KeyGate::default(),
            queued: 0,
            limit,
            message_size_max,
            gone: StreamStats::default(),
            refused: false,
            undelivered: Vec::new(),
        };
        queue.streams.resize_with(usize::from(streams.max(1)), OutStream::default);
        queue
    }

    /// Keeps only the streams that the peer accepts.
    ///
    /// RFC 9260 section 5.1.1: "If the peer's MIS is less than the endpoint's OS ..., the endpoint
    /// MUST use MIS outbound streams and MAY report any shortage to the upper layer."
    pub(crate) fn limit_streams(&mut self, count: u16) {
        for index in usize::from(count.max(1))..self.streams.len() {
            let stream = &mut self.streams[index];
            let id = StreamId(index as u16);
            self.gone.add(&stream.stats);
            self.gone.abandoned_unsent += stream.waiting.len() as u64;
            for message in stream.waiting.drain(..) {
                self.queued -= message.cost();
                self.undelivered.extend(message.undelivered(id, SendFailure::NoSuchStream));
            }
            self.scheduler.deactivate(id, stream.priority);
        }
        self.streams.truncate(usize::from(count.max(1)));
        self.begun.retain(|stream| stream.0 < count.max(1));
    }

    /// Adds streams behind the last one, as far as they can be told apart.
    ///
    /// RFC 6525 section 5.1.5: "A new stream MUST use SSN 0 for its first ordered message."
    pub(crate) fn add_streams(&mut self, count: u16) {
        let total = self.stream_count().saturating_add(count);
        self.streams.resize_with(usize::from(total), OutStream::default);
    }

    /// Starts the streams' sequence numbers anew, as a restarted peer expects them. A message that
    /// was begun is lost with the association that knew its beginning.
    pub(crate) fn restart(&mut self) {
        for stream in std::mem::take(&mut self.begun) {
            self.report_head(stream, SendFailure::Restarted);
            self.drop_head(stream);
        }
        for index in 0..self.streams.len() {
            self.end_reset(StreamId(index as u16), true);
        }
    }

    /// Takes a message.
    pub(crate) fn push(&mut self, now: Time, message: OutgoingMessage) -> Result<(), SendError> {
        let len = message.payload.len();
        if len == 0 {
            return Err(SendError::Empty);
        }
        if len > self.message_size_max {
            return Err(SendError::TooLarge { len, limit: self.message_size_max });
        }
        if usize::from(message.stream.0) >= self.streams.len() {
            let last = (self.streams.len() - 1) as u16;
            return Err(SendError::InvalidStream { stream: message.stream.0, last });
        }
        let cost = len + MESSAGE_OVERHEAD;
        if self.queued + cost > self.limit {
            self.drop_expired(now);
        }
        if self.queued > 0 && self.queued + cost > self.limit {
            self.refused = true;
            let (queued, limit, message) = (self.queued, self.limit, Box::new(message));
            return Err(SendError::BufferFull { queued, limit, message });
        }
        self.accept(now, message);
        Ok(())
    }

    fn accept(&mut self, now: Time, message: OutgoingMessage) {
        let (expires, max_retransmissions) = match message.reliability {
            Reliability::Reliable => (None, None),
            Reliability::Lifetime(lifetime) => (Some(now + lifetime), None),
            Reliability::MaxRetransmissions(max) => (None, Some(max)),
        };
        let waiting = Waiting {
            len: message.payload.len(),
            payload: message.payload,
            ppid: message.ppid,
            ordered: message.ordered,
            next_fsn: 0,
            expires,
            max_retransmissions,
            preference: message.path,
            level: message.level,
            sack_immediately: message.sack_immediately,
            context: message.context,
            is_about_keys: false,
        };
        self.queued += waiting.cost();
        let stream = &mut self.streams[usize::from(message.stream.0)];
        stream.stats.messages_queued += 1;
        stream.stats.bytes_queued += waiting.payload.len() as u64;
        stream.queued += waiting.payload.len();
        if let Some(held) = &mut stream.held {
            return held.push_back(waiting);
        }
        stream.waiting.push_back(waiting);
        if stream.waiting.len() == 1 {
            self.scheduler.activate(message.stream, stream.priority);
        }
    }

    /// The stream whose message is sent next among those that `eligible` accepts, with the bytes
    /// that are left of it. Messages that expired in the queue, or would expire in the middle of
    /// being sent, are dropped on the way.
    pub(crate) fn next(
        &mut self,
        now: Time,
        mut eligible: impl FnMut(&Head<'_>) -> bool,
        time_to_send: impl Fn(&Head<'_>, usize) -> Duration,
    ) -> Option<(StreamId, usize)> {
        if self.interleaving.is_none()
            && let Some(&stream) = self.begun.first()
        {
            let left = self.first_waiting(stream)?.payload.len();
            return self.head(stream).filter(|head| eligible(head)).map(|_| (stream, left));
        }
        loop {
            let is_expired = |head: &Head<'_>| head.expires.is_some_and(|at| at <= now);
            let stream = self.scheduler.next(&mut |id| {
                self.head(id).is_some_and(|head| match head.message.is_begun() {
                    true => eligible(&head),
                    false => is_expired(&head) || (self.may_begin(head.message) && eligible(&head)),
                })
            })?;
            let first = self.first_waiting(stream)?;
            let len = first.payload.len();
            if first.is_begun() {
                return Some((stream, len));
            }
            let time = self.head(stream).map_or(Duration::ZERO, |head| time_to_send(&head, len));
            let is_hopeless = first.expires.is_some_and(|at| at <= now + time);
            if !is_hopeless {
                return Some((stream, len));
            }
            self.abandon_head(stream);
        }
    }

    /// Takes the next piece of at most `room` payload bytes of a stream's first message.
    #[inline]
    pub(crate) fn take(&mut self, stream: StreamId, room: usize) -> Option<Fragment> {
        let out = &mut self.streams[usize::from(stream.0)];
        let head = out.waiting.front_mut()?;
        let payload = head.payload.split_to(room.min(head.payload.len()));
        let fragment = Fragment {
            stream,
            mid: Mid(if head.ordered { out.next_ordered } else { out.next_unordered }),
            fsn: Fsn(head.next_fsn),
            ppid: head.ppid,
            unordered: !head.ordered,
            beginning: !head.is_begun(),
            ending: head.payload.is_empty(),
            expires: head.expires,
            max_retransmissions: head.max_retransmissions,
            preference: head.preference,
            level: head.level,
            sack_immediately: head.sack_immediately,
            context: head.context,
            payload,
        };
        head.next_fsn += 1;
        out.queued -= fragment.payload.len();
        self.queued -= fragment.payload.len();
        if fragment.ending {
            // RFC 8260 section 2.1: "The sender uses two counters for each outgoing stream: one for
            // ordered messages and one for unordered messages."
            let counter =
                if head.ordered { &mut out.next_ordered } else { &mut out.next_unordered };
            *counter = counter.wrapping_add(1);
            out.stats.messages_sent += 1;
            self.drop_head(stream);
            return Some(fragment);
        }
        if fragment.beginning {
            self.begun.push(stream);
        }
        if self.interleaving.is_some() {
            self.scheduler.served(stream, out.priority, false);
        }
        Some(fragment)
    }

    /// The ordered messages of a stream up to `last` are skipped, none of which was begun. Returns
    /// whether there are any.
    pub(crate) fn skip_ordered(&mut self, stream: StreamId, last: Mid) -> bool {
        let Some(out) = self.streams.get_mut(usize::from(stream.0)) else { return false };
        let next = later(Mid(out.next_ordered), Mid(last.0.wrapping_add(1))).0;
        std::mem::replace(&mut out.next_ordered, next) != next
    }

    /// Takes all that is left of the message of a stream that was begun.
    pub(crate) fn take_rest(&mut self, stream: StreamId) -> Option<Fragment> {
        self.first_waiting(stream).filter(|message| message.is_begun())?;
        let rest = self.take(stream, usize::MAX)?;
        // It was taken, but not sent.
        self.streams[usize::from(stream.0)].stats.messages_sent -= 1;
        Some(rest)
    }

    /// A chunk of a stream went out.
    pub(crate) fn count_sent(&mut self, id: StreamId, len: usize, occasion: Occasion) {
        let Some(stream) = self.streams.get_mut(usize::from(id.0)) else { return };
        let stats = &mut stream.stats;
        let (chunks, bytes) = match occasion {
            Occasion::New => (&mut stats.chunks_sent, &mut stats.bytes_sent),
            Occasion::Again => (&mut stats.chunks_retransmitted, &mut stats.bytes_retransmitted),
            Occasion::Copy => (&mut stats.chunks_copied, &mut stats.bytes_copied),
        };
        *chunks += 1;
        *bytes += len as u64;
    }

    /// A stream in the middle of a message that has outlived its lifetime.
    pub(crate) fn expired_in_the_middle(&self, now: Time) -> Option<StreamId> {
        let is_expired =
            |id: &StreamId| self.first_waiting(*id).is_some_and(|message| message.is_expired(now));
        self.begun.iter().copied().find(is_expired)
    }

    pub(crate) fn set_priority(&mut self, id: StreamId, priority: u16) -> bool {
        let Some(stream) = self.streams.get_mut(usize::from(id.0)) else { return false };
        if stream.waiting.is_empty() {
            stream.priority = priority;
            return true;
        }
        self.scheduler.deactivate(id, stream.priority);
        stream.priority = priority;
        self.scheduler.activate(id, priority);
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// Bytes that wait, with what they cost beside.
    pub(crate) const fn queued(&self) -> usize {
        self.queued
    }

    /// Payload bytes that wait in streams of this priority.
    pub(crate) fn queued_at(&self, priority: u16) -> usize {
        let alike = self.streams.iter().filter(|stream| stream.priority == priority);
        alike.map(|stream| stream.queued).sum()
    }

    /// True once after a refusal, as soon as half the queue is free.
    pub(crate) fn became_writable(&mut self) -> bool {
        let writable = self.refused && self.queued <= self.limit / 2;
        if writable {
            self.refused = false;
        }
        writable
    }

    pub(crate) fn stream_stats(&self, id: StreamId) -> Option<&StreamStats> {
        self.streams.get(usize::from(id.0)).map(|stream| &stream.stats)
    }

    /// The counters of all streams added up.
    pub(crate) fn totals(&self) -> StreamStats {
        let mut totals = self.gone;
        self.streams.iter().for_each(|stream| totals.add(&stream.stats));
        totals
    }

    pub(crate) fn stream_count(&self) -> u16 {
        self.streams.len() as u16
    }

    /// Records that a message of the stream was given up after its first fragment was sent.
    pub(crate) fn count_abandoned(&mut self, id: StreamId, why: Abandonment) {
        let Some(stream) = self.streams.get_mut(usize::from(id.0)) else { return };
        let stats = &mut stream.stats;
        match why {
            Abandonment::Expired => stats.abandoned_expired += 1,
            Abandonment::Retransmissions => stats.abandoned_retransmissions += 1,
        }
    }

    /// Drops every message that expired while it waited, wherever it stands.
    fn drop_expired(&mut self, now: Time) {
        for (index, stream) in self.streams.iter_mut().enumerate() {
            let before = stream.waiting.len();
            let mut freed = 0;
            let undelivered = &mut self.undelivered;
            let id = StreamId(index as u16);
            stream.waiting.retain(|message| {
                let drop = !message.is_begun() && message.is_expired(now);
                if drop {
                    freed += message.cost();
                    undelivered.extend(message.undelivered(id, SendFailure::Expired));
                }
                !drop
            });
            let dropped = before - stream.waiting.len();
            stream.stats.abandoned_unsent += dropped as u64;
            stream.queued -= freed - dropped * MESSAGE_OVERHEAD;
            self.queued -= freed;
            if before > 0 && stream.waiting.is_empty() {
                self.scheduler.deactivate(id, stream.priority);
            }
        }
    }

    /// Ends the life of what waits on a stream and is not reliable.
    pub(crate) fn withdraw(&mut self, now: Time, id: StreamId) {
        let Some(stream) = self.streams.get_mut(usize::from(id.0)) else { return };
        for message in stream.waiting.iter_mut().filter(|message| message.may_be_given_up()) {
            message.expires = Some(message.expires.map_or(now, |expires| expires.min(now)));
        }
        self.drop_expired(now);
    }

    fn abandon_head(&mut self, stream: StreamId) {
        self.streams[usize::from(stream.0)].stats.abandoned_unsent += 1;
        self.report_head(stream, SendFailure::Expired);
        self.drop_head(stream);
    }

    fn report_head(&mut self, stream: StreamId, why: SendFailure) {
        let undelivered = self.first_waiting(stream).and_then(|head| head.undelivered(stream, why));
        self.undelivered.extend(undelivered);
    }

    /// Whether there is something to [take](Self::take_undelivered).
    pub(crate) const fn has_undelivered(&self) -> bool {
        !self.undelivered.is_empty()
    }

    /// The messages with a context that were dropped since the last call.
    pub(crate) fn take_undelivered(&mut self) -> Vec<Undelivered> {
        std::mem::take(&mut self.undelivered)
    }

    /// Nothing that waits will be sent any more.
    pub(crate) fn end(&mut self) {
        for (index, stream) in self.streams.iter_mut().enumerate() {
            let id = StreamId(index as u16);
            let held = stream.held.iter_mut().flat_map(|held| held.iter_mut());
            for message in stream.waiting.iter_mut().chain(held) {
                self.undelivered.extend(message.undelivered(id, SendFailure::Closed));
                message.context = None;
            }
        }
    }

    /// Removes the first message of a stream and gives the next stream its turn.
    fn drop_head(&mut self, stream: StreamId) {
        let out = &mut self.streams[usize::from(stream.0)];
        let Some(message) = out.waiting.pop_front() else { return };
        out.queued -= message.payload.len();
        self.queued -= message.cost();
        if message.is_about_keys {
            self.gate.note_sent();
        }
        if message.is_begun() {
            self.begun.retain(|begun| *begun != stream);
        }
        if out.waiting.is_empty() {
            self.scheduler.deactivate(stream, out.priority);
        } else {
            self.scheduler.served(stream, out.priority, true);
        }
    }

    fn first_waiting(&self, stream: StreamId) -> Option<&Waiting> {
        self.streams.get(usize::from(stream.0))?.waiting.front()
    }

    /// Whether a message waits that goes ahead of what is sent again, where anything does.
    pub(crate) fn has_urgent(&self) -> bool {
        let mut heads = self.streams.iter().filter_map(|stream| stream.waiting.front());
        heads.any(|message| message.level == Level::Urgent)
    }

    fn head(&self, stream: StreamId) -> Option<Head<'_>> {
        let out = self.streams.get(usize::from(stream.0))?;
        out.waiting.front().map(|message| Head {
            preference: message.preference,
            expires: message.expires,
            priority: out.priority,
            message,
            streams: &self.streams,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send::SchedulerKind;

    fn queue() -> MessageQueue {
        MessageQueue::new(4, 10_000, 5_000, &SchedulerKind::Priority)
    }

    fn message(stream: u16, len: usize) -> OutgoingMessage {
        OutgoingMessage::new(StreamId(stream), Bytes::from(vec![7; len]))
    }

    fn take_next(queue: &mut MessageQueue, now: Time, room: usize) -> Option<Fragment> {
        let (stream, _) = queue.next(now, |_| true, |_, _| Duration::ZERO)?;
        queue.take(stream, room)
    }

    #[test]
    fn a_message_is_cut_into_fragments_that_stay_together() {
        let mut queue = queue();
        queue.push(Time::ZERO, message(0, 2_500)).unwrap();
        queue.push(Time::ZERO, message(1, 10)).unwrap();
        queue.set_priority(StreamId(1), 0);
        let pieces: Vec<_> = std::iter::from_fn(|| take_next(&mut queue, Time::ZERO, 1_000))
            .map(|piece| (piece.stream.0, piece.payload.len(), piece.beginning, piece.ending))
            .collect();
        let expected = [
            (0, 1_000, true, false),
            (0, 1_000, false, false),
            (0, 500, false, true),
            (1, 10, true, true),
        ];
        assert_eq!(pieces, expected);
        assert!(queue.is_empty());
    }

    #[test]
    fn ordered_and_unordered_messages_count_up_apart() {
        let mut queue = queue();
        for ordered in [true, false, true, false] {
            queue.push(Time::ZERO, OutgoingMessage { ordered, ..message(2, 5) }).unwrap();
        }
        let mids: Vec<_> = std::iter::from_fn(|| take_next(&mut queue, Time::ZERO, 100))
            .map(|piece| (piece.mid.0, piece.unordered))
            .collect();
        assert_eq!(mids, [(0, false), (0, true), (1, false), (1, true)]);
    }

    #[test]
    fn the_backlog_of_a_message_is_what_waits_and_is_as_urgent() {
        let mut queue = queue();
        for (stream, priority, len) in [(0, 2, 1_000), (1, 1, 200), (2, 0, 30), (3, 1, 4)] {
            queue.set_priority(StreamId(stream), priority);
            queue.push(Time::ZERO, message(stream, len)).unwrap();
        }
        let backlogs = |queue: &MessageQueue| {
            [0, 1, 2].map(|stream| queue.head(StreamId(stream)).unwrap().backlog())
        };
        assert_eq!(backlogs(&queue), [1_234, 234, 30]);
        take_next(&mut queue, Time::ZERO, 20);
        assert_eq!(backlogs(&queue), [1_214, 214, 10]);
    }

    #[test]
    fn a_message_that_expired_in_the_queue_is_never_sent_and_takes_no_number() {
        let mut queue = queue();
        let reliability = Reliability::Lifetime(Duration::from_millis(50));
        queue.push(Time::ZERO, OutgoingMessage { reliability, ..message(0, 5) }).unwrap();
        queue.push(Time::ZERO, message(0, 6)).unwrap();
        let piece = take_next(&mut queue, Time::from_millis(50), 100).unwrap();
        assert_eq!((piece.mid, piece.payload.len()), (Mid(0), 6));
        assert_eq!(queue.stream_stats(StreamId(0)).unwrap().abandoned_unsent, 1);
    }

    #[test]
    fn a_full_queue_refuses_then_says_when_it_is_half_empty() {
        let mut queue = queue();
        queue.push(Time::ZERO, message(0, 5_000)).unwrap();
        queue.push(Time::ZERO, message(0, 4_500)).unwrap();
        let refusal = queue.push(Time::ZERO, message(0, 900));
        assert!(matches!(refusal, Err(SendError::BufferFull { limit: 10_000, .. })));
        assert!(!queue.became_writable());
        take_next(&mut queue, Time::ZERO, 5_000);
        assert!(queue.became_writable());
        assert!(!queue.became_writable(), "said once");
    }

    #[test]
    fn a_full_queue_makes_room_by_dropping_what_expired() {
        let mut queue = queue();
        let reliability = Reliability::Lifetime(Duration::from_millis(50));
        queue.push(Time::ZERO, message(1, 1_000)).unwrap();
        queue.push(Time::ZERO, OutgoingMessage { reliability, ..message(1, 5_000) }).unwrap();
        queue.push(Time::from_millis(60), message(1, 5_000)).unwrap();
        assert_eq!(queue.stream_stats(StreamId(1)).unwrap().abandoned_unsent, 1);
    }

    #[test]
    fn bad_messages_are_refused_with_the_numbers() {
        let mut queue = queue();
        let refused =
            |queue: &mut MessageQueue, message| queue.push(Time::ZERO, message).unwrap_err();
        assert_eq!(refused(&mut queue, message(0, 0)), SendError::Empty);
        let too_large = SendError::TooLarge { len: 5_001, limit: 5_000 };
        assert_eq!(refused(&mut queue, message(0, 5_001)), too_large);
        let no_stream = SendError::InvalidStream { stream: 4, last: 3 };
        assert_eq!(refused(&mut queue, message(4, 1)), no_stream);
    }

    #[test]
    fn taking_the_rest_of_a_begun_message_uses_up_its_number() {
        let mut queue = queue();
        queue.push(Time::ZERO, message(0, 2_000)).unwrap();
        queue.push(Time::ZERO, message(0, 7)).unwrap();
        take_next(&mut queue, Time::ZERO, 500);
        let rest = queue.take_rest(StreamId(0)).unwrap();
        assert_eq!((rest.mid, rest.payload.len(), rest.ending), (Mid(0), 1_500, true));
        let piece = take_next(&mut queue, Time::ZERO, 500).unwrap();
        assert_eq!((piece.mid, piece.payload.len(), piece.beginning), (Mid(1), 7, true));
        assert!(queue.is_empty());
    }
}
