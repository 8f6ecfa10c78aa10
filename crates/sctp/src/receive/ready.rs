//! [`ReadyMessages`]: whole messages that wait for nothing but the user.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;

use super::delivery::IncomingMessage;
use super::level_queue::LevelQueue;

/// In which order messages are read that wait for the user.
///
/// Ordered messages of one stream stay in order in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReceiveOrder {
    /// As they became whole.
    #[default]
    Arrival,
    /// What matters most first, as the peer [marks](crate::ExtensionConfig::level_marks) it; where
    /// marks were not agreed upon, as they became whole. A message that others wait for in its
    /// stream counts as the most important one of them.
    Priority {
        /// After so long, as of what the [`Endpoint`](crate::Endpoint) was told of the time last, a
        /// message goes before all that came later.
        wait_max: Duration,
    },
}

impl ReceiveOrder {
    /// What matters most first, but nothing longer than 500 ms after what came later.
    pub const PRIORITY: Self = Self::Priority { wait_max: Duration::from_millis(500) };
}

/// A message, and since when the user could have read it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) message: IncomingMessage,
    pub(super) since: Time,
}

/// Messages in the order in which the user reads them.
#[derive(Debug)]
pub(super) struct ReadyMessages {
    now: Time,
    line: Line,
}

#[derive(Debug)]
enum Line {
    ByArrival(VecDeque<Ready>),
    ByLevel(Box<LevelQueue>),
}

impl ReadyMessages {
    pub(super) fn new(order: ReceiveOrder) -> Self {
        let line = match order {
            ReceiveOrder::Arrival => Line::ByArrival(VecDeque::new()),
            ReceiveOrder::Priority { wait_max } => {
                Line::ByLevel(Box::new(LevelQueue::new(wait_max)))
            }
        };
        Self { now: Time::ZERO, line }
    }

    /// What was told of the time last.
    pub(super) const fn now(&self) -> Time {
        self.now
    }

    /// Time has passed.
    pub(super) fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    pub(super) fn push(&mut self, message: IncomingMessage) {
        let ready = Ready { message, since: self.now };
        match &mut self.line {
            Line::ByArrival(line) => line.push_back(ready),
            Line::ByLevel(queue) => queue.push(ready),
        }
    }

    pub(super) fn pop(&mut self) -> Option<IncomingMessage> {
        let ready = match &mut self.line {
            Line::ByArrival(line) => line.pop_front(),
            Line::ByLevel(queue) => queue.pop(self.now),
        };
        ready.map(|ready| ready.message)
    }

    /// Takes the first message of a kind, whoever's turn it is.
    pub(super) fn take_first(
        &mut self,
        is_meant: impl Fn(&IncomingMessage) -> bool,
    ) -> Option<IncomingMessage> {
        let ready = match &mut self.line {
            Line::ByArrival(line) => {
                let at = line.iter().position(|ready| is_meant(&ready.message))?;
                line.remove(at)
            }
            Line::ByLevel(queue) => queue.take_first(is_meant),
        };
        ready.map(|ready| ready.message)
    }

    pub(super) fn is_empty(&self) -> bool {
        match &self.line {
            Line::ByArrival(line) => line.is_empty(),
            Line::ByLevel(queue) => queue.len() == 0,
        }
    }
}

impl Extend<IncomingMessage> for ReadyMessages {
    fn extend<T: IntoIterator<Item = IncomingMessage>>(&mut self, messages: T) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}
