//! How a call stands, five times a second.

use std::time::Duration;

use anabranch_call::{CallPath, CallStats, Device, PathUse, Playback, Played};
use anabranch_sansio::{Rate, Time};
use anabranch_transport::PathState;

use super::super::page::protocol::{Quality, Stats, ToPage, VideoStats, VoiceStats, micros};
use super::super::path_meter::{PathMeter, kbps, millis};
use super::{Run, STATS_EVERY};

/// What is told of pictures is of so long.
const SECOND: Duration = Duration::from_secs(1);

/// Counters of the last stats, and what was played since.
#[derive(Debug, Default)]
pub(super) struct Meter {
    paths: PathMeter,
    /// Pictures of the last second: when they were shown, how many microseconds they had taken,
    /// their bytes.
    pictures: Vec<(Time, i64, u64)>,
    /// How long the last frame of voice had taken.
    voice_took: Option<i64>,
    concealed: u64,
    lost: u64,
}

impl Meter {
    /// Something was played out.
    pub(super) fn on_played(&mut self, playback: &Playback) {
        // Both ends' clocks differ, and by as much for sound as for pictures.
        let (shown, captured) = (playback.play_at.as_micros(), playback.captured_us);
        let took = shown.wrapping_sub(captured).cast_signed();
        match &playback.what {
            Played::Voice(_) => self.voice_took = Some(took),
            Played::Concealed => {}
            Played::Picture { bytes, .. } => {
                self.pictures.push((playback.play_at, took, bytes.len() as u64));
            }
        }
    }

    fn stats(&mut self, now: Time, stats: &CallStats, sends: &[&str]) -> Stats {
        self.pictures.retain(|(at, ..)| now - *at < SECOND);
        let quality = self.quality(stats);
        let info = |path: &CallPath| {
            let CallPath { name, note, report } = path;
            self.paths.info(name, note, report, (sends, STATS_EVERY))
        };
        let paths = stats.paths.iter().map(info).collect();
        Stats {
            now_us: micros(now),
            paths,
            voice: VoiceStats {
                heard: stats.voice.heard,
                concealed: stats.voice.concealed,
                late: stats.voice.late,
                delay_ms: millis(stats.delay),
                target_ms: millis(stats.target),
                twice: stats.voice_twice && carriers(stats) > 1,
            },
            video: self.video(stats),
            carries_kbps: stats.rate.map(|signal| kbps(signal.carries)),
            theirs: stats.theirs,
            quality,
        }
    }

    fn video(&self, stats: &CallStats) -> VideoStats {
        let bytes = self.pictures.iter().map(|(_, _, bytes)| bytes).sum();
        let count = self.pictures.len();
        let offset = self.voice_took.filter(|_| count > 0).map(|voice| {
            let later = |took: &i64| took.saturating_sub(voice) as f64;
            let sum: f64 = self.pictures.iter().map(|(_, took, _)| later(took)).sum();
            sum / count as f64 / 1e3
        });
        VideoStats {
            shown: stats.pictures.shown,
            lost: stats.pictures.lost,
            left_out: stats.left_out,
            kbps: kbps(Rate::of(bytes, SECOND)),
            fps: count as f64,
            av_offset_ms: offset,
        }
    }

    /// As people say it, and why.
    fn quality(&mut self, stats: &CallStats) -> Quality {
        let concealed = stats.voice.concealed - self.concealed.min(stats.voice.concealed);
        let lost = stats.pictures.lost - self.lost.min(stats.pictures.lost);
        (self.concealed, self.lost) = (stats.voice.concealed, stats.pictures.lost);
        let (is, text) = match (carriers(stats), concealed, lost) {
            (0, ..) => ("bad", "No network answers."),
            (_, 3.., _) => {
                ("bad", "Sound is missing: the networks lose more than can be repeated.")
            }
            (_, 1.., _) => ("fair", "A little of the sound was missing."),
            (_, 0, 1..) => ("fair", "Pictures were left out or lost; the sound is whole."),
            (1, 0, 0) => ("good", "Sound and picture are whole; there is no second network."),
            (_, 0, 0) => ("good", "Sound and picture are whole."),
        };
        Quality { is: is.to_owned(), text: text.to_owned() }
    }
}

impl Run<'_, '_> {
    pub(super) fn tell_stats(&mut self) {
        let Some(page) = &self.page else { return };
        let told = self.handle.with(|agent, now| (now, agent.stats(), agent.media().clone()));
        let (now, stats, media) = told;
        let devices = [("voice", media.microphone), ("video", media.camera)];
        let on = devices.into_iter().filter(|(_, device)| *device == Device::On);
        let sends: Vec<&str> = on.map(|(name, _)| name).collect();
        page.say(&ToPage::Stats(self.meter.stats(now, &stats, &sends)));
    }
}

/// Paths that carry data.
fn carriers(stats: &CallStats) -> usize {
    let carries =
        |path: &&CallPath| path.report.state == PathState::Active && path.note.ours == PathUse::Use;
    stats.paths.iter().filter(carries).count()
}
