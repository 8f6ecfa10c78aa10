//! [`BareSound`]: MP3 or AAC without a container, read as the transport stream that it would be.

use std::io::{self, Read, Seek, SeekFrom};

use anabranch_media::broadcast::{BareFrame, adts_frame, mp3_frame};
use mpeg2ts::es::StreamType;

use super::mux::{CLOCK_HZ, Muxer, Unit};
use super::packing::sound;

/// Bytes that are read at once; more than any frame.
const READ_LEN: usize = 64 << 10;

/// Bytes of a tag's head.
const TAG_LEN: usize = 10;

/// Where in a frame of MP3 a description of the file ends its name at the latest.
const DESCRIPTION_AT_MOST: usize = 4 + 2 + 32 + 4;

const NANOS: i64 = 1_000_000_000;

/// Finds the frame that bytes begin with.
type FrameOf = fn(&[u8]) -> Option<BareFrame>;

/// A file of frames, one behind the other.
#[derive(Debug)]
pub(super) struct BareSound<S> {
    source: S,
    /// Where the first frame is.
    start: u64,
    frame_of: FrameOf,
    muxer: Muxer,
    /// Bytes that were read, and how many of them are done with.
    bytes: Vec<u8>,
    done: usize,
    is_over: bool,
    /// When the next frame is heard.
    nanos: i64,
}

impl<S: Read + Seek> BareSound<S> {
    /// Looks for the first frame, where a file begins or behind a tag with its title.
    pub(super) fn open(mut source: S) -> io::Result<Option<Self>> {
        let mut start = tag_len(&mut source)?;
        source.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        source.by_ref().take(READ_LEN as u64).read_to_end(&mut bytes)?;
        let kinds: [(StreamType, FrameOf); 2] =
            [(StreamType::Mpeg1Audio, mp3_frame), (StreamType::AdtsAac, adts_frame)];
        let Some((stream_type, frame_of)) =
            kinds.into_iter().find(|(_, frame_of)| begins_with(&bytes, *frame_of))
        else {
            return Ok(None);
        };
        let mut done = 0;
        if stream_type == StreamType::Mpeg1Audio && describes_only(&bytes) {
            done = frame_of(&bytes).map_or(0, |frame| frame.len);
            start += done as u64;
        }
        Ok(Some(Self {
            source,
            start,
            frame_of,
            muxer: Muxer::new(&[sound(stream_type)]),
            bytes,
            done,
            is_over: false,
            nanos: 0,
        }))
    }

    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.muxer.begin_again();
        self.bytes.clear();
        (self.done, self.is_over, self.nanos) = (0, false, 0);
        self.source.seek(SeekFrom::Start(self.start)).map(|_| ())
    }

    /// Makes packets of the next frame; false at the end. What is none, as a tag, is passed over.
    fn make_more(&mut self) -> io::Result<bool> {
        loop {
            let rest = self.bytes.get(self.done..).unwrap_or_default();
            if rest.len() < READ_LEN / 2 && !self.is_over {
                self.read_on()?;
                continue;
            }
            let Some(next) = (self.frame_of)(rest) else {
                if rest.is_empty() {
                    return Ok(false);
                }
                self.done += 1;
                continue;
            };
            let Some(bytes) = rest.get(..next.len) else { return Ok(false) };
            let at = self.nanos / (NANOS / CLOCK_HZ);
            self.muxer.push(&Unit { stream: 0, pts: at, dts: at, is_key: true, bytes })?;
            self.done += next.len;
            self.nanos += i64::from(next.samples) * NANOS / i64::from(next.sample_rate.max(1));
            return Ok(true);
        }
    }

    fn read_on(&mut self) -> io::Result<()> {
        self.bytes.drain(..self.done);
        self.done = 0;
        let before = self.bytes.len();
        self.source.by_ref().take(READ_LEN as u64).read_to_end(&mut self.bytes)?;
        self.is_over = self.bytes.len() == before;
        Ok(())
    }
}

impl<S: Read + Seek> Read for BareSound<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.muxer.is_empty() {
            if !self.make_more()? {
                return Ok(0);
            }
        }
        Ok(self.muxer.take(buf))
    }
}

/// The length of a tag at the beginning (ID3v2.4.0 section 3.1), whose size has seven bits in each
/// byte.
fn tag_len(source: &mut (impl Read + Seek)) -> io::Result<u64> {
    source.rewind()?;
    let mut head = Vec::new();
    source.by_ref().take(TAG_LEN as u64).read_to_end(&mut head)?;
    let &[b'I', b'D', b'3', _, _, flags, a, b, c, d] = &head[..] else { return Ok(0) };
    let size = [a, b, c, d].iter().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
    let footer = if flags & 0x10 == 0 { 0 } else { TAG_LEN as u64 };
    Ok(TAG_LEN as u64 + size + footer)
}

/// Whether the first frame of MP3 has no sound but says how much follows, as encoders write it.
fn describes_only(bytes: &[u8]) -> bool {
    let head = bytes.get(..DESCRIPTION_AT_MOST).unwrap_or(bytes);
    head.windows(4).any(|four| matches!(four, b"Xing" | b"Info" | b"VBRI"))
}

/// Whether there is a frame, with another one or nothing behind it.
fn begins_with(bytes: &[u8], frame_of: FrameOf) -> bool {
    let behind = frame_of(bytes).and_then(|first| bytes.get(first.len..));
    behind.is_some_and(|behind| behind.is_empty() || frame_of(behind).is_some())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use anabranch_media::ts::{PesHeader, Reader};

    use super::*;

    /// MPEG-1 layer III, 128 kbit/s, 44.1 kHz: 417 bytes, 1,152 samples.
    fn frame() -> Vec<u8> {
        let mut bytes = vec![0xff, 0xfb, 0x90, 0x40];
        bytes.resize(417, 0x55);
        bytes
    }

    fn times(bytes: Vec<u8>) -> Vec<u64> {
        let mut sound = BareSound::open(Cursor::new(bytes)).unwrap().unwrap();
        let mut stream = Vec::new();
        sound.read_to_end(&mut stream).unwrap();
        let mut again = Vec::new();
        sound.rewind().unwrap();
        sound.read_to_end(&mut again).unwrap();
        assert_eq!(again.len(), stream.len());
        let mut reader = Reader::new();
        reader.push(&stream).unwrap();
        reader.finish().unwrap();
        let packets = std::iter::from_fn(|| reader.poll_packet());
        let starts = packets.filter(|it| it.pid().as_u16() == 0x100 && it.payload_unit_start());
        starts.map(|packet| PesHeader::parse(packet.payload()).unwrap().pts.unwrap()).collect()
    }

    #[test]
    fn an_mp3_file_becomes_a_stream_with_a_time_for_each_frame() {
        let tag = b"ID3\x04\0\0\0\0\x01\x02title"
            .iter()
            .copied()
            .chain(std::iter::repeat_n(0, 130 - 5))
            .collect::<Vec<_>>();
        let plain = times(frame().repeat(300));
        assert_eq!(plain.len(), 300);
        let mut description = frame();
        description[36..40].copy_from_slice(b"Info");
        let tagged = [tag, description, frame().repeat(300), b"TAGtitle".to_vec()].concat();
        assert_eq!(times(tagged), plain);
        let second = plain.iter().position(|pts| pts - plain[0] >= 90_000).unwrap();
        assert_eq!(second, 39, "a frame lasts 26 ms");
    }

    #[test]
    fn what_is_no_sound_is_left_to_others() {
        for bytes in [&b""[..], b"ID3", &[0x47; 1_000], &[0xff; 1_000], b"\xff\xfb\x90\x40once"] {
            assert!(BareSound::open(Cursor::new(bytes.to_vec())).unwrap().is_none());
        }
    }
}
