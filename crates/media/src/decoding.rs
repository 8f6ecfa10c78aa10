//! What a decoder gets: pictures and frames of sound, and what it must be told of them before.

use std::time::Duration;

use anabranch_sansio::Time;
use bytes::Bytes;

use crate::Class;

/// A picture with all its layers that came, or a frame of sound: a decoder gets it whole or not at
/// all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessUnit {
    /// Picture or sound.
    pub track: MediaTrack,
    /// Counts the pictures, or the frames of sound, at the sender.
    pub frame: u32,
    /// From the media.
    pub pts_us: i64,
    /// When it is to be seen or heard, on the program's clock.
    pub play_at: Time,
    /// Something that this one may refer to is missing.
    pub discontinuity: bool,
    /// From the base upwards, without a gap. Never empty.
    pub layers: Vec<LayerUnit>,
}

/// One layer of a picture, or a whole frame of sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerUnit {
    /// What loses how much without it.
    pub class: Class,
    /// How long it took from the sender's hand to the receiver's, if that is known.
    pub delay: Option<Duration>,
    /// The media.
    pub bytes: Bytes,
}

impl AccessUnit {
    /// Whether decoding can begin with it.
    #[must_use]
    pub fn is_key(&self) -> bool {
        self.track == MediaTrack::Audio
            || self.layers.first().is_some_and(|base| base.class == Class::KeyFrame)
    }
}

/// Picture or sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum MediaTrack {
    /// Picture.
    Video = 0,
    /// Sound.
    Audio = 1,
}

impl MediaTrack {
    /// What media of a class is, if it is either.
    #[must_use]
    pub const fn of(class: Class) -> Self {
        if matches!(class, Class::Audio) { Self::Audio } else { Self::Video }
    }
}

/// The picture.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VideoInfo {
    /// As `WebCodecs` spells it.
    pub codec: String,
    /// What the payload of a media unit is.
    pub format: VideoFormat,
    /// Pixels.
    pub width: Option<u32>,
    /// Pixels.
    pub height: Option<u32>,
    /// Pictures per second.
    pub fps: Option<f64>,
}

/// What the payload of a video unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum VideoFormat {
    /// A VP9 frame without a superframe index, one per layer. Where there is one layer only, it
    /// may be a superframe.
    Vp9,
    /// An H.264 access unit in Annex B form.
    AnnexB,
    /// An AV1 temporal unit.
    Av1,
}

/// The sound.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AudioInfo {
    /// As `WebCodecs` spells it.
    pub codec: String,
    /// What the payload of a media unit is.
    pub format: AudioFormat,
    /// Samples per second.
    pub sample_rate: u32,
    /// Channels.
    pub channels: u32,
}

/// What the payload of an audio unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum AudioFormat {
    /// An Opus packet.
    Opus,
    /// An AAC frame with its ADTS header.
    Adts,
    /// An MPEG audio frame.
    Mp3,
}
