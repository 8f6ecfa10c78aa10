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
    /// Slots without a message.
    free: Vec<SlotId>,
    /// Messages that ever came.
    arrivals: u64,
}

/// Where a message stands.
#[derive(Debug)]
struct Slot {
    /// How many messages came before it.
    arrival: u64,
    /// By [`Row`].
    neighbours: [Neighbours; 2],
}

/// Which of the lines it stands in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Row {
    Level,
    Stream,
}

/// Both are `None` where it stands in no line, too.
#[derive(Debug, Clone, Copy, Default)]
struct Neighbours {
    before: Option<SlotId>,
    behind: Option<SlotId>,
}

/// A line of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) first: Option<SlotId>,
    last: Option<SlotId>,
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
        self.slots.len() - self.free.len()
    }

    pub(super) fn keep(&mut self, ready: Ready) -> Place {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let slot = self.free.pop().unwrap_or_else(|| self.add());
        self.messages[slot.index()] = Some(ready);
        let kept = &mut self.slots[slot.index()];
        kept.arrival = arrival;
        kept.neighbours = Default::default();
        Place { slot, arrival }
    }

    fn add(&mut self) -> SlotId {
        let slot = SlotId(NonZeroU32::MIN.saturating_add(self.slots.len() as u32));
        self.messages.push(None);
        self.slots.push(Slot { arrival: 0, neighbours: Default::default() });
        slot
    }

    /// Takes a message that has left its lines.
    pub(super) fn vacate(&mut self, slot: SlotId) -> Option<Ready> {
        self.free.push(slot);
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

    /// Whether nobody stands before it.
    pub(super) fn is_first(&self, slot: SlotId, row: Row) -> bool {
        self.neighbours(slot, row).before.is_none()
    }

    pub(super) fn behind(&self, slot: SlotId, row: Row) -> Option<SlotId> {
        self.neighbours(slot, row).behind
    }

    pub(super) fn append(&mut self, slot: SlotId, row: Row, line: &mut Line) {
        let before = line.last.replace(slot);
        self.neighbours_mut(slot, row).before = before;
        match before {
            Some(before) => self.neighbours_mut(before, row).behind = Some(slot),
            None => line.first = Some(slot),
        }
    }

    pub(super) fn unlink(&mut self, slot: SlotId, row: Row, line: &mut Line) {
        let Neighbours { before, behind } = self.neighbours(slot, row);
        match before {
            Some(before) => self.neighbours_mut(before, row).behind = behind,
            None => line.first = behind,
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
