//! [`Journal`]: what an association has to tell.

use std::collections::VecDeque;

use anabranch_sansio::Time;
use anabranch_wire::ErrorCauses;

use crate::causes::PeerCauses;
use crate::event::Event;
use crate::send::Undelivered;
use crate::stats::AssociationStats;
use crate::trace::{Trace, TraceKind};

/// ERROR chunks whose events may wait: a peer may send any number of them.
const ERRORS_MAX: usize = 16;

/// Events for the user, counters, and lines of the trace, in the order in which things happen.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) events: VecDeque<Event>,
    /// Those counters that no part of the association keeps for itself.
    pub(crate) stats: AssociationStats,
    pub(crate) trace: Trace,
}

impl Journal {
    /// A journal whose trace keeps so many lines.
    pub(crate) fn new(trace_events_max: usize) -> Self {
        Self {
            events: VecDeque::new(),
            stats: AssociationStats::default(),
            trace: Trace::new(trace_events_max),
        }
    }

    /// Tells the user.
    pub(crate) fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Tells the user which messages were not delivered.
    pub(crate) fn tell_undelivered(&mut self, messages: impl IntoIterator<Item = Undelivered>) {
        for Undelivered { context, stream, was_sent, why } in messages {
            self.tell(Event::SendFailed { context, stream, was_sent, why });
        }
    }

    /// Tells the user what an ERROR chunk says, unless too many of them wait to be told.
    pub(crate) fn tell_error(&mut self, causes: ErrorCauses<'_>) {
        let is_error = |event: &&Event| matches!(event, Event::PeerError { .. });
        if self.events.iter().filter(is_error).count() < ERRORS_MAX {
            self.tell(Event::PeerError { causes: PeerCauses::of(causes) });
        }
    }

    /// Adds a line to the trace.
    pub(crate) fn trace(&mut self, at: Time, kind: TraceKind) {
        self.trace.push(at, kind);
    }
}
