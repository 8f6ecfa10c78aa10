//! [`Score`]: what a viewer sees, decoded by a real decoder and measured.

use openh264::OpenH264API;
use openh264::decoder::{Decoder, DecoderConfig};
use openh264::formats::YUVSource;

use super::slices::Video;
use crate::error::DecodeError;

const WIDTH: usize = 352;
const HEIGHT: usize = 288;
const PIXELS: f64 = (WIDTH * HEIGHT) as f64;
/// SSIM is taken over blocks of so many pixels square.
const BLOCK: usize = 8;

/// How good a video is that arrived in part.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Score {
    /// PSNR-Y against the source, the mean over pictures, in dB.
    pub psnr_y_db: f64,
    /// Its standard deviation.
    pub psnr_y_deviation_db: f64,
    /// SSIM of luma against the video that arrived whole, the mean over pictures.
    pub ssim: f64,
}

/// What a video looks like that arrived whole: what others are compared with.
#[derive(Debug)]
pub(super) struct Reference(Vec<Vec<u8>>);

impl Reference {
    pub(super) fn of(video: &Video) -> Result<Self, DecodeError> {
        let mut pictures = Vec::new();
        decode(video, |_| true, |_, luma| pictures.push(luma))?;
        Ok(Self(pictures))
    }

    /// Scores a video of which these slices arrived.
    ///
    /// What coding has cost and what losses cost are added as if they had nothing to do with each
    /// other: the source itself is too large to come with this crate.
    pub(super) fn score(
        &self,
        video: &Video,
        arrived: impl Fn(usize) -> bool,
    ) -> Result<Score, DecodeError> {
        let mut psnrs = Vec::with_capacity(self.0.len());
        let mut ssim = 0.0;
        decode(video, arrived, |picture, luma| {
            let whole = &self.0[picture];
            let error = f64::from(video.coding_error(picture)) + squared_error(whole, &luma);
            psnrs.push(10.0 * (255.0 * 255.0 * PIXELS / error).log10());
            ssim += similarity(whole, &luma);
        })?;
        let count = psnrs.len() as f64;
        let mean = psnrs.iter().sum::<f64>() / count;
        let variance = psnrs.iter().map(|psnr| (psnr - mean).powi(2)).sum::<f64>() / count;
        Ok(Score { psnr_y_db: mean, psnr_y_deviation_db: variance.sqrt(), ssim: ssim / count })
    }
}

/// Decodes a video of which these slices arrived, and shows the luma of each picture.
fn decode(
    video: &Video,
    arrived: impl Fn(usize) -> bool,
    mut show: impl FnMut(usize, Vec<u8>),
) -> Result<(), DecodeError> {
    let failed = |picture, reason: String| DecodeError { picture, reason };
    let decoder = Decoder::with_api_config(OpenH264API::from_source(), DecoderConfig::new());
    let mut decoder = decoder.map_err(|error| failed(0, error.to_string()))?;
    for picture in 0..video.pictures().len() {
        let stream = video.picture(picture, &arrived);
        let decoded =
            decoder.decode(&stream).map_err(|error| failed(picture, error.to_string()))?;
        let decoded = decoded.ok_or_else(|| failed(picture, "nothing came".to_owned()))?;
        let (stride, luma) = (decoded.strides().0, decoded.y());
        let rows = luma.chunks(stride).take(HEIGHT);
        show(picture, rows.flat_map(|row| &row[..WIDTH]).copied().collect());
    }
    Ok(())
}

fn squared_error(a: &[u8], b: &[u8]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2));
    squares.sum::<u64>() as f64
}

/// SSIM (Wang and others, 2004) of two pictures, the mean over blocks beside each other.
fn similarity(a: &[u8], b: &[u8]) -> f64 {
    let blocks = (0..HEIGHT / BLOCK).flat_map(|y| (0..WIDTH / BLOCK).map(move |x| (x, y)));
    let each = blocks.map(|(x, y)| block_similarity(a, b, y * BLOCK * WIDTH + x * BLOCK));
    each.sum::<f64>() / ((WIDTH / BLOCK) * (HEIGHT / BLOCK)) as f64
}

fn block_similarity(a: &[u8], b: &[u8], corner: usize) -> f64 {
    const C1: f64 = (0.01 * 255.0) * (0.01 * 255.0);
    const C2: f64 = (0.03 * 255.0) * (0.03 * 255.0);
    let (mut sums, mut products) = ([0_u32; 2], [0_u32; 3]);
    for row in 0..BLOCK {
        let at = corner + row * WIDTH;
        for (a, b) in a[at..at + BLOCK].iter().zip(&b[at..at + BLOCK]) {
            let (a, b) = (u32::from(*a), u32::from(*b));
            sums = [sums[0] + a, sums[1] + b];
            products = [products[0] + a * a, products[1] + b * b, products[2] + a * b];
        }
    }
    let count = (BLOCK * BLOCK) as f64;
    let [mean_a, mean_b] = sums.map(|sum| f64::from(sum) / count);
    let [square_a, square_b, both] = products.map(|sum| f64::from(sum) / count);
    let variances = square_a - mean_a * mean_a + square_b - mean_b * mean_b;
    let covariance = both - mean_a * mean_b;
    let luminance = (2.0 * mean_a * mean_b + C1) / (mean_a * mean_a + mean_b * mean_b + C1);
    luminance * (2.0 * covariance + C2) / (variances + C2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video() -> Video {
        let mut video = Video::bunny();
        video.truncate(45);
        video
    }

    #[test]
    fn a_whole_video_has_what_coding_left() {
        let video = video();
        let score = Reference::of(&video).unwrap().score(&video, |_| true).unwrap();
        assert!((score.ssim - 1.0).abs() < 1e-9, "{score:?}");
        assert!((36.0..38.5).contains(&score.psnr_y_db), "{score:?}");
    }

    #[test]
    fn where_a_picture_is_missing_the_one_before_is_shown_again() {
        let video = video();
        let whole = Reference::of(&video).unwrap();
        for picture in [15, 22] {
            let slices = video.pictures()[picture].clone();
            let mut seen = Vec::new();
            let arrived = |number: usize| !slices.contains(&number);
            decode(&video, arrived, |_, luma| seen.push(luma)).unwrap();
            assert_eq!(seen[picture - 1], whole.0[picture - 1]);
            assert_eq!(seen[picture], seen[picture - 1], "picture {picture}");
            assert_ne!(
                seen[picture + 1],
                whole.0[picture + 1],
                "what is predicted from it suffers"
            );
            assert_eq!(seen[30], whole.0[30], "the next key picture mends all");
        }
    }

    #[test]
    fn where_a_slice_is_missing_its_part_of_the_picture_is_the_one_before() {
        let video = video();
        let whole = Reference::of(&video).unwrap();
        let slices = video.pictures()[15].clone();
        let lost = slices.start + 2;
        let mut seen = Vec::new();
        decode(&video, |number| number != lost, |_, luma| seen.push(luma)).unwrap();
        let rows = |picture: &[u8], rows: std::ops::Range<usize>| {
            picture[rows.start * WIDTH..rows.end * WIDTH].to_vec()
        };
        assert_eq!(rows(&seen[15], 0..8), rows(&whole.0[15], 0..8), "what came");
        assert_ne!(seen[15], whole.0[15]);
    }

    #[test]
    fn what_is_missing_of_the_first_picture_is_grey() {
        let video = video();
        let slices = video.pictures()[0].clone();
        let mut first = None;
        let show = |picture, luma| {
            if picture == 0 {
                first = Some(luma)
            }
        };
        decode(&video, |number| !slices.contains(&number), show).unwrap();
        assert!(first.unwrap().iter().all(|luma| *luma == 128));
    }
}
