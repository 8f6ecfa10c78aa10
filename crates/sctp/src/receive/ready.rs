//! [`ReadyMessages`]: whole messages that wait for nothing but the user.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::Level;

use super::delivery::IncomingMessage;
use super::level_counters::LevelCounters;
use super::level_queue::{LevelQueue, Place};
use crate::stats::LevelStats;

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
    /// What matters most first, but nothing longer than 500 ms after what arrived later.
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
    /// Where levels are told.
    counters: Option<Box<LevelCounters>>,
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
        Self { now: Time::ZERO, line, counters: None }
    }

    /// Counts by level from now on.
    pub(super) fn count_levels(&mut self) {
        self.counters = Some(Box::default());
    }

    pub(super) fn level_stats(&self) -> [LevelStats; Level::ALL.len()] {
        self.counters.as_ref().map(|counters| counters.stats()).unwrap_or_default()
    }

    /// What was told of the time last.
    pub(super) const fn now(&self) -> Time {
        self.now
    }

    /// Time has passed.
    pub(super) fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Takes a message; its place, where levels decide.
    pub(super) fn push(&mut self, message: IncomingMessage) -> Option<Place> {
        if let Some(counters) = &mut self.counters {
            counters.on_push(message.level, message.payload.len());
        }
        let ready = Ready { message, since: self.now };
        match &mut self.line {
            Line::ByArrival(line) => {
                line.push_back(ready);
                None
            }
            Line::ByLevel(queue) => Some(queue.push(ready)),
        }
    }

    /// Whether levels decide.
    pub(super) const fn is_by_level(&self) -> bool {
        matches!(self.line, Line::ByLevel(_))
    }

    /// Takes an unordered message out of turn, to be dropped; `None` if it was read.
    pub(super) fn remove(&mut self, place: Place) -> Option<IncomingMessage> {
        let Line::ByLevel(queue) = &mut self.line else { return None };
        let Ready { message, .. } = queue.remove(place)?;
        self.note_gone(&message);
        Some(message)
    }

    fn note_gone(&mut self, message: &IncomingMessage) {
        if let Some(counters) = &mut self.counters {
            counters.on_remove(message.level, message.payload.len());
        }
    }

    /// A message was dropped for others, which could be read or waited for its turn.
    pub(super) fn note_dropped(&mut self, level: Level) {
        if let Some(counters) = &mut self.counters {
            counters.on_drop(level);
        }
    }

    pub(super) fn pop(&mut self) -> Option<IncomingMessage> {
        let ready = match &mut self.line {
            Line::ByArrival(line) => line.pop_front(),
            Line::ByLevel(queue) => queue.pop(self.now),
        };
        let Ready { message, since } = ready?;
        if let Some(counters) = &mut self.counters {
            let delay = self.now.saturating_since(since);
            counters.on_read(message.level, message.payload.len(), delay);
        }
        Some(message)
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
        let Ready { message, .. } = ready?;
        self.note_gone(&message);
        Some(message)
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
        messages.into_iter().for_each(|message| {
            self.push(message);
        });
    }
}
