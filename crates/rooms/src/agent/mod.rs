//! [`Agent`]: the program on a member's machine that owns the network, for a page that owns
//! devices and codecs.
//!
//! ```text
//! page -- messages of docs/meet.md --> Agent -- one association over every path --> room
//! ```

mod direct;
mod directly;
mod outbox;
mod private;
mod roster;
mod visit;
mod voices;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_call::{
    Heard as _, LogKind, LogLine, PathError, PathNote, PathUse, Paths, route_moved,
};
use anabranch_sansio::{
    Datagram, FourTuple, Machine, PathId, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup,
};
use anabranch_transport::{
    CloseReason, ConnectError, Connection, ConnectionId, ConnectionStats, Encryption, Event,
    PathEvent, PathReport, RateSignal, SctpConfig, SctpTransport, Transport,
};
use bytes::Bytes;

use crate::association::{SCTP_PORT, is_direct, of_agent};
use crate::protocol::{Enter, FromMember};
use direct::Direct;
pub use direct::{PeerKeys, Sealed};
use visit::Visit;
use voices::Voices;

/// Events that wait for the program around; it takes them after each input.
const EVENTS_MAX: usize = 1_024;

/// How an agent enters a room.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// Which room, and what opens it.
    pub enter: Enter,
    /// How it encrypts, if it does.
    pub encryption: Option<Encryption>,
    /// The same towards another agent. Without it, one that encrypts talks to rooms alone.
    pub peer_keys: Option<Arc<dyn PeerKeys>>,
    /// Datagrams of one size that one transmission may hold.
    pub segments_max: usize,
}

/// Something that a page says, or is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// On which of the streams of a room.
    pub stream: u16,
    /// Whether it is a text.
    pub is_text: bool,
    /// What.
    pub payload: Bytes,
}

/// What an agent reports.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The server is there, and has proved to have this key.
    Connected {
        /// Which.
        key: Option<Vec<u8>>,
    },
    /// [`Agent::receive`] has something.
    Readable,
    /// Something happened to a path, for people.
    Log(LogLine),
    /// The room's last words to us, for people.
    Bye(String),
    /// The visit is over.
    Closed(CloseReason),
}

/// How a visit stands.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStats {
    /// Whether media goes to the only other member without the room.
    pub is_direct: bool,
    /// What the network does to it.
    pub network: ConnectionStats,
    /// Each path's name, and how it is used, in the order of the network's.
    pub paths: Vec<(String, PathNote)>,
    /// What the association carries, once it is known.
    pub rate: Option<RateSignal>,
    /// Pictures of ours that our networks did not take.
    pub left_out: u64,
    /// Whether our voice takes two paths while there are two.
    pub voice_twice: bool,
}

/// A member's end of one association with a room, over every path.
///
/// What the page says goes in by [`push`](Self::push), what the room says comes out of
/// [`receive`](Self::receive), both as they pass between a page and a room; pictures that our
/// networks do not carry are left out, and the page's encoder is told what they do.
#[derive(Debug)]
pub struct Agent {
    config: AgentConfig,
    transport: Box<dyn Transport>,
    visit: Option<Visit>,
    direct: Option<Direct>,
    paths: Paths,
    voices: Voices,
    /// What the room had said when the connection ended.
    last_words: VecDeque<Said>,
    /// Whether there may be something to receive, and that was not reported yet.
    is_readable: bool,
    events: VecDeque<AgentEvent>,
    records: TraceLog,
    rng: Rng,
}

impl Agent {
    /// An agent that has not called yet. The generator must be unpredictable on real networks.
    #[must_use]
    pub fn new(config: AgentConfig, mut rng: Rng) -> Self {
        let segments_max = config.segments_max;
        let sctp = SctpConfig { segments_max, ..of_agent(config.encryption.clone()) };
        Self {
            config,
            transport: Box::new(SctpTransport::new(sctp, SCTP_PORT, rng.fork())),
            visit: None,
            direct: None,
            paths: Paths::default(),
            voices: Voices::default(),
            last_words: VecDeque::new(),
            is_readable: false,
            events: VecDeque::new(),
            records: TraceLog::default(),
            rng,
        }
    }

    /// What people call the interface with this address.
    pub fn name_address(&mut self, address: IpAddr, name: String) {
        self.paths.name_address(address, name);
    }

    /// Calls the server at the other end of `paths`, the first of which is the primary. A visit
    /// before it ends without a word: its member may come back.
    ///
    /// # Errors
    /// The transport refuses.
    pub fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<(), ConnectError> {
        self.break_off(now);
        let id = self.transport.connect(now, paths)?;
        self.visit = Some(Visit::new(now, id, self.config.enter.encode()));
        self.paths.begin();
        self.voices = Voices::default();
        self.last_words.clear();
        self.turn(now);
        Ok(())
    }

    /// Takes what the page says. Without a visit it goes nowhere.
    pub fn push(&mut self, now: Time, said: Said) {
        let said = self.say_directly(now, said);
        let Some(visit) = &mut self.visit else { return };
        if let Some(piece) = said.and_then(|said| visit.push(said)) {
            self.forward(now, piece);
        }
        self.turn(now);
    }

    /// The next thing that the room, or a member of it, says to the page.
    pub fn receive(&mut self, now: Time) -> Option<Said> {
        loop {
            let Some(visit) = &mut self.visit else { return self.last_words.pop_front() };
            if let Some(said) = visit.take_own_words() {
                return Some(said);
            }
            let connection = self.transport.connection_mut(visit.id)?;
            let Some(message) = connection.receive() else {
                return self.receive_directly(now);
            };
            let said = visit.on_message(now, message, &mut self.voices);
            if let Some(words) = visit.take_for_agent() {
                self.heed(now, words);
            }
            if said.is_some() {
                return said;
            }
        }
    }

    /// Leaves the room in order.
    pub fn leave(&mut self, now: Time) {
        let bye = FromMember::Bye.encode();
        self.push(now, Said { stream: 0, is_text: true, payload: bye });
        if let Some(connection) = self.connection_mut() {
            connection.shutdown(now);
        }
        self.end_direct(now);
        self.turn(now);
    }

    /// Ends the visit without a word: the member may come back.
    pub fn break_off(&mut self, now: Time) {
        if let Some(visit) = self.visit.take()
            && let Some(connection) = self.transport.connection_mut(visit.id)
        {
            connection.abort("the page begins anew");
        }
        self.end_direct(now);
        self.turn(now);
    }

    /// Whether nothing is left to say to anybody: the program may end.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.transport.connections() == 0 && self.direct.is_none()
    }

    /// How a path is to be used from now on, by both ends.
    ///
    /// # Errors
    /// There is no such path, or no other one that stands.
    pub fn set_path_use(
        &mut self,
        now: Time,
        path: PathId,
        wanted: PathUse,
    ) -> Result<(), PathError> {
        let (connection, paths) = self.media_paths().ok_or(PathError::NoCall)?;
        let report = paths.set_use(now, path, wanted, connection)?;
        self.say_use(now, &report, wanted);
        Ok(())
    }

    /// Leaves a path without any gap: new data goes elsewhere at once, in both directions, and the
    /// path is closed when nothing is under way on it.
    ///
    /// # Errors
    /// There is no such path, or no other one that stands.
    pub fn leave_path(&mut self, now: Time, path: PathId) -> Result<(), PathError> {
        let counts = self.voices.voice_counts();
        let (connection, paths) = self.media_paths().ok_or(PathError::NoCall)?;
        let report = paths.leave(now, path, counts, connection)?;
        self.say_use(now, &report, PathUse::Spare);
        Ok(())
    }

    /// Our pictures take this path alone while it stands; with `None`, all that are in use again.
    pub fn set_primary(&mut self, path: Option<PathId>) {
        match (&mut self.direct, &mut self.visit) {
            (Some(direct), _) if direct.is_open() => direct.forwarding.primary = path,
            (_, Some(visit)) => visit.forwarding.primary = path,
            (_, None) => {}
        }
        if let Some(path) = path
            && let Some((connection, _)) = self.media_paths()
        {
            connection.set_primary(path);
        }
    }

    /// The machine's routes to the room moved to the interface with this address: see
    /// [`anabranch_call::Agent::follow_route`].
    pub fn follow_route(&mut self, now: Time, local: SocketAddr) {
        let Some((connection, paths)) = self.media_paths() else { return };
        let reports = connection.stats().paths;
        let from_there = reports.iter().filter(|path| path.tuple.local == local);
        let Some(path) = from_there.min_by_key(|path| path.state) else { return };
        let text = route_moved(&paths.name(path.id, path.tuple));
        self.set_primary(Some(path.id));
        let (kind, path) = (LogKind::PathUse, Some(path.id));
        self.tell(AgentEvent::Log(LogLine { at: now, kind, path, text }));
    }

    /// Whether our voice takes two paths while there are two.
    pub const fn set_voice_twice(&mut self, twice: bool) {
        if let Some(visit) = &mut self.visit {
            visit.forwarding.voice_twice = twice;
        }
        if let Some(direct) = &mut self.direct {
            direct.forwarding.voice_twice = twice;
        }
    }

    /// Opens a further path to the server. `None` if there is no visit or no room for it.
    pub fn open_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        let path = self.connection_mut()?.open_path(now, tuple);
        if let Some(direct) = &mut self.direct {
            direct.open_from(now, tuple);
        }
        self.say_candidates();
        self.turn(now);
        path
    }

    /// Nothing can be sent from this address any more.
    pub fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        if let Some(connection) = self.connection_mut() {
            connection.close_paths_from(now, local);
        }
        if let Some(direct) = &mut self.direct {
            direct.close_from(now, local);
        }
        self.turn(now);
    }

    /// How the visit stands, if there is one.
    #[must_use]
    pub fn stats(&self) -> Option<AgentStats> {
        let visit = self.visit.as_ref()?;
        let direct = self.direct.as_ref().filter(|direct| direct.is_open());
        let (network, paths) = match direct {
            Some(direct) => (direct.stats()?, &direct.paths),
            None => (self.transport.connection(visit.id)?.stats(), &self.paths),
        };
        let described = |path: &PathReport| (paths.name(path.id, path.tuple), paths.note(path.id));
        let left_out = self.direct.as_ref().map_or(0, |direct| direct.forwarding.left_out());
        Some(AgentStats {
            paths: network.paths.iter().map(described).collect(),
            rate: network.rate,
            left_out: visit.forwarding.left_out() + left_out,
            voice_twice: visit.forwarding.voice_twice,
            is_direct: direct.is_some(),
            network,
        })
    }

    /// The connection that media takes, and how its paths are used.
    fn media_paths(&mut self) -> Option<(&mut dyn Connection, &mut Paths)> {
        if self.direct.as_ref().is_some_and(Direct::is_open) {
            return self.direct.as_mut()?.with_paths();
        }
        let id = self.visit.as_ref()?.id;
        Some((self.transport.connection_mut(id)?, &mut self.paths))
    }

    fn connection_mut(&mut self) -> Option<&mut dyn Connection> {
        connection_of(self.visit.as_ref(), &mut *self.transport)
    }

    /// The other end learns on the path itself how it is to be used: a NAT hides our address.
    fn say_use(&mut self, now: Time, path: &PathReport, wanted: PathUse) {
        let name = self.media_paths().map(|(_, paths)| paths.name(path.id, path.tuple));
        let name = name.unwrap_or_default();
        if self.direct.as_ref().is_some_and(Direct::is_open) {
            self.say_use_directly(now, path, wanted);
        } else if let Some(visit) = &mut self.visit {
            let (local, remote) = (path.tuple.local.to_string(), path.tuple.remote.to_string());
            let message = FromMember::Path { r#use: wanted, local, remote };
            visit.say(message.encode(), (wanted != PathUse::Never).then_some(path.id));
        }
        let text = match wanted {
            PathUse::Use => format!("{name} carries data."),
            PathUse::Spare => format!("{name} is spared while another path stands."),
            PathUse::Never => format!("{name} is not used any more."),
        };
        self.tell(AgentEvent::Log(LogLine {
            at: now,
            kind: LogKind::PathUse,
            path: Some(path.id),
            text,
        }));
        self.turn(now);
    }

    /// Does what any input may have made possible.
    fn turn(&mut self, now: Time) {
        while let Some((id, event)) = self.transport.poll_event() {
            self.on_event(now, id, event);
        }
        self.turn_direct(now);
        if let Some(visit) = &mut self.visit
            && let Some(connection) = self.transport.connection_mut(visit.id)
        {
            visit.flush(now, connection);
        }
    }

    fn on_event(&mut self, now: Time, id: ConnectionId, event: Event) {
        if self.visit.as_ref().is_none_or(|visit| visit.id != id) {
            // Of a visit that is over; what came last is read, so that its connection can go.
            while self.transport.connection_mut(id).and_then(|it| it.receive()).is_some() {}
            return;
        }
        match event {
            Event::Connected { .. } => {
                let connection = self.transport.connection(id);
                let key = connection.and_then(|connection| connection.peer_key());
                self.tell(AgentEvent::Connected { key });
            }
            Event::Readable => self.is_readable = true,
            Event::Path(event) => self.on_path(now, &event),
            Event::Closed { reason, .. } => {
                self.last_words = std::iter::from_fn(|| self.receive(now)).collect();
                self.visit = None;
                self.end_direct(now);
                self.tell(AgentEvent::Closed(reason));
            }
            Event::Restarted { .. } | Event::Writable | Event::RateChanged(_) => {}
            _ => {}
        }
    }

    fn on_path(&mut self, now: Time, event: &PathEvent) {
        let stats = self.connection_mut().map(|connection| connection.stats());
        let reports = stats.map(|stats| stats.paths).unwrap_or_default();
        let mut log = Vec::new();
        self.paths.on_event(now, event, (&reports, &self.voices), &mut log);
        self.tell_of_ways_to_room(log);
    }

    /// While media goes to the other member, it says what became of its paths.
    fn tell_of_ways_to_room(&mut self, log: Vec<LogLine>) {
        if !self.direct.as_ref().is_some_and(Direct::is_open) {
            log.into_iter().for_each(|line| self.tell(AgentEvent::Log(line)));
        }
    }

    fn tick(&mut self, now: Time) {
        self.tick_direct(now);
        let Self { visit, transport, paths, voices, .. } = self;
        let Some(visit) = visit else { return };
        let Some(connection) = transport.connection_mut(visit.id) else { return };
        self.is_readable |= visit.tick(now, connection);
        let mut log = Vec::new();
        paths.tick(now, voices, connection, &mut log);
        self.tell_of_ways_to_room(log);
    }

    fn tell(&mut self, event: AgentEvent) {
        if self.events.len() < EVENTS_MAX || matches!(event, AgentEvent::Closed(_)) {
            self.events.push_back(event);
        }
    }
}

fn connection_of<'a>(
    visit: Option<&Visit>,
    transport: &'a mut dyn Transport,
) -> Option<&'a mut dyn Connection> {
    transport.connection_mut(visit?.id)
}

impl Machine for Agent {
    type Event = AgentEvent;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        match &mut self.direct {
            Some(direct) if is_direct(datagram.bytes) => direct.handle_datagram(now, datagram),
            Some(_) | None => self.transport.handle_datagram(now, datagram),
        }
        self.turn(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.transport.handle_timeout(now);
        if let Some(direct) = &mut self.direct {
            direct.handle_timeout(now);
        }
        if self.visit.as_ref().is_some_and(|visit| visit.next_tick <= now) {
            self.tick(now);
        }
        self.turn(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let direct = self.direct.as_mut().and_then(|direct| direct.poll_transmit(now, buf));
        direct.or_else(|| self.transport.poll_transmit(now, buf))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let tick = self.visit.as_ref().map(|visit| visit.next_tick);
        let tick = tick.map(|at| Wakeup { at, why: "look at rate and paths" });
        let direct = self.direct.as_ref().and_then(Direct::poll_timeout);
        [self.transport.poll_timeout(), direct, tick].into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<AgentEvent> {
        if std::mem::take(&mut self.is_readable) {
            return Some(AgentEvent::Readable);
        }
        self.events.pop_front()
    }

    fn set_tracing(&mut self, on: bool) {
        self.records.set(on);
        self.transport.set_tracing(on);
        if let Some(direct) = &mut self.direct {
            direct.set_tracing(on);
        }
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        let own = self.records.pop().or_else(|| self.transport.poll_trace());
        own.or_else(|| self.direct.as_mut()?.poll_trace())
    }
}
