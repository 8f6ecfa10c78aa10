//! [`Source`]: what a sender says of its media.

use anabranch_media::clip::{Attribution, AudioFormat, ClipHeader, VideoFormat};
use serde::{Deserialize, Serialize};

/// Which end a peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Media comes from it.
    Sender,
    /// Media goes to it.
    Receiver,
}

impl Role {
    /// What it does, as the second half of a sentence.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Sender => "send",
            Self::Receiver => "receive",
        }
    }
}

/// What a sender says of its media.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The number of the sender's start, as in every piece.
    pub session: u16,
    /// Number of the next item; what comes before it was given up.
    pub position: u64,
    /// Whether nothing is given up from here on, so that what is late is worth waiting for.
    pub complete: bool,
    /// What it is.
    pub format: SourceFormat,
}

/// What the media is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceFormat {
    /// An MPEG transport stream, packet by packet.
    MpegTs,
    /// Units of a clip.
    #[serde(with = "clip_header")]
    Clip(ClipHeader),
}

/// A clip's header as JSON: flat, with the names of the container's fields.
mod clip_header {
    use super::{Attribution, AudioFormat, ClipHeader, Deserialize, Serialize, VideoFormat};
    use serde::{Deserializer, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Flat {
        title: String,
        video_codec: String,
        width: u16,
        height: u16,
        frame_rate: (u16, u16),
        layers: u8,
        audio_codec: String,
        sample_rate: u32,
        channels: u8,
        attribution: String,
        attribution_url: String,
        license: String,
        license_url: String,
        loop_duration_us: u64,
    }

    pub(super) fn serialize<S: Serializer>(header: &ClipHeader, to: S) -> Result<S::Ok, S::Error> {
        let ClipHeader { title, video, audio, attribution, loop_duration_us } = header.clone();
        let flat = Flat {
            title,
            video_codec: video.codec,
            width: video.width,
            height: video.height,
            frame_rate: (video.frame_rate_numerator, video.frame_rate_denominator),
            layers: video.layers,
            audio_codec: audio.codec,
            sample_rate: audio.sample_rate,
            channels: audio.channels,
            attribution: attribution.text,
            attribution_url: attribution.url,
            license: attribution.license,
            license_url: attribution.license_url,
            loop_duration_us,
        };
        flat.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ClipHeader, D::Error> {
        let flat = Flat::deserialize(from)?;
        Ok(ClipHeader {
            title: flat.title,
            video: VideoFormat {
                codec: flat.video_codec,
                width: flat.width,
                height: flat.height,
                frame_rate_numerator: flat.frame_rate.0,
                frame_rate_denominator: flat.frame_rate.1,
                layers: flat.layers,
            },
            audio: AudioFormat {
                codec: flat.audio_codec,
                sample_rate: flat.sample_rate,
                channels: flat.channels,
            },
            attribution: Attribution {
                text: flat.attribution,
                url: flat.attribution_url,
                license: flat.license,
                license_url: flat.license_url,
            },
            loop_duration_us: flat.loop_duration_us,
        })
    }
}
