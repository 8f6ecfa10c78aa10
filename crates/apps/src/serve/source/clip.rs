//! A clip of anabranch's own as a channel.

use anabranch_media::Class;
use anabranch_media::clip::{AUDIO_TRACK, ClipHeader, ClipUnit};
use anabranch_media::decoding::{AudioFormat, AudioInfo, MediaTrack, VideoFormat, VideoInfo};
use anabranch_sansio::Time;
use anabranch_television::channel::ChannelUnit;

use super::SourceEvent;

/// What a decoder of a clip must know.
pub(super) fn description(header: &ClipHeader) -> SourceEvent {
    let ClipHeader { video, audio, .. } = header;
    SourceEvent::Begin {
        video: Some(VideoInfo {
            codec: video.codec.clone(),
            format: VideoFormat::Vp9,
            width: Some(video.width.into()),
            height: Some(video.height.into()),
            fps: Some(video.fps()),
        }),
        audio: Some(AudioInfo {
            codec: audio.codec.clone(),
            format: AudioFormat::Opus,
            sample_rate: audio.sample_rate,
            channels: audio.channels.into(),
        }),
    }
}

/// A unit of a clip with so many layers, as it comes now.
pub(super) fn channel_unit(unit: ClipUnit, layers: u8, now: Time) -> ChannelUnit {
    let is_sound = unit.track == AUDIO_TRACK;
    ChannelUnit {
        track: if is_sound { MediaTrack::Audio } else { MediaTrack::Video },
        layer: unit.layer.0,
        frame: unit.frame as u32,
        key: is_sound || unit.class == Class::KeyFrame,
        reference: matches!(unit.class, Class::KeyFrame | Class::Reference),
        last_layer: is_sound || unit.layer.0 + 1 >= layers,
        discontinuity: false,
        pts_us: i64::try_from(unit.pts_us).unwrap_or(i64::MAX),
        at: now,
        bytes: unit.bytes,
    }
}
