//! A rate profile: a video made larger in some seconds, as the one of a paper was.

use std::time::Duration;

use super::trace::Trace;

/// Seconds and Mbit/s of both layers, joined by straight lines.
///
/// The paper shows its video's rate as a curve and not as data; these points follow what its delays
/// imply: above 30 Mbit/s from 7 to 20 s, above 45 Mbit/s from 12 to 14.5 s, 23.5 Mbit/s in all.
const RATES: [(f64, f64); 24] = [
    (0.00, 25.0),
    (3.00, 25.8),
    (6.20, 27.4),
    (7.20, 33.8),
    (8.00, 38.1),
    (11.60, 38.9),
    (12.10, 47.5),
    (14.50, 47.8),
    (14.85, 39.5),
    (17.50, 38.7),
    (19.20, 37.4),
    (20.12, 34.0),
    (20.16, 24.6),
    (27.00, 25.8),
    (34.00, 25.2),
    (40.28, 24.0),
    (40.32, 16.6),
    (48.00, 15.9),
    (57.00, 16.9),
    (64.44, 16.2),
    (64.48, 18.2),
    (70.00, 19.6),
    (78.00, 18.9),
    (84.64, 17.6),
];

impl Trace {
    /// The same pictures, with every slice made larger or smaller so that the rate of both layers
    /// follows the congestion profile of the paper's video.
    #[must_use]
    pub fn with_congestion(mut self, frame_time: Duration) -> Self {
        for (number, frame) in (0..).zip(&mut self.frames) {
            let at = frame_time * number;
            let target = mbps(at.as_secs_f64()) * 1e6 / 8.0 * frame_time.as_secs_f64();
            let factor = target / f64::from(frame.len());
            for slice in frame.base.iter_mut().chain(&mut frame.enhancement) {
                *slice = (f64::from(*slice) * factor).round() as u32;
            }
        }
        self
    }
}

fn mbps(second: f64) -> f64 {
    let above = RATES.partition_point(|(at, _)| *at < second);
    let (Some(&(next, high)), Some(&(last, low))) =
        (RATES.get(above), RATES.get(above.saturating_sub(1)))
    else {
        return RATES[RATES.len() - 1].1;
    };
    if next <= last { high } else { low + (high - low) * (second - last) / (next - last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_TIME: Duration = Duration::from_millis(40);

    fn mbps_in(trace: &Trace, seconds: std::ops::Range<usize>) -> f64 {
        let frames = &trace.frames[seconds.start * 25..seconds.end * 25];
        let bytes: u64 = frames.iter().map(|frame| u64::from(frame.len())).sum();
        bytes as f64 * 8.0 / seconds.len() as f64 / 1e6
    }

    #[test]
    fn the_profile_exceeds_the_links_where_the_papers_video_did() {
        let trace = Trace::jsvm_720p25().with_congestion(FRAME_TIME);
        assert!(mbps_in(&trace, 0..7) < 30.0);
        assert!(mbps_in(&trace, 8..20) > 30.0);
        assert!(mbps_in(&trace, 13..14) > 45.0);
        assert!(mbps_in(&trace, 21..84) < 27.0);
        assert!((mbps_in(&trace, 0..84) - 23.5).abs() < 0.3, "{}", mbps_in(&trace, 0..84));
    }

    #[test]
    fn the_pictures_stay_the_same() {
        let plain = Trace::jsvm_720p25();
        let congested = plain.clone().with_congestion(FRAME_TIME);
        let frames = plain.frames.iter().zip(&congested.frames);
        assert!(frames.clone().all(|(a, b)| a.full_error.total_cmp(&b.full_error).is_eq()));
        assert!(frames.clone().any(|(a, b)| a.base != b.base));
    }
}
