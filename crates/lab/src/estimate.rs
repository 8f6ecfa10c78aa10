//! [`Estimate`]: what several seeds say together.

use std::fmt;

/// A mean with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the interval's width; infinite for a single value, which says nothing of others.
    pub half_width: f64,
}

impl Estimate {
    /// Of these values, as many as there are seeds.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let Some(t) = values.len().checked_sub(2).map(student_t) else {
            return Self { mean, half_width: f64::INFINITY };
        };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, half_width: t * (squares / (count - 1.0) / count).sqrt() }
    }

    /// Whether there were values enough for an interval: two seeds at least.
    #[must_use]
    pub const fn has_interval(self) -> bool {
        self.half_width.is_finite()
    }

    /// Half the interval's width as a figure has it: nothing where there is no interval.
    pub(crate) const fn drawn_half_width(self) -> f64 {
        if self.has_interval() { self.half_width } else { 0.0 }
    }

    /// In another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, half_width: self.half_width * factor }
    }
}

/// The mean and half the interval's width, with as many digits as are asked for; the mean alone
/// where all seeds agree on them, or where there is one.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(4);
        let half_width = format!("{:.digits$}", self.drawn_half_width());
        if half_width.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
            return write!(f, "{:.digits$}", self.mean);
        }
        write!(f, "{:.digits$}±{half_width}", self.mean)
    }
}

/// The 97.5 % quantile of Student's t distribution, by degrees of freedom less one.
fn student_t(index: usize) -> f64 {
    const QUANTILES: [f64; 29] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045,
    ];
    QUANTILES.get(index).copied().unwrap_or(1.96)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_written_where_it_shows() {
        let estimate = |half_width| Estimate { mean: 0.01234, half_width };
        assert_eq!(format!("{:.3}", estimate(0.0014)), "0.012±0.001");
        assert_eq!(format!("{:.3}", estimate(0.0004)), "0.012");
    }

    #[test]
    fn the_interval_is_students() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0]);
        assert!((estimate.mean - 2.5).abs() < 1e-12);
        assert!((estimate.half_width - 3.182 * (5.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_single_value_has_no_interval() {
        let one = Estimate::of(&[7.0]);
        assert!(one.mean == 7.0 && !one.has_interval() && Estimate::of(&[7.0, 7.0]).has_interval());
        assert_eq!(format!("{one:.1}"), "7.0");
    }
}
