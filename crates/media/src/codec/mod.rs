//! What a track carries, and what its pictures are worth: from the first bytes of each.

pub mod av1;
pub mod h264;
pub mod h265;
mod mpeg_video;
pub mod nal;
pub mod vp9;

use std::fmt;

use crate::{Class, Layer};

/// What an elementary stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// H.264/AVC, or an SVC layer of it on a PID of its own.
    H264,
    /// H.265/HEVC.
    H265,
    /// AV1.
    Av1,
    /// MPEG-1 or MPEG-2 video.
    Mpeg2Video,
    /// MPEG-4 part 2 video.
    Mpeg4Video,
    /// MPEG-1 or MPEG-2 audio (MP2, MP3): the tables do not tell its layer.
    MpegAudio,
    /// The same once its frames have shown that its layer is I or II.
    MpegAudioLayer2,
    /// AAC, in ADTS or LATM.
    Aac,
    /// AC-3, E-AC-3.
    Ac3,
    /// DTS.
    Dts,
    /// Opus.
    Opus,
    /// Other sound.
    OtherAudio,
    /// Sections: splice information, carousels.
    Sections,
    /// A type that we cannot look into.
    Other {
        /// ISO/IEC 13818-1 table 2-34.
        stream_type: u8,
    },
}

impl Codec {
    /// The codec of a stream by its entry in a program map table.
    #[must_use]
    pub fn of_stream(stream_type: u8, descriptors: &[u8]) -> Self {
        match stream_type {
            0x01 | 0x02 => Self::Mpeg2Video,
            0x03 | 0x04 => Self::MpegAudio,
            0x05 | 0x0a..=0x0d | 0x86 => Self::Sections,
            0x06 => of_descriptors(descriptors).unwrap_or(Self::Other { stream_type }),
            0x0f | 0x11 => Self::Aac,
            0x10 => Self::Mpeg4Video,
            0x1b | 0x1f => Self::H264,
            0x1c | 0x2d | 0x2e | 0x83 => Self::OtherAudio,
            0x24 | 0x25 => Self::H265,
            0x81 | 0x84 | 0x87 => Self::Ac3,
            0x82 | 0x85 | 0x8a => Self::Dts,
            _ => Self::Other { stream_type },
        }
    }

    /// True for sound.
    #[must_use]
    pub const fn is_audio(self) -> bool {
        matches!(
            self,
            Self::MpegAudio
                | Self::MpegAudioLayer2
                | Self::Aac
                | Self::Ac3
                | Self::Dts
                | Self::Opus
                | Self::OtherAudio
        )
    }

    /// True if its pictures can be told apart.
    #[must_use]
    pub const fn is_video(self) -> bool {
        matches!(self, Self::H264 | Self::H265 | Self::Av1 | Self::Mpeg2Video | Self::Mpeg4Video)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::H264 => "H.264",
            Self::H265 => "H.265",
            Self::Av1 => "AV1",
            Self::Mpeg2Video => "MPEG-2 video",
            Self::Mpeg4Video => "MPEG-4 video",
            Self::MpegAudio => "MPEG audio",
            Self::MpegAudioLayer2 => "MPEG audio layer II",
            Self::Aac => "AAC",
            Self::Ac3 => "AC-3",
            Self::Dts => "DTS",
            Self::Opus => "Opus",
            Self::OtherAudio => "audio",
            Self::Sections => "sections",
            Self::Other { stream_type } => return write!(f, "stream type {stream_type:#04x}"),
        })
    }
}

/// Private data (stream type 0x06) is named by its descriptors: ETSI EN 300 468 table 12.
fn of_descriptors(mut bytes: &[u8]) -> Option<Codec> {
    let has_many_channels = has_many_opus_channels(bytes);
    while let Some(([tag, len], rest)) = bytes.split_first_chunk::<2>() {
        let (body, rest) = rest.split_at_checked(usize::from(*len))?;
        let codec = match (tag, body) {
            (0x05, b"Opus") if has_many_channels => Some(Codec::OtherAudio),
            (0x05, b"Opus") => Some(Codec::Opus),
            (0x05, b"AC-3" | b"EAC3") | (0x6a | 0x7a, _) => Some(Codec::Ac3),
            (0x05, b"HEVC") => Some(Codec::H265),
            // AOM, Carriage of AV1 in MPEG-2 TS, section 2.1.
            (0x05, b"AV01") => Some(Codec::Av1),
            (0x05, b"DTS1" | b"DTS2" | b"DTS3") | (0x7b, _) => Some(Codec::Dts),
            (0x05, b"BSSD") => Some(Codec::OtherAudio),
            (0x7c, _) => Some(Codec::Aac),
            _ => None,
        };
        if codec.is_some() {
            return codec;
        }
        bytes = rest;
    }
    None
}

/// ETSI TS 103 491 section 4: an extension descriptor gives Opus's channel configuration. Of more
/// than two channels, an access unit is several Opus packets in one.
fn has_many_opus_channels(mut bytes: &[u8]) -> bool {
    while let Some(([tag, len], rest)) = bytes.split_first_chunk::<2>() {
        let Some((body, rest)) = rest.split_at_checked(usize::from(*len)) else { return false };
        if let (0x7f, [0x80, channels, ..]) = (tag, body) {
            return *channels > 2;
        }
        bytes = rest;
    }
    false
}

/// What an access unit is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Its class.
    pub class: Class,
    /// Its layer.
    pub layer: Layer,
}

impl Verdict {
    pub(crate) const fn base(class: Class) -> Self {
        Self { class, layer: Layer::BASE }
    }
}

/// Bytes at the start of an access unit among which its first slice is looked for. Parameter sets
/// and an encoder's name take up to a thousand.
const PROBE_LEN: usize = 4096;

/// Finds out what the access units of one track are worth, from as few of their bytes as possible.
#[derive(Debug)]
pub struct Classifier {
    codec: Codec,
    probe: Vec<u8>,
    /// H.265: the highest temporal sub-layer, from the sequence parameter set.
    highest_temporal_id: Option<u8>,
    /// H.264: there are layers in the track.
    is_scalable: bool,
    /// The last bytes of the access unit so far, for a start code that is cut.
    tail: Vec<u8>,
}

/// Bytes that a start code and the longest NAL unit header take, less one.
const TAIL_LEN: usize = 6;

impl Classifier {
    /// A classifier of tracks of this codec.
    #[must_use]
    pub const fn new(codec: Codec) -> Self {
        Self {
            codec,
            probe: Vec::new(),
            highest_temporal_id: None,
            is_scalable: false,
            tail: Vec::new(),
        }
    }

    /// The codec it looks for.
    #[must_use]
    pub const fn codec(&self) -> Codec {
        self.codec
    }

    /// An access unit begins.
    pub fn start_unit(&mut self) {
        self.probe.clear();
        self.tail.clear();
    }

    /// Takes the next bytes of the access unit; answers once they say what it is.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<Verdict> {
        if self.codec.is_video() {
            let room = PROBE_LEN.saturating_sub(self.probe.len());
            self.probe.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        let highest = &mut self.highest_temporal_id;
        let mut units = nal::units(&self.probe);
        match self.codec {
            Codec::H264 => units.find_map(|unit| {
                self.is_scalable |= h264::is_scalable(unit);
                h264::verdict(unit)
            }),
            Codec::H265 => units.find_map(|unit| h265::verdict(unit, highest)),
            Codec::Av1 => units.find_map(av1::verdict),
            Codec::Mpeg2Video => units.find_map(mpeg_video::mpeg2_verdict),
            Codec::Mpeg4Video => units.find_map(mpeg_video::mpeg4_verdict),
            Codec::MpegAudio
            | Codec::MpegAudioLayer2
            | Codec::Aac
            | Codec::Ac3
            | Codec::Dts
            | Codec::Opus
            | Codec::OtherAudio => Some(Verdict::base(Class::Audio)),
            Codec::Sections => Some(Verdict::base(Class::Tables)),
            Codec::Other { .. } => Some(Verdict::base(Class::Data)),
        }
    }

    /// Looks for another layer's slice in the next bytes of the access unit, after its first slice
    /// was found. What follows these bytes is of the layer returned.
    pub fn next_layer(&mut self, bytes: &[u8]) -> Option<Verdict> {
        if !self.is_scalable {
            return None;
        }
        self.tail.extend_from_slice(bytes);
        let verdict = nal::units(&self.tail).filter_map(h264::layer_verdict).last();
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_LEN));
        verdict
    }

    /// What to take an access unit for whose bytes did not say it in time: the conservative choice.
    #[must_use]
    pub fn fallback(&self, random_access: bool) -> Verdict {
        if self.codec.is_video() {
            let class = if random_access { Class::KeyFrame } else { Class::Reference };
            return Verdict::base(class);
        }
        Verdict::base(if self.codec.is_audio() { Class::Audio } else { Class::Data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_streams_are_named_by_their_descriptors() {
        let opus = [0x05, 4, b'O', b'p', b'u', b's', 0x7f, 2, 0x80, 2];
        assert_eq!(Codec::of_stream(0x06, &opus), Codec::Opus);
        let surround = [&opus[..9], &[6]].concat();
        assert_eq!(Codec::of_stream(0x06, &surround), Codec::OtherAudio);
        assert_eq!(Codec::of_stream(0x06, &[0x0a, 4, 1, 2, 3, 0, 0x6a, 1, 0]), Codec::Ac3);
        let av1 = [0x05, 4, b'A', b'V', b'0', b'1', 0x80, 4, 0x81, 0, 0x0c, 0xc0];
        assert_eq!(Codec::of_stream(0x06, &av1), Codec::Av1);
        let subtitles = [0x59, 8, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(Codec::of_stream(0x06, &subtitles), Codec::Other { stream_type: 6 });
        assert_eq!(Codec::of_stream(0x06, &[0x05, 200, b'O']), Codec::Other { stream_type: 6 });
    }

    #[test]
    fn the_verdict_is_given_at_the_first_slice_however_the_bytes_are_cut() {
        let unit = [
            &[0, 0, 0, 1, 0x09, 0xf0][..], // access unit delimiter
            &[0, 0, 0, 1, 0x06, 5, 4, 1, 2, 3, 4, 0x80],
            &[0, 0, 1, 0x41, 0x9a, 0x21, 0x00], // slice, nal_ref_idc 2, slice_type 5 (P)
            &[0x55; 40],
        ]
        .concat();
        for portion in 1..unit.len() {
            let mut classifier = Classifier::new(Codec::H264);
            classifier.start_unit();
            let answer = unit.chunks(portion).enumerate().find_map(|(i, bytes)| {
                classifier.feed(bytes).map(|verdict| (i * portion, verdict))
            });
            let (at, verdict) = answer.unwrap();
            assert_eq!(verdict, Verdict::base(Class::Reference), "portions of {portion}");
            assert!(at < 32, "answered after byte {at}");
        }
    }

    #[test]
    fn an_access_unit_that_says_nothing_keeps_no_more_than_the_probe() {
        let mut classifier = Classifier::new(Codec::H265);
        for _ in 0..100 {
            assert_eq!(classifier.feed(&[0; 1_000]), None);
        }
        assert!(classifier.probe.len() <= PROBE_LEN);
        assert_eq!(classifier.fallback(false).class, Class::Reference);
        assert_eq!(classifier.fallback(true).class, Class::KeyFrame);
    }
}
