//! What a session tells its user.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_media::playout::Timeliness;
use anabranch_media::{Class, Layer, Track};
use anabranch_sansio::{FourTuple, PathId, Time};
use anabranch_transport::{ConnectError, PathEvent, RateSignal};
use thiserror::Error;

use super::{Refusal, Source};
use crate::dropping::Notice;

/// Something happened in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Both ends agreed: media may flow.
    Connected(Box<Agreement>),
    /// The peer that we called does not serve us.
    Refused(Refusal),
    /// A caller was not served.
    TurnedAway {
        /// Who.
        remote: SocketAddr,
        /// Why.
        refusal: Refusal,
    },
    /// Of a path to the peer.
    Path(PathEvent),
    /// The receiver was told that the sender's media changed.
    SourceChanged(Source),
    /// The sender, after it had none, has room for media of a source that can wait.
    Writable,
    /// The receiver has items that are due. Said once until none is left.
    MediaDue,
    /// What the network carries now changed.
    RateChanged(RateSignal),
    /// The sender left out pictures that the network does not carry, or no longer does.
    Dropping(Notice),
    /// Pictures were left out that the receiver's output does not take, or no longer are: by the
    /// sender before it sent them, or by the receiver.
    OutputBehind(Notice),
    /// The session is over.
    Disconnected(Disconnect),
}

/// What both ends agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The peer's program, in its own words.
    pub program: String,
    /// The path of the handshake.
    pub path: FourTuple,
    /// Whether the peer called.
    pub incoming: bool,
    /// The latency: the larger one of both.
    pub latency: Duration,
    /// The stream's name, if either end gave one.
    pub stream_id: Option<String>,
    /// Whether what comes too late can be given up; if not, everything is reliable.
    pub partial_reliability: bool,
    /// Who the peer has proved to be, if all is encrypted: its public key.
    pub peer_key: Option<Vec<u8>>,
    /// What the peer sends, if it is the sender.
    pub source: Option<Source>,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disconnect {
    /// The sender ended it: everything was delivered or given up.
    Ended,
    /// The peer is gone.
    Lost {
        /// Why, in words.
        reason: String,
    },
}

impl fmt::Display for Disconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the stream has ended"),
            Self::Lost { reason } => f.write_str(reason),
        }
    }
}

/// One piece as it reached the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When, on the receiver's clock.
    pub at: Time,
    /// When its newest item came to the sender, on the sender's clock.
    pub sent: Time,
    /// On which path its last part came.
    pub path: PathId,
    /// The track.
    pub track: Track,
    /// The layer.
    pub layer: Layer,
    /// The class.
    pub class: Class,
    /// Number of the unit in its track.
    pub frame: u64,
    /// Number of the piece in its unit.
    pub index: u64,
    /// Whether it ends its unit.
    pub last: bool,
    /// Bytes of the message.
    pub len: usize,
    /// Whether it came in time.
    pub timeliness: Timeliness,
}

/// Why no call was begun.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// There is a peer.
    #[error("the session has a peer already: it must end before another call")]
    Connected,
    /// The transport refuses.
    #[error(transparent)]
    Transport(#[from] ConnectError),
}

/// Why media was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PushError {
    /// The session sends something else.
    #[error("the session was announced to send {announced}: send that")]
    WrongFormat {
        /// What it sends.
        announced: &'static str,
    },
    /// The media was said to have ended.
    #[error("the media has ended: begin another session")]
    Finished,
}
