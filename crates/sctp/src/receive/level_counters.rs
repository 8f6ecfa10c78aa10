//! [`LevelCounters`]: how long messages of each level wait to be read.

use std::time::Duration;

use anabranch_wire::Level;

use crate::stats::LevelStats;

/// Counters of all levels.
#[derive(Debug, Default)]
pub(super) struct LevelCounters([OfLevel; Level::ALL.len()]);

#[derive(Debug, Default)]
struct OfLevel {
    waiting: usize,
    waiting_bytes: usize,
    read: u64,
    dropped: u64,
    delays: Delays,
}

impl LevelCounters {
    pub(super) const fn on_push(&mut self, level: Level, len: usize) {
        let counters = &mut self.0[level.index()];
        counters.waiting += 1;
        counters.waiting_bytes += len;
    }

    pub(super) const fn on_remove(&mut self, level: Level, len: usize) {
        let counters = &mut self.0[level.index()];
        counters.waiting -= 1;
        counters.waiting_bytes -= len;
    }

    pub(super) const fn on_drop(&mut self, level: Level) {
        self.0[level.index()].dropped += 1;
    }

    pub(super) fn on_read(&mut self, level: Level, len: usize, delay: Duration) {
        self.on_remove(level, len);
        let counters = &mut self.0[level.index()];
        counters.read += 1;
        counters.delays.add(delay);
    }

    pub(super) fn stats(&self) -> [LevelStats; Level::ALL.len()] {
        std::array::from_fn(|index| {
            let OfLevel { waiting, waiting_bytes, read, dropped, ref delays } = self.0[index];
            let (delay_p50, delay_p99) = (delays.quantile(0.5), delays.quantile(0.99));
            LevelStats { waiting, waiting_bytes, read, dropped, delay_p50, delay_p99 }
        })
    }
}

/// Four of them double the delay.
const STEPS_PER_OCTAVE: u32 = 4;

/// From 16 us on, which is the first step's end, to 16 s.
const STEPS: usize = 20 * STEPS_PER_OCTAVE as usize + 1;
const FIRST_MICROS: f64 = 16.0;

/// How many delays were of which length, to a fifth.
#[derive(Debug)]
struct Delays {
    steps: [u32; STEPS],
    count: u32,
}

impl Default for Delays {
    fn default() -> Self {
        Self { steps: [0; STEPS], count: 0 }
    }
}

impl Delays {
    fn add(&mut self, delay: Duration) {
        let octaves = (delay.as_secs_f64() * 1e6 / FIRST_MICROS).max(1.0).log2();
        let step = (octaves * f64::from(STEPS_PER_OCTAVE)).ceil() as usize;
        self.steps[step.min(STEPS - 1)] += 1;
        self.count += 1;
        if self.count == u32::MAX {
            self.fade();
        }
    }

    /// What was long ago counts half, before a counter overflows.
    fn fade(&mut self) {
        self.steps.iter_mut().for_each(|step| *step /= 2);
        self.count = self.steps.iter().sum();
    }

    /// The end of the step that the quantile is in; zero where nothing waited for longer than the
    /// first.
    fn quantile(&self, share: f64) -> Duration {
        let rank = (f64::from(self.count) * share).ceil() as u32;
        let mut below = 0;
        let step = self.steps.iter().position(|count| {
            below += count;
            below >= rank
        });
        match step {
            None | Some(0) => Duration::ZERO,
            Some(step) => {
                let octaves = step as f64 / f64::from(STEPS_PER_OCTAVE);
                Duration::from_secs_f64(FIRST_MICROS * octaves.exp2() / 1e6)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_fifth_above_what_was_measured() {
        let mut delays = Delays::default();
        assert_eq!(delays.quantile(0.5), Duration::ZERO, "nothing was read");
        for millis in 1..=100 {
            delays.add(Duration::from_millis(millis));
        }
        for (share, millis) in [(0.5, 50.0), (0.99, 99.0)] {
            let ratio = delays.quantile(share).as_secs_f64() * 1e3 / millis;
            assert!((1.0..1.2).contains(&ratio), "{ratio} at {share}");
        }
    }

    #[test]
    fn what_did_not_wait_counts_as_nothing_and_what_waited_long_as_the_last_step() {
        let mut delays = Delays::default();
        delays.add(Duration::from_micros(9));
        assert_eq!(delays.quantile(0.99), Duration::ZERO);
        (0..99).for_each(|_| delays.add(Duration::from_secs(3_600)));
        let longest = delays.quantile(0.5).as_secs_f64();
        assert!((16.0..17.0).contains(&longest), "{longest}");
    }

    #[test]
    fn counters_that_would_overflow_keep_their_shares() {
        let mut delays = Delays { count: u32::MAX - 1, ..Delays::default() };
        delays.steps[40] = u32::MAX - 1;
        delays.add(Duration::ZERO);
        assert!(delays.count > u32::MAX / 2 - 2 && delays.count < u32::MAX / 2 + 2);
    }
}
