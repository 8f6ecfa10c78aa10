//! [`PcrMeter`]: how evenly the clock references of a stream arrive, or leave.

use std::f64::consts::TAU;
use std::time::Duration;

use anabranch_sansio::Time;

use super::packet::{Packet, Pcr, Pid};
use crate::Distribution;

/// Slower wander than this is drift between two clocks, which a decoder follows; faster is jitter
/// (ETSI TR 101 290 section I.4.3, profile MGF2).
const DEMARCATION_HZ: f64 = 0.1;

/// References until the drift is known well enough to tell jitter from it.
const SETTLING: u64 = 10;

/// A step of more is another clock, whatever the flags say: ISO/IEC 13818-1 section 2.7.2 wants a
/// reference every 0.1 s.
const STEP_MAX: Duration = Duration::from_secs(1);

/// Compares each PCR with the time at which its packet passes.
///
/// Measured is the overall jitter of ETSI TR 101 290: the distance of each passing time from where
/// a second-order loop, which follows slow drift, expects it. Of a stream of several programs, the
/// first clock that comes is measured.
#[derive(Debug, Default)]
pub struct PcrMeter {
    pid: Option<Pid>,
    last: Option<Passage>,
    lock: Loop,
    jitter: Distribution,
    intervals: Distribution,
    restarts: u64,
}

#[derive(Debug, Clone, Copy)]
struct Passage {
    at: Time,
    pcr: Pcr,
}

impl PcrMeter {
    /// A meter that waits for its first PCR.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A packet passes at `at`.
    pub fn on_packet(&mut self, at: Time, packet: &Packet) {
        if packet.transport_error() {
            return;
        }
        let Some(pcr) = packet.pcr() else { return };
        if *self.pid.get_or_insert(packet.pid()) != packet.pid() {
            return;
        }
        let last = self.last.replace(Passage { at, pcr });
        let Some(last) = last else { return };
        let ticks = pcr.ticks_since(last.pcr);
        let interval = Pcr::duration(ticks.unsigned_abs());
        let passed = at - last.at;
        if packet.discontinuity() || ticks <= 0 || interval.max(passed) > STEP_MAX {
            self.restarts += 1;
            self.lock = Loop::default();
            return;
        }
        self.intervals.record(interval);
        let error = self.lock.advance(interval.as_secs_f64(), passed.as_secs_f64());
        if self.lock.steps > SETTLING {
            self.jitter.record(Duration::from_secs_f64(error.abs()));
        }
    }

    /// Distances between where the references passed and where they should have.
    #[must_use]
    pub const fn jitter(&self) -> &Distribution {
        &self.jitter
    }

    /// Distances between the references themselves.
    #[must_use]
    pub const fn intervals(&self) -> &Distribution {
        &self.intervals
    }

    /// Times that the clock of the stream jumped.
    #[must_use]
    pub const fn restarts(&self) -> u64 {
        self.restarts
    }
}

/// Follows phase and rate of one clock on another.
#[derive(Debug, Default)]
struct Loop {
    steps: u64,
    /// How far the last passage was behind the expected one, after correction.
    phase: f64,
    /// Seconds that the stream's clock loses each second.
    drift: f64,
}

impl Loop {
    /// A reference that is `interval` after the last one passes `passed` after it; returns how much
    /// later that is than expected.
    fn advance(&mut self, interval: f64, passed: f64) -> f64 {
        self.steps += 1;
        self.phase += passed - interval * (1.0 + self.drift);
        let error = self.phase;
        let (alpha, beta) = self.gains(interval);
        self.phase -= alpha * error;
        self.drift += beta * error / interval;
        error
    }

    /// Critically damped at the demarcation frequency; at first, as a least-squares fit of all
    /// steps so far.
    fn gains(&self, interval: f64) -> (f64, f64) {
        let n = self.steps as f64 + 1.0;
        let fit = (2.0 * (2.0 * n - 1.0) / (n * (n + 1.0)), 6.0 / (n * (n + 1.0)));
        let theta = (-TAU * DEMARCATION_HZ * interval).exp();
        let steady = (1.0 - theta * theta, (1.0 - theta) * (1.0 - theta));
        (fit.0.max(steady.0), fit.1.max(steady.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::packet::build::with_adaptation;
    use anabranch_sansio::Rng;

    /// References each 20 ms on a clock that is `ppm` fast, passing up to `jitter_us` late.
    fn measure(ppm: f64, jitter_us: f64) -> PcrMeter {
        let mut rng = Rng::from_u64(6);
        let mut meter = PcrMeter::new();
        for i in 0..3_000 {
            let time = f64::from(i) * 0.02;
            let pcr = Pcr::from_ticks(Pcr::MODULUS - 27_000_000 + (time * 27e6) as u64);
            let at = time * (1.0 + ppm * 1e-6) + rng.unit() * jitter_us * 1e-6;
            let packet = with_adaptation(0x100, false, 0, 0, Some(pcr), &[]);
            meter.on_packet(Time::from_nanos((at * 1e9) as u64), &packet);
        }
        meter
    }

    #[test]
    fn drift_alone_is_no_jitter() {
        for ppm in [-100.0, 0.0, 100.0] {
            let meter = measure(ppm, 0.0);
            assert!(meter.jitter().max() <= Duration::from_micros(2), "{ppm} ppm");
            assert_eq!(meter.restarts(), 0, "the wrap is no jump");
        }
    }

    #[test]
    fn jitter_is_measured_with_and_without_drift() {
        for ppm in [0.0, 50.0] {
            // Evenly distributed over 1000 us: at most 500 from the middle, half within 250.
            let summary = measure(ppm, 1_000.0).jitter().summary();
            assert!((200..310).contains(&summary.p50_us), "{summary:?}");
            assert!((480..800).contains(&summary.max_us), "{summary:?}");
        }
    }

    #[test]
    fn a_jump_of_the_clock_starts_the_measure_anew() {
        let mut meter = measure(0.0, 0.0);
        let jump = with_adaptation(0x100, false, 0, 0, Some(Pcr::from_ticks(1)), &[]);
        meter.on_packet(Time::from_secs(60), &jump);
        assert_eq!(meter.restarts(), 1);
        assert!(meter.jitter().max() <= Duration::from_micros(2));
        assert_eq!(meter.intervals().summary().p50_us.abs_diff(20_000) / 200, 0);
    }

    #[test]
    fn another_programs_clock_is_left_alone() {
        let mut meter = measure(0.0, 0.0);
        let other = with_adaptation(0x200, false, 0, 0, Some(Pcr::from_ticks(1)), &[]);
        meter.on_packet(Time::from_secs(60), &other);
        assert_eq!(meter.restarts(), 0);
    }
}
