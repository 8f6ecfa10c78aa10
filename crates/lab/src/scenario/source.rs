//! [`Source`]: what an application sends, and when.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};

/// How messages come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// As fast as the transport takes them.
    Bulk,
    /// At a rate of their own.
    Steady(Rate),
    /// At a rate of their own for the first time, and not at all for the second, in turn.
    OnOff(Rate, Duration, Duration),
}

/// Messages of one size, from `start` to `stop`.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pattern: Pattern,
    /// Bytes of each message.
    pub(super) size: usize,
    pub(super) start: Time,
    stop: Time,
    /// Messages that were taken.
    taken: u64,
}

impl Source {
    pub(super) const fn new(pattern: Pattern, size: usize, start: Time, stop: Time) -> Self {
        Self { pattern, size, start, stop, taken: 0 }
    }

    /// Since when the next message is ready, if it is.
    pub(super) fn ready(&self, now: Time) -> Option<Time> {
        if self.pattern == Pattern::Bulk {
            return (self.start <= now && now < self.stop).then_some(now);
        }
        self.next_at().filter(|at| *at <= now)
    }

    /// When the next message is ready.
    fn next_at(&self) -> Option<Time> {
        let at = self.start + self.offset(self.taken);
        (at < self.stop).then_some(at)
    }

    /// When to look again whether a message is ready, where the transport takes all.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        self.next_at().filter(|_| self.is_paced())
    }

    /// The message that was ready is with the transport.
    pub(super) const fn take(&mut self) {
        self.taken += 1;
    }

    /// Messages that there were, whether or not the transport took them.
    pub(super) fn offered(&self) -> u64 {
        if self.pattern == Pattern::Bulk {
            return self.taken;
        }
        let is_over = |number: &u64| self.start + self.offset(*number) >= self.stop;
        (self.taken..).find(is_over).unwrap_or(self.taken)
    }

    /// Whether messages come at their own time, so that one can be late.
    pub(super) fn is_paced(&self) -> bool {
        self.pattern != Pattern::Bulk
    }

    /// From the start to the message of this number.
    fn offset(&self, number: u64) -> Duration {
        let bytes = number * self.size as u64;
        match self.pattern {
            Pattern::Bulk => Duration::ZERO,
            Pattern::Steady(rate) => rate.time_for(bytes),
            Pattern::OnOff(rate, on, off) => {
                let talked = rate.time_for(bytes);
                let turns = talked.as_nanos() / on.as_nanos().max(1);
                talked + off * u32::try_from(turns).unwrap_or(u32::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// When the messages of 1,000 bytes at 8 Mbit/s are ready, one each millisecond.
    fn times(pattern: Pattern) -> Vec<u64> {
        let (start, stop) = (Time::from_millis(100), Time::from_millis(110));
        let mut source = Source::new(pattern, 1_000, start, stop);
        assert_eq!(source.ready(Time::from_millis(99)), None);
        let mut times = Vec::new();
        while let Some(at) = source.next_at() {
            assert_eq!(source.ready(stop), Some(at));
            times.push(at.as_millis() - 100);
            source.take();
        }
        assert_eq!(source.offered(), times.len() as u64);
        times
    }

    #[test]
    fn messages_come_at_their_rate() {
        assert_eq!(times(Pattern::Steady(Rate::mbps(8))), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(times(Pattern::OnOff(Rate::mbps(8), 2 * MS, 3 * MS)), [0, 1, 5, 6]);
    }

    #[test]
    fn those_that_the_transport_did_not_take_were_offered_too() {
        let steady = Pattern::Steady(Rate::mbps(8));
        let mut source = Source::new(steady, 1_000, Time::ZERO, Time::from_millis(10));
        source.take();
        assert_eq!(source.offered(), 10);
    }
}
