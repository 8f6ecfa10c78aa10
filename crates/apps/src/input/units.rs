//! [`UnitReader`]: a WebM or Matroska file, as what browsers decode.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::time::Duration;

use anabranch_films::{Demuxer, MATROSKA_MAGIC};
use anabranch_media::Class;
use anabranch_media::broadcast::Formats;
use anabranch_media::codec::{av1, vp9};
use anabranch_media::decoding::{
    AccessUnit, AudioFormat, AudioInfo, LayerUnit, MediaTrack, VideoFormat, VideoInfo,
};
use anabranch_sansio::Time;
use matroska_demuxer::{Frame, TrackEntry, TrackType};

/// Frames in front of the first key frame that are looked at: it names the codec.
const FIRST_FRAMES_MAX: usize = 1_024;

/// Browsers decode Opus of more channels only with what a container says of them.
const OPUS_CHANNELS_MAX: u64 = 2;

/// A unit of the film, and when it is due after its beginning.
pub(crate) type Timed = (Duration, AccessUnit);

/// A film that is read unit by unit.
#[derive(Debug)]
pub(crate) struct UnitReader {
    film: Demuxer<File>,
    tracks: Tracks,
    /// The first frame that decoding can begin with.
    first: Option<Frame>,
}

impl UnitReader {
    /// Reads what the file says of itself; none if it is something else, or has what must become a
    /// transport stream for browsers to decode it, or cannot be read.
    pub(crate) fn open(mut file: File) -> Option<Self> {
        if !is_matroska(&mut file).ok()? {
            return None;
        }
        let mut film = Demuxer::open(file).ok()?;
        let mut tracks = Tracks::of(&film)?;
        let first = tracks.look_for_key_frame(&mut film)?;
        Some(Self { film, tracks, first })
    }

    pub(crate) fn formats(&self) -> Formats {
        Formats {
            video: self.tracks.video.as_ref().map(|track| track.info.clone()),
            audio: self.tracks.audio.as_ref().map(|track| track.info.clone()),
        }
    }

    /// The next unit, in order; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Timed>, String> {
        loop {
            let frame = match self.first.take() {
                Some(frame) => frame,
                None => {
                    let mut frame = Frame::default();
                    if !self.film.next_frame(&mut frame)? {
                        return Ok(None);
                    }
                    frame
                }
            };
            if let Some(timed) = self.tracks.unit(frame) {
                return Ok(Some(timed));
            }
        }
    }
}

/// Whether a file begins as Matroska does.
pub(crate) fn is_matroska(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.by_ref().take(MATROSKA_MAGIC.len() as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head == MATROSKA_MAGIC)
}

/// The picture and the sound of a file.
#[derive(Debug)]
struct Tracks {
    /// Nanoseconds of a tick.
    scale: u64,
    /// When the first frame is shown.
    start_us: Option<i64>,
    video: Option<Track<VideoInfo>>,
    audio: Option<Track<AudioInfo>>,
}

#[derive(Debug)]
struct Track<I> {
    number: u64,
    info: I,
    frames: u32,
}

impl Tracks {
    /// The first of each kind, if both are what browsers decode.
    fn of(film: &Demuxer<File>) -> Option<Self> {
        let first = |kind| film.tracks().iter().find(|track| track.track_type() == kind);
        let (video, audio) = (first(TrackType::Video), first(TrackType::Audio));
        if video.is_none() && audio.is_none() {
            return None;
        }
        Some(Self {
            scale: film.timestamp_scale(),
            start_us: None,
            video: video.map_or(Some(None), |entry| video_track(entry).map(Some))?,
            audio: audio.map_or(Some(None), |entry| audio_track(entry).map(Some))?,
        })
    }

    /// Reads up to the first key frame, which says what VP9 it is; answers with what was read from
    /// there on. None if there is no such frame.
    fn look_for_key_frame(&mut self, film: &mut Demuxer<File>) -> Option<Option<Frame>> {
        let Some(video) = &mut self.video else { return Some(None) };
        for _ in 0..FIRST_FRAMES_MAX {
            let mut frame = Frame::default();
            if !film.next_frame(&mut frame).ok()? {
                break;
            }
            let is_key =
                frame.track == video.number && class(&video.info, &frame) == Some(Class::KeyFrame);
            if !is_key {
                continue;
            }
            if video.info.format == VideoFormat::Vp9 {
                let (width, height) = (video.info.width, video.info.height);
                let size = |pixels: Option<u32>| u64::from(pixels.unwrap_or_default());
                let codec = vp9::codec(&frame.data, size(width), size(height));
                video.info.codec = codec.unwrap_or_default();
            }
            return Some(Some(frame));
        }
        None
    }

    fn unit(&mut self, frame: Frame) -> Option<Timed> {
        let (track, number, class) = match (&mut self.video, &mut self.audio) {
            (Some(video), _) if video.number == frame.track => {
                let class = class(&video.info, &frame)?;
                video.frames = video.frames.wrapping_add(1);
                (MediaTrack::Video, video.frames.wrapping_sub(1), class)
            }
            (_, Some(audio)) if audio.number == frame.track => {
                audio.frames = audio.frames.wrapping_add(1);
                (MediaTrack::Audio, audio.frames.wrapping_sub(1), Class::Audio)
            }
            _ => return None,
        };
        let ns = u128::from(frame.timestamp) * u128::from(self.scale);
        let pts_us = i64::try_from(ns / 1_000).unwrap_or(i64::MAX);
        let start_us = *self.start_us.get_or_insert(pts_us);
        let at = Duration::from_micros(u64::try_from(pts_us - start_us).unwrap_or_default());
        let layers = vec![LayerUnit { class, delay: None, bytes: frame.data.into() }];
        let (play_at, discontinuity) = (Time::ZERO, false);
        Some((at, AccessUnit { track, frame: number, pts_us, play_at, discontinuity, layers }))
    }
}

/// What a picture is worth; none if it is not what the track says.
fn class(info: &VideoInfo, frame: &Frame) -> Option<Class> {
    if info.format == VideoFormat::Vp9 {
        return vp9::class(&frame.data);
    }
    let is_key = frame.is_keyframe.unwrap_or_else(|| av1::has_sequence_header(&frame.data));
    Some(if is_key { Class::KeyFrame } else { Class::Reference })
}

fn video_track(entry: &TrackEntry) -> Option<Track<VideoInfo>> {
    let (codec, format) = match entry.codec_id() {
        // Its first key frame says more.
        "V_VP9" => (String::new(), VideoFormat::Vp9),
        "V_AV1" => (entry.codec_private().and_then(av1::codec)?, VideoFormat::Av1),
        _ => return None,
    };
    let pixels = |pixels: u64| u32::try_from(pixels).ok();
    let size = entry.video().map(|video| (video.pixel_width().get(), video.pixel_height().get()));
    let ns = entry.default_duration().map(|duration| duration.get() as f64);
    let info = VideoInfo {
        codec,
        format,
        width: size.and_then(|(width, _)| pixels(width)),
        height: size.and_then(|(_, height)| pixels(height)),
        fps: ns.map(|ns| 1e9 / ns),
    };
    Some(Track { number: entry.track_number().get(), info, frames: 0 })
}

fn audio_track(entry: &TrackEntry) -> Option<Track<AudioInfo>> {
    let (rate, channels) = entry
        .audio()
        .map_or((48_000.0, 2), |audio| (audio.sampling_frequency(), audio.channels().get()));
    let (codec, format, sample_rate) = match entry.codec_id() {
        // Opus always counts in 48 kHz.
        "A_OPUS" if channels <= OPUS_CHANNELS_MAX => ("opus", AudioFormat::Opus, 48_000),
        "A_MPEG/L3" => ("mp3", AudioFormat::Mp3, rate as u32),
        _ => return None,
    };
    let channels = u32::try_from(channels).unwrap_or(OPUS_CHANNELS_MAX as u32);
    let info = AudioInfo { codec: codec.to_owned(), format, sample_rate, channels };
    Some(Track { number: entry.track_number().get(), info, frames: 0 })
}
