//! [`Track`]: the picture or the sound of a film, as a transport stream carries it.

use std::collections::VecDeque;

use mp4_atom::{Codec, Mp4a, Stbl, Trak};
use mpeg2ts::es::StreamType;

use super::edits::{Edits, Fate, LEFT_OUT_MAX};
use super::samples::{Sample, Samples};
use crate::mux::{CLOCK_HZ, Stream};
use crate::packing::{self, Damaged, Packed, Packing, not_carried, sound, unusual_sound};

/// Samples of fragments that are known of at once.
const SAMPLES_MAX: usize = 1 << 20;

/// Times are kept within this, far beyond what a stream takes: sums and differences of some are
/// no overflow.
pub(super) const TIME_BOUND: i64 = 1 << 58;

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
    timescale: i64,
    edits: Edits,
    /// Samples that the edits left out since the beginning.
    left_out: u32,
    /// Ticks by which samples are decoded earlier, so that none is shown before.
    advance: i64,
    samples: Samples,
    next: Option<Next>,
    /// The earliest time that a sample may be decoded, on the stream's clock, once one was taken.
    not_before: i64,
    /// Samples of fragments that come behind it, and when what follows those is decoded.
    ahead: VecDeque<Sample>,
    pub(super) ahead_until: i64,
    /// Bytes of those, counting one at least for each.
    ahead_bytes: u64,
}

/// The sample that follows, and what is added to its times on the stream's clock.
#[derive(Debug, Clone, Copy)]
struct Next {
    sample: Sample,
    shift: i64,
}

/// A sample and its times on the stream's clock.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) place: Sample,
    pub(super) dts: i64,
    pub(super) pts: i64,
}

impl Track {
    pub(super) fn new(trak: Trak, kind: Kind, movie_timescale: u32) -> Result<Self, String> {
        let timescale = i64::from(trak.mdia.mdhd.timescale);
        if timescale == 0 {
            return Err("it is damaged: its times have no unit".to_owned());
        }
        let movie_timescale = i64::from(movie_timescale.max(1));
        let edits = Edits::new(&trak, kind, timescale, movie_timescale);
        let edits = edits.map_err(|error| error.to_string())?;
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
            edits,
            left_out: 0,
            advance: least.min(0).saturating_neg(),
            samples: Samples::default(),
            next: None,
            not_before: i64::MIN,
            ahead: VecDeque::new(),
            ahead_until: 0,
            ahead_bytes: 0,
        })
    }

    /// Tells it that fragments follow.
    pub(super) fn expect_fragments(&mut self) {
        self.edits.leave_end_open();
    }

    pub(super) fn rewind(&mut self) -> Result<(), Damaged> {
        self.samples = Samples::default();
        self.edits.rewind();
        self.ahead.clear();
        (self.next, self.ahead_until, self.ahead_bytes) = (None, 0, 0);
        (self.left_out, self.not_before) = (0, i64::MIN);
        self.refill()
    }

    /// Looks for the next sample, if it is not known: in the tables, then in fragments.
    pub(super) fn refill(&mut self) -> Result<(), Damaged> {
        while self.next.is_none() {
            let Some(sample) = self.samples.next(&self.tables)?.or_else(|| self.pop_ahead()) else {
                // Where there are no tables, more may come in fragments.
                if Samples::is_empty(&self.tables) || !self.next_part() {
                    break;
                }
                continue;
            };
            match self.edits.fate(&sample) {
                Fate::Shown(shift) => self.next = Some(Next { sample, shift }),
                Fate::LeftOut => self.leave_out()?,
                Fate::Behind if self.next_part() => {}
                Fate::Behind => {
                    self.ahead.clear();
                    self.ahead_bytes = 0;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Walks through the samples anew for the next part that is shown; false if there is none.
    fn next_part(&mut self) -> bool {
        let has_next = self.edits.next_part();
        if has_next {
            self.samples = Samples::default();
        }
        has_next
    }

    fn leave_out(&mut self) -> Result<(), Damaged> {
        self.left_out += 1;
        if self.left_out == LEFT_OUT_MAX {
            return Err(Damaged("its edit list leaves out more than any film has"));
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
        let next = self.next.as_ref().map(|next| &next.sample);
        let delays = next.into_iter().chain(&self.ahead).map(|sample| sample.delay);
        let least = delays.min().unwrap_or_default();
        self.advance = self.advance.max(least.min(0).saturating_neg());
    }

    /// When the next sample is decoded, on the stream's clock.
    pub(super) fn next_dts(&self) -> Option<i64> {
        let Next { sample, shift } = self.next?;
        let dts = self.on_clock(sample.dts.saturating_sub(self.advance), shift);
        // Where parts are joined, those before it may still have pictures to be decoded.
        Some(if self.edits.has_parts_before() { dts.max(self.not_before) } else { dts })
    }

    pub(super) fn take_next(&mut self) -> Result<Option<Due>, Damaged> {
        let (Some(dts), Some(Next { sample, shift })) = (self.next_dts(), self.next.take()) else {
            return Ok(None);
        };
        let pts = self.on_clock(sample.dts.saturating_add(sample.delay), shift);
        self.not_before = dts + 1;
        self.refill()?;
        Ok(Some(Due { place: sample, dts, pts: pts.max(dts) }))
    }

    fn on_clock(&self, ticks: i64, shift: i64) -> i64 {
        rescaled(ticks, self.timescale, CLOCK_HZ) + shift
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

/// A time in other units, of which there are so many in a second.
pub(super) fn rescaled(ticks: i64, from_hz: i64, to_hz: i64) -> i64 {
    let time = i128::from(ticks) * i128::from(to_hz) / i128::from(from_hz);
    let bounded = time.clamp((-TIME_BOUND).into(), TIME_BOUND.into());
    i64::try_from(bounded).unwrap_or(TIME_BOUND)
}
