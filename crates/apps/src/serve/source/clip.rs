//! A clip of anabranch's own as a channel.

use anabranch_media::clip::ClipHeader;
use anabranch_media::decoding::{AudioFormat, AudioInfo, VideoFormat, VideoInfo};

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
