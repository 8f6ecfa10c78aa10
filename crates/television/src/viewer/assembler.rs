//! [`Assembler`]: pieces, in any order, to whole units.

use std::collections::{BTreeMap, VecDeque};

use anabranch_media::decoding::MediaTrack;
use anabranch_media::piece::References;
use anabranch_media::{Class, Layer, Piece, Track, Unit};
use bytes::{Bytes, BytesMut};

/// Units of which some parts came. Beyond it the oldest is given up.
const OPEN_MAX: usize = 512;

/// Bytes of those, and of whole units that wait for their description.
const BYTES_MAX: usize = 32 << 20;

/// A unit so many frames behind a whole one of its kind never becomes whole: no budget is so long.
const FRAMES_BEHIND_MAX: u64 = 500;

/// A layer of a picture, or a frame of sound, as it came from the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedUnit {
    /// Which of its channel's [descriptions](crate::protocol::Description) holds.
    pub session: u16,
    /// How many pictures that others are predicted from came before it.
    pub references: References,
    /// The media.
    pub unit: Unit,
}

/// What tells whether anything is missing between two pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureOrder {
    frame: u64,
    references: References,
    is_reference: bool,
}

impl ReceivedUnit {
    fn new(piece: &Piece, bytes: Bytes) -> Self {
        let header = &piece.header;
        let references = header.presentation.unwrap_or_default().references;
        Self { session: header.session, references, unit: header.unit(bytes) }
    }

    /// Picture or sound.
    #[must_use]
    pub const fn kind(&self) -> MediaTrack {
        MediaTrack::of(self.unit.class)
    }

    /// Whether decoding can begin with it.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        matches!(self.unit.class, Class::KeyFrame | Class::Audio)
    }

    /// Where it stands among the pictures.
    #[must_use]
    pub const fn order(&self) -> PictureOrder {
        let Self { references, unit, .. } = self;
        PictureOrder {
            frame: unit.frame,
            references: *references,
            is_reference: unit.is_reference(),
        }
    }
}

impl PictureOrder {
    /// Whether a picture can be decoded once this one was: none that it may refer to is missing
    /// between the two.
    #[must_use]
    pub fn is_enough_for(&self, next: &Self) -> bool {
        let follows = next.frame == self.frame.wrapping_add(1);
        let is_counted = self.references != References::default();
        follows || (is_counted && next.references == self.references.after(self.is_reference))
    }
}

/// Session, track, layer, frame.
type Key = (u16, Track, Layer, u64);

/// Puts pieces together.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// The session whose description came; media may come before it.
    session: Option<u16>,
    open: BTreeMap<Key, Open>,
    whole: VecDeque<ReceivedUnit>,
    bytes: usize,
    given_up: u64,
}

#[derive(Debug, Default)]
struct Open {
    parts: BTreeMap<u64, Bytes>,
    /// How many there are, once the last one came.
    of: Option<u64>,
}

impl Assembler {
    /// Forgets everything: another channel is watched.
    pub(super) fn clear(&mut self) {
        let given_up = self.given_up;
        *self = Self { given_up, ..Self::default() };
    }

    /// A description came: media of its session can be handed out, that of others is void.
    pub(super) fn begin(&mut self, session: u16) {
        self.session = Some(session);
        self.open.retain(|(of, ..), _| *of == session);
        self.whole.retain(|unit| unit.session == session);
        let open = self.open.values().map(Open::bytes).sum::<usize>();
        self.bytes = open + self.whole.iter().map(|it| it.unit.bytes.len()).sum::<usize>();
    }

    /// Takes a piece.
    pub(super) fn push(&mut self, piece: Piece) {
        let header = &piece.header;
        if !self.may_be_wanted(header.session) {
            return;
        }
        let key = (header.session, header.track, header.layer, header.frame);
        let open = self.open.entry(key).or_default();
        if open.add(&piece) {
            self.bytes += piece.payload.len();
        }
        if open.is_whole()
            && let Some(open) = self.open.remove(&key)
        {
            self.whole.push_back(ReceivedUnit::new(&piece, open.join()));
            self.give_up_behind(key);
        }
        self.trim();
    }

    /// The next unit that is whole.
    pub(super) fn poll(&mut self) -> Option<ReceivedUnit> {
        let at = self.whole.iter().position(|unit| Some(unit.session) == self.session)?;
        let unit = self.whole.remove(at)?;
        self.bytes -= unit.unit.bytes.len();
        Some(unit)
    }

    /// Units of which some parts never came.
    pub(super) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Whether media is of the session that is described, or of a later one: it may have overtaken
    /// its description.
    fn may_be_wanted(&self, session: u16) -> bool {
        self.session.is_none_or(|current| session.wrapping_sub(current) < 1 << 15)
    }

    fn give_up_behind(&mut self, (session, track, layer, frame): Key) {
        let end = frame.saturating_sub(FRAMES_BEHIND_MAX);
        let range = (session, track, layer, 0)..(session, track, layer, end);
        while let Some((&key, _)) = self.open.range(range.clone()).next() {
            self.give_up(key);
        }
    }

    fn trim(&mut self) {
        while self.open.len() > OPEN_MAX || self.bytes > BYTES_MAX {
            if let Some((&key, _)) = self.open.first_key_value() {
                self.give_up(key);
            } else if let Some(unit) = self.whole.pop_front() {
                self.bytes -= unit.unit.bytes.len();
            } else {
                return;
            }
        }
    }

    fn give_up(&mut self, key: Key) {
        if let Some(open) = self.open.remove(&key) {
            self.bytes -= open.bytes();
            self.given_up += 1;
        }
    }
}

impl Open {
    /// False if it is there already, or contradicts what is.
    fn add(&mut self, piece: &Piece) -> bool {
        let index = piece.header.index;
        let most = self.parts.last_key_value().map_or(0, |(last, _)| *last);
        let contradicts = match self.of {
            Some(of) => index >= of || (piece.header.last && index + 1 != of),
            None => piece.header.last && index < most,
        };
        if contradicts || self.parts.contains_key(&index) {
            return false;
        }
        self.parts.insert(index, piece.payload.clone());
        if piece.header.last {
            self.of = Some(index + 1);
        }
        true
    }

    fn is_whole(&self) -> bool {
        self.of == Some(self.parts.len() as u64)
    }

    fn bytes(&self) -> usize {
        self.parts.values().map(Bytes::len).sum()
    }

    fn join(mut self) -> Bytes {
        if self.parts.len() == 1 {
            return self.parts.pop_first().map(|(_, only)| only).unwrap_or_default();
        }
        let mut whole = BytesMut::with_capacity(self.bytes());
        self.parts.values().for_each(|part| whole.extend_from_slice(part));
        whole.freeze()
    }
}

#[cfg(test)]
mod tests {
    use anabranch_media::Class;
    use anabranch_media::piece::{Header, Presentation, Run};

    use super::*;

    fn part(session: u16, frame: u64, index: u64, parts: u64) -> Piece {
        let header = Header {
            presentation: Some(Presentation::default()),
            session,
            track: Track(0),
            layer: Layer::BASE,
            class: Class::Reference,
            frame,
            index,
            sequence: 0,
            last: index + 1 == parts,
            nulls: false,
            runs: vec![Run { position: 0, count: 1, at_us: 0, step: 0 }],
        };
        Piece { header, payload: Bytes::from(vec![index as u8; 3]) }
    }

    fn frames(assembler: &mut Assembler) -> Vec<u64> {
        std::iter::from_fn(|| assembler.poll()).map(|unit| unit.unit.frame).collect()
    }

    #[test]
    fn parts_in_any_order_and_twice_make_one_unit() {
        let mut assembler = Assembler::default();
        assembler.begin(1);
        for index in [2, 0, 2, 0, 1] {
            assembler.push(part(1, 7, index, 3));
        }
        let unit = assembler.poll().unwrap();
        assert_eq!(unit.unit.bytes.as_ref(), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
        assert_eq!(assembler.bytes, 0);
    }

    #[test]
    fn media_that_overtakes_its_description_waits_for_it() {
        let mut assembler = Assembler::default();
        assembler.push(part(1, 0, 0, 1));
        assert_eq!(assembler.poll(), None);
        assembler.begin(1);
        assert_eq!(frames(&mut assembler), [0]);
        assembler.push(part(2, 0, 0, 1));
        assembler.push(part(1, 1, 0, 1));
        assert_eq!(
            frames(&mut assembler),
            [1],
            "the old session goes on until the new one is known"
        );
        assembler.begin(2);
        assembler.push(part(1, 2, 0, 1));
        assert_eq!(frames(&mut assembler), [0]);
        assert_eq!(assembler.bytes, 0);
    }

    #[test]
    fn what_never_becomes_whole_is_given_up_and_memory_is_bounded() {
        let mut assembler = Assembler::default();
        assembler.begin(1);
        for frame in 0..10 * OPEN_MAX as u64 {
            assembler.push(part(1, frame, 0, 100));
        }
        assert_eq!((assembler.open.len(), assembler.given_up()), (OPEN_MAX, 9 * OPEN_MAX as u64));
        assembler.push(part(1, 1_000_000, 0, 1));
        assert_eq!(assembler.given_up(), 10 * OPEN_MAX as u64);
        assert_eq!(frames(&mut assembler), [1_000_000]);
        assert_eq!(assembler.bytes, 0);
    }

    #[test]
    fn a_part_that_contradicts_the_others_is_dropped() {
        let mut assembler = Assembler::default();
        assembler.begin(1);
        assembler.push(part(1, 0, 1, 3));
        assembler.push(part(1, 0, 0, 1));
        assembler.push(part(1, 0, 2, 3));
        assembler.push(part(1, 0, 5, 6));
        assembler.push(part(1, 0, 0, 3));
        assert_eq!(assembler.poll().unwrap().unit.bytes.len(), 9);
        assert_eq!(assembler.bytes, 0);
    }
}
