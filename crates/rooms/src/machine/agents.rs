//! [`Agents`]: connections of those who come over associations of their own, and say themselves
//! which room they want to be in.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_sansio::{Machine as _, Rng, Time, Wakeup};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{
    ConnectionId, Encryption, Event, Incoming, Outgoing, SctpConfig, SctpTransport, Transport as _,
};

use super::callers::Callers;
use super::{Link, Server};
use crate::association::{SCTP_PORT, of_agent};
use crate::protocol::{Enter, FromRoom, PPID_TEXT, Reason};

/// How long an agent may take to say where it wants to be, or to go after it was refused.
const PATIENCE: Duration = Duration::from_secs(6);

/// The connections of agents.
#[derive(Debug)]
pub(super) struct Agents {
    pub(super) transport: SctpTransport,
    pub(super) is_encrypted: bool,
    /// Those that have not said where they want to be.
    callers: Callers,
    /// Those that were refused, and until when they must be gone.
    refused: BTreeMap<ConnectionId, Time>,
}

impl Agents {
    pub(super) fn new(encryption: Option<Encryption>, segments_max: usize, rng: Rng) -> Self {
        let is_encrypted = encryption.is_some();
        let config = SctpConfig { listen: true, segments_max, ..of_agent(encryption) };
        let transport = SctpTransport::new(config, SCTP_PORT, rng);
        Self { transport, is_encrypted, callers: Callers::default(), refused: BTreeMap::new() }
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.transport.handle_timeout(now);
        let refused = self.refused.iter().filter(|(_, until)| **until <= now).map(|it| *it.0);
        let due: Vec<_> = self.callers.due(now).chain(refused).collect();
        for id in due {
            self.abort(id, "the agent did not say which room it wants to be in, or did not go");
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Wakeup> {
        let waiting = self.callers.next_due().into_iter().chain(self.refused.values().copied());
        let waiting = waiting.map(|at| Wakeup { at, why: "enter" });
        self.transport.poll_timeout().into_iter().chain(waiting).min()
    }

    /// An agent is connected.
    fn on_connected(&mut self, now: Time, id: ConnectionId) {
        let Some(connection) = self.transport.connection(id) else { return };
        let Some(path) = connection.stats().paths.first().map(|path| path.tuple) else { return };
        if let Some(oldest) = self.callers.add(id, path.remote.ip(), now + PATIENCE) {
            self.abort(oldest, "too many agents at once: try again later");
        }
    }

    /// Says why an agent is not let in, and ends its connection.
    fn refuse(&mut self, now: Time, id: ConnectionId, reason: Reason, text: &str) {
        self.refused.insert(id, now + PATIENCE);
        let Some(connection) = self.transport.connection_mut(id) else { return };
        let bye = FromRoom::Bye { reason, text: text.to_owned() };
        // Nothing was sent before: there is room.
        let _full = connection
            .send(now, Outgoing::new(MediaClass::Control.stream(), PPID_TEXT, bye.encode()));
        connection.shutdown(now);
    }

    fn forget(&mut self, id: ConnectionId) {
        self.callers.remove(id);
        self.refused.remove(&id);
    }

    fn abort(&mut self, id: ConnectionId, reason: &str) {
        self.forget(id);
        if let Some(connection) = self.transport.connection_mut(id) {
            connection.abort(reason);
        }
    }
}

impl Server {
    pub(super) fn take_agents_events(&mut self, now: Time) {
        while let Some((id, event)) = self.agents.transport.poll_event() {
            let link = Link::Agent(id);
            match event {
                Event::Connected { .. } => self.agents.on_connected(now, id),
                // An agent that began anew has to enter again.
                Event::Restarted { .. } => {
                    _ = self.on_closed(now, link);
                    self.agents.on_connected(now, id);
                }
                Event::Closed { .. } => {
                    self.agents.forget(id);
                    _ = self.on_closed(now, link);
                }
                Event::Readable => self.read_agent(now, id),
                Event::Writable => self.on_writable(link),
                Event::Path(_) => self.pairs.note_path_change(),
                Event::RateChanged(_) => {}
                _ => {}
            }
        }
    }

    /// Also what nobody wants is read: a connection stays until it was.
    fn read_agent(&mut self, now: Time, id: ConnectionId) {
        while let Some(message) = self.receive_from_agent(id) {
            match self.guests.get(&Link::Agent(id)) {
                Some(guest) => self.rooms.handle_message(now, *guest, &message),
                None => self.on_first_words(now, id, &message),
            }
        }
    }

    fn receive_from_agent(&mut self, id: ConnectionId) -> Option<Incoming> {
        self.agents.transport.connection_mut(id)?.receive()
    }

    fn on_first_words(&mut self, now: Time, id: ConnectionId, message: &Incoming) {
        if !self.agents.callers.remove(id) {
            return;
        }
        let enter = match Enter::decode(&message.payload) {
            Ok(enter) if message.stream == MediaClass::Control.stream() => enter,
            Ok(_) | Err(_) => {
                let text = "The first words have to say which room to enter.";
                return self.agents.refuse(now, id, Reason::Protocol, text);
            }
        };
        let Some((room, role)) = self.rooms.admission(&enter.room, &enter.token) else {
            let text = "This link opens no room here. Ask for a new one.";
            return self.agents.refuse(now, id, Reason::Token, text);
        };
        if !self.let_in(now, room, role, Link::Agent(id)) {
            let text = "This room has as many connections as it takes; try again in a few seconds.";
            self.agents.refuse(now, id, Reason::Full, text);
        }
    }
}
