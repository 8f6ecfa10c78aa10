//! The average loss interval: RFC 5348 section 5.4.

/// n: how many intervals count.
///
/// RFC 5348 section 5.4: "It is RECOMMENDED to set the value n to 8."
pub const INTERVALS: usize = 8;

/// RFC 5348 section 5.4: "if n=8, the values of w_0 to w_7 are: 1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4,
/// 0.2".
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// I_mean: the average length of the latest loss intervals, the newest first, which is the one that
/// goes on. The loss event rate is its inverse. `None`: there has been no loss event, so that there
/// is one interval at most.
#[must_use]
pub fn average_loss_interval(intervals: &[f64]) -> Option<f64> {
    let past = intervals.get(1..).filter(|past| !past.is_empty())?;
    // RFC 5348 section 5.4: "We only include the current loss interval if it is sufficiently large
    // to increase the average loss interval."
    let with_current = weighted(intervals, past.len());
    let without = weighted(past, past.len());
    let weight: f64 = WEIGHTS.iter().take(past.len()).sum();
    Some(with_current.max(without) / weight)
}

fn weighted(intervals: &[f64], count: usize) -> f64 {
    intervals.iter().take(count).zip(WEIGHTS).map(|(interval, weight)| interval * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_loss_there_is_no_average() {
        assert_eq!(average_loss_interval(&[]), None);
        assert_eq!(average_loss_interval(&[1_000.0]), None);
    }

    #[test]
    fn the_interval_that_goes_on_counts_once_it_raises_the_average() {
        assert_eq!(average_loss_interval(&[1.0, 100.0]), Some(100.0));
        assert_eq!(average_loss_interval(&[150.0, 100.0]), Some(150.0));
        // (10 + 20 + 30) / 3, and then (40 + 10 + 20) / 3.
        assert_eq!(average_loss_interval(&[5.0, 10.0, 20.0, 30.0]), Some(20.0));
        assert_eq!(average_loss_interval(&[40.0, 10.0, 20.0, 30.0]), Some(70.0 / 3.0));
    }

    #[test]
    fn eight_past_intervals_count_and_older_ones_less() {
        let mut intervals = vec![0.0; 9];
        intervals.extend([1e9; 5]);
        assert_eq!(average_loss_interval(&intervals), Some(0.0), "a ninth does not count");
        let weights: Vec<f64> = (1..=8)
            .map(|at| {
                let mut one = [0.0; 9];
                one[at] = 6.0;
                average_loss_interval(&one).unwrap()
            })
            .collect();
        let expected = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
        assert!(weights.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{weights:?}");
    }

    #[test]
    fn eight_intervals_forget_what_was_before() {
        // RFC 5348 section 5.4: after eight intervals of another length the average is theirs.
        let mut intervals = vec![1.0];
        intervals.extend([50.0; 8]);
        intervals.extend([100.0; 8]);
        assert_eq!(average_loss_interval(&intervals), Some(50.0));
    }
}
