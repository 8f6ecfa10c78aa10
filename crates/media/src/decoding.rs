//! What a decoder must be told of a picture and its sound before it can begin.

use serde::{Deserialize, Serialize};

/// Picture or sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum MediaTrack {
    /// Picture.
    Video = 0,
    /// Sound.
    Audio = 1,
}

/// The picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VideoFormat {
    /// A VP9 frame without a superframe index, one per layer.
    Vp9,
    /// An H.264 access unit in Annex B form.
    AnnexB,
}

/// The sound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AudioFormat {
    /// An Opus packet.
    Opus,
    /// An AAC frame with its ADTS header.
    Adts,
    /// An MPEG audio frame.
    Mp3,
}
