//! The rules that make units a clip.

use super::{
    AUDIO_TRACK, CLIP_LAYERS_MAX, CLIP_TEXT_BYTES_MAX, CLIP_UNIT_BYTES_MAX, CLIP_UNITS_MAX,
    ClipError, ClipHeader, ClipUnit, VIDEO_TRACK,
};
use crate::{Class, Layer};

/// A round of more than a day is a mistake.
const ROUND_US_MAX: u64 = 24 * 60 * 60 * 1_000_000;

/// Sound is never sampled more often than this.
const SAMPLE_RATE_MAX: u64 = 768_000;

pub(super) fn check(header: &ClipHeader, units: &[ClipUnit]) -> Result<(), ClipError> {
    check_header(header)?;
    if units.len() > CLIP_UNITS_MAX {
        return Err(ClipError::TooManyUnits { count: units.len() });
    }
    let mut sequence = Sequence { layers: header.video.layers, ..Sequence::default() };
    for (index, unit) in units.iter().enumerate() {
        check_unit(index, unit, header)?;
        sequence.check(index, unit)?;
    }
    if sequence.last_video.is_none() {
        return Err(ClipError::NoPicture);
    }
    Ok(())
}

fn check_header(header: &ClipHeader) -> Result<(), ClipError> {
    let (video, audio) = (&header.video, &header.audio);
    let numbers = [
        ("width", u64::from(video.width), u64::from(u16::MAX)),
        ("height", u64::from(video.height), u64::from(u16::MAX)),
        ("frame rate's numerator", video.frame_rate_numerator.into(), u16::MAX.into()),
        ("frame rate's denominator", video.frame_rate_denominator.into(), u16::MAX.into()),
        ("number of layers", video.layers.into(), CLIP_LAYERS_MAX.into()),
        ("number of channels", audio.channels.into(), u8::MAX.into()),
        ("sample rate", audio.sample_rate.into(), SAMPLE_RATE_MAX),
        ("duration of a round", header.loop_duration_us, ROUND_US_MAX),
    ];
    for (what, value, max) in numbers {
        if value == 0 || value > max {
            return Err(ClipError::OutOfRange { what, value, max });
        }
    }
    for (what, text) in header.texts() {
        if text.len() > CLIP_TEXT_BYTES_MAX {
            return Err(ClipError::TextTooLong { what, len: text.len() });
        }
    }
    Ok(())
}

/// What can be said of a unit by itself.
fn check_unit(index: usize, unit: &ClipUnit, header: &ClipHeader) -> Result<(), ClipError> {
    if unit.bytes.is_empty() || unit.bytes.len() > CLIP_UNIT_BYTES_MAX {
        return Err(ClipError::UnitLength { unit: index, len: unit.bytes.len() });
    }
    if unit.track != VIDEO_TRACK && unit.track != AUDIO_TRACK {
        return Err(ClipError::UnknownTrack { unit: index, track: unit.track.0 });
    }
    if !class_suits(unit) {
        return Err(ClipError::UnitClass {
            unit: index,
            track: unit.track.0,
            layer: unit.layer.0,
            class: unit.class.index() as u8,
        });
    }
    if unit.duration_us == 0 {
        return Err(ClipError::NoDuration { unit: index });
    }
    let end_us = unit.pts_us.saturating_add(unit.duration_us.into());
    if end_us > header.loop_duration_us {
        let round_us = header.loop_duration_us;
        return Err(ClipError::BeyondRound { unit: index, end_us, round_us });
    }
    Ok(())
}

/// Only a base picture is a key frame: an enhancement is predicted from it.
fn class_suits(unit: &ClipUnit) -> bool {
    match unit.class {
        Class::Audio => unit.track == AUDIO_TRACK,
        Class::KeyFrame => unit.track == VIDEO_TRACK && unit.layer == Layer::BASE,
        Class::Reference | Class::Disposable => unit.track == VIDEO_TRACK,
        Class::Tables | Class::Data | Class::Padding => false,
    }
}

/// How units follow each other.
#[derive(Default)]
struct Sequence {
    layers: u8,
    last_video: Option<(u64, u8)>,
    last_audio: Option<(u64, u8)>,
    last_pts_us: u64,
}

impl Sequence {
    fn check(&mut self, index: usize, unit: &ClipUnit) -> Result<(), ClipError> {
        if unit.pts_us < self.last_pts_us {
            let (pts_us, before_us) = (unit.pts_us, self.last_pts_us);
            return Err(ClipError::TimeGoesBack { unit: index, pts_us, before_us });
        }
        self.last_pts_us = unit.pts_us;

        let is_video = unit.track == VIDEO_TRACK;
        let layers = if is_video { self.layers } else { 1 };
        let last = if is_video { &mut self.last_video } else { &mut self.last_audio };
        let here = (unit.frame, unit.layer.0);
        let Some(before) = last.replace(here) else {
            let starts = here == (0, 0) && unit.class != Class::Reference;
            let starts = starts && unit.class != Class::Disposable;
            return if starts { Ok(()) } else { Err(ClipError::WrongStart { unit: index }) };
        };
        let next_frame = (before.0.saturating_add(1), 0);
        let next_layer = (before.0, before.1.saturating_add(1));
        if here == next_frame || (here == next_layer && here.1 < layers) {
            return Ok(());
        }
        Err(ClipError::OutOfSequence {
            unit: index,
            frame: here.0,
            layer: here.1,
            frame_before: before.0,
            layer_before: before.1,
        })
    }
}
