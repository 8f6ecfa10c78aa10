//! [`Film`]: a WebM or Matroska file, as what browsers decode.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch_media::Class;
use anabranch_media::broadcast::Formats;
use anabranch_media::codec::{av1, vp9};
use anabranch_media::decoding::{
    AccessUnit, AudioFormat, AudioInfo, LayerUnit, MediaTrack, VideoFormat, VideoInfo,
};
use anabranch_sansio::Time;
use matroska_demuxer::{DemuxError, Frame, MatroskaFile, TrackEntry, TrackType};
use tokio::sync::mpsc;

use crate::send::InputError;
use crate::send::feed::READER_FAILED;

/// RFC 8794 section 11.2.1: the EBML header's identifier.
const MAGIC: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];

/// Units that are read ahead.
const UNITS_MAX: usize = 16;

/// The largest frame that is taken.
const FRAME_BYTES_MAX: usize = 16 << 20;

/// What a file may say of itself: the demuxer keeps up to twenty times as much of it in memory.
const HEADER_BYTES_MAX: u64 = 8 << 20;

/// Frames in front of the first key frame that are looked at: it names the codec.
const FIRST_FRAMES_MAX: usize = 1_024;

/// Browsers decode Opus of more channels only with what a container says of them.
const OPUS_CHANNELS_MAX: u64 = 2;

/// A unit of the film, and when it is due after its beginning.
pub(super) type Timed = (Duration, AccessUnit);

/// A film that is being read.
#[derive(Debug)]
pub(super) struct Film {
    pub(super) formats: Formats,
    pub(super) units: mpsc::Receiver<Result<Timed, InputError>>,
}

impl Film {
    /// Opens a file; none if it is something else.
    ///
    /// # Errors
    /// It cannot be read, or has nothing that browsers decode.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, InputError> {
        let name = path.display().to_string();
        let failed = |message: String| InputError::Open { name: name.clone(), message };
        let mut file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let is_film = file.metadata().is_ok_and(|it| it.is_file())
            && is_matroska(&mut file).map_err(|error| failed(error.to_string()))?;
        if !is_film {
            return Ok(None);
        }
        let budget = Arc::new(AtomicU64::new(HEADER_BYTES_MAX));
        let source = Source { file, budget: budget.clone() };
        let mut film = MatroskaFile::open(source).map_err(|error| failed(words_of(&error)))?;
        // What follows is read frame by frame.
        budget.store(u64::MAX, Ordering::Relaxed);
        let mut tracks = Tracks::of(&film).map_err(&failed)?;
        let first = tracks.look_for_key_frame(&mut film).map_err(&failed)?;
        let formats = Formats {
            video: tracks.video.as_ref().map(|track| track.info.clone()),
            audio: tracks.audio.as_ref().map(|track| track.info.clone()),
        };
        let (sender, units) = mpsc::channel(UNITS_MAX);
        std::thread::spawn(move || {
            let reading =
                || tracks.read(&mut film, first, &sender).map_err(|error| words_of(&error));
            let read = catch_unwind(AssertUnwindSafe(reading));
            if let Err(message) = read.unwrap_or_else(|_| Err(READER_FAILED.to_owned())) {
                // If nobody listens any more, the channel is gone.
                _ = sender.blocking_send(Err(InputError::Broken { name, message }));
            }
        });
        Ok(Some(Self { formats, units }))
    }
}

/// The demuxer does not put what the file's reader says.
fn words_of(error: &DemuxError) -> String {
    if let DemuxError::IoError(error) = error { error.to_string() } else { error.to_string() }
}

/// A file of which only so much more is read.
#[derive(Debug)]
struct Source {
    file: File,
    budget: Arc<AtomicU64>,
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buf)?;
        let left = self.budget.load(Ordering::Relaxed);
        let Some(left) = left.checked_sub(len as u64) else {
            let what = "it describes itself in more than 8 MiB: it is damaged";
            return Err(io::Error::other(what));
        };
        self.budget.store(left, Ordering::Relaxed);
        Ok(len)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn is_matroska(file: &mut File) -> std::io::Result<bool> {
    let mut head = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head == MAGIC)
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
    /// The first of each kind, if it is one that browsers decode.
    fn of(film: &MatroskaFile<Source>) -> Result<Self, String> {
        let first = |kind| film.tracks().iter().find(|track| track.track_type() == kind);
        let (video, audio) = (first(TrackType::Video), first(TrackType::Audio));
        let tracks = Self {
            scale: film.info().timestamp_scale().get(),
            start_us: None,
            video: video.map(video_track).transpose()?,
            audio: audio.map(audio_track).transpose()?,
        };
        if tracks.video.is_none() && tracks.audio.is_none() {
            return Err("it has neither a picture nor sound".to_owned());
        }
        Ok(tracks)
    }

    /// Reads up to the first key frame, which says what VP9 it is; answers with what was read from
    /// there on.
    fn look_for_key_frame(
        &mut self,
        film: &mut MatroskaFile<Source>,
    ) -> Result<Option<Frame>, String> {
        let Some(video) = &mut self.video else { return Ok(None) };
        for _ in 0..FIRST_FRAMES_MAX {
            let mut frame = Frame::default();
            if !film.next_frame(&mut frame).map_err(|error| error.to_string())? {
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
            return Ok(Some(frame));
        }
        Err("its picture has no key frame".to_owned())
    }

    /// Hands all units on, in order.
    fn read(
        &mut self,
        film: &mut MatroskaFile<Source>,
        first: Option<Frame>,
        sender: &mpsc::Sender<Result<Timed, InputError>>,
    ) -> Result<(), DemuxError> {
        let mut next = first;
        loop {
            let frame = match next.take() {
                Some(frame) => frame,
                None => {
                    let mut frame = Frame::default();
                    if !film.next_frame(&mut frame)? {
                        return Ok(());
                    }
                    if frame.data.len() > FRAME_BYTES_MAX {
                        let what = "it has a frame of more than 16 MiB: it is damaged";
                        return Err(io::Error::other(what).into());
                    }
                    frame
                }
            };
            if let Some(timed) = self.unit(frame)
                && sender.blocking_send(Ok(timed)).is_err()
            {
                return Ok(());
            }
        }
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

fn video_track(entry: &TrackEntry) -> Result<Track<VideoInfo>, String> {
    let id = entry.codec_id();
    let (codec, format) = match id {
        // Its first key frame says more.
        "V_VP9" => (String::new(), VideoFormat::Vp9),
        "V_AV1" => {
            let codec = entry.codec_private().and_then(av1::codec);
            (codec.ok_or("its AV1 has no configuration record")?, VideoFormat::Av1)
        }
        _ => return Err(not_read("picture", id, "VP9 and AV1")),
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
    Ok(Track { number: entry.track_number().get(), info, frames: 0 })
}

fn audio_track(entry: &TrackEntry) -> Result<Track<AudioInfo>, String> {
    let (rate, channels) = entry
        .audio()
        .map_or((48_000.0, 2), |audio| (audio.sampling_frequency(), audio.channels().get()));
    let (codec, format, sample_rate) = match entry.codec_id() {
        "A_OPUS" if channels > OPUS_CHANNELS_MAX => {
            return Err(format!(
                "its Opus has {channels} channels, which browsers do not decode here: convert it \
                 with ffmpeg -ac 2"
            ));
        }
        // Opus always counts in 48 kHz.
        "A_OPUS" => ("opus", AudioFormat::Opus, 48_000),
        "A_MPEG/L3" => ("mp3", AudioFormat::Mp3, rate as u32),
        id => return Err(not_read("sound", id, "Opus and MP3")),
    };
    let channels = u32::try_from(channels).unwrap_or(OPUS_CHANNELS_MAX as u32);
    let info = AudioInfo { codec: codec.to_owned(), format, sample_rate, channels };
    Ok(Track { number: entry.track_number().get(), info, frames: 0 })
}

fn not_read(what: &str, id: &str, known: &str) -> String {
    format!(
        "its {what} is {id}, and of a WebM or Matroska file {known} are read: make it a transport \
         stream with ffmpeg -i FILE -c copy FILE.ts"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element of EBML: its identifier, its length in eight bytes, its content.
    fn element(id: &[u8], content: &[u8]) -> Vec<u8> {
        let len = (1_u64 << 56) | content.len() as u64;
        [id, &len.to_be_bytes(), content].concat()
    }

    #[test]
    fn a_file_that_says_too_much_of_itself_is_refused_before_it_fills_the_memory() {
        let versions = [element(&[0x42, 0x87], &[2]), element(&[0x42, 0x85], &[2])].concat();
        let head = element(&MAGIC, &[element(&[0x42, 0x82], b"webm"), versions].concat());
        // Five million elements (Void) in the segment's description.
        let info = element(&[0x15, 0x49, 0xa9, 0x66], &[0xec, 0x80].repeat(5 << 20));
        let cluster = element(&[0x1f, 0x43, 0xb6, 0x75], &[]);
        let segment = element(&[0x18, 0x53, 0x80, 0x67], &[info, cluster].concat());
        let path = std::env::temp_dir().join(format!("anabranch-{}.mkv", std::process::id()));
        std::fs::write(&path, [head, segment].concat()).unwrap();
        let opened = Film::open(&path).map(|film| film.is_some());
        std::fs::remove_file(&path).unwrap();
        let error = opened.unwrap_err().to_string();
        assert!(error.contains("more than 8 MiB"), "{error}");
    }
}
