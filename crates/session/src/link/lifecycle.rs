//! Connections come to be and end.

use std::net::SocketAddr;

use anabranch_sansio::Time;
use anabranch_transport::{
    CloseReason, ConnectionId, ConnectionStats, RefusedCall, RefusedCallReason,
};

use super::super::message::printable;
use super::super::{Disconnect, Event, GREETING_TIMEOUT, NEWCOMERS_MAX, Refusal};
use super::{Input, Link, Newcomer, Phase};
use crate::treatment::MediaClass;

impl Link {
    pub(super) fn on_event(
        &mut self,
        now: Time,
        id: ConnectionId,
        event: anabranch_transport::Event,
    ) {
        use anabranch_transport::Event as Transport;
        match event {
            Transport::Connected { incoming, streams, partial_reliability } => {
                self.on_connected(now, id, incoming, streams, partial_reliability);
            }
            Transport::Restarted { partial_reliability } => {
                self.on_restarted(now, id, partial_reliability);
            }
            Transport::Closed { reason, stats } => self.on_closed(now, id, reason, stats),
            Transport::Path(event) if self.is_peer(id) => self.tell(Event::Path(event)),
            Transport::RateChanged(signal) if self.is_peer(id) => {
                self.tell(Event::RateChanged(signal));
            }
            Transport::RateChanged(_)
            | Transport::Path(_)
            | Transport::Readable
            | Transport::Writable => {}
            _ => {}
        }
    }

    fn on_connected(
        &mut self,
        now: Time,
        id: ConnectionId,
        incoming: bool,
        streams: u16,
        partial_reliability: bool,
    ) {
        if streams < MediaClass::STREAMS {
            let needed = MediaClass::STREAMS;
            return self.abort(id, &format!("{streams} streams are too few: {needed}"));
        }
        let until = now + GREETING_TIMEOUT;
        match self.peer.as_mut().filter(|peer| peer.id == id) {
            Some(peer) => {
                peer.phase = Phase::Calling { answer_until: Some(until) };
                peer.partial_reliability = partial_reliability;
            }
            None if incoming && self.newcomers.len() < NEWCOMERS_MAX => {
                self.newcomers.insert(id, Newcomer { until, partial_reliability });
            }
            None => self.abort(id, "too many callers at once: try again later"),
        }
    }

    /// The peer began anew on the same addresses: as if it had been lost and called again.
    fn on_restarted(&mut self, now: Time, id: ConnectionId, partial_reliability: bool) {
        if self.is_peer(id) {
            let stats = self.connection().map(|connection| connection.stats()).unwrap_or_default();
            let reason = "the peer restarted".to_owned();
            self.disconnect(Disconnect::Lost { reason }, Box::new(stats));
        }
        if !self.config.listen {
            return self.abort(id, "we do not take calls");
        }
        let until = now + GREETING_TIMEOUT;
        self.newcomers.insert(id, Newcomer { until, partial_reliability });
    }

    fn on_closed(
        &mut self,
        now: Time,
        id: ConnectionId,
        reason: CloseReason,
        stats: Box<ConnectionStats>,
    ) {
        self.newcomers.remove(&id);
        self.parting.remove(&id);
        if let Some(refusal) = Refusal::of_close_reason(&reason) {
            return self.on_key_refused(id, refusal, &stats);
        }
        if !self.is_peer(id) {
            return;
        }
        // The last chance to read what arrived before the end.
        while self.receive(id).map(|message| self.on_message(now, id, message)).is_some() {}
        let Some(peer) = &mut self.peer else { return };
        let how = match (reason, peer.objection.take()) {
            (CloseReason::Shutdown, _) if peer.has_ended => Disconnect::Ended,
            (CloseReason::Aborted, Some(objection)) => {
                Disconnect::Lost { reason: format!("we ended the session: {objection}") }
            }
            (reason, _) => Disconnect::Lost { reason: words_of(&reason) },
        };
        self.disconnect(how, stats);
    }

    /// There was no connection for want of the right key.
    fn on_key_refused(&mut self, id: ConnectionId, refusal: Refusal, stats: &ConnectionStats) {
        if self.is_peer(id) {
            // We are the ones that are not let in, or that do not want to be.
            self.peer = None;
            self.tell(Event::Refused(refusal));
        } else if let Some(path) = stats.paths.first() {
            self.tell_turned_away(path.tuple.remote, refusal);
        }
    }

    /// Who called was not let in by the transport.
    pub(super) fn on_refused_call(&mut self, call: RefusedCall) {
        let refusal = match call.why {
            RefusedCallReason::Encryption => Refusal::one_encrypts(),
            RefusedCallReason::Protocol => Refusal::calls_over_dccp(),
            RefusedCallReason::Key => Refusal::of_keys("it has no key, and one is demanded here"),
            RefusedCallReason::RightKey => {
                Refusal::of_keys("it has another key than is known here")
            }
        };
        self.tell_turned_away(call.remote, refusal);
    }

    fn tell_turned_away(&mut self, remote: SocketAddr, refusal: Refusal) {
        tracing::info!(%remote, %refusal, "caller refused");
        self.tell(Event::TurnedAway { remote, refusal });
    }

    pub(super) fn disconnect(&mut self, how: Disconnect, stats: Box<ConnectionStats>) {
        let streams = Box::new(self.streams());
        self.peer = None;
        self.next_tick = None;
        self.inputs.push_back(Input::Disconnected { how: how.clone(), stats, streams });
        self.tell(Event::Disconnected(how));
    }
}

/// Why the transport ended, for people.
fn words_of(reason: &CloseReason) -> String {
    if *reason == CloseReason::Shutdown {
        return "the peer closed the session before the stream ended".to_owned();
    }
    if *reason == CloseReason::HandshakeTimeout {
        return "nobody answers there: is the other end running, and its port reachable by UDP?"
            .to_owned();
    }
    if *reason == CloseReason::PeerForgot {
        return "the other end no longer knows this session: it was restarted".to_owned();
    }
    printable(&reason.to_string())
}
