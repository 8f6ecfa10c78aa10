//! [`Recorder`]: what was played out of a call, into a folder.
//!
//! `voice.opus` is Ogg Opus (RFC 7845), with a frame that lasts and says nothing for each that was
//! concealed; `picture.h264` is in Annex B form, `picture.ivf` what VP8, VP9 and AV1 come in;
//! `played.csv` has a line for each frame, with its times on both clocks. The files of the second
//! call that a listener takes end in `-2`, as do those of a call whose pictures come in another
//! format from now on, of somebody who is met again, and so on.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::mem;
use std::path::{Path, PathBuf};

use anabranch_call::{Media, PictureFormat, Playback, Played, VideoFormat};
use anabranch_sansio::Time;
use ogg::{PacketWriteEndInfo, PacketWriter};

use crate::output::OutputError;
use crate::service::ServiceError;

/// The serial number of the one stream of a voice's file.
const SERIAL: u32 = 1;

/// RFC 7845 section 4: a granule position counts samples at 48 kHz, whatever the coder has. Those
/// of a frame of 20 ms.
const SAMPLES: u64 = 960;

/// RFC 6716 section 3.2.1: an Opus packet of one byte, whose one frame is empty: SILK-only,
/// 20 ms, one channel. A decoder conceals it.
const CONCEALED: &[u8] = &[0x08];

/// IVF counts time in these parts of a second.
const IVF_TICKS: u32 = 1_000_000;

/// What is recorded cannot be written into this folder.
pub(super) fn unwritable(record: Option<&PathBuf>, source: io::Error) -> ServiceError {
    let name = record.map(|path| path.display().to_string()).unwrap_or_default();
    OutputError::Failed { name, message: source.to_string() }.into()
}

/// Writes what was played out.
pub(super) struct Recorder {
    folder: PathBuf,
    voice: Option<Voice>,
    picture: Option<Picture>,
    played: BufWriter<File>,
    video: Option<VideoFormat>,
    start: Option<Time>,
    /// Which set of files is written.
    set: u32,
    /// Whether a call has begun.
    is_begun: bool,
}

struct Voice {
    writer: PacketWriter<'static, BufWriter<File>>,
    /// When the last frame began to sound, and how many samples are written.
    last: Option<Time>,
    samples: u64,
    /// Written when the next one is known not to be the last.
    pending: Option<Vec<u8>>,
}

enum Picture {
    AnnexB(BufWriter<File>),
    Ivf(BufWriter<File>),
}

impl Recorder {
    /// Makes the folder; what it held of an earlier call is replaced, from this set of files on,
    /// of which 1 is the first.
    pub(super) fn create(folder: &Path, set: u32) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let played = open_table(&path(folder, set, "played", "csv"))?;
        let folder = folder.to_owned();
        let (voice, picture, video, start) = (None, None, None, None);
        Ok(Self { folder, voice, picture, played, video, start, set, is_begun: false })
    }

    /// Which set of files is written.
    pub(super) const fn set(&self) -> u32 {
        self.set
    }

    /// A call begins, in which this comes.
    pub(super) fn begin(&mut self, media: &Media) -> io::Result<()> {
        self.video.clone_from(&media.video);
        if mem::replace(&mut self.is_begun, true) { self.begin_files() } else { Ok(()) }
    }

    /// What comes from now on.
    pub(super) fn set_media(&mut self, media: &Media) -> io::Result<()> {
        let format = |video: &Option<VideoFormat>| video.as_ref().map(|it| it.format);
        let is_other = media.video.is_some() && format(&self.video) != format(&media.video);
        if media.video.is_some() {
            self.video.clone_from(&media.video);
        }
        if is_other && self.picture.is_some() { self.begin_files() } else { Ok(()) }
    }

    fn begin_files(&mut self) -> io::Result<()> {
        self.finish()?;
        self.set += 1;
        (self.voice, self.picture, self.start) = (None, None, None);
        self.played = open_table(&self.path("played", "csv"))?;
        Ok(())
    }

    fn path(&self, name: &str, extension: &str) -> PathBuf {
        path(&self.folder, self.set, name, extension)
    }

    /// Something was played out.
    pub(super) fn take(&mut self, playback: &Playback) -> io::Result<()> {
        let Playback { play_at, captured_us, frame, what } = playback;
        let start = *self.start.get_or_insert(*play_at);
        let (name, len) = match what {
            Played::Voice(bytes) => {
                self.voice()?.write(*play_at, bytes)?;
                ("voice", bytes.len())
            }
            Played::Concealed => {
                self.voice()?.write(*play_at, CONCEALED)?;
                ("concealed", 0)
            }
            Played::Picture { bytes, .. } => {
                let at = (*play_at - start).as_micros();
                self.picture(at as u64, bytes)?;
                ("picture", bytes.len())
            }
        };
        let played_us = play_at.as_micros();
        writeln!(self.played, "{name},{frame},{captured_us},{played_us},{len}")
    }

    /// The call is over: all of it is on the disk.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.played.flush()?;
        if let Some(voice) = &mut self.voice {
            voice.finish()?;
        }
        match &mut self.picture {
            Some(Picture::AnnexB(file) | Picture::Ivf(file)) => file.flush(),
            None => Ok(()),
        }
    }

    fn voice(&mut self) -> io::Result<&mut Voice> {
        if self.voice.is_none() {
            self.voice = Some(Voice::create(&self.path("voice", "opus"))?);
        }
        self.voice.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn picture(&mut self, at_us: u64, bytes: &[u8]) -> io::Result<()> {
        if self.picture.is_none() {
            let path = |extension: &str| self.path("picture", extension);
            self.picture = Some(Picture::create(path, self.video.as_ref())?);
        }
        match &mut self.picture {
            Some(Picture::AnnexB(file)) => file.write_all(bytes),
            Some(Picture::Ivf(file)) => {
                let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                file.write_all(&len.to_le_bytes())?;
                file.write_all(&at_us.to_le_bytes())?;
                file.write_all(bytes)
            }
            None => Ok(()),
        }
    }
}

impl Voice {
    fn create(path: &Path) -> io::Result<Self> {
        let mut writer = PacketWriter::new(BufWriter::new(File::create(path)?));
        // RFC 7845 section 5.1: version 1, one channel, no pre-skip, 48 kHz, no gain, family 0.
        let mut head = b"OpusHead\x01\x01\x00\x00".to_vec();
        head.extend_from_slice(&48_000_u32.to_le_bytes());
        head.extend_from_slice(&[0, 0, 0]);
        writer.write_packet(head, SERIAL, PacketWriteEndInfo::EndPage, 0)?;
        let vendor = b"anabranch";
        let mut tags = b"OpusTags".to_vec();
        tags.extend_from_slice(&(vendor.len() as u32).to_le_bytes());
        tags.extend_from_slice(vendor);
        tags.extend_from_slice(&0_u32.to_le_bytes());
        writer.write_packet(tags, SERIAL, PacketWriteEndInfo::EndPage, 0)?;
        Ok(Self { writer, last: None, samples: 0, pending: None })
    }

    /// A frame began to sound. Silence before it is filled, so that the file has the call's time.
    fn write(&mut self, play_at: Time, bytes: &[u8]) -> io::Result<()> {
        let passed = self.last.map_or(1, |last| {
            let millis = (play_at - last).as_millis();
            u64::try_from((millis + 10) / 20).unwrap_or(1).clamp(1, 3_000)
        });
        self.last = Some(play_at);
        for _ in 1..passed {
            self.push(CONCEALED)?;
        }
        self.push(bytes)
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_pending(PacketWriteEndInfo::NormalPacket)?;
        self.pending = Some(bytes.to_vec());
        Ok(())
    }

    fn write_pending(&mut self, end: PacketWriteEndInfo) -> io::Result<()> {
        let Some(bytes) = self.pending.take() else { return Ok(()) };
        self.samples += SAMPLES;
        self.writer.write_packet(bytes, SERIAL, end, self.samples)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_pending(PacketWriteEndInfo::EndStream)?;
        self.writer.inner_mut().flush()
    }
}

impl Picture {
    fn create(path: impl Fn(&str) -> PathBuf, format: Option<&VideoFormat>) -> io::Result<Self> {
        let kind = format.map_or(PictureFormat::Annexb, |format| format.format);
        let fourcc = match kind {
            PictureFormat::Vp8 => b"VP80",
            PictureFormat::Vp9 => b"VP90",
            PictureFormat::Av1 => b"AV01",
            PictureFormat::Annexb | PictureFormat::Other => {
                let file = File::create(path("h264"))?;
                return Ok(Self::AnnexB(BufWriter::new(file)));
            }
        };
        let mut file = BufWriter::new(File::create(path("ivf"))?);
        let size = |pixels: Option<u32>| u16::try_from(pixels.unwrap_or(0)).unwrap_or(u16::MAX);
        let (width, height) = format.map_or((0, 0), |it| (size(it.width), size(it.height)));
        file.write_all(b"DKIF\x00\x00\x20\x00")?;
        file.write_all(fourcc)?;
        file.write_all(&width.to_le_bytes())?;
        file.write_all(&height.to_le_bytes())?;
        file.write_all(&IVF_TICKS.to_le_bytes())?;
        file.write_all(&1_u32.to_le_bytes())?;
        // How many frames follow is not known, and no player asks.
        file.write_all(&[0; 8])?;
        Ok(Self::Ivf(file))
    }
}

fn path(folder: &Path, set: u32, name: &str, extension: &str) -> PathBuf {
    folder.join(match set {
        1 => format!("{name}.{extension}"),
        set => format!("{name}-{set}.{extension}"),
    })
}

fn open_table(path: &Path) -> io::Result<BufWriter<File>> {
    let mut table = BufWriter::new(File::create(path)?);
    writeln!(table, "media,frame,captured_us,played_us,bytes")?;
    Ok(table)
}

#[cfg(test)]
mod tests {
    use anabranch_call::PictureKind;
    use bytes::Bytes;
    use ogg::PacketReader;

    use super::*;

    fn playback(at_ms: u64, frame: u64, what: Played) -> Playback {
        let play_at = Time::from_millis(at_ms);
        Playback { play_at, captured_us: at_ms * 1_000, frame, what }
    }

    #[test]
    fn a_recording_has_each_frame_at_its_time() {
        let folder = std::env::temp_dir().join(format!("anabranch-rec-{}", std::process::id()));
        let mut recorder = Recorder::create(&folder, 1).unwrap();
        let voice = |n: u8| Played::Voice(Bytes::from(vec![0x48, n]));
        recorder.take(&playback(1_000, 0, voice(0))).unwrap();
        recorder.take(&playback(1_020, 1, Played::Concealed)).unwrap();
        recorder.take(&playback(1_080, 4, voice(4))).unwrap();
        let bytes = Bytes::from_static(&[0, 0, 0, 1, 0x65]);
        let key = Played::Picture { kind: PictureKind::Key, discontinuity: false, bytes };
        recorder.take(&playback(1_010, 0, key)).unwrap();
        recorder.finish().unwrap();
        let mut packets = PacketReader::new(File::open(folder.join("voice.opus")).unwrap());
        let read = std::iter::from_fn(|| packets.read_packet().unwrap());
        let read: Vec<Vec<u8>> = read.map(|packet| packet.data).skip(2).collect();
        let silence = CONCEALED.to_vec();
        assert_eq!(read, [vec![0x48, 0], silence.clone(), silence.clone(), silence, vec![0x48, 4]]);
        assert_eq!(fs::read(folder.join("picture.h264")).unwrap(), [0, 0, 0, 1, 0x65]);
        let played = fs::read_to_string(folder.join("played.csv")).unwrap();
        assert!(played.contains("concealed,1,1020000,1020000,0\n"), "{played}");
        fs::remove_dir_all(folder).unwrap();
    }
}
