//! [`Backpressure`]: for how long a viewer has been what holds up its channel.

use std::time::Duration;

use anabranch_sansio::Time;

/// The time for which a viewer's transport had no room while the viewer took something.
///
/// A viewer that takes nothing shows that it, its network or this server stood still, and nothing
/// about what its network carries. So time counts up to when something more was taken, and of a
/// long pause only the beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backpressure {
    /// Bytes that the viewer had acknowledged, and when that was noticed.
    taken: u64,
    at: Time,
    /// Whether there was no room since then.
    is_full: bool,
    held_up: Duration,
}

impl Backpressure {
    pub(super) const fn new(now: Time) -> Self {
        Self { taken: 0, at: now, is_full: false, held_up: Duration::ZERO }
    }

    /// The viewer has acknowledged so many bytes by now. Of a pause `pause_max` counts.
    pub(super) fn look(&mut self, now: Time, taken: u64, pause_max: Duration) {
        if self.taken == taken {
            return;
        }
        if self.is_full {
            self.held_up += now.saturating_since(self.at).min(pause_max);
        }
        (self.taken, self.at) = (taken, now);
    }

    /// There is no room for what was to be sent.
    pub(super) const fn on_full(&mut self, now: Time) {
        if !self.is_full {
            (self.is_full, self.at) = (true, now);
        }
    }

    /// All was handed over that was to be sent.
    pub(super) const fn on_done(&mut self) {
        (self.is_full, self.held_up) = (false, Duration::ZERO);
    }

    /// For how long the viewer has held up what was to be sent.
    pub(super) const fn held_up(&self) -> Duration {
        self.held_up
    }

    /// Whether nothing was taken for so long, though there was no room.
    pub(super) fn is_standing(&self, now: Time, patience: Duration) -> bool {
        self.is_full && now.saturating_since(self.at) > patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE_MAX: Duration = Duration::from_millis(75);

    #[test]
    fn a_viewer_that_takes_too_little_holds_up_until_all_is_handed_over() {
        let mut backpressure = Backpressure::new(Time::ZERO);
        backpressure.look(Time::from_millis(10), 1_000, PAUSE_MAX);
        assert_eq!(backpressure.held_up(), Duration::ZERO, "there was room");
        backpressure.on_full(Time::from_millis(10));
        for ms in [30, 60, 100] {
            backpressure.look(Time::from_millis(ms), 100 * ms, PAUSE_MAX);
            backpressure.on_full(Time::from_millis(ms));
        }
        assert_eq!(backpressure.held_up(), Duration::from_millis(90));
        backpressure.on_done();
        assert_eq!(backpressure.held_up(), Duration::ZERO);
    }

    #[test]
    fn a_viewer_that_takes_nothing_stands_and_holds_up_no_longer_than_a_pause() {
        let mut backpressure = Backpressure::new(Time::ZERO);
        backpressure.on_full(Time::ZERO);
        for ms in (0..5_000).step_by(20) {
            backpressure.look(Time::from_millis(ms), 0, PAUSE_MAX);
        }
        assert_eq!(backpressure.held_up(), Duration::ZERO);
        assert!(backpressure.is_standing(Time::from_secs(5), Duration::from_millis(300)));
        backpressure.look(Time::from_secs(5), 1_000, PAUSE_MAX);
        assert_eq!(backpressure.held_up(), PAUSE_MAX);
        assert!(!backpressure.is_standing(Time::from_secs(5), Duration::from_millis(300)));
    }
}
