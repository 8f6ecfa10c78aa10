//! Which messages may be begun while others are unfinished (RFC 8260).

use super::{MessageQueue, Waiting};

/// How messages of different streams interleave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interleaving {
    /// What the peer's receive buffer holds when it is empty.
    pub(crate) peer_buffer: usize,
    /// Bytes of the longest message that is never cut.
    pub(crate) whole_message_max: usize,
}

impl MessageQueue {
    /// What the handshake said of interleaving.
    pub(crate) const fn set_interleaving(&mut self, interleaving: Option<Interleaving>) {
        self.interleaving = interleaving;
    }

    /// The longest message that is never cut has so many bytes from now on.
    pub(crate) const fn set_whole_message_max(&mut self, bytes: usize) {
        if let Some(interleaving) = &mut self.interleaving {
            interleaving.whole_message_max = bytes;
        }
    }

    /// Whether a message may be begun beside those that are unfinished, so that the peer can
    /// complete them all: together they take half of its buffer at most. One that is sent whole
    /// never takes part of it for long.
    ///
    /// RFC 8260 section 2.2.2: "The sender MUST assign TSNs to I-DATA chunks in a way that the
    /// receiver can make progress."
    pub(super) fn may_begin(&self, message: &Waiting) -> bool {
        if self.waits_for_keys(message) {
            return false;
        }
        let Some(interleaving) = self.interleaving.filter(|_| !self.begun.is_empty()) else {
            return true;
        };
        if message.len <= interleaving.whole_message_max {
            return true;
        }
        let unfinished = self.begun.iter().filter_map(|stream| self.first_waiting(*stream));
        let begun: usize = unfinished.map(|message| message.len).sum();
        begun + message.len <= interleaving.peer_buffer / 2
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_sansio::Time;
    use anabranch_wire::StreamId;
    use bytes::Bytes;

    use super::*;
    use crate::send::OutgoingMessage;
    use crate::send::SchedulerKind;

    fn queue(scheduler: SchedulerKind) -> MessageQueue {
        let mut queue = MessageQueue::new(4, 100_000, 50_000, &scheduler);
        let interleaving = Interleaving { peer_buffer: 10_000, whole_message_max: 1_000 };
        queue.set_interleaving(Some(interleaving));
        queue
    }

    fn push(queue: &mut MessageQueue, stream: u16, len: usize) {
        let message = OutgoingMessage::new(StreamId(stream), Bytes::from(vec![7; len]));
        queue.push(Time::ZERO, message).unwrap();
    }

    /// Stream, MID and FSN of the next piece of at most 1,000 bytes.
    fn take_next(queue: &mut MessageQueue) -> Option<(u16, u32, u32)> {
        let (stream, _) = queue.next(Time::ZERO, |_| true, |_, _| Duration::ZERO)?;
        queue.take(stream, 1_000).map(|piece| (piece.stream.0, piece.mid.0, piece.fsn.0))
    }

    fn take_all(queue: &mut MessageQueue) -> Vec<(u16, u32, u32)> {
        std::iter::from_fn(|| take_next(queue)).collect()
    }

    /// RFC 8260 section 1.1, figure 2.
    #[test]
    fn round_robin_serves_streams_chunk_by_chunk() {
        let mut queue = queue(SchedulerKind::RoundRobin);
        push(&mut queue, 0, 3_000);
        for _ in 0..3 {
            push(&mut queue, 1, 1_000);
        }
        push(&mut queue, 2, 2_000);
        let pieces = [
            (0, 0, 0),
            (1, 0, 0),
            (2, 0, 0),
            (0, 0, 1),
            (1, 1, 0),
            (2, 0, 1),
            (0, 0, 2),
            (1, 2, 0),
        ];
        assert_eq!(take_all(&mut queue), pieces);
    }

    #[test]
    fn an_urgent_message_goes_between_the_fragments_of_another_and_equals_wait_for_its_end() {
        let mut queue = queue(SchedulerKind::Priority);
        [(0, 5), (1, 5), (2, 1)].iter().for_each(|&(stream, priority)| {
            queue.set_priority(StreamId(stream), priority);
        });
        push(&mut queue, 0, 2_000);
        assert_eq!(take_next(&mut queue), Some((0, 0, 0)));
        push(&mut queue, 1, 1_500);
        push(&mut queue, 2, 1_500);
        let pieces = [(2, 0, 0), (2, 0, 1), (0, 0, 1), (1, 0, 0), (1, 0, 1)];
        assert_eq!(take_all(&mut queue), pieces);
        assert!(queue.is_empty() && queue.begun.is_empty());
    }

    #[test]
    fn unfinished_messages_together_leave_half_of_the_peers_buffer() {
        let mut queue = queue(SchedulerKind::RoundRobin);
        push(&mut queue, 0, 3_000);
        push(&mut queue, 1, 2_000);
        push(&mut queue, 2, 1_001);
        push(&mut queue, 3, 1_000);
        let streams: Vec<_> = take_all(&mut queue).iter().map(|piece| piece.0).collect();
        assert_eq!(streams, [0, 1, 3, 0, 1, 2, 0, 2], "stream 2 waits for the end of another");
    }

    #[test]
    fn a_message_beyond_the_peers_buffer_goes_alone() {
        let mut queue = queue(SchedulerKind::RoundRobin);
        push(&mut queue, 0, 12_000);
        push(&mut queue, 1, 1_500);
        push(&mut queue, 2, 500);
        let streams: Vec<_> = take_all(&mut queue).iter().map(|piece| piece.0).collect();
        assert_eq!(streams, [0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    }
}
