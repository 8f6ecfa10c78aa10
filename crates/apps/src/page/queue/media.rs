//! [`WaitingMedia`]: pictures and sound that wait for one page, by the dropping policy of sessions.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_media::decoding::{AccessUnit, MediaTrack};
use anabranch_media::{Class, Layer, Track};
use anabranch_sansio::Time;
use anabranch_session::dropping::{Dropping, Prospect, UnitKey, Verdict};
use anabranch_session::treatment::MediaClass;
use bytes::Bytes;

use super::super::protocol::{encode_unit, encoded_len};

/// Media bytes that wait for one page.
pub(super) const BYTES_MAX: usize = 4 << 20;

/// Of those, bytes that only sound may take: it goes on when pictures have to stop. Ten seconds.
pub(super) const SOUND_RESERVE_BYTES: usize = 256 << 10;

/// How long a picture may wait for a page, before those are left out that others refer to.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// Pictures and sound in the order in which they go: sound first, as no picture waits for it for
/// long, then pictures in the order in which they are decoded.
///
/// Where a page takes less than comes, whole pictures are left out as they would go, the least
/// important first, by how long they have waited. Where room ends, it takes nothing, and the oldest
/// make way.
#[derive(Debug)]
pub(super) struct WaitingMedia {
    /// Messages of the unit that is under way.
    begun: VecDeque<Bytes>,
    /// Each with whether something is missing before it.
    sound: VecDeque<(AccessUnit, bool)>,
    /// Each with when it came.
    pictures: VecDeque<(AccessUnit, Time)>,
    /// Of all of them.
    bytes: usize,
    dropping: Dropping,
    sound_gap: Gap,
    picture_gap: Gap,
}

/// Whether something was left out since the last unit, which the next may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// There was none yet.
    Beginning,
    No,
    Yes,
}

impl Gap {
    fn open(&mut self) {
        if *self == Self::No {
            *self = Self::Yes;
        }
    }

    /// A unit comes; returns whether there is a gap before it.
    fn close(&mut self) -> bool {
        std::mem::replace(self, Self::No) == Self::Yes
    }
}

impl WaitingMedia {
    pub(super) fn new() -> Self {
        // In a clip, an enhancement is predicted from its own base picture only; a transport
        // stream has none.
        let mut dropping = Dropping::of_output(true);
        // A page begins in the midst of a stream.
        dropping.break_off();
        Self {
            begun: VecDeque::new(),
            sound: VecDeque::new(),
            pictures: VecDeque::new(),
            bytes: 0,
            dropping,
            sound_gap: Gap::Beginning,
            picture_gap: Gap::Beginning,
        }
    }

    /// A picture or a frame of sound.
    pub(super) fn push(&mut self, now: Time, unit: &AccessUnit) {
        let len = encoded_len(unit);
        match unit.track {
            MediaTrack::Audio if self.bytes + len > BYTES_MAX => self.sound_gap.open(),
            MediaTrack::Audio => {
                self.bytes += len;
                self.sound.push_back((unit.clone(), self.sound_gap.close()));
            }
            MediaTrack::Video => {
                self.make_room_for_pictures(len);
                if self.has_room_for_pictures(len) {
                    self.bytes += len;
                    self.pictures.push_back((unit.clone(), now));
                } else {
                    self.break_off();
                }
            }
        }
    }

    /// The next message.
    pub(super) fn pop(&mut self, now: Time) -> Option<Bytes> {
        if self.begun.is_empty() {
            let (unit, is_broken) = self.sound.pop_front().or_else(|| self.next_picture(now))?;
            self.begun.extend(encode_unit(&unit, is_broken));
        }
        let message = self.begun.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }

    /// The next picture that goes, with the layers of it that do.
    fn next_picture(&mut self, now: Time) -> Option<(AccessUnit, bool)> {
        loop {
            let (mut unit, since) = self.pictures.pop_front()?;
            let wait = now.saturating_since(since);
            let going = (0..).zip(&unit.layers);
            let going = going.take_while(|&(layer, part)| {
                let class = MediaClass::of(part.class, Layer(layer));
                goes(&mut self.dropping, (now, wait), (unit.frame, Layer(layer)), class)
            });
            let going = going.count();
            let before = encoded_len(&unit);
            let is_needed = unit.layers.first().is_some_and(|base| base.class != Class::Disposable);
            unit.layers.truncate(going);
            self.bytes -= before - encoded_len(&unit);
            if going > 0 {
                return Some((unit, self.picture_gap.close()));
            }
            if is_needed {
                self.picture_gap.open();
            }
        }
    }

    fn has_room_for_pictures(&self, len: usize) -> bool {
        self.bytes + len <= BYTES_MAX - SOUND_RESERVE_BYTES
    }

    fn make_room_for_pictures(&mut self, len: usize) {
        while !self.has_room_for_pictures(len)
            && let Some((oldest, _)) = self.pictures.pop_front()
        {
            self.bytes -= encoded_len(&oldest);
            self.break_off();
        }
    }

    /// A picture is missing: nothing that refers to it goes.
    fn break_off(&mut self) {
        self.dropping.break_off();
        self.picture_gap.open();
    }
}

/// Whether a layer of a picture goes that has waited for so long.
fn goes(
    dropping: &mut Dropping,
    (now, wait): (Time, Duration),
    (frame, layer): (u32, Layer),
    class: MediaClass,
) -> bool {
    let unit = UnitKey { track: Track::default(), layer, frame: frame.into() };
    let prospect = Prospect { wait, lifetime: WAIT_MAX };
    dropping.decide(now, unit, class, || Some(prospect)) == Verdict::Goes
}

#[cfg(test)]
mod tests {
    use anabranch_media::decoding::LayerUnit;

    use super::*;

    const DISCONTINUITY: u8 = 8;
    const LAST: u8 = 16;
    const PICTURE_BYTES_MAX: usize = BYTES_MAX - SOUND_RESERVE_BYTES;

    /// Each tenth is a key frame, and of the others every other one disposable.
    fn picture(frame: u32, len: usize) -> AccessUnit {
        let class = match frame % 10 {
            0 => Class::KeyFrame,
            n if n % 2 == 1 => Class::Disposable,
            _ => Class::Reference,
        };
        AccessUnit {
            track: MediaTrack::Video,
            frame,
            pts_us: 0,
            play_at: Time::ZERO,
            discontinuity: false,
            layers: vec![LayerUnit { class, delay: None, bytes: vec![0; len].into() }],
        }
    }

    /// With an enhancement of the same length.
    fn layered(frame: u32, len: usize) -> AccessUnit {
        let mut unit = picture(frame, len);
        unit.layers.push(unit.layers[0].clone());
        unit
    }

    /// As it comes, one after the other at once.
    fn push(queue: &mut WaitingMedia, unit: &AccessUnit) {
        queue.push(Time::ZERO, unit);
    }

    fn sound(frame: u32) -> AccessUnit {
        AccessUnit { track: MediaTrack::Audio, ..picture(frame, 200) }
    }

    /// Track, frame number, layer and flags.
    fn drain(queue: &mut WaitingMedia) -> Vec<(u8, u8, u8, u8)> {
        let messages: Vec<_> = std::iter::from_fn(|| queue.pop(Time::ZERO)).collect();
        assert_eq!(queue.bytes, 0, "all that was counted is gone");
        messages.iter().map(|it| (it[1], it[7], it[2], it[3])).collect()
    }

    fn frames(queue: &mut WaitingMedia) -> Vec<u8> {
        drain(queue).into_iter().map(|(_, frame, ..)| frame).collect()
    }

    #[test]
    fn media_starts_at_a_key_frame() {
        let mut queue = WaitingMedia::new();
        (7..13).for_each(|frame| push(&mut queue, &picture(frame, 100)));
        assert_eq!(frames(&mut queue), [10, 11, 12]);
    }

    #[test]
    fn sound_goes_before_pictures_that_wait() {
        let mut queue = WaitingMedia::new();
        push(&mut queue, &layered(0, 100));
        assert!(queue.pop(Time::ZERO).is_some());
        push(&mut queue, &picture(2, 100));
        push(&mut queue, &sound(7));
        let order: Vec<_> = drain(&mut queue).into_iter().map(|it| (it.1, it.2)).collect();
        assert_eq!(order, [(0, 1), (7, 0), (2, 0)], "what is begun is not torn apart");
    }

    #[test]
    fn a_page_that_is_behind_is_spared_enhancements_and_disposable_pictures() {
        let mut queue = WaitingMedia::new();
        let mut units = Vec::new();
        for frame in 0..100 {
            queue.push(Time::from_millis(40 * u64::from(frame)), &layered(frame, 1_000));
            // Ten pictures late.
            let now = Time::from_millis(40 * u64::from(frame) + 400);
            while let Some(message) = queue.pop(now) {
                units.push((message[7], message[2], message[3]));
            }
        }
        let layers = |wanted: u8| units.iter().filter(|(frame, ..)| *frame == wanted).count();
        assert_eq!(layers(0), 2, "a moment is no shortage");
        let counts: Vec<_> = (80..90).map(layers).collect();
        assert_eq!(counts, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        let last = units.iter().filter(|(.., flags)| flags & LAST != 0).count();
        assert_eq!(last, (0..100).filter(|frame| layers(*frame) > 0).count(), "one of each");
        assert!(units.iter().all(|(.., flags)| flags & DISCONTINUITY == 0), "nothing needs them");
    }

    /// 6 Mbit/s, of which 45 % are disposable pictures, for a page that takes 0.7 of it.
    #[test]
    fn a_page_at_seven_tenths_of_the_rate_gets_each_key_frame_all_sound_and_an_even_picture() {
        const TICK: Duration = Duration::from_millis(40);
        const GROUP: u32 = 50;
        let unit = |frame: u32| {
            let (class, len) = match frame % GROUP {
                0 => (Class::KeyFrame, 150_000),
                n if n % 2 == 1 => (Class::Reference, 26_000),
                _ => (Class::Disposable, 27_000),
            };
            let mut unit = picture(frame, len);
            unit.layers[0].class = class;
            unit
        };
        let (mut queue, mut now, mut budget) = (WaitingMedia::new(), Time::ZERO, 0);
        let (mut sounds, mut pictures) = (0, Vec::new());
        let mut waited = Duration::ZERO;
        for frame in 0..60 * 25 {
            queue.push(now, &unit(frame));
            queue.push(now, &sound(frame));
            budget += 21_000;
            now += TICK;
            while budget > 0
                && let Some(message) = queue.pop(now)
            {
                budget -= message.len() as i64;
                let number = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
                if message[1] == MediaTrack::Audio as u8 {
                    sounds += 1;
                } else {
                    pictures.push(number);
                    waited = waited.max(now - (Time::ZERO + TICK * number));
                }
            }
            if queue.bytes == 0 {
                budget = budget.min(0);
            }
        }
        // The last ones are still on their way.
        assert!(sounds >= 1_490, "{sounds}");
        assert_eq!(pictures.iter().filter(|frame| **frame % GROUP == 0).count(), 30);
        let predicted = pictures.iter().filter(|frame| **frame % 2 == 1).count();
        assert!(predicted >= 740, "so all others decode: {predicted} of 750");
        assert!(pictures.len() > 900, "{} of 1500", pictures.len());
        let longest = pictures.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert_eq!(longest, Some(2), "no freeze over 80 ms");
        assert!(waited < Duration::from_millis(700), "{waited:?}");
    }

    #[test]
    fn where_room_ends_the_oldest_make_way_and_what_follows_begins_with_a_key_frame() {
        let mut queue = WaitingMedia::new();
        let len = PICTURE_BYTES_MAX / 5;
        push(&mut queue, &picture(0, len));
        assert!(queue.pop(Time::ZERO).is_some());
        [2, 4, 6, 8, 10, 12].iter().for_each(|frame| push(&mut queue, &picture(*frame, len)));
        let units: Vec<_> = drain(&mut queue).into_iter().map(|it| (it.1, it.3 & 8)).collect();
        assert_eq!(units, [(10, DISCONTINUITY), (12, 0)]);
    }

    #[test]
    fn what_waits_for_a_page_that_does_not_read_is_the_newest_and_all_sound() {
        let mut queue = WaitingMedia::new();
        for frame in 0..250 {
            push(&mut queue, &layered(frame, 150_000));
            push(&mut queue, &sound(frame));
            assert!(queue.bytes <= BYTES_MAX);
        }
        let units = drain(&mut queue);
        let of = |track: MediaTrack| units.iter().filter(move |it| it.0 == track as u8);
        assert_eq!(of(MediaTrack::Audio).count(), 250);
        assert_eq!(of(MediaTrack::Video).next().map(|it| it.1), Some(240), "the last key frame");
        push(&mut queue, &picture(250, 100));
        push(&mut queue, &picture(252, 100));
        assert_eq!(frames(&mut queue), [250, 252]);
    }

    #[test]
    fn sound_stops_where_no_room_is_left_and_goes_on_with_a_mark() {
        let mut queue = WaitingMedia::new();
        let long = |frame| AccessUnit { track: MediaTrack::Audio, ..picture(frame, BYTES_MAX / 2) };
        (1..4).for_each(|frame| push(&mut queue, &long(frame)));
        assert_eq!(frames(&mut queue), [1]);
        push(&mut queue, &sound(4));
        let flags: Vec<_> = drain(&mut queue).into_iter().map(|it| (it.1, it.3 & 8)).collect();
        assert_eq!(flags, [(4, DISCONTINUITY)]);
    }
}
