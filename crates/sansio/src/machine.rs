//! The trait [`Machine`] and what passes through it.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use crate::{Time, TraceRecord};

/// A protocol endpoint without a world: it is told time and bytes, and asked what to do.
pub trait Machine {
    /// What the machine tells its user.
    type Event;

    /// Takes one datagram that arrived at `now`. Bad bytes are counted and dropped.
    ///
    /// Invalidates the answers of all polls.
    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>);

    /// Acts on every timer that is due at `now`. Harmless when none is.
    ///
    /// Invalidates the answers of all polls.
    fn handle_timeout(&mut self, now: Time);

    /// Appends the next transmission to `buf` (which the caller passes empty) and describes it, or
    /// leaves `buf` alone and returns `None` when there is nothing to send now.
    ///
    /// Invalidates [`poll_timeout`](Self::poll_timeout): sending arms timers.
    #[must_use]
    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit>;

    /// When [`handle_timeout`](Self::handle_timeout) must be called next, and why.
    ///
    /// Invalidated by every other call but `poll_event`.
    #[must_use]
    fn poll_timeout(&self) -> Option<Wakeup>;

    /// The next thing that the user should know.
    #[must_use]
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// How long what arrives may gather now before it is handed over, where the driver rests. Not
    /// at all unless the machine says so.
    #[must_use]
    fn rest(&self) -> Duration {
        Duration::ZERO
    }

    /// Begins or ends to keep a record of what the machine does and why, for
    /// [`poll_trace`](Self::poll_trace). Changes nothing else.
    fn set_tracing(&mut self, _on: bool) {}

    /// The next record, if the machine keeps any. When nobody asks, the oldest go.
    #[must_use]
    fn poll_trace(&mut self) -> Option<TraceRecord> {
        None
    }
}

/// A path: the pair of transport addresses that a datagram travels between, ports included.
///
/// Two interfaces towards one server address are two paths, and so are two modems behind one NAT.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FourTuple {
    /// Our end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
}

impl FourTuple {
    /// The path from `local` to `remote`.
    #[must_use]
    pub const fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self { local, remote }
    }

    /// The same path seen from its other end.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { local: self.remote, remote: self.local }
    }
}

impl fmt::Display for FourTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.local, self.remote)
    }
}

impl fmt::Debug for FourTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a path within its association or connection, which never names another one there.
/// The paths that a caller gives are 0, 1, and so on; further ones get the next numbers, some of
/// which go to addresses that turn out to be none of the peer's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path {}", self.0)
    }
}

impl fmt::Debug for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The two ECN bits of an IP header (RFC 3168 section 5) when they are not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// ECN-capable transport, codepoint 01.
    Ect1 = 0b01,
    /// ECN-capable transport, codepoint 10.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// The path, seen from the receiving end: `local` is where it arrived.
    pub path: FourTuple,
    /// The ECN codepoint of the IP header, if it was not zero.
    pub ecn: Option<Ecn>,
    /// The payload.
    pub bytes: &'a [u8],
}

/// How to send the bytes that [`Machine::poll_transmit`] wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The path, seen from the sending end.
    pub path: FourTuple,
    /// The ECN codepoint to set in the IP header.
    pub ecn: Option<Ecn>,
    /// `Some(n)`: the buffer holds several datagrams of `n` bytes each, the last one at most `n`.
    /// `None`: the buffer is one datagram.
    pub segment_size: Option<usize>,
    /// Whether IP may fragment it. Else it arrives whole or not at all, as what finds out how long
    /// packets may be has to (RFC 8899 section 3); true for what is known to be too long, and
    /// cannot be cut any more (RFC 9260 section 6.9).
    pub may_fragment: bool,
}

impl Transmit {
    /// One datagram, without a mark of ECN, which IP must not fragment.
    #[must_use]
    pub const fn datagram(path: FourTuple) -> Self {
        Self { path, ecn: None, segment_size: None, may_fragment: false }
    }
}

/// A point in time at which a machine wants to be woken, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wakeup {
    /// When to call [`Machine::handle_timeout`].
    pub at: Time,
    /// The timer's name, so that a busy loop is one readable line in a log.
    pub why: &'static str,
}
