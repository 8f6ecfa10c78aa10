//! Camera and microphone out of files and programs, for machines without a screen.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anabranch_call::{FRAME, Picture, PictureFormat, PictureKind, VideoFormat, VoiceFormat};
use anabranch_driver::Clock;
use anabranch_media::clip::{AUDIO_TRACK, VIDEO_TRACK};
use anabranch_media::decoding::{AudioInfo, VideoFormat as Decoded, VideoInfo};
use anabranch_media::{Layer, Unit};
use anabranch_sansio::Time;
use bytes::Bytes;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::input::{Input, InputError, InputOptions};
use crate::serve::source::{self, Listener, Source, SourceEvent};

/// Frames that wait for the call's loop; who is slower loses the newest.
const WAITING_MAX: usize = 256;

/// Frames of a file come a few at a time; what is farther from its turn was held up.
const VOICE_SLACK: Duration = Duration::from_millis(100);

/// What a program is told by.
const COMMAND: &str = "command:";

/// Where a camera's or a microphone's media comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceSource {
    /// A file, in a loop.
    File(PathBuf),
    /// A program that writes a transport stream, run by the shell and started again when it dies.
    Command(String),
}

/// What is no source of a camera or a microphone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("give a file, or command: and a program that writes a transport stream")]
pub struct NoDeviceSource;

impl DeviceSource {
    /// Opens a file once, so that one that is no media is no call either.
    pub(super) async fn check(
        &self,
        options: InputOptions,
        clock: Clock,
    ) -> Result<(), InputError> {
        match self {
            Self::File(path) => source::check_file(path.clone(), options, clock).await,
            Self::Command(_) => Ok(()),
        }
    }
}

impl FromStr for DeviceSource {
    type Err = NoDeviceSource;

    fn from_str(text: &str) -> Result<Self, NoDeviceSource> {
        match text.strip_prefix(COMMAND) {
            Some("") => Err(NoDeviceSource),
            Some(command) => Ok(Self::Command(command.to_owned())),
            None if text.is_empty() => Err(NoDeviceSource),
            None => Ok(Self::File(text.into())),
        }
    }
}

/// Which device a source is in place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Camera,
    Microphone,
}

/// What comes of a source.
#[derive(Debug)]
pub(super) enum Captured {
    /// Pictures of this kind follow.
    Video(VideoFormat),
    /// Voice of this kind follows.
    Voice(VoiceFormat),
    Picture(Picture),
    Frame(Bytes),
    /// Something that whoever calls should know.
    Note(String),
}

/// When frames of voice were captured that come out of a file a few at once: each has its own turn.
#[derive(Debug, Default)]
pub(super) struct VoiceTurns {
    /// That of the next one.
    at: Time,
}

impl VoiceTurns {
    /// A frame came.
    pub(super) fn next(&mut self, now: Time) -> Time {
        let is_held_up = now - self.at > VOICE_SLACK || self.at - now > VOICE_SLACK;
        let at = if is_held_up { now } else { self.at };
        self.at = at + FRAME;
        at
    }
}

/// Reads the sources of a call; ends with it.
#[derive(Debug)]
pub(super) struct Devices {
    tasks: Vec<JoinHandle<()>>,
    pub(super) captured: mpsc::Receiver<Captured>,
}

impl Devices {
    pub(super) fn open(
        camera: Option<DeviceSource>,
        microphone: Option<DeviceSource>,
        options: InputOptions,
        clock: Clock,
    ) -> Self {
        let (sender, captured) = mpsc::channel(WAITING_MAX);
        let places = [(camera, Place::Camera), (microphone, Place::Microphone)];
        let tasks = places.into_iter().filter_map(|(source, place)| {
            let device = Device { place, clock, sender: sender.clone(), is_told: false };
            let source = match source? {
                DeviceSource::File(path) => Source::Input(Input::File(path)),
                DeviceSource::Command(command) => Source::Command(command),
            };
            Some(source::spawn(source, options, clock, "call".into(), device))
        });
        Self { tasks: tasks.collect(), captured }
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

struct Device {
    place: Place,
    clock: Clock,
    sender: mpsc::Sender<Captured>,
    /// Whether it was said that frames do not last as they should.
    is_told: bool,
}

impl Device {
    fn name(&self) -> &'static str {
        match self.place {
            Place::Camera => "camera",
            Place::Microphone => "microphone",
        }
    }

    fn send(&self, captured: Captured) {
        // A full queue: the call's loop stands still, and what is captured now would be late.
        let _full = self.sender.try_send(captured);
    }

    fn begin(&self, video: Option<VideoInfo>, audio: Option<&AudioInfo>) {
        match (self.place, video.and_then(video_format), audio.and_then(voice_format)) {
            (Place::Camera, Some(video), _) => self.send(Captured::Video(video)),
            (Place::Microphone, _, Some(voice)) => self.send(Captured::Voice(voice)),
            (Place::Camera, None, _) => {
                let text =
                    "--camera: there is no picture in it that a call takes: H.264, VP9 or AV1";
                self.send(Captured::Note(text.to_owned()));
            }
            (Place::Microphone, _, None) => {
                let text = "--microphone: there is no Opus in it, which a call takes: ffmpeg -i \
                            FILE -c:a libopus -frame_duration 20 makes some";
                self.send(Captured::Note(text.to_owned()));
            }
        }
    }

    fn take(&mut self, unit: Unit) {
        match (self.place, unit.track) {
            (Place::Camera, VIDEO_TRACK) if unit.layer == Layer::BASE => {
                let Some(kind) = PictureKind::of(unit.class) else { return };
                let at = self.clock.now();
                self.send(Captured::Picture(Picture { at, kind, bytes: unit.bytes }));
            }
            (Place::Microphone, AUDIO_TRACK) if lasts_20_ms(&unit.bytes) => {
                self.send(Captured::Frame(unit.bytes));
            }
            (Place::Microphone, AUDIO_TRACK) if !self.is_told => {
                self.is_told = true;
                let text = "--microphone: its frames of Opus do not last 20 ms, which those of a \
                            call do: ffmpeg -i FILE -c:a libopus -frame_duration 20 makes some";
                self.send(Captured::Note(text.to_owned()));
            }
            _ => {}
        }
    }
}

impl Listener for Device {
    fn tell(&mut self, event: SourceEvent) {
        match event {
            SourceEvent::Begin { video, audio } => self.begin(video, audio.as_ref()),
            SourceEvent::Unit(unit) => self.take(unit),
            SourceEvent::Lost(reason) => {
                self.send(Captured::Note(format!("--{}: {reason}", self.name())));
            }
            SourceEvent::Note(text) => {
                self.send(Captured::Note(format!("--{}: {text}", self.name())));
            }
            SourceEvent::NotDecodable(codecs) => {
                let codecs: Vec<String> = codecs.iter().map(ToString::to_string).collect();
                let text = format!("--{}: {} is left out", self.name(), codecs.join(", "));
                self.send(Captured::Note(text));
            }
            SourceEvent::Packets(_)
            | SourceEvent::Entry(_)
            | SourceEvent::Programme(_)
            | SourceEvent::Through(_)
            | SourceEvent::NewStream
            | SourceEvent::Levels(_)
            | SourceEvent::NoStream => {}
        }
    }
}

fn video_format(info: VideoInfo) -> Option<VideoFormat> {
    let format = match info.format {
        Decoded::Vp9 => PictureFormat::Vp9,
        Decoded::AnnexB => PictureFormat::Annexb,
        Decoded::Av1 => PictureFormat::Av1,
    };
    let VideoInfo { codec, width, height, fps, .. } = info;
    Some(VideoFormat { codec, format, width, height, fps })
}

fn voice_format(info: &AudioInfo) -> Option<VoiceFormat> {
    let is_opus = info.codec == "opus";
    is_opus.then(VoiceFormat::opus)
}

/// RFC 6716 section 3.1: the top five bits of the first byte are one of 32 configurations, each
/// with a length of frames; the last two bits say how many frames there are.
fn lasts_20_ms(packet: &[u8]) -> bool {
    let Some(toc) = packet.first() else { return false };
    let tenths_of_ms = match toc >> 3 {
        silk @ 0..12 => [100, 200, 400, 600][usize::from(silk % 4)],
        hybrid @ 12..16 => [100, 200][usize::from(hybrid % 2)],
        celt => [25, 50, 100, 200][usize::from(celt % 4)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => packet.get(1).map_or(0, |count| u32::from(count & 0x3f)),
    };
    tenths_of_ms * frames == 200
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_a_file_or_a_program() {
        assert_eq!("me.mkv".parse(), Ok(DeviceSource::File("me.mkv".into())));
        let command = "command:ffmpeg -f v4l2 -i /dev/video0 -f mpegts -";
        let program = "ffmpeg -f v4l2 -i /dev/video0 -f mpegts -".to_owned();
        assert_eq!(command.parse(), Ok(DeviceSource::Command(program)));
        assert_eq!("".parse::<DeviceSource>(), Err(NoDeviceSource));
        assert_eq!("command:".parse::<DeviceSource>(), Err(NoDeviceSource));
    }

    #[test]
    fn each_frame_of_voice_has_its_turn_but_who_was_held_up_begins_anew() {
        let mut turns = VoiceTurns::default();
        let start = Time::ZERO + Duration::from_secs(5);
        let ms = Duration::from_millis;
        assert_eq!(
            [0, 0, 0, 60].map(|at| turns.next(start + ms(at)) - start),
            [0, 20, 40, 60].map(ms)
        );
        assert_eq!(turns.next(start + ms(300)) - start, ms(300));
        for frame in 1..=5 {
            assert_eq!(turns.next(start + ms(300)) - start, ms(300 + 20 * frame));
        }
        assert_eq!(turns.next(start + ms(300)) - start, ms(300), "too far ahead");
    }

    #[test]
    fn frames_that_do_not_last_20_ms_are_told_apart() {
        // SILK, hybrid and CELT of one frame; two of 10 ms; four of 5 ms.
        for packet in [&[0x08][..], &[0x48], &[0x68], &[0xf8], &[0xf1], &[0xeb, 4]] {
            assert!(lasts_20_ms(packet), "{packet:x?}");
        }
        for packet in [&[][..], &[0x00], &[0x18], &[0x60], &[0xf9], &[0xfb], &[0xfb, 2]] {
            assert!(!lasts_20_ms(packet), "{packet:x?}");
        }
    }
}
