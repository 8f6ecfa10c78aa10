//! What the trace reports of an association.

use anabranch_sansio::{Time, Wakeup};

use super::Association;
use crate::trace::{Reported, Trace, TraceEvent, TraceKind};

/// It expires between packets, and says nothing.
const PACING: &str = "pacing";

impl Association {
    /// The next line of the trace, if `AssociationConfig::trace_events_max` is not 0. When nobody
    /// reads, the oldest lines go.
    pub fn poll_trace(&mut self) -> Option<TraceEvent> {
        self.journal.trace.pop()
    }

    /// Switches the trace on or off.
    pub(crate) fn set_tracing(&mut self, on: bool) {
        self.journal.trace = Trace::new(if on { Trace::EVENTS_MAX } else { 0 });
    }

    /// Reports the timer that is due, before it is acted upon.
    pub(super) fn trace_expiry(&mut self, now: Time) {
        if !self.journal.trace.is_on() {
            return;
        }
        let due = self.poll_timeout().filter(|due| due.at <= now && due.why != PACING);
        if let Some(Wakeup { why: timer, .. }) = due {
            self.journal.trace(now, TraceKind::TimerExpired { timer });
        }
    }

    /// The next timer to expire is another one than before.
    pub(crate) fn trace_timer(&mut self, now: Time, next: Option<Wakeup>) {
        if let Some(Wakeup { at, why: timer }) = next.filter(|next| next.why != PACING) {
            self.journal.trace(now, TraceKind::TimerSet { timer, at });
        }
    }

    /// Reports the association's state and its paths where they have changed.
    pub(super) fn trace_changes(&mut self, now: Time) {
        if !self.journal.trace.is_on() {
            return;
        }
        let present = Reported { state: self.state.name(), revision: self.sender.paths.revision() };
        let Some(before) = self.journal.trace.change(present) else { return };
        if before.state != present.state {
            self.journal.trace(now, TraceKind::State { state: present.state });
        }
        if before.revision != present.revision {
            for path in self.sender.paths.iter() {
                self.journal.trace(now, TraceKind::PathTuple { path: path.id, tuple: path.tuple });
            }
        }
    }
}
