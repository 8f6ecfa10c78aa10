//! [`Measured`]: what a cell gives.

use std::time::Duration;

use anabranch_sansio::Time;
use serde::{Deserialize, Serialize};

use super::cell::Setup;
use super::score::{Reference, Score};
use super::values::Values;
use crate::error::DecodeError;
use crate::records::UnitRecord;

/// What became of a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// When it left.
    #[serde(with = "nanos")]
    pub sent: Option<Time>,
    /// When it was there.
    #[serde(with = "nanos")]
    pub arrived: Option<Time>,
    /// By which connection it went, or by which cell where the sender has two, counted from zero.
    pub connection: u16,
}

/// Nanoseconds of the run, where it happened.
mod nanos {
    use anabranch_sansio::Time;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
        at.map(Time::as_nanos).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Time>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Time::from_nanos))
    }
}

/// What a run gives, before it is measured.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) slices: Vec<SliceRecord>,
    /// When the video was handed over, and when all was over.
    pub(super) start: Time,
    pub(super) ended: Time,
    pub(super) lost_on_air: u64,
    pub(super) refused_by_queues: u64,
    /// Share of the receiver's packets that did not arrive.
    pub(super) feedback_lost: f64,
    pub(super) samples: Vec<(f64, f64)>,
    /// Of each TCP beside the video, one for each cell of the sender.
    pub(super) beside_kbps: Vec<f64>,
}

/// What a cell gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// All in numbers.
    pub outcome: Outcome,
    /// What became of each slice, from when the video was handed over.
    pub slices: Vec<SliceRecord>,
    /// Simulated seconds, those before the video included.
    pub simulated_s: f64,
}

/// A cell in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// From the first packet of video sent to the last one that arrived.
    pub period_s: f64,
    /// The video's bits over this time, as the paper has it; 0 where nothing arrived.
    pub throughput_kbps: f64,
    /// The mean time from sending a slice to its arrival; nothing where that was not observed.
    pub delay_s: Option<f64>,
    /// How much the delays of slices that arrive behind each other differ, on average.
    pub jitter_s: Option<f64>,
    /// The mean time between arrivals, which is what the paper's jitter comes to.
    pub interval_s: f64,
    /// Slices of the video.
    pub slices: usize,
    /// Slices that never came.
    pub lost: usize,
    /// Packets of the video that the radio lost.
    pub lost_on_air: u64,
    /// Packets of the video that queues had no room for.
    pub refused_by_queues: u64,
    /// Share of the receiver's packets that did not arrive.
    pub feedback_lost: f64,
    /// The round-trip time that the connections know, on average.
    pub rtt_s: Option<f64>,
    /// The loss event rate that they know, on average.
    pub loss_event_rate: Option<f64>,
    /// PSNR-Y of all that arrived, on average over the pictures; none, here and below, of a film of
    /// the user's, which is not scored.
    pub psnr_y_db: Option<f64>,
    /// Its standard deviation.
    pub psnr_y_deviation_db: Option<f64>,
    /// SSIM of all that arrived.
    pub ssim: Option<f64>,
    /// PSNR-Y of what arrived in time for its picture, for a viewer who waits once.
    pub psnr_y_in_time_db: Option<f64>,
    /// What a TCP beside it got.
    pub tcp_kbps: Option<f64>,
    /// The same in the other cell, of a sender that has two.
    pub tcp_other_kbps: Option<f64>,
}

impl Measured {
    pub(super) fn of(
        setup: &Setup,
        values: &Values,
        delivery: &Delivery,
    ) -> Result<Self, DecodeError> {
        let slices = &delivery.slices;
        let scores = match &setup.reference {
            Some(reference) => Some(scores(setup, reference, values, delivery)?),
            None => None,
        };
        Ok(Self {
            outcome: outcome(setup, delivery, scores),
            slices: slices.clone(),
            simulated_s: delivery.ended.as_secs_f64(),
        })
    }
}

/// Of all that arrived, and of what arrived in time.
fn scores(
    setup: &Setup,
    reference: &Reference,
    values: &Values,
    delivery: &Delivery,
) -> Result<[Score; 2], DecodeError> {
    let slices = &delivery.slices;
    let score = reference.score(&setup.video, |number| slices[number].arrived.is_some())?;
    let in_time = in_time(setup, values.start_up, delivery);
    let score_in_time = match (0..slices.len()).all(|n| in_time[n] || slices[n].arrived.is_none()) {
        true => score,
        false => reference.score(&setup.video, |number| in_time[number])?,
    };
    Ok([score, score_in_time])
}

/// When the picture of each slice is shown.
fn shown(setup: &Setup, start_up: Duration, start: Time) -> Vec<Time> {
    let mut shown = vec![start; setup.video.len()];
    for (picture, slices) in setup.video.pictures().iter().enumerate() {
        shown[slices.clone()].fill(start + start_up + setup.video.shown(picture));
    }
    shown
}

/// Which slices arrive before their picture is to be shown.
fn in_time(setup: &Setup, start_up: Duration, delivery: &Delivery) -> Vec<bool> {
    let shown = shown(setup, start_up, delivery.start);
    let arrivals = delivery.slices.iter().map(|slice| slice.arrived);
    arrivals.zip(shown).map(|(arrived, shown)| arrived.is_some_and(|at| at <= shown)).collect()
}

/// What became of each slice.
pub(super) fn units(setup: &Setup, start_up: Duration, delivery: &Delivery) -> Vec<UnitRecord> {
    let shown = shown(setup, start_up, delivery.start);
    let unit = |(number, slice): (usize, &SliceRecord)| UnitRecord {
        of: format!("connection {}", slice.connection + 1),
        kind: "slice",
        number: number as u64,
        bytes: setup.video.slice(number).len(),
        ready: slice.sent.unwrap_or(delivery.start),
        deadline: Some(shown[number]),
        completed: slice.arrived,
    };
    delivery.slices.iter().enumerate().map(unit).collect()
}

fn outcome(setup: &Setup, delivery: &Delivery, scores: Option<[Score; 2]>) -> Outcome {
    let slices = &delivery.slices;
    let arrivals = slices.iter().filter_map(|slice| slice.arrived);
    let first = slices.iter().filter_map(|slice| slice.sent).min().unwrap_or(delivery.start);
    let last = arrivals.clone().max().unwrap_or(first);
    let (period_s, arrived) = ((last - first).as_secs_f64(), arrivals.count());
    let throughput_kbps = match arrived {
        0 => 0.0,
        _ => setup.video.bytes() as f64 * 8.0 / period_s.max(1e-3) / 1e3,
    };
    let (delay_s, jitter_s) = delays(slices);
    let mean_sample = |value: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = delivery.samples.iter().map(value).collect();
        mean(&values)
    };
    Outcome {
        period_s,
        throughput_kbps,
        delay_s,
        jitter_s,
        interval_s: period_s / arrived.max(1) as f64,
        slices: slices.len(),
        lost: slices.len() - arrived,
        lost_on_air: delivery.lost_on_air,
        refused_by_queues: delivery.refused_by_queues,
        feedback_lost: delivery.feedback_lost,
        rtt_s: mean_sample(|(rtt_s, _)| *rtt_s),
        loss_event_rate: mean_sample(|(_, rate)| *rate),
        psnr_y_db: scores.map(|[all, _]| all.psnr_y_db),
        psnr_y_deviation_db: scores.map(|[all, _]| all.psnr_y_deviation_db),
        ssim: scores.map(|[all, _]| all.ssim),
        psnr_y_in_time_db: scores.map(|[_, in_time]| in_time.psnr_y_db),
        tcp_kbps: delivery.beside_kbps.first().copied(),
        tcp_other_kbps: delivery.beside_kbps.get(1).copied(),
    }
}

/// The mean delay, and the mean difference between those of slices that arrive behind each other.
fn delays(slices: &[SliceRecord]) -> (Option<f64>, Option<f64>) {
    let mut arrived: Vec<(Time, f64)> = slices
        .iter()
        .filter_map(|slice| Some((slice.arrived?, (slice.arrived? - slice.sent?).as_secs_f64())))
        .collect();
    arrived.sort_by_key(|(at, _)| *at);
    let delays: Vec<f64> = arrived.iter().map(|(_, delay)| *delay).collect();
    let differences: Vec<f64> = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    (mean(&delays), mean(&differences))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_differ_in_the_order_of_arrival() {
        let slice = |sent, arrived| SliceRecord {
            sent: Some(Time::from_millis(sent)),
            arrived: Some(Time::from_millis(arrived)),
            connection: 0,
        };
        // 30, 50, 20 ms, the last of which arrives first.
        let slices = [slice(0, 30), slice(0, 50), slice(0, 20), SliceRecord::default()];
        let (delay, jitter) = delays(&slices);
        assert!((delay.unwrap() - 0.1 / 3.0).abs() < 1e-9);
        assert!((jitter.unwrap() - 0.015).abs() < 1e-9);
    }
}
