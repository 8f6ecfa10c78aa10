//! [`Track`]: the picture or the sound of a film, as a transport stream carries it.

use std::collections::VecDeque;

use mp4_atom::{Codec, Mp4a, Stbl, Trak};
use mpeg2ts::es::StreamType;

use super::samples::{Sample, Samples};
use crate::mux::{CLOCK_HZ, Stream};
use crate::packing::{self, Damaged, Packed, Packing, not_carried, sound, unusual_sound};

/// Samples of fragments that are known of at once.
const SAMPLES_MAX: usize = 1 << 20;

/// Times are kept within this, far beyond what a stream takes: sums and differences of some are
/// no overflow.
const TIME_BOUND: i64 = 1 << 58;

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
    pub(super) id: u32,
    /// What it is in the transport stream.
    pub(super) stream: Stream,
    pub(super) packing: Packing,
    tables: Stbl,
    /// Ticks of a second.
    timescale: u32,
    /// What is added to its times for all tracks to begin together.
    shift: i64,
    /// Ticks by which samples are decoded earlier, so that none is shown before.
    advance: i64,
    samples: Samples,
    next: Option<Sample>,
    /// Samples of fragments that come behind it, and when what follows those is decoded.
    ahead: VecDeque<Sample>,
    pub(super) ahead_until: i64,
    /// Bytes of those, counting one at least for each.
    ahead_bytes: u64,
}

/// A sample and its times on the stream's clock.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) place: Sample,
    pub(super) dts: i64,
    pub(super) pts: i64,
}

impl Track {
    pub(super) fn new(trak: Trak, movie_timescale: u32) -> Result<Self, String> {
        let timescale = trak.mdia.mdhd.timescale;
        if timescale == 0 {
            return Err("it is damaged: its times have no unit".to_owned());
        }
        let shift = shift_of(&trak, timescale, movie_timescale);
        let tables = trak.mdia.minf.stbl;
        let codec =
            tables.stsd.codecs.first().ok_or("it is damaged: a track has no description")?;
        let (stream, packing) = packed(codec)?;
        let delays = tables.ctts.iter().flat_map(|ctts| &ctts.entries);
        let least = delays.map(|entry| entry.sample_offset).min().unwrap_or_default();
        Ok(Self {
            id: trak.tkhd.track_id,
            stream,
            packing,
            tables,
            timescale,
            shift,
            advance: least.min(0).saturating_neg(),
            samples: Samples::default(),
            next: None,
            ahead: VecDeque::new(),
            ahead_until: 0,
            ahead_bytes: 0,
        })
    }

    pub(super) fn rewind(&mut self) -> Result<(), Damaged> {
        self.samples = Samples::default();
        self.ahead.clear();
        (self.next, self.ahead_until, self.ahead_bytes) = (None, 0, 0);
        self.refill()
    }

    /// Looks for the next sample, if it is not known: in the tables, then in fragments.
    pub(super) fn refill(&mut self) -> Result<(), Damaged> {
        if self.next.is_none() {
            self.next = self.samples.next(&self.tables)?.or_else(|| self.pop_ahead());
        }
        Ok(())
    }

    fn pop_ahead(&mut self) -> Option<Sample> {
        let sample = self.ahead.pop_front()?;
        self.ahead_bytes -= bytes_at_least(&sample);
        Some(sample)
    }

    /// Takes a sample of a fragment, in a file of this length: it cannot hold more.
    pub(super) fn push_ahead(&mut self, sample: Sample, file_len: u64) -> Result<(), Damaged> {
        self.ahead_bytes = self.ahead_bytes.saturating_add(bytes_at_least(&sample));
        if self.ahead_bytes > file_len {
            return Err(Damaged("its fragments have more samples than the file has bytes"));
        }
        if self.ahead.len() >= SAMPLES_MAX {
            return Err(Damaged("a fragment has more samples than any film"));
        }
        self.ahead.push_back(sample);
        Ok(())
    }

    /// Whether more samples of fragments may be looked at.
    pub(super) fn has_room_ahead(&self) -> bool {
        self.ahead.len() < SAMPLES_MAX
    }

    /// Fragments may have samples that are shown before they are decoded: all are decoded so much
    /// earlier from the beginning on.
    pub(super) fn settle(&mut self) {
        let delays = self.next.iter().chain(&self.ahead).map(|sample| sample.delay);
        let least = delays.min().unwrap_or_default();
        self.advance = self.advance.max(least.min(0).saturating_neg());
    }

    /// When the next sample is decoded, on the stream's clock.
    pub(super) fn next_dts(&self) -> Option<i64> {
        self.next.as_ref().map(|sample| self.on_clock(sample.dts.saturating_sub(self.advance)))
    }

    pub(super) fn take_next(&mut self) -> Result<Option<Due>, Damaged> {
        let (Some(dts), Some(place)) = (self.next_dts(), self.next.take()) else {
            return Ok(None);
        };
        self.refill()?;
        Ok(Some(Due { place, dts, pts: self.on_clock(place.dts.saturating_add(place.delay)) }))
    }

    fn on_clock(&self, ticks: i64) -> i64 {
        to_clock(ticks, self.timescale) + self.shift
    }
}

/// What is counted of a sample: who says that there are some without a byte could say any number.
fn bytes_at_least(sample: &Sample) -> u64 {
    u64::from(sample.size).max(1)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "there is one answer to all others")]
fn packed(codec: &Codec) -> Result<Packed, String> {
    let as_is = |stream_type| Ok((sound(stream_type), Packing::None));
    match codec {
        Codec::Avc1(avc1) => Ok(packing::h264(&avc1.avcc)),
        Codec::Avc3(avc3) => Ok(packing::h264(&avc3.avcc)),
        Codec::Hvc1(hvc1) => Ok(packing::h265(&hvc1.hvcc)),
        Codec::Hev1(hev1) => Ok(packing::h265(&hev1.hvcc)),
        Codec::Av01(av01) => Ok(packing::av1(&av01.av1c)),
        Codec::Mp4a(mp4a) => mpeg_audio(mp4a),
        Codec::Opus(opus) => packing::opus(opus.dops.output_channel_count.into()),
        Codec::Mp3(_) => as_is(StreamType::Mpeg1Audio),
        Codec::Ac3(_) => as_is(StreamType::DolbyDigitalUpToSixChannelAudio),
        Codec::Eac3(_) => as_is(StreamType::DolbyDigitalPlusUpTo16ChannelAudioForAtsc),
        Codec::Vp08(_) => Err(not_carried("VP8")),
        Codec::Vp09(_) => Err(not_carried("VP9")),
        _ => Err(not_carried("something")),
    }
}

/// The kinds of sound that an `esds` names (ISO/IEC 14496-1 table 5).
fn mpeg_audio(mp4a: &Mp4a) -> Result<Packed, String> {
    let config = &mp4a.esds.es_desc.dec_config;
    let as_is = |stream_type| Ok((sound(stream_type), Packing::None));
    match (config.object_type_indication, &config.dec_specific) {
        (0x40 | 0x66..=0x68, Some(specific)) => {
            packing::aac(specific.profile, specific.freq_index, specific.chan_conf)
        }
        (0x69, _) => as_is(StreamType::Mpeg2HalvedSampleRateAudio),
        (0x6b, _) => as_is(StreamType::Mpeg1Audio),
        _ => Err(unusual_sound()),
    }
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
                shift = (shift + to_clock(pause, movie_timescale.max(1))).min(TIME_BOUND);
            }
            Some(begin) => {
                let begin = i64::try_from(begin).unwrap_or(i64::MAX);
                return shift - to_clock(begin, timescale);
            }
        }
    }
    shift
}

fn to_clock(ticks: i64, timescale: u32) -> i64 {
    let time = i128::from(ticks) * i128::from(CLOCK_HZ) / i128::from(timescale);
    let bounded = time.clamp((-TIME_BOUND).into(), TIME_BOUND.into());
    i64::try_from(bounded).unwrap_or(TIME_BOUND)
}
