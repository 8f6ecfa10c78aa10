//! [`EncoderRate`]: what the encoder of pictures is asked for.
//!
//! The encoder gets what the association carries less voice and a reserve of an eighth. It is
//! lowered at once when data waits that should not, and further until the queue is gone, so that it
//! is within [`DRAIN`]; it rises by [`GROWTH`] each [`GROWTH_INTERVAL`] while nothing waits.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};
use anabranch_transport::RateSignal;

/// The least that makes pictures at all.
pub const VIDEO_RATE_MIN: Rate = Rate::kbps(60);

/// What an encoder begins with.
const FIRST: Rate = Rate::kbps(600);

/// The share of what is carried that the encoder may miss its rate by.
const RESERVE: f64 = 1.0 / 8.0;

/// Voice and what its messages cost, on one path or two.
const VOICE: Rate = Rate::kbps(64);

/// What may wait: a key picture takes longer to leave than another one.
const QUEUE_MAX: Duration = Duration::from_millis(60);

/// How fast what waits beyond that is to be gone.
const DRAIN: Duration = Duration::from_millis(400);

const GROWTH: f64 = 0.08;
const GROWTH_INTERVAL: Duration = Duration::from_millis(200);

/// After it was lowered, the rate stays for so long: the signal is measured over as long.
const REST: Duration = Duration::from_millis(600);

/// Less of a change is not told.
const TOLD: f64 = 0.05;

/// Follows what a connection carries.
#[derive(Debug, Clone)]
pub struct EncoderRate {
    most: Rate,
    /// What the association seems to have room for.
    base: Rate,
    /// What the encoder is asked for: less, while a queue drains.
    rate: Rate,
    told: Rate,
    grown: Time,
    lowered: Option<Time>,
    /// How often in a row more waited than should.
    long_waits: u32,
}

impl EncoderRate {
    /// At most so much, whatever the connection carries.
    #[must_use]
    pub const fn new(most: Rate) -> Self {
        Self {
            most,
            base: FIRST,
            rate: FIRST,
            told: Rate::ZERO,
            grown: Time::ZERO,
            lowered: None,
            long_waits: 0,
        }
    }

    /// A call begins.
    pub fn begin(&mut self, now: Time) {
        let first = self.most.min(FIRST);
        *self = Self { grown: now, base: first, rate: first, ..Self::new(self.most) };
    }

    /// What the encoder is asked for.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Follows the signal, whose queue is what waits at the sender; returns the rate if it is to be
    /// told. To be called each 100 ms.
    pub fn follow(&mut self, now: Time, signal: Option<RateSignal>) -> Option<Rate> {
        if let Some(signal) = signal {
            self.aim(now, signal);
        }
        let (told, rate) = (self.told.as_bps() as f64, self.rate.as_bps() as f64);
        let is_news = (rate - told).abs() > told * TOLD;
        is_news.then(|| {
            self.told = self.rate;
            self.rate
        })
    }

    fn aim(&mut self, now: Time, signal: RateSignal) {
        let room = signal.carries.as_bps().saturating_sub(VOICE.as_bps()) as f64;
        let room = room * (1.0 - RESERVE);
        let wait = signal.carries.time_for(signal.queued as u64);
        // A key picture takes longer than that to leave, where a path that was never full has room
        // for more than it is known to carry.
        self.long_waits = if wait > QUEUE_MAX { self.long_waits + 1 } else { 0 };
        if self.long_waits > u32::from(signal.is_at_least) {
            let excess = wait.saturating_sub(QUEUE_MAX).as_secs_f64() / DRAIN.as_secs_f64();
            self.base = self.base.min(self.bound(room));
            self.rate = self.bound(self.base.as_bps() as f64 * (1.0 - excess.min(1.0)));
            self.lowered = Some(now);
            return;
        }
        self.rate = self.base;
        let is_resting = self.lowered.is_some_and(|at| now - at < REST);
        if signal.queued > 0 && !signal.is_at_least || is_resting {
            return;
        }
        if now - self.grown >= GROWTH_INTERVAL {
            self.grown = now;
            let grown = self.base.as_bps() as f64 * (1.0 + GROWTH);
            // What is carried "at least" is no limit.
            let target = if signal.is_at_least { grown } else { grown.min(room) };
            self.base = self.base.max(self.bound(target));
            self.rate = self.base;
        }
    }

    fn bound(&self, bps: f64) -> Rate {
        Rate::bps(bps as u64).clamp(VIDEO_RATE_MIN, self.most.max(VIDEO_RATE_MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(kbps: u64, queued: usize, is_at_least: bool) -> Option<RateSignal> {
        Some(RateSignal { carries: Rate::kbps(kbps), is_at_least, queued })
    }

    #[test]
    fn a_queue_lowers_the_rate_at_once_and_below_what_is_carried() {
        let mut rate = EncoderRate::new(Rate::mbps(3));
        rate.begin(Time::ZERO);
        for tenth in 1..200 {
            let _told = rate.follow(Time::from_millis(100 * tenth), signal(10_000, 0, true));
        }
        assert_eq!(rate.rate(), Rate::mbps(3));
        let told = rate.follow(Time::from_secs(20), signal(1_000, 25_000, false));
        assert!(told.is_some_and(|told| told < Rate::kbps(600)), "{told:?}");
        let drained = rate.follow(Time::from_millis(20_100), signal(1_000, 0, false));
        assert_eq!(drained, Some(Rate::kbps((1_000 - 64) * 7 / 8)), "as much as there is room for");
        assert_eq!(
            rate.follow(Time::from_millis(20_200), signal(5_000, 0, true)),
            None,
            "it rests"
        );
    }

    #[test]
    fn a_queue_on_a_path_that_was_never_full_lowers_the_rate_when_it_lasts() {
        let mut rate = EncoderRate::new(Rate::mbps(3));
        rate.begin(Time::ZERO);
        let _told = rate.follow(Time::ZERO, None);
        let waiting = signal(1_000, 25_000, true);
        assert_eq!(rate.follow(Time::from_millis(100), waiting), None, "a key picture leaves");
        let told = rate.follow(Time::from_millis(200), waiting);
        assert!(told.is_some_and(|told| told < FIRST), "{told:?}");
    }

    #[test]
    fn the_rate_rises_by_steps_to_what_is_carried_and_no_change_is_told_twice() {
        let mut rate = EncoderRate::new(Rate::mbps(3));
        rate.begin(Time::ZERO);
        assert_eq!(rate.follow(Time::ZERO, None), Some(FIRST));
        assert_eq!(rate.follow(Time::ZERO, None), None);
        for tenth in 1..100 {
            let _told = rate.follow(Time::from_millis(100 * tenth), signal(1_200, 0, false));
        }
        assert_eq!(rate.rate(), Rate::kbps((1_200 - 64) * 7 / 8));
    }

    #[test]
    fn pictures_get_no_less_than_what_makes_any() {
        let mut rate = EncoderRate::new(Rate::mbps(3));
        let _told = rate.follow(Time::from_secs(1), signal(70, 100_000, false));
        assert_eq!(rate.rate(), VIDEO_RATE_MIN);
    }
}
