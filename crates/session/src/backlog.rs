//! [`Backlog`]: media that the transport has no room for.

use std::collections::VecDeque;

use anabranch_sansio::Time;
use bytes::Bytes;

use crate::treatment::MediaClass;

/// What a waiting message costs beside its bytes.
const MESSAGE_OVERHEAD: usize = 96;

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) payload: Bytes,
    /// When its media came to the sender.
    pub(super) since: Time,
}

/// Media that the transport has no room for, by class. When it is full itself, the least important
/// goes first, and of that the oldest: it would come last.
#[derive(Debug)]
pub(super) struct Backlog {
    queues: [VecDeque<Waiting>; MediaClass::ALL.len()],
    dropped: [u64; MediaClass::ALL.len()],
    bytes: usize,
    limit: usize,
}

impl Backlog {
    pub(super) fn new(limit: usize) -> Self {
        let queues = std::array::from_fn(|_| VecDeque::new());
        Self { queues, dropped: [0; MediaClass::ALL.len()], bytes: 0, limit }
    }

    pub(super) fn push(&mut self, class: MediaClass, message: Waiting) {
        self.bytes += cost(&message);
        self.queues[class.index()].push_back(message);
        while self.bytes > self.limit && self.drop_least_important() {}
    }

    /// Takes the most important message.
    pub(super) fn pop(&mut self) -> Option<(MediaClass, Waiting)> {
        let class = MediaClass::ALL.into_iter().find(|class| !self.queue(*class).is_empty())?;
        let message = self.queues[class.index()].pop_front()?;
        self.bytes -= cost(&message);
        Some((class, message))
    }

    /// Puts back what [`pop`](Self::pop) gave.
    pub(super) fn put_back(&mut self, class: MediaClass, message: Waiting) {
        self.bytes += cost(&message);
        self.queues[class.index()].push_front(message);
    }

    /// Drops everything; all of it counts as dropped.
    pub(super) fn clear(&mut self) {
        while self.drop_least_important() {}
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn dropped(&self, class: MediaClass) -> u64 {
        self.dropped[class.index()]
    }

    fn queue(&self, class: MediaClass) -> &VecDeque<Waiting> {
        &self.queues[class.index()]
    }

    fn drop_least_important(&mut self) -> bool {
        let least = MediaClass::ALL.into_iter().rev().find(|class| !self.queue(*class).is_empty());
        let Some(class) = least else { return false };
        if let Some(message) = self.queues[class.index()].pop_front() {
            self.bytes -= cost(&message);
            self.dropped[class.index()] += 1;
        }
        true
    }
}

fn cost(message: &Waiting) -> usize {
    message.payload.len() + MESSAGE_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(n: u8) -> Waiting {
        Waiting { payload: vec![n; 904].into(), since: Time::ZERO }
    }

    #[test]
    fn the_least_important_goes_first_and_the_most_important_is_sent_first() {
        let mut backlog = Backlog::new(3_000);
        backlog.push(MediaClass::Enhancement, message(0));
        backlog.push(MediaClass::Enhancement, message(1));
        backlog.push(MediaClass::Audio, message(2));
        assert_eq!(backlog.bytes(), 3_000, "full, but not too full");
        backlog.push(MediaClass::KeyFrame, message(3));
        backlog.push(MediaClass::Audio, message(4));
        assert_eq!(backlog.dropped(MediaClass::Enhancement), 2);
        let order = std::iter::from_fn(|| backlog.pop()).map(|(_, waiting)| waiting.payload[0]);
        assert_eq!(order.collect::<Vec<_>>(), [3, 2, 4]);
        assert_eq!(backlog.bytes(), 0);
    }

    #[test]
    fn what_came_back_is_sent_next() {
        let mut backlog = Backlog::new(9_000);
        backlog.push(MediaClass::Audio, message(0));
        backlog.push(MediaClass::Audio, message(1));
        let (class, first) = backlog.pop().unwrap();
        backlog.put_back(class, first.clone());
        assert_eq!(backlog.pop(), Some((class, first)));
        backlog.clear();
        assert_eq!((backlog.dropped(class), backlog.is_empty()), (1, true));
    }
}
