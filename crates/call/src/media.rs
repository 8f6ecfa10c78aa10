//! What an end of a call sends, in words for decoders and for people.

use anabranch_media::Class;
use anabranch_sansio::Time;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// What an end sends.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Media {
    /// Its voice, if it sends one.
    pub voice: Option<VoiceFormat>,
    /// Its pictures, if it sends any.
    pub video: Option<VideoFormat>,
    /// Its microphone.
    #[serde(default)]
    pub microphone: Device,
    /// Its camera.
    #[serde(default)]
    pub camera: Device,
}

/// How voice is coded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceFormat {
    /// As `WebCodecs` spells it.
    pub codec: String,
    /// Samples a second.
    pub sample_rate: u32,
    /// Channels.
    pub channels: u8,
}

impl VoiceFormat {
    /// Opus in one channel.
    #[must_use]
    pub fn opus() -> Self {
        Self { codec: "opus".to_owned(), sample_rate: 48_000, channels: 1 }
    }
}

/// How pictures are coded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VideoFormat {
    /// As `WebCodecs` spells it.
    pub codec: String,
    /// What a picture's bytes are.
    pub format: PictureFormat,
    /// Pixels, where known.
    pub width: Option<u32>,
    /// Pixels, where known.
    pub height: Option<u32>,
    /// Pictures a second, where known.
    pub fps: Option<f64>,
}

/// What a picture's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PictureFormat {
    /// A frame of VP9, or a superframe.
    Vp9,
    /// A frame of VP8.
    Vp8,
    /// An access unit of H.264 in Annex B form, parameter sets in band before key pictures.
    Annexb,
    /// A temporal unit of AV1.
    Av1,
    /// One of a later version.
    #[serde(other)]
    Other,
}

/// A microphone or a camera.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// It is sent.
    On,
    /// It is there, and nothing is sent of it.
    Muted,
    /// There is none.
    #[default]
    None,
}

/// A picture to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// When it was captured, on the local clock.
    pub at: Time,
    /// What is predicted from it.
    pub kind: PictureKind,
    /// The picture.
    pub bytes: Bytes,
}

/// What a picture is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    /// Decoding can begin with it.
    Key,
    /// Others are predicted from it.
    Reference,
    /// None is: the upper temporal layer.
    Disposable,
}

impl PictureKind {
    /// Its class in a piece.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Key => Class::KeyFrame,
            Self::Reference => Class::Reference,
            Self::Disposable => Class::Disposable,
        }
    }

    /// The kind of a class, if that is one of pictures.
    #[must_use]
    pub const fn of(class: Class) -> Option<Self> {
        match class {
            Class::KeyFrame => Some(Self::Key),
            Class::Reference => Some(Self::Reference),
            Class::Disposable => Some(Self::Disposable),
            Class::Tables | Class::Audio | Class::Data | Class::Padding => None,
        }
    }

    /// Whether others are predicted from it.
    #[must_use]
    pub const fn is_reference(self) -> bool {
        matches!(self, Self::Key | Self::Reference)
    }
}
