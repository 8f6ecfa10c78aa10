//! Streams that are reset (RFC 6525): what was handed over before goes out first, what comes after
//! waits for the peer's answer.

use std::collections::VecDeque;

use anabranch_wire::StreamId;

use super::{MessageQueue, Waiting};

/// The messages that were handed over after their stream was to be reset.
pub(super) type Held = VecDeque<Waiting>;

impl MessageQueue {
    /// From now on messages of the stream wait until [`end_reset`](Self::end_reset).
    ///
    /// RFC 6525 section 5.1.2, A1: "The sender MUST stop assigning new SSNs to new user data
    /// provided by the upper layer for the affected streams and queue it."
    pub(crate) fn begin_reset(&mut self, stream: StreamId) {
        if let Some(out) = self.streams.get_mut(usize::from(stream.0)) {
            out.held.get_or_insert_default();
        }
    }

    /// Whether nothing of the stream waits that was handed over before it was to be reset.
    pub(crate) fn is_stream_drained(&self, stream: StreamId) -> bool {
        self.first_waiting(stream).is_none()
    }

    /// The peer answered: messages go out again, those of a stream that was reset from SSN 0 on.
    pub(crate) fn end_reset(&mut self, stream: StreamId, performed: bool) {
        let Some(out) = self.streams.get_mut(usize::from(stream.0)) else { return };
        let held = out.held.take().unwrap_or_default();
        // RFC 6525 section 5.2.7, H4: "the affected streams MUST now be reset and all queued data
        // should now be processed. The assigning of SSNs is allowed again."
        // RFC 8260 section 2.3.2: "the two counters (one for the ordered messages, one for the
        // unordered messages) used for the MIDs MUST be reset to 0."
        if performed {
            (out.next_ordered, out.next_unordered) = (0, 0);
        }
        let was_idle = out.waiting.is_empty();
        out.waiting.extend(*held);
        if was_idle && !out.waiting.is_empty() {
            self.scheduler.activate(stream, out.priority);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_sansio::Time;
    use bytes::Bytes;

    use super::*;
    use crate::send::OutgoingMessage;
    use crate::send::SchedulerKind;

    fn push(queue: &mut MessageQueue, len: usize) {
        let message = OutgoingMessage::new(StreamId(0), Bytes::from(vec![7; len]));
        queue.push(Time::ZERO, message).unwrap();
    }

    fn take_next(queue: &mut MessageQueue) -> Option<(u32, usize)> {
        let (stream, _) = queue.next(Time::ZERO, |_| true, |_, _| Duration::ZERO)?;
        queue.take(stream, 1_000).map(|piece| (piece.mid.0, piece.payload.len()))
    }

    #[test]
    fn what_came_after_the_reset_waits_and_is_counted_from_zero() {
        let mut queue = MessageQueue::new(1, 10_000, 5_000, &SchedulerKind::Priority);
        push(&mut queue, 1);
        push(&mut queue, 2);
        queue.begin_reset(StreamId(0));
        push(&mut queue, 3);
        assert!(!queue.is_stream_drained(StreamId(0)));
        assert_eq!(take_next(&mut queue), Some((0, 1)));
        assert_eq!(take_next(&mut queue), Some((1, 2)));
        assert_eq!(take_next(&mut queue), None);
        assert!(queue.is_stream_drained(StreamId(0)) && !queue.is_empty());
        queue.end_reset(StreamId(0), true);
        assert_eq!(take_next(&mut queue), Some((0, 3)));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_stream_that_was_not_reset_counts_on() {
        let mut queue = MessageQueue::new(1, 10_000, 5_000, &SchedulerKind::Priority);
        push(&mut queue, 1);
        queue.begin_reset(StreamId(0));
        assert_eq!(take_next(&mut queue), Some((0, 1)));
        push(&mut queue, 2);
        queue.end_reset(StreamId(0), false);
        assert_eq!(take_next(&mut queue), Some((1, 2)));
    }
}
