//! [`Event`]: something happened.

use serde::{Deserialize, Serialize};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Grows by one with each event.
    pub id: u64,
    /// When, on the program's clock.
    pub at_us: u64,
    /// What happened.
    #[serde(flatten)]
    pub what: NewEvent,
}

/// What happened, before it has a number and a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEvent {
    /// How it is for the viewer.
    pub severity: Severity,
    /// The mark on the graphs.
    pub kind: EventKind,
    /// The path that it is about.
    pub path: Option<u32>,
    /// One whole sentence.
    pub text: String,
}

/// How an event is for the viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Neither good nor bad.
    Info,
    /// Something works again.
    Good,
    /// Something may be wrong, or was wanted.
    Warning,
    /// Something failed.
    Bad,
}

/// The mark of an event on the graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// An emulated link was cut.
    LinkCut,
    /// An emulated link works again.
    LinkRestored,
    /// A path did not answer lately.
    PathPotentiallyFailed,
    /// A path does not answer.
    PathFailed,
    /// A path answers.
    PathActive,
    /// New data takes another path.
    PrimaryChanged,
    /// There is a further path.
    PathAdded,
    /// A path is no more.
    PathRemoved,
    /// Messages were given up.
    Abandoned,
    /// An emulated link's settings changed.
    LinkChanged,
    /// A treatment changed.
    TreatmentChanged,
    /// The play-out latency changed.
    LatencyChanged,
    /// The peer is there.
    PeerConnected,
    /// The peer is gone.
    PeerLost,
    /// None: it does not show on a graph.
    Note,
}
