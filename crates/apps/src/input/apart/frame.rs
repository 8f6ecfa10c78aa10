//! [`Frame`]: what a process that reads a film reports.

use std::io::{self, Read, Write};
use std::time::Duration;

use anabranch_media::Class;
use anabranch_media::broadcast::Formats;
use anabranch_media::decoding::{AccessUnit, LayerUnit, MediaTrack};
use anabranch_sansio::Time;

use crate::input::units::Timed;

/// The longest frame that is taken: a unit of the largest size, and what is said of it.
const FRAME_BYTES_MAX: usize = (16 << 20) + (64 << 10);

/// A kind and a length in front of each frame.
const HEAD_LEN: usize = 1 + 4;

/// A track, a class, a number and two times in front of a unit's media.
const UNIT_HEAD_LEN: usize = 1 + 1 + 4 + 8 + 8;

/// What a process that reads a film reports.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    /// It is read as a transport stream.
    Stream,
    /// Units of these formats follow.
    Units(Formats),
    /// It is nothing of what is wanted.
    Other,
    /// Bytes of the transport stream.
    Bytes(Vec<u8>),
    /// A unit, and when it is due.
    Unit(Timed),
    /// The end of the film, behind which it may begin again.
    End,
    /// Why it cannot be read, or no further.
    Failed(String),
}

impl Frame {
    pub(crate) fn write_to(&self, to: &mut impl Write) -> io::Result<()> {
        let (kind, body) = match self {
            Self::Stream => (b'S', Vec::new()),
            Self::Units(formats) => {
                let formats = (&formats.video, &formats.audio);
                (b'F', serde_json::to_vec(&formats)?)
            }
            Self::Other => (b'O', Vec::new()),
            Self::Bytes(bytes) => return write(to, b'B', &[bytes]),
            Self::Unit((at, unit)) => return write_unit(to, *at, unit),
            Self::End => (b'Z', Vec::new()),
            Self::Failed(why) => (b'E', why.clone().into_bytes()),
        };
        write(to, kind, &[&body])
    }

    /// Reads the next frame; none where the process ended.
    pub(crate) fn read_from(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; HEAD_LEN];
        if let Err(error) = from.read_exact(&mut head) {
            let is_end = error.kind() == io::ErrorKind::UnexpectedEof;
            return if is_end { Ok(None) } else { Err(error) };
        }
        let [kind, len @ ..] = head;
        let len = u32::from_be_bytes(len) as usize;
        if len > FRAME_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = Vec::new();
        from.take(len as u64).read_to_end(&mut body)?;
        if body.len() < len {
            return Ok(None);
        }
        let frame = match kind {
            b'S' => Some(Self::Stream),
            b'F' => {
                let (video, audio) = serde_json::from_slice(&body)?;
                Some(Self::Units(Formats { video, audio }))
            }
            b'O' => Some(Self::Other),
            b'B' => Some(Self::Bytes(body)),
            b'U' => read_unit(body).map(Self::Unit),
            b'Z' => Some(Self::End),
            b'E' => Some(Self::Failed(String::from_utf8_lossy(&body).into_owned())),
            _ => None,
        };
        frame.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn write(to: &mut impl Write, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
    let len = parts.iter().map(|part| part.len()).sum::<usize>();
    let len = u32::try_from(len).map_err(io::Error::other)?;
    let mut bytes = vec![kind];
    bytes.extend(len.to_be_bytes());
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    to.write_all(&bytes)
}

/// Units that are read from a film have one layer.
fn write_unit(to: &mut impl Write, at: Duration, unit: &AccessUnit) -> io::Result<()> {
    let Some(layer) = unit.layers.first() else { return Ok(()) };
    let mut head = vec![unit.track as u8, layer.class as u8];
    head.extend(unit.frame.to_be_bytes());
    head.extend(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX).to_be_bytes());
    head.extend(unit.pts_us.to_be_bytes());
    write(to, b'U', &[&head, &layer.bytes])
}

fn read_unit(mut body: Vec<u8>) -> Option<Timed> {
    if body.len() < UNIT_HEAD_LEN {
        return None;
    }
    let bytes = body.split_off(UNIT_HEAD_LEN);
    let [track, class, times @ ..] = body.as_slice() else { return None };
    let (frame, times) = times.split_first_chunk()?;
    let (at, pts_us) = times.split_first_chunk()?;
    let tracks = [MediaTrack::Video, MediaTrack::Audio];
    let track = tracks.into_iter().find(|it| *it as u8 == *track)?;
    let class = Class::ALL.into_iter().find(|it| *it as u8 == *class)?;
    let unit = AccessUnit {
        track,
        frame: u32::from_be_bytes(*frame),
        pts_us: i64::from_be_bytes(pts_us.try_into().ok()?),
        play_at: Time::ZERO,
        discontinuity: false,
        layers: vec![LayerUnit { class, delay: None, bytes: bytes.into() }],
    };
    Some((Duration::from_nanos(u64::from_be_bytes(*at)), unit))
}

#[cfg(test)]
mod tests {
    use anabranch_media::decoding::{AudioFormat, AudioInfo};

    use super::*;

    fn unit(pts_us: i64) -> Timed {
        let bytes = vec![7; 300].into();
        let layers = vec![LayerUnit { class: Class::KeyFrame, delay: None, bytes }];
        let track = MediaTrack::Video;
        let (play_at, discontinuity) = (Time::ZERO, false);
        let unit = AccessUnit { track, frame: 9, pts_us, play_at, discontinuity, layers };
        (Duration::from_micros(40_001), unit)
    }

    fn frames() -> Vec<Frame> {
        let audio = AudioInfo {
            codec: "opus".to_owned(),
            format: AudioFormat::Opus,
            sample_rate: 48_000,
            channels: 2,
        };
        vec![
            Frame::Units(Formats { video: None, audio: Some(audio) }),
            Frame::Unit(unit(-5)),
            Frame::End,
            Frame::Stream,
            Frame::Bytes(vec![0x47; 188]),
            Frame::Other,
            Frame::Failed("it is damaged".to_owned()),
        ]
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        frames().iter().for_each(|frame| frame.write_to(&mut bytes).unwrap());
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = written();
        let mut from = bytes.as_slice();
        let read = std::iter::from_fn(|| Frame::read_from(&mut from).unwrap());
        assert_eq!(read.collect::<Vec<_>>(), frames());
    }

    #[test]
    fn what_breaks_off_anywhere_is_an_end() {
        let bytes = written();
        for len in 0..bytes.len() {
            let mut from = &bytes[..len];
            let read = std::iter::from_fn(|| Frame::read_from(&mut from).unwrap());
            assert!(read.count() < frames().len(), "of {len} bytes");
        }
    }

    #[test]
    fn what_no_reader_writes_is_an_error() {
        let too_long = u32::try_from(FRAME_BYTES_MAX + 1).unwrap().to_be_bytes();
        let long = [&b"B"[..], &too_long].concat();
        for bytes in [&long[..], b"?\0\0\0\0", b"U\0\0\0\x01\0", b"F\0\0\0\x01{"] {
            assert!(Frame::read_from(&mut { bytes }).is_err(), "{bytes:?}");
        }
    }
}
