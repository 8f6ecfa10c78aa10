//! [`LevelQueue`]: messages that wait for the user, what matters most first.

mod slots;

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::Level;

use super::delivery::IncomingMessage;
use super::ready::Ready;
pub(super) use slots::Place;
use slots::{Line, Row, SlotId, Slots};

/// A queue for each level, after Huseynli 2023, section 3.3, with three differences.
///
/// The paper's list takes O(n) to insert; here each message stands in the line of its level and, if
/// it is ordered, in that of its stream: putting in and taking out cost the same however many wait.
///
/// The paper gives up the order within a stream. Here whoever's turn comes lets those go first that
/// stand before it in its stream, so that they inherit its level. RFC 9260 section 6.6: "Within a
/// stream, an endpoint MUST deliver DATA chunks received with the U flag set to 0 to the upper
/// layer according to the order of their Stream Sequence Number."
///
/// The paper lets the least important wait forever. Here whoever waited for `wait_max` goes before
/// all that came later.
#[derive(Debug)]
pub(super) struct LevelQueue {
    wait_max: Duration,
    /// Until then nobody has waited for that long; who comes later has not, either.
    all_in_time_until: Time,
    slots: Slots,
    levels: [Line; Level::ALL.len()],
    /// The ordered messages of each stream, by its number: 8 bytes for each up to the highest one
    /// on which a message came.
    streams: Vec<Line>,
}

impl LevelQueue {
    pub(super) fn new(wait_max: Duration) -> Self {
        Self {
            wait_max,
            all_in_time_until: Time::ZERO,
            slots: Slots::default(),
            levels: Default::default(),
            streams: Vec::new(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn push(&mut self, ready: Ready) -> Place {
        let IncomingMessage { stream, ordered, level, .. } = ready.message;
        let stream = usize::from(stream.0);
        if ordered && stream >= self.streams.len() {
            self.streams.resize(stream + 1, Line::default());
        }
        let of_level = &mut self.levels[level.index()];
        let of_stream = if ordered { self.streams.get_mut(stream) } else { None };
        let before = of_stream.as_ref().and_then(|line| line.last);
        let place = self.slots.keep(ready, [of_level.last, before]);
        self.slots.join(place.slot, Row::Level, of_level);
        if let Some(of_stream) = of_stream {
            self.slots.join(place.slot, Row::Stream, of_stream);
        }
        place
    }

    /// Takes an unordered message out of turn, if it is still there.
    pub(super) fn remove(&mut self, place: Place) -> Option<Ready> {
        self.slots.at(place).filter(|ready| !ready.message.ordered)?;
        self.take(place.slot)
    }

    /// Takes the message whose turn it is.
    pub(super) fn pop(&mut self, now: Time) -> Option<Ready> {
        let turn = self.overdue(now).or_else(|| self.most_important())?;
        self.take(self.first_of_stream(turn)?)
    }

    /// Takes the oldest message of a kind, whoever's turn it is.
    pub(super) fn take_first(
        &mut self,
        is_meant: impl Fn(&IncomingMessage) -> bool,
    ) -> Option<Ready> {
        let mut next = self.firsts();
        loop {
            let slot = self.slots.oldest(next)?;
            let message = &self.slots.ready(slot)?.message;
            if is_meant(message) {
                return self.take(slot);
            }
            next[message.level.index()] = self.slots.behind(slot, Row::Level);
        }
    }

    /// The oldest message, if it has waited for long enough.
    fn overdue(&mut self, now: Time) -> Option<SlotId> {
        if now < self.all_in_time_until {
            return None;
        }
        let oldest = self.slots.oldest(self.firsts())?;
        self.all_in_time_until = self.slots.ready(oldest)?.since + self.wait_max;
        (self.all_in_time_until <= now).then_some(oldest)
    }

    fn most_important(&self) -> Option<SlotId> {
        self.levels.iter().find_map(|line| line.first)
    }

    /// The oldest message of each level.
    fn firsts(&self) -> [Option<SlotId>; Level::ALL.len()] {
        self.levels.map(|line| line.first)
    }

    /// Who goes first where the turn is this message's.
    fn first_of_stream(&self, turn: SlotId) -> Option<SlotId> {
        let IncomingMessage { stream, ordered, .. } = self.slots.ready(turn)?.message;
        if ordered { self.streams.get(usize::from(stream.0))?.first } else { Some(turn) }
    }

    /// Inlined, as each call that hands a message on copies it once more.
    #[inline(always)]
    fn take(&mut self, slot: SlotId) -> Option<Ready> {
        let IncomingMessage { stream, ordered, level, .. } = self.slots.ready(slot)?.message;
        self.slots.leave(slot, Row::Level, &mut self.levels[level.index()]);
        if ordered {
            self.slots.leave(slot, Row::Stream, &mut self.streams[usize::from(stream.0)]);
        }
        self.slots.vacate(slot)
    }
}

#[cfg(test)]
mod tests;
