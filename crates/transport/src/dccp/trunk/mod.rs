//! [`Trunk`]: several DCCP connections, over one path or several, as one connection of a session.

mod arrival;
mod members;
mod sending;
mod timers;
mod trace;
mod widths;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_dccp as dccp;
use anabranch_dccp::CongestionStats;
use anabranch_sansio::{FourTuple, PathId, Rate, Time, TraceLog};
use bytes::Bytes;

use super::flight::Flight;
use super::frame::Fragment;
use super::inbox::{Inbox, LIMIT_INITIAL};
use super::path::Path;
use super::queue::Queue;
use super::ranges::Ranges;
use super::{Connections, DccpConfig};
use crate::{
    CloseReason, Connection, ConnectionStats, Event, Incoming, Outgoing, PathEvent, PathReport,
    PathState, RateSignal, SendError, StreamId, StreamStats,
};

/// Streams that a session may send on.
const STREAMS: u16 = 64;

/// Events that wait for the user; what comes on top is left out.
const EVENTS_MAX: usize = 256;

/// How long something must wait before the rate counts as all that there is.
const WAITING_MIN: Duration = Duration::from_millis(100);

/// Something that was left out shows for so long that there is more to send than is sent: for the
/// time of a picture or two.
const LEFT_OUT_SHOWS: Duration = Duration::from_millis(200);

/// Several DCCP connections as one connection of a session.
///
/// What is to be repeated is sent until it is acknowledged, the rest once. Each part of a message
/// takes the connection over which it arrives first.
#[derive(Debug)]
pub(super) struct Trunk {
    config: DccpConfig,
    name: u64,
    is_caller: bool,
    /// Whether who sends data chooses how many connections a path has.
    pub(super) is_automatic: bool,
    phase: Phase,
    /// Whether the other end has answered, and so knows the trunk.
    is_known: bool,
    queue: Queue,
    inbox: Inbox,
    /// What was lost and is to be sent again.
    again: VecDeque<Fragment>,
    /// Whether the peer is to be asked what has arrived on paths that fell silent.
    must_query: bool,
    /// Last words that are to be sent.
    bye: Option<Bytes>,
    /// By their names, which are never used again for another path.
    paths: BTreeMap<u16, Path>,
    next_path: u16,
    /// Names of paths that were.
    past_paths: Ranges,
    /// Closed paths of which the peer is to be told.
    closed: Vec<u16>,
    members: BTreeMap<u32, Member>,
    next_member: u32,
    primary: u16,
    /// What the user wants that needs the endpoint.
    wishes: Vec<Wish>,
    events: VecDeque<Event>,
    is_readable_reported: bool,
    bytes_acked: u64,
    last_heard: Time,
    /// The limit that the peer was told last.
    told_limit: u64,
    /// Since when something waits to be sent.
    waiting_since: Option<Time>,
    /// When the user last left something out for lack of room.
    left_out_at: Option<Time>,
    /// The message of a stream that was counted as lost last.
    last_lost: Option<(StreamId, u64)>,
    said_rate: Option<(Time, RateSignal)>,
    trace: TraceLog,
    now: Time,
}

/// One DCCP connection of a trunk.
#[derive(Debug)]
pub(super) struct Member {
    path: u16,
    pub(super) id: dccp::ConnectionId,
    is_up: bool,
    /// Whether the other end knows to which trunk it belongs.
    is_joined: bool,
    flight: Flight,
    received: Ranges,
    /// When its greatest number came.
    newest_at: Time,
    /// Whether something came that was not acknowledged.
    has_news: bool,
    /// Whether the peer wants to hear over any path what arrived.
    is_asked: bool,
    congestion: CongestionStats,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// The other end has not answered.
    Calling {
        until: Time,
        /// When each path gets one more connection, in case the Requests of those before were lost.
        again_at: Time,
    },
    Open,
    /// No more is taken; the last words follow when all is delivered or given up.
    Draining,
    /// The last words were said.
    Leaving {
        until: Time,
    },
    /// The peer has said its last words.
    Parting {
        until: Time,
        reason: CloseReason,
    },
    Over {
        since: Time,
    },
}

#[derive(Debug)]
enum Wish {
    Open(u16, FourTuple),
    CloseFrom(SocketAddr),
    Abort(String),
}

impl Trunk {
    pub(super) fn new(now: Time, config: DccpConfig, name: u64, is_caller: bool) -> Self {
        let phase = match is_caller {
            true => Phase::Calling {
                until: now + config.connect_timeout,
                again_at: now + members::CALL_AGAIN,
            },
            false => Phase::Open,
        };
        let mut trunk = Self {
            queue: Queue::new(config.send_buffer, LIMIT_INITIAL),
            inbox: Inbox::new(config.receive_buffer),
            is_automatic: is_caller && config.connections == Connections::Auto,
            config,
            name,
            is_caller,
            phase,
            is_known: !is_caller,
            again: VecDeque::new(),
            must_query: false,
            bye: None,
            paths: BTreeMap::new(),
            next_path: 0,
            past_paths: Ranges::default(),
            closed: Vec::new(),
            members: BTreeMap::new(),
            next_member: 0,
            primary: 0,
            wishes: Vec::new(),
            events: VecDeque::new(),
            is_readable_reported: false,
            bytes_acked: 0,
            last_heard: now,
            told_limit: LIMIT_INITIAL,
            waiting_since: None,
            left_out_at: None,
            last_lost: None,
            said_rate: None,
            trace: TraceLog::default(),
            now,
        };
        if !is_caller {
            trunk.tell_connected();
        }
        trunk
    }

    pub(super) const fn name(&self) -> u64 {
        self.name
    }

    /// Whether nothing is left of it that its user could want.
    pub(super) fn is_gone(&self) -> bool {
        let is_over = matches!(self.phase, Phase::Over { since } if self.now > since);
        is_over && self.events.is_empty()
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Its DCCP connections.
    pub(super) fn connections(&self) -> impl Iterator<Item = dccp::ConnectionId> + '_ {
        self.members.values().map(|member| member.id)
    }

    fn tell_connected(&mut self) {
        let incoming = !self.is_caller;
        self.tell(Event::Connected { incoming, streams: STREAMS, partial_reliability: true });
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX || matches!(event, Event::Closed { .. }) {
            self.events.push_back(event);
        }
    }

    fn set_state(&mut self, path: u16, to: PathState) {
        let Some(it) = self.paths.get_mut(&path) else { return };
        let from = std::mem::replace(&mut it.state, to);
        if from != to {
            self.trace_state(path, to);
            let path = PathId(path.into());
            self.tell(Event::Path(PathEvent::StateChanged { path, from, to }));
        }
    }

    /// Whether data may take a path: those that do not answer are for the time when none does.
    fn is_usable(&self, path: u16) -> bool {
        let state = |path: &Path| path.state == PathState::Active;
        let is_active = self.paths.get(&path).is_some_and(state);
        let is_chosen = !self.config.one_path || self.chosen_path() == Some(path);
        is_active && is_chosen || !self.paths.values().any(state)
    }

    /// The path that data takes where it takes one only.
    fn chosen_path(&self) -> Option<u16> {
        let is_active = |path: &Path| path.state == PathState::Active;
        if self.paths.get(&self.primary).is_some_and(is_active) {
            return Some(self.primary);
        }
        self.paths.iter().find(|(_, path)| is_active(path)).map(|(id, _)| *id)
    }

    fn members_of(&self, path: u16) -> impl Iterator<Item = (u32, &Member)> {
        self.members.iter().filter(move |(_, it)| it.path == path).map(|(id, it)| (*id, it))
    }

    fn in_flight(&self) -> usize {
        self.members.values().map(|member| member.flight.bytes()).sum()
    }

    /// What all usable connections may send, in bytes per second.
    fn rate_allowed(&self) -> f64 {
        let usable = self.members.iter().filter(|(number, member)| {
            member.is_up && self.is_usable(member.path) && self.is_used(**number, member.path)
        });
        usable.map(|(_, member)| member.congestion.rate).sum()
    }

    fn report(&self, id: u16, path: &Path) -> PathReport {
        let members = || self.members_of(id).map(|(_, member)| member);
        let rate: f64 = members().map(|member| member.congestion.rate).sum();
        let rtt = path.srtt().unwrap_or_default();
        PathReport {
            is_primary: id == self.primary,
            is_current: self.is_usable(id),
            window: (rate * rtt.as_secs_f64()) as usize,
            in_flight: members().map(|member| member.flight.bytes()).sum(),
            ..path.report(id)
        }
    }
}

impl Connection for Trunk {
    fn send(&mut self, now: Time, message: Outgoing) -> Result<(), SendError> {
        if !matches!(self.phase, Phase::Calling { .. } | Phase::Open) {
            return Err(SendError::Refused("the connection is closing".to_owned()));
        }
        if message.payload.is_empty() {
            return Err(SendError::Refused("a message has at least one byte".to_owned()));
        }
        if self.queue.push(now, message) { Ok(()) } else { Err(SendError::Full) }
    }

    fn receive(&mut self) -> Option<Incoming> {
        let message = self.inbox.pop();
        if message.is_none() {
            self.is_readable_reported = false;
        }
        message
    }

    fn is_multihomed(&self) -> bool {
        self.paths.len() > 1
    }

    fn sends_once(&self) -> bool {
        true
    }

    fn note_left_out(&mut self, now: Time) {
        self.left_out_at = Some(now);
    }

    fn set_stream_priority(&mut self, stream: StreamId, priority: u16) {
        self.queue.set_priority(stream, priority);
    }

    fn rate(&self) -> Option<RateSignal> {
        let is_measured = self.members.values().any(|member| member.congestion.rtt.is_some());
        if !is_measured {
            return None;
        }
        // Where nothing was lost yet, the rate still doubles with each round trip.
        let is_growing =
            self.members.values().any(|it| it.is_up && it.congestion.loss_event_rate == 0.0);
        let waits = self.waiting_since.is_some_and(|since| self.now - since >= WAITING_MIN);
        Some(RateSignal {
            carries: Rate::bps((self.rate_allowed() * 8.0) as u64),
            is_at_least: is_growing || !waits,
            queued: self.queue.bytes(),
        })
    }

    fn queued(&self) -> usize {
        self.queue.bytes()
    }

    fn queued_at(&self, priority: u16) -> usize {
        self.queue.bytes_at(priority)
    }

    fn bytes_acked(&self) -> u64 {
        self.bytes_acked
    }

    fn is_drained(&self) -> bool {
        let is_idle = self.members.values().all(|member| member.flight.is_idle());
        self.queue.is_empty() && self.again.is_empty() && self.closed.is_empty() && is_idle
    }

    fn last_heard(&self) -> Option<Time> {
        Some(self.last_heard)
    }

    fn whole_message_max(&self) -> usize {
        self.config.whole_message_max(self.paths.values().map(|path| path.tuple))
    }

    fn stream_stats(&self, stream: StreamId) -> StreamStats {
        self.queue.stats(stream)
    }

    fn stats(&self) -> ConnectionStats {
        let events = self.members.values().map(|member| member.congestion.timeouts);
        ConnectionStats {
            queued: self.queue.bytes(),
            in_flight: self.in_flight(),
            peer_window: usize::try_from(self.queue.peer_room()).unwrap_or(usize::MAX),
            recoveries: events.sum(),
            rate: self.rate(),
            sends_once: true,
            paths: self.paths.iter().map(|(id, path)| self.report(*id, path)).collect(),
            levels: Vec::new(),
        }
    }

    fn set_primary(&mut self, path: PathId) -> bool {
        let path = u16::try_from(path.0).ok().filter(|path| self.paths.contains_key(path));
        self.primary = path.unwrap_or(self.primary);
        path.is_some()
    }

    fn open_path(&mut self, _now: Time, tuple: FourTuple) -> Option<PathId> {
        let is_known = self.paths.values().any(|path| path.tuple == tuple);
        if is_known || !self.is_caller {
            return None;
        }
        let path = self.take_path_name()?;
        self.wishes.push(Wish::Open(path, tuple));
        Some(PathId(path.into()))
    }

    fn close_paths_from(&mut self, _now: Time, local: SocketAddr) {
        self.wishes.push(Wish::CloseFrom(local));
    }

    fn shutdown(&mut self, _now: Time) {
        if matches!(self.phase, Phase::Calling { .. } | Phase::Open) {
            self.phase = Phase::Draining;
        }
    }

    fn abort(&mut self, reason: &str) {
        self.wishes.push(Wish::Abort(reason.to_owned()));
    }
}
