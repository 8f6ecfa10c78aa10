//! What an association did and why: typed, and as records for a file.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{FourTuple, Rate, Time, TraceRecord};
use anabranch_wire::StreamId;

use crate::path_name::{PathId, PathState};
use crate::rate_signal::RateSignal;

/// A line of an association's trace, for graphs and debugging.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceEvent {
    /// When.
    pub at: Time,
    /// What.
    pub kind: TraceKind,
}

/// What a [`TraceEvent`] reports.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TraceKind {
    /// A packet was sent.
    PacketSent {
        /// On which path.
        path: PathId,
        /// Bytes from the common header on.
        len: usize,
    },
    /// A packet was received.
    PacketReceived {
        /// On which path.
        path: PathId,
        /// Bytes from the common header on.
        len: usize,
    },
    /// A DATA chunk was sent.
    DataSent {
        /// On which path.
        path: PathId,
        /// Its TSN.
        tsn: u32,
        /// Its stream.
        stream: StreamId,
        /// Its payload bytes.
        len: usize,
        /// Whether it was sent before.
        retransmission: bool,
    },
    /// A DATA chunk was received.
    DataReceived {
        /// On which path.
        path: PathId,
        /// Its TSN.
        tsn: u32,
        /// Its stream.
        stream: StreamId,
        /// Its payload bytes.
        len: usize,
    },
    /// A SACK acknowledged data.
    Acknowledged {
        /// Sent on which path.
        path: PathId,
        /// Bytes of DATA chunks.
        bytes: usize,
    },
    /// DATA chunks were declared lost.
    Lost {
        /// Sent on which path.
        path: PathId,
        /// How many.
        chunks: usize,
        /// By T3-rtx rather than by what was acknowledged.
        timeout: bool,
    },
    /// A message was abandoned.
    Abandoned {
        /// Its stream.
        stream: StreamId,
        /// Whether its lifetime ended, rather than its retransmissions.
        expired: bool,
    },
    /// What congestion control makes of a path, after data was acknowledged or lost.
    Window {
        /// Which path.
        path: PathId,
        /// cwnd in bytes.
        window: usize,
        /// The slow-start threshold in bytes, once there is one.
        ssthresh: Option<usize>,
        /// Bytes in flight.
        in_flight: usize,
        /// Smoothed round-trip time.
        srtt: Option<Duration>,
        /// The retransmission timeout.
        rto: Duration,
        /// How fast data goes out, if that is bounded.
        pacing_rate: Option<Rate>,
        /// What the path carries by the controller's model, if it has one.
        bandwidth: Option<Rate>,
    },
    /// What the association carries changed.
    Rate(RateSignal),
    /// A timer expired.
    TimerExpired {
        /// Which, by the name that its RFC gives it.
        timer: &'static str,
    },
    /// The next timer of the association to expire is another one.
    TimerSet {
        /// Which.
        timer: &'static str,
        /// When it will.
        at: Time,
    },
    /// The association's state changed (RFC 9260 section 4).
    State {
        /// Its name now.
        state: &'static str,
    },
    /// A path came to be, or its addresses changed.
    PathTuple {
        /// Which path.
        path: PathId,
        /// Its addresses now.
        tuple: FourTuple,
    },
    /// A path's state changed.
    PathState {
        /// Which path.
        path: PathId,
        /// The state now.
        state: PathState,
    },
}

impl TraceEvent {
    /// The same as a record; `docs/trace.md` lists names and fields.
    #[must_use]
    pub fn record(&self) -> TraceRecord {
        let record = |name| TraceRecord::new(self.at, name);
        let of_path = |name, path: PathId| record(name).with("path", path.0);
        match self.kind {
            TraceKind::PacketSent { path, len } => {
                of_path("sctp:packet_sent", path).with("bytes", len)
            }
            TraceKind::PacketReceived { path, len } => {
                of_path("sctp:packet_received", path).with("bytes", len)
            }
            TraceKind::DataSent { path, tsn, stream, len, retransmission } => {
                let record = of_path("sctp:data_sent", path).with("tsn", tsn);
                let record = record.with("stream", stream.0).with("bytes", len);
                record.with("retransmission", retransmission)
            }
            TraceKind::DataReceived { path, tsn, stream, len } => {
                let record = of_path("sctp:data_received", path).with("tsn", tsn);
                record.with("stream", stream.0).with("bytes", len)
            }
            TraceKind::Acknowledged { path, bytes } => {
                of_path("sctp:data_acknowledged", path).with("bytes", bytes)
            }
            TraceKind::Lost { path, chunks, timeout } => {
                let trigger = if timeout { "timeout" } else { "acknowledgements" };
                of_path("sctp:data_lost", path).with("chunks", chunks).with("trigger", trigger)
            }
            TraceKind::Abandoned { stream, expired } => {
                let trigger = if expired { "lifetime" } else { "retransmissions" };
                let record = record("sctp:message_abandoned").with("stream", stream.0);
                record.with("trigger", trigger)
            }
            TraceKind::Window {
                path,
                window,
                ssthresh,
                in_flight,
                srtt,
                rto,
                pacing_rate,
                bandwidth,
            } => of_path("sctp:window_updated", path)
                .with("window_bytes", window)
                .with_some("ssthresh_bytes", ssthresh)
                .with("in_flight_bytes", in_flight)
                .with_some("srtt_ms", srtt)
                .with("rto_ms", rto)
                .with_some("pacing_bps", pacing_rate)
                .with_some("bandwidth_bps", bandwidth),
            TraceKind::Rate(signal) => record("sctp:rate_updated")
                .with("carries_bps", signal.carries)
                .with("at_least", signal.is_at_least)
                .with("queued_bytes", signal.queued),
            TraceKind::TimerExpired { timer } => record("sctp:timer_expired").with("timer", timer),
            TraceKind::TimerSet { timer, at } => {
                record("sctp:timer_set").with("timer", timer).with("at_ms", at)
            }
            TraceKind::State { state } => {
                record("sctp:association_state_updated").with("state", state)
            }
            TraceKind::PathTuple { path, tuple } => {
                let record = of_path("sctp:path_updated", path);
                let record = record.with("local", tuple.local.to_string());
                record.with("remote", tuple.remote.to_string())
            }
            TraceKind::PathState { path, state } => {
                of_path("sctp:path_state_updated", path).with("state", state.name())
            }
        }
    }
}

/// The lines of a trace that wait to be polled. When nobody polls, the oldest go.
#[derive(Debug)]
pub(crate) struct Trace {
    limit: usize,
    events: VecDeque<TraceEvent>,
    /// What was last reported of what has no moment of its own.
    reported: Reported,
}

/// What is compared, and reported where it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reported {
    pub(crate) state: &'static str,
    /// Of the set of paths.
    pub(crate) revision: u64,
}

impl Trace {
    /// Lines that wait where whoever asks for them sets no limit: a second at 100 Mbit/s.
    pub(crate) const EVENTS_MAX: usize = 65_536;

    /// A trace of so many lines; 0 switches it off.
    pub(crate) const fn new(limit: usize) -> Self {
        let reported = Reported { state: "", revision: u64::MAX };
        Self { limit, events: VecDeque::new(), reported }
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.limit > 0
    }

    pub(crate) fn push(&mut self, at: Time, kind: TraceKind) {
        if self.limit == 0 {
            return;
        }
        if self.events.len() >= self.limit {
            self.events.pop_front();
        }
        self.events.push_back(TraceEvent { at, kind });
    }

    pub(crate) fn pop(&mut self) -> Option<TraceEvent> {
        self.events.pop_front()
    }

    /// Takes what is now; returns what was reported before, if that is something else.
    pub(crate) fn change(&mut self, now: Reported) -> Option<Reported> {
        let before = std::mem::replace(&mut self.reported, now);
        (before != now).then_some(before)
    }
}
