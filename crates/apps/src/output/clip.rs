//! [`ClipWriter`]: units back into a clip.

use std::io;
use std::path::PathBuf;

use anabranch_media::clip::{CLIP_UNITS_MAX, Clip, ClipHeader, ClipUnit, VIDEO_TRACK};
use anabranch_media::cutter::UnitJoiner;
use anabranch_media::playout::Released;
use anabranch_media::{Class, Layer, Unit};

/// Bytes of a clip that is gathered; what comes after is dropped.
const BYTES_MAX: usize = 1 << 30;

/// Gathers the units of one round and writes them as a clip.
///
/// A clip begins with a key frame and has no gap in its pictures: what was before the first key
/// frame is left out, and so is all that follows the first lost picture, or the end of the round.
#[derive(Debug)]
pub(super) struct ClipWriter {
    path: PathBuf,
    header: ClipHeader,
    joiner: UnitJoiner,
    units: Vec<Unit>,
    bytes: usize,
}

impl ClipWriter {
    pub(super) fn new(path: PathBuf, header: ClipHeader) -> Self {
        Self { path, header, joiner: UnitJoiner::new(), units: Vec::new(), bytes: 0 }
    }

    pub(super) fn take(&mut self, released: &Released) {
        let Some(unit) = self.joiner.push(released) else { return };
        if self.units.len() < CLIP_UNITS_MAX && self.bytes + unit.bytes.len() <= BYTES_MAX {
            self.bytes += unit.bytes.len();
            self.units.push(unit);
        }
    }

    /// Writes the file; returns what is in it, for people.
    pub(super) async fn finish(&mut self) -> io::Result<String> {
        let came = self.units.len();
        let units = self.playable_units();
        let path = self.path.display();
        let kept = units.len();
        match Clip::new(self.header.clone(), units) {
            Ok(clip) => {
                tokio::fs::write(&self.path, clip.encode()).await?;
                Ok(format!("{path} has {kept} of the {came} units that came"))
            }
            Err(error) => Ok(format!("{path} was not written: {error}")),
        }
    }

    /// From the first key frame to the first lost picture or the end of the round.
    fn playable_units(&self) -> Vec<ClipUnit> {
        let starts = |unit: &Unit| {
            unit.track == VIDEO_TRACK && unit.class == Class::KeyFrame && unit.layer == Layer::BASE
        };
        let Some(start) = self.units.iter().position(starts) else { return Vec::new() };
        let kept = self.units.get(start..).unwrap_or_default();
        let Some(first) = kept.first() else { return Vec::new() };
        let (first_frame, first_at) = (first.frame, first.at);
        let mut numbers = Numbers::default();
        let mut units = Vec::new();
        for (index, unit) in kept.iter().enumerate() {
            let is_video = unit.track == VIDEO_TRACK;
            let frame = unit.frame.saturating_sub(first_frame);
            if is_video && !numbers.video_goes_on(frame, unit.layer) {
                break;
            }
            let pts_us = (unit.at - first_at).as_micros() as u64;
            let duration_us = self.duration_us(kept, index);
            if pts_us + u64::from(duration_us) > self.header.loop_duration_us {
                break;
            }
            units.push(ClipUnit {
                track: unit.track,
                layer: unit.layer,
                class: unit.class,
                frame: if is_video { frame } else { numbers.next_audio() },
                pts_us,
                duration_us,
                bytes: unit.bytes.clone(),
            });
        }
        units
    }

    /// A picture lasts as the frame rate says; sound until the next sound, and the last one as long
    /// as the one before it.
    fn duration_us(&self, units: &[Unit], index: usize) -> u32 {
        let Some(unit) = units.get(index) else { return 0 };
        if unit.track == VIDEO_TRACK {
            let video = &self.header.video;
            let numerator = u32::from(video.frame_rate_numerator).max(1);
            return 1_000_000 * u32::from(video.frame_rate_denominator) / numerator;
        }
        let is_sound = |other: &&Unit| other.track == unit.track;
        let after = units.get(index + 1..).unwrap_or_default().iter().find(is_sound);
        let before = units.get(..index).unwrap_or_default().iter().rev().find(is_sound);
        let span = match (before, after) {
            (_, Some(after)) => after.at - unit.at,
            (Some(before), None) => unit.at - before.at,
            (None, None) => std::time::Duration::from_millis(20),
        };
        u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
    }
}

/// Where the tracks are.
#[derive(Debug, Default)]
struct Numbers {
    picture: Option<(u64, u8)>,
    audio: u64,
}

impl Numbers {
    /// Whether a layer of a picture follows the one before without a gap.
    fn video_goes_on(&mut self, frame: u64, layer: Layer) -> bool {
        let goes_on = match self.picture {
            None => (frame, layer.0) == (0, 0),
            Some((last, top)) => {
                (frame, layer.0) == (last + 1, 0) || (frame, layer.0) == (last, top + 1)
            }
        };
        if goes_on {
            self.picture = Some((frame, layer.0));
        }
        goes_on
    }

    fn next_audio(&mut self) -> u64 {
        self.audio += 1;
        self.audio - 1
    }
}
