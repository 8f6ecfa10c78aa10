//! [`LinkStats`]: what went into a link and what became of it.

use crate::{DropCause, Packet, Traffic};

/// What went into a link and what became of it.
///
/// `offered = delivered + dropped + queued + sending + on_wire`, in packets and in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct LinkStats {
    /// All packets that were handed in.
    pub offered: Traffic,
    /// Those that came out.
    pub delivered: Traffic,
    /// Those that never will.
    pub dropped: Drops,
    /// Those that wait in the queue now.
    pub queued: Traffic,
    /// The one that is being sent now; in a cell, all that have been sent and not acknowledged.
    pub sending: Traffic,
    /// Those that have been sent and not yet arrived.
    pub on_wire: Traffic,
    /// How often the medium of a cell sent a frame again.
    pub repeated: u64,
}

impl LinkStats {
    /// All packets inside the link: `queued + sending + on_wire`.
    #[must_use]
    pub fn in_flight(&self) -> Traffic {
        self.queued + self.sending + self.on_wire
    }
}

/// Dropped packets by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Drops {
    /// Lost on the way by the loss model.
    pub loss: Traffic,
    /// Refused by a full queue.
    pub queue: Traffic,
    /// Inside the link when it was cut, or offered while it was down.
    pub cut: Traffic,
    /// Longer than the link's MTU.
    pub mtu: Traffic,
    /// Given up by the medium of a cell, after as many attempts as it makes.
    pub retries: Traffic,
}

impl Drops {
    /// The sum of all causes.
    #[must_use]
    pub fn total(&self) -> Traffic {
        self.loss + self.queue + self.cut + self.mtu + self.retries
    }

    pub(crate) fn count(&mut self, cause: DropCause, packet: &Packet) {
        match cause {
            DropCause::Loss => self.loss.add(packet),
            DropCause::Queue => self.queue.add(packet),
            DropCause::Cut => self.cut.add(packet),
            DropCause::Mtu => self.mtu.add(packet),
            DropCause::Retries => self.retries.add(packet),
            // Not a link's.
            DropCause::Nat => {}
        }
    }
}
