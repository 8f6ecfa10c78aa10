//! [`Spread`]: how much later than the earliest ones the last frames came.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;

/// How long an arrival is remembered.
const WINDOW: Duration = Duration::from_secs(10);

/// Arrivals that are remembered: those of [`WINDOW`], and more if they come faster.
const ARRIVALS_MAX: usize = 600;

/// The lateness of the last arrivals.
#[derive(Debug, Default)]
pub(super) struct Spread {
    arrivals: VecDeque<(Time, Duration)>,
}

impl Spread {
    /// A frame came so much later than the earliest ones.
    pub(super) fn note(&mut self, now: Time, lateness: Duration) {
        while self.arrivals.front().is_some_and(|(at, _)| now - *at > WINDOW)
            || self.arrivals.len() >= ARRIVALS_MAX
        {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back((now, lateness));
    }

    /// What the latest of them needed: what was late once is late again where packets are lost.
    pub(super) fn needed(&self) -> Duration {
        self.arrivals.iter().map(|(_, late)| *late).max().unwrap_or_default()
    }

    /// Another clock: what was known says nothing.
    pub(super) fn clear(&mut self) {
        self.arrivals.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_latest_frame_of_ten_seconds_decides() {
        let mut spread = Spread::default();
        assert_eq!(spread.needed(), Duration::ZERO);
        let at = |n: u64| Time::from_millis(20 * n);
        (0..400).for_each(|n| spread.note(at(n), ms(n % 5)));
        assert_eq!(spread.needed(), ms(4));
        spread.note(at(400), ms(120));
        assert_eq!(spread.needed(), ms(120));
    }

    #[test]
    fn old_arrivals_are_forgotten_and_memory_is_bounded() {
        let mut spread = Spread::default();
        spread.note(Time::ZERO, ms(200));
        spread.note(Time::from_secs(11), ms(3));
        assert_eq!(spread.needed(), ms(3));
        (0..10_000).for_each(|n| spread.note(Time::from_millis(11_000 + n / 10), ms(1)));
        assert_eq!(spread.arrivals.len(), ARRIVALS_MAX);
    }
}
