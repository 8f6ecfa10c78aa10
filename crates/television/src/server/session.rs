//! [`Session`]: what the service manager knows of one viewer.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_transport::{Connection, Outgoing, SendError, StreamId};
use bytes::Bytes;

use super::Carrier;
use super::access::{Admission, Permission};
use super::channel_sender::ChannelSender;
use super::liveness::Liveness;
use super::stills::Stills;
use crate::channel::ChannelId;
use crate::protocol::{FromServer, PPID_TEXT, Report, STREAMS, Slot, StreamRole};

/// Texts that wait for one viewer; one that takes none of so many is gone.
const OUTBOX_MAX: usize = 256;

/// Requests that a viewer may make at once, and in a second: a key that is held down makes thirty.
const REQUESTS_BURST: u32 = 100;
const REQUEST_EVERY: Duration = Duration::from_millis(20);

/// One viewer.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) phase: Phase,
    pub(super) carrier: Carrier,
    pub(super) since: Time,
    pub(super) program: String,
    pub(super) budget: Duration,
    pub(super) sender: Option<ChannelSender>,
    /// When the sender wants to go on.
    pub(super) wake: Option<Time>,
    pub(super) stills: Stills,
    pub(super) liveness: Liveness,
    pub(super) report: Report,
    /// Channel changes.
    pub(super) zaps: u64,
    /// Urgent messages that it was told, and those that it has shown.
    pub(super) told: BTreeSet<u32>,
    pub(super) seen: BTreeSet<u32>,
    /// What the timer of this viewer is set to.
    pub(super) timer: Option<Time>,
    outbox: VecDeque<(StreamId, Bytes)>,
    /// Slots whose media nobody wants any more.
    left: Vec<Slot>,
    has_priorities: bool,
    /// When the allowance for requests was last whole.
    requests_paid: Time,
    is_overwhelmed: bool,
}

/// How far a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its hello has not come.
    Greeting {
        /// And must by then.
        until: Time,
    },
    Watching(Admission),
    /// The last words are said.
    Leaving {
        /// When that has taken too long.
        until: Time,
    },
}

impl Session {
    pub(super) fn new(now: Time, carrier: Carrier, greeting_until: Time) -> Self {
        Self {
            phase: Phase::Greeting { until: greeting_until },
            carrier,
            since: now,
            program: String::new(),
            budget: Duration::ZERO,
            sender: None,
            wake: None,
            stills: Stills::default(),
            liveness: Liveness::default(),
            report: Report::default(),
            zaps: 0,
            told: BTreeSet::new(),
            seen: BTreeSet::new(),
            timer: None,
            outbox: VecDeque::new(),
            left: Vec::new(),
            has_priorities: false,
            requests_paid: now,
            is_overwhelmed: false,
        }
    }

    /// Says something; a viewer that takes nothing is given up.
    pub(super) fn say(&mut self, role: StreamRole, message: &FromServer) {
        if self.outbox.len() < OUTBOX_MAX {
            self.outbox.push_back((role.stream(), message.encode()));
        } else {
            self.is_overwhelmed = true;
        }
    }

    /// Why the connection must end at once, if it must.
    pub(super) fn refusal(
        &mut self,
        now: Time,
        connection: &dyn Connection,
    ) -> Option<&'static str> {
        if self.is_overwhelmed {
            return Some("what the viewer had to be told was not taken");
        }
        if matches!(self.phase, Phase::Leaving { until } if until <= now) {
            return Some("the viewer did not take its leave");
        }
        self.liveness.look(now, self.carrier, connection)
    }

    /// Counts a request; false if there were too many.
    pub(super) fn may_ask(&mut self, now: Time) -> bool {
        self.requests_paid = self.requests_paid.max(now) + REQUEST_EVERY;
        self.requests_paid <= now + REQUEST_EVERY * REQUESTS_BURST
    }

    /// Watches nothing any more; says what it watched.
    pub(super) fn stop(&mut self) -> Option<ChannelId> {
        self.wake = None;
        let sender = self.sender.take()?;
        self.left.push(sender.slot());
        Some(sender.channel())
    }

    /// What it watches.
    pub(super) fn channel(&self) -> Option<ChannelId> {
        self.sender.as_ref().map(ChannelSender::channel)
    }

    /// What it does without, in words.
    pub(super) fn reduction(&self) -> Option<&'static str> {
        self.sender.as_ref().and_then(ChannelSender::reduction)
    }

    /// Prepares the transport and hands it the texts that wait. False if they do not fit.
    pub(super) fn flush(&mut self, now: Time, connection: &mut dyn Connection) -> bool {
        if !std::mem::replace(&mut self.has_priorities, true) {
            for stream in (0..STREAMS).map(StreamId) {
                let priority = StreamRole::of(stream).map_or(u16::MAX, StreamRole::priority);
                connection.set_stream_priority(stream, priority);
            }
        }
        for slot in self.left.drain(..) {
            slot.streams().for_each(|stream| connection.withdraw(now, stream));
        }
        while let Some((stream, payload)) = self.outbox.front() {
            let message = Outgoing::new(*stream, PPID_TEXT, payload.clone());
            match connection.send(now, message) {
                Err(SendError::Full) => return false,
                // Whatever else stands against it: the viewer is gone, or has no such stream.
                Ok(()) | Err(_) => self.outbox.pop_front(),
            };
        }
        true
    }

    /// What it may watch.
    pub(super) const fn admission(&self) -> Option<&Admission> {
        match &self.phase {
            Phase::Watching(admission) => Some(admission),
            Phase::Greeting { .. } | Phase::Leaving { .. } => None,
        }
    }

    /// It may watch what is open to all, and nothing else any more.
    pub(super) fn end_permission(&mut self) {
        if let Phase::Watching(admission) = &mut self.phase {
            (admission.channels, admission.until) = (Permission::Nothing, None);
        }
    }

    /// When something is to be done for it.
    pub(super) fn next_timer(&self) -> Option<Time> {
        let phase = match &self.phase {
            Phase::Greeting { until } | Phase::Leaving { until } => Some(*until),
            Phase::Watching(admission) => admission.until,
        };
        let next = [phase, self.wake, self.stills.next_timer(), self.liveness.next()];
        next.into_iter().flatten().min()
    }
}
