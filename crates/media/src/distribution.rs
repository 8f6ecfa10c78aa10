//! [`Distribution`]: percentiles of durations in bounded memory.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Counts durations from a microsecond to an hour, each to within 1 %, in some 30 kB.
#[derive(Debug, Clone)]
pub struct Distribution {
    micros: Histogram<u64>,
}

/// What people read of a distribution, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Summary {
    /// Values counted.
    pub count: u64,
    /// Mean.
    pub mean_us: u64,
    /// Half of the values are at most this.
    pub p50_us: u64,
    /// 95 % of the values are at most this.
    pub p95_us: u64,
    /// 99 % of the values are at most this.
    pub p99_us: u64,
    /// The largest.
    pub max_us: u64,
}

const MICROS_MAX: u64 = 3_600_000_000;

impl Default for Distribution {
    fn default() -> Self {
        let micros = Histogram::new_with_bounds(1, MICROS_MAX, 2);
        Self { micros: micros.expect("constant bounds that hdrhistogram documents as valid") }
    }
}

impl Distribution {
    /// An empty distribution.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a value; above an hour as an hour.
    pub fn record(&mut self, value: Duration) {
        let micros = u64::try_from(value.as_micros()).unwrap_or(MICROS_MAX);
        self.micros.saturating_record(micros.min(MICROS_MAX));
    }

    /// Values counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.micros.len()
    }

    /// The value that this share of all is not above; zero if there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_micros(self.micros.value_at_quantile(share).min(self.micros.max()))
    }

    /// The largest value; zero if there are none.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.micros.max())
    }

    /// The usual figures.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let quantile = |share| self.quantile(share).as_micros() as u64;
        Summary {
            count: self.count(),
            mean_us: self.micros.mean() as u64,
            p50_us: quantile(0.5),
            p95_us: quantile(0.95),
            p99_us: quantile(0.99),
            max_us: self.micros.max(),
        }
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.micros.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_one_percent() {
        let mut distribution = Distribution::new();
        (1..=1_000).for_each(|i| distribution.record(Duration::from_micros(i * 37)));
        let summary = distribution.summary();
        for (is, exact) in [(summary.p50_us, 18_500), (summary.p99_us, 36_630)] {
            assert!(is.abs_diff(exact) * 100 <= exact, "{is} instead of {exact}");
        }
        assert!(summary.max_us.abs_diff(37_000) <= 370);
        assert_eq!(summary.count, 1_000);
    }

    #[test]
    fn nothing_and_too_much_have_an_answer() {
        let mut distribution = Distribution::new();
        assert_eq!(distribution.summary(), Summary::default());
        distribution.record(Duration::MAX);
        assert!(distribution.max() >= Duration::from_secs(3_550));
        distribution.clear();
        assert_eq!(distribution.count(), 0);
    }
}
