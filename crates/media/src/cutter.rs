//! Whole [`Unit`]s into [`Piece`]s and back: for media that is not a transport stream.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use crate::piece::{Format, Header, MAX_MESSAGE, Run};
use crate::playout::Released;
use crate::{Layer, PerClass, Piece, Track, Unit};

/// Bytes of a unit in one piece.
const PART_LEN: usize = MAX_MESSAGE - Header::SINGLE_RUN_LEN_MAX;

/// The longest unit that is joined again: one picture of 200 Mbit/s at 12 pictures a second.
pub const UNIT_LEN_MAX: usize = 2 << 20;

/// Cuts units into pieces of at most [`MAX_MESSAGE`] bytes.
#[derive(Debug)]
pub struct UnitCutter {
    session: u16,
    position: u64,
    sequences: BTreeMap<Track, PerClass<u64>>,
}

impl UnitCutter {
    /// A cutter for one start of a sender. `session` must differ from that of the last start: draw
    /// it at random.
    #[must_use]
    pub const fn new(session: u16) -> Self {
        Self { session, position: 0, sequences: BTreeMap::new() }
    }

    /// The pieces of a unit, which share its memory. Units come in the order in which they are to
    /// leave the playout.
    pub fn cut(&mut self, unit: &Unit) -> impl Iterator<Item = Piece> {
        let parts = unit.bytes.len().div_ceil(PART_LEN).max(1);
        (0..parts).map(move |index| self.piece(unit, index, index + 1 == parts))
    }

    fn piece(&mut self, unit: &Unit, index: usize, last: bool) -> Piece {
        let start = index * PART_LEN;
        let end = unit.bytes.len().min(start + PART_LEN);
        let sequence = self.sequences.entry(unit.track).or_default().of_mut(unit.class);
        let run = Run { position: self.position, count: 1, at_us: unit.at.as_micros(), step: 0 };
        let header = Header {
            format: Format::Unit,
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

    /// Takes the next release of [`Format::Unit`]; answers with the unit that it completes.
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
        let unit = Unit {
            track: part.track,
            class: part.class,
            layer: part.layer,
            frame: part.frame,
            at: part.sent,
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
        units[8].bytes = vec![1; PART_LEN].into();
        assert_eq!(transfer(&units, |_| false), (units, 0));
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
