//! Startup and Drain: finding the bandwidth, and emptying the queue that this leaves.

use super::congestion::Bounds;
use super::control::RESTART_PACING_GAIN;
use super::{Bbr, State, Step};

/// How much a round trip's rate must exceed the last best one to count as growth.
const FULL_BW_GROWTH: f64 = 1.25;

/// Round trips without growth after which the path counts as full.
const FULL_BW_ROUNDS: u32 = 3;

/// BBRStartupFullLossCnt: losses in a round trip that may end Startup.
const STARTUP_FULL_LOSS_COUNT: u32 = 6;

/// Round trips after which Drain ends, empty or not.
const DRAIN_ROUNDS_MAX: u64 = 3;

/// The estimator of whether the path is full: the rate grows no more although more is sent.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw_reached: since the path is known.
    pub(super) reached: bool,
    /// BBR.full_bw_now: since the last reset.
    pub(super) now: bool,
    bw: f64,
    count: u32,
}

impl FullPipe {
    /// ResetFullBW, and the rate that growth is measured by.
    pub(super) const fn reset(&mut self, baseline: f64) {
        self.bw = baseline;
        self.count = 0;
        self.now = false;
    }
}

impl Bbr {
    /// EnterStartup.
    pub(super) const fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// CheckFullBWReached.
    pub(super) fn check_full_bw_reached(&mut self, step: &Step) {
        let full = &mut self.full_pipe;
        if full.now || !self.rounds.start || step.sample.is_app_limited {
            return;
        }
        // In Startup alone: what ProbeBW probes is meant to make a queue.
        if self.is_below_capacity && !full.reached {
            return;
        }
        if step.rate >= full.bw * FULL_BW_GROWTH {
            return full.reset(step.rate);
        }
        full.count += 1;
        full.now = full.count >= FULL_BW_ROUNDS;
        full.reached |= full.now;
    }

    /// Something else than the rate shows that the path is full.
    pub(crate) const fn end_startup(&mut self) {
        self.full_pipe.reached = true;
    }

    /// Whether Startup has ended.
    pub(crate) const fn is_pipe_full(&self) -> bool {
        self.full_pipe.reached
    }

    /// Nothing speaks for a full path any more: Startup goes on from the rate that is known.
    pub(crate) fn begin_anew(&mut self) {
        self.full_pipe = FullPipe::default();
        self.bounds = Bounds::default();
        self.startup_gain = RESTART_PACING_GAIN;
        self.parameters.start_rate = self.parameters.start_rate.min(RESTART_PACING_GAIN * self.bw);
        self.enter_startup();
    }

    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, step: &Step) {
        self.check_startup_high_loss(step);
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_start_round = self.rounds.count;
        }
    }

    /// CheckStartupHighLoss: a round trip of Fast Recovery with many losses shows a full path too.
    fn check_startup_high_loss(&mut self, step: &Step) {
        if self.full_pipe.reached || !self.signals.loss_round_start {
            return;
        }
        let events = std::mem::take(&mut self.signals.loss_events_in_round);
        let is_lossy = events >= STARTUP_FULL_LOSS_COUNT && step.in_recovery;
        if is_lossy && Self::is_inflight_too_high(step.sample.lost, step.sample.in_flight) {
            self.note_undo_state(State::Startup);
            self.full_pipe.reached = true;
            let safe = self.bdp_multiple(self.max_bw.max(), 1.0);
            self.bounds.inflight_longterm = safe.max(self.signals.inflight_latest as usize);
        }
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, step: &Step) {
        if self.state != State::Drain {
            return;
        }
        let is_over = self.rounds.count > self.drain_start_round + DRAIN_ROUNDS_MAX;
        if is_over || step.flight <= self.inflight(self.bw, 1.0) {
            self.start_probe_bw_down(step.now, step.delivered);
        }
    }
}
