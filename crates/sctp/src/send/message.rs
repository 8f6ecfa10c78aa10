//! What a user sends, and the pieces that it is sent in.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{Fsn, Mid, Ppid, StreamId};
use bytes::Bytes;

use crate::path::PathId;

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
#[derive(Debug, Clone)]
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
}

impl OutgoingMessage {
    /// A reliable, ordered message.
    #[must_use]
    pub const fn new(stream: StreamId, payload: Bytes) -> Self {
        Self {
            stream,
            ppid: Ppid(0),
            payload,
            ordered: true,
            reliability: Reliability::Reliable,
            path: PathPreference::Any,
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
}

/// Why a message was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abandonment {
    /// Its lifetime ended.
    Expired,
    /// It was retransmitted as often as it may be.
    Retransmissions,
}
