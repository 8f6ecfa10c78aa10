//! [`Element`]: what all boxes of the network have in common.

use std::fmt;

use anabranch_sansio::Time;

use crate::Packet;

/// A box that packets go through: they are handed in, and polled out when their time has come.
///
/// `now` never goes back. Each element draws from its own seeded generator, in the order of its
/// packets, so that its decisions depend neither on how often it is polled nor on other elements.
pub trait Element {
    /// Takes a packet that arrived at `now`.
    ///
    /// Invalidates the answers of all polls.
    fn handle_packet(&mut self, now: Time, packet: Packet);

    /// The next packet that leaves at `now` or should have left before.
    ///
    /// Invalidates [`poll_timeout`](Self::poll_timeout). To be called until it returns `None`.
    #[must_use]
    fn poll_packet(&mut self, now: Time) -> Option<Packet>;

    /// When to call [`poll_packet`](Self::poll_packet) next, if ever. It may then turn out that the
    /// packet is late or lost, and the answer is a new timeout instead.
    ///
    /// Invalidated by every other call.
    #[must_use]
    fn poll_timeout(&self) -> Option<Time>;

    /// The next packet that the element dropped, if it keeps them; the simulation records them in
    /// captures and uses their buffers again.
    #[must_use]
    fn poll_dropped(&mut self) -> Option<(DropCause, Packet)> {
        None
    }
}

/// Why an element dropped a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// The loss model took it.
    Loss,
    /// The queue was full.
    Queue,
    /// The link was cut or down.
    Cut,
    /// It was longer than the link's MTU.
    Mtu,
    /// The medium of a cell had sent it as often as it does, and it never arrived.
    Retries,
    /// A NAT had no mapping for it, or filtered it.
    Nat,
}

impl DropCause {
    /// The cause in a word or two, as tables and traces have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "lost",
            Self::Queue => "refused",
            Self::Cut => "cut",
            Self::Mtu => "too long",
            Self::Retries => "given up",
            Self::Nat => "filtered",
        }
    }

    /// The cause in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loss => "lost on the link",
            Self::Queue => "refused by a full queue",
            Self::Cut => "lost to a cut of the link",
            Self::Mtu => "longer than the link's MTU",
            Self::Retries => "given up after its last attempt",
            Self::Nat => "not let through by a NAT",
        }
    }
}

impl fmt::Display for DropCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
