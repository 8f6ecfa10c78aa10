//! [`Assembler`]: messages, in any order, to whole units.

use std::collections::{BTreeMap, VecDeque};

use anabranch_media::decoding::MediaTrack;
use bytes::{Bytes, BytesMut};

use crate::protocol::{MediaHeader, MediaMessage};

/// Units of which some parts came. Beyond it the oldest is given up.
const OPEN_MAX: usize = 512;

/// Bytes of those, and of whole units that wait for their description.
const BYTES_MAX: usize = 32 << 20;

/// A unit so many frames behind a whole one of its kind never becomes whole: no budget is so long.
const FRAMES_BEHIND_MAX: u32 = 500;

/// A layer of a picture, or a frame of sound, as it came from the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedUnit {
    /// What it is; of its last part.
    pub header: MediaHeader,
    /// The media.
    pub bytes: Bytes,
}

/// Track, layer, frame.
type Key = (MediaTrack, u8, u32);

/// Puts messages together.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// The epoch whose description came; media may come before it.
    epoch: Option<u16>,
    open: BTreeMap<(u16, Key), Open>,
    whole: VecDeque<ReceivedUnit>,
    bytes: usize,
    given_up: u64,
}

#[derive(Debug)]
struct Open {
    parts: Vec<Option<Bytes>>,
    missing: usize,
}

impl Assembler {
    /// Forgets everything: another channel is watched.
    pub(super) fn clear(&mut self) {
        let given_up = self.given_up;
        *self = Self { given_up, ..Self::default() };
    }

    /// A description came: media of its epoch can be handed out, that of others is void.
    pub(super) fn begin(&mut self, epoch: u16) {
        self.epoch = Some(epoch);
        self.open.retain(|(of, _), _| *of == epoch);
        self.whole.retain(|unit| unit.header.epoch == epoch);
        let open = self.open.values().map(Open::bytes).sum::<usize>();
        self.bytes = open + self.whole.iter().map(|unit| unit.bytes.len()).sum::<usize>();
    }

    /// Takes a part.
    pub(super) fn push(&mut self, message: MediaMessage) {
        let MediaMessage { header, payload } = message;
        if self.epoch.is_some_and(|epoch| epoch != header.epoch) && !self.is_next(header.epoch) {
            return;
        }
        let key = (header.epoch, (header.track, header.layer, header.frame));
        let fragments = usize::from(header.fragments);
        let open = self.open.entry(key).or_insert_with(|| Open::new(fragments));
        let Some(place) = open.parts.get_mut(usize::from(header.fragment)) else { return };
        if place.is_some() {
            return;
        }
        self.bytes += payload.len();
        *place = Some(payload);
        open.missing -= 1;
        if open.missing == 0
            && let Some(open) = self.open.remove(&key)
        {
            self.whole.push_back(ReceivedUnit { header, bytes: open.join() });
            self.give_up_behind(key);
        }
        self.trim();
    }

    /// The next unit that is whole.
    pub(super) fn poll(&mut self) -> Option<ReceivedUnit> {
        let at = self.whole.iter().position(|unit| Some(unit.header.epoch) == self.epoch)?;
        let unit = self.whole.remove(at)?;
        self.bytes -= unit.bytes.len();
        Some(unit)
    }

    /// Units of which some parts never came.
    pub(super) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Whether media of this epoch may have overtaken its description.
    fn is_next(&self, epoch: u16) -> bool {
        self.epoch.is_some_and(|current| epoch == current.wrapping_add(1))
    }

    fn give_up_behind(&mut self, (epoch, (track, layer, frame)): (u16, Key)) {
        let end = frame.saturating_sub(FRAMES_BEHIND_MAX);
        let range = (epoch, (track, layer, 0))..(epoch, (track, layer, end));
        while let Some((&key, _)) = self.open.range(range.clone()).next() {
            self.give_up(key);
        }
    }

    fn trim(&mut self) {
        while self.open.len() > OPEN_MAX || self.bytes > BYTES_MAX {
            if let Some((&key, _)) = self.open.first_key_value() {
                self.give_up(key);
            } else if let Some(unit) = self.whole.pop_front() {
                self.bytes -= unit.bytes.len();
            } else {
                return;
            }
        }
    }

    fn give_up(&mut self, key: (u16, Key)) {
        if let Some(open) = self.open.remove(&key) {
            self.bytes -= open.bytes();
            self.given_up += 1;
        }
    }
}

impl Open {
    fn new(fragments: usize) -> Self {
        Self { parts: vec![None; fragments], missing: fragments }
    }

    fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(Bytes::len).sum()
    }

    fn join(mut self) -> Bytes {
        if let [Some(only)] = &mut self.parts[..] {
            return std::mem::take(only);
        }
        let mut whole = BytesMut::with_capacity(self.bytes());
        self.parts.iter().flatten().for_each(|part| whole.extend_from_slice(part));
        whole.freeze()
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Time;

    use super::*;
    use crate::channel::ChannelId;
    use crate::protocol::References;

    fn part(epoch: u16, frame: u32, fragment: u16, fragments: u16) -> MediaMessage {
        let header = MediaHeader {
            channel: ChannelId(1),
            epoch,
            track: MediaTrack::Video,
            layer: 0,
            frame,
            fragment,
            fragments,
            references: References::default(),
            key: false,
            reference: true,
            last_layer: true,
            discontinuity: false,
            pts_us: 0,
            at: Time::ZERO,
        };
        MediaMessage { header, payload: Bytes::from(vec![fragment as u8; 3]) }
    }

    fn frames(assembler: &mut Assembler) -> Vec<u32> {
        std::iter::from_fn(|| assembler.poll()).map(|unit| unit.header.frame).collect()
    }

    #[test]
    fn parts_in_any_order_and_twice_make_one_unit() {
        let mut assembler = Assembler::default();
        assembler.begin(1);
        for fragment in [2, 0, 2, 0, 1] {
            assembler.push(part(1, 7, fragment, 3));
        }
        let unit = assembler.poll().unwrap();
        assert_eq!(unit.bytes.as_ref(), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
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
        assert_eq!(frames(&mut assembler), [1], "the old epoch goes on until the new one is known");
        assembler.begin(2);
        assembler.push(part(1, 2, 0, 1));
        assert_eq!(frames(&mut assembler), [0]);
        assert_eq!(assembler.bytes, 0);
    }

    #[test]
    fn what_never_becomes_whole_is_given_up_and_memory_is_bounded() {
        let mut assembler = Assembler::default();
        assembler.begin(1);
        for frame in 0..10 * OPEN_MAX as u32 {
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
        assembler.push(part(1, 0, 0, 2));
        assembler.push(part(1, 0, 5, 6));
        assembler.push(part(1, 0, 1, 2));
        assert_eq!(frames(&mut assembler), [0]);
    }
}
