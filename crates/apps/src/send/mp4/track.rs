//! [`Track`]: the picture or the sound of a film, as a transport stream carries it.

use mp4_atom::esds::DecoderSpecific;
use mp4_atom::{Avcc, Codec, Hvcc, Mp4a, Stbl, Trak};
use mpeg2ts::es::StreamType;

use super::mux::{CLOCK_HZ, Stream};
use super::samples::{Damaged, Sample, Samples};

const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// Bytes of a header of ADTS (ISO/IEC 14496-3 section 1.A.2.2) without a checksum.
const ADTS_LEN: usize = 7;

/// What a track is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Video,
    Audio,
}

impl Kind {
    pub(super) fn of(trak: &Trak) -> Option<Self> {
        match trak.mdia.hdlr.handler.as_ref() {
            b"vide" => Some(Self::Video),
            b"soun" => Some(Self::Audio),
            _ => None,
        }
    }
}

/// The picture or the sound.
#[derive(Debug)]
pub(super) struct Track {
    /// What it is in the transport stream.
    pub(super) stream: Stream,
    packing: Packing,
    tables: Stbl,
    /// Ticks of a second.
    timescale: u32,
    /// What is added to its times for all tracks to begin together.
    shift: i64,
    /// Ticks by which samples are decoded earlier, so that none is shown before.
    advance: i64,
    samples: Samples,
    next: Option<Sample>,
}

/// A sample and its times on the stream's clock.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) place: Sample,
    pub(super) dts: i64,
    pub(super) pts: i64,
}

/// How samples become units of a transport stream.
#[derive(Debug)]
enum Packing {
    /// Units with their lengths become units behind start codes.
    Nal { coding: Coding, length_size: usize, sets: Vec<Vec<u8>> },
    /// AAC gets a header in front of each frame.
    Adts { profile: u8, frequency: u8, channels: u8 },
    /// They are what they are.
    None,
}

#[derive(Debug, Clone, Copy)]
enum Coding {
    H264,
    H265,
}

impl Coding {
    /// What a transport stream has in front of each picture (ISO/IEC 13818-1 sections 2.14.1 and
    /// 2.17.1); any kind of slices may follow.
    const fn delimiter(self) -> &'static [u8] {
        match self {
            Self::H264 => &[9, 0xf0],
            Self::H265 => &[0x46, 1, 0x50],
        }
    }

    /// Rec. ITU-T H.264 table 7-1 and H.265 table 7-1.
    fn is_delimiter(self, nal: &[u8]) -> bool {
        nal.first().is_some_and(|first| match self {
            Self::H264 => first & 0x1f == 9,
            Self::H265 => first >> 1 & 0x3f == 35,
        })
    }
}

impl Track {
    pub(super) fn new(trak: Trak, movie_timescale: u32) -> Result<Self, String> {
        let kind = Kind::of(&trak).unwrap_or(Kind::Audio);
        let timescale = trak.mdia.mdhd.timescale;
        if timescale == 0 {
            return Err("it is damaged: its times have no unit".to_owned());
        }
        let shift = shift_of(&trak, timescale, movie_timescale);
        let tables = trak.mdia.minf.stbl;
        let codec =
            tables.stsd.codecs.first().ok_or("it is damaged: a track has no description")?;
        let (stream_type, packing) = packing_of(codec)?;
        let delays = tables.ctts.iter().flat_map(|ctts| &ctts.entries);
        let least = delays.map(|entry| entry.sample_offset).min().unwrap_or_default();
        Ok(Self {
            stream: Stream { stream_type, is_video: kind == Kind::Video },
            packing,
            tables,
            timescale,
            shift,
            advance: least.min(0).saturating_neg(),
            samples: Samples::default(),
            next: None,
        })
    }

    pub(super) fn rewind(&mut self) -> Result<(), Damaged> {
        self.samples = Samples::default();
        self.next = self.samples.next(&self.tables)?;
        Ok(())
    }

    /// When the next sample is decoded, on the stream's clock.
    pub(super) fn next_dts(&self) -> Option<i64> {
        self.next.as_ref().map(|sample| self.on_clock(sample.dts.saturating_sub(self.advance)))
    }

    pub(super) fn take_next(&mut self) -> Result<Option<Due>, Damaged> {
        let (Some(dts), Some(place)) = (self.next_dts(), self.next.take()) else {
            return Ok(None);
        };
        self.next = self.samples.next(&self.tables)?;
        Ok(Some(Due { place, dts, pts: self.on_clock(place.dts.saturating_add(place.delay)) }))
    }

    /// Makes a unit of a sample.
    pub(super) fn pack(
        &self,
        sample: &[u8],
        is_sync: bool,
        unit: &mut Vec<u8>,
    ) -> Result<(), Damaged> {
        match &self.packing {
            Packing::Nal { coding, length_size, sets } => {
                push_nal(unit, coding.delimiter());
                if is_sync {
                    sets.iter().for_each(|set| push_nal(unit, set));
                }
                for_each_nal(sample, *length_size, |nal| {
                    if !coding.is_delimiter(nal) {
                        push_nal(unit, nal);
                    }
                })
            }
            Packing::Adts { profile, frequency, channels } => {
                unit.extend(adts(*profile, *frequency, *channels, sample.len())?);
                unit.extend_from_slice(sample);
                Ok(())
            }
            Packing::None => {
                unit.extend_from_slice(sample);
                Ok(())
            }
        }
    }

    fn on_clock(&self, ticks: i64) -> i64 {
        to_clock(ticks, self.timescale).saturating_add(self.shift)
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "there is one answer to all others")]
fn packing_of(codec: &Codec) -> Result<(StreamType, Packing), String> {
    let audio = |stream_type| Ok((stream_type, Packing::None));
    match codec {
        Codec::Avc1(avc1) => Ok((StreamType::H264, h264(&avc1.avcc))),
        Codec::Avc3(avc3) => Ok((StreamType::H264, h264(&avc3.avcc))),
        Codec::Hvc1(hvc1) => Ok((StreamType::H265, h265(&hvc1.hvcc))),
        Codec::Hev1(hev1) => Ok((StreamType::H265, h265(&hev1.hvcc))),
        Codec::Mp4a(mp4a) => mpeg_audio(mp4a),
        Codec::Mp3(_) => audio(StreamType::Mpeg1Audio),
        Codec::Ac3(_) => audio(StreamType::DolbyDigitalUpToSixChannelAudio),
        Codec::Eac3(_) => audio(StreamType::DolbyDigitalPlusUpTo16ChannelAudioForAtsc),
        Codec::Vp09(_) | Codec::Av01(_) => Err(format!(
            "its picture is {}: make it a WebM file with ffmpeg -i FILE -c:v copy -c:a libopus \
             FILE.webm",
            if matches!(codec, Codec::Av01(_)) { "AV1" } else { "VP9" }
        )),
        _ => Err("it holds what no transport stream carries: make it one with ffmpeg -i FILE \
                  -c:v libx264 -c:a aac FILE.ts"
            .to_owned()),
    }
}

fn h264(avcc: &Avcc) -> Packing {
    let sets = avcc.sequence_parameter_sets.iter().chain(&avcc.picture_parameter_sets);
    Packing::Nal {
        coding: Coding::H264,
        length_size: usize::from(avcc.length_size),
        sets: sets.cloned().collect(),
    }
}

fn h265(hvcc: &Hvcc) -> Packing {
    Packing::Nal {
        coding: Coding::H265,
        length_size: usize::from(hvcc.length_size_minus_one) + 1,
        sets: hvcc.arrays.iter().flat_map(|array| array.nalus.clone()).collect(),
    }
}

/// The kinds of sound that an `esds` names (ISO/IEC 14496-1 table 5).
fn mpeg_audio(mp4a: &Mp4a) -> Result<(StreamType, Packing), String> {
    let config = &mp4a.esds.es_desc.dec_config;
    match (config.object_type_indication, &config.dec_specific) {
        (0x40, Some(specific)) => Ok((StreamType::AdtsAac, aac(specific)?)),
        (0x66..=0x68, Some(specific)) => Ok((StreamType::AdtsAac, aac(specific)?)),
        (0x69, _) => Ok((StreamType::Mpeg2HalvedSampleRateAudio, Packing::None)),
        (0x6b, _) => Ok((StreamType::Mpeg1Audio, Packing::None)),
        _ => Err(unusual_sound()),
    }
}

/// What ADTS can say of AAC: its profile in two bits, its rate by a number, its channels likewise.
fn aac(specific: &DecoderSpecific) -> Result<Packing, String> {
    let DecoderSpecific { profile, freq_index: frequency, chan_conf: channels, .. } = *specific;
    let profile = match profile {
        1..=4 => profile - 1,
        // With spectral band replication or parametric stereo the core is AAC LC.
        5 | 29 => 1,
        _ => return Err(unusual_sound()),
    };
    if frequency > 12 || !(1..=7).contains(&channels) {
        return Err(unusual_sound());
    }
    Ok(Packing::Adts { profile, frequency, channels })
}

fn unusual_sound() -> String {
    "its sound is of an unusual kind: convert it with ffmpeg -i FILE -c:v copy -c:a aac FILE.ts"
        .to_owned()
}

/// ISO/IEC 14496-12 section 8.6.6: the first edit says which time of the media is the beginning,
/// and an empty one before it how long nothing is shown.
fn shift_of(trak: &Trak, timescale: u32, movie_timescale: u32) -> i64 {
    let edits = trak.edts.as_ref().and_then(|edts| edts.elst.as_ref());
    let mut shift = 0_i64;
    for edit in edits.iter().flat_map(|elst| &elst.entries) {
        match edit.media_time {
            None => {
                let pause = i64::try_from(edit.segment_duration).unwrap_or(i64::MAX);
                shift = shift.saturating_add(to_clock(pause, movie_timescale.max(1)));
            }
            Some(begin) => {
                let begin = i64::try_from(begin).unwrap_or(i64::MAX);
                return shift.saturating_sub(to_clock(begin, timescale));
            }
        }
    }
    shift
}

fn to_clock(ticks: i64, timescale: u32) -> i64 {
    let time = i128::from(ticks) * i128::from(CLOCK_HZ) / i128::from(timescale);
    i64::try_from(time).unwrap_or(i64::MAX)
}

fn push_nal(unit: &mut Vec<u8>, nal: &[u8]) {
    unit.extend(START_CODE);
    unit.extend_from_slice(nal);
}

/// ISO/IEC 14496-15 section 5.2.3: each unit stands behind its length.
fn for_each_nal(
    sample: &[u8],
    length_size: usize,
    mut tell: impl FnMut(&[u8]),
) -> Result<(), Damaged> {
    let cut = Damaged("a picture is cut short");
    let mut rest = sample;
    while !rest.is_empty() {
        let (length, behind) = rest.split_at_checked(length_size).ok_or(cut)?;
        let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (nal, behind) = behind.split_at_checked(length).ok_or(cut)?;
        tell(nal);
        rest = behind;
    }
    Ok(())
}

/// ISO/IEC 14496-3 section 1.A.2.2.1: MPEG-4, without a checksum, one block.
fn adts(profile: u8, frequency: u8, channels: u8, len: usize) -> Result<[u8; ADTS_LEN], Damaged> {
    const LENGTH_MAX: usize = (1 << 13) - 1;
    let length = ADTS_LEN + len;
    if length > LENGTH_MAX {
        return Err(Damaged("a frame of its sound is too long"));
    }
    let length = length as u32;
    Ok([
        0xff,
        0xf1,
        profile << 6 | frequency << 2 | channels >> 2,
        (channels & 3) << 6 | (length >> 11) as u8,
        (length >> 3) as u8,
        (length << 5) as u8 | 0x1f,
        0xfc,
    ])
}
