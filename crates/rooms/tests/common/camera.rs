//! [`Camera`]: what the page of a member sends while it is on.

use std::time::Duration;

use anabranch_media::cutter::UnitCutter;
use anabranch_media::{Class, Layer, Track, Unit};
use anabranch_sansio::Time;
use bytes::Bytes;

/// Between two pictures, and between two frames of voice.
const PICTURE_EVERY: Duration = Duration::from_millis(40);
const VOICE_EVERY: Duration = Duration::from_millis(20);

/// Data channels of the classes.
const KEY: u16 = 2;
const VOICE: u16 = 3;
const REFERENCE: u16 = 4;
const DISPOSABLE: u16 = 6;

/// Voice, and pictures of one size, but for key pictures, which have four times as much.
pub(crate) struct Camera {
    cutter: UnitCutter,
    next_picture: Time,
    next_voice: Time,
    pictures: u64,
    voice: u64,
    pub(crate) bytes: usize,
    /// Requests for key pictures that were answered.
    keys: usize,
}

impl Camera {
    /// One that is on from now on; so many key pictures were asked for before.
    pub(crate) fn new(session: u16, now: Time, bytes: usize, keys: usize) -> Self {
        Self {
            cutter: UnitCutter::new(session),
            next_picture: now,
            next_voice: now,
            pictures: 0,
            voice: 0,
            bytes,
            keys,
        }
    }

    /// The messages that are due, and their channels; so many key pictures were asked for by now.
    pub(crate) fn take_due(&mut self, now: Time, keys_wanted: usize) -> Vec<(u16, Bytes)> {
        let mut due = Vec::new();
        if self.next_voice <= now {
            self.cut(VOICE, &unit(Class::Audio, self.voice, now, 80), &mut due);
            (self.voice, self.next_voice) = (self.voice + 1, self.next_voice + VOICE_EVERY);
        }
        if self.next_picture <= now {
            let is_wanted = std::mem::replace(&mut self.keys, keys_wanted) < keys_wanted;
            let (class, stream, factor) = match self.pictures {
                frame if frame.is_multiple_of(250) || is_wanted => (Class::KeyFrame, KEY, 4),
                frame if frame.is_multiple_of(2) => (Class::Reference, REFERENCE, 1),
                _ => (Class::Disposable, DISPOSABLE, 1),
            };
            self.cut(stream, &unit(class, self.pictures, now, factor * self.bytes), &mut due);
            (self.pictures, self.next_picture) =
                (self.pictures + 1, self.next_picture + PICTURE_EVERY);
        }
        due
    }

    fn cut(&mut self, stream: u16, unit: &Unit, due: &mut Vec<(u16, Bytes)>) {
        due.extend(self.cutter.cut(unit).map(|piece| (stream, piece.encode().into())));
    }
}

fn unit(class: Class, frame: u64, now: Time, bytes: usize) -> Unit {
    Unit {
        track: Track(u16::from(class == Class::Audio)),
        class,
        layer: Layer::BASE,
        frame,
        at: now,
        pts_us: 0,
        last_layer: true,
        discontinuity: false,
        bytes: Bytes::from(vec![0x5a; bytes]),
    }
}
