//! [`Pictures`]: what decoders take, out of the pictures of a transport stream.

use super::av1::TemporalUnits;
use super::avc::ParameterSets;
use crate::codec::Codec;
use crate::decoding::{VideoFormat, VideoInfo};

/// The codecs of pictures that browsers decode.
#[derive(Debug)]
pub(super) enum Pictures {
    /// H.264.
    Avc(ParameterSets),
    /// AV1.
    Av1(TemporalUnits),
}

/// What became of an access unit.
pub(super) enum Taken {
    /// It is to be shown, with what was kept for it.
    Shown { data: Vec<u8>, is_key: bool },
    /// It is not shown, and kept for the next that is.
    Kept,
    /// It is not whole.
    Nothing,
}

impl Pictures {
    /// None for what browsers do not decode.
    pub(super) fn of(codec: Codec) -> Option<Self> {
        match codec {
            Codec::H264 => Some(Self::Avc(ParameterSets::default())),
            Codec::Av1 => Some(Self::Av1(TemporalUnits::default())),
            Codec::H265
            | Codec::Mpeg2Video
            | Codec::Mpeg4Video
            | Codec::MpegAudio
            | Codec::MpegAudioLayer2
            | Codec::Aac
            | Codec::Ac3
            | Codec::Dts
            | Codec::Opus
            | Codec::OtherAudio
            | Codec::Sections
            | Codec::Other { .. } => None,
        }
    }

    /// What a decoder must know, once that came.
    pub(super) fn info(&self) -> Option<VideoInfo> {
        let (codec, format) = match self {
            Self::Avc(sets) => (sets.codec()?, VideoFormat::AnnexB),
            Self::Av1(units) => (units.codec()?, VideoFormat::Av1),
        };
        Some(VideoInfo { codec, format, width: None, height: None, fps: None })
    }

    /// Takes a whole access unit.
    pub(super) fn take(&mut self, data: Vec<u8>) -> Taken {
        match self {
            Self::Avc(sets) => {
                let is_key = sets.look_at(&data);
                let data = if is_key { sets.in_front_of(data) } else { data };
                Taken::Shown { data, is_key }
            }
            Self::Av1(units) => units
                .push(&data)
                .map_or(Taken::Kept, |unit| Taken::Shown { data: unit.data, is_key: unit.is_key }),
        }
    }

    /// An access unit is missing, or something of it.
    pub(super) fn miss(&mut self, rest: &[u8]) {
        match self {
            // Parameter sets may be whole.
            Self::Avc(sets) => {
                sets.look_at(rest);
            }
            Self::Av1(units) => units.forget(),
        }
    }
}
