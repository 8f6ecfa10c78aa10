//! What the trace reports of an association.

use anabranch_sansio::{Time, Wakeup};

use super::{Association, State};
use crate::path::PathSlot;
use crate::trace::{Reported, Trace, TraceEvent, TraceKind};

/// It expires between packets, and says nothing.
const PACING: &str = "pacing";

impl Association {
    /// The next line of the trace, if `AssociationConfig::trace_events_max` is not 0. When nobody
    /// reads, the oldest lines go.
    pub fn poll_trace(&mut self) -> Option<TraceEvent> {
        self.trace.pop()
    }

    /// Switches the trace on or off.
    pub(crate) fn set_tracing(&mut self, on: bool) {
        self.trace = Trace::new(if on { Trace::EVENTS_MAX } else { 0 });
    }

    pub(super) fn trace(&mut self, at: Time, kind: TraceKind) {
        self.trace.push(at, kind);
    }

    /// What congestion control makes of a path now.
    pub(super) fn trace_window(&mut self, now: Time, slot: PathSlot) {
        if !self.trace.is_on() {
            return;
        }
        let in_flight = self.outstanding.flight(slot);
        let target = self.paths.at(slot);
        let metrics = target.congestion.metrics();
        let kind = TraceKind::Window {
            path: target.id,
            window: metrics.window,
            ssthresh: metrics.ssthresh,
            in_flight,
            srtt: target.rtt.srtt(),
            rto: target.rtt.rto(),
            pacing_rate: target.congestion.pacing_rate(),
            bandwidth: target.congestion.bandwidth(),
        };
        self.trace.push(now, kind);
    }

    /// Reports the timer that is due, before it is acted upon.
    pub(super) fn trace_expiry(&mut self, now: Time) {
        if !self.trace.is_on() {
            return;
        }
        let due = self.poll_timeout().filter(|due| due.at <= now && due.why != PACING);
        if let Some(Wakeup { why: timer, .. }) = due {
            self.trace.push(now, TraceKind::TimerExpired { timer });
        }
    }

    /// The next timer to expire is another one than before.
    pub(crate) fn trace_timer(&mut self, now: Time, next: Option<Wakeup>) {
        if let Some(Wakeup { at, why: timer }) = next.filter(|next| next.why != PACING) {
            self.trace.push(now, TraceKind::TimerSet { timer, at });
        }
    }

    /// Reports the association's state and its paths where they have changed.
    pub(super) fn trace_changes(&mut self, now: Time) {
        if !self.trace.is_on() {
            return;
        }
        let present = Reported { state: self.state.name(), revision: self.paths.revision() };
        let Some(before) = self.trace.change(present) else { return };
        if before.state != present.state {
            self.trace.push(now, TraceKind::State { state: present.state });
        }
        if before.revision != present.revision {
            for path in self.paths.iter() {
                self.trace.push(now, TraceKind::PathTuple { path: path.id, tuple: path.tuple });
            }
        }
    }
}

impl State {
    /// RFC 9260 section 4.
    const fn name(&self) -> &'static str {
        match self {
            Self::CookieWait(_) => "cookie-wait",
            Self::CookieEchoed(_) => "cookie-echoed",
            Self::Established => "established",
            Self::ShutdownPending => "shutdown-pending",
            Self::ShutdownSent(_) => "shutdown-sent",
            Self::ShutdownReceived => "shutdown-received",
            Self::ShutdownAckSent(_) => "shutdown-ack-sent",
            Self::Closed => "closed",
        }
    }
}
