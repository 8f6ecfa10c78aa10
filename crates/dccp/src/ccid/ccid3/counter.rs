//! The window counter in CCVal: RFC 4342 section 8.1.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;

use crate::tfrc::distance;

/// What the sender counts: quarters of round-trip times.
#[derive(Debug)]
pub(super) struct WindowCounter {
    /// last_WC.
    value: u8,
    /// last_WC_time.
    since: Option<Time>,
}

impl WindowCounter {
    pub(super) const fn new() -> Self {
        Self { value: 0, since: None }
    }

    /// The counter of a packet that is sent now.
    pub(super) fn next(&mut self, now: Time, rtt: Duration) -> u8 {
        let since = *self.since.get_or_insert(now);
        let (passed, quarter) = (now - since, (rtt / 4).max(Duration::from_nanos(1)));
        if passed >= quarter {
            // "Let quarter_RTTs = floor((current_time - last_WC_time) / (RTT/4))."
            let quarters = passed.as_nanos() / quarter.as_nanos();
            // "Set last_WC := (last_WC + min(quarter_RTTs, 5)) mod 16."
            self.advance(now, quarters.min(5) as u8);
        }
        self.value
    }

    /// A packet with this counter was acknowledged.
    ///
    /// "after receiving an acknowledgement for a packet sent with window counter WC, the sender
    /// SHOULD increase its window counter, if necessary, so that subsequent packets have window
    /// counter value at least (WC + 4) mod 16."
    pub(super) fn on_acknowledged(&mut self, now: Time, counter: u8) {
        let ahead = distance(counter, self.value);
        if ahead < 4 {
            self.advance(now, 4 - ahead);
        }
    }

    fn advance(&mut self, now: Time, steps: u8) {
        self.value = (self.value + steps) % 16;
        self.since = Some(now);
    }
}

/// What the receiver makes of it: an estimate of the round-trip time.
#[derive(Debug)]
pub(super) struct CounterClock {
    /// When each of the latest counters was first seen, the newest last.
    seen: VecDeque<(u8, Time)>,
    rtt: Option<Duration>,
}

impl CounterClock {
    pub(super) const fn new() -> Self {
        Self { seen: VecDeque::new(), rtt: None }
    }

    /// A data packet whose number is greater than all before.
    pub(super) fn on_packet(&mut self, now: Time, counter: u8) {
        let Some((last, _)) = self.seen.back() else { return self.seen.push_back((counter, now)) };
        match distance(*last, counter) {
            0 => return,
            // "adjacent data-carrying packets' CCVal counters never differ by more than five":
            // packets are missing, and how often the counter wrapped is not known.
            6.. => self.seen.clear(),
            _ => {}
        }
        // "Let D = 2, 3, or 4 and say that T(K) and T(K+D) both exist [...]. Then the value (T(K+D)
        // - T(K)) * 4/D MAY serve as an estimate of the round-trip time. Values of D = 4 SHOULD be
        // preferred for RTT estimation."
        for steps in [4, 3, 2] {
            let start = self.seen.iter().find(|(other, _)| distance(*other, counter) == steps);
            if let Some((_, start)) = start {
                self.measure((now - *start) * 4 / u32::from(steps));
                break;
            }
        }
        self.seen.push_back((counter, now));
        while self.seen.front().is_some_and(|(other, _)| distance(*other, counter) > 4) {
            self.seen.pop_front();
        }
    }

    fn measure(&mut self, sample: Duration) {
        self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt * 3 / 4 + sample / 4));
    }

    pub(super) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn it_counts_quarters_of_a_round_trip() {
        let mut counter = WindowCounter::new();
        let at = |counter: &mut WindowCounter, ms| counter.next(Time::from_millis(ms), RTT);
        let counted = [7, 20, 32, 50, 57, 82, 500].map(|ms| at(&mut counter, ms));
        // It begins with the first packet, at 7; five steps at most.
        assert_eq!(counted, [0, 0, 1, 1, 2, 3, 8]);
        assert_eq!((0..3).map(|n| at(&mut counter, 1_000 * (n + 1))).last(), Some(8 + 15 - 16));
    }

    #[test]
    fn an_acknowledgement_moves_it_a_round_trip_ahead() {
        let mut counter = WindowCounter::new();
        counter.next(Time::ZERO, RTT);
        counter.on_acknowledged(Time::from_millis(1), 0);
        assert_eq!(counter.next(Time::from_millis(2), RTT), 4);
        counter.on_acknowledged(Time::from_millis(3), 0);
        assert_eq!(counter.next(Time::from_millis(4), RTT), 4);
    }

    #[test]
    fn the_receiver_reads_the_round_trip_time_off_it() {
        let (mut counter, mut clock) = (WindowCounter::new(), CounterClock::new());
        assert_eq!(clock.rtt(), None);
        for n in 0..1_000 {
            let now = Time::from_millis(7 * n);
            clock.on_packet(now, counter.next(now, RTT));
        }
        // Packets come every 7 ms: a step takes 28 ms, not 25.
        assert_eq!(clock.rtt().map(|rtt| rtt.as_millis()), Some(112));
    }

    #[test]
    fn what_wrapped_or_stood_still_gives_no_estimate() {
        let mut clock = CounterClock::new();
        for (n, counter) in [0, 0, 5, 10, 15, 4, 12].into_iter().enumerate() {
            clock.on_packet(Time::from_millis(100 * n as u64), counter);
        }
        assert_eq!(clock.rtt(), None);
    }
}
