//! [`Event`]: what an association reports to its user.

use std::fmt;

use anabranch_sansio::FourTuple;
use anabranch_wire::{ReconfigurationResult, StreamId};

use crate::causes::PeerCauses;
use crate::path_name::{PathId, PathState};
use crate::rate_signal::RateSignal;
use crate::send::SendFailure;
use crate::stats::{AssociationStats, PathReport};

/// Something happened on an association.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is done; where encryption is agreed on, there are keys.
    Connected {
        /// Whether the peer called us.
        incoming: bool,
        /// Streams that we may send on.
        outbound_streams: u16,
        /// Whether the peer understands partial reliability; if not, every message is reliable.
        partial_reliability: bool,
    },
    /// The peer restarted (RFC 9260 section 5.2.4, action A): what was not acknowledged may be
    /// lost, and sequence numbers begin anew.
    Restarted,
    /// Messages can be read. Said once until all were read.
    Readable,
    /// The send queue, after having refused a message, has room again.
    Writable,
    /// A message was not delivered (RFC 9260 section 11.2.2). Reported for messages with an
    /// [`OutgoingMessage::context`](crate::OutgoingMessage::context) only.
    SendFailed {
        /// The message's context.
        context: u64,
        /// Its stream.
        stream: StreamId,
        /// Whether a part of it went out, so that the peer may have received it all the same.
        was_sent: bool,
        /// Why it was not delivered.
        why: SendFailure,
    },
    /// All that was handed over is acknowledged or given up. Follows
    /// [`Association::report_when_dry`](crate::Association::report_when_dry).
    SenderDry,
    /// A path came to be.
    PathAdded {
        /// Which.
        path: PathId,
        /// Its addresses.
        tuple: FourTuple,
    },
    /// A path that no longer answered made way for another one, because there were as many as
    /// [`PathConfig::paths_max`](crate::PathConfig::paths_max) allows. No other path
    /// gets its name.
    PathRemoved {
        /// Which.
        path: PathId,
        /// How it stood at its end.
        last: Box<PathReport>,
    },
    /// The peer's end of a path has another address or port, as when a NAT forgot the one before;
    /// it has answered from there.
    PathMoved {
        /// Which.
        path: PathId,
        /// Its addresses before.
        from: FourTuple,
        /// Its addresses now.
        to: FourTuple,
    },
    /// A path's state changed.
    PathStateChanged {
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
    /// Streams began anew (RFC 6525). All messages from before can be read when this is said.
    StreamsReset {
        /// Whose streams.
        direction: Direction,
        /// Which ones; none stands for all.
        streams: Vec<StreamId>,
    },
    /// The peer refused to reset streams of ours, which go on as before.
    ResetRefused {
        /// Which ones.
        streams: Vec<StreamId>,
        /// The peer's answer.
        result: ReconfigurationResult,
    },
    /// There are more streams than before (RFC 6525): ours, because we asked for them, or the
    /// peer's.
    StreamsAdded {
        /// Whose streams.
        direction: Direction,
        /// How many more.
        streams: u16,
    },
    /// The peer works on our request for more streams; the answer is to come.
    AddInProgress {
        /// Whose streams.
        direction: Direction,
        /// How many more were asked for.
        streams: u16,
    },
    /// The peer refused our request for more streams.
    AddRefused {
        /// Whose streams.
        direction: Direction,
        /// How many more were asked for.
        streams: u16,
        /// The peer's answer.
        result: ReconfigurationResult,
    },
    /// What the association can carry changed: by an eighth or more, or in whether it may be more.
    /// Told at most every 200 ms, and unless it fell at most once a second.
    RateChanged(RateSignal),
    /// The peer reported errors, which do not end the association (RFC 9260 section 3.3.10). Who
    /// authenticates everything else does not authenticate this. Of many that nobody took in the
    /// meantime, the first 16 are told.
    PeerError {
        /// Its error causes.
        causes: PeerCauses,
    },
    /// The peer shuts the association down: what we sent is still delivered, no more is taken.
    PeerClosing,
    /// The association ended. The last event.
    Closed {
        /// Why.
        reason: CloseReason,
        /// The final counters.
        stats: Box<AssociationStats>,
    },
}

/// The way that a stream's messages take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From us to the peer.
    Outgoing,
    /// From the peer to us.
    Incoming,
}

/// Why an association ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// Both sides shut it down after all data was delivered.
    Shutdown,
    /// We aborted it.
    Aborted,
    /// The peer aborted it.
    AbortedByPeer {
        /// Its error causes.
        causes: PeerCauses,
    },
    /// The peer did not answer the handshake.
    HandshakeTimeout,
    /// The peer does not take our key, or wants one that we do not have (RFC 4895).
    KeyRefused,
    /// The peer does not authenticate its chunks, and we demand that.
    PeerNotAuthenticated,
    /// Both ends could not agree on keys.
    NoKeys {
        /// What is wrong, and what would be right.
        what: String,
    },
    /// The peer did not finish agreeing on keys in time.
    KeysTimeout,
    /// The peer has proved to be somebody whom we do not trust.
    PeerUntrusted {
        /// Who, and what would be right.
        what: String,
    },
    /// The peer does not know the DTLS chunk, and we demand encryption.
    PeerNotEncrypted,
    /// The peer demands encryption, and we do not encrypt.
    PeerDemandsEncryption,
    /// The peer stopped answering: 'Association.Max.Retrans' was exceeded.
    PeerUnreachable,
    /// The shutdown took too long (T5-shutdown-guard).
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
            Self::Shutdown => f.write_str("the association was shut down in order"),
            Self::Aborted => f.write_str("we aborted the association"),
            Self::AbortedByPeer { causes } if causes.is_empty() => {
                f.write_str("the peer aborted the association without a reason")
            }
            Self::AbortedByPeer { causes } => {
                write!(f, "the peer aborted the association: {causes}")
            }
            Self::HandshakeTimeout => f.write_str("the peer did not answer the handshake"),
            Self::KeyRefused => f.write_str("the peer refused our key, or that we have none"),
            Self::PeerNotAuthenticated => f.write_str("the peer does not authenticate itself"),
            Self::NoKeys { what } => write!(f, "no keys were agreed on: {what}"),
            Self::KeysTimeout => f.write_str("the peer did not finish agreeing on keys in time"),
            Self::PeerUntrusted { what } => write!(f, "the peer is not trusted: {what}"),
            Self::PeerNotEncrypted => {
                f.write_str("the peer does not encrypt, and encryption is demanded here")
            }
            Self::PeerDemandsEncryption => {
                f.write_str("the peer demands encryption, and we do not encrypt")
            }
            Self::PeerUnreachable => f.write_str("the peer stopped answering on every path"),
            Self::ShutdownTimeout => f.write_str("the peer did not finish the shutdown"),
            Self::PeerMisbehaved { what } => write!(f, "the peer broke the protocol: {what}"),
        }
    }
}

/// A caller that got no association, for want of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedCall {
    /// Where it called from.
    pub path: FourTuple,
    /// What it lacks.
    pub why: RefusedCallReason,
}

/// What a caller lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedCallReason {
    /// It does not authenticate its chunks (RFC 4895).
    NotAuthenticated,
    /// It authenticates them by another key.
    OtherKey,
    /// It does not know the DTLS chunk, or no way to agree on keys that we know.
    NotEncrypted,
}
