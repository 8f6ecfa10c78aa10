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
            scale(&mut frame.base, factor);
            scale(&mut frame.enhancement, factor);
        }
        self
    }

    /// The same pictures, with every slice of a layer made larger or smaller by one factor so that
    /// the layers have these rates on average, in Mbit/s.
    #[must_use]
    pub fn with_mean_rates(mut self, frame_time: Duration, base: f64, enhancement: f64) -> Self {
        let target = |mbps: f64| mbps * 1e6 / 8.0 * frame_time.as_secs_f64();
        let frames = self.frames.len() as f64;
        let mean = |bytes: u64| bytes as f64 / frames.max(1.0);
        let sum = |slices: &[u32]| slices.iter().map(|slice| u64::from(*slice)).sum::<u64>();
        let base_mean = mean(self.frames.iter().map(|frame| sum(&frame.base)).sum());
        let enhancement_mean = mean(self.frames.iter().map(|frame| sum(&frame.enhancement)).sum());
        for frame in &mut self.frames {
            scale(&mut frame.base, target(base) / base_mean);
            scale(&mut frame.enhancement, target(enhancement) / enhancement_mean);
        }
        self
    }
}

fn scale(slices: &mut [u32], factor: f64) {
    for slice in slices {
        *slice = (f64::from(*slice) * factor).round() as u32;
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
    fn layers_get_the_mean_rates_that_are_asked_for() {
        let trace = Trace::jsvm_720p25().with_congestion(FRAME_TIME);
        let trace = trace.with_mean_rates(FRAME_TIME, 6.8, 23.5);
        let bytes: u32 = trace.frames.iter().map(|frame| frame.base.iter().sum::<u32>()).sum();
        let seconds = FRAME_TIME.as_secs_f64() * trace.frames.len() as f64;
        let base = f64::from(bytes) * 8.0 / 1e6 / seconds;
        assert!((base - 6.8).abs() < 0.01, "{base}");
        let total = mbps_in(&trace, 0..84);
        assert!((total - 30.3).abs() < 0.3, "{total}");
        assert!(mbps_in(&trace, 8..20) > 1.5 * mbps_in(&trace, 48..60), "the shape stays");
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
