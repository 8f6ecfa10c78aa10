//! [`Update`]: what a service tells whoever runs it.

use super::Snapshot;

/// What a service tells while it runs.
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
}

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// How it goes.
    Info,
    /// Something is worse than it should be.
    Warning,
}

/// Whom a service tells. It is called from the service's task and should be short.
pub type Observer<'a> = dyn FnMut(Update<'_>) + Send + 'a;
