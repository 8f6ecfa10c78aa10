//! [`DelayMeter`]: how long pictures take from the sender's hand to the receiver's.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_media::Distribution;
use anabranch_sansio::Time;
use serde::Serialize;

use crate::page::protocol::DelayMs;

/// What the page's percentiles are of.
const RECENT: Duration = Duration::from_secs(10);

/// Pictures of that time, at up to 120 a second.
const RECENT_MAX: usize = 1_200;

/// Pictures that arrived and were not played yet.
const PENDING_MAX: usize = 1_024;

/// Percentiles over a whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DelaySummary {
    /// The median.
    pub p50: f64,
    /// 95 % are at most this.
    pub p95: f64,
    /// 99 % are at most this.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Measures until pictures are complete: with all the layers that came in time.
#[derive(Debug, Default)]
pub(super) struct DelayMeter {
    pending: BTreeMap<u64, Duration>,
    recent: VecDeque<(Time, Duration)>,
    all: Distribution,
}

impl DelayMeter {
    /// A layer of a picture came in time, so long after it was sent.
    pub(super) fn on_layer(&mut self, frame: u64, delay: Duration) {
        let longest = self.pending.entry(frame).or_default();
        *longest = delay.max(*longest);
        if self.pending.len() > PENDING_MAX {
            self.pending.pop_first();
        }
    }

    /// A picture was played, shown or not.
    pub(super) fn on_played(&mut self, now: Time, frame: u64, is_shown: bool) {
        let later = self.pending.split_off(&(frame + 1));
        let delay = std::mem::replace(&mut self.pending, later).remove(&frame);
        let Some(delay) = delay.filter(|_| is_shown) else { return };
        self.all.record(delay);
        self.recent.push_back((now, delay));
        let old = |(at, _): &(Time, Duration)| now - *at > RECENT;
        while self.recent.len() > RECENT_MAX || self.recent.front().is_some_and(old) {
            self.recent.pop_front();
        }
    }

    /// Over the last ten seconds.
    pub(super) fn recent(&self) -> Option<DelayMs> {
        let (_, now) = self.recent.back()?;
        let mut sorted: Vec<_> = self.recent.iter().map(|(_, delay)| *delay).collect();
        sorted.sort_unstable();
        let at = |percent: usize| sorted.get((sorted.len() - 1) * percent / 100);
        let ms = |delay: Option<&Duration>| delay.map_or(0.0, |delay| millis(*delay));
        Some(DelayMs { now: millis(*now), p50: ms(at(50)), p95: ms(at(95)) })
    }

    /// Over the whole run.
    pub(super) fn summary(&self) -> DelaySummary {
        let at = |share| millis(self.all.quantile(share));
        DelaySummary { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: millis(self.all.max()) }
    }
}

pub(super) fn millis(span: Duration) -> f64 {
    // To the microsecond: what is finer is noise.
    span.as_micros() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_last_layer_in_time_decides_and_pictures_not_shown_do_not_count() {
        let mut meter = DelayMeter::default();
        assert_eq!(meter.recent(), None);
        meter.on_layer(0, 20 * MS);
        meter.on_layer(0, 30 * MS);
        meter.on_layer(1, 90 * MS);
        meter.on_played(Time::from_millis(200), 0, true);
        meter.on_played(Time::from_millis(240), 1, false);
        meter.on_played(Time::from_millis(280), 2, true);
        assert_eq!(meter.recent(), Some(DelayMs { now: 30.0, p50: 30.0, p95: 30.0 }));
        assert!((meter.summary().max - 30.0).abs() < 0.5);
        assert!(meter.pending.is_empty());
    }

    #[test]
    fn percentiles_are_of_the_last_ten_seconds() {
        let mut meter = DelayMeter::default();
        for frame in 0..500_u64 {
            let delay = if frame < 250 { 500 * MS } else { (frame as u32 - 250) * MS };
            meter.on_layer(frame, delay);
            meter.on_played(Time::from_millis(40 * frame), frame, true);
        }
        let recent = meter.recent().unwrap();
        assert_eq!((recent.now, recent.p50), (249.0, 125.0));
        assert!(meter.recent.len() <= RECENT_MAX);
    }
}
