//! Messages about keys, which go ahead of what has to wait until there are any.

use anabranch_sansio::Time;
use bytes::Bytes;

use super::{MessageQueue, Waiting};
use crate::dtls::{KEY_MANAGEMENT_PPID, KEY_MANAGEMENT_STREAM};
use crate::send::OutgoingMessage;

/// What waits for keys, and what does not.
#[derive(Debug, Default)]
pub(super) struct KeyGate {
    /// Whether all else waits.
    is_shut: bool,
    /// Whether it waits only for the messages about keys that are there.
    opens_behind_keys: bool,
    /// Messages about keys that are not wholly sent.
    pub(super) about_keys: usize,
}

impl KeyGate {
    /// A message about keys is wholly sent.
    pub(super) const fn note_sent(&mut self) {
        self.about_keys -= 1;
        self.settle();
    }

    const fn settle(&mut self) {
        if self.opens_behind_keys && self.about_keys == 0 {
            self.is_shut = false;
        }
    }
}

impl MessageQueue {
    /// From here on messages of the user wait for [`open_gate`](Self::open_gate).
    pub(crate) const fn shut_gate(&mut self) {
        self.gate.is_shut = true;
        self.gate.opens_behind_keys = false;
    }

    /// Keys are there: messages of the user may go, behind those about keys.
    pub(crate) const fn open_gate(&mut self) {
        self.gate.opens_behind_keys = true;
        self.gate.settle();
    }

    /// Whether messages of the user wait for keys.
    pub(crate) const fn awaits_keys(&self) -> bool {
        self.gate.is_shut
    }

    /// Takes a message about keys, however full the queue is: it goes ahead of the user's messages
    /// of its stream that were not begun.
    pub(crate) fn push_about_keys(&mut self, now: Time, payload: Bytes) {
        let mut message = OutgoingMessage::new(KEY_MANAGEMENT_STREAM, payload);
        message.ppid = KEY_MANAGEMENT_PPID;
        self.gate.about_keys += 1;
        self.accept(now, message);
        let stream = &mut self.streams[usize::from(KEY_MANAGEMENT_STREAM.0)];
        let waiting = stream.held.as_deref_mut().unwrap_or(&mut stream.waiting);
        if let Some(mut message) = waiting.pop_back() {
            message.is_about_keys = true;
            let is_ahead = |other: &Waiting| other.is_begun() || other.is_about_keys;
            let place = waiting.iter().take_while(|other| is_ahead(other)).count();
            waiting.insert(place, message);
        }
    }

    /// Whether anything waits that may go.
    pub(crate) fn has_eligible(&self) -> bool {
        if self.gate.is_shut { self.gate.about_keys > 0 } else { !self.is_empty() }
    }

    /// Whether a message has to wait for keys.
    pub(super) const fn waits_for_keys(&self, message: &Waiting) -> bool {
        self.gate.is_shut && !message.is_about_keys
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_wire::StreamId;

    use super::*;
    use crate::send::SchedulerKind;

    fn queue() -> MessageQueue {
        MessageQueue::new(2, 1_000, 500, &SchedulerKind::default())
    }

    fn push(queue: &mut MessageQueue, stream: u16, text: &'static str) {
        queue.push(Time::ZERO, OutgoingMessage::new(StreamId(stream), text.into())).unwrap();
    }

    fn take(queue: &mut MessageQueue) -> Option<Bytes> {
        let (stream, _) = queue.next(Time::ZERO, |_| true, |_, _| Duration::ZERO)?;
        queue.take(stream, 3).map(|piece| piece.payload)
    }

    #[test]
    fn messages_of_the_user_wait_for_keys_and_those_about_keys_do_not() {
        let mut queue = queue();
        queue.shut_gate();
        push(&mut queue, 0, "a");
        push(&mut queue, 1, "b");
        assert!(!queue.has_eligible() && take(&mut queue).is_none());
        queue.push_about_keys(Time::ZERO, "K".into());
        queue.push_about_keys(Time::ZERO, "L".into());
        assert!(queue.has_eligible());
        assert_eq!([take(&mut queue).unwrap(), take(&mut queue).unwrap()], ["K", "L"]);
        assert!(!queue.has_eligible() && !queue.is_empty());
        queue.open_gate();
        assert_eq!([take(&mut queue).unwrap(), take(&mut queue).unwrap()], ["b", "a"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn the_last_message_about_the_first_keys_goes_ahead_of_all_streams() {
        let mut queue = queue();
        queue.shut_gate();
        push(&mut queue, 0, "a");
        push(&mut queue, 1, "b");
        queue.push_about_keys(Time::ZERO, "K".into());
        queue.open_gate();
        let all: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        assert_eq!(all, ["K", "b", "a"]);
    }

    #[test]
    fn a_message_about_keys_waits_for_the_end_of_one_that_was_begun() {
        let mut queue = queue();
        push(&mut queue, 0, "abcdef");
        push(&mut queue, 0, "ghi");
        assert_eq!(take(&mut queue).unwrap(), "abc");
        queue.push_about_keys(Time::ZERO, "K".into());
        let rest: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        assert_eq!(rest, ["def", "K", "ghi"]);
    }

    #[test]
    fn a_full_queue_takes_a_message_about_keys() {
        let mut queue = queue();
        while queue.push(Time::ZERO, OutgoingMessage::new(StreamId(1), "x".into())).is_ok() {}
        queue.push_about_keys(Time::ZERO, "K".into());
        queue.shut_gate();
        assert_eq!(take(&mut queue).unwrap(), "K");
    }
}
