//! Who may be the peer: hello, accept, refuse.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_transport::{ConnectionId, Outgoing};

use super::super::message::{CONTROL, Greeting, Message, PROTOCOL_VERSION};
use super::super::{Agreement, Disconnect, Event, Refusal, RefusalCode, Source};
use super::{Input, Link, Phase};
use crate::config::LATENCY_MS_MAX;
use crate::treatment::MediaClass;

/// What we call ourselves.
const PROGRAM: &str = concat!("anabranch ", env!("CARGO_PKG_VERSION"));

impl Link {
    pub(super) fn greeting(&self, source: Option<Source>) -> Greeting {
        Greeting {
            version: PROTOCOL_VERSION,
            program: PROGRAM.to_owned(),
            role: self.role,
            stream_id: self.config.stream_id.clone(),
            latency_ms: millis(self.config.latency),
            source,
            confirms: self.config.confirms,
        }
    }

    /// Reads the first words of those who called.
    pub(super) fn read_newcomers(&mut self, now: Time) {
        let waiting: Vec<ConnectionId> = self.newcomers.keys().copied().collect();
        for id in waiting {
            let Some(message) = self.receive(id) else { continue };
            let Some(newcomer) = self.newcomers.remove(&id) else { continue };
            let is_control = message.stream == MediaClass::Control.stream();
            let hello = match Message::decode(&message.payload) {
                Ok(Message::Hello(hello)) if is_control => hello,
                Err(_) if is_control && speaks_otherwise(&message.payload).is_some() => {
                    let version = speaks_otherwise(&message.payload).unwrap_or_default();
                    self.refuse(now, id, version_refusal(version));
                    continue;
                }
                _ => {
                    self.abort(id, "a session begins with a hello, and this did not");
                    continue;
                }
            };
            match self.objection(&hello) {
                Some(refusal) => self.refuse(now, id, refusal),
                None => self.welcome(now, id, &hello, newcomer.partial_reliability),
            }
        }
    }

    /// Why the one who said hello cannot be served.
    fn objection(&self, hello: &Greeting) -> Option<Refusal> {
        if hello.version != PROTOCOL_VERSION {
            return Some(version_refusal(hello.version));
        }
        if hello.role == self.role {
            let verb = self.role.verb();
            let text = format!("both ends want to {verb}: one must be anabranch send, one recv");
            return Some(Refusal::new(RefusalCode::Role, text));
        }
        if let Some(ours) = &self.config.stream_id
            && hello.stream_id.as_ref() != Some(ours)
        {
            let text = match &hello.stream_id {
                Some(_) => "there is no stream of that streamid here",
                None => "this end asks for a streamid: give streamid= in the URL",
            };
            return Some(Refusal::new(RefusalCode::StreamId, text.to_owned()));
        }
        if self.peer.as_ref().is_some_and(|peer| !peer.is_silent) {
            let text = "another peer is being served; it must end first".to_owned();
            return Some(Refusal::new(RefusalCode::Busy, text));
        }
        None
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
            tracing::info!(%remote, %refusal, "caller refused");
            self.tell(Event::TurnedAway { remote, refusal });
        }
    }

    fn welcome(
        &mut self,
        now: Time,
        id: ConnectionId,
        hello: &Greeting,
        partial_reliability: bool,
    ) {
        if let Some(silent) = self.peer.as_ref().map(|peer| peer.id) {
            let reason = "it was silent, and another peer called".to_owned();
            let stats = self.connection().map(|connection| connection.stats());
            self.abort(silent, &reason);
            self.disconnect(Disconnect::Lost { reason }, Box::new(stats.unwrap_or_default()));
        }
        self.activate(now, id, partial_reliability);
        self.agree(id, hello, true);
    }

    /// The listener's answer goes out once the session around the link has said what it sends.
    pub(in super::super) fn accept(&mut self, now: Time, source: Option<Source>) {
        let accept = Message::Accept(self.greeting(source));
        self.send_control(now, &accept);
    }

    pub(super) fn on_accept(&mut self, now: Time, id: ConnectionId, greeting: Greeting) {
        let is_calling =
            self.peer.as_ref().is_some_and(|peer| matches!(peer.phase, Phase::Calling { .. }));
        if !is_calling {
            return self.abort(id, "an accept that nobody asked for");
        }
        if greeting.version != PROTOCOL_VERSION {
            return self.abort(id, &version_refusal(greeting.version).text);
        }
        if greeting.role == self.role {
            return self.abort(id, "the one that accepted us has the same role");
        }
        let partial_reliability = self.peer.as_ref().is_some_and(|peer| peer.partial_reliability);
        self.activate(now, id, partial_reliability);
        self.agree(id, &greeting, false);
    }

    pub(super) fn on_refuse(&mut self, now: Time, id: ConnectionId, refusal: Refusal) {
        let is_calling =
            self.peer.as_ref().is_some_and(|peer| matches!(peer.phase, Phase::Calling { .. }));
        if !is_calling {
            return self.abort(id, "a refusal after the session had begun");
        }
        self.peer = None;
        self.part(now, id);
        self.tell(Event::Refused(refusal));
    }

    fn agree(&mut self, id: ConnectionId, theirs: &Greeting, incoming: bool) {
        let Some(connection) = self.transport.connection(id) else { return };
        let Some(path) = connection.stats().paths.first().map(|path| path.tuple) else { return };
        let peer_key = connection.peer_key();
        let partial_reliability = self.peer.as_ref().is_some_and(|peer| peer.partial_reliability);
        let agreement = Box::new(Agreement {
            program: theirs.program.clone(),
            path,
            incoming,
            latency: self.config.latency.max(latency_of(theirs)),
            stream_id: self.config.stream_id.clone().or_else(|| theirs.stream_id.clone()),
            partial_reliability,
            peer_key,
            source: theirs.source.clone(),
        });
        if let Some(peer) = &mut self.peer {
            peer.confirms = theirs.confirms;
        }
        tracing::info!(%path, latency = ?agreement.latency, program = theirs.program, "connected");
        self.inputs.push_back(Input::Connected(agreement.clone()));
        self.tell(Event::Connected(agreement));
    }
}

/// The version of a hello that is not of ours.
fn speaks_otherwise(payload: &[u8]) -> Option<u32> {
    Message::version_of_hello(payload).filter(|version| *version != PROTOCOL_VERSION)
}

fn version_refusal(version: u32) -> Refusal {
    let text = format!(
        "the session protocol has version {PROTOCOL_VERSION} here and {version} there: install \
         the same version of anabranch at both ends"
    );
    Refusal::new(RefusalCode::Version, text)
}

fn latency_of(greeting: &Greeting) -> Duration {
    Duration::from_millis(greeting.latency_ms.min(LATENCY_MS_MAX).into())
}

fn millis(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}
