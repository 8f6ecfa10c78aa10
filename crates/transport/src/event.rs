//! What a transport reports of its connections.

use std::fmt;
use std::net::SocketAddr;

use anabranch_sansio::{FourTuple, PathId};
use thiserror::Error;

use crate::{ConnectionStats, PathReport, PathState, RateSignal};

/// Something happened on a connection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The peer is there.
    Connected {
        /// Whether it called.
        incoming: bool,
        /// Streams that we may send on.
        streams: u16,
        /// Whether messages can be given up; if not, every message is reliable.
        partial_reliability: bool,
    },
    /// The peer began anew on the same addresses: what it had not acknowledged may be lost.
    Restarted {
        /// Whether messages can be given up.
        partial_reliability: bool,
    },
    /// Messages can be read. Reported once until all were read.
    Readable,
    /// The connection, after having refused a message, has room again.
    Writable,
    /// Of a path.
    Path(PathEvent),
    /// What the connection carries changed.
    RateChanged(RateSignal),
    /// The connection ended. The last event.
    Closed {
        /// Why.
        reason: CloseReason,
        /// The final counters.
        stats: Box<ConnectionStats>,
    },
}

/// Something happened to a path.
#[derive(Debug, Clone, PartialEq)]
pub enum PathEvent {
    /// It came to be.
    Added {
        /// Which.
        path: PathId,
        /// Its addresses.
        tuple: FourTuple,
    },
    /// It no longer answered, and made way for another one. No other path gets its name.
    Removed {
        /// Which.
        path: PathId,
        /// How it stood at its end.
        last: Box<PathReport>,
    },
    /// The peer's end of it has another address or port: a NAT changed it, and the peer has
    /// answered from there.
    Moved {
        /// Which.
        path: PathId,
        /// Its addresses before.
        from: FourTuple,
        /// Its addresses now.
        to: FourTuple,
    },
    /// Its state changed.
    StateChanged {
        /// Which.
        path: PathId,
        /// The state before.
        from: PathState,
        /// The state now.
        to: PathState,
    },
    /// Data takes another path from now on.
    DataPathChanged {
        /// The path of before.
        from: PathId,
        /// The path of now.
        to: PathId,
    },
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// In order, after all data was delivered.
    Shutdown,
    /// We aborted it.
    Aborted,
    /// The peer aborted it, and says why.
    PeerLeft {
        /// Its user's words.
        reason: String,
    },
    /// The peer does not know this connection: it was started anew.
    PeerForgot,
    /// The peer's transport aborted it.
    AbortedByPeer {
        /// Why, in words.
        reason: String,
    },
    /// The peer did not answer the handshake.
    HandshakeTimeout,
    /// The peer does not take our key, or wants one that we do not have.
    KeyRefused {
        /// Whether we have one.
        has_key: bool,
    },
    /// The peer has no key, and we demand one.
    PeerNotAuthenticated,
    /// Both ends could not agree on keys, or the peer does not trust us.
    NoKeys {
        /// What is wrong, and what would be right.
        what: String,
    },
    /// The peer did not finish agreeing on keys in time: it may the next time.
    KeysTimeout,
    /// The peer has proved to be somebody whom we do not trust.
    PeerUntrusted {
        /// Who, and what would be right.
        what: String,
    },
    /// The peer does not encrypt, and we demand it.
    PeerNotEncrypted,
    /// The peer demands encryption, and we do not encrypt.
    PeerDemandsEncryption,
    /// The peer takes no calls over DCCP.
    ProtocolRefused,
    /// The peer stopped answering on every path.
    PeerUnreachable,
    /// The peer did not finish the shutdown.
    ShutdownTimeout,
    /// The peer broke the protocol, and we aborted.
    PeerMisbehaved {
        /// What it did.
        what: String,
    },
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shutdown => f.write_str("the connection was shut down in order"),
            Self::Aborted => f.write_str("we ended the connection at once"),
            Self::PeerLeft { reason } => write!(f, "the peer left: {reason}"),
            Self::PeerForgot => {
                f.write_str("the other end no longer knows this connection: it was restarted")
            }
            Self::AbortedByPeer { reason } => write!(f, "the peer ended the connection: {reason}"),
            Self::HandshakeTimeout => f.write_str("the peer did not answer the handshake"),
            Self::KeyRefused { has_key: true } => f.write_str("the peer refused our key"),
            Self::KeyRefused { has_key: false } => {
                f.write_str("the peer wants a key, and we have none")
            }
            Self::PeerNotAuthenticated => f.write_str("the peer does not authenticate itself"),
            Self::NoKeys { what } | Self::PeerUntrusted { what } => f.write_str(what),
            Self::KeysTimeout => f.write_str("the peer did not finish agreeing on keys in time"),
            Self::PeerNotEncrypted => f.write_str("the peer does not encrypt"),
            Self::PeerDemandsEncryption => f.write_str("the peer demands encryption"),
            Self::ProtocolRefused => f.write_str("the peer takes no calls over DCCP"),
            Self::PeerUnreachable => f.write_str("the peer stopped answering on every path"),
            Self::ShutdownTimeout => f.write_str("the peer did not finish the shutdown"),
            Self::PeerMisbehaved { what } => write!(f, "the peer broke the protocol: {what}"),
        }
    }
}

/// Why no call was begun, in words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct ConnectError {
    /// Why.
    pub reason: String,
}

/// A caller that was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedCall {
    /// Where it called from.
    pub remote: SocketAddr,
    /// What it lacks.
    pub why: RefusedCallReason,
}

/// What a caller lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedCallReason {
    /// A key at all.
    Key,
    /// The right key.
    RightKey,
    /// Encryption.
    Encryption,
    /// A protocol that is spoken here: it calls over DCCP, which takes no calls.
    Protocol,
}
