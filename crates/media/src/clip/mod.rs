//! The demo clip: a video in layers with sound, in a container of its own (`.anaclip`).
//!
//! The container holds what leaves the sender as one piece each: a layer of a picture or a frame of
//! sound, with its class, in decoding order and interleaved by time. It is made for looping: every
//! time is a whole number of microseconds and the clip knows how long one round takes.
//!
//! # The format, version 1
//!
//! All numbers are big-endian and unsigned. A text is its length in bytes (2 bytes), then UTF-8.
//!
//! | bytes | header field |
//! |---|---|
//! | 7 | magic, `ANACLIP` |
//! | 1 | version, 1 |
//! | 2, 2 | width and height of the picture |
//! | 2, 2 | numerator and denominator of the frame rate |
//! | 1 | layers of each picture |
//! | 1 | channels of the sound |
//! | 4 | samples per second of the sound |
//! | 8 | duration of one round, microseconds |
//! | text, text | video codec and audio codec, as `WebCodecs` spells them |
//! | text | title |
//! | text, text | attribution and its URL |
//! | text, text | licence and its URL |
//! | 4 | number of units |
//!
//! Units follow, then the file ends.
//!
//! | bytes | unit field |
//! |---|---|
//! | 1 | track: 0 video, 1 audio |
//! | 1 | layer: 0 base, or the number of the enhancement; 0 for sound |
//! | 1 | class, numbered as [`Class`]: 1 key frame, 2 audio, 3 reference, 5 disposable |
//! | 4 | frame number in its track, from 0; the layers of a picture share it |
//! | 8 | presentation time, microseconds |
//! | 4 | duration, microseconds |
//! | 4 | length of the bytes that follow |
//! | … | one VP9 frame without a superframe index, or one Opus packet |
//!
//! [`ClipError`] names every rule that the units of a clip obey. [`superframe()`] joins the layers
//! of a picture for a decoder; [`FrameAssembler`] says what a viewer sees of them.

mod assembler;
mod error;
mod format;
mod header;
mod looped;
mod rules;
mod superframe;

use anabranch_sansio::Time;
use bytes::Bytes;

use crate::{Class, Layer, Track, Unit};

pub use assembler::{FrameAssembler, FrameCounts, LATE_WINDOW_FRAMES, Picture, Shown};
pub use error::ClipError;
pub use header::{Attribution, AudioFormat, ClipHeader, VideoFormat};
pub use looped::Looped;
pub use superframe::superframe;

/// The newest version of the format that this code reads, and the one that it writes.
pub const CLIP_VERSION: u8 = 1;

/// A clip has at most this many units: those of the demo clip would last almost three hours.
pub const CLIP_UNITS_MAX: usize = 1 << 20;

/// A unit has at most this many bytes: one layer of 200 Mbit/s at 25 pictures a second.
pub const CLIP_UNIT_BYTES_MAX: usize = 1 << 20;

/// A text in the header has at most this many bytes.
pub const CLIP_TEXT_BYTES_MAX: usize = 1024;

/// A picture has at most this many layers.
pub const CLIP_LAYERS_MAX: u8 = 8;

/// The track of the picture.
pub const VIDEO_TRACK: Track = Track(0);

/// The track of the sound.
pub const AUDIO_TRACK: Track = Track(1);

/// A whole clip in memory. It obeys every rule of the format: what breaks one cannot become a
/// `Clip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clip {
    header: ClipHeader,
    units: Vec<ClipUnit>,
}

/// One layer of one picture, or one frame of sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipUnit {
    /// [`VIDEO_TRACK`] or [`AUDIO_TRACK`].
    pub track: Track,
    /// The layer of the picture; the base for sound.
    pub layer: Layer,
    /// What loses how much without it.
    pub class: Class,
    /// Number of the picture or frame of sound in its track.
    pub frame: u64,
    /// When it is presented, on a time line that both tracks share.
    pub pts_us: u64,
    /// How long it is presented.
    pub duration_us: u32,
    /// One VP9 frame without a superframe index, or one Opus packet.
    pub bytes: Bytes,
}

impl Clip {
    /// Puts a clip together.
    ///
    /// # Errors
    ///
    /// The first rule of the format that the header or a unit breaks.
    pub fn new(header: ClipHeader, units: Vec<ClipUnit>) -> Result<Self, ClipError> {
        rules::check(&header, &units)?;
        Ok(Self { header, units })
    }

    /// Reads a file. The units share its memory.
    ///
    /// # Errors
    ///
    /// The first rule of the format that the file breaks.
    pub fn decode(file: &Bytes) -> Result<Self, ClipError> {
        let (header, units) = format::decode(file)?;
        Self::new(header, units)
    }

    /// The file, whole.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        format::encode(&self.header, &self.units)
    }

    /// What the units are.
    #[must_use]
    pub const fn header(&self) -> &ClipHeader {
        &self.header
    }

    /// The units of one round, in decoding order.
    #[must_use]
    pub fn units(&self) -> &[ClipUnit] {
        &self.units
    }

    /// How many pictures (of [`VIDEO_TRACK`]) or frames of sound one round has.
    #[must_use]
    pub fn frames(&self, track: Track) -> u64 {
        let last = self.units.iter().rev().find(|unit| unit.track == track);
        last.map_or(0, |unit| unit.frame + 1)
    }

    /// The units for ever: frame numbers and times go on growing from round to round.
    #[must_use]
    pub fn looped(&self) -> Looped<'_> {
        Looped::new(self)
    }
}

impl ClipUnit {
    /// The unit of a clip with so many layers as it comes to a sender.
    #[must_use]
    pub fn into_unit(self, at: Time, layers: u8) -> Unit {
        Unit {
            track: self.track,
            class: self.class,
            layer: self.layer,
            frame: self.frame,
            at,
            pts_us: i64::try_from(self.pts_us).unwrap_or(i64::MAX),
            last_layer: self.track == AUDIO_TRACK || self.layer.0 + 1 >= layers,
            discontinuity: false,
            bytes: self.bytes,
        }
    }
}

#[cfg(test)]
mod tests;
