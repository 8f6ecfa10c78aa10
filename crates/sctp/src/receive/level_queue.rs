//! [`LevelQueue`]: messages that wait for the user, what matters most first.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{Level, StreamId};

use super::delivery::IncomingMessage;
use super::ready::Ready;

/// Places beyond twice the messages that wait, from which on a line is rid of those that are gone.
const GONE_MAX: usize = 64;

/// A queue for each level, after Huseynli 2023, section 3.3, with three differences.
///
/// The paper's list takes O(n) to insert; here each message stands in line by reference, in that of
/// its level and in that of all messages, and one that is gone is passed over later: putting in and
/// taking out cost the same however many wait.
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
    slots: Vec<Slot>,
    /// Slots without a message.
    free: Vec<u32>,
    levels: [VecDeque<Place>; Level::ALL.len()],
    /// All messages, in order of arrival.
    arrivals: VecDeque<Place>,
    /// The ordered messages of each stream that has some.
    streams: BTreeMap<StreamId, Line>,
}

/// The ordered messages of a stream, each of which knows the one behind it: unlike a queue for each
/// stream, that costs no allocation where one message comes and is read.
#[derive(Debug, Clone, Copy)]
struct Line {
    first: u32,
    last: u32,
}

/// Where a message is kept.
#[derive(Debug)]
struct Slot {
    /// How many messages were taken out of it.
    generation: u32,
    /// The slot of the message behind it in its stream.
    behind: Option<u32>,
    ready: Option<Ready>,
}

/// A message that stands in a line; it is gone if its slot has another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    slot: u32,
    generation: u32,
}

impl LevelQueue {
    pub(super) fn new(wait_max: Duration) -> Self {
        Self {
            wait_max,
            slots: Vec::new(),
            free: Vec::new(),
            levels: Default::default(),
            arrivals: VecDeque::new(),
            streams: BTreeMap::new(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn push(&mut self, ready: Ready) -> Place {
        let IncomingMessage { stream, ordered, level, .. } = ready.message;
        let place = self.keep(ready);
        self.levels[level.index()].push_back(place);
        self.arrivals.push_back(place);
        if ordered {
            self.line_up(stream, place.slot);
        }
        place
    }

    /// Takes an unordered message out of turn, if it is still there.
    pub(super) fn remove(&mut self, place: Place) -> Option<Ready> {
        message_at(&self.slots, place).filter(|ready| !ready.message.ordered)?;
        let ready = self.take(place)?;
        self.forget_gone();
        Some(ready)
    }

    /// Takes the message whose turn it is.
    pub(super) fn pop(&mut self, now: Time) -> Option<Ready> {
        let turn = self.overdue(now).or_else(|| self.most_important())?;
        let first = self.first_of_stream(turn)?;
        let ready = self.take(first)?;
        self.forget_gone();
        Some(ready)
    }

    /// Takes the oldest message of a kind, whoever's turn it is.
    pub(super) fn take_first(
        &mut self,
        is_meant: impl Fn(&IncomingMessage) -> bool,
    ) -> Option<Ready> {
        let is_meant = |place: &&Place| {
            message_at(&self.slots, **place).is_some_and(|ready| is_meant(&ready.message))
        };
        let place = *self.arrivals.iter().find(is_meant)?;
        self.take(place)
    }

    fn keep(&mut self, ready: Ready) -> Place {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, behind: None, ready: None });
            self.slots.len() as u32 - 1
        });
        let kept = &mut self.slots[slot as usize];
        kept.ready = Some(ready);
        Place { slot, generation: kept.generation }
    }

    /// The oldest message, if it has waited for long enough.
    fn overdue(&mut self, now: Time) -> Option<Place> {
        let oldest = first_waiting(&mut self.arrivals, &self.slots)?;
        let since = message_at(&self.slots, oldest)?.since;
        (since + self.wait_max <= now).then_some(oldest)
    }

    fn most_important(&mut self) -> Option<Place> {
        self.levels.iter_mut().find_map(|line| first_waiting(line, &self.slots))
    }

    /// Who goes first where the turn is this message's.
    fn first_of_stream(&self, turn: Place) -> Option<Place> {
        let message = &message_at(&self.slots, turn)?.message;
        if !message.ordered {
            return Some(turn);
        }
        let slot = self.streams.get(&message.stream)?.first;
        let generation = self.slots.get(slot as usize)?.generation;
        Some(Place { slot, generation })
    }

    fn line_up(&mut self, stream: StreamId, slot: u32) {
        match self.streams.entry(stream) {
            Entry::Vacant(line) => {
                line.insert(Line { first: slot, last: slot });
            }
            Entry::Occupied(mut line) => {
                let before = std::mem::replace(&mut line.get_mut().last, slot);
                self.slots[before as usize].behind = Some(slot);
            }
        }
    }

    fn leave_line(&mut self, stream: StreamId, slot: u32, behind: Option<u32>) {
        let Entry::Occupied(mut entry) = self.streams.entry(stream) else { return };
        let Line { first, last } = *entry.get();
        match behind {
            None if first == slot => {
                entry.remove();
            }
            Some(next) if first == slot => entry.get_mut().first = next,
            _ => {
                let mut before = first;
                while let Some(next) = self.slots[before as usize].behind.filter(|it| *it != slot) {
                    before = next;
                }
                self.slots[before as usize].behind = behind;
                if last == slot {
                    entry.get_mut().last = before;
                }
            }
        }
    }

    fn take(&mut self, place: Place) -> Option<Ready> {
        let slot = &mut self.slots[place.slot as usize];
        let ready = slot.ready.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        let behind = slot.behind.take();
        self.free.push(place.slot);
        let IncomingMessage { stream, ordered, .. } = ready.message;
        if ordered {
            self.leave_line(stream, place.slot, behind);
        }
        Some(ready)
    }

    /// Shortens lines in which more than half are gone, which takes as many steps as messages were
    /// taken since the last time.
    fn forget_gone(&mut self) {
        let len_max = 2 * self.len() + GONE_MAX;
        for line in self.levels.iter_mut().chain([&mut self.arrivals]) {
            if line.len() > len_max {
                line.retain(|place| message_at(&self.slots, *place).is_some());
                line.shrink_to(len_max);
            }
        }
    }
}

fn message_at(slots: &[Slot], place: Place) -> Option<&Ready> {
    let slot = slots.get(place.slot as usize)?;
    slot.ready.as_ref().filter(|_| slot.generation == place.generation)
}

/// The first of a line, rid of those before it that are gone.
fn first_waiting(line: &mut VecDeque<Place>, slots: &[Slot]) -> Option<Place> {
    loop {
        let first = *line.front()?;
        if message_at(slots, first).is_some() {
            return Some(first);
        }
        line.pop_front();
    }
}

#[cfg(test)]
mod tests;
