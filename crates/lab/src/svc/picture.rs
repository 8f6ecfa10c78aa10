//! [`Pictures`]: what a viewer sees of a video of which some packets are missing.

use super::packets::{Layer, VideoPacket};
use super::trace::{Frame, Trace};

/// Luma samples of a picture.
const SAMPLES: f64 = 1280.0 * 720.0;
const PEAK: f64 = 255.0;

/// What became of the frames of a video.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pictures {
    /// Frames shown with both layers.
    pub full: usize,
    /// Frames shown from the base layer.
    pub base: usize,
    /// Frames that could not be decoded; the last one stays.
    pub repeated: usize,
    /// Each frame's PSNR-Y in dB.
    pub frames: Vec<f64>,
}

/// PSNR-Y in dB of a picture with this sum of squared errors.
#[must_use]
pub fn psnr_y(error: f64) -> f64 {
    10.0 * (PEAK * PEAK * SAMPLES / error).log10()
}

/// What is on screen.
#[derive(Debug, Clone, Copy)]
struct Screen {
    frame: usize,
    layer: Layer,
}

impl Pictures {
    /// The mean over all frames of each one's PSNR-Y, in dB; not a number without frames.
    #[must_use]
    pub fn psnr_y(&self) -> f64 {
        self.frames.iter().sum::<f64>() / self.frames.len() as f64
    }

    /// Scores a video of which these packets arrived, however late.
    ///
    /// A frame is decoded when all its packets are there, or all of the base layer and none of the
    /// other; the reference decoder gives no picture when a slice is missing. Otherwise the picture
    /// before stays on screen.
    ///
    /// # Panics
    /// If `arrived` is shorter than `packets`.
    #[must_use]
    pub fn score(trace: &Trace, packets: &[VideoPacket], arrived: impl Fn(usize) -> bool) -> Self {
        let mut pictures = Self::default();
        let mut screen = None;
        let mut packets = packets.iter().enumerate().peekable();
        for (number, frame) in trace.frames.iter().enumerate() {
            let mut there = [0, 0];
            let mut missing = [0, 0];
            while let Some((id, packet)) = packets.next_if(|(_, packet)| packet.frame == number) {
                let count = if arrived(id) { &mut there } else { &mut missing };
                count[packet.layer as usize] += 1;
            }
            let decoded = match (missing, there) {
                ([0, 0], _) => Some(Layer::Enhancement),
                ([0, _], [_, 0]) => Some(Layer::Base),
                _ => None,
            };
            if let Some(layer) = decoded {
                screen = Some(Screen { frame: number, layer });
            }
            pictures.show(trace, number, frame, decoded, screen);
        }
        pictures
    }

    fn show(
        &mut self,
        trace: &Trace,
        number: usize,
        frame: &Frame,
        decoded: Option<Layer>,
        screen: Option<Screen>,
    ) {
        let error = match decoded {
            Some(Layer::Enhancement) => {
                self.full += 1;
                frame.full_error
            }
            Some(Layer::Base) => {
                self.base += 1;
                frame.base_error
            }
            None => {
                self.repeated += 1;
                screen.map_or(frame.black_error, |screen| repeated(trace, number, screen))
            }
        };
        self.frames.push(psnr_y(error));
    }
}

/// The error of showing an earlier picture as frame `number`.
///
/// The trace knows it for some distances within a segment and for pictures of both layers. Between
/// two distances the error's logarithm is interpolated; beyond the last it stays as it is there;
/// what the shown picture lacked of its enhancement is added. A picture of another segment, which
/// has nothing in common with this one, counts as black.
fn repeated(trace: &Trace, number: usize, screen: Screen) -> f64 {
    let frame = &trace.frames[number];
    let is_other_segment =
        trace.frames[screen.frame + 1..=number].iter().any(Frame::begins_segment);
    if is_other_segment {
        return frame.black_error;
    }
    let shown = &trace.frames[screen.frame];
    let lacking = match screen.layer {
        Layer::Enhancement => 0.0,
        Layer::Base => (shown.base_error - shown.full_error).max(0.0),
    };
    interpolated(&frame.repeat_errors, (number - screen.frame) as u32) + lacking
}

fn interpolated(errors: &[(u32, f64)], distance: u32) -> f64 {
    let above = errors.partition_point(|(at, _)| *at < distance);
    let (Some(&(next, next_error)), Some(&(last, last_error))) =
        (errors.get(above), errors.get(above.saturating_sub(1)))
    else {
        return errors.last().map_or(f64::NAN, |(_, error)| *error);
    };
    if next == last {
        return next_error;
    }
    let share = f64::from(distance - last) / f64::from(next - last);
    (last_error.ln() + share * (next_error.ln() - last_error.ln())).exp()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{PAYLOAD_MAX, packets};
    use super::*;

    fn video() -> (Trace, Vec<VideoPacket>) {
        let trace = Trace::jsvm_720p25();
        let packets = packets(&trace, Duration::from_millis(40), PAYLOAD_MAX);
        (trace, packets)
    }

    fn score_without(lost: impl Fn(&VideoPacket) -> bool) -> Pictures {
        let (trace, packets) = video();
        Pictures::score(&trace, &packets, |id| !lost(&packets[id]))
    }

    #[test]
    fn a_whole_video_has_the_encoders_own_psnr() {
        let pictures = score_without(|_| false);
        assert_eq!((pictures.full, pictures.base, pictures.repeated), (2_116, 0, 0));
        assert!((pictures.psnr_y() - 34.563).abs() < 0.0005, "{}", pictures.psnr_y());
    }

    #[test]
    fn without_the_enhancement_the_base_is_shown() {
        let pictures = score_without(|packet| packet.layer == Layer::Enhancement);
        assert_eq!((pictures.full, pictures.base), (0, 2_116));
        assert!((pictures.psnr_y() - 28.17).abs() < 0.0005, "{}", pictures.psnr_y());
    }

    #[test]
    fn a_frame_with_a_hole_in_either_layer_is_not_decoded() {
        let (trace, packets) = video();
        for layer in [Layer::Base, Layer::Enhancement] {
            let hole = packets.iter().position(|p| p.frame == 10 && p.layer == layer).unwrap();
            let pictures = Pictures::score(&trace, &packets, |id| id != hole);
            assert_eq!((pictures.full, pictures.repeated), (2_115, 1));
            let whole = score_without(|_| false).psnr_y();
            let frame = &trace.frames[10];
            let loss = psnr_y(frame.full_error) - psnr_y(frame.repeat_errors[0].1);
            assert!((whole - pictures.psnr_y() - loss / 2_116.0).abs() < 1e-9);
        }
    }

    #[test]
    fn repeats_are_interpolated_in_log_error_and_level_off() {
        let errors = [(1, 10.0), (2, 100.0), (4, 10_000.0)];
        let at = |distance| interpolated(&errors, distance);
        assert!((at(1) - 10.0).abs() < 1e-9 && (at(2) - 100.0).abs() < 1e-9);
        assert!((at(3) - 1_000.0).abs() < 1e-6);
        assert!((at(40) - 10_000.0).abs() < 1e-9);
    }

    #[test]
    fn before_the_first_picture_and_across_segments_the_screen_counts_as_black() {
        let (trace, _) = video();
        let black = |frame: usize| psnr_y(trace.frames[frame].black_error);
        let whole = score_without(|_| false).psnr_y() * 2_116.0;
        for lost in [0, 529] {
            let pictures = score_without(|packet| packet.frame == lost);
            let expected = whole - psnr_y(trace.frames[lost].full_error) + black(lost);
            assert!((pictures.psnr_y() * 2_116.0 - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn a_repeated_base_picture_lacks_its_enhancement() {
        let pictures = score_without(|packet| {
            let is_enhancement = packet.layer == Layer::Enhancement;
            packet.frame == 21 || packet.frame == 20 && is_enhancement
        });
        assert_eq!((pictures.base, pictures.repeated), (1, 1));
        let sharp = score_without(|packet| packet.frame == 21).psnr_y();
        let only_20 = score_without(|p| p.frame == 20 && p.layer == Layer::Enhancement).psnr_y();
        let whole = score_without(|_| false).psnr_y();
        assert!(whole - pictures.psnr_y() > (whole - sharp) + (whole - only_20));
    }
}
