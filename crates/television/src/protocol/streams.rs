//! The structure of streams (Kim 2007, figure 3): one for control, one for urgent messages, and
//! for each channel one for data and some for media. The last one is for single pictures of
//! channels that are not watched.
//!
//! A server may have more channels than an association has streams, and a viewer watches one at a
//! time. So the streams of a channel are a [`Slot`], and the viewer takes the next slot in turn
//! whenever it changes the channel: what is still on its way for the old one is on other streams.

use anabranch_transport::StreamId;

/// How many channels can be on their way at once: with eight, a key that is held down for a round
/// trip comes to no slot that is still in use.
pub const SLOTS: u16 = 8;

const SLOT_STREAMS: u16 = 4;
const FIRST_SLOT: u16 = 2;

const STILL_STREAM: u16 = FIRST_SLOT + SLOTS * SLOT_STREAMS;

/// Streams of an association, in each direction.
pub const STREAMS: u16 = STILL_STREAM + 1;

/// The streams of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Slot(u16);

/// What a stream is for. The order is that of their priorities: the first is served first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamRole {
    /// Urgent messages, before all else.
    Urgent,
    /// The session, the channel list, guidance, errors.
    Control,
    /// Requests for a channel and its description.
    Data(Slot),
    /// Its sound.
    Audio(Slot),
    /// Its picture, or the lowest layer of it.
    Base(Slot),
    /// What refines its picture.
    Enhancement(Slot),
    /// Single pictures of channels that are not watched.
    Still,
}

impl Slot {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..SLOTS).map(Self)
    }

    /// The slot with a number below [`SLOTS`].
    #[must_use]
    pub fn new(number: u16) -> Option<Self> {
        (number < SLOTS).then_some(Self(number))
    }

    /// The one to take for the next channel.
    #[must_use]
    pub const fn next(self) -> Self {
        Self((self.0 + 1) % SLOTS)
    }

    /// All its streams.
    pub fn streams(self) -> impl Iterator<Item = StreamId> {
        let first = FIRST_SLOT + self.0 * SLOT_STREAMS;
        (first..first + SLOT_STREAMS).map(StreamId)
    }
}

impl StreamRole {
    /// What a stream is for, if there is such a stream.
    #[must_use]
    pub fn of(stream: StreamId) -> Option<Self> {
        match stream.0 {
            0 => Some(Self::Control),
            1 => Some(Self::Urgent),
            STILL_STREAM => Some(Self::Still),
            number => {
                let place = number - FIRST_SLOT;
                let slot = Slot::new(place / SLOT_STREAMS)?;
                Some(match place % SLOT_STREAMS {
                    0 => Self::Data(slot),
                    1 => Self::Base(slot),
                    2 => Self::Enhancement(slot),
                    _ => Self::Audio(slot),
                })
            }
        }
    }

    /// Its stream.
    #[must_use]
    pub const fn stream(self) -> StreamId {
        let (slot, place) = match self {
            Self::Control => return StreamId(0),
            Self::Urgent => return StreamId(1),
            Self::Still => return StreamId(STILL_STREAM),
            Self::Data(slot) => (slot, 0),
            Self::Base(slot) => (slot, 1),
            Self::Enhancement(slot) => (slot, 2),
            Self::Audio(slot) => (slot, 3),
        };
        StreamId(FIRST_SLOT + slot.0 * SLOT_STREAMS + place)
    }

    /// Its priority: 0 is served first.
    #[must_use]
    pub const fn priority(self) -> u16 {
        match self {
            Self::Urgent => 0,
            Self::Control => 1,
            Self::Data(_) => 2,
            Self::Audio(_) => 3,
            Self::Base(_) => 4,
            Self::Enhancement(_) => 5,
            Self::Still => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_has_one_role_and_each_role_one_stream() {
        for number in 0..STREAMS {
            let role = StreamRole::of(StreamId(number)).unwrap();
            assert_eq!(role.stream(), StreamId(number));
        }
        assert_eq!(StreamRole::of(StreamId(STREAMS)), None);
    }

    #[test]
    fn slots_come_in_turn_and_share_no_stream() {
        let slots: Vec<_> = Slot::all().collect();
        assert_eq!(slots.last().unwrap().next(), slots[0]);
        let streams: std::collections::BTreeSet<_> =
            slots.iter().flat_map(|slot| slot.streams()).map(|stream| stream.0).collect();
        assert_eq!(streams.len(), usize::from(STILL_STREAM - FIRST_SLOT));
        let roles = slots[3].streams().map(|stream| StreamRole::of(stream).unwrap());
        let audio = StreamRole::Audio(slots[3]);
        assert!(roles.into_iter().any(|role| role == audio));
    }
}
