//! Messages, and how each is to be treated.

use std::time::Duration;

use anabranch_sansio::{PathId, Time};
use bytes::Bytes;
use thiserror::Error;

/// A stream of a connection, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u16);

/// What the bytes of a message are, for the peer and for who looks at packets: SCTP's payload
/// protocol identifier (RFC 9260 section 3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadId(pub u32);

/// How hard to try to deliver one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// Until it is delivered or the connection ends.
    #[default]
    Reliable,
    /// Nothing of it is sent later than this after it was handed over.
    Lifetime(Duration),
    /// Each of its pieces at most so often after the first time.
    MaxRetransmissions(u32),
}

/// Which path a message would rather take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathPreference {
    /// The one that data takes at the moment.
    #[default]
    Any,
    /// This one as long as it is active, otherwise as [`Any`](Self::Any).
    Prefer(PathId),
    /// Two at once, where there are two.
    Two,
}

/// How much a message matters to who reads it, where the transport can tell that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Read before all others.
    Urgent,
    /// What others build on.
    High,
    /// Neither of the others.
    #[default]
    Normal,
    /// What can be missed most easily.
    Low,
}

impl Level {
    /// All of them, what matters most first.
    pub const ALL: [Self; 4] = [Self::Urgent, Self::High, Self::Normal, Self::Low];
}

/// A message to send, with its treatment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The stream.
    pub stream: StreamId,
    /// What the bytes are.
    pub payload_id: PayloadId,
    /// The bytes; at least one.
    pub payload: Bytes,
    /// Whether it is delivered after all earlier ordered messages of its stream.
    pub ordered: bool,
    /// When to give up.
    pub reliability: Reliability,
    /// Which path to take.
    pub path: PathPreference,
    /// What is read first where the peer cannot keep up.
    pub level: Level,
}

impl Outgoing {
    /// A reliable, ordered message.
    #[must_use]
    pub const fn new(stream: StreamId, payload_id: PayloadId, payload: Bytes) -> Self {
        Self {
            stream,
            payload_id,
            payload,
            ordered: true,
            reliability: Reliability::Reliable,
            path: PathPreference::Any,
            level: Level::Normal,
        }
    }
}

/// A message of the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The stream it came on.
    pub stream: StreamId,
    /// What the peer says that its bytes are.
    pub payload_id: PayloadId,
    /// The bytes.
    pub payload: Bytes,
    /// When its last missing piece arrived.
    pub completed_at: Time,
    /// On which path that piece arrived.
    pub path: PathId,
    /// Whether data sent after that piece arrived before it: it was sent again or overtaken, and
    /// says nothing about how long its path takes.
    pub fills_gap: bool,
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SendError {
    /// There is no room for it now: [`Event::Writable`](crate::Event::Writable) follows.
    #[error("the connection has no room for the message now")]
    Full,
    /// It will never be taken.
    #[error("{0}")]
    Refused(String),
}
