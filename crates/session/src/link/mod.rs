//! [`Link`]: one peer at a time over a transport, and how one becomes the peer.
//!
//! ```text
//! caller                              listener
//!   | -- hello (with COOKIE ECHO) ----->  |   a newcomer until its hello is read
//!   | <-------- accept or refuse -------- |
//!   | ==== media, reports, measures ====  |
//! ```

mod greeting;
mod lifecycle;
mod timers;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Time, TraceRecord, Transmit, Wakeup};
use anabranch_transport::{
    Connection, ConnectionId, ConnectionStats, Incoming, Level, Outgoing, SendError, StrangerStats,
    StreamStats, Transport,
};
use bytes::Bytes;

use super::config::rest;
use super::message::{CONTROL, Message};
use super::{
    Agreement, CONTROL_LEN_MAX, CallError, Disconnect, Event, GREETING_TIMEOUT, REPORT_INTERVAL,
    Role, SessionConfig, Source,
};
use crate::treatment::MediaClass;

/// Events that wait for the user. When nobody asks, those about paths are dropped, see
/// [`Link::tell`].
const EVENTS_MAX: usize = 1_024;

/// Control messages that wait for room in the transport.
const OUTBOX_MAX: usize = 64;

/// How long a sender waits to hear that all is written: longer than the longest latency, which the
/// receiver takes its time for.
const KEPT_TIMEOUT: Duration = Duration::from_secs(90);

/// What the link hands to the sender or receiver around it.
#[derive(Debug)]
pub(super) enum Input {
    /// The session begins.
    Connected(Box<Agreement>),
    /// The peer said something that concerns the media.
    Control(Box<Message>),
    /// Media.
    Media(Incoming),
    /// The session is over.
    Disconnected { how: Disconnect, stats: Box<ConnectionStats>, streams: Box<Streams> },
    /// A second has passed.
    Tick,
}

/// What was sent on each of our streams.
pub(super) type Streams = [StreamStats; MediaClass::ALL.len()];

/// One peer at a time over a transport.
#[derive(Debug)]
pub(super) struct Link {
    config: SessionConfig,
    role: Role,
    transport: Box<dyn Transport>,
    peer: Option<Peer>,
    /// Callers whose hello has not come, and until when it must.
    newcomers: BTreeMap<ConnectionId, Newcomer>,
    /// Connections that are being shut down, and when that has taken too long.
    parting: BTreeMap<ConnectionId, Time>,
    inputs: VecDeque<Input>,
    events: VecDeque<Event>,
    next_tick: Option<Time>,
}

/// The one that we talk to.
#[derive(Debug)]
struct Peer {
    id: ConnectionId,
    phase: Phase,
    /// Control messages that the transport had no room for.
    outbox: VecDeque<Bytes>,
    /// Packets received until the last tick.
    packets: u64,
    /// Whether nothing came between the last two ticks.
    is_silent: bool,
    /// Whether the sender's last words were said or heard.
    has_ended: bool,
    /// Whether it says when all is written.
    confirms: bool,
    /// It is to say that all is written, and how long that is waited for.
    kept_until: Option<Time>,
    partial_reliability: bool,
    /// Why we end the session, if we do.
    objection: Option<String>,
}

#[derive(Debug)]
enum Phase {
    /// We called, and said hello.
    Calling {
        /// Known once the transport is connected.
        answer_until: Option<Time>,
    },
    /// Media may flow.
    Active,
}

/// One who called, of whom nothing is known yet.
#[derive(Debug)]
struct Newcomer {
    until: Time,
    partial_reliability: bool,
}

impl Link {
    pub(super) fn new(config: SessionConfig, role: Role, transport: Box<dyn Transport>) -> Self {
        Self {
            config,
            role,
            transport,
            peer: None,
            newcomers: BTreeMap::new(),
            parting: BTreeMap::new(),
            inputs: VecDeque::new(),
            events: VecDeque::new(),
            next_tick: None,
        }
    }

    pub(super) fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.transport.set_local_addresses(locals);
    }

    /// Calls the peer at the other end of `paths`. The hello goes along with the handshake.
    pub(super) fn connect(
        &mut self,
        now: Time,
        paths: &[FourTuple],
        source: Option<Source>,
    ) -> Result<(), CallError> {
        if self.peer.is_some() {
            return Err(CallError::Connected);
        }
        let id = self.transport.connect(now, paths)?;
        self.peer = Some(Peer::new(id, Phase::Calling { answer_until: None }, false));
        let hello = Message::Hello(self.greeting(source));
        self.send_control(now, &hello);
        Ok(())
    }

    /// Takes the next thing that concerns the media.
    pub(super) fn poll_input(&mut self) -> Option<Input> {
        self.inputs.pop_front()
    }

    /// Whether media may flow.
    pub(super) fn is_active(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| matches!(peer.phase, Phase::Active))
    }

    /// Whether there is a peer, or one was called.
    pub(super) const fn has_peer(&self) -> bool {
        self.peer.is_some()
    }

    /// The connection with the peer.
    pub(super) fn connection(&self) -> Option<&dyn Connection> {
        self.transport.connection(self.peer.as_ref()?.id)
    }

    /// How long media of this latency may gather now.
    pub(super) fn rest(&self, latency: Duration) -> Duration {
        rest(latency, self.connection().is_none_or(Connection::is_multihomed))
    }

    /// The connection with the peer, to act on.
    pub(super) fn connection_mut(&mut self) -> Option<&mut dyn Connection> {
        self.transport.connection_mut(self.peer.as_ref()?.id)
    }

    /// What was sent to the peer on each stream.
    pub(super) fn streams(&self) -> Streams {
        let connection = self.connection();
        MediaClass::ALL
            .map(|class| connection.map(|it| it.stream_stats(class.stream())).unwrap_or_default())
    }

    /// Counters of datagrams that belong to nobody.
    pub(super) fn strangers(&self) -> StrangerStats {
        self.transport.strangers()
    }

    /// Tells the peer something; it waits if the transport has no room.
    pub(super) fn send_control(&mut self, now: Time, message: &Message) {
        let bytes = message.encode();
        debug_assert!(bytes.len() <= CONTROL_LEN_MAX, "{} bytes", bytes.len());
        if let Some(peer) = &mut self.peer
            && peer.outbox.len() < OUTBOX_MAX
        {
            peer.outbox.push_back(bytes);
        }
        self.flush_control(now);
    }

    /// Hands control messages that wait to the transport.
    pub(super) fn flush_control(&mut self, now: Time) {
        let Some(peer) = &mut self.peer else { return };
        if peer.outbox.is_empty() {
            return;
        }
        let Some(connection) = self.transport.connection_mut(peer.id) else { return };
        while let Some(payload) = peer.outbox.front() {
            let message = Outgoing {
                level: Level::Urgent,
                ..Outgoing::new(MediaClass::Control.stream(), CONTROL, payload.clone())
            };
            match connection.send(now, message) {
                Err(SendError::Full) => return,
                // Whatever else stands against it: the peer is gone, and its event follows.
                Ok(()) | Err(_) => peer.outbox.pop_front(),
            };
        }
    }

    /// Says the sender's last words and shuts the connection down behind what was handed over; if
    /// it is `to_be_kept`, when the receiver says that all of it is written.
    pub(super) fn finish(&mut self, now: Time, items: u64, to_be_kept: bool) {
        self.send_control(now, &Message::End { items });
        if let Some(peer) = &mut self.peer {
            peer.has_ended = true;
            peer.kept_until = (to_be_kept && peer.confirms).then(|| now + KEPT_TIMEOUT);
        }
        self.shut_down_when_said(now);
    }

    /// Ends the session at once and tells the peer why.
    pub(super) fn leave(&mut self, now: Time, reason: &str) {
        if let Some(id) = self.peer.as_ref().map(|peer| peer.id) {
            self.abort(id, reason);
        }
        self.pump(now);
    }

    /// Reads the next message of the peer; false if there is none.
    pub(super) fn read_next(&mut self, now: Time) -> bool {
        let Some(id) = self.peer.as_ref().map(|peer| peer.id) else { return false };
        let Some(message) = self.receive(id) else { return false };
        self.on_message(now, id, message);
        // An abort or a refusal ends here what it began.
        self.pump_events(now);
        true
    }

    pub(super) fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.transport.handle_datagram(now, datagram);
        self.pump(now);
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.transport.handle_timeout(now);
        self.pump(now);
        self.on_timers(now);
    }

    pub(super) fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.transport.poll_transmit(now, buf)
    }

    pub(super) fn poll_timeout(&self) -> Option<Wakeup> {
        let own = self.next_timer().map(|(at, why)| Wakeup { at, why });
        self.transport.poll_timeout().into_iter().chain(own).min()
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(super) fn set_tracing(&mut self, on: bool) {
        self.transport.set_tracing(on);
    }

    pub(super) fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.transport.poll_trace()
    }

    /// Keeps an event for the user. Ends are rare, and that something can be done is said once
    /// until it was done: these are kept however many wait.
    pub(super) fn tell(&mut self, event: Event) {
        let is_rare = matches!(event, Event::Disconnected(_) | Event::MediaDue | Event::Writable);
        if self.events.len() < EVENTS_MAX || is_rare {
            self.events.push_back(event);
        }
    }

    /// Takes what the transport has to report, and what callers say first.
    fn pump(&mut self, now: Time) {
        self.pump_events(now);
        self.read_newcomers(now);
        self.shut_down_when_said(now);
        self.pump_events(now);
    }

    fn pump_events(&mut self, now: Time) {
        while let Some((id, event)) = self.transport.poll_event() {
            self.on_event(now, id, event);
        }
        while let Some(call) = self.transport.poll_refused_call() {
            self.on_refused_call(call);
        }
    }

    /// Takes a message of the peer's.
    fn on_message(&mut self, now: Time, id: ConnectionId, message: Incoming) {
        if message.stream != MediaClass::Control.stream() {
            self.inputs.push_back(Input::Media(message));
            return;
        }
        let decoded = match Message::decode(&message.payload) {
            Ok(decoded) => decoded,
            Err(error) => return self.abort(id, &error.to_string()),
        };
        match decoded {
            Message::Accept(greeting) => self.on_accept(now, id, greeting),
            Message::Refuse(refusal) => self.on_refuse(now, id, refusal),
            Message::Hello(_) => self.abort(id, "a second hello makes no sense"),
            Message::Unknown => {}
            Message::Kept => self.on_kept(now),
            Message::End { .. } if self.role == Role::Receiver => {
                if let Some(peer) = &mut self.peer {
                    peer.has_ended = true;
                }
                self.inputs.push_back(Input::Control(Box::new(decoded)));
            }
            Message::Source(_)
            | Message::End { .. }
            | Message::Report(_)
            | Message::Measures(_) => {
                self.inputs.push_back(Input::Control(Box::new(decoded)));
            }
        }
    }

    fn activate(&mut self, now: Time, id: ConnectionId, partial_reliability: bool) {
        let mut peer = match self.peer.take() {
            Some(peer) if peer.id == id => peer,
            _ => Peer::new(id, Phase::Active, partial_reliability),
        };
        peer.phase = Phase::Active;
        self.peer = Some(peer);
        self.next_tick = Some(now + REPORT_INTERVAL);
    }

    fn receive(&mut self, id: ConnectionId) -> Option<Incoming> {
        self.transport.connection_mut(id)?.receive()
    }

    fn is_peer(&self, id: ConnectionId) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.id == id)
    }

    /// The receiver has written all, or has had its time to say so.
    fn on_kept(&mut self, now: Time) {
        if let Some(peer) = &mut self.peer {
            peer.kept_until = None;
        }
        self.shut_down_when_said(now);
    }

    /// Ends a connection at once; its close event follows.
    fn abort(&mut self, id: ConnectionId, reason: &str) {
        tracing::debug!(%id, reason, "connection aborted");
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.id == id) {
            peer.objection = Some(reason.to_owned());
        }
        if let Some(connection) = self.transport.connection_mut(id) {
            connection.abort(reason);
        }
    }

    /// Ends a connection in order, within the time that a greeting may take.
    fn part(&mut self, now: Time, id: ConnectionId) {
        if let Some(connection) = self.transport.connection_mut(id) {
            connection.shutdown(now);
            self.parting.insert(id, now + GREETING_TIMEOUT);
        }
    }

    /// The sender said all that it had to say: the connection follows.
    fn shut_down_when_said(&mut self, now: Time) {
        let Some(peer) = &self.peer else { return };
        let is_said = peer.has_ended && peer.outbox.is_empty() && peer.kept_until.is_none();
        if self.role != Role::Sender || !is_said {
            return;
        }
        let id = peer.id;
        if let Some(connection) = self.transport.connection_mut(id) {
            connection.shutdown(now);
        }
    }
}

impl Peer {
    fn new(id: ConnectionId, phase: Phase, partial_reliability: bool) -> Self {
        let outbox = VecDeque::new();
        Self {
            id,
            phase,
            outbox,
            packets: 0,
            is_silent: false,
            has_ended: false,
            confirms: false,
            kept_until: None,
            partial_reliability,
            objection: None,
        }
    }
}
