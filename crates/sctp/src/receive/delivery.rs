//! [`DeliveryQueue`]: whole messages in the order that their streams promise.

use std::collections::{BTreeMap, VecDeque};

use anabranch_sansio::Time;
use anabranch_wire::{Ppid, Ssn, StreamId};
use bytes::Bytes;

use super::RECORD_OVERHEAD;
use super::reassembly::Complete;
use crate::path::PathId;
use crate::sequence::extend_ssn;

/// A message from the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingMessage {
    /// The stream it came on.
    pub stream: StreamId,
    /// The payload protocol identifier that the peer gave it.
    pub ppid: Ppid,
    /// Whether it was sent in order.
    pub ordered: bool,
    /// Its place among the ordered messages of its stream; a jump shows that the peer abandoned
    /// what lies between. Zero for unordered messages.
    pub ssn: Ssn,
    /// The bytes.
    pub payload: Bytes,
    /// When its last missing piece arrived.
    pub completed_at: Time,
    /// On which path that piece arrived.
    pub path: PathId,
    /// Whether data sent after that piece arrived before it: it was sent again or overtaken, and
    /// says nothing about how long its path takes.
    pub fills_gap: bool,
}

/// How the last missing piece of a message arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) at: Time,
    pub(super) path: PathId,
    pub(super) fills_gap: bool,
}

/// Messages ready for the user, and those that wait for an earlier one of their stream.
#[derive(Debug)]
pub(crate) struct DeliveryQueue {
    ready: VecDeque<IncomingMessage>,
    streams: BTreeMap<StreamId, InStream>,
    stream_count: u16,
    held: usize,
}

/// The reordering of one stream. SSNs are extended to 64 bits.
#[derive(Debug)]
struct InStream {
    next: u64,
    waiting: BTreeMap<u64, IncomingMessage>,
}

impl Default for InStream {
    /// The first SSN is 0; the second span of 2^16 leaves room for what is before it.
    fn default() -> Self {
        Self { next: 1 << 16, waiting: BTreeMap::new() }
    }
}

impl DeliveryQueue {
    pub(crate) const fn new(stream_count: u16) -> Self {
        Self { ready: VecDeque::new(), streams: BTreeMap::new(), stream_count, held: 0 }
    }

    /// Keeps the messages of `before` that wait for nothing but the user.
    pub(super) fn inherit(&mut self, before: Self) {
        for message in before.ready {
            self.held += message.payload.len() + RECORD_OVERHEAD;
            self.ready.push_back(message);
        }
    }

    pub(crate) const fn stream_count(&self) -> u16 {
        self.stream_count
    }

    pub(super) const fn set_stream_count(&mut self, stream_count: u16) {
        self.stream_count = stream_count;
    }

    /// Begins streams anew, which are listed in order; none stands for all. What was stranded there
    /// is delivered.
    ///
    /// RFC 6525 section 5.2.2, E3: "If no stream numbers are listed in the parameter, then all
    /// incoming streams MUST be reset to 0 as the next expected SSN."
    pub(super) fn reset(&mut self, streams: &[StreamId]) {
        let is_meant = |id: &StreamId| streams.is_empty() || streams.binary_search(id).is_ok();
        for (_, stream) in self.streams.extract_if(.., |id, _| is_meant(id)) {
            self.ready.extend(stream.waiting.into_values());
        }
    }

    /// Takes a whole message.
    ///
    /// RFC 9260 section 6.6: "Within a stream, an endpoint MUST deliver DATA chunks received with
    /// the U flag set to 0 to the upper layer according to the order of their Stream Sequence
    /// Number."
    pub(super) fn push(&mut self, completion: Completion, complete: Complete) {
        self.held += complete.payload.len() + RECORD_OVERHEAD;
        let message = IncomingMessage {
            stream: complete.stream,
            ppid: complete.ppid,
            ordered: !complete.unordered,
            ssn: complete.ssn,
            payload: Bytes::from(complete.payload),
            completed_at: completion.at,
            path: completion.path,
            fills_gap: completion.fills_gap,
        };
        if complete.unordered {
            self.ready.push_back(message);
            return;
        }
        let stream = self.streams.entry(complete.stream).or_default();
        let ssn = extend_ssn(stream.next, complete.ssn);
        if ssn == stream.next {
            stream.next += 1;
            self.ready.push_back(message);
            stream.release(&mut self.ready);
        } else if ssn > stream.next && !stream.waiting.contains_key(&ssn) {
            stream.waiting.insert(ssn, message);
        } else {
            // Its turn is over: the peer reused an SSN or abandoned what it then completed.
            self.held -= message.payload.len() + RECORD_OVERHEAD;
        }
    }

    /// The peer abandoned messages of a stream up to and including `ssn` (RFC 3758 section 3.6).
    pub(super) fn skip(&mut self, id: StreamId, ssn: Ssn) {
        if id.0 >= self.stream_count {
            return;
        }
        let stream = self.streams.entry(id).or_default();
        let next = extend_ssn(stream.next, ssn) + 1;
        if next <= stream.next {
            return;
        }
        let later = stream.waiting.split_off(&next);
        self.ready.extend(std::mem::replace(&mut stream.waiting, later).into_values());
        stream.next = next;
        stream.release(&mut self.ready);
    }

    pub(crate) fn pop(&mut self) -> Option<IncomingMessage> {
        let message = self.ready.pop_front()?;
        self.held -= message.payload.len() + RECORD_OVERHEAD;
        Some(message)
    }

    pub(crate) fn has_message(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) const fn held(&self) -> usize {
        self.held
    }
}

impl InStream {
    fn release(&mut self, ready: &mut VecDeque<IncomingMessage>) {
        while let Some(message) = self.waiting.remove(&self.next) {
            self.next += 1;
            ready.push_back(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETION: Completion = Completion { at: Time::ZERO, path: PathId(0), fills_gap: false };

    fn message(stream: u16, ssn: u16, unordered: bool) -> Complete {
        let (stream, ssn) = (StreamId(stream), Ssn(ssn));
        Complete { stream, ssn, ppid: Ppid(0), unordered, payload: vec![0; 10] }
    }

    fn drain(queue: &mut DeliveryQueue) -> Vec<(u16, u16)> {
        std::iter::from_fn(|| queue.pop())
            .map(|message| (message.stream.0, message.ssn.0))
            .collect()
    }

    #[test]
    fn a_stream_waits_for_its_own_gap_only() {
        let mut queue = DeliveryQueue::new(8);
        for (stream, ssn) in [(1, 1), (2, 0), (1, 2)] {
            queue.push(COMPLETION, message(stream, ssn, false));
        }
        queue.push(COMPLETION, message(1, 0, true));
        assert_eq!(drain(&mut queue), [(2, 0), (1, 0)], "stream 2, and the unordered message");
        queue.push(COMPLETION, message(1, 0, false));
        assert_eq!(drain(&mut queue), [(1, 0), (1, 1), (1, 2)]);
        assert_eq!(queue.held(), 0);
    }

    #[test]
    fn skipping_delivers_what_was_stranded_in_order() {
        let mut queue = DeliveryQueue::new(8);
        for ssn in [1, 3, 4] {
            queue.push(COMPLETION, message(1, ssn, false));
        }
        queue.skip(StreamId(1), Ssn(2));
        assert_eq!(drain(&mut queue), [(1, 1), (1, 3), (1, 4)]);
        queue.skip(StreamId(1), Ssn(0));
        queue.push(COMPLETION, message(1, 5, false));
        assert_eq!(drain(&mut queue), [(1, 5)], "an old skip changes nothing");
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut queue = DeliveryQueue::new(1);
        for step in 0..70_000_u32 {
            queue.push(COMPLETION, message(0, step as u16, false));
            assert_eq!(drain(&mut queue).len(), 1, "message {step}");
        }
    }

    #[test]
    fn what_comes_after_its_turn_is_dropped_and_not_held() {
        let mut queue = DeliveryQueue::new(1);
        queue.skip(StreamId(0), Ssn(4));
        queue.push(COMPLETION, message(0, 3, false));
        assert_eq!((drain(&mut queue).len(), queue.held()), (0, 0));
    }
}
