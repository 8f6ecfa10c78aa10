//! What the model makes of itself: a pacing rate and a window.

use std::time::Duration;

use super::{Bbr, HEADROOM, PACING_MARGIN, State, Step, share};

/// BBR.StartupPacingGain.
pub(super) const STARTUP_PACING_GAIN: f64 = 2.77;

/// The gain of a Startup that begins anew on a path which was full: its queue, which others may
/// use, shall not overflow before it shows.
pub(super) const RESTART_PACING_GAIN: f64 = 1.5;

/// BBR.DefaultCwndGain.
const DEFAULT_CWND_GAIN: f64 = 2.0;

/// The round trip that counts until one was measured.
const FIRST_RTT: Duration = Duration::from_millis(250);

/// C.send_quantum: a millisecond's worth, at most 64 KiB and at least two packets.
const SEND_QUANTUM: (f64, usize) = (0.001, 64 << 10);

impl Bbr {
    /// BBR.pacing_gain.
    pub(super) const fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.startup_gain,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    /// BBR.cwnd_gain.
    const fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => 2.25,
            State::ProbeRtt => 0.5,
            State::Startup | State::Drain | State::Down | State::Cruise | State::Refill => {
                DEFAULT_CWND_GAIN
            }
        }
    }

    /// InitPacingRate: the initial window in a round trip, or the rate to start at.
    pub(super) fn init_pacing_rate(&mut self, rtt: Duration) {
        let seconds = rtt.as_secs_f64().max(1e-6);
        let by_window = STARTUP_PACING_GAIN * self.initial_cwnd as f64 / seconds;
        self.pacing_rate = by_window.max(self.parameters.start_rate);
    }

    /// What Startup may have in flight at the rate to start at, until the path is known.
    pub(super) fn start_window(&self) -> usize {
        if self.full_pipe.reached {
            return 0;
        }
        let rtt = self.min_rtt.lowest().unwrap_or(FIRST_RTT);
        let span = rtt.mul_f64(DEFAULT_CWND_GAIN) + self.parameters.patience;
        (self.parameters.start_rate * span.as_secs_f64()) as usize
    }

    /// SetPacingRateWithGain.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw * PACING_MARGIN;
        if rate > 0.0 && (self.full_pipe.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// The pace is at least what the smallest window brings in a round trip: that window bounds
    /// what is in flight, and an estimate from before the clock jumped would hold the path for
    /// minutes.
    pub(super) fn pace(&self) -> f64 {
        let least = |rtt: Duration| self.min_pipe_cwnd() as f64 / rtt.as_secs_f64().max(1e-6);
        self.pacing_rate.max(self.min_rtt.lowest().map_or(0.0, least))
    }

    /// BDPMultiple.
    pub(super) fn bdp_multiple(&self, bw: f64, gain: f64) -> usize {
        let Some(min_rtt) = self.min_rtt.lowest() else { return self.initial_cwnd };
        (gain * bw * min_rtt.as_secs_f64()) as usize
    }

    /// Inflight.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> usize {
        self.with_quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// QuantizationBudget: with one send quantum for offloading at the sender.
    fn with_quantization_budget(&self, inflight_cap: usize) -> usize {
        let (seconds, bytes_max) = SEND_QUANTUM;
        let quantum = ((self.pacing_rate * seconds) as usize).min(bytes_max).max(2 * self.smss);
        let cap = inflight_cap.max(quantum).max(self.min_pipe_cwnd());
        if self.state == State::Up { cap + 2 * self.smss } else { cap }
    }

    /// TargetInflight.
    pub(super) fn target_inflight(&self) -> usize {
        self.bdp_multiple(self.bw, 1.0).min(self.cwnd)
    }

    /// InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> usize {
        let longterm = self.bounds.inflight_longterm;
        if longterm == usize::MAX {
            return longterm;
        }
        let headroom = share(longterm, HEADROOM).max(self.smss);
        longterm.saturating_sub(headroom).max(self.min_pipe_cwnd())
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&mut self, step: &Step) {
        let cap = self.bdp_multiple(self.bw, self.cwnd_gain()) + self.aggregation.extra_acked();
        let max_inflight = self.with_quantization_budget(cap);
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + step.acked).min(max_inflight);
        } else if self.cwnd < max_inflight || step.delivered < self.initial_cwnd as u64 {
            self.cwnd += step.acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> usize {
        self.bdp_multiple(self.bw, 0.5).max(self.min_pipe_cwnd())
    }

    /// BoundCwndForModel.
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => usize::MAX,
        };
        let cap = cap.min(self.bounds.inflight_shortterm).max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap);
    }
}
