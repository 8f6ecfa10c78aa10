//! [`Slots`]: messages that stand in lines, which each of them leaves from wherever it stands.

use std::num::NonZeroU32;

use super::super::ready::Ready;

/// Messages, and who stands beside whom in which line.
///
/// The lines run through the slots: to join one or to leave it takes neither memory nor a search.
/// Messages are kept apart from that, so that who stands beside whom is close together in memory.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// By slot.
    messages: Vec<Option<Ready>>,
    slots: Vec<Slot>,
    /// Slots that have been in use since the last time when none was: the first ones. So a reader
    /// that keeps up finds what comes close together, and in the order in which it came.
    used: usize,
    /// Those of them without a message.
    free: Vec<SlotId>,
    /// Messages that ever came.
    arrivals: u64,
}

/// Where a message stands.
#[derive(Debug, Default)]
struct Slot {
    /// How many messages came before it.
    arrival: u64,
    neighbours: ByRow<Neighbours>,
}

/// Which of the lines it stands in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Row {
    Level,
    Stream,
}

/// By [`Row`].
pub(super) type ByRow<T> = [T; 2];

/// Without a meaning where it stands in no line.
#[derive(Debug, Clone, Copy, Default)]
struct Neighbours {
    /// Without a meaning of the first one: to let that go touches no other slot.
    before: Option<SlotId>,
    behind: Option<SlotId>,
}

/// A line of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) first: Option<SlotId>,
    pub(super) last: Option<SlotId>,
}

/// A slot, by its number from one on: so `None` takes no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotId(NonZeroU32);

impl SlotId {
    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A message in a slot, which is gone if another one is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Place {
    pub(super) slot: SlotId,
    arrival: u64,
}

impl Slots {
    /// How many messages are kept.
    pub(super) const fn len(&self) -> usize {
        self.used - self.free.len()
    }

    /// Takes a message that is going to [join](Self::join) lines behind these.
    pub(super) fn keep(&mut self, ready: Ready, before: ByRow<Option<SlotId>>) -> Place {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let slot = self.free.pop().unwrap_or_else(|| self.next());
        self.messages[slot.index()] = Some(ready);
        let neighbours = before.map(|before| Neighbours { before, behind: None });
        self.slots[slot.index()] = Slot { arrival, neighbours };
        Place { slot, arrival }
    }

    /// The first slot that is not in use.
    fn next(&mut self) -> SlotId {
        let slot = SlotId(NonZeroU32::MIN.saturating_add(self.used as u32));
        if self.used == self.slots.len() {
            self.messages.push(None);
            self.slots.push(Slot::default());
        }
        self.used += 1;
        slot
    }

    /// Takes a message that has left its lines.
    pub(super) fn vacate(&mut self, slot: SlotId) -> Option<Ready> {
        self.free.push(slot);
        if self.len() == 0 {
            self.free.clear();
            self.used = 0;
        }
        self.messages[slot.index()].take()
    }

    pub(super) fn ready(&self, slot: SlotId) -> Option<&Ready> {
        self.messages[slot.index()].as_ref()
    }

    pub(super) fn at(&self, Place { slot, arrival }: Place) -> Option<&Ready> {
        let is_it = self.slots[slot.index()].arrival == arrival;
        self.messages[slot.index()].as_ref().filter(|_| is_it)
    }

    /// Which of them came first.
    pub(super) fn oldest<const N: usize>(&self, slots: [Option<SlotId>; N]) -> Option<SlotId> {
        slots.into_iter().flatten().min_by_key(|slot| self.slots[slot.index()].arrival)
    }

    pub(super) fn behind(&self, slot: SlotId, row: Row) -> Option<SlotId> {
        self.neighbours(slot, row).behind
    }

    /// Lets it stand behind the last one of a line, as it was [kept](Self::keep).
    pub(super) fn join(&mut self, slot: SlotId, row: Row, line: &mut Line) {
        match line.last.replace(slot) {
            Some(before) => self.neighbours_mut(before, row).behind = Some(slot),
            None => line.first = Some(slot),
        }
    }

    pub(super) fn leave(&mut self, slot: SlotId, row: Row, line: &mut Line) {
        let Neighbours { before, behind } = self.neighbours(slot, row);
        if line.first == Some(slot) {
            line.first = behind;
            if behind.is_none() {
                line.last = None;
            }
            return;
        }
        if let Some(before) = before {
            self.neighbours_mut(before, row).behind = behind;
        }
        match behind {
            Some(behind) => self.neighbours_mut(behind, row).before = before,
            None => line.last = before,
        }
    }

    fn neighbours(&self, slot: SlotId, row: Row) -> Neighbours {
        self.slots[slot.index()].neighbours[row as usize]
    }

    fn neighbours_mut(&mut self, slot: SlotId, row: Row) -> &mut Neighbours {
        &mut self.slots[slot.index()].neighbours[row as usize]
    }
}
