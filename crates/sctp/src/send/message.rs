//! What a user sends, and the pieces that it is sent in.

use std::fmt;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{Fsn, Level, Mid, Ppid, StreamId};
use bytes::Bytes;

use crate::path_name::PathId;

/// How hard to try to deliver one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// Until it is delivered or the association ends.
    #[default]
    Reliable,
    /// RFC 3758 section 4.1, "timed reliability": nothing of it is sent later than this after it
    /// was handed over. What is in flight then is given up if no acknowledgement comes. A message
    /// that could only be sent in part by then is not begun.
    Lifetime(Duration),
    /// RFC 7496 section 3.1, "Limited Retransmissions Policy": each piece at most this often after
    /// the first time.
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
    /// Two at once, where there are two: the one that it would take anyhow, and the one that is
    /// least likely to fail together with it.
    Two,
}

/// A message to send, with its treatment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The stream.
    pub stream: StreamId,
    /// The payload protocol identifier, which SCTP carries and does not read.
    pub ppid: Ppid,
    /// The bytes: 1 to `message_size_max`.
    pub payload: Bytes,
    /// Whether it is delivered after all earlier ordered messages of its stream (RFC 9260 section
    /// 6.6).
    pub ordered: bool,
    /// When to give up.
    pub reliability: Reliability,
    /// Which path to take.
    pub path: PathPreference,
    /// How much it matters to a reader that cannot keep up; told where both ends offer
    /// [level marks](crate::ExtensionConfig::level_marks).
    pub level: Level,
    /// Whether the peer is asked to acknowledge it at once (RFC 7053).
    pub sack_immediately: bool,
    /// What [`Event::SendFailed`](crate::Event::SendFailed) names the message by. With `None`, the
    /// event is not reported for it.
    pub context: Option<u64>,
}

impl OutgoingMessage {
    /// A reliable, ordered message of the level [`Normal`](Level::Normal).
    #[must_use]
    pub const fn new(stream: StreamId, payload: Bytes) -> Self {
        Self {
            stream,
            ppid: Ppid(0),
            payload,
            ordered: true,
            reliability: Reliability::Reliable,
            path: PathPreference::Any,
            level: Level::Normal,
            sack_immediately: false,
            context: None,
        }
    }
}

/// A piece of a message that is about to get a TSN.
#[derive(Debug, Clone)]
pub(crate) struct Fragment {
    pub(crate) stream: StreamId,
    /// Its message's place among the ordered or the unordered ones of the stream.
    pub(crate) mid: Mid,
    pub(crate) fsn: Fsn,
    pub(crate) ppid: Ppid,
    pub(crate) payload: Bytes,
    pub(crate) unordered: bool,
    pub(crate) beginning: bool,
    pub(crate) ending: bool,
    pub(crate) expires: Option<Time>,
    pub(crate) max_retransmissions: Option<u32>,
    pub(crate) preference: PathPreference,
    pub(crate) level: Level,
    pub(crate) sack_immediately: bool,
    pub(crate) context: Option<u64>,
}

/// Why a message was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendFailure {
    /// Its lifetime ended.
    Expired,
    /// It was retransmitted as often as it may be.
    Retransmissions,
    /// The peer accepts fewer streams than were offered to it.
    NoSuchStream,
    /// The peer restarted.
    Restarted,
    /// The association ended.
    Closed,
}

impl fmt::Display for SendFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "its lifetime ended",
            Self::Retransmissions => "it was retransmitted as often as allowed",
            Self::NoSuchStream => "the peer does not accept its stream",
            Self::Restarted => "the peer restarted",
            Self::Closed => "the association ended",
        })
    }
}

/// A message with a context that was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Undelivered {
    pub(crate) context: u64,
    pub(crate) stream: StreamId,
    /// Whether a part of it went out, so that the peer may have it all the same.
    pub(crate) was_sent: bool,
    pub(crate) why: SendFailure,
}

/// Why a message was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abandonment {
    /// Its lifetime ended.
    Expired,
    /// It was retransmitted as often as it may be.
    Retransmissions,
}
