//! What an end of a call tells its user.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_sansio::{FourTuple, PathId, Rate, Time};
use anabranch_session::Refusal;
use anabranch_transport::ConnectError;
use bytes::Bytes;
use thiserror::Error;

use crate::exchange::{Exchanged, Takes};
use crate::{Media, PictureKind};

/// Something happened in a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The call began.
    Began(Box<Peer>),
    /// The peer sends something else from now on, or muted itself.
    PeerMedia(Media),
    /// A caller was not served.
    TurnedAway {
        /// Who.
        remote: SocketAddr,
        /// Why.
        refusal: Refusal,
    },
    /// The encoder is to make at most this from now on; zero where no call runs.
    Encode(Rate),
    /// The next picture is to be a key picture.
    KeyWanted,
    /// Nothing is heard on any path any more.
    NoPath,
    /// Something is again.
    PathsBack {
        /// After how long.
        after: Duration,
    },
    /// For people who want to know what the network did.
    Log(LogLine),
    /// Something was written, or is to be done about a file.
    Exchanged(Exchanged),
    /// A path came, went or moved: interfaces may be asked anew.
    PathsChanged,
    /// The call is over.
    Ended(End),
}

/// Who is at the other end.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// What it calls itself.
    pub name: Option<String>,
    /// Its program, in its own words.
    pub program: String,
    /// What it sends.
    pub media: Media,
    /// What it takes beside voice and pictures.
    pub takes: Takes,
    /// Who it has proved to be: its public key. `None` if the call is in the open.
    pub key: Option<Vec<u8>>,
    /// The path of the handshake.
    pub path: FourTuple,
    /// Whether it called.
    pub incoming: bool,
}

/// A sentence about the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When.
    pub at: Time,
    /// What kind of thing happened.
    pub kind: LogKind,
    /// To which path.
    pub path: Option<PathId>,
    /// The sentence.
    pub text: String,
}

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// A path is there.
    PathAdded,
    /// A path died, and what that cost is known.
    PathFailed,
    /// A path answers again.
    PathActive,
    /// A path was left on purpose, and nothing is on it any more.
    Handoff,
    /// A choice about a path took effect.
    PathUse,
    /// Nothing is heard on any path.
    NoPath,
    /// Something is again.
    PathsBack,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Why.
    pub why: EndReason,
    /// In words for people.
    pub text: String,
}

/// Why a call ended, or never began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// This end hung up.
    HungUp,
    /// The other one did.
    PeerHungUp,
    /// The other end did not take the call.
    Refused,
    /// Keys or a passphrase do not fit.
    Key,
    /// The other end has proved to be somebody who is not trusted here.
    Untrusted,
    /// Nobody answered.
    NoAnswer,
    /// No network was left.
    NoPath,
    /// The other end is gone.
    Lost,
}

impl EndReason {
    /// As in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HungUp => "hung_up",
            Self::PeerHungUp => "peer_hung_up",
            Self::Refused => "refused",
            Self::Key | Self::Untrusted => "key",
            Self::NoAnswer => "no_answer",
            Self::NoPath => "no_path",
            Self::Lost => "lost",
        }
    }
}

/// What is to be heard or seen next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playback {
    /// When it is to begin to sound or to be shown, on the local clock.
    pub play_at: Time,
    /// When it was captured, microseconds of the sender's clock.
    pub captured_us: u64,
    /// Its number in its track.
    pub frame: u64,
    /// What.
    pub what: Played,
}

/// What is heard or seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Played {
    /// A frame of voice.
    Voice(Bytes),
    /// A frame of voice that is not there: its gap is to be concealed.
    Concealed,
    /// A picture.
    Picture {
        /// What it is worth.
        kind: PictureKind,
        /// Whether pictures before it are missing that it may refer to.
        discontinuity: bool,
        /// The picture.
        bytes: Bytes,
    },
}

/// Why no call was begun.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// There is one.
    #[error("there is a call already: hang up first")]
    InCall,
    /// The transport refuses.
    #[error(transparent)]
    Transport(#[from] ConnectError),
}

/// Why a path is not used as was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// No such path.
    #[error("{0} does not exist")]
    Unknown(PathId),
    /// It is the last one that stands.
    #[error("{0} is the only path that stands: there is nowhere to go")]
    LastOne(PathId),
    /// There is no call.
    #[error("there is no call")]
    NoCall,
}
