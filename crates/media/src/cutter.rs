//! Whole [`Unit`]s into [`Piece`]s and back: for media that is not a transport stream.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use crate::piece::{Header, MAX_MESSAGE, Presentation, References, Run};
use crate::playout::Released;
use crate::{Class, Layer, PerClass, Piece, Track, Unit};

/// The longest unit that is joined again: one picture of 200 Mbit/s at 12 pictures a second.
pub const UNIT_LEN_MAX: usize = 2 << 20;

/// Cuts units into pieces.
#[derive(Debug)]
pub struct UnitCutter {
    session: u16,
    /// Bytes of a unit in one piece.
    part_len: usize,
    position: u64,
    tracks: BTreeMap<Track, TrackNumbers>,
}

#[derive(Debug)]
struct TrackNumbers {
    sequences: PerClass<u64>,
    /// Of the last picture, and after it.
    references: (References, References),
}

impl UnitCutter {
    /// A cutter for one start of a sender. `session` must differ from that of the last start: draw
    /// it at random.
    #[must_use]
    pub const fn new(session: u16) -> Self {
        Self::with_pieces_of(session, MAX_MESSAGE)
    }

    /// The same, with messages of at most so many bytes, up to [`MAX_MESSAGE`]. Below 2,200 the
    /// longest units have too many pieces.
    #[must_use]
    pub const fn with_pieces_of(session: u16, message_len: usize) -> Self {
        let part_len = message_len - Header::SINGLE_RUN_LEN_MAX;
        Self { session, part_len, position: 0, tracks: BTreeMap::new() }
    }

    /// The pieces of a unit, which share its memory. Units come in the order in which they are to
    /// leave the playout. One that is longer than [`UNIT_LEN_MAX`] counts as one that others may
    /// lack, and has no pieces.
    pub fn cut(&mut self, unit: &Unit) -> impl Iterator<Item = Piece> {
        self.tracks.entry(unit.track).or_insert_with(TrackNumbers::new).count(unit);
        let parts = match unit.bytes.len() {
            0..=UNIT_LEN_MAX => unit.bytes.len().div_ceil(self.part_len).max(1),
            _ => 0,
        };
        (0..parts).map(move |index| self.piece(unit, index, index + 1 == parts))
    }

    /// The number of the next piece.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    fn piece(&mut self, unit: &Unit, index: usize, last: bool) -> Piece {
        let start = index * self.part_len;
        let end = unit.bytes.len().min(start + self.part_len);
        let numbers = self.tracks.entry(unit.track).or_insert_with(TrackNumbers::new);
        let sequence = numbers.sequences.of_mut(unit.class);
        let presentation = Presentation {
            pts_us: unit.pts_us,
            references: if unit.class == Class::Audio {
                References::default()
            } else {
                numbers.references.0
            },
            last_layer: unit.last_layer,
            discontinuity: unit.discontinuity,
        };
        let run = Run { position: self.position, count: 1, at_us: unit.at.as_micros(), step: 0 };
        let header = Header {
            presentation: Some(presentation),
            session: self.session,
            track: unit.track,
            layer: unit.layer,
            class: unit.class,
            frame: unit.frame,
            index: index as u64,
            sequence: *sequence,
            last,
            nulls: false,
            runs: vec![run],
        };
        *sequence += 1;
        self.position += 1;
        Piece { header, payload: unit.bytes.slice(start..end) }
    }
}

impl TrackNumbers {
    fn new() -> Self {
        let references = (References::FIRST, References::FIRST);
        Self { sequences: PerClass::default(), references }
    }

    fn count(&mut self, unit: &Unit) {
        if unit.layer == Layer::BASE {
            let (_, here) = self.references;
            self.references = (here, here.after(unit.is_reference()));
        }
    }
}

/// Joins what a [`Playout`](crate::Playout) releases to the units that were cut.
#[derive(Debug, Default)]
pub struct UnitJoiner {
    open: Option<OpenUnit>,
    /// The last unit that was given up: its other parts are not another one.
    given_up: Option<UnitKey>,
    incomplete: u64,
}

/// Track, layer and frame.
type UnitKey = (Track, Layer, u64);

#[derive(Debug)]
struct OpenUnit {
    unit: Unit,
    parts: u64,
    bytes: BytesMut,
}

impl UnitJoiner {
    /// A joiner that waits for the start of a unit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next release of [`Format::Unit`](crate::piece::Format::Unit); answers with the
    /// unit that it completes.
    pub fn push(&mut self, part: &Released) -> Option<Unit> {
        match &mut self.open {
            Some(open) if open.is_continued_by(part) => {
                open.parts += 1;
                open.bytes.extend_from_slice(&part.bytes);
            }
            _ => self.begin(part),
        }
        if !part.last {
            return None;
        }
        self.open.take().map(OpenUnit::finish)
    }

    /// Units of which some parts were missing when their time came. One that lost all of its parts
    /// is not known here.
    #[must_use]
    pub const fn incomplete(&self) -> u64 {
        self.incomplete
    }

    fn begin(&mut self, part: &Released) {
        if let Some(open) = self.open.take() {
            self.give_up((open.unit.track, open.unit.layer, open.unit.frame));
        }
        if part.index == 0 {
            self.open = Some(OpenUnit::new(part));
        } else {
            self.give_up((part.track, part.layer, part.frame));
        }
    }

    fn give_up(&mut self, unit: UnitKey) {
        let known = self.given_up.replace(unit) == Some(unit);
        self.incomplete += u64::from(!known);
    }
}

impl OpenUnit {
    fn new(part: &Released) -> Self {
        let presentation = part.presentation.unwrap_or_default();
        let unit = Unit {
            track: part.track,
            class: part.class,
            layer: part.layer,
            frame: part.frame,
            at: part.sent,
            pts_us: presentation.pts_us,
            last_layer: presentation.last_layer,
            discontinuity: presentation.discontinuity,
            bytes: Bytes::new(),
        };
        Self { unit, parts: 1, bytes: BytesMut::from(part.bytes.as_ref()) }
    }

    fn is_continued_by(&self, part: &Released) -> bool {
        (part.track, part.layer, part.frame, part.index)
            == (self.unit.track, self.unit.layer, self.unit.frame, self.parts)
            && self.bytes.len() + part.bytes.len() <= UNIT_LEN_MAX
    }

    fn finish(self) -> Unit {
        Unit { bytes: self.bytes.freeze(), ..self.unit }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_sansio::{Rng, Time};

    use super::*;
    use crate::Class;
    use crate::playout::{Config, Playout};

    fn units(count: u64) -> Vec<Unit> {
        let mut rng = Rng::from_u64(4);
        let unit = |i: u64| {
            let mut bytes = vec![0; rng.range(0..60_000) as usize];
            rng.fill(&mut bytes);
            Unit {
                track: Track((i % 2) as u16),
                class: if i.is_multiple_of(2) { Class::KeyFrame } else { Class::Disposable },
                layer: Layer((i % 3) as u8),
                frame: i,
                at: Time::from_millis(40 * i),
                pts_us: 40_000 * i as i64 - 80_000,
                last_layer: i.is_multiple_of(3),
                discontinuity: i.is_multiple_of(7),
                bytes: bytes.into(),
            }
        };
        (0..count).map(unit).collect()
    }

    /// Sends every piece but the lost ones and joins what comes out.
    fn transfer(units: &[Unit], mut lost: impl FnMut(&Piece) -> bool) -> (Vec<Unit>, u64) {
        let mut cutter = UnitCutter::new(3);
        let mut playout = Playout::new(Config::with_latency(Duration::from_millis(100)));
        let mut joiner = UnitJoiner::new();
        let mut out = Vec::new();
        for unit in units {
            for piece in cutter.cut(unit).filter(|piece| !lost(piece)) {
                let message = piece.encode();
                assert!(message.len() <= MAX_MESSAGE);
                playout.handle_message(unit.at, None, message.into());
            }
            while let Some(part) = playout.poll_release(unit.at) {
                out.extend(joiner.push(&part));
            }
        }
        while let Some(part) = playout.poll_release(Time::MAX) {
            out.extend(joiner.push(&part));
        }
        (out, joiner.incomplete())
    }

    #[test]
    fn units_of_any_length_survive_the_way() {
        let mut units = units(50);
        units[7].bytes = Bytes::new();
        units[8].bytes = vec![1; UNIT_LEN_MAX].into();
        assert_eq!(transfer(&units, |_| false), (units, 0));
    }

    #[test]
    fn pieces_are_as_short_as_they_are_wanted_and_no_unit_has_too_many() {
        let mut unit = units(1).remove(0);
        unit.bytes = vec![1; UNIT_LEN_MAX].into();
        let mut cutter = UnitCutter::with_pieces_of(3, 2_200);
        let pieces: Vec<_> = cutter.cut(&unit).collect();
        assert!(pieces.len() as u64 <= crate::piece::MAX_UNIT_PIECES, "{}", pieces.len());
        assert!(pieces.iter().all(|piece| piece.encode().len() <= 2_200));
    }

    #[test]
    fn pictures_tell_how_many_others_are_predicted_from_came_before_them() {
        let classes = [
            Class::KeyFrame,
            Class::Disposable,
            Class::Reference,
            Class::Reference,
            Class::Disposable,
        ];
        let mut cutter = UnitCutter::new(3);
        let mut counts = Vec::new();
        for (frame, class) in classes.into_iter().enumerate() {
            let mut unit = Unit { class, track: Track(0), ..units(1).remove(0) };
            // One that is too long to be sent is missed like any other.
            let len = if frame == 2 { UNIT_LEN_MAX + 1 } else { 10 };
            unit.bytes = vec![0; len].into();
            for layer in [Layer::BASE, Layer(1)] {
                let unit = Unit { layer, ..unit.clone() };
                let pieces = cutter.cut(&unit).map(|piece| piece.header.presentation.unwrap());
                counts.extend(pieces.map(|presentation| presentation.references.0));
            }
        }
        assert_eq!(counts, [1, 1, 2, 2, 3, 3, 4, 4]);
        let sound = Unit { class: Class::Audio, track: Track(1), ..units(1).remove(0) };
        let piece = cutter.cut(&sound).next().unwrap();
        assert_eq!(piece.header.presentation.unwrap().references, References::default());
    }

    #[test]
    fn a_lost_piece_costs_its_unit_and_no_other() {
        let units = units(50);
        let mut rng = Rng::from_u64(5);
        let mut hit = std::collections::BTreeSet::new();
        let (out, incomplete) = transfer(&units, |piece| {
            let lost = rng.chance(0.1);
            if lost {
                hit.insert(piece.header.frame);
            }
            lost
        });
        let whole: Vec<_> = units.into_iter().filter(|unit| !hit.contains(&unit.frame)).collect();
        assert_eq!(out, whole);
        assert!(incomplete > 0 && incomplete <= hit.len() as u64, "{incomplete} of {}", hit.len());
    }
}
