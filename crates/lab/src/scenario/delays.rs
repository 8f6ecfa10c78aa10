//! [`Delays`]: how long what arrived had taken.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Delays are counted in microseconds, to three digits, up to two hours: longer than any run.
const DIGITS: u8 = 3;
const DELAY_MAX_US: u64 = 7_200_000_000;

/// How long what arrived had taken.
#[derive(Debug)]
pub(super) struct Delays(Option<Histogram<u64>>);

impl Delays {
    pub(super) fn new() -> Self {
        Self(Histogram::new_with_bounds(1, DELAY_MAX_US, DIGITS).ok())
    }

    pub(super) fn record(&mut self, delay: Duration) {
        if let Some(delays) = &mut self.0 {
            delays.saturating_record(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX));
        }
    }

    /// What this share of them did not exceed; none where there are none.
    pub(super) fn quantile(&self, share: f64) -> Option<Duration> {
        let delays = self.0.as_ref().filter(|delays| !delays.is_empty())?;
        Some(Duration::from_micros(delays.value_at_quantile(share)))
    }
}
