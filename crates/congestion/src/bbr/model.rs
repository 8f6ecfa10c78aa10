//! What is measured: round trips, the highest rate, how acknowledgements clump together.

use anabranch_sansio::Time;

use super::Step;

/// BBR.ExtraAckedFilterLen, in round trips.
const EXTRA_ACKED_ROUNDS: usize = 10;

/// Packet-timed round trips: one ends when something is acknowledged that was sent after it began.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// BBR.round_count.
    pub(super) count: u64,
    /// BBR.round_start.
    pub(super) start: bool,
    /// BBR.next_round_delivered.
    pub(super) next_delivered: u64,
}

impl Rounds {
    /// UpdateRound.
    pub(super) const fn update(&mut self, step: &Step) {
        self.start = step.sample.prior_delivered >= self.next_delivered;
        if self.start {
            self.begin(step.delivered);
            self.count += 1;
        }
    }

    /// StartRound.
    pub(super) const fn begin(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}

/// BBR.max_bw_filter: the highest delivery rate of the current ProbeBW cycle and of the last one,
/// in bytes per second.
#[derive(Debug, Default)]
pub(super) struct MaxBwFilter {
    cycles: [f64; 2],
}

impl MaxBwFilter {
    pub(super) const fn max(&self) -> f64 {
        self.cycles[0].max(self.cycles[1])
    }

    /// UpdateMaxBw: what the application limited counts only where it is more.
    pub(super) fn update(&mut self, step: &Step) {
        if step.rate > 0.0 && (step.rate >= self.max() || !step.sample.is_app_limited) {
            self.cycles[0] = self.cycles[0].max(step.rate);
        }
    }

    /// AdvanceMaxBwFilter. A cycle without a sample says nothing.
    pub(super) fn advance(&mut self) {
        if self.cycles[0] > 0.0 {
            self.cycles = [0.0, self.cycles[0]];
        }
    }
}

/// BBR.extra_acked: by how much acknowledgements run ahead of the rate when they come in clumps.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    interval_start: Time,
    delivered: f64,
    /// The most of each of the last round trips, by their number.
    filter: [usize; EXTRA_ACKED_ROUNDS],
    round: u64,
}

impl Aggregation {
    /// UpdateACKAggregation.
    pub(super) fn update(
        &mut self,
        step: &Step,
        bw: f64,
        cwnd: usize,
        rounds: &Rounds,
        full_bw_reached: bool,
    ) {
        let mut expected = bw * (step.now - self.interval_start).as_secs_f64();
        if self.delivered <= expected {
            self.restart(step.now);
            expected = 0.0;
        }
        self.delivered += step.acked as f64;
        let extra = ((self.delivered - expected) as usize).min(cwnd);
        if rounds.count != self.round {
            self.round = rounds.count;
            if full_bw_reached {
                self.filter[self.slot()] = 0;
            } else {
                // "in Startup, just remember 1 round"
                self.filter = [0; EXTRA_ACKED_ROUNDS];
            }
        }
        let slot = self.slot();
        self.filter[slot] = self.filter[slot].max(extra);
    }

    /// A new interval begins.
    pub(super) const fn restart(&mut self, now: Time) {
        self.interval_start = now;
        self.delivered = 0.0;
    }

    pub(super) fn extra_acked(&self) -> usize {
        self.filter.iter().copied().max().unwrap_or(0)
    }

    const fn slot(&self) -> usize {
        (self.round % EXTRA_ACKED_ROUNDS as u64) as usize
    }
}
