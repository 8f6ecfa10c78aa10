//! CUBIC (RFC 9438).

use std::time::Duration;

use anabranch_sansio::Time;

use crate::hystart::HyStart;
use crate::{Ack, CongestionController, ControllerMetrics, large_initial_window};

/// RFC 9438 section 4.2: C, in chunks per second cubed.
const C: f64 = 0.4;

/// RFC 9438 section 4.6: beta_cubic, what is left of the window after a loss.
const BETA: f64 = 0.7;

/// RFC 9438 section 4.3: alpha_cubic, 3 (1 - beta) / (1 + beta): the growth per round trip with
/// which a window that falls to beta gets as far on average as Reno's.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// RFC 9438 section 4.4: how far the window may grow within a round trip.
const GROWTH_PER_ROUND_MAX: f64 = 1.5;

/// RFC 9406 section 4.3: L, the chunks by which one SACK may raise the window in slow start.
const SLOW_START_CHUNKS_MAX: usize = 8;

/// CUBIC: after a loss the window returns to its old size in a time that does not depend on the
/// round trip, stays near it, and then looks for more.
///
/// The window is what most TCPs of today make of the same link, which is why it serves as the peer
/// in measures of fairness; under random loss it collapses nearly as Reno's does.
#[derive(Debug)]
pub struct Cubic {
    pmdcs: usize,
    /// alpha_cubic from when W_est is back at cwnd_prior (section 4.3).
    alpha_beyond: f64,
    /// What idling leaves of the window.
    initial: usize,
    /// Bytes, with the fraction that single SACKs add.
    cwnd: f64,
    ssthresh: f64,
    /// RFC 9438 section 4.1.2: W_max, in bytes.
    w_max: Option<f64>,
    /// RFC 9438 section 4.1.2: cwnd_prior, "Size of cwnd in segments at the time of setting
    /// ssthresh most recently", here in bytes. Fast convergence leaves it alone.
    cwnd_prior: Option<f64>,
    epoch: Option<Epoch>,
    hystart: HyStart,
    srtt: Duration,
    last_ack: Time,
    timed_out: bool,
    before_loss: Option<Box<BeforeLoss>>,
}

/// A stage of congestion avoidance, from the reduction of the window that began it.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Time,
    /// RFC 9438 section 4.2: K, the seconds until the window is back at the origin point.
    k: f64,
    /// The window at the plateau of the curve, in bytes.
    origin: f64,
    /// RFC 9438 section 4.3: W_est, in bytes.
    w_est: f64,
    /// From which on W_est grows as Reno's window (section 4.3).
    cwnd_prior: f64,
}

/// What a loss changed.
#[derive(Debug, Clone, Copy)]
struct BeforeLoss {
    cwnd: f64,
    ssthresh: f64,
    w_max: Option<f64>,
    cwnd_prior: Option<f64>,
    epoch: Option<Epoch>,
}

impl Cubic {
    /// A controller for a path whose DATA chunks have at most `pmdcs` bytes.
    #[must_use]
    pub fn new(pmdcs: usize) -> Self {
        let initial = large_initial_window(pmdcs);
        Self {
            pmdcs,
            // RFC 9438 section 4.3: "the sender SHOULD set alpha_cubic to 1 to ensure that it can
            // achieve the same congestion window increment rate as Reno".
            alpha_beyond: 1.0,
            initial,
            cwnd: initial as f64,
            ssthresh: f64::INFINITY,
            w_max: None,
            cwnd_prior: None,
            epoch: None,
            hystart: HyStart::default(),
            srtt: Duration::ZERO,
            last_ack: Time::ZERO,
            timed_out: false,
            before_loss: None,
        }
    }

    /// The same as RFC 8312 had it: in its section 4.2 W_est grows at one pace, also beyond the
    /// window before the loss. Under random loss this is as slow as Reno, where RFC 9438 is faster.
    #[must_use]
    pub fn rfc8312(pmdcs: usize) -> Self {
        Self { alpha_beyond: ALPHA, ..Self::new(pmdcs) }
    }

    fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn slow_start(&mut self, ack: &Ack) {
        let growth = ack.acked.min(SLOW_START_CHUNKS_MAX * self.pmdcs);
        // RFC 9406 section 4.3 recommends HyStart++ for the initial slow start alone: later ones
        // end at the threshold that was found.
        if self.ssthresh.is_finite() {
            self.cwnd += growth as f64;
            return;
        }
        match self.hystart.admit(ack, growth) {
            Some(growth) => self.cwnd += growth as f64,
            None => self.ssthresh = self.cwnd,
        }
    }

    /// RFC 9438 sections 4.3 to 4.5.
    fn congestion_avoidance(&mut self, ack: &Ack) {
        let pmdcs = self.pmdcs as f64;
        let (cwnd, srtt) = (self.cwnd, self.srtt.as_secs_f64());
        let begin = || {
            let cwnd_prior = self.cwnd_prior.unwrap_or(cwnd);
            Epoch { cwnd_prior, ..Epoch::begin(ack.now, cwnd, self.w_max, pmdcs) }
        };
        let epoch = self.epoch.get_or_insert_with(begin);
        let elapsed = (ack.now - epoch.start).as_secs_f64();
        let alpha = if epoch.w_est < epoch.cwnd_prior { ALPHA } else { self.alpha_beyond };
        epoch.w_est += alpha * pmdcs * ack.acked as f64 / cwnd;
        // RFC 9438 section 4.3: in the Reno-friendly region, where W_cubic(t) is below W_est, the
        // window is W_est.
        if epoch.w_cubic(elapsed, pmdcs) < epoch.w_est {
            self.cwnd = cwnd.max(epoch.w_est);
            return;
        }
        let target = epoch.w_cubic(elapsed + srtt, pmdcs);
        let target = target.clamp(cwnd, GROWTH_PER_ROUND_MAX * cwnd);
        self.cwnd += (target - cwnd) * ack.acked as f64 / cwnd;
    }

    /// RFC 9438 section 4.7, fast convergence: a window that did not get back to where it was gives
    /// way to whoever took its share.
    fn remember_maximum(&mut self) {
        let converges = self.w_max.is_some_and(|w_max| self.cwnd < w_max);
        self.w_max = Some(if converges { self.cwnd * (1.0 + BETA) / 2.0 } else { self.cwnd });
    }

    fn save(&mut self) {
        let Self { cwnd, ssthresh, w_max, cwnd_prior, epoch, .. } = *self;
        let before = BeforeLoss { cwnd, ssthresh, w_max, cwnd_prior, epoch };
        self.before_loss = Some(Box::new(before));
    }

    /// RFC 9438 section 4.6: ssthresh is beta of the window, and two chunks at least.
    fn reduce_threshold(&mut self) {
        self.ssthresh = (self.cwnd * BETA).max(2.0 * self.pmdcs as f64);
        self.cwnd_prior = Some(self.cwnd);
        self.epoch = None;
    }
}

impl Epoch {
    /// RFC 9438 section 4.2: K is the cube root of (W_max - cwnd_epoch) / C. Without a W_max above
    /// the window, as after a timeout (section 4.8) or a slow start that ended without loss, the
    /// curve begins at its plateau.
    fn begin(now: Time, cwnd: f64, w_max: Option<f64>, pmdcs: f64) -> Self {
        let origin = w_max.unwrap_or(cwnd).max(cwnd);
        let k = ((origin - cwnd) / pmdcs / C).cbrt();
        Self { start: now, k, origin, w_est: cwnd, cwnd_prior: cwnd }
    }

    /// RFC 9438 section 4.2: W_cubic(t) = C (t - K)^3 + W_max.
    fn w_cubic(&self, elapsed: f64, pmdcs: f64) -> f64 {
        self.origin + C * (elapsed - self.k).powi(3) * pmdcs
    }
}

impl CongestionController for Cubic {
    /// As for RFC 9260's controller, only one packet may be in flight after a timeout.
    fn window(&self) -> usize {
        if self.timed_out { 1 } else { self.cwnd as usize }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.timed_out = false;
        let since_last = ack.now - self.last_ack;
        self.last_ack = ack.now;
        if let Some(rtt) = ack.rtt {
            let first = self.srtt.is_zero();
            self.srtt = if first { rtt } else { self.srtt * 7 / 8 + rtt / 8 };
        }
        let utilized = ack.flight_before + self.pmdcs > self.cwnd as usize;
        if !utilized || ack.in_recovery {
            // RFC 9438 section 5.8: time in which the application does not use the window does not
            // count.
            if let Some(epoch) = &mut self.epoch {
                epoch.start += since_last;
            }
            return;
        }
        if self.is_in_slow_start() {
            self.slow_start(ack);
        } else {
            self.congestion_avoidance(ack);
        }
    }

    fn on_loss(&mut self, _now: Time) {
        self.save();
        self.remember_maximum();
        self.reduce_threshold();
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, _now: Time) {
        self.save();
        self.w_max = None;
        self.reduce_threshold();
        self.cwnd = self.pmdcs as f64;
        self.timed_out = true;
    }

    /// RFC 9438 section 4.9: all that the loss changed is restored, unless the window has grown
    /// beyond it meanwhile.
    fn undo_loss(&mut self, _now: Time) {
        let Some(before) = self.before_loss.take() else { return };
        if self.cwnd >= before.cwnd {
            return;
        }
        let BeforeLoss { cwnd, ssthresh, w_max, cwnd_prior, epoch } = *before;
        (self.cwnd, self.ssthresh, self.epoch) = (cwnd, ssthresh, epoch);
        (self.w_max, self.cwnd_prior) = (w_max, cwnd_prior);
        self.timed_out = false;
    }

    /// RFC 9260 section 7.2.1 on idle paths: the window halves per timeout, and what it was is the
    /// threshold up to which it grows quickly again.
    fn on_idle(&mut self, periods: u32) {
        let floor = self.initial as f64;
        if periods == 0 || self.cwnd <= floor {
            return;
        }
        self.ssthresh = self.cwnd;
        self.cwnd = (self.cwnd * 0.5_f64.powf(f64::from(periods))).max(floor);
        self.epoch = None;
    }

    fn on_mtu(&mut self, pmdcs: usize) {
        self.pmdcs = pmdcs;
        // The curve is one of packets.
        self.epoch = None;
    }

    fn metrics(&self) -> ControllerMetrics {
        ControllerMetrics {
            window: self.cwnd as usize,
            ssthresh: self.ssthresh.is_finite().then_some(self.ssthresh as usize),
            slow_start: self.is_in_slow_start(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const PMDCS: usize = 1_000;

    /// A controller that lost something at this window, with its first SACK after that at 0 s.
    fn after_loss_at(chunks: usize) -> Cubic {
        let mut cubic = Cubic::new(PMDCS);
        cubic.cwnd = (chunks * PMDCS) as f64;
        cubic.on_loss(Time::ZERO);
        cubic
    }

    /// Acknowledges a window every 100 ms until `end`.
    fn run(cubic: &mut Cubic, from: Time, end: Time) {
        let mut now = from;
        while now < end {
            let window = cubic.window();
            for n in 0..window / PMDCS {
                let at = now + Duration::from_millis(100) * n as u32 / (window / PMDCS) as u32;
                let ack = testing::ack(at, PMDCS, cubic.window());
                cubic.on_ack(&Ack { rtt: Some(Duration::from_millis(100)), ..ack });
            }
            now += Duration::from_millis(100);
        }
    }

    fn chunks(cubic: &Cubic) -> f64 {
        cubic.cwnd / PMDCS as f64
    }

    #[test]
    fn a_loss_leaves_seven_tenths() {
        assert_eq!(after_loss_at(100).window(), 70_000);
        assert_eq!(after_loss_at(2).window(), 2_000, "never under two chunks");
    }

    #[test]
    fn the_window_is_back_after_k_seconds_and_flat_around_it() {
        // K = cbrt(1000 * 0.3 / 0.4) = 9.09 s
        let mut cubic = after_loss_at(1_000);
        run(&mut cubic, Time::ZERO, Time::from_secs(4));
        let early = chunks(&cubic);
        // W_cubic(4) = 0.4 * (4 - 9.09)^3 + 1000 = 947
        assert!((940.0..955.0).contains(&early), "{early}");
        run(&mut cubic, Time::from_secs(4), Time::from_millis(9_100));
        assert!((998.0..1_001.0).contains(&chunks(&cubic)), "{}", chunks(&cubic));
        run(&mut cubic, Time::from_millis(9_100), Time::from_secs(14));
        // W_cubic(14) = 0.4 * 4.91^3 + 1000 = 1047
        assert!((1_040.0..1_055.0).contains(&chunks(&cubic)), "{}", chunks(&cubic));
    }

    #[test]
    fn a_small_window_grows_as_reno_would() {
        // K = cbrt(10 * 0.3 / 0.4) = 1.96 s, but Reno is there in 30 round trips of 10 ms.
        let mut cubic = after_loss_at(10);
        let mut now = Time::ZERO;
        for _ in 0..100 {
            for _ in 0..cubic.window() / PMDCS {
                let ack = testing::ack(now, PMDCS, cubic.window());
                cubic.on_ack(&Ack { rtt: Some(Duration::from_millis(10)), ..ack });
            }
            now += Duration::from_millis(10);
        }
        // 7 + 0.53 a round up to 10, then 1 a round, about 94 rounds.
        assert!(chunks(&cubic) > 80.0, "{}", chunks(&cubic));
    }

    /// After a timeout it had ended slow start long before the threshold.
    #[test]
    fn growing_round_trips_end_only_the_first_slow_start() {
        let grown = |mut cubic: Cubic| {
            for n in 0..400_u32 {
                let rtt = Duration::from_millis(50 + 20 * (u64::from(n) / 20));
                let delivered = (u64::from(n) + 1) * PMDCS as u64;
                let ack = testing::ack_with_rtt(Time::ZERO, delivered, 10_000, rtt);
                cubic.on_ack(&Ack { flight_before: cubic.window(), ..ack });
            }
            cubic
        };
        let first = grown(Cubic::new(PMDCS));
        assert!(first.ssthresh.is_finite() && first.cwnd < 200_000.0, "{}", chunks(&first));
        let mut later = Cubic::new(PMDCS);
        later.cwnd = 1_000_000.0;
        later.on_timeout(Time::ZERO);
        assert_eq!(chunks(&grown(later)), 401.0);
    }

    /// Acknowledges windows of a path of 10 ms; returns by how many chunks the last one grew.
    fn growth_of_round(cubic: &mut Cubic, rounds: u32) -> f64 {
        let mut grown = 0.0;
        for round in 0..rounds {
            let before = chunks(cubic);
            let now = Time::from_millis(10 * u64::from(round));
            for _ in 0..cubic.window() / PMDCS {
                let ack = testing::ack(now, PMDCS, cubic.window());
                cubic.on_ack(&Ack { rtt: Some(Duration::from_millis(10)), ..ack });
            }
            grown = chunks(cubic) - before;
        }
        grown
    }

    /// Fast convergence had lowered it together with W_max, and the window grew too fast too soon.
    #[test]
    fn fast_convergence_leaves_the_window_from_which_growth_is_renos() {
        let mut cubic = after_loss_at(100);
        cubic.cwnd = 20_000.0;
        cubic.on_loss(Time::ZERO);
        assert_eq!((cubic.w_max, cubic.window()), (Some(17_000.0), 14_000));
        // 14 chunks and 0.53 a round are 18 after 8 rounds: beyond W_max, below the 20 before.
        let growth = growth_of_round(&mut cubic, 8);
        assert!((0.45..0.6).contains(&growth), "{growth}");
    }

    #[test]
    fn only_rfc9438_grows_as_reno_beyond_the_old_window() {
        let after = |mut cubic: Cubic| {
            cubic.cwnd = 10_000.0;
            cubic.on_loss(Time::ZERO);
            growth_of_round(&mut cubic, 40)
        };
        let (new, old) = (after(Cubic::new(PMDCS)), after(Cubic::rfc8312(PMDCS)));
        assert!((0.9..1.1).contains(&new), "{new}");
        assert!((0.45..0.6).contains(&old), "{old}");
    }

    #[test]
    fn the_window_grows_by_half_a_round_trip_at_most() {
        let mut cubic = after_loss_at(100);
        run(&mut cubic, Time::ZERO, Time::from_millis(100));
        let before = cubic.cwnd;
        run(&mut cubic, Time::from_secs(100), Time::from_millis(100_100));
        assert!(cubic.cwnd <= 1.7 * before && cubic.cwnd > 1.3 * before, "{}", chunks(&cubic));
    }

    #[test]
    fn a_second_loss_below_the_old_maximum_gives_way() {
        let mut cubic = after_loss_at(100);
        cubic.on_loss(Time::ZERO);
        assert_eq!(cubic.w_max, Some(70_000.0 * 0.85));
        let mut grown = after_loss_at(100);
        grown.cwnd = 120_000.0;
        grown.on_loss(Time::ZERO);
        assert_eq!(grown.w_max, Some(120_000.0));
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_begins_its_curve_at_the_plateau() {
        let mut cubic = Cubic::new(PMDCS);
        cubic.cwnd = 100_000.0;
        cubic.on_timeout(Time::ZERO);
        assert_eq!((cubic.window(), cubic.metrics().ssthresh), (1, Some(70_000)));
        cubic.on_ack(&testing::ack(Time::ZERO, PMDCS, PMDCS));
        assert_eq!(cubic.window(), 2_000, "slow start");
        cubic.cwnd = 70_000.0;
        cubic.on_ack(&testing::ack(Time::ZERO, PMDCS, 70_000));
        assert_eq!(cubic.epoch.map(|epoch| (epoch.k, epoch.origin)), Some((0.0, 70_000.0)));
    }

    #[test]
    fn a_spurious_loss_is_undone_unless_the_window_has_grown_beyond() {
        let mut cubic = after_loss_at(100);
        cubic.undo_loss(Time::ZERO);
        assert_eq!((cubic.window(), cubic.w_max, cubic.ssthresh), (100_000, None, f64::INFINITY));
        let mut grown = after_loss_at(100);
        grown.cwnd = 110_000.0;
        grown.undo_loss(Time::ZERO);
        assert_eq!(grown.window(), 110_000);
    }

    #[test]
    fn a_window_that_is_not_used_neither_grows_nor_ages() {
        let mut cubic = after_loss_at(1_000);
        run(&mut cubic, Time::ZERO, Time::from_secs(1));
        let before = cubic.cwnd;
        for second in 1..100 {
            cubic.on_ack(&testing::ack(Time::from_secs(second), PMDCS, 10_000));
        }
        run(&mut cubic, Time::from_secs(99), Time::from_millis(99_100));
        assert!(chunks(&cubic) < before / PMDCS as f64 + 15.0, "{}", chunks(&cubic));
    }
}
