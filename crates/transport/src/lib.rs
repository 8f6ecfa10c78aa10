//! What media needs of a transport, and nothing else of it.
//!
//! A [`Transport`] is the [`Machine`] of one socket: it calls and is called, and each peer is a
//! [`Connection`], over one path or several. Sessions and television speak to these two traits
//! alone. [`SctpTransport`] is the one over SCTP, [`DccpTransport`] the one over DCCP,
//! [`SharedTransport`] takes callers over both at one port; an association of a browser, inside
//! DTLS, is a [`Connection`] too.
//!
//! ```text
//! session, television     streams, treatment, dropping, playout
//! ----------------------- Transport, Connection
//! SCTP | SCTP in DTLS | DCCP | …  packets, losses, congestion, paths
//! ```
//!
//! A transport that repeats nothing can be one: what must arrive is then repeated behind its
//! [`Connection::send`].

mod bond;
mod dccp;
mod event;
mod message;
mod path;
mod sctp;
mod shared;
mod stats;

use std::fmt;
use std::net::SocketAddr;

use anabranch_sansio::{FourTuple, Machine, Time};

pub use anabranch_sansio::PathId;
pub use anabranch_sctp::Encryption;
pub use bond::{Bond, UnknownBond};
pub use dccp::{CONNECTIONS_MAX, Connections, DCCP_PORT, DccpConfig, DccpTransport};
pub use event::{CloseReason, ConnectError, Event, PathEvent, RefusedCall, RefusedCallReason};
pub use message::{
    Incoming, Level, Outgoing, PathPreference, PayloadId, Reliability, SendError, StreamId,
};
pub use path::PathState;
pub use sctp::{SctpConfig, SctpTransport};
pub use shared::SharedTransport;
pub use stats::{ConnectionStats, LevelStats, PathReport, RateSignal, StrangerStats, StreamStats};

/// A connection of a transport. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.0)
    }
}

/// The connections of one socket.
///
/// Whether callers are answered is a matter of how it was set up. What has a default here, a simple
/// transport does not have: keys, addresses to tell of, counters. After each call that changes it
/// or one of its connections, all of its outputs are to be polled, as of any [`Machine`].
pub trait Transport: Machine<Event = (ConnectionId, Event)> + fmt::Debug + Send {
    /// Tells a listener which of its addresses callers may use beside the one they called.
    fn set_local_addresses(&mut self, _locals: Vec<SocketAddr>) {}

    /// Calls the peer at the other end of `paths`, the first of which is the primary. What is sent
    /// before [`Event::Connected`] goes along with the handshake where that is possible.
    ///
    /// # Errors
    /// Says why it cannot be called.
    fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<ConnectionId, ConnectError>;

    /// A connection that has not ended, or whose last messages are not read.
    fn connection(&self, id: ConnectionId) -> Option<&dyn Connection>;

    /// The same, to act on.
    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut dyn Connection>;

    /// Drops a connection without a word to its peer.
    fn forget(&mut self, id: ConnectionId);

    /// How many connections there are, those that begin or end included.
    fn connections(&self) -> usize;

    /// The next caller that was not let in because of its key, or of what it speaks.
    fn poll_refused_call(&mut self) -> Option<RefusedCall> {
        None
    }

    /// Counters of datagrams that belong to no connection.
    fn strangers(&self) -> StrangerStats {
        StrangerStats::default()
    }
}

/// One peer, over one path or several.
///
/// Streams are numbered from 0; messages of one stream keep their order where they are sent
/// [in order](Outgoing::ordered), and no stream waits for another. What has a default here, a
/// simple connection does not have: several paths, priorities, a measure of what it carries.
pub trait Connection {
    /// Takes a message to be sent.
    ///
    /// # Errors
    /// There is no room for it, and [`Event::Writable`] follows; or it will never be taken.
    fn send(&mut self, now: Time, message: Outgoing) -> Result<(), SendError>;

    /// The next message of the peer.
    fn receive(&mut self) -> Option<Incoming>;

    /// Which stream goes first when not all can: 0 before 1; equal ones in turn.
    fn set_stream_priority(&mut self, _stream: StreamId, _priority: u16) {}

    /// Gives up what was sent on a stream and has not arrived, so far as that is possible.
    fn withdraw(&mut self, _now: Time, _stream: StreamId) {}

    /// What the connection carries now; `None` until some data was sent.
    fn rate(&self) -> Option<RateSignal> {
        None
    }

    /// Bytes that wait to be sent for the first time.
    fn queued(&self) -> usize;

    /// Payload bytes that wait to be sent for the first time on streams of this priority or one
    /// that goes before.
    fn queued_at(&self, _priority: u16) -> usize {
        self.queued()
    }

    /// Bytes that the peer has acknowledged. Never goes down.
    fn bytes_acked(&self) -> u64;

    /// Whether all that was taken is delivered or given up.
    fn is_drained(&self) -> bool;

    /// Who the peer has proved to be, if the connection is encrypted: its public key.
    fn peer_key(&self) -> Option<Vec<u8>> {
        None
    }

    /// When the last packet came from the peer.
    fn last_heard(&self) -> Option<Time> {
        None
    }

    /// Bytes of the longest message that fits into one packet. A longer one is lost with any of
    /// its packets.
    fn whole_message_max(&self) -> usize;

    /// Whether a message that may be given up is sent once, and not again when it was lost.
    fn sends_once(&self) -> bool {
        false
    }

    /// Something was left out that would have been sent if there were room: what is sent now is
    /// less than there is.
    fn note_left_out(&mut self, _now: Time) {}

    /// What was sent on a stream.
    fn stream_stats(&self, _stream: StreamId) -> StreamStats {
        StreamStats::default()
    }

    /// Counters, and the state of all paths.
    fn stats(&self) -> ConnectionStats;

    /// Whether there is more than one path, whatever state they are in.
    fn is_multihomed(&self) -> bool {
        false
    }

    /// Makes a path the primary one. False if it cannot be.
    fn set_primary(&mut self, _path: PathId) -> bool {
        false
    }

    /// Has data take a path only while no other stands, or like any other again. What is in flight
    /// there stays. False if that cannot be.
    fn spare_path(&mut self, _path: PathId, _spared: bool) -> bool {
        false
    }

    /// Opens a further path to the peer. `None` if there is no room for it.
    fn open_path(&mut self, _now: Time, _tuple: FourTuple) -> Option<PathId> {
        None
    }

    /// Nothing can be sent from this address any more.
    fn close_paths_from(&mut self, _now: Time, _local: SocketAddr) {}

    /// Ends the connection when all that was taken is delivered or given up.
    fn shutdown(&mut self, now: Time);

    /// Ends the connection at once, and tells the peer why.
    fn abort(&mut self, reason: &str);
}

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
