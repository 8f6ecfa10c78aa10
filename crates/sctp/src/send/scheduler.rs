//! Stream schedulers (RFC 8260 section 3): which stream's message is sent next.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

use anabranch_wire::StreamId;

/// Chooses among the streams that have messages waiting. Without interleaving (RFC 8260) a message,
/// once begun, is sent to its end before the scheduler is asked again; with it, the scheduler is
/// asked before each fragment.
pub trait StreamScheduler: Debug + Send {
    /// The stream has messages waiting from now on.
    fn activate(&mut self, stream: StreamId, priority: u16);

    /// The stream has no more messages waiting.
    fn deactivate(&mut self, stream: StreamId, priority: u16);

    /// The first stream, in order of preference, that `eligible` accepts.
    fn next(&self, eligible: &mut dyn FnMut(StreamId) -> bool) -> Option<StreamId>;

    /// A message of the stream was sent or, where messages interleave, a fragment of it: `ended`
    /// says whether to its end.
    fn served(&mut self, stream: StreamId, priority: u16, ended: bool);
}

/// Makes the stream scheduler of an association: the kinds of [`SchedulerKind`], or a user's own.
pub trait StreamSchedulerFactory: Debug + Send + Sync {
    /// A scheduler without streams.
    fn build(&self) -> Box<dyn StreamScheduler>;
}

/// The schedulers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SchedulerKind {
    /// RFC 8260 section 3.4, "Priority-Based Scheduler": the stream with the lowest priority
    /// number first; streams of equal priority take turns, message by message, since one that is
    /// whole early is worth more than two that are half there.
    #[default]
    Priority,
    /// RFC 8260 section 3.2, "Round-Robin Scheduler": all streams take turns, message by message
    /// or, where messages interleave, chunk by chunk.
    RoundRobin,
}

impl StreamSchedulerFactory for SchedulerKind {
    fn build(&self) -> Box<dyn StreamScheduler> {
        match self {
            Self::Priority => Box::new(Priority::default()),
            Self::RoundRobin => Box::new(RoundRobin::default()),
        }
    }
}

/// Streams that take turns.
#[derive(Debug, Default)]
struct RoundRobin {
    turns: VecDeque<StreamId>,
}

impl StreamScheduler for RoundRobin {
    fn activate(&mut self, stream: StreamId, _priority: u16) {
        self.turns.push_back(stream);
    }

    fn deactivate(&mut self, stream: StreamId, _priority: u16) {
        self.turns.retain(|other| *other != stream);
    }

    fn next(&self, eligible: &mut dyn FnMut(StreamId) -> bool) -> Option<StreamId> {
        self.turns.iter().copied().find(|stream| eligible(*stream))
    }

    fn served(&mut self, stream: StreamId, _priority: u16, _ended: bool) {
        if let Some(position) = self.turns.iter().position(|other| *other == stream) {
            self.turns.remove(position);
            self.turns.push_back(stream);
        }
    }
}

/// A round robin for each priority, the lowest number first.
#[derive(Debug, Default)]
struct Priority {
    levels: BTreeMap<u16, RoundRobin>,
}

impl StreamScheduler for Priority {
    fn activate(&mut self, stream: StreamId, priority: u16) {
        self.levels.entry(priority).or_default().activate(stream, priority);
    }

    fn deactivate(&mut self, stream: StreamId, priority: u16) {
        let Some(level) = self.levels.get_mut(&priority) else { return };
        level.deactivate(stream, priority);
        if level.turns.is_empty() {
            self.levels.remove(&priority);
        }
    }

    fn next(&self, eligible: &mut dyn FnMut(StreamId) -> bool) -> Option<StreamId> {
        self.levels.values().find_map(|level| level.next(eligible))
    }

    fn served(&mut self, stream: StreamId, priority: u16, ended: bool) {
        if ended && let Some(level) = self.levels.get_mut(&priority) {
            level.served(stream, priority, ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves `count` messages from streams that always have more.
    fn serve(
        scheduler: &mut dyn StreamScheduler,
        streams: &[(u16, u16)],
        count: usize,
    ) -> Vec<u16> {
        for &(stream, priority) in streams {
            scheduler.activate(StreamId(stream), priority);
        }
        let priority = |id: StreamId| streams.iter().find(|(stream, _)| *stream == id.0).unwrap().1;
        (0..count)
            .map(|_| {
                let stream = scheduler.next(&mut |_| true).unwrap();
                scheduler.served(stream, priority(stream), true);
                stream.0
            })
            .collect()
    }

    #[test]
    fn round_robin_gives_each_stream_a_message_in_turn() {
        let served = serve(&mut RoundRobin::default(), &[(4, 0), (2, 9), (7, 5)], 6);
        assert_eq!(served, [4, 2, 7, 4, 2, 7]);
    }

    #[test]
    fn priority_serves_the_lowest_number_and_shares_between_equals() {
        let mut scheduler = Priority::default();
        assert_eq!(serve(&mut scheduler, &[(1, 5), (2, 1), (3, 1)], 4), [2, 3, 2, 3]);
        scheduler.deactivate(StreamId(2), 1);
        scheduler.deactivate(StreamId(3), 1);
        assert_eq!(scheduler.next(&mut |_| true), Some(StreamId(1)));
        assert_eq!(scheduler.next(&mut |_| false), None);
    }

    #[test]
    fn a_stream_that_cannot_send_now_does_not_hold_up_the_next() {
        let mut scheduler = Priority::default();
        scheduler.activate(StreamId(1), 0);
        scheduler.activate(StreamId(2), 7);
        assert_eq!(scheduler.next(&mut |stream| stream != StreamId(1)), Some(StreamId(2)));
    }
}
