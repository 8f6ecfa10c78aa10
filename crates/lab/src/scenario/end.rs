//! [`End`]: one end of a flow, whatever it carries.

use std::time::Duration;

use anabranch_sansio::{Datagram, Machine, Time, TraceRecord, Transmit, Wakeup};

use super::delays::Delays;
use super::media::{Screen, Studio};
use super::messages::MessageEnd;
use super::television::{Station, Watcher};
use super::transport::Counters;

/// One end of a flow.
pub(super) enum End {
    /// Of messages of one size.
    Messages(Box<MessageEnd>),
    /// The sending one of a media session.
    Studio(Box<Studio>),
    /// The receiving one.
    Screen(Box<Screen>),
    /// The server of television.
    Station(Box<Station>),
    /// Its viewer.
    Watcher(Box<Watcher>),
}

/// What a sending end did.
#[derive(Debug)]
pub(super) struct Sent {
    /// When it called.
    pub(super) start: Time,
    /// Messages, or units of media, that there were.
    pub(super) messages: u64,
    /// Whether they came at their own time, so that one can be lost by being late.
    pub(super) is_paced: bool,
    pub(super) counters: Counters,
    pub(super) ended: Option<String>,
}

/// What arrived at a receiving end.
#[derive(Debug)]
pub(super) struct Received<'a> {
    pub(super) arrived: u64,
    /// Bytes of those that came while the flow sent.
    pub(super) bytes_in_time: u64,
    pub(super) first: Option<Time>,
    pub(super) delays: &'a Delays,
    /// Of media only.
    pub(super) seen: Option<Seen>,
    /// Why its transport ended, where this end knows that.
    pub(super) ended: Option<String>,
}

/// What somebody saw who watched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Units of which a part came late.
    pub(super) late: u64,
    pub(super) freezes: u64,
    pub(super) frozen: Duration,
}

impl End {
    /// What it did, if it is a sending one.
    pub(super) fn sent(&mut self) -> Option<Sent> {
        match self {
            Self::Messages(end) => end.sent(),
            Self::Studio(studio) => Some(studio.sent()),
            Self::Station(station) => Some(station.sent()),
            Self::Screen(_) | Self::Watcher(_) => None,
        }
    }

    /// What arrived, if it is a receiving one, now that all has.
    pub(super) fn received(&mut self) -> Option<Received<'_>> {
        match self {
            Self::Messages(end) => end.received(),
            Self::Studio(_) | Self::Station(_) => None,
            Self::Watcher(watcher) => Some(watcher.received()),
            Self::Screen(screen) => Some(screen.received()),
        }
    }

    fn machine(&self) -> &dyn Machine<Event = ()> {
        match self {
            Self::Messages(end) => end.as_ref(),
            Self::Studio(studio) => studio.as_ref(),
            Self::Screen(screen) => screen.as_ref(),
            Self::Station(station) => station.as_ref(),
            Self::Watcher(watcher) => watcher.as_ref(),
        }
    }

    fn machine_mut(&mut self) -> &mut dyn Machine<Event = ()> {
        match self {
            Self::Messages(end) => end.as_mut(),
            Self::Studio(studio) => studio.as_mut(),
            Self::Screen(screen) => screen.as_mut(),
            Self::Station(station) => station.as_mut(),
            Self::Watcher(watcher) => watcher.as_mut(),
        }
    }
}

impl Machine for End {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.machine_mut().handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.machine_mut().handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.machine_mut().poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.machine().poll_timeout()
    }

    fn poll_event(&mut self) -> Option<()> {
        self.machine_mut().poll_event()
    }

    fn set_tracing(&mut self, on: bool) {
        self.machine_mut().set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.machine_mut().poll_trace()
    }
}
