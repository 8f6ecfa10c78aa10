//! [`Outcome`]: the results of a call.

use std::time::Duration;

use anabranch_sansio::Time;
use serde::{Deserialize, Serialize};

use super::cell::{Cell, Place};
use super::log::Log;
use super::media::{Kind, Source};
use super::values::START;
use crate::records::UnitRecord;

/// How long after a cut gaps are looked for, where several follow each other.
pub(super) const WINDOW: Duration = Duration::from_millis(3_000);

/// The results of a call, both directions together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// From the last whole picture over the old path to the first one that was taken after the
    /// sender had changed to the new one, as the paper has it: the mean of both directions; none
    /// where the call did not go on.
    pub handoff_s: Option<f64>,
    /// From the cut to the warning that no path is left, at the end that gave up first.
    pub gave_up_s: Option<f64>,
    /// The longest time without a frame of voice around each cut, in each direction, in seconds.
    pub voice_gaps_s: Vec<f64>,
    /// The same of pictures.
    pub video_gaps_s: Vec<f64>,
    /// Frames of voice.
    pub voice: Counts,
    /// Pictures.
    pub video: Counts,
    /// Bytes of messages that arrived, per second of the call, in kB/s: voice, video.
    pub kbytes_per_s: [f64; 2],
    /// How long the run was, in seconds.
    pub simulated_s: f64,
}

/// Frames of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Taken by a camera or microphone.
    pub taken: u64,
    /// Never whole at the other end.
    pub lost: u64,
    /// Whole too late to be seen or heard.
    pub late: u64,
}

impl Counts {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            taken: self.taken + other.taken,
            lost: self.lost + other.lost,
            late: self.late + other.late,
        }
    }

    /// Of what was taken.
    #[must_use]
    pub fn lost_percent(self) -> f64 {
        100.0 * self.lost as f64 / (self.taken as f64).max(1.0)
    }
}

/// A path that was cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) at: Time,
    /// When somebody knew.
    pub(super) left: Time,
}

/// A run that is over.
pub(super) struct Ended<'a> {
    pub(super) cell: &'a Cell,
    /// Of the caller and of the called.
    pub(super) logs: [&'a Log; 2],
    pub(super) cuts: &'a [Cut],
    pub(super) late_after: Duration,
    /// No frame is taken from here on.
    pub(super) last_frame: Time,
}

impl Outcome {
    pub(super) fn of(ended: &Ended<'_>) -> Self {
        let Ended { cell, logs, cuts, last_frame, .. } = *ended;
        let directions = [(logs[0], logs[1]), (logs[1], logs[0])];
        let gave_up = logs.iter().filter_map(|log| log.ended).min();
        let handoffs = || {
            let cut = cuts.first()?;
            let gaps = directions.map(|(from, to)| handoff(from, to, cut));
            Some((gaps[0]? + gaps[1]?) / 2.0)
        };
        let handoff_s = match cell.place {
            Place::Handoff(_) if gave_up.is_none() => handoffs(),
            Place::Handoff(_) | Place::Rtt(_) => None,
        };
        let gaps = |kind| {
            let of_cut = |cut: &Cut| directions.map(|(_, to)| ended.longest_gap(to, kind, cut));
            cuts.iter().flat_map(of_cut).collect()
        };
        let counts = |kind| {
            let both = directions.map(|(from, to)| ended.count(from, to, kind));
            both[0].plus(both[1])
        };
        let span = (last_frame - START).as_secs_f64();
        let kbytes = |kind: Kind| {
            logs.iter().map(|log| log.bytes[kind.index()]).sum::<u64>() as f64 / 2e3 / span
        };
        let cut_at = cuts.first().map_or(START, |cut| cut.at);
        Self {
            handoff_s,
            gave_up_s: gave_up.map(|at| at.saturating_since(cut_at).as_secs_f64()),
            voice_gaps_s: gaps(Kind::Voice),
            video_gaps_s: gaps(Kind::Video),
            voice: counts(Kind::Voice),
            video: counts(Kind::Video),
            kbytes_per_s: Kind::ALL.map(kbytes),
            simulated_s: last_frame.as_secs_f64(),
        }
    }
}

/// From the last picture before the cut to the first that was taken when its sender had switched.
fn handoff(from: &Log, to: &Log, cut: &Cut) -> Option<f64> {
    // A TCP's other end follows; ours switch nothing and lose nothing.
    let switched = from.switched.iter().chain(&to.switched).find(|at| **at >= cut.at);
    let since = switched.copied().unwrap_or(cut.left);
    let old = to.whole(Kind::Video).filter(|(taken, there)| *taken < cut.at && *there <= cut.at);
    let last = old.map(|(_, there)| there).max()?;
    let new = to.whole(Kind::Video).filter(|(taken, there)| *taken >= since && *there > last);
    let first = new.map(|(_, there)| there).min()?;
    Some((first - last).as_secs_f64())
}

impl Ended<'_> {
    /// Around a cut, in seconds. What comes late is as good as what does not come.
    fn longest_gap(&self, to: &Log, kind: Kind, cut: &Cut) -> f64 {
        let window = match self.cell.place {
            Place::Handoff(_) => self.last_frame - cut.left,
            Place::Rtt(_) => WINDOW,
        };
        let (begin, end) = (cut.left, cut.left + window);
        let times = to.whole(kind).map(|(_, there)| there);
        let mut times: Vec<_> = times.filter(|there| *there <= end).collect();
        times.sort_unstable();
        let first = times.partition_point(|there| *there < begin).saturating_sub(1);
        times.push(end);
        let gaps = times[first.min(times.len() - 1)..].windows(2).map(|pair| pair[1] - pair[0]);
        gaps.max().unwrap_or(window).as_secs_f64()
    }

    /// What became of each frame of both directions, which these sources take.
    pub(super) fn units(&self, sources: &[Source; 2]) -> Vec<UnitRecord> {
        let ends = [("caller", 0, 1), ("called", 1, 0)];
        let mut units = Vec::new();
        for (of, from, to) in ends {
            for source in sources {
                let taken = self.logs[from].taken[source.kind.index()];
                units.extend((0..taken).map(|number| {
                    let (ready, bytes) = source.frame(number);
                    let frame = self.logs[to].frame(source.kind, number);
                    UnitRecord {
                        of: of.to_owned(),
                        kind: source.kind.name(),
                        number: number.into(),
                        bytes,
                        ready,
                        deadline: Some(ready + self.late_after),
                        completed: frame.and_then(|frame| frame.whole).map(|(_, there)| there),
                    }
                }));
            }
        }
        units
    }

    fn count(&self, from: &Log, to: &Log, kind: Kind) -> Counts {
        let taken = from.taken[kind.index()];
        let mut counts = Counts { taken: taken.into(), ..Counts::default() };
        for number in 0..taken {
            match to.frame(kind, number).and_then(|frame| frame.whole) {
                None => counts.lost += 1,
                Some((taken, there)) if there - taken > self.late_after => counts.late += 1,
                Some(_) => {}
            }
        }
        counts
    }
}
