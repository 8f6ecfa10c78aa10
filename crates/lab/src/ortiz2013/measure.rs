//! [`Outcome`]: what a cell measures.

use anabranch_sansio::Time;
use serde::Serialize;

use super::cell::Video;
use crate::svc::{Pictures, VideoPacket};

/// When each packet of the video arrived, by its number.
pub(super) type Arrivals = Vec<Option<Time>>;

/// What came of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outcome {
    /// Packets that the encoder handed over.
    pub packets: usize,
    /// Those that arrived.
    pub arrived: usize,
    /// The mean one-way delay over all packets that arrived, in seconds: "avg diff time".
    pub delay_s: f64,
    /// The mean over the seconds of the video of each second's mean, in seconds.
    pub delay_by_second_s: f64,
    /// The mean PSNR-Y over all frames, in dB.
    pub psnr_y_db: f64,
    /// Frames shown with both layers.
    pub frames_full: usize,
    /// Frames shown from the base layer.
    pub frames_base: usize,
    /// Frames that could not be decoded.
    pub frames_repeated: usize,
}

impl Outcome {
    pub(super) fn of(video: &Video, start: Time, arrivals: &Arrivals) -> Self {
        let pictures = Pictures::score(&video.trace, &video.packets, |id| arrivals[id].is_some());
        let delays: Vec<_> = video
            .packets
            .iter()
            .zip(arrivals)
            .filter_map(|(packet, arrival)| Some((packet, delay(packet, start, (*arrival)?))))
            .collect();
        Self {
            packets: video.packets.len(),
            arrived: delays.len(),
            delay_s: mean(delays.iter().map(|(_, delay)| *delay)),
            delay_by_second_s: mean(by_second(&delays).into_iter()),
            psnr_y_db: pictures.psnr_y,
            frames_full: pictures.full,
            frames_base: pictures.base,
            frames_repeated: pictures.repeated,
        }
    }
}

fn delay(packet: &VideoPacket, start: Time, arrival: Time) -> f64 {
    arrival.saturating_since(packet.sent_at(start)).as_secs_f64()
}

fn by_second(delays: &[(&VideoPacket, f64)]) -> Vec<f64> {
    let seconds = delays.chunk_by(|a, b| a.0.at.as_secs() == b.0.at.as_secs());
    seconds.map(|second| mean(second.iter().map(|(_, delay)| *delay))).collect()
}

/// Zero where there is nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}
