//! [`Gate`]: what a source leaves out because the network does not carry it.
//!
//! Left to itself, what does not fit waits until its lifetime ends, here and there a piece of a
//! picture; what was sent of such a picture was sent for nothing. So a picture is left out whole,
//! before its first piece is handed over, when it would wait for too long; and only where a decoder
//! can follow:
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
use anabranch_media::piece::Header;
use anabranch_sansio::Time;

use crate::treatment::MediaClass;

/// Times between key frames that are remembered: where a scene begins, an encoder puts one between
/// those that come regularly.
const SPANS: usize = 4;

/// Decides, unit by unit, what is left out.
#[derive(Debug)]
pub(super) struct Gate {
    /// Whether an enhancement is predicted from its own base picture only.
    enhances_alone: bool,
    tracks: BTreeMap<Track, TrackGate>,
    /// Units that came to the gate and were left out, by class.
    left_out: [u64; MediaClass::ALL.len()],
}

#[derive(Debug, Default)]
struct TrackGate {
    /// Layer and frame of the unit that is passing or was left out.
    unit: Option<(u8, u64)>,
    passes: bool,
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

impl Gate {
    pub(super) fn new(enhances_alone: bool) -> Self {
        let left_out = [0; MediaClass::ALL.len()];
        Self { enhances_alone, tracks: BTreeMap::new(), left_out }
    }

    /// Whether a piece may go. All of a unit shares its fate, which `has_room` decides where a
    /// decoder can follow; it is told how long it is until the next key frame, if that is known.
    pub(super) fn passes(
        &mut self,
        header: &Header,
        class: MediaClass,
        now: Time,
        has_room: impl FnOnce(Option<Duration>) -> bool,
    ) -> bool {
        if !is_picture(class) {
            return true;
        }
        let track = self.tracks.entry(header.track).or_default();
        let unit = Some((header.layer.0, header.frame));
        if track.unit == unit {
            return track.passes;
        }
        track.unit = unit;
        if class == MediaClass::KeyFrame {
            track.keys.note(now);
        }
        let next_key = track.keys.until_next(now);
        let has_room = || has_room(next_key);
        track.passes = track.decide(header.frame, class, self.enhances_alone, has_room);
        self.left_out[class.index()] += u64::from(!track.passes);
        track.passes
    }

    /// Units of a class that were left out.
    pub(super) const fn left_out(&self, class: MediaClass) -> u64 {
        self.left_out[class.index()]
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

impl TrackGate {
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
    use anabranch_media::piece::{Presentation, Run};
    use anabranch_media::{Class, Layer};

    use super::*;

    fn header(class: Class, layer: u8, frame: u64, index: u64) -> Header {
        Header {
            presentation: Some(Presentation::default()),
            session: 1,
            track: Track(0),
            layer: Layer(layer),
            class,
            frame,
            index,
            sequence: 0,
            last: false,
            nulls: false,
            runs: vec![Run { position: 0, count: 1, at_us: 0, step: 0 }],
        }
    }

    /// Which units pass, each of one piece: class, layer, frame, whether there is room.
    fn passed(enhances_alone: bool, units: &[(Class, u8, u64, bool)]) -> Vec<bool> {
        let mut gate = Gate::new(enhances_alone);
        let pass = |(class, layer, frame, room): &(Class, u8, u64, bool)| {
            let header = header(*class, *layer, *frame, 0);
            gate.passes(&header, MediaClass::of(*class, Layer(*layer)), Time::ZERO, |_| *room)
        };
        units.iter().map(pass).collect()
    }

    #[test]
    fn all_pieces_of_a_unit_share_its_fate() {
        let mut gate = Gate::new(true);
        let mut pass = |frame, index, room| {
            let header = header(Class::Disposable, 0, frame, index);
            gate.passes(&header, MediaClass::Disposable, Time::ZERO, |_| room)
        };
        assert!(pass(1, 0, true) && pass(1, 1, false) && pass(1, 2, false));
        assert!(!pass(2, 0, false) && !pass(2, 1, true));
        assert!(pass(3, 0, true));
        assert_eq!(gate.left_out(MediaClass::Disposable), 1);
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
        assert_eq!(keys.until_next(seconds(10)), None, "one tells nothing");
        keys.note(seconds(12));
        // A scene begins.
        keys.note(seconds(13));
        assert_eq!(keys.until_next(seconds(14)), Some(Duration::from_secs(1)));
        assert_eq!(keys.until_next(seconds(15)), None, "overdue");
        (14..18).for_each(|at| keys.note(seconds(at)));
        assert_eq!(keys.until_next(seconds(17)), Some(Duration::from_secs(1)), "forgotten");
    }
}
