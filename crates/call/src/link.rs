//! [`Link`]: one peer at a time over a transport, and how one becomes the peer.
//!
//! ```text
//! caller                              listener
//!   | -- call (with COOKIE ECHO) ------>  |   a newcomer until that is read
//!   | <------- answer or refuse --------- |
//!   | ====== media, both ways ==========  |
//!   | -- bye, then SHUTDOWN ----------->  |   either end
//! ```

mod reasons;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Time, TraceRecord, Transmit, Wakeup};
use anabranch_session::treatment::MediaClass;
use anabranch_session::{CONTROL, GREETING_TIMEOUT, NEWCOMERS_MAX, Refusal, RefusalCode};
use anabranch_transport::{
    CloseReason, Connection, ConnectionId, ConnectionStats, Event as Transported, Incoming, Level,
    Outgoing, PathEvent, PathPreference, SendError, StreamId, Transport,
};
use bytes::Bytes;

use crate::exchange::{FILES_STREAM, Takes};
use crate::message::{Greeting, Message, PROTOCOL_VERSION};
use crate::treatment::WORDS_STREAM;
use crate::{CallError, End, EndReason, Event, Media, Peer};

/// What we call our program.
const PROGRAM: &str = concat!("anabranch ", env!("CARGO_PKG_VERSION"));

/// Control messages that wait for room in the transport.
const OUTBOX_MAX: usize = 64;

/// Things that wait for the agent around the link; it takes them after each input.
const EVENTS_MAX: usize = 1_024;

/// Words and messages about files that overtook the answer to our call.
const EARLY_MAX: usize = 64;

/// How long a peer may be silent while another one calls.
const BUSY_UNTIL_SILENT: Duration = Duration::from_secs(2);

/// What the link hands to the agent around it.
#[derive(Debug)]
pub(crate) enum Input {
    Began(Box<Peer>),
    Control(Box<Message>, Incoming),
    Media(Incoming),
    /// Something about a block of a file.
    Block(Bytes),
    Path(PathEvent),
    Ended(End),
}

/// One peer at a time over a transport.
#[derive(Debug)]
pub(crate) struct Link {
    listen: bool,
    name: Option<String>,
    pub(crate) media: Media,
    takes: Takes,
    /// What the peer was told of it when we called.
    greeted: Option<Media>,
    transport: Box<dyn Transport>,
    peer: Option<Remote>,
    newcomers: BTreeMap<ConnectionId, Time>,
    /// Connections that are being shut down, and when that has taken too long.
    parting: BTreeMap<ConnectionId, Time>,
    inputs: VecDeque<Input>,
    events: VecDeque<Event>,
}

/// The one that we talk to.
#[derive(Debug)]
struct Remote {
    id: ConnectionId,
    phase: Phase,
    outbox: VecDeque<(Bytes, PathPreference)>,
    /// What came before the answer on the streams of words and files.
    early: VecDeque<Incoming>,
    /// Why we end the call, if we do.
    objection: Option<End>,
    /// The peer's last words.
    bye: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// We called; until when an answer must come, once the transport is connected.
    Calling(Option<Time>),
    Active,
}

impl Link {
    pub(crate) fn new(
        listen: bool,
        name: Option<String>,
        (media, takes): (Media, Takes),
        transport: Box<dyn Transport>,
    ) -> Self {
        Self {
            listen,
            name,
            media,
            takes,
            greeted: None,
            transport,
            peer: None,
            newcomers: BTreeMap::new(),
            parting: BTreeMap::new(),
            inputs: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    pub(crate) fn transport_mut(&mut self) -> &mut dyn Transport {
        &mut *self.transport
    }

    pub(crate) fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<(), CallError> {
        if self.peer.is_some() {
            return Err(CallError::InCall);
        }
        let id = self.transport.connect(now, paths)?;
        self.peer = Some(Remote::new(id, Phase::Calling(None)));
        let call = Message::Call(self.greeting());
        self.send(now, &call);
        self.greeted = Some(self.media.clone());
        Ok(())
    }

    /// What this end calls itself.
    pub(crate) fn name(&self) -> Option<String> {
        self.name.clone()
    }

    /// Whether we send something else by now than we said when we called.
    pub(crate) fn takes_back_greeting(&mut self) -> bool {
        self.greeted.take().is_some_and(|greeted| greeted != self.media)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.transport.connections() == 0
    }

    pub(crate) fn is_active(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.phase == Phase::Active)
    }

    pub(crate) const fn has_peer(&self) -> bool {
        self.peer.is_some()
    }

    pub(crate) fn connection(&self) -> Option<&dyn Connection> {
        self.transport.connection(self.peer.as_ref()?.id)
    }

    pub(crate) fn connection_mut(&mut self) -> Option<&mut dyn Connection> {
        self.transport.connection_mut(self.peer.as_ref()?.id)
    }

    /// Tells the peer something; it waits if the transport has no room.
    pub(crate) fn send(&mut self, now: Time, message: &Message) {
        self.send_over(now, message, PathPreference::Any);
    }

    /// The same over a path of choice.
    pub(crate) fn send_over(&mut self, now: Time, message: &Message, path: PathPreference) {
        if let Some(peer) = &mut self.peer
            && peer.outbox.len() < OUTBOX_MAX
        {
            peer.outbox.push_back((message.encode(), path));
        }
        self.flush(now);
    }

    pub(crate) fn flush(&mut self, now: Time) {
        let Some(peer) = &mut self.peer else { return };
        let Some(connection) = self.transport.connection_mut(peer.id) else { return };
        while let Some((payload, path)) = peer.outbox.front() {
            let message = Outgoing {
                level: Level::Urgent,
                path: *path,
                ..Outgoing::new(MediaClass::Control.stream(), CONTROL, payload.clone())
            };
            match connection.send(now, message) {
                Err(SendError::Full) => return,
                // Whatever else stands against it: the peer is gone, and its event follows.
                Ok(()) | Err(_) => peer.outbox.pop_front(),
            };
        }
    }

    /// Ends the call in order: the peer learns why.
    pub(crate) fn hang_up(&mut self, now: Time, text: &str) {
        let bye = Message::Bye { reason: "hung_up".to_owned(), text: text.to_owned() };
        self.send(now, &bye);
        let Some(peer) = self.peer.take() else { return };
        match peer.phase {
            Phase::Active => self.part(now, peer.id),
            Phase::Calling(_) => self.abort(peer.id, text),
        }
        let text = "You hung up.".to_owned();
        self.inputs.push_back(Input::Ended(End { why: EndReason::HungUp, text }));
        self.pump(now);
    }

    /// Ends the call at once.
    pub(crate) fn end(&mut self, now: Time, end: End) {
        let Some(peer) = &mut self.peer else { return };
        let id = peer.id;
        let words = end.text.clone();
        peer.objection = Some(end);
        self.abort(id, &words);
        self.pump(now);
    }

    pub(crate) fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.transport.handle_datagram(now, datagram);
        self.pump(now);
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.transport.handle_timeout(now);
        self.on_timers(now);
        self.pump(now);
    }

    pub(crate) fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.transport.poll_transmit(now, buf)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Wakeup> {
        let newcomers = self.newcomers.values().map(|at| Wakeup { at: *at, why: "call" });
        let parting = self.parting.values().map(|at| Wakeup { at: *at, why: "parting" });
        let answer = self.answer_until().map(|at| Wakeup { at, why: "answer" });
        self.transport
            .poll_timeout()
            .into_iter()
            .chain(newcomers)
            .chain(parting)
            .chain(answer)
            .min()
    }

    pub(crate) fn poll_input(&mut self) -> Option<Input> {
        self.inputs.pop_front()
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn tell(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX || matches!(event, Event::Ended(_) | Event::Began(_)) {
            self.events.push_back(event);
        }
    }

    pub(crate) fn set_tracing(&mut self, on: bool) {
        self.transport.set_tracing(on);
    }

    pub(crate) fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.transport.poll_trace()
    }

    fn greeting(&self) -> Greeting {
        Greeting {
            version: PROTOCOL_VERSION,
            program: PROGRAM.to_owned(),
            name: self.name.clone(),
            media: self.media.clone(),
            takes: self.takes,
        }
    }

    fn answer_until(&self) -> Option<Time> {
        match self.peer.as_ref()?.phase {
            Phase::Calling(until) => until,
            Phase::Active => None,
        }
    }

    fn on_timers(&mut self, now: Time) {
        for id in due(now, &self.newcomers) {
            self.newcomers.remove(&id);
            self.abort(id, "no call came");
        }
        for id in due(now, &self.parting) {
            self.parting.remove(&id);
            self.abort(id, "the parting took too long");
        }
        if self.answer_until().is_some_and(|at| at <= now) {
            let text = "The other end did not answer the call.".to_owned();
            self.end(now, End { why: EndReason::NoAnswer, text });
        }
    }

    /// Takes what the transport has to report, and what the peers say.
    fn pump(&mut self, now: Time) {
        self.pump_events(now);
        self.read_newcomers(now);
        self.read_peer(now);
        self.flush(now);
        self.pump_events(now);
    }

    fn pump_events(&mut self, now: Time) {
        while let Some((id, event)) = self.transport.poll_event() {
            self.on_event(now, id, event);
        }
        while let Some(call) = self.transport.poll_refused_call() {
            let refusal = reasons::refused_call(call.why);
            self.tell(Event::TurnedAway { remote: call.remote, refusal });
        }
    }

    fn on_event(&mut self, now: Time, id: ConnectionId, event: Transported) {
        match event {
            Transported::Connected { incoming, streams, .. } => {
                self.on_connected(now, id, incoming, streams);
            }
            Transported::Restarted { .. } => self.on_restarted(now, id),
            Transported::Closed { reason, stats, .. } => {
                self.newcomers.remove(&id);
                self.parting.remove(&id);
                if self.is_peer(id) {
                    self.on_closed(now, &reason);
                } else {
                    self.on_stranger_closed(&reason, &stats);
                }
            }
            Transported::Path(event) if self.is_peer(id) => {
                self.inputs.push_back(Input::Path(event));
            }
            Transported::Path(_)
            | Transported::RateChanged(_)
            | Transported::Readable
            | Transported::Writable => {}
            _ => {}
        }
    }

    fn on_connected(&mut self, now: Time, id: ConnectionId, incoming: bool, streams: u16) {
        if streams < MediaClass::STREAMS {
            let needed = MediaClass::STREAMS;
            return self.abort(id, &format!("{streams} streams are too few: {needed}"));
        }
        let until = now + GREETING_TIMEOUT;
        match self.peer.as_mut().filter(|peer| peer.id == id) {
            Some(peer) => peer.phase = Phase::Calling(Some(until)),
            None if incoming && self.newcomers.len() < NEWCOMERS_MAX => {
                self.newcomers.insert(id, until);
            }
            None => self.abort(id, "too many callers at once: try again later"),
        }
    }

    /// The peer began anew on the same addresses: as if it had been lost and called again.
    fn on_restarted(&mut self, now: Time, id: ConnectionId) {
        if self.is_peer(id) {
            self.peer = None;
            let text = "The other end was started anew.".to_owned();
            self.inputs.push_back(Input::Ended(End { why: EndReason::Lost, text }));
        }
        if !self.listen {
            return self.abort(id, "we do not take calls");
        }
        self.newcomers.insert(id, now + GREETING_TIMEOUT);
    }

    /// Who called was not let in for want of the right key.
    fn on_stranger_closed(&mut self, reason: &CloseReason, stats: &ConnectionStats) {
        if let Some(refusal) = Refusal::of_close_reason(reason)
            && let Some(path) = stats.paths.first()
        {
            self.tell(Event::TurnedAway { remote: path.tuple.remote, refusal });
        }
    }

    /// The peer is gone.
    fn on_closed(&mut self, now: Time, reason: &CloseReason) {
        self.read_peer(now);
        let Some(peer) = self.peer.take() else { return };
        let end = match (peer.objection, peer.bye) {
            (Some(end), _) => end,
            (None, Some(text)) => End { why: EndReason::PeerHungUp, text },
            (None, None) => reasons::end_of(reason),
        };
        self.inputs.push_back(Input::Ended(end));
    }

    /// Reads the first words of those who called.
    fn read_newcomers(&mut self, now: Time) {
        let waiting: Vec<ConnectionId> = self.newcomers.keys().copied().collect();
        for id in waiting {
            let Some(message) = self.receive(id) else { continue };
            self.newcomers.remove(&id);
            let is_control = message.stream == MediaClass::Control.stream();
            match Message::decode(&message.payload) {
                Ok(Message::Call(greeting)) if is_control => self.on_call(now, id, greeting),
                _ => self.refuse(now, id, reasons::no_call()),
            }
        }
    }

    fn on_call(&mut self, now: Time, id: ConnectionId, greeting: Greeting) {
        if greeting.version != PROTOCOL_VERSION {
            return self.refuse(now, id, reasons::version(greeting.version));
        }
        if let Some(peer) = self.peer.as_ref().map(|peer| peer.id) {
            let heard = self.connection().and_then(|connection| connection.last_heard());
            if heard.is_some_and(|heard| now - heard < BUSY_UNTIL_SILENT) {
                let text = "the other end is in another call".to_owned();
                return self.refuse(now, id, Refusal { code: RefusalCode::Busy, text });
            }
            // It fell silent, and calls again or somebody else does.
            self.abort(peer, "it was silent, and another call came");
            self.peer = None;
            let text = "It was silent, and another call came.".to_owned();
            self.inputs.push_back(Input::Ended(End { why: EndReason::Lost, text }));
        }
        self.peer = Some(Remote::new(id, Phase::Active));
        let answer = Message::Answer(self.greeting());
        self.send(now, &answer);
        self.begin(id, greeting, true);
    }

    fn begin(&mut self, id: ConnectionId, greeting: Greeting, incoming: bool) {
        let Some(connection) = self.transport.connection(id) else { return };
        let Some(path) = connection.stats().paths.first().map(|path| path.tuple) else { return };
        let key = connection.peer_key();
        let Greeting { program, name, media, takes, .. } = greeting;
        let peer = Peer { name, program, media, takes, key, path, incoming };
        self.inputs.push_back(Input::Began(Box::new(peer)));
        let Some(peer) = &mut self.peer else { return };
        peer.phase = Phase::Active;
        for message in std::mem::take(&mut peer.early) {
            self.on_behind_media(id, message);
        }
    }

    fn read_peer(&mut self, now: Time) {
        while let Some(id) = self.peer.as_ref().map(|peer| peer.id)
            && let Some(message) = self.receive(id)
        {
            let is_behind_media = [WORDS_STREAM, StreamId(FILES_STREAM)].contains(&message.stream);
            if message.stream == MediaClass::Control.stream() {
                self.on_control(now, id, message);
            } else if is_behind_media && self.is_active() {
                self.on_behind_media(id, message);
            } else if is_behind_media {
                self.keep_early(message);
            } else if self.is_active() {
                self.inputs.push_back(Input::Media(message));
            }
        }
    }

    fn keep_early(&mut self, message: Incoming) {
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.early.len() < EARLY_MAX) {
            peer.early.push_back(message);
        }
    }

    /// Words, or something about a file.
    fn on_behind_media(&mut self, id: ConnectionId, message: Incoming) {
        if message.stream != WORDS_STREAM {
            return self.inputs.push_back(Input::Block(message.payload));
        }
        match Message::decode(&message.payload) {
            Ok(words) if words.is_exchange() => {
                self.inputs.push_back(Input::Control(Box::new(words), message));
            }
            Ok(_) => {}
            Err(error) => self.object(id, &error.to_string()),
        }
    }

    fn on_control(&mut self, now: Time, id: ConnectionId, message: Incoming) {
        let decoded = match Message::decode(&message.payload) {
            Ok(decoded) => decoded,
            Err(error) => return self.object(id, &error.to_string()),
        };
        match decoded {
            Message::Answer(greeting) if !self.is_active() => {
                if greeting.version != PROTOCOL_VERSION {
                    return self.object(id, &reasons::version(greeting.version).text);
                }
                self.begin(id, greeting, false);
            }
            Message::Refuse(refusal) if !self.is_active() => {
                self.peer = None;
                self.part(now, id);
                self.inputs.push_back(Input::Ended(reasons::refused(&refusal)));
            }
            Message::Call(_) | Message::Answer(_) | Message::Refuse(_) => {
                self.object(id, "a greeting in the middle of the call makes no sense");
            }
            Message::Bye { text, .. } => {
                if let Some(peer) = &mut self.peer {
                    peer.bye = Some(text);
                }
            }
            Message::Unknown => {}
            Message::Media { .. }
            | Message::WantKey
            | Message::Path { .. }
            | Message::Report(_)
            | Message::Text { .. }
            | Message::OfferFile { .. }
            | Message::WithdrawFile { .. }
            | Message::FileRefused { .. } => {
                self.inputs.push_back(Input::Control(Box::new(decoded), message));
            }
        }
    }

    fn refuse(&mut self, now: Time, id: ConnectionId, refusal: Refusal) {
        let Some(connection) = self.transport.connection_mut(id) else { return };
        let remote = connection.stats().paths.first().map(|path| path.tuple.remote);
        let payload = Message::Refuse(refusal.clone()).encode();
        let stream = MediaClass::Control.stream();
        // A fresh connection has room for one message; if it closed, there is nobody to tell.
        let _closed = connection.send(now, Outgoing::new(stream, CONTROL, payload));
        self.part(now, id);
        if let Some(remote) = remote {
            self.tell(Event::TurnedAway { remote, refusal });
        }
    }

    /// The peer broke the protocol.
    fn object(&mut self, id: ConnectionId, what: &str) {
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.id == id) {
            let text = format!("We ended the call: {what}.");
            peer.objection = Some(End { why: EndReason::Lost, text });
        }
        self.abort(id, what);
    }

    fn abort(&mut self, id: ConnectionId, reason: &str) {
        tracing::debug!(%id, reason, "connection aborted");
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

    fn receive(&mut self, id: ConnectionId) -> Option<Incoming> {
        self.transport.connection_mut(id)?.receive()
    }

    fn is_peer(&self, id: ConnectionId) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.id == id)
    }
}

impl Remote {
    const fn new(id: ConnectionId, phase: Phase) -> Self {
        let outbox = VecDeque::new();
        Self { id, phase, outbox, early: VecDeque::new(), objection: None, bye: None }
    }
}

fn due(now: Time, timers: &BTreeMap<ConnectionId, Time>) -> Vec<ConnectionId> {
    timers.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id).collect()
}
