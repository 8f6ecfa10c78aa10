//! [`film`]: what cameras and microphones of live calls give, as a WebM file (RFC 9559).
//!
//! Frames have the sizes and the times of those of the simulated calls, and headers that say what
//! they are; what is in them, no agent looks at.

use std::time::Duration;

use super::super::cell::Cell;
use super::super::media::{Frame, Kind};
use super::super::values::{START, Values};
use crate::Parameters;

/// Of an encoder that nobody can ask for one.
const KEY_PICTURE_EVERY: u32 = 25;
/// A cluster holds times of 16 bits in milliseconds.
const CLUSTER: Duration = Duration::from_secs(1);
const SIZE: (u16, u16) = (640, 360);
const VIDEO_TRACK: u8 = 1;
const VOICE_TRACK: u8 = 2;
/// RFC 9559 section 5.1.3.5.3: of a SimpleBlock, the bit that says it is a key frame.
const KEY_FLAG: u8 = 0x80;
/// No codec's marker.
const FILLING: u8 = 0x5a;

/// VP9 bitstream specification, section 6.2: a key frame that is shown, with its sync code.
const KEY_HEAD: [u8; 4] = [0x82, 0x49, 0x83, 0x42];
/// Another one, which refreshes all references.
const INTER_HEAD: [u8; 3] = [0x86, 0x3f, 0xc0];
/// RFC 6716 section 3.1: one frame of SILK of 20 ms, one channel.
const OPUS_HEAD: [u8; 1] = [0x48];

/// A film of this length: pictures in VP9, one a second a key picture, and voice in Opus.
#[must_use]
pub fn film(cell: &Cell, parameters: &Parameters<Values>, span: Duration) -> Vec<u8> {
    let sources = parameters.values().sources(cell.place, START + span);
    let every = sources.each_ref().map(|source| source.frame(1).0 - source.frame(0).0);
    let mut frames: Vec<Frame> = Vec::new();
    for mut source in sources {
        while let Some(at) = source.next_at() {
            frames.extend(source.take(at));
        }
    }
    frames.sort_by_key(|frame| frame.taken);
    let clusters = frames.chunk_by(|a, b| second_of(a) == second_of(b)).flat_map(cluster);
    let content = [info(span), tracks(every)].concat().into_iter().chain(clusters).collect();
    [head(), element(&[0x18, 0x53, 0x80, 0x67], content)].concat()
}

/// An element (RFC 8794): its identifier, its length in eight bytes, its content.
fn element(id: &[u8], content: Vec<u8>) -> Vec<u8> {
    let len = (1_u64 << 56) | content.len() as u64;
    [id, &len.to_be_bytes(), &content].concat()
}

fn number(id: &[u8], value: u64) -> Vec<u8> {
    element(id, value.to_be_bytes().to_vec())
}

fn float(id: &[u8], value: f64) -> Vec<u8> {
    element(id, value.to_be_bytes().to_vec())
}

fn text(id: &[u8], value: &str) -> Vec<u8> {
    element(id, value.as_bytes().to_vec())
}

fn head() -> Vec<u8> {
    let doc_type = text(&[0x42, 0x82], "webm");
    let versions = [number(&[0x42, 0x87], 4), number(&[0x42, 0x85], 2)].concat();
    element(&[0x1a, 0x45, 0xdf, 0xa3], [doc_type, versions].concat())
}

fn info(span: Duration) -> Vec<u8> {
    let parts = [
        number(&[0x2a, 0xd7, 0xb1], 1_000_000),
        float(&[0x44, 0x89], span.as_secs_f64() * 1e3),
        text(&[0x4d, 0x80], "anabranch"),
        text(&[0x57, 0x41], "anabranch"),
    ];
    element(&[0x15, 0x49, 0xa9, 0x66], parts.concat())
}

/// `every` is from one frame to the next, of voice and of video.
fn tracks([voice, video]: [Duration; 2]) -> Vec<u8> {
    let size = [number(&[0xb0], SIZE.0.into()), number(&[0xba], SIZE.1.into())].concat();
    let picture = track(VIDEO_TRACK, 1, "V_VP9", video, element(&[0xe0], size));
    let shape = [float(&[0xb5], 48_000.0), number(&[0x9f], 1)].concat();
    let mut shape = element(&[0xe1], shape);
    // RFC 7845 section 5.1: version 1, one channel, no pre-skip, 48 kHz, no gain, family 0.
    let private = b"OpusHead\x01\x01\x00\x00\x80\xbb\x00\x00\x00\x00\x00".to_vec();
    shape.extend(element(&[0x63, 0xa2], private));
    let sound = track(VOICE_TRACK, 2, "A_OPUS", voice, shape);
    element(&[0x16, 0x54, 0xae, 0x6b], [picture, sound].concat())
}

fn track(track: u8, kind: u64, codec: &str, every: Duration, shape: Vec<u8>) -> Vec<u8> {
    let parts = [
        number(&[0xd7], track.into()),
        number(&[0x73, 0xc5], track.into()),
        number(&[0x83], kind),
        number(&[0x23, 0xe3, 0x83], every.as_nanos() as u64),
        text(&[0x86], codec),
        shape,
    ];
    element(&[0xae], parts.concat())
}

fn second_of(frame: &Frame) -> u128 {
    (frame.taken - START).as_millis() / CLUSTER.as_millis()
}

fn cluster(frames: &[Frame]) -> Vec<u8> {
    let begin = frames.first().map_or(0, |first| second_of(first) * CLUSTER.as_millis());
    let mut content = number(&[0xe7], begin as u64);
    for frame in frames {
        let at = (frame.taken - START).as_millis() - begin;
        content.extend(block(frame, at as i16));
    }
    element(&[0x1f, 0x43, 0xb6, 0x75], content)
}

/// A frame, so many milliseconds after its cluster began.
fn block(frame: &Frame, at: i16) -> Vec<u8> {
    let is_key = frame.number.is_multiple_of(KEY_PICTURE_EVERY);
    let (track, head, flags) = match frame.kind {
        Kind::Voice => (VOICE_TRACK, &OPUS_HEAD[..], KEY_FLAG),
        Kind::Video if is_key => (VIDEO_TRACK, &KEY_HEAD[..], KEY_FLAG),
        Kind::Video => (VIDEO_TRACK, &INTER_HEAD[..], 0),
    };
    let mut content = vec![0x80 | track];
    content.extend(at.to_be_bytes());
    content.push(flags);
    content.extend(head);
    content.resize(4 + frame.len.max(head.len()), FILLING);
    element(&[0xa3], content)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use anabranch_films::Demuxer;

    use super::super::super::cell::{Method, Place};
    use super::*;

    #[test]
    fn a_film_has_the_frames_of_a_simulated_call() {
        let cell = Cell { place: Place::Rtt(20), method: Method::Unplanned, seed: 1 };
        let film = film(&cell, &Parameters::default(), Duration::from_secs(3));
        let mut film = Demuxer::open(Cursor::new(film)).unwrap();
        assert_eq!(film.tracks().len(), 2);
        let mut frame = Default::default();
        let mut pictures = Vec::new();
        let mut voice = Vec::new();
        while film.next_frame(&mut frame).unwrap() {
            match frame.track {
                1 => pictures.push((frame.timestamp, frame.is_keyframe, frame.data.len())),
                _ => voice.push((frame.timestamp, frame.data.len())),
            }
        }
        let expected = (0..75).map(|n| (n * 40, Some(n % 25 == 0), 10_000));
        assert!(pictures.iter().copied().eq(expected), "{pictures:?}");
        assert!(voice.iter().copied().eq((0..150).map(|n| (n * 20, 100))), "{voice:?}");
    }
}
