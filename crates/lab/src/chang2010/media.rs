//! What is said and seen: frames, the messages that carry them, and when each is ready.

use std::sync::Arc;
use std::time::Duration;

use anabranch_sansio::{Rate, Time};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::footage::Footage;

/// A frame's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Voice,
    Video,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Voice, Self::Video];

    pub(super) const fn index(self) -> usize {
        self as usize
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Video => "picture",
        }
    }
}

/// One of the messages that carry a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// The frame's number.
    pub(super) frame: u32,
    /// Messages that carry the frame.
    pub(super) parts: u16,
    /// When the frame was taken.
    pub(super) taken: Time,
}

impl Part {
    /// Bytes that a message has at least.
    pub(super) const LEN: usize = 15;

    pub(super) fn encode(self, len: usize) -> Bytes {
        let mut bytes = BytesMut::with_capacity(len.max(Self::LEN));
        bytes.put_u8(self.kind as u8);
        bytes.put_u32(self.frame);
        bytes.put_u16(self.parts);
        bytes.put_u64(self.taken.as_nanos());
        bytes.resize(len.max(Self::LEN), 0x5a);
        bytes.freeze()
    }

    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        if bytes.len() < Self::LEN {
            return None;
        }
        let kind = match bytes.get_u8() {
            0 => Kind::Voice,
            1 => Kind::Video,
            _ => return None,
        };
        let (frame, parts) = (bytes.get_u32(), bytes.get_u16());
        Some(Self { kind, frame, parts, taken: Time::from_nanos(bytes.get_u64()) })
    }
}

/// A microphone or a camera.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) kind: Kind,
    pub(super) frames: Frames,
    pub(super) next: u32,
    pub(super) start: Time,
    pub(super) end: Time,
}

/// What a source takes.
#[derive(Debug, Clone)]
pub(super) enum Frames {
    /// Frames of one size at equal times.
    Even {
        every: Duration,
        /// Bytes of a frame.
        len: usize,
    },
    /// The pictures of a film.
    Film(Reel),
}

/// The pictures of a film, over and over.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reel {
    /// When each is whole, and its bytes.
    pictures: Arc<[(Duration, usize)]>,
    /// From one beginning to the next.
    round: Duration,
    pub(super) rate: Rate,
}

impl From<&Footage> for Reel {
    fn from(film: &Footage) -> Self {
        let pictures = film.pictures().map(|picture| (picture.due.1, picture.bytes)).collect();
        Self { pictures, round: film.round, rate: film.picture_rate() }
    }
}

impl Reel {
    /// By its number since the film began.
    fn picture(&self, number: u32) -> (Duration, usize) {
        let count = self.pictures.len() as u32;
        let (at, len) = self.pictures[(number % count) as usize];
        (self.round * (number / count) + at, len)
    }

    /// Bytes of the largest one.
    pub(super) fn longest(&self) -> usize {
        self.pictures.iter().map(|(_, len)| *len).max().unwrap_or_default()
    }
}

/// A frame that is ready.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) number: u32,
    pub(super) len: usize,
    pub(super) taken: Time,
}

impl Source {
    /// When a frame is ready, by its number, and its bytes.
    pub(super) fn frame(&self, number: u32) -> (Time, usize) {
        let (at, len) = match &self.frames {
            Frames::Even { every, len } => (*every * number, *len),
            Frames::Film(reel) => reel.picture(number),
        };
        (self.start + at, len)
    }

    /// When the next frame is ready; none after the end of the call.
    pub(super) fn next_at(&self) -> Option<Time> {
        let (at, _) = self.frame(self.next);
        (at < self.end).then_some(at)
    }

    /// The next frame, if it is ready.
    pub(super) fn take(&mut self, now: Time) -> Option<Frame> {
        let taken = self.next_at().filter(|at| *at <= now)?;
        let number = self.next;
        let (_, len) = self.frame(number);
        self.next += 1;
        Some(Frame { kind: self.kind, number, len, taken })
    }
}

impl Frame {
    /// The messages that carry it, of at most `message_max` bytes each.
    pub(super) fn messages(self, message_max: usize) -> impl Iterator<Item = Bytes> {
        let parts = self.len.div_ceil(message_max).max(1);
        let (taken, kind, frame) = (self.taken, self.kind, self.number);
        (0..parts).map(move |n| {
            let len = (self.len - n * message_max).min(message_max);
            Part { kind, frame, parts: parts as u16, taken }.encode(len)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_from_its_messages_and_nothing_else_is_one() {
        let taken = Time::from_millis(40);
        let frame = Frame { kind: Kind::Video, number: 7, len: 2_500, taken };
        let messages: Vec<_> = frame.messages(1_016).collect();
        assert_eq!(messages.iter().map(Bytes::len).collect::<Vec<_>>(), [1_016, 1_016, 468]);
        let part = Part { kind: Kind::Video, frame: 7, parts: 3, taken };
        assert!(messages.iter().all(|message| Part::decode(message) == Some(part)));
        assert_eq!(Part::decode(&messages[0][..14]), None);
        assert_eq!(Part::decode(&[9; 40]), None);
    }
}
