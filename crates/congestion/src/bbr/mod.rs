//! BBR, version 3 (draft-ietf-ccwg-bbr).
//!
//! The controller keeps a model of the path, the rate it delivers and the round trip without
//! queues, and sends at that rate with about one bandwidth-delay product in flight.
//! [`model`] measures, [`congestion`] bounds the model by what losses say, [`startup`],
//! [`probe_bw`] and [`probe_rtt`] are the states that look for more or less, [`control`] makes a
//! window and a pacing rate of it. Names are the draft's.

mod congestion;
mod control;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use std::time::Duration;

use anabranch_sansio::{Rate, Rng, Time};

use super::{
    Ack, CongestionController, ControllerMetrics, LostChunk, RateSample, SentData,
    large_initial_window,
};
use congestion::{Bounds, Signals, Undo};
use control::STARTUP_PACING_GAIN;
use model::{Aggregation, MaxBwFilter, Rounds};
use probe_bw::ProbeBw;
use probe_rtt::MinRtt;
use startup::FullPipe;

/// BBR.LossThresh: the share of a round trip's data that may be lost while bandwidth is probed.
const LOSS_THRESH: f64 = 0.02;

/// BBR.Beta: what a round trip with losses leaves of the short-term bounds at least.
const BETA: f64 = 0.7;

/// BBR.Headroom: the share of `inflight_longterm` that is left to others.
const HEADROOM: f64 = 0.15;

/// BBR.MinPipeCwnd, in chunks: what lets a peer that acknowledges every second packet do so.
const MIN_PIPE_CHUNKS: usize = 4;

/// BBR.PacingMarginPercent, as a factor: data goes out a little slower than the path delivers.
const PACING_MARGIN: f64 = 0.99;

/// BBR as its draft has it.
#[derive(Debug)]
pub struct Bbr {
    parameters: Parameters,
    /// C.SMSS: bytes of the longest DATA chunk.
    smss: usize,
    initial_cwnd: usize,
    state: State,
    cwnd: usize,
    prior_cwnd: usize,
    /// C.pacing_rate, in bytes per second.
    pacing_rate: f64,
    /// BBR.bw, in bytes per second.
    bw: f64,
    max_bw: MaxBwFilter,
    rounds: Rounds,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    /// BBR.StartupPacingGain, or less for a Startup that begins anew.
    startup_gain: f64,
    bounds: Bounds,
    signals: Signals,
    probe_bw: ProbeBw,
    min_rtt: MinRtt,
    undo: Option<Undo>,
    drain_start_round: u64,
    idle_restart: bool,
    /// C.is_cwnd_limited: whether the window was used up in this round trip, and in the last.
    is_cwnd_limited: [bool; 2],
    /// Neither delay nor loss speaks for a full path, so that a rate which grows no more is no
    /// reason to end Startup. The draft does not ask.
    is_below_capacity: bool,
    /// T3-rtx expired; the window is restored when this round trip is over.
    timed_out: Option<u64>,
    /// T3-rtx expired, and nothing was acknowledged since.
    is_silent: bool,
    /// Bytes sent since something was acknowledged.
    unanswered: usize,
    /// Timeouts in a row that had much to answer.
    silent_timeouts: u32,
}

/// What a controller built on the model may choose otherwise than the draft.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    /// A round trip of up to this many times the lowest one shows that the queue is empty, so that
    /// the window need not be cut to find out.
    pub(super) min_rtt_tolerance: f64,
    /// In bytes per second: as fast as this, Startup need not find out first what the path carries.
    pub(super) start_rate: f64,
    /// How much longer than the draft says, at the rate of the model, data may go out unanswered
    /// where nothing speaks for a queue.
    pub(super) patience: Duration,
    /// Whether a timeout halves what may go out until there is an answer, instead of leaving one
    /// packet, and not even that where next to nothing was in flight; the answer gives it back.
    pub(super) forgives_timeouts: bool,
}

impl Parameters {
    /// The draft's choices.
    pub(super) const DRAFT: Self = Self {
        min_rtt_tolerance: 1.0,
        start_rate: 0.0,
        patience: Duration::ZERO,
        forgives_timeouts: false,
    };
}

/// BBR.state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Doubles the rate each round trip.
    Startup,
    /// Empties the queue that Startup left.
    Drain,
    /// ProbeBW_DOWN: empties the queue that Up left.
    Down,
    /// ProbeBW_CRUISE: sends what the path delivers.
    Cruise,
    /// ProbeBW_REFILL: fills the path without a queue.
    Refill,
    /// ProbeBW_UP: looks for more bandwidth.
    Up,
    /// Cuts the window to see the round trip without queues.
    ProbeRtt,
}

/// What one acknowledgement says.
#[derive(Debug, Clone, Copy)]
struct Step {
    now: Time,
    acked: usize,
    flight: usize,
    delivered: u64,
    in_recovery: bool,
    sample: RateSample,
    /// The sample's delivery rate in bytes per second; 0 if it has none.
    rate: f64,
}

impl Bbr {
    /// A controller for a path whose DATA chunks have at most `pmdcs` bytes. The draft leaves the
    /// wait between two probes for bandwidth to chance: `rng` draws it.
    #[must_use]
    pub fn new(pmdcs: usize, rng: Rng) -> Self {
        Self::with_parameters(pmdcs, rng, Parameters::DRAFT)
    }

    pub(super) fn with_parameters(pmdcs: usize, rng: Rng, parameters: Parameters) -> Self {
        let initial_cwnd = large_initial_window(pmdcs);
        let mut bbr = Self {
            parameters,
            smss: pmdcs,
            initial_cwnd,
            state: State::Startup,
            cwnd: initial_cwnd,
            prior_cwnd: 0,
            pacing_rate: 0.0,
            bw: 0.0,
            max_bw: MaxBwFilter::default(),
            rounds: Rounds::default(),
            aggregation: Aggregation::default(),
            full_pipe: FullPipe::default(),
            startup_gain: STARTUP_PACING_GAIN,
            bounds: Bounds::default(),
            signals: Signals::default(),
            probe_bw: ProbeBw::new(rng),
            min_rtt: MinRtt::default(),
            undo: None,
            drain_start_round: 0,
            idle_restart: false,
            is_cwnd_limited: [false; 2],
            is_below_capacity: false,
            timed_out: None,
            is_silent: false,
            unanswered: 0,
            silent_timeouts: 0,
        };
        bbr.init_pacing_rate(Duration::from_millis(1));
        bbr
    }

    /// Whether neither delay nor loss speaks for a full path.
    pub(super) const fn set_below_capacity(&mut self, is_below_capacity: bool) {
        self.is_below_capacity = is_below_capacity;
    }

    pub(super) const fn state(&self) -> State {
        self.state
    }

    /// The round trip without queues, once there was one.
    pub(super) const fn lowest_rtt(&self) -> Option<Duration> {
        self.min_rtt.lowest()
    }

    /// What losses leave of what may be in flight for most of the time; `usize::MAX` where they
    /// bound nothing.
    pub(super) fn inflight_bound(&self) -> usize {
        self.inflight_with_headroom().min(self.bounds.inflight_shortterm)
    }

    const fn is_in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    const fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    fn min_pipe_cwnd(&self) -> usize {
        MIN_PIPE_CHUNKS * self.smss
    }

    /// C.is_cwnd_limited.
    fn is_cwnd_limited(&self) -> bool {
        self.is_cwnd_limited.contains(&true)
    }

    /// UpdateModelAndState.
    fn update_model_and_state(&mut self, step: &Step) {
        self.update_latest_delivery_signals(step);
        self.update_congestion_signals(step);
        self.aggregation.update(step, self.bw, self.cwnd, &self.rounds, self.full_pipe.reached);
        self.check_full_bw_reached(step);
        self.check_startup_done(step);
        self.check_drain_done(step);
        self.update_probe_bw_cycle_phase(step);
        self.update_min_rtt(step);
        self.check_probe_rtt(step);
        self.advance_latest_delivery_signals(step);
        self.bw = self.max_bw.max().min(self.bounds.bw_shortterm);
    }

    fn end_round(&mut self) {
        if !self.rounds.start {
            return;
        }
        self.is_cwnd_limited.rotate_right(1);
        self.is_cwnd_limited[0] = false;
        if self.timed_out.is_some_and(|round| self.rounds.count > round) {
            self.timed_out = None;
            self.restore_cwnd();
        }
    }

    /// SaveCwnd.
    fn save_cwnd(&mut self) {
        let is_good = self.timed_out.is_none() && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// RestoreCwnd.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// HandleRestartFromIdle.
    fn restart_from_idle(&mut self, sent: &SentData) {
        self.idle_restart = true;
        self.aggregation.restart(sent.now);
        if self.is_in_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(sent.now, self.rounds.next_delivered);
        }
    }
}

impl CongestionController for Bbr {
    /// "Upon a retransmission timeout (RTO), BBR conservatively reduces C.cwnd to a value that will
    /// allow 1 C.SMSS to be transmitted."
    fn window(&self) -> usize {
        let window = self.cwnd.max(self.start_window());
        match self.is_silent {
            false => window,
            true if self.parameters.forgives_timeouts => {
                window.checked_shr(self.silent_timeouts).unwrap_or(0).max(1)
            }
            true => 1,
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::bps((self.pace() * 8.0) as u64))
    }

    fn bandwidth(&self) -> Option<Rate> {
        (self.bw > 0.0).then(|| Rate::bps((self.bw * 8.0) as u64))
    }

    fn on_sent(&mut self, sent: &SentData) {
        if sent.flight == 0 && sent.is_app_limited {
            self.restart_from_idle(sent);
        }
        self.unanswered = self.unanswered.saturating_add(sent.bytes);
        self.is_cwnd_limited[0] |= sent.flight + sent.bytes + self.smss > self.cwnd;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.is_silent = false;
        self.silent_timeouts = 0;
        self.unanswered = 0;
        let Some(mut sample) = ack.sample else { return };
        sample.is_app_limited |= self.min_rtt.spoils(&sample);
        if let Some(rtt) = sample.rtt
            && self.min_rtt.lowest().is_none()
        {
            self.init_pacing_rate(rtt);
        }
        let step = Step {
            now: ack.now,
            acked: ack.acked,
            flight: ack.flight,
            delivered: ack.delivered,
            in_recovery: ack.in_recovery,
            sample,
            rate: sample.rate().map_or(0.0, |rate| rate.as_bps() as f64 / 8.0),
        };
        self.update_model_and_state(&step);
        self.set_pacing_rate_with_gain(self.pacing_gain());
        self.set_cwnd(&step);
        self.end_round();
    }

    /// Losses count one by one.
    fn on_loss(&mut self, _now: Time) {}

    fn on_timeout(&mut self, _now: Time) {
        self.save_cwnd();
        self.save_state_upon_loss();
        self.is_silent = true;
        if self.parameters.forgives_timeouts {
            self.silent_timeouts += u32::from(self.unanswered >= self.initial_cwnd);
            return;
        }
        self.cwnd = self.smss;
        self.timed_out = Some(self.rounds.count + 1);
    }

    fn on_chunk_lost(&mut self, now: Time, lost: &LostChunk) {
        self.handle_lost_chunk(now, lost);
    }

    fn undo_loss(&mut self, _now: Time) {
        self.handle_spurious_loss();
    }

    /// "When restarting from idle in ProbeBW states, BBR leaves C.cwnd as-is".
    fn on_idle(&mut self, _periods: u32) {}

    fn on_mtu(&mut self, pmdcs: usize) {
        self.smss = pmdcs;
    }

    fn metrics(&self) -> ControllerMetrics {
        let bound = self.bounds.inflight_longterm;
        ControllerMetrics {
            window: self.window(),
            ssthresh: (bound != usize::MAX).then_some(bound),
            slow_start: self.state == State::Startup,
        }
    }
}

/// A share of a number of bytes; what has no bound keeps none.
fn share(of: usize, factor: f64) -> usize {
    if of == usize::MAX { of } else { (of as f64 * factor) as usize }
}
