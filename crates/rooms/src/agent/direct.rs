//! [`Direct`]: an association with the only other member of a room, an agent too.
//!
//! ```text
//! agent === sealed by the keys of both === agent     over every way that both find,
//!      \--- room, which passes them on ---/          and over the room, always
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_call::{EncoderRate, LogKind, LogLine, Paths};
use anabranch_sansio::{
    Datagram, FourTuple, Rate, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup,
};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{
    ConnectError, Connection, ConnectionId, ConnectionStats, Encryption, Event, Incoming,
    PathEvent, PathState, RateSignal, SctpConfig, SctpTransport, Transport,
};

use super::Said;
use super::private::{FromPeer, Private};
use super::voices::Voices;
use crate::association::{DIRECT_PORT, of_pair};
use crate::forwarding::{Forwarding, media_queued, set_priorities};
use crate::protocol::{
    FILES_STREAM, Forwarded, FromMember, Introduction, MemberNumber, PPID_BINARY, forwarded,
};

/// Paths of the association of two agents.
const PATHS_MAX: usize = 8;

/// Pictures go to the other agent until a key picture can go to the room instead, and no longer
/// than that.
const PARTING_MAX: Duration = Duration::from_secs(1);

/// In records, the number of the association begins here.
const RECORDED_FROM: u64 = 1_000_000;

/// How an agent encrypts what it sends to another one.
pub trait PeerKeys: fmt::Debug + Send + Sync {
    /// For the agent that has this public key; `None` if it is no key.
    fn of_peer(&self, key: &[u8]) -> Option<Sealed>;
}

/// An association with one peer, and how two people make sure that it is theirs alone.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// It takes nobody but that peer.
    pub encryption: Encryption,
    /// What both people see, if nobody gave them other keys than each other's.
    pub code: String,
}

/// How it is set up.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) sealed: Option<Sealed>,
    pub(super) segments_max: usize,
    /// From each of our addresses to the room.
    pub(super) by_room: Vec<FourTuple>,
    pub(super) paths: Paths,
    pub(super) rng: Rng,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum News {
    /// The other agent is there.
    Opened,
    /// There may be something to receive.
    Readable,
    /// For people.
    Log(LogLine),
    /// The association has ended, and was not to.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The other agent has not been heard of.
    Opening,
    /// It carries voice, and pictures from the next key picture on.
    Open,
    /// The room carries voice again, and pictures from the next key picture on.
    Parting {
        until: Time,
    },
    Over,
}

/// An association with the only other member of a room.
#[derive(Debug)]
pub(super) struct Direct {
    transport: Box<dyn Transport>,
    id: Option<ConnectionId>,
    member: MemberNumber,
    pub(super) code: Option<String>,
    phase: Phase,
    candidates: Vec<SocketAddr>,
    by_room: Vec<FourTuple>,
    /// Whether pictures take it.
    carries_pictures: bool,
    pub(super) forwarding: Forwarding,
    pub(super) rate: EncoderRate,
    pub(super) paths: Paths,
    pub(super) private: Private,
    ticks: u32,
    news: VecDeque<News>,
}

impl Direct {
    /// Calls the other agent through the room, or waits to be called.
    ///
    /// # Errors
    /// The transport refuses.
    pub(super) fn begin(
        now: Time,
        introduction: &Introduction,
        setup: Setup,
    ) -> Result<Self, ConnectError> {
        let Setup { sealed, segments_max, by_room, mut paths, rng } = setup;
        let (encryption, code) = sealed.map(|it| (it.encryption, it.code)).unzip();
        let listen = !introduction.calls;
        let config = SctpConfig { listen, segments_max, ..of_pair(encryption) };
        let mut transport = SctpTransport::new(config, DIRECT_PORT, rng);
        let id = introduction.calls.then(|| transport.connect(now, &by_room)).transpose()?;
        for path in &by_room {
            paths.name_remote(path.remote, "through the room");
        }
        Ok(Self {
            transport: Box::new(transport),
            id,
            member: introduction.member,
            code,
            phase: Phase::Opening,
            candidates: introduction.addresses.clone(),
            by_room,
            carries_pictures: false,
            forwarding: Forwarding::new(),
            rate: EncoderRate::new(Rate::ZERO),
            paths,
            private: Private::new(now),
            ticks: 0,
            news: VecDeque::new(),
        })
    }

    /// Whether this member is, or may yet be, at the other end.
    pub(super) fn is_with(&self, member: MemberNumber) -> bool {
        self.member == member && matches!(self.phase, Phase::Opening | Phase::Open)
    }

    /// The other agent may be found elsewhere, too.
    pub(super) fn learn(&mut self, now: Time, addresses: &[SocketAddr]) {
        self.candidates = addresses.to_vec();
        let ways: Vec<_> = self.ways().collect();
        if !self.is_open() {
            return;
        }
        let Some(connection) = self.connection_mut() else { return };
        let known = connection.stats().paths;
        for way in ways.into_iter().filter(|way| known.iter().all(|path| path.tuple != *way)) {
            let _opened = connection.open_path(now, way);
        }
    }

    /// Whether the other agent is there, and media goes to it.
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Whether pictures take it.
    pub(super) const fn carries_pictures(&self) -> bool {
        self.carries_pictures
    }

    /// Whether nothing is left to say to the other agent.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over && self.transport.connections() == 0
    }

    pub(super) fn connection(&self) -> Option<&dyn Connection> {
        self.transport.connection(self.id?)
    }

    pub(super) fn connection_mut(&mut self) -> Option<&mut dyn Connection> {
        self.transport.connection_mut(self.id?)
    }

    /// The connection, and how its paths are used.
    pub(super) fn with_paths(&mut self) -> Option<(&mut dyn Connection, &mut Paths)> {
        Some((self.transport.connection_mut(self.id?)?, &mut self.paths))
    }

    /// Media goes to the room again.
    pub(super) fn part(&mut self, now: Time) {
        match self.phase {
            Phase::Open if self.carries_pictures => {
                self.phase = Phase::Parting { until: now + PARTING_MAX };
            }
            Phase::Opening | Phase::Open => self.end(now),
            Phase::Parting { .. } | Phase::Over => {}
        }
    }

    pub(super) fn end(&mut self, now: Time) {
        self.phase = Phase::Over;
        self.carries_pictures = false;
        if let Some(connection) = self.connection_mut() {
            connection.shutdown(now);
        }
    }

    /// Whether a piece of media goes to the other agent, and not to the room. Pictures change over
    /// with a key picture: nothing before it is of use to who did not get the others.
    pub(super) fn takes(&mut self, now: Time, class: MediaClass) -> bool {
        match (self.phase, class) {
            (Phase::Opening | Phase::Over, _) => return false,
            (Phase::Open, MediaClass::Audio) => return true,
            (Phase::Parting { .. }, MediaClass::Audio) => return false,
            (Phase::Open, MediaClass::KeyFrame) => self.carries_pictures = true,
            (Phase::Parting { .. }, MediaClass::KeyFrame) => self.end(now),
            (Phase::Open | Phase::Parting { .. }, _) => {}
        }
        self.carries_pictures
    }

    /// Sends a piece of media to the other agent.
    pub(super) fn forward(&mut self, now: Time, piece: Forwarded, records: &mut TraceLog) {
        let Some(id) = self.id else { return };
        if let Some(connection) = self.transport.connection_mut(id) {
            self.forwarding.forward(now, piece, connection, records);
        }
    }

    /// The member at the other end.
    pub(super) const fn member(&self) -> MemberNumber {
        self.member
    }

    /// The next thing that the other agent says, media numbered as the room would.
    pub(super) fn receive(&mut self, now: Time, voices: &mut Voices) -> Option<FromPeer> {
        loop {
            let message = self.connection_mut()?.receive()?;
            let said = if message.payload_id != PPID_BINARY {
                self.on_text(now, &message)
            } else if message.stream.0 == FILES_STREAM {
                self.private.on_file(self.member, &message.payload).map(FromPeer::Said)
            } else {
                self.on_media(now, message, voices).map(FromPeer::Said)
            };
            if said.is_some() {
                return said;
            }
        }
    }

    fn on_media(&self, now: Time, message: Incoming, voices: &mut Voices) -> Option<Said> {
        let Incoming { stream, completed_at, payload, .. } = message;
        let piece = forwarded(self.member, payload).ok()?;
        if piece.class.stream() != stream {
            return None;
        }
        if piece.class == MediaClass::Audio {
            voices.note(completed_at.min(now), &piece.bytes);
        }
        Some(Said { stream: stream.0, is_text: false, payload: piece.bytes })
    }

    fn on_text(&mut self, now: Time, message: &Incoming) -> Option<FromPeer> {
        let words = FromMember::decode(&message.payload).ok()?;
        if let FromMember::Path { r#use, local, remote } = words {
            let (addresses, over) = ((local.as_str(), remote.as_str()), message.path);
            let (connection, paths) = self.with_paths()?;
            paths.on_peer_use(now, r#use, (addresses, over), connection);
            return None;
        }
        let FromMember::Text { text } = words else { return None };
        self.private.on_words(now, text)
    }

    /// There is one more way to the room, and from its near end perhaps to the other agent.
    pub(super) fn open_from(&mut self, now: Time, by_room: FourTuple) {
        self.by_room.retain(|path| path.local != by_room.local);
        self.by_room.push(by_room);
        let ways: Vec<_> = self.ways().filter(|path| path.local == by_room.local).collect();
        let Some(connection) = self.connection_mut() else { return };
        for path in [by_room].into_iter().chain(ways) {
            let _opened = connection.open_path(now, path);
        }
    }

    /// Nothing can be sent from this address any more.
    pub(super) fn close_from(&mut self, now: Time, local: SocketAddr) {
        self.by_room.retain(|path| path.local != local);
        if let Some(connection) = self.connection_mut() {
            connection.close_paths_from(now, local);
        }
    }

    /// What the network does to it, without the paths that never led anywhere.
    pub(super) fn stats(&self) -> Option<ConnectionStats> {
        let mut stats = self.connection()?.stats();
        stats.paths.retain(|path| path.state != PathState::Unconfirmed);
        Some(stats)
    }

    /// Where the other agent may be found from our addresses.
    fn ways(&self) -> impl Iterator<Item = FourTuple> + '_ {
        let from = |local: SocketAddr| {
            let to = self.candidates.iter().filter(move |remote| {
                let are_near = (local.ip().is_loopback(), remote.ip().is_loopback());
                local.is_ipv4() == remote.is_ipv4() && are_near.0 == are_near.1
            });
            to.map(move |remote| FourTuple::new(local, *remote))
        };
        let rest = PATHS_MAX.saturating_sub(self.by_room.len());
        self.by_room.iter().flat_map(move |path| from(path.local)).take(rest)
    }

    /// Takes what happened.
    pub(super) fn turn(&mut self, now: Time, heard: &Voices) {
        while let Some((id, event)) = self.transport.poll_event() {
            self.on_event(now, id, event, heard);
        }
        self.flush(now);
    }

    fn on_event(&mut self, now: Time, id: ConnectionId, event: Event, heard: &Voices) {
        match event {
            Event::Connected { .. } => self.on_connected(now, id),
            _ if self.id != Some(id) => self.read_away(id),
            Event::Readable => self.news.push_back(News::Readable),
            Event::Path(event) => self.on_path(now, &event, heard),
            Event::Closed { .. } => {
                self.id = None;
                self.carries_pictures = false;
                if std::mem::replace(&mut self.phase, Phase::Over) == Phase::Open {
                    self.news.push_back(News::Lost);
                }
            }
            Event::Restarted { .. } | Event::Writable | Event::RateChanged(_) => {}
            _ => {}
        }
    }

    /// Who calls has the key that was expected. One that calls again began anew.
    fn on_connected(&mut self, now: Time, id: ConnectionId) {
        if self.phase != Phase::Opening || self.id.is_some_and(|known| known != id) {
            if let Some(connection) = self.transport.connection_mut(id) {
                connection.abort("this agent talks to another one");
            }
            return;
        }
        (self.id, self.phase) = (Some(id), Phase::Open);
        let ways: Vec<_> = self.by_room.iter().copied().chain(self.ways()).collect();
        let Some(connection) = self.transport.connection_mut(id) else { return };
        set_priorities(connection);
        for path in ways {
            let _opened = connection.open_path(now, path);
        }
        self.news.push_back(News::Opened);
    }

    /// A connection stays until its last words are read.
    fn read_away(&mut self, id: ConnectionId) {
        while self.transport.connection_mut(id).and_then(|it| it.receive()).is_some() {}
    }

    fn on_path(&mut self, now: Time, event: &PathEvent, heard: &Voices) {
        let paths = self.connection().map(|it| it.stats().paths).unwrap_or_default();
        let mut log = Vec::new();
        match event {
            // It is one more way to try.
            PathEvent::Added { .. } => {}
            PathEvent::StateChanged {
                path,
                from: PathState::Unconfirmed,
                to: PathState::Active,
            } => {
                let known = paths.iter().find(|report| report.id == *path);
                let is_by_room = |remote| self.by_room.iter().any(|way| way.remote == remote);
                if let Some(report) = known.filter(|report| !is_by_room(report.tuple.remote)) {
                    let name = self.paths.name(*path, report.tuple);
                    let text = format!("The other one is reached directly, over {name}.");
                    let (kind, path) = (LogKind::PathAdded, Some(*path));
                    log.push(LogLine { at: now, kind, path, text });
                }
            }
            PathEvent::StateChanged { .. }
            | PathEvent::Removed { .. }
            | PathEvent::Moved { .. }
            | PathEvent::DataPathChanged { .. } => {
                self.paths.on_event(now, event, (&paths, heard), &mut log);
            }
        }
        self.news.extend(log.into_iter().map(News::Log));
    }

    fn flush(&mut self, now: Time) {
        let Some(id) = self.id else { return };
        if let Some(connection) = self.transport.connection_mut(id) {
            self.private.outbox.flush(now, connection);
        }
    }

    /// A tenth of a second is over. Returns whether a key picture is wanted.
    pub(super) fn tick(&mut self, now: Time, heard: &Voices) -> bool {
        if matches!(self.phase, Phase::Parting { until } if until <= now) {
            self.end(now);
        }
        let Some(id) = self.id else { return false };
        let Some(connection) = self.transport.connection_mut(id) else { return false };
        self.ticks += 1;
        if self.ticks.is_multiple_of(super::visit::TICKS_A_SECOND) {
            self.forwarding.tick(now);
        }
        let mut log = Vec::new();
        self.paths.tick(now, heard, connection, &mut log);
        self.news.extend(log.into_iter().map(News::Log));
        let signal = connection.rate();
        let signal = signal.map(|it| RateSignal { queued: media_queued(connection), ..it });
        let wait = signal.map(|it| it.carries.time_for(it.queued as u64));
        // What it is shows in what the page's encoder is told.
        let _told = self.rate.follow(now, signal);
        !self.forwarding.lacking.take(now, wait).is_empty()
    }

    pub(super) fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    pub(super) fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.transport.handle_datagram(now, datagram);
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.transport.handle_timeout(now);
    }

    pub(super) fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.transport.poll_transmit(now, buf)
    }

    pub(super) fn poll_timeout(&self) -> Option<Wakeup> {
        self.transport.poll_timeout()
    }

    pub(super) fn set_tracing(&mut self, on: bool) {
        self.transport.set_tracing(on);
    }

    pub(super) fn poll_trace(&mut self) -> Option<TraceRecord> {
        let record = self.transport.poll_trace()?;
        let connection = record.connection.map(|id| RECORDED_FROM + id);
        Some(TraceRecord { connection, ..record })
    }
}
