//! [`WaitingMedia`]: pictures and sound that wait for one page, and who makes way for whom.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_media::Class;
use anabranch_media::decoding::{AccessUnit, MediaTrack};
use anabranch_sansio::Time;
use bytes::Bytes;

use super::super::protocol::{encode_unit, encoded_len};

/// Media bytes that wait for one page.
pub(super) const BYTES_MAX: usize = 4 << 20;

/// Of those, bytes that only sound may take: it goes on when pictures have to stop. Ten seconds.
pub(super) const SOUND_RESERVE_BYTES: usize = 256 << 10;

/// A page has fallen behind once so much waits for it, or a picture has waited for so long: what
/// nothing else needs is left out then. Where playing begins, much comes at once, and is taken.
pub(super) const BEHIND_BYTES: usize = BYTES_MAX / 2;
const BEHIND_AFTER: Duration = Duration::from_millis(250);

/// Pictures and sound in the order in which they go: sound first, as no picture waits for it for
/// long, then pictures in the order in which they are decoded.
///
/// Where a page is behind, disposable pictures and enhancements are left out; where room ends,
/// those that wait already make way for what others are predicted from, and the last of those for a
/// key frame. Else pictures stop until the next key frame.
#[derive(Debug)]
pub(super) struct WaitingMedia {
    /// Messages of the unit that is under way.
    begun: VecDeque<Bytes>,
    sound: VecDeque<Waiting>,
    pictures: VecDeque<Waiting>,
    /// Of all of them.
    bytes: usize,
    of_sound: Gate,
    of_pictures: Gate,
}

#[derive(Debug)]
struct Waiting {
    unit: AccessUnit,
    since: Time,
    /// Units of its track before it were left out that it may refer to.
    broken: bool,
}

/// Whether units of a track pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// Only a unit that decoding can begin with passes, and opens.
    WaitsForKey {
        /// Units before it were sent, others after those were not.
        broken: bool,
    },
}

impl WaitingMedia {
    pub(super) const fn new() -> Self {
        Self {
            begun: VecDeque::new(),
            sound: VecDeque::new(),
            pictures: VecDeque::new(),
            bytes: 0,
            of_sound: Gate::WaitsForKey { broken: false },
            of_pictures: Gate::WaitsForKey { broken: false },
        }
    }

    /// A picture or a frame of sound.
    pub(super) fn push(&mut self, now: Time, unit: &AccessUnit) {
        match unit.track {
            MediaTrack::Audio => self.push_sound(now, unit),
            MediaTrack::Video => self.push_picture(now, unit),
        }
    }

    /// The next message.
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        if self.begun.is_empty() {
            let next = self.sound.pop_front().or_else(|| self.pictures.pop_front())?;
            self.begun.extend(encode_unit(&next.unit, next.broken));
        }
        let message = self.begun.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }

    fn push_sound(&mut self, now: Time, unit: &AccessUnit) {
        let fits = self.bytes + encoded_len(unit) <= BYTES_MAX;
        if let Some(broken) = self.of_sound.pass(unit.is_key(), fits) {
            self.bytes += encoded_len(unit);
            self.sound.push_back(Waiting { unit: unit.clone(), since: now, broken });
        }
    }

    fn push_picture(&mut self, now: Time, unit: &AccessUnit) {
        let mut unit = unit.clone();
        if self.is_behind(now, encoded_len(&unit)) {
            if is_disposable(&unit) {
                return;
            }
            unit.layers.truncate(1);
        }
        let mut fits = self.has_room_for(&unit);
        if !fits && (self.of_pictures == Gate::Open || unit.is_key()) {
            self.leave_out_sparable();
            fits = self.has_room_for(&unit);
        }
        if !fits && unit.is_key() {
            fits = self.leave_out_last_for(&unit);
        }
        if let Some(broken) = self.of_pictures.pass(unit.is_key(), fits) {
            self.bytes += encoded_len(&unit);
            self.pictures.push_back(Waiting { unit, since: now, broken });
        }
    }

    fn is_behind(&self, now: Time, len: usize) -> bool {
        let waits = |first: &Waiting| now.saturating_since(first.since) >= BEHIND_AFTER;
        self.bytes + len > BEHIND_BYTES || self.pictures.front().is_some_and(waits)
    }

    fn has_room_for(&self, unit: &AccessUnit) -> bool {
        self.bytes + encoded_len(unit) <= BYTES_MAX - SOUND_RESERVE_BYTES
    }

    /// Nothing else needs them. As long as the page is behind, no others come in their place: each
    /// picture is looked at once.
    fn leave_out_sparable(&mut self) {
        let bytes = &mut self.bytes;
        self.pictures.retain_mut(|Waiting { unit, .. }| {
            *bytes -= encoded_len(unit);
            unit.layers.truncate(1);
            let stays = !is_disposable(unit);
            *bytes += if stays { encoded_len(unit) } else { 0 };
            stays
        });
    }

    /// The last pictures before key frames make way for one more; returns whether that is enough.
    fn leave_out_last_for(&mut self, key: &AccessUnit) -> bool {
        while !self.has_room_for(key)
            && let Some(at) = self.pictures.iter().rposition(|it| !it.unit.is_key())
            && let Some(last) = self.pictures.remove(at)
        {
            self.bytes -= encoded_len(&last.unit);
            match self.pictures.get_mut(at) {
                Some(next) => next.broken = true,
                None => self.of_pictures = Gate::WaitsForKey { broken: true },
            }
        }
        self.has_room_for(key)
    }
}

/// Whether a picture is one that no other needs.
fn is_disposable(unit: &AccessUnit) -> bool {
    unit.layers.first().is_some_and(|base| base.class == Class::Disposable)
}

impl Gate {
    /// Whether a unit passes, and if so, whether units before it were left out.
    const fn pass(&mut self, is_key: bool, fits: bool) -> Option<bool> {
        match *self {
            Self::Open if fits => Some(false),
            Self::Open => {
                *self = Self::WaitsForKey { broken: true };
                None
            }
            Self::WaitsForKey { broken } if fits && is_key => {
                *self = Self::Open;
                Some(broken)
            }
            Self::WaitsForKey { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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

    /// Before anything has waited.
    fn push(queue: &mut WaitingMedia, unit: &AccessUnit) {
        queue.push(Time::ZERO, unit);
    }

    fn sound(frame: u32) -> AccessUnit {
        AccessUnit { track: MediaTrack::Audio, ..picture(frame, 200) }
    }

    /// Track, frame number, layer and flags.
    fn drain(queue: &mut WaitingMedia) -> Vec<(u8, u8, u8, u8)> {
        let messages: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
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
        assert!(queue.pop().is_some());
        push(&mut queue, &picture(2, 100));
        push(&mut queue, &sound(7));
        let order: Vec<_> = drain(&mut queue).into_iter().map(|it| (it.1, it.2)).collect();
        assert_eq!(order, [(0, 1), (7, 0), (2, 0)], "what is begun is not torn apart");
    }

    #[test]
    fn a_page_that_is_behind_is_spared_disposable_pictures_and_enhancements() {
        let mut queue = WaitingMedia::new();
        let len = BEHIND_BYTES / 12;
        (0..10).for_each(|frame| push(&mut queue, &layered(frame, len)));
        let units = drain(&mut queue);
        let layers = |wanted: u8| units.iter().filter(|(_, frame, ..)| *frame == wanted).count();
        let counts: Vec<_> = (0..10).map(layers).collect();
        assert_eq!(counts, [2, 2, 2, 2, 2, 0, 1, 0, 1, 0]);
        let last: BTreeSet<_> = units.iter().filter(|it| it.3 & LAST != 0).map(|it| it.1).collect();
        assert_eq!(last.len(), 7, "each picture has a last layer");
        assert!(units.iter().all(|it| it.3 & DISCONTINUITY == 0), "nothing refers to them");
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
                && let Some(message) = queue.pop()
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
    fn what_waits_and_nothing_needs_makes_way_for_what_others_are_predicted_from() {
        let mut queue = WaitingMedia::new();
        let len = BEHIND_BYTES / 5;
        [0, 1, 2, 3, 4, 6, 8].iter().for_each(|frame| push(&mut queue, &picture(*frame, len)));
        [12, 14, 16].iter().for_each(|frame| push(&mut queue, &picture(*frame, len)));
        assert_eq!(frames(&mut queue), [0, 2, 4, 6, 8, 12, 14, 16]);
    }

    #[test]
    fn the_last_pictures_make_way_for_a_key_frame() {
        let mut queue = WaitingMedia::new();
        let len = PICTURE_BYTES_MAX / 5;
        [0, 2, 4, 6].iter().for_each(|frame| push(&mut queue, &picture(*frame, len)));
        [10, 12].iter().for_each(|frame| push(&mut queue, &picture(*frame, len)));
        let units: Vec<_> = drain(&mut queue).into_iter().map(|it| (it.1, it.3 & 8)).collect();
        assert_eq!(units, [(0, 0), (2, 0), (4, 0), (10, DISCONTINUITY)]);
    }

    #[test]
    fn a_page_that_does_not_read_keeps_key_frames_and_sound_within_its_room() {
        let mut queue = WaitingMedia::new();
        for frame in 0..250 {
            push(&mut queue, &layered(frame, 200_000));
            push(&mut queue, &sound(frame));
            assert!(queue.bytes <= BYTES_MAX);
        }
        let units = drain(&mut queue);
        let of = |track: MediaTrack| units.iter().filter(move |it| it.0 == track as u8);
        assert_eq!(of(MediaTrack::Audio).count(), 250);
        let keys = of(MediaTrack::Video).filter(|it| it.1 % 10 == 0 && it.2 == 0).count();
        assert!(keys >= 15, "{keys} of 25 key frames, which alone take more than there is");
        push(&mut queue, &picture(212, 100));
        push(&mut queue, &picture(220, 100));
        assert_eq!(frames(&mut queue), [220], "and goes on with the next key frame");
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
