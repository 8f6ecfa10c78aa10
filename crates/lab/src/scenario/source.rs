//! [`Source`]: what an application sends, and when.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};

use super::own::{MessageSource, SourceMessage};
use super::sink::STAMP_LEN;

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

/// Messages from `start` to `stop`.
#[derive(Debug)]
pub(super) struct Source {
    messages: Messages,
    pub(super) start: Time,
    stop: Time,
    /// Messages that were taken.
    taken: u64,
}

#[derive(Debug)]
enum Messages {
    /// Of so many bytes each.
    Of(usize, Pattern),
    /// Whatever somebody's own source sends; none is next after its last.
    Own { source: Box<dyn MessageSource>, next: Option<SourceMessage>, most: usize },
}

impl Source {
    /// Messages of one size.
    pub(super) const fn new(pattern: Pattern, size: usize, start: Time, stop: Time) -> Self {
        Self { messages: Messages::Of(size, pattern), start, stop, taken: 0 }
    }

    /// Messages of somebody's own source, of at most so many bytes.
    pub(super) fn own(
        mut source: Box<dyn MessageSource>,
        most: usize,
        start: Time,
        stop: Time,
    ) -> Self {
        let next = source.next_message();
        Self { messages: Messages::Own { source, next, most }, start, stop, taken: 0 }
    }

    /// Bytes of the next message.
    pub(super) fn size(&self) -> usize {
        match &self.messages {
            Messages::Of(size, _) => *size,
            Messages::Own { next, most, .. } => {
                next.map_or(STAMP_LEN, |next| next.size.clamp(STAMP_LEN, *most))
            }
        }
    }

    /// Since when the next message is ready, if it is.
    pub(super) fn ready(&self, now: Time) -> Option<Time> {
        if !self.is_paced() {
            return (self.start <= now && now < self.stop).then_some(now);
        }
        self.next_at().filter(|at| *at <= now)
    }

    /// When the next message is ready.
    fn next_at(&self) -> Option<Time> {
        let at = match &self.messages {
            Messages::Of(size, pattern) => self.start + pattern.offset(self.taken, *size),
            Messages::Own { next, .. } => self.start + (*next)?.ready,
        };
        (at < self.stop).then_some(at)
    }

    /// When to look again whether a message is ready, where the transport takes all.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        self.next_at().filter(|_| self.is_paced())
    }

    /// The message that was ready is with the transport.
    pub(super) fn take(&mut self) {
        self.taken += 1;
        if let Messages::Own { source, next, .. } = &mut self.messages {
            *next = source.next_message();
        }
    }

    /// Messages that there were, now that it is over, whether or not the transport took them.
    pub(super) fn offered(&mut self) -> u64 {
        while self.is_paced() && self.next_at().is_some() {
            self.take();
        }
        self.taken
    }

    /// Whether messages come at their own time, so that one can be late.
    pub(super) const fn is_paced(&self) -> bool {
        !matches!(self.messages, Messages::Of(_, Pattern::Bulk))
    }
}

impl Pattern {
    /// From the start to the message of this number, where each has so many bytes.
    fn offset(self, number: u64, size: usize) -> Duration {
        let bytes = number * size as u64;
        match self {
            Self::Bulk => Duration::ZERO,
            Self::Steady(rate) => rate.time_for(bytes),
            Self::OnOff(rate, on, off) => {
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
    fn a_source_of_ones_own_has_its_own_times_and_sizes() {
        #[derive(Debug)]
        struct Doubling(u64);
        impl MessageSource for Doubling {
            fn next_message(&mut self) -> Option<SourceMessage> {
                self.0 *= 2;
                let ready = Duration::from_millis(self.0);
                Some(SourceMessage { ready, size: 300 * self.0 as usize })
            }
        }
        let (start, stop) = (Time::from_millis(100), Time::from_millis(110));
        let mut source = Source::own(Box::new(Doubling(1)), 1_000, start, stop);
        assert_eq!(source.ready(Time::from_millis(101)), None);
        let mut sent = Vec::new();
        while let Some(at) = source.next_at() {
            sent.push((at.as_millis() - 100, source.size()));
            source.take();
        }
        assert_eq!(sent, [(2, 600), (4, 1_000), (8, 1_000)], "cut to what fits");
        assert_eq!(source.offered(), 3);
    }

    #[test]
    fn those_that_the_transport_did_not_take_were_offered_too() {
        let steady = Pattern::Steady(Rate::mbps(8));
        let mut source = Source::new(steady, 1_000, Time::ZERO, Time::from_millis(10));
        source.take();
        assert_eq!(source.offered(), 10);
    }
}
