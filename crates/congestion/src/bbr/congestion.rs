//! What losses say about the model, and what is taken back when they were none.

use anabranch_sansio::Time;

use super::{BETA, Bbr, LOSS_THRESH, LostChunk, State, Step, share};

/// The bounds that losses put on the model; without a bound they are infinite.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// In bytes per second.
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: usize,
    pub(super) inflight_longterm: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: usize::MAX,
            inflight_longterm: usize::MAX,
        }
    }
}

impl Bounds {
    /// ResetShortTermModel.
    pub(super) const fn reset_shortterm(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = usize::MAX;
    }
}

/// The delivery of the last round trip, and whether it had losses.
#[derive(Debug, Default)]
pub(super) struct Signals {
    is_loss_in_round: bool,
    loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    /// SACKs of this round trip that revealed losses.
    pub(super) loss_events_in_round: u32,
    /// Whether the last SACK is counted in them.
    is_event_counted: bool,
    bw_latest: f64,
    pub(super) inflight_latest: u64,
}

impl Signals {
    /// ResetCongestionSignals.
    pub(super) const fn reset(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }
}

/// What is restored when a loss was none.
#[derive(Debug)]
pub(super) struct Undo {
    state: Option<State>,
    bounds: Bounds,
}

impl Bbr {
    /// IsInflightTooHigh.
    pub(super) fn is_inflight_too_high(lost: u64, in_flight: usize) -> bool {
        lost as f64 > in_flight as f64 * LOSS_THRESH
    }

    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest_delivery_signals(&mut self, step: &Step) {
        let signals = &mut self.signals;
        signals.is_event_counted = false;
        signals.loss_round_start = step.sample.prior_delivered >= signals.loss_round_delivered;
        signals.bw_latest = signals.bw_latest.max(step.rate);
        signals.inflight_latest = signals.inflight_latest.max(step.sample.delivered);
        if signals.loss_round_start {
            signals.loss_round_delivered = step.delivered;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) const fn advance_latest_delivery_signals(&mut self, step: &Step) {
        if self.signals.loss_round_start {
            self.signals.bw_latest = step.rate;
            self.signals.inflight_latest = step.sample.delivered;
        }
    }

    /// UpdateCongestionSignals.
    pub(super) fn update_congestion_signals(&mut self, step: &Step) {
        self.rounds.update(step);
        self.probe_bw.rounds_since_probe_up += u64::from(self.rounds.start);
        self.max_bw.update(step);
        if !self.signals.loss_round_start {
            return;
        }
        if self.signals.is_loss_in_round && !self.is_probing_bw() {
            self.adapt_lower_bounds();
        }
        self.signals.is_loss_in_round = false;
    }

    /// InitLowerBounds and LossLowerBounds.
    fn adapt_lower_bounds(&mut self) {
        let bounds = &mut self.bounds;
        if bounds.bw_shortterm.is_infinite() {
            bounds.bw_shortterm = self.max_bw.max();
        }
        if bounds.inflight_shortterm == usize::MAX {
            bounds.inflight_shortterm = self.cwnd;
        }
        bounds.bw_shortterm = self.signals.bw_latest.max(BETA * bounds.bw_shortterm);
        bounds.inflight_shortterm =
            share(bounds.inflight_shortterm, BETA).max(self.signals.inflight_latest as usize);
    }

    /// HandleLostPacket.
    pub(super) fn handle_lost_chunk(&mut self, now: Time, lost: &LostChunk) {
        self.note_loss(lost);
        if !self.probe_bw.is_bw_probe_sample
            || !Self::is_inflight_too_high(lost.lost_since_sent, lost.in_flight)
        {
            return;
        }
        self.probe_bw.prev_probe_too_high = true;
        // "only react once per bw probe"
        self.probe_bw.is_bw_probe_sample = false;
        if !lost.is_app_limited {
            let target = share(self.target_inflight(), BETA);
            self.bounds.inflight_longterm = inflight_at_loss(lost).max(target);
        }
        if self.state == State::Up {
            self.note_undo_state(State::Up);
            self.start_probe_bw_down(now, lost.delivered);
        }
    }

    /// NoteLoss.
    fn note_loss(&mut self, lost: &LostChunk) {
        if !self.signals.is_loss_in_round {
            self.signals.loss_round_delivered = lost.delivered;
            self.save_cwnd();
            self.save_state_upon_loss();
        }
        self.signals.is_loss_in_round = true;
        if !std::mem::replace(&mut self.signals.is_event_counted, true) {
            self.signals.loss_events_in_round += 1;
        }
    }

    /// SaveStateUponLoss.
    pub(super) const fn save_state_upon_loss(&mut self) {
        self.undo = Some(Undo { state: None, bounds: self.bounds });
    }

    /// A loss ends this state.
    pub(super) const fn note_undo_state(&mut self, state: State) {
        if let Some(undo) = &mut self.undo {
            undo.state = Some(state);
        }
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn handle_spurious_loss(&mut self) {
        let Some(Undo { state, bounds }) = self.undo.take() else { return };
        self.is_silent = false;
        self.timed_out = None;
        self.restore_cwnd();
        self.signals.is_loss_in_round = false;
        self.full_pipe.reset(0.0);
        self.bounds.bw_shortterm = self.bounds.bw_shortterm.max(bounds.bw_shortterm);
        self.bounds.inflight_shortterm =
            self.bounds.inflight_shortterm.max(bounds.inflight_shortterm);
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(bounds.inflight_longterm);
        let is_elsewhere = state != Some(self.state) && self.state != State::ProbeRtt;
        if state == Some(State::Startup) {
            self.full_pipe.reached = false;
        }
        match state {
            Some(State::Startup) if is_elsewhere => self.enter_startup(),
            Some(State::Up) if is_elsewhere => {
                self.start_probe_bw_refill(self.rounds.next_delivered);
            }
            _ => {}
        }
    }
}

/// InflightAtLoss: how much was in flight when the losses exceeded the threshold.
fn inflight_at_loss(lost: &LostChunk) -> usize {
    let inflight_prev = lost.in_flight.saturating_sub(lost.size) as f64;
    let lost_prev = lost.lost_since_sent.saturating_sub(lost.size as u64) as f64;
    let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
    (inflight_prev + lost_prefix).max(0.0) as usize
}
