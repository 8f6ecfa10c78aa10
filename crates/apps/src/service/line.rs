//! [`Update`]: what a service tells whoever runs it.

use anabranch_transport::RateSignal;
use serde::Serialize;

use super::{Snapshot, Watching};

/// What a service reports while it runs.
#[derive(Debug)]
pub enum Update<'a> {
    /// Something happened: a sentence for people.
    Line {
        /// How much it matters.
        severity: Severity,
        /// The sentence.
        text: &'a str,
    },
    /// So many seconds until the next attempt to reach the peer: for a line that is overwritten.
    Countdown {
        /// Seconds.
        seconds: u64,
        /// Why.
        reason: &'a str,
    },
    /// How things stand, once a second and at the end.
    Stats {
        /// The measures.
        snapshot: &'a Snapshot,
        /// Whether they are the last.
        last: bool,
    },
    /// How watching goes, once a second and at the end.
    Watching {
        /// The measures.
        watching: &'a Watching,
        /// Whether they are the last.
        last: bool,
    },
    /// What the network carries changed.
    Rate(RateLine),
}

/// What the network carries. As JSON, a line of its own; `docs/stats.md` describes the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RateLine {
    /// Milliseconds since the service began.
    pub at_ms: u64,
    /// Media in bits per second.
    pub carries_bps: u64,
    /// Whether more may be possible.
    pub at_least: bool,
    /// Bytes that wait to be sent.
    pub queued_bytes: usize,
}

impl RateLine {
    pub(crate) const fn of(at_ms: u64, signal: &RateSignal) -> Self {
        Self {
            at_ms,
            carries_bps: signal.carries.as_bps(),
            at_least: signal.is_at_least,
            queued_bytes: signal.queued,
        }
    }
}

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// How it goes.
    Info,
    /// Something is worse than it should be.
    Warning,
}

/// Whom a service reports to. It is called from the service's task and should be short.
pub type Observer<'a> = dyn FnMut(Update<'_>) + Send + 'a;
