//! [`Sound`]: frames of the sound that browsers decode.

use super::{adts, mpeg_audio, opus};
use crate::codec::Codec;
use crate::decoding::AudioInfo;

/// 90 kHz ticks of a second.
const TICKS: u64 = 90_000;

/// The sound of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sound {
    Aac,
    /// Of which layer III is decoded.
    MpegAudio,
    Opus,
}

/// A frame, and when it is heard after the first one of its PES packet.
#[derive(Debug, PartialEq)]
pub(super) struct Frame<'a> {
    pub(super) info: AudioInfo,
    pub(super) ticks: u64,
    pub(super) bytes: &'a [u8],
}

impl Sound {
    /// What browsers may decode.
    pub(super) const fn of(codec: Codec) -> Option<Self> {
        match codec {
            Codec::Aac => Some(Self::Aac),
            Codec::MpegAudio => Some(Self::MpegAudio),
            Codec::Opus => Some(Self::Opus),
            Codec::H264
            | Codec::H265
            | Codec::Av1
            | Codec::Mpeg2Video
            | Codec::Mpeg4Video
            | Codec::MpegAudioLayer2
            | Codec::Ac3
            | Codec::Dts
            | Codec::OtherAudio
            | Codec::Sections
            | Codec::Other { .. } => None,
        }
    }

    /// The codec that a PES packet shows the track to have, if browsers do not decode it.
    pub(super) fn obstacle(self, bytes: &[u8]) -> Option<Codec> {
        match self {
            Self::MpegAudio if mpeg_audio::is_of_lower_layer(bytes) => Some(Codec::MpegAudioLayer2),
            Self::Aac | Self::MpegAudio | Self::Opus => None,
        }
    }

    /// The frames of a PES packet.
    pub(super) fn frames(self, bytes: &[u8]) -> Vec<Frame<'_>> {
        let mut elapsed = 0;
        let mut frame = |info, duration, bytes| {
            let ticks = elapsed;
            elapsed += duration;
            Frame { info, ticks, bytes }
        };
        let ticks = |samples: u32, rate: u32| u64::from(samples) * TICKS / u64::from(rate);
        match self {
            Self::Aac => adts::frames(bytes)
                .map(|(format, bytes)| {
                    let duration = ticks(adts::SAMPLES, format.sample_rate);
                    frame(format.info(), duration, bytes)
                })
                .collect(),
            Self::MpegAudio => mpeg_audio::frames(bytes)
                .map(|(format, bytes)| {
                    let duration = ticks(format.samples, format.sample_rate);
                    frame(format.info(), duration, bytes)
                })
                .collect(),
            Self::Opus => opus::packets(bytes)
                .map(|(samples, bytes)| {
                    let info = opus::info();
                    let duration = ticks(samples, info.sample_rate);
                    frame(info, duration, bytes)
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_by_their_own_length() {
        let unit = [0x7f, 0xe0, 1, 31 << 3];
        let bytes = [unit, unit, unit].concat();
        let ticks: Vec<_> = Sound::Opus.frames(&bytes).iter().map(|frame| frame.ticks).collect();
        assert_eq!(ticks, [0, 1_800, 3_600]);
    }

    #[test]
    fn layer_2_is_what_browsers_do_not_decode() {
        assert_eq!(Sound::MpegAudio.obstacle(&[0xff, 0xfd]), Some(Codec::MpegAudioLayer2));
        assert_eq!(Sound::MpegAudio.obstacle(&[0xff, 0xfb]), None);
        assert_eq!(Sound::Aac.obstacle(&[0xff, 0xfd]), None);
        assert_eq!(Sound::of(Codec::Ac3), None);
    }
}
