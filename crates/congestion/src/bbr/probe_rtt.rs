//! The round trip without queues, and ProbeRTT, which cuts the window to see it.

use std::time::Duration;

use anabranch_sansio::Time;

use super::{Bbr, RateSample, State, Step};

/// BBR.MinRTTFilterLen.
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);

/// BBR.ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// BBR.ProbeRTTDuration.
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

/// The lowest round trips of the last five and ten seconds.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    /// BBR.min_rtt, and when it was seen.
    min_rtt: Option<(Duration, Time)>,
    /// BBR.probe_rtt_min_delay, and when it was seen or renewed.
    probe: Option<(Duration, Time)>,
    /// BBR.probe_rtt_expired.
    is_expired: bool,
    /// BBR.probe_rtt_done_stamp.
    done_at: Option<Time>,
    /// BBR.probe_rtt_round_done.
    is_round_done: bool,
    /// What was sent in ProbeRTT says nothing about the rate until this is delivered.
    spoilt_until: u64,
}

impl MinRtt {
    pub(super) const fn lowest(&self) -> Option<Duration> {
        match self.min_rtt {
            Some((rtt, _)) => Some(rtt),
            None => None,
        }
    }

    /// Whether a sample is one of data that ProbeRTT held back.
    pub(super) const fn spoils(&self, sample: &RateSample) -> bool {
        sample.prior_delivered < self.spoilt_until
    }
}

impl Bbr {
    /// UpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, step: &Step) {
        let filter = &mut self.min_rtt;
        let Some(rtt) = step.sample.rtt else { return };
        let Some((delay, seen)) = filter.probe else {
            filter.probe = Some((rtt, step.now));
            filter.min_rtt = Some((rtt, step.now));
            return;
        };
        filter.is_expired = step.now > seen + PROBE_RTT_INTERVAL;
        if rtt < delay || filter.is_expired {
            filter.probe = Some((rtt, step.now));
        } else if rtt < delay.mul_f64(self.parameters.min_rtt_tolerance) {
            filter.probe = Some((delay, step.now));
        }
        let Some((min_rtt, stamp)) = filter.min_rtt else { return };
        let is_lower = filter.probe.is_some_and(|(delay, _)| delay < min_rtt);
        if is_lower || step.now > stamp + MIN_RTT_FILTER {
            filter.min_rtt = filter.probe;
        }
    }

    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, step: &Step) {
        if self.state != State::ProbeRtt && self.min_rtt.is_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.min_rtt.done_at = None;
            self.probe_bw.stop_probing();
            self.rounds.begin(step.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(step);
        }
        self.idle_restart &= step.sample.delivered == 0;
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, step: &Step) {
        self.min_rtt.spoilt_until = step.delivered + step.flight as u64;
        if self.min_rtt.done_at.is_some() {
            self.min_rtt.is_round_done |= self.rounds.start;
            if self.min_rtt.is_round_done {
                self.check_probe_rtt_done(step.now, step.delivered);
            }
        } else if step.flight <= self.probe_rtt_cwnd() {
            self.min_rtt.done_at = Some(step.now + PROBE_RTT_DURATION);
            self.min_rtt.is_round_done = false;
            self.rounds.begin(step.delivered);
        }
    }

    /// CheckProbeRTTDone, and ExitProbeRTT.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, delivered: u64) {
        if self.min_rtt.done_at.is_none_or(|at| now <= at) {
            return;
        }
        self.min_rtt.probe = self.min_rtt.probe.map(|(delay, _)| (delay, now));
        self.min_rtt.is_expired = false;
        self.restore_cwnd();
        self.bounds.reset_shortterm();
        if !self.full_pipe.reached {
            return self.enter_startup();
        }
        self.start_probe_bw_down(now, delivered);
        self.start_probe_bw_cruise();
    }
}
