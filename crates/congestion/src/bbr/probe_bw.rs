//! ProbeBW: the cycle of Down, Cruise, Refill and Up.

use std::time::Duration;

use anabranch_sansio::{Rng, Time};

use super::{Bbr, State, Step};

/// The least wall-clock time between two probes for bandwidth, and what is added at random.
const PROBE_WAIT: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(1));

/// Round trips after which a flow probes as soon as Reno would have.
const RENO_ROUNDS_MAX: u64 = 63;

/// Doublings after which the growth of `inflight_longterm` stays as it is.
const PROBE_UP_ROUNDS_MAX: u32 = 30;

/// The state of probing for bandwidth.
#[derive(Debug)]
pub(super) struct ProbeBw {
    rng: Rng,
    ack_phase: AckPhase,
    pub(super) is_bw_probe_sample: bool,
    pub(super) prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    pub(super) rounds_since_probe_up: u64,
    bw_probe_wait: Duration,
    cycle_stamp: Time,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: usize,
    probe_up_acked_per_inc: usize,
}

/// BBR.ack_phase: what acknowledgements tell about the last probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl ProbeBw {
    pub(super) const fn new(rng: Rng) -> Self {
        Self {
            rng,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            rounds_since_probe_up: 0,
            bw_probe_wait: Duration::ZERO,
            cycle_stamp: Time::ZERO,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: usize::MAX,
        }
    }

    /// What comes now is no feedback on a probe.
    pub(super) const fn stop_probing(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }

    /// PickProbeWait: flows that share a link shall not probe in step.
    fn pick_wait(&mut self) {
        self.rounds_since_probe_up = self.rng.range(0..2);
        self.bw_probe_wait = PROBE_WAIT.0 + PROBE_WAIT.1.mul_f64(self.rng.unit());
    }
}

impl Bbr {
    /// Has the next acknowledgement probe, if the model waits for the time to come. Returns whether
    /// it did.
    pub(crate) fn probe_now(&mut self) -> bool {
        let is_waiting = self.state == State::Cruise;
        if is_waiting {
            self.probe_bw.bw_probe_wait = Duration::ZERO;
        }
        is_waiting
    }

    /// StartProbeBW_DOWN.
    pub(super) fn start_probe_bw_down(&mut self, now: Time, delivered: u64) {
        self.signals.reset();
        self.probe_bw.probe_up_acked_per_inc = usize::MAX;
        self.probe_bw.pick_wait();
        self.probe_bw.cycle_stamp = now;
        self.probe_bw.stop_probing();
        self.rounds.begin(delivered);
        self.state = State::Down;
    }

    /// StartProbeBW_REFILL.
    pub(super) const fn start_probe_bw_refill(&mut self, delivered: u64) {
        self.bounds.reset_shortterm();
        self.probe_bw.bw_probe_up_rounds = 0;
        self.probe_bw.bw_probe_up_acked = 0;
        self.probe_bw.prev_probe_precautionary = false;
        self.probe_bw.ack_phase = AckPhase::Refilling;
        self.rounds.begin(delivered);
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_probe_bw_up(&mut self, step: &Step) {
        self.probe_bw.ack_phase = AckPhase::ProbeStarting;
        self.rounds.begin(step.delivered);
        self.full_pipe.reset(step.rate);
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, step: &Step) {
        if !self.full_pipe.reached || self.adapt_long_term_model(step) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe_bw(step.now) => {
                self.start_probe_bw_refill(step.delivered);
            }
            State::Down if self.is_time_to_cruise(step.flight) => self.state = State::Cruise,
            // "After one round of REFILL, start UP".
            State::Refill if self.rounds.start => {
                self.probe_bw.is_bw_probe_sample = true;
                self.start_probe_bw_up(step);
            }
            State::Up => self.update_probe_bw_up(step),
            State::Startup | State::Drain | State::Down | State::Cruise => {}
            State::Refill | State::ProbeRtt => {}
        }
    }

    fn update_probe_bw_up(&mut self, step: &Step) {
        if self.is_time_to_go_down(step) {
            self.probe_bw.prev_probe_too_high = false;
            self.start_probe_bw_down(step.now, step.delivered);
        }
    }

    /// After ProbeRTT the queue is known to be empty.
    pub(super) const fn start_probe_bw_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// IsTimeToProbeBW.
    fn is_time_to_probe_bw(&self, now: Time) -> bool {
        let probe = &self.probe_bw;
        // "reno_rounds = TargetInflight()", in packets: Reno needs as many round trips to get back.
        let reno_rounds = (self.target_inflight() / self.smss) as u64;
        now > probe.cycle_stamp + probe.bw_probe_wait
            || probe.rounds_since_probe_up >= reno_rounds.min(RENO_ROUNDS_MAX)
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self, flight: usize) -> bool {
        flight <= self.inflight_with_headroom() && flight <= self.inflight(self.max_bw.max(), 1.0)
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, step: &Step) -> bool {
        let longterm = self.bounds.inflight_longterm;
        if self.probe_bw.prev_probe_too_high && step.flight >= longterm {
            self.probe_bw.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= longterm {
            self.full_pipe.reset(step.rate);
            return false;
        }
        self.full_pipe.now
    }

    /// RaiseInflightLongtermSlope.
    fn raise_inflight_longterm_slope(&mut self) {
        let probe = &mut self.probe_bw;
        let growth = 1_usize << probe.bw_probe_up_rounds;
        probe.bw_probe_up_rounds = (probe.bw_probe_up_rounds + 1).min(PROBE_UP_ROUNDS_MAX);
        probe.probe_up_acked_per_inc = (self.cwnd / growth).max(self.smss);
    }

    /// ProbeInflightLongtermUpward.
    fn probe_inflight_longterm_upward(&mut self, step: &Step) {
        if !self.is_cwnd_limited() || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        let probe = &mut self.probe_bw;
        probe.bw_probe_up_acked += step.acked;
        let delta = probe.bw_probe_up_acked / probe.probe_up_acked_per_inc;
        probe.bw_probe_up_acked -= delta * probe.probe_up_acked_per_inc;
        self.bounds.inflight_longterm += delta * self.smss;
        if self.rounds.start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// AdaptLongTermModel: whether it decided a change of state.
    fn adapt_long_term_model(&mut self, step: &Step) -> bool {
        if self.probe_bw.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.probe_bw.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probe_bw.ack_phase == AckPhase::ProbeStopping && self.rounds.start {
            self.probe_bw.is_bw_probe_sample = false;
            self.probe_bw.ack_phase = AckPhase::Init;
            if self.is_in_probe_bw() && !step.sample.is_app_limited {
                self.max_bw.advance();
            }
            let probe = &self.probe_bw;
            let was_cautious = probe.prev_probe_precautionary && !probe.prev_probe_too_high;
            if self.is_in_probe_bw() && was_cautious {
                self.start_probe_bw_refill(step.delivered);
                return true;
            }
        }
        let is_bounded = self.bounds.inflight_longterm != usize::MAX;
        if is_bounded && !Self::is_inflight_too_high(step.sample.lost, step.sample.in_flight) {
            self.bounds.inflight_longterm =
                self.bounds.inflight_longterm.max(step.sample.in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(step);
            }
        }
        false
    }
}
