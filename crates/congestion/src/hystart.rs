//! [`HyStart`]: leaving slow start before it overflows a queue (RFC 9406).

use std::time::Duration;

use crate::Ack;

/// RFC 9406 section 4.3: MIN_RTT_THRESH and MAX_RTT_THRESH.
const RTT_THRESH: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));

/// RFC 9406 section 4.3: MIN_RTT_DIVISOR.
const RTT_DIVISOR: u32 = 8;

/// RFC 9406 section 4.3: N_RTT_SAMPLE.
const RTT_SAMPLES: u32 = 8;

/// RFC 9406 section 4.3: CSS_GROWTH_DIVISOR.
const CSS_GROWTH_DIVISOR: usize = 4;

/// RFC 9406 section 4.3: CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;

/// Watches the round-trip times of slow start. Where they grow from one round to the next, the
/// window grows at a quarter of the pace (Conservative Slow Start, CSS) until that proves to be a
/// false alarm, or has lasted long enough to end slow start.
#[derive(Debug, Default)]
pub(crate) struct HyStart {
    round_end: u64,
    /// Whether the first round has begun.
    is_counting: bool,
    samples: u32,
    lowest: Option<Duration>,
    lowest_of_last_round: Option<Duration>,
    conservative: Option<Conservative>,
}

#[derive(Debug)]
struct Conservative {
    baseline: Duration,
    rounds: u32,
}

impl HyStart {
    /// What the window of slow start may grow by instead of `growth`; `None` when slow start is
    /// over.
    pub(crate) fn admit(&mut self, ack: &Ack, growth: usize) -> Option<usize> {
        let Some(sample) = ack.sample else { return Some(growth) };
        if sample.prior_delivered >= self.round_end || !self.is_counting {
            self.begin_round(ack);
        }
        if let Some(rtt) = sample.rtt {
            self.samples += 1;
            self.lowest = Some(self.lowest.map_or(rtt, |lowest| lowest.min(rtt)));
        }
        self.judge();
        match &self.conservative {
            None => Some(growth),
            Some(css) if css.rounds < CSS_ROUNDS => Some(growth / CSS_GROWTH_DIVISOR),
            Some(_) => None,
        }
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.is_counting = true;
        self.round_end = ack.delivered;
        self.lowest_of_last_round = self.lowest.take();
        self.samples = 0;
        if let Some(css) = &mut self.conservative {
            css.rounds += 1;
        }
    }

    /// RFC 9406 section 4.2: CSS begins when the lowest round trip of this round exceeds the last
    /// round's by an eighth, and was a false alarm when it falls below that again.
    fn judge(&mut self) {
        let (Some(lowest), true) = (self.lowest, self.samples >= RTT_SAMPLES) else { return };
        if let Some(css) = &self.conservative {
            if lowest < css.baseline {
                self.conservative = None;
            }
            return;
        }
        let Some(last) = self.lowest_of_last_round else { return };
        let threshold = (last / RTT_DIVISOR).clamp(RTT_THRESH.0, RTT_THRESH.1);
        if lowest >= last + threshold {
            self.conservative = Some(Conservative { baseline: lowest, rounds: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Time;

    use super::*;
    use crate::testing::ack_with_rtt;

    /// One round of ten SACKs with this round-trip time; returns what the window may grow by.
    fn round(hystart: &mut HyStart, number: u64, rtt_ms: u64) -> Option<usize> {
        let mut growth = Some(0);
        for n in 0..10 {
            let delivered = (number * 10 + n + 1) * 1_000;
            let ack = ack_with_rtt(Time::ZERO, delivered, 10_000, Duration::from_millis(rtt_ms));
            growth = hystart.admit(&ack, 1_000);
        }
        growth
    }

    #[test]
    fn a_steady_round_trip_leaves_slow_start_alone() {
        let mut hystart = HyStart::default();
        assert!((0..20).all(|number| round(&mut hystart, number, 50) == Some(1_000)));
    }

    #[test]
    fn a_growing_round_trip_slows_growth_and_ends_slow_start_after_five_rounds() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 0, 50);
        round(&mut hystart, 1, 50);
        assert_eq!(round(&mut hystart, 2, 57), Some(250), "50 / 8 = 6.25 ms more");
        assert!((3..7).all(|number| round(&mut hystart, number, 60) == Some(250)));
        assert_eq!(round(&mut hystart, 7, 60), None);
    }

    #[test]
    fn a_false_alarm_resumes_slow_start() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 0, 50);
        round(&mut hystart, 1, 50);
        round(&mut hystart, 2, 60);
        assert_eq!(round(&mut hystart, 3, 50), Some(1_000));
    }
}
