//! [`Dependencies`]: which pictures a decoder can do without, and what goes with them.
//!
//! - An enhancement that is predicted from its own base picture only, as in a clip, can be left out
//!   at any picture, and is left out with its base.
//! - A disposable picture can be left out at any time: nothing is predicted from it.
//! - After a reference picture was left out, all further ones of its track are, until the next key
//!   frame: they are predicted from what is missing. So is an enhancement in a transport stream,
//!   which may be predicted from the one before.
//! - Key frames, sound, tables and what cannot be told apart always go.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::Track;
use anabranch_sansio::Time;

use super::{UnitKey, Verdict};
use crate::treatment::MediaClass;

/// Times between key frames that are remembered: where a scene begins, an encoder puts one between
/// those that come regularly.
const SPANS: usize = 4;

/// Knows, unit by unit, what a decoder can follow.
#[derive(Debug)]
pub(super) struct Dependencies {
    /// Whether an enhancement is predicted from its own base picture only.
    enhances_alone: bool,
    /// Whether something was missed of tracks that are not known yet.
    is_broken: bool,
    tracks: BTreeMap<Track, TrackDependencies>,
}

#[derive(Debug, Default)]
struct TrackDependencies {
    /// The unit that came last, and what became of it.
    unit: Option<(UnitKey, bool)>,
    /// The last picture of the base layer that was left out.
    base_left_out: Option<u64>,
    /// References are missing until the next key frame.
    lacks_reference: bool,
    /// Enhancements are, likewise.
    lacks_enhancement: bool,
    keys: Keys,
}

/// When key frames came, to tell when the next one will.
#[derive(Debug, Default)]
struct Keys {
    last: Option<Time>,
    /// The last times from one to the next, the newest first.
    spans: [Duration; SPANS],
}

impl Keys {
    fn note(&mut self, now: Time) {
        if let Some(last) = self.last.replace(now) {
            self.spans.rotate_right(1);
            self.spans[0] = now - last;
        }
    }

    /// How long it is until the next one, if none comes out of turn. `None` before two came, and
    /// once it is overdue.
    fn until_next(&self, now: Time) -> Option<Duration> {
        let longest = self.spans.iter().max()?;
        let left = (self.last? + *longest).saturating_since(now);
        (!left.is_zero()).then_some(left)
    }
}

impl Dependencies {
    pub(super) const fn new(enhances_alone: bool) -> Self {
        Self { enhances_alone, is_broken: false, tracks: BTreeMap::new() }
    }

    /// What becomes of a unit, and whether that was not known of it yet. `has_room` decides where a
    /// decoder can follow; it is told how long it is until the next key frame, if that is known.
    pub(super) fn verdict(
        &mut self,
        now: Time,
        unit: UnitKey,
        class: MediaClass,
        has_room: impl FnOnce(Option<Duration>) -> bool,
    ) -> (Verdict, bool) {
        if !is_picture(class) {
            return (Verdict::Goes, true);
        }
        let (enhances_alone, lacks_reference) = (self.enhances_alone, self.is_broken);
        let new = || TrackDependencies { lacks_reference, ..TrackDependencies::default() };
        let track = self.tracks.entry(unit.track).or_insert_with(new);
        if let Some((known, goes)) = track.unit
            && known == unit
        {
            return (if goes { Verdict::Goes } else { Verdict::LacksReference }, false);
        }
        if class == MediaClass::KeyFrame {
            track.keys.note(now);
        }
        let next_key = track.keys.until_next(now);
        let mut lacks_room = false;
        let has_room = || {
            lacks_room = !has_room(next_key);
            !lacks_room
        };
        let goes = track.decide(unit.frame, class, enhances_alone, has_room);
        track.unit = Some((unit, goes));
        let verdict = match (goes, lacks_room) {
            (true, _) => Verdict::Goes,
            (false, true) => Verdict::LacksRoom { next_key },
            (false, false) => Verdict::LacksReference,
        };
        (verdict, true)
    }

    /// Something was missed: all that may refer to it is of no use.
    pub(super) fn break_off(&mut self) {
        self.is_broken = true;
        self.tracks.values_mut().for_each(|track| track.lacks_reference = true);
    }
}

const fn is_picture(class: MediaClass) -> bool {
    matches!(
        class,
        MediaClass::KeyFrame
            | MediaClass::Reference
            | MediaClass::Disposable
            | MediaClass::Enhancement
    )
}

impl TrackDependencies {
    fn decide(
        &mut self,
        frame: u64,
        class: MediaClass,
        enhances_alone: bool,
        has_room: impl FnOnce() -> bool,
    ) -> bool {
        match class {
            MediaClass::KeyFrame => {
                (self.lacks_reference, self.lacks_enhancement) = (false, false);
                true
            }
            MediaClass::Reference => {
                self.lacks_reference = self.lacks_reference || !has_room();
                self.pass_base(frame, !self.lacks_reference)
            }
            MediaClass::Disposable => {
                let passes = !self.lacks_reference && has_room();
                self.pass_base(frame, passes)
            }
            MediaClass::Enhancement if enhances_alone => {
                self.base_left_out != Some(frame) && has_room()
            }
            MediaClass::Enhancement => {
                self.lacks_enhancement |= self.base_left_out == Some(frame) || !has_room();
                !self.lacks_enhancement
            }
            MediaClass::Control
            | MediaClass::Tables
            | MediaClass::Audio
            | MediaClass::Data
            | MediaClass::Padding => true,
        }
    }

    const fn pass_base(&mut self, frame: u64, passes: bool) -> bool {
        if !passes {
            self.base_left_out = Some(frame);
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use anabranch_media::{Class, Layer};

    use super::*;

    fn goes(
        dependencies: &mut Dependencies,
        (class, layer, frame): (Class, u8, u64),
        room: bool,
    ) -> bool {
        let unit = UnitKey { track: Track(0x100), layer: Layer(layer), frame };
        let class = MediaClass::of(class, Layer(layer));
        dependencies.verdict(Time::ZERO, unit, class, |_| room).0 == Verdict::Goes
    }

    /// Which units pass, each of one piece: class, layer, frame, whether there is room.
    fn passed(enhances_alone: bool, units: &[(Class, u8, u64, bool)]) -> Vec<bool> {
        let mut dependencies = Dependencies::new(enhances_alone);
        let pass = |(class, layer, frame, room): &(Class, u8, u64, bool)| {
            goes(&mut dependencies, (*class, *layer, *frame), *room)
        };
        units.iter().map(pass).collect()
    }

    #[test]
    fn all_pieces_of_a_unit_share_its_fate() {
        let mut dependencies = Dependencies::new(true);
        let mut pass = |frame, room| goes(&mut dependencies, (Class::Disposable, 0, frame), room);
        assert!(pass(1, true) && pass(1, false) && pass(1, false));
        assert!(!pass(2, false) && !pass(2, true));
        assert!(pass(3, true));
    }

    #[test]
    fn what_refers_to_what_was_missed_waits_for_a_key_frame() {
        let mut dependencies = Dependencies::new(true);
        let mut pass = |class, frame| goes(&mut dependencies, (class, 0, frame), true);
        assert!(pass(Class::Reference, 1));
        dependencies.break_off();
        let mut pass = |class, frame| goes(&mut dependencies, (class, 0, frame), true);
        assert!(!pass(Class::Reference, 2) && !pass(Class::Disposable, 3));
        assert!(pass(Class::KeyFrame, 4) && pass(Class::Reference, 5));
    }

    #[test]
    fn a_lacking_reference_takes_all_with_it_until_the_next_key_frame() {
        let units = [
            (Class::KeyFrame, 0, 0, false),
            (Class::Reference, 0, 1, true),
            (Class::Disposable, 0, 2, false),
            (Class::Reference, 0, 3, true),
            (Class::Reference, 0, 4, false),
            (Class::Disposable, 0, 5, true),
            (Class::Reference, 0, 6, true),
            (Class::KeyFrame, 0, 7, false),
            (Class::Reference, 0, 8, true),
        ];
        let expected = [true, true, false, true, false, false, false, true, true];
        assert_eq!(passed(true, &units), expected);
    }

    #[test]
    fn an_enhancement_that_stands_alone_comes_and_goes_with_any_picture() {
        let units = [
            (Class::KeyFrame, 0, 0, true),
            (Class::KeyFrame, 1, 0, false),
            (Class::Reference, 0, 1, true),
            (Class::Reference, 1, 1, true),
            (Class::Disposable, 0, 2, false),
            (Class::Disposable, 1, 2, true),
        ];
        assert_eq!(passed(true, &units), [true, false, true, true, false, false]);
    }

    #[test]
    fn an_enhancement_in_a_transport_stream_waits_for_a_key_frame() {
        let units = [
            (Class::KeyFrame, 0, 0, true),
            (Class::KeyFrame, 1, 0, true),
            (Class::Reference, 0, 1, true),
            (Class::Reference, 1, 1, false),
            (Class::Reference, 0, 2, true),
            (Class::Reference, 1, 2, true),
            (Class::KeyFrame, 0, 3, true),
            (Class::KeyFrame, 1, 3, true),
        ];
        let expected = [true, true, true, false, true, false, true, true];
        assert_eq!(passed(false, &units), expected);
    }

    #[test]
    fn what_is_no_picture_always_goes() {
        for class in [Class::Audio, Class::Tables, Class::Data, Class::Padding] {
            assert_eq!(passed(true, &[(class, 0, 0, false)]), [true], "{class:?}");
        }
    }

    #[test]
    fn the_next_key_frame_is_expected_after_the_longest_of_the_last_spans() {
        let mut keys = Keys::default();
        let seconds = Time::from_secs;
        keys.note(seconds(10));
        assert_eq!(keys.until_next(seconds(10)), None, "one says nothing");
        keys.note(seconds(12));
        // A scene begins.
        keys.note(seconds(13));
        assert_eq!(keys.until_next(seconds(14)), Some(Duration::from_secs(1)));
        assert_eq!(keys.until_next(seconds(15)), None, "overdue");
        (14..18).for_each(|at| keys.note(seconds(at)));
        assert_eq!(keys.until_next(seconds(17)), Some(Duration::from_secs(1)), "forgotten");
    }
}
