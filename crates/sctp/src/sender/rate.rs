//! Measures [`RateSignal`]: what the association can carry now.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};

use super::{Context, DataSender};
use crate::event::Event;
use crate::path::PathSet;
use crate::rate_signal::RateSignal;
use crate::trace::TraceKind;

/// How often it is measured: long enough for several round trips of most paths, short enough for a
/// source to follow within a fraction of most latencies.
const INTERVAL: Duration = Duration::from_millis(200);

/// After so long without any input there is nothing to compare with.
const PAUSE: Duration = Duration::from_secs(1);

/// A share less is told at once, and more at the next [`TOLD_EVERY`].
const CHANGE: f64 = 1.0 / 8.0;

/// Unless it fell, the rate is told at most so often.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Paths that were full and are no longer may carry more: the rate rises by so much in the first
/// interval in which nothing waited, by twice as much in each further one, up to what congestion
/// control allows, and after so many in a row it is that.
const GROWTH: f64 = 0.05;
const GROWTH_INTERVALS: u32 = 10;

/// The weight of what was measured last.
const RATE_WEIGHT: f64 = 1.0 / 2.0;
const EFFICIENCY_WEIGHT: f64 = 1.0 / 4.0;

/// Measures the rate, and notices when it changed.
#[derive(Debug, Default)]
pub(super) struct RateMeter {
    /// The counters of the last measurement, and when that was.
    before: Option<(Time, Totals)>,
    /// Whether nothing waited at some time since.
    paused: bool,
    /// The share of what goes out that is new payload.
    efficiency: Option<f64>,
    /// Bits a second delivered while data waited, smoothed, if that is not long ago.
    limited: Option<f64>,
    /// Intervals in a row in which nothing waited at some time.
    pauses: u32,
    silence: Silence,
    signal: Option<RateSignal>,
    told: Option<(Time, RateSignal)>,
}

/// How long nothing was answered although something was under way. Paths of phones stand still for
/// a second and more at times: that says nothing of what they carry when they go on.
#[derive(Debug, Default)]
struct Silence {
    /// Bytes acknowledged so far, and since when no more were.
    acked: u64,
    since: Time,
    /// Whether it was counted up to `since`, and lasts.
    is_lasting: bool,
    /// What is over of it since the last measurement.
    past: Duration,
}

impl Silence {
    /// So much is acknowledged by now; `awaits` tells whether something else is to be.
    fn listen(&mut self, now: Time, acked: u64, awaits: bool, patience: impl FnOnce() -> Duration) {
        if acked > self.acked {
            let span = now.saturating_since(self.since);
            if self.is_lasting || span > patience() {
                self.past += span;
            }
        }
        if acked > self.acked || !awaits {
            (self.acked, self.since, self.is_lasting) = (acked, now, false);
        }
    }

    /// All of it since the last call.
    fn take(&mut self, now: Time, patience: Duration) -> Duration {
        let span = now.saturating_since(self.since);
        if self.is_lasting || span > patience {
            self.past += span;
            (self.since, self.is_lasting) = (now, true);
        }
        std::mem::take(&mut self.past)
    }
}

/// Counters of bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    /// DATA chunks acknowledged.
    acked: u64,
    /// New payload sent.
    new: u64,
    /// DATA chunks sent, headers included.
    sent: u64,
}

/// What the paths in use say by themselves.
#[derive(Debug, Clone, Copy)]
struct Outlook {
    /// What their congestion controllers allow.
    allowed: Rate,
    /// Whether one of them is still being tried out.
    slow_start: bool,
    queued: usize,
    /// How long nothing may be answered while they carry data.
    patience: Duration,
}

impl RateMeter {
    /// Everything that there was to send has gone out.
    pub(super) const fn note_pause(&mut self) {
        self.paused = true;
    }

    pub(super) const fn signal(&self) -> Option<RateSignal> {
        self.signal
    }

    fn is_due(&self, now: Time) -> bool {
        self.before.is_none_or(|(at, _)| now >= at + INTERVAL)
    }

    /// Takes the counters in; the signal, if it is to be told.
    fn measure(&mut self, now: Time, totals: Totals, outlook: Outlook) -> Option<RateSignal> {
        let paused = std::mem::take(&mut self.paused);
        let silence = self.silence.take(now, outlook.patience);
        let (at, before) = self.before.replace((now, totals))?;
        // Where nothing waited, the silence may be the source's.
        let span = if paused { now - at } else { (now - at).saturating_sub(silence) };
        if !paused && span < INTERVAL / 4 {
            return None;
        }
        let sent = totals.sent - before.sent;
        if now - at > PAUSE || sent == 0 {
            self.limited = None;
            if let Some(signal) = &mut self.signal {
                signal.is_at_least = true;
            }
            return None;
        }
        let share = (totals.new - before.new) as f64 / sent as f64;
        let efficiency = smoothed(self.efficiency, share.min(1.0), EFFICIENCY_WEIGHT);
        self.efficiency = Some(efficiency);
        let acked = totals.acked - before.acked;
        let delivered = Rate::of(acked, span).as_bps() as f64;
        let allowed = outlook.allowed.as_bps() as f64;
        self.pauses = if paused { self.pauses + 1 } else { 0 };
        self.limited = match self.limited {
            _ if self.pauses >= GROWTH_INTERVALS => None,
            None if outlook.slow_start => None,
            before if !paused => Some(smoothed(before, delivered, RATE_WEIGHT)),
            before => before.map(|before| delivered.max(grown(before, self.pauses, allowed))),
        };
        let is_at_least = self.limited.is_none();
        let bps = self.limited.unwrap_or_else(|| delivered.max(allowed));
        let carries = Rate::bps((bps * efficiency) as u64);
        let signal = RateSignal { carries, is_at_least, queued: outlook.queued };
        self.signal = Some(signal);
        self.is_news(now, &signal).then(|| {
            self.told = Some((now, signal));
            signal
        })
    }

    fn is_news(&self, now: Time, signal: &RateSignal) -> bool {
        let Some((at, told)) = self.told else { return true };
        let ratio = signal.carries.as_bps() as f64 / told.carries.as_bps().max(1) as f64;
        let changed = (ratio - 1.0).abs() >= CHANGE || signal.is_at_least != told.is_at_least;
        ratio <= 1.0 - CHANGE || (changed && now >= at + TOLD_EVERY)
    }
}

/// The rate of before, after so many intervals in which nothing waited.
fn grown(before: f64, pauses: u32, allowed: f64) -> f64 {
    let growth = GROWTH * f64::from(1_u32 << (pauses.clamp(1, GROWTH_INTERVALS) - 1));
    (before * (1.0 + growth)).min(allowed.max(before))
}

/// Without an answer for longer, a path stands still: SACKs are much closer to one another.
fn answer_patience(paths: &PathSet) -> Duration {
    let srtts = paths.carriers().filter_map(|path| path.rtt.srtt());
    srtts.max().unwrap_or_default() + INTERVAL / 2
}

fn smoothed(before: Option<f64>, value: f64, weight: f64) -> f64 {
    before.map_or(value, |before| before + (value - before) * weight)
}

impl DataSender {
    /// Measures the rate when it is time to, and reports when it changed. One that nobody took in
    /// the meantime is replaced.
    pub(crate) fn follow_rate(&mut self, context: &mut Context<'_>) {
        let awaits = !self.outstanding.is_empty();
        let (acked, paths) = (self.paths.bytes_acked(), &self.paths);
        self.rate.silence.listen(context.now, acked, awaits, || answer_patience(paths));
        if !self.rate.is_due(context.now) {
            return;
        }
        let patience = answer_patience(&self.paths);
        let (totals, outlook) = (self.rate_totals(), self.rate_outlook(patience));
        let Some(signal) = self.rate.measure(context.now, totals, outlook) else { return };
        context.journal.events.retain(|event| !matches!(event, Event::RateChanged(_)));
        context.journal.tell(Event::RateChanged(signal));
        context.journal.trace(context.now, TraceKind::Rate(signal));
    }

    fn rate_totals(&self) -> Totals {
        let streams = self.queue.totals();
        let paths = self.paths.totals();
        let headers = self.outstanding.format().header_len() as u64 * paths.chunks_sent;
        let payload = streams.bytes_sent + streams.bytes_retransmitted + streams.bytes_copied;
        Totals { acked: paths.bytes_acked, new: streams.bytes_sent, sent: payload + headers }
    }

    fn rate_outlook(&self, patience: Duration) -> Outlook {
        let concurrent = self.is_concurrent();
        let current = self.paths.current();
        let in_use = self.paths.carriers().filter(|path| concurrent || path.slot == current);
        let mut outlook = Outlook {
            allowed: Rate::ZERO,
            slow_start: false,
            queued: self.queue.queued(),
            patience,
        };
        for path in in_use {
            // A path that is being tried out may carry twice what it did.
            let factor = if path.congestion.metrics().slow_start { 2 } else { 1 };
            let allowed = path.allowed_rate().as_bps().saturating_mul(factor);
            let allowed = outlook.allowed.as_bps().saturating_add(allowed);
            outlook.allowed = Rate::bps(allowed);
            outlook.slow_start |= path.congestion.metrics().slow_start;
        }
        outlook
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A meter on a path that delivers, told every 200 ms.
    struct Lab {
        meter: RateMeter,
        now: Time,
        totals: Totals,
    }

    impl Lab {
        fn new() -> Self {
            let mut lab =
                Self { meter: RateMeter::default(), now: Time::ZERO, totals: Totals::default() };
            assert_eq!(lab.pass(0, false), None, "the first look");
            lab
        }

        /// An interval in which so many kbit/s arrive, of which 9 of 10 are new.
        fn pass(&mut self, kbps: u64, paused: bool) -> Option<RateSignal> {
            let patience = INTERVAL / 2;
            let bytes = Rate::kbps(kbps).bytes_in(INTERVAL);
            self.totals.acked += bytes;
            self.totals.sent += bytes;
            self.totals.new += bytes * 9 / 10;
            self.meter.paused = paused;
            let allowed = Rate::mbps(5);
            let outlook = Outlook { allowed, slow_start: false, queued: 7, patience };
            // Answers come evenly, the last one now.
            self.meter.silence.listen(self.now, self.totals.acked, true, || INTERVAL);
            let told = self.meter.measure(self.now, self.totals, outlook);
            self.now += INTERVAL;
            told
        }

        fn carries(&self) -> Rate {
            self.meter.signal().expect("measured").carries
        }
    }

    #[test]
    fn full_paths_carry_what_they_deliver_without_what_is_sent_again() {
        let mut lab = Lab::new();
        for _ in 0..20 {
            lab.pass(8_000, false);
        }
        let signal = lab.meter.signal().expect("measured");
        assert_eq!((signal.carries, signal.is_at_least), (Rate::kbps(7_200), false));
        assert_eq!(signal.queued, 7);
    }

    #[test]
    fn paths_that_are_not_full_carry_at_least_what_their_controllers_allow() {
        let mut lab = Lab::new();
        let told = lab.pass(1_000, true).expect("the first is told");
        assert_eq!((told.carries, told.is_at_least), (Rate::kbps(4_500), true));
    }

    #[test]
    fn a_rate_that_falls_is_told_at_once_and_one_that_rises_after_a_second() {
        let mut lab = Lab::new();
        assert!(lab.pass(8_000, false).is_some());
        assert!((0..20).all(|_| lab.pass(8_300, false).is_none()), "too little to tell");
        assert!(lab.pass(4_000, false).is_some_and(|told| told.carries < Rate::mbps(6)));
        let rises = (0..10).map(|_| lab.pass(12_000, false).is_some());
        let rises: Vec<_> = rises.collect();
        assert_eq!(rises.iter().position(|told| *told), Some(4), "{rises:?}");
        assert!(lab.carries() > Rate::mbps(10));
    }

    #[test]
    fn paths_that_were_full_are_tried_out_again_step_by_step() {
        let mut lab = Lab::new();
        lab.pass(3_000, false);
        let mut steps = Vec::new();
        while !lab.meter.signal().expect("measured").is_at_least {
            lab.pass(1_000, true);
            steps.push(lab.carries().as_mbps_f64() / 0.9);
        }
        assert_eq!(steps.len(), GROWTH_INTERVALS as usize);
        let expected = [3.15, 3.465, 4.158, 5.0, 5.0];
        let fits = |(step, expected): (&f64, f64)| (step - expected).abs() < 0.01;
        assert!(steps.iter().zip(expected).all(fits), "up to what is allowed: {steps:?}");
    }

    #[test]
    fn a_pause_begins_anew() {
        let mut lab = Lab::new();
        lab.pass(8_000, false);
        lab.now += 2 * PAUSE;
        assert_eq!(lab.pass(1_000, false), None);
        assert_eq!(lab.carries(), Rate::kbps(7_200), "the last that is known");
    }

    #[test]
    fn a_path_that_stands_still_carries_what_it_did_before() {
        let mut lab = Lab::new();
        for _ in 0..20 {
            lab.pass(8_000, false);
        }
        for _ in 0..5 {
            assert_eq!(lab.pass(0, false), None);
        }
        lab.pass(8_000, false);
        assert_eq!(lab.carries(), Rate::kbps(7_200), "as fast as before");
        lab.pass(4_000, false);
        assert_eq!(lab.carries(), Rate::kbps(5_400), "slower: half of the difference at once");
    }

    #[test]
    fn what_nobody_waits_for_is_no_silence() {
        let (mut silence, patience) = (Silence::default(), Duration::from_millis(150));
        let at = Time::from_millis;
        silence.listen(at(1_000), 0, false, || patience);
        silence.listen(at(5_000), 0, false, || patience);
        silence.listen(at(5_100), 900, true, || patience);
        assert_eq!(silence.take(at(5_200), patience), Duration::ZERO);
        // It lasts beyond two measurements, and all of it counts.
        assert_eq!(silence.take(at(5_400), patience), Duration::from_millis(300));
        assert_eq!(silence.take(at(5_500), patience), Duration::from_millis(100));
        silence.listen(at(5_550), 1_000, true, || patience);
        assert_eq!(silence.take(at(5_600), patience), Duration::from_millis(50));
    }
}
