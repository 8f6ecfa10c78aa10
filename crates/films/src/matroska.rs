//! [`Matroska`]: a Matroska or WebM file (RFC 9559), read as the transport stream that it would be.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Read};

use matroska_demuxer::{Frame, TrackEntry, TrackType};
use mp4_atom::{Atom, Av1c, Avcc, Hvcc};
use mpeg2ts::es::StreamType;

use super::again::Again;
use super::demuxer::Demuxer;
use super::mux::{CLOCK_HZ, Muxer, TIME_MAX, Unit};
use super::packing::{self, Packed, Packing, not_carried, sound, unusual_sound, video};

/// Pictures that are looked ahead: no coding has one shown behind more that are decoded later.
const AHEAD: usize = 17;

/// Bytes that are looked ahead at most.
const AHEAD_BYTES: usize = 16 << 20;

/// What a frame costs beside its bytes, of which it may have none.
const FRAME_BYTES: usize = 128;

const NANOS: u128 = 1_000_000_000;

/// A film: its picture, its sound, or both.
#[derive(Debug)]
pub(super) struct Matroska<S: Again> {
    file: S,
    film: Demuxer<S>,
    tracks: Vec<Track>,
    muxer: Muxer,
    /// The time that the stream counts from, once it is known.
    start: Option<i64>,
    /// What the frames cost that were read ahead, in bytes.
    held: usize,
    is_over: bool,
    unit: Vec<u8>,
}

/// The picture or the sound. A file says when a picture is shown, and not when it is decoded: that
/// is when one is shown that is decoded as late, all of them a little earlier.
#[derive(Debug)]
struct Track {
    number: u64,
    is_video: bool,
    packing: Packing,
    frames: VecDeque<Held>,
    /// When the pictures that were read are shown, without those that went on already.
    times: BinaryHeap<Reverse<i64>>,
    /// By how much they are decoded earlier, once it is known.
    advance: Option<i64>,
}

#[derive(Debug)]
struct Held {
    pts: i64,
    is_key: bool,
    data: Vec<u8>,
}

impl Held {
    const fn cost(&self) -> usize {
        self.data.len() + FRAME_BYTES
    }
}

impl Track {
    fn of(entry: &TrackEntry) -> Result<(packing::Packed, u64, bool), String> {
        if entry.content_encodings().is_some_and(|encodings| !encodings.is_empty()) {
            return Err("its frames are compressed or encrypted once more: make it a transport \
                        stream with ffmpeg -i FILE -c copy FILE.ts"
                .to_owned());
        }
        let is_video = entry.track_type() == TrackType::Video;
        Ok((packed(entry)?, entry.track_number().get(), is_video))
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.times.clear();
        self.advance = None;
    }

    fn push(&mut self, frame: Held) {
        self.times.push(Reverse(frame.pts));
        self.frames.push_back(frame);
    }

    /// Whether enough is known of what comes.
    fn is_ahead(&self) -> bool {
        self.frames.len() >= if self.is_video { AHEAD } else { 1 }
    }

    /// By how much the first pictures are decoded earlier, so that none is shown before.
    fn settle(&mut self) {
        if self.advance.is_none() && !self.frames.is_empty() {
            let mut sorted: Vec<_> = self.frames.iter().map(|frame| frame.pts).collect();
            sorted.sort_unstable();
            let behind = sorted.iter().zip(&self.frames).map(|(time, frame)| time - frame.pts);
            self.advance = Some(behind.max().unwrap_or_default().max(0));
        }
    }

    /// When the next frame is decoded.
    fn next_dts(&self) -> Option<i64> {
        let pts = self.frames.front()?.pts;
        let Reverse(time) = self.times.peek()?;
        Some((time - self.advance.unwrap_or_default()).min(pts))
    }

    fn take(&mut self) -> Option<(i64, Held)> {
        let dts = self.next_dts()?;
        self.times.pop();
        Some((dts, self.frames.pop_front()?))
    }
}

impl<S: Again> Matroska<S> {
    /// Reads what the file says of itself.
    ///
    /// # Errors
    /// In words, if it cannot be read, or has nothing that a transport stream can carry.
    pub(super) fn open(file: S) -> Result<Self, String> {
        let film = demuxer(&file).map_err(|error| error.to_string())?;
        let first = |kind| film.tracks().iter().find(|entry| entry.track_type() == kind);
        let found = [TrackType::Video, TrackType::Audio].into_iter().filter_map(first);
        let found = found.map(Track::of).collect::<Result<Vec<_>, _>>()?;
        if found.is_empty() {
            return Err("it has neither a picture nor sound".to_owned());
        }
        let streams: Vec<_> = found.iter().map(|((stream, _), ..)| stream.clone()).collect();
        let track = |((_, packing), number, is_video): (Packed, u64, bool)| Track {
            number,
            is_video,
            packing,
            frames: VecDeque::new(),
            times: BinaryHeap::new(),
            advance: None,
        };
        let tracks = found.into_iter().map(track).collect();
        Ok(Self {
            file,
            film,
            tracks,
            muxer: Muxer::new(&streams),
            start: None,
            held: 0,
            is_over: false,
            unit: Vec::new(),
        })
    }

    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.film = demuxer(&self.file)?;
        self.muxer.begin_again();
        self.tracks.iter_mut().for_each(Track::clear);
        (self.start, self.held, self.is_over) = (None, 0, false);
        Ok(())
    }

    /// Makes packets of the frame that is decoded next; false at the end.
    fn make_more(&mut self) -> io::Result<bool> {
        self.read_ahead()?;
        let tracks = self.tracks.iter_mut().enumerate();
        let Some((stream, track)) = tracks
            .filter(|(_, track)| track.next_dts().is_some())
            .min_by_key(|(_, track)| track.next_dts())
        else {
            return Ok(false);
        };
        let Some((dts, frame)) = track.take() else { return Ok(false) };
        self.held -= frame.cost();
        let start = *self.start.get_or_insert(dts);
        self.unit.clear();
        track.packing.pack(&frame.data, frame.is_key, &mut self.unit).map_err(io::Error::other)?;
        self.muxer.push(&Unit {
            stream,
            pts: frame.pts - start,
            dts: dts - start,
            is_key: frame.is_key,
            bytes: &self.unit,
        })?;
        Ok(true)
    }

    fn read_ahead(&mut self) -> io::Result<()> {
        while !self.is_over && self.held < AHEAD_BYTES && !self.tracks.iter().all(Track::is_ahead) {
            let mut frame = Frame::default();
            if !self.film.next_frame(&mut frame).map_err(io::Error::other)? {
                self.is_over = true;
                break;
            }
            let Some(track) = self.tracks.iter_mut().find(|track| track.number == frame.track)
            else {
                continue;
            };
            let pts = on_clock(frame.timestamp, self.film.timestamp_scale()).ok_or_else(|| {
                io::Error::other("its times are beyond all bounds: it is damaged")
            })?;
            let is_key = frame.is_keyframe.unwrap_or_else(|| track.packing.is_key(&frame.data));
            let frame = Held { pts, is_key, data: frame.data };
            self.held += frame.cost();
            track.push(frame);
        }
        self.tracks.iter_mut().for_each(Track::settle);
        Ok(())
    }
}

impl<S: Again> Read for Matroska<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.muxer.is_empty() {
            if !self.make_more()? {
                return Ok(0);
            }
        }
        Ok(self.muxer.take(buf))
    }
}

fn demuxer<S: Again>(file: &S) -> io::Result<Demuxer<S>> {
    Demuxer::open(file.again()?).map_err(io::Error::other)
}

/// A time in ticks of so many nanoseconds, on the stream's clock.
fn on_clock(ticks: u64, scale: u64) -> Option<i64> {
    let nanos = u128::from(ticks) * u128::from(scale);
    let time = i64::try_from(nanos.checked_mul(CLOCK_HZ.unsigned_abs().into())? / NANOS).ok()?;
    (time <= TIME_MAX).then_some(time)
}

/// What a track is in a transport stream (RFC 9559 section 5.1.4.1.21, and the registry of codecs).
fn packed(entry: &TrackEntry) -> Result<Packed, String> {
    let record = entry.codec_private().unwrap_or_default();
    let as_is = |stream| Ok((stream, Packing::None));
    match entry.codec_id() {
        "V_MPEG4/ISO/AVC" => configuration::<Avcc>(record).map(|it| packing::h264(&it)),
        "V_MPEGH/ISO/HEVC" => configuration::<Hvcc>(record).map(|it| packing::h265(&it)),
        "V_AV1" => configuration::<Av1c>(record).map(|it| packing::av1(&it)),
        "V_MPEG1" | "V_MPEG2" => as_is(video(StreamType::Mpeg2Video)),
        "A_MPEG/L2" | "A_MPEG/L3" => as_is(sound(StreamType::Mpeg1Audio)),
        "A_AC3" => as_is(sound(StreamType::DolbyDigitalUpToSixChannelAudio)),
        "A_EAC3" => as_is(sound(StreamType::DolbyDigitalPlusUpTo16ChannelAudioForAtsc)),
        "A_OPUS" => packing::opus(entry.audio().map_or(2, |audio| audio.channels().get())),
        // ISO/IEC 14496-3 section 1.6.2.1: five bits of a type, four of a rate, four of channels.
        "A_AAC" => match record {
            &[first, second, ..] => {
                let (frequency, channels) = ((first & 7) << 1 | second >> 7, second >> 3 & 15);
                packing::aac(first >> 3, frequency, channels)
            }
            _ => Err(unusual_sound()),
        },
        "V_VP8" => Err(not_carried("VP8")),
        "V_VP9" => Err(not_carried("VP9")),
        id => Err(not_carried(id)),
    }
}

fn configuration<A: Atom>(mut record: &[u8]) -> Result<A, String> {
    A::decode_body(&mut record)
        .map_err(|error| format!("it is damaged: what describes its picture is none: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(shown: &[i64]) -> Track {
        let mut track = Track {
            number: 1,
            is_video: true,
            packing: Packing::None,
            frames: VecDeque::new(),
            times: BinaryHeap::new(),
            advance: None,
        };
        for &pts in shown {
            track.push(Held { pts, is_key: false, data: Vec::new() });
        }
        track.settle();
        track
    }

    #[test]
    fn pictures_are_decoded_evenly_and_none_after_it_is_shown() {
        // I P B B, twice: two pictures are shown before the one that they follow.
        let shown = [0, 3, 1, 2, 4, 7, 5, 6];
        let mut track = track(&shown);
        let taken: Vec<_> = std::iter::from_fn(|| track.take()).collect();
        let decoded: Vec<_> = taken.iter().map(|(dts, _)| *dts).collect();
        assert_eq!(decoded, [-1, 0, 1, 2, 3, 4, 5, 6]);
        assert!(taken.iter().all(|(dts, frame)| *dts <= frame.pts));
        assert!(taken.iter().map(|(_, frame)| frame.pts).eq(shown));
    }

    #[test]
    fn times_beyond_all_bounds_are_refused() {
        assert_eq!(on_clock(1_000, 1_000_000), Some(90_000));
        assert_eq!(on_clock(u64::MAX, 1), None);
        assert_eq!(on_clock(u64::MAX, u64::MAX), None);
    }

    #[test]
    fn what_is_shown_earlier_than_was_to_be_foreseen_is_decoded_by_then() {
        let mut track = track(&[0, 1, 2]);
        track.push(Held { pts: 9, is_key: false, data: Vec::new() });
        track.push(Held { pts: 3, is_key: false, data: Vec::new() });
        let taken: Vec<_> = std::iter::from_fn(|| track.take()).collect();
        assert!(taken.iter().all(|(dts, frame)| *dts <= frame.pts));
    }
}
