//! SCTP: an association over the paths of the flow.

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, AssociationStats, Endpoint, EndpointConfig,
    Event, OutgoingMessage,
};
use anabranch_wire::StreamId;
use bytes::Bytes;

use super::{Change, Counters, Transport};
use crate::scenario::options::SctpOptions;
use crate::scenario::sink::Sink;

/// SCTP's own ports.
const PORTS: (u16, u16) = (5_000, 5_001);

/// One end of an association.
#[derive(Debug)]
pub(in crate::scenario) struct SctpTransport {
    endpoint: Endpoint,
    options: SctpOptions,
    paths: Vec<FourTuple>,
    id: Option<AssociationId>,
    /// Messages sent so far: they take the streams in turn.
    sent: u64,
    /// Of an association that is over.
    last: Option<Box<AssociationStats>>,
    /// What the endpoint refused to begin.
    refused: Option<String>,
}

impl SctpTransport {
    /// One end; `paths` as it sees them.
    pub(in crate::scenario) fn new(
        options: SctpOptions,
        paths: Vec<FourTuple>,
        accept: bool,
        rng: Rng,
    ) -> Self {
        let association = options.config.clone();
        let config = EndpointConfig { accept, association, ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, rng);
        endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
        Self { endpoint, options, paths, id: None, sent: 0, last: None, refused: None }
    }

    fn association(&self) -> Option<&Association> {
        self.endpoint.association(self.id?)
    }

    fn set_priorities(&mut self, id: AssociationId) {
        let Some(association) = self.endpoint.association_mut(id) else { return };
        for (stream, priority) in (0..).zip(&self.options.priorities) {
            association.set_stream_priority(StreamId(stream), *priority);
        }
    }

    fn config(&self) -> AssociationConfig {
        self.options.config.clone()
    }
}

impl Transport for SctpTransport {
    fn open(&mut self, now: Time) {
        match self.endpoint.connect(now, &self.paths, PORTS, self.config()) {
            Ok(id) => self.id = Some(id),
            Err(error) => self.refused = Some(error.to_string()),
        }
    }

    fn send(&mut self, now: Time, message: Bytes) -> bool {
        let SctpOptions { streams, ordered, reliability, .. } = self.options;
        let stream = StreamId((self.sent % u64::from(streams)) as u16);
        let message =
            OutgoingMessage { ordered, reliability, ..OutgoingMessage::new(stream, message) };
        let Some(id) = self.id else { return false };
        let Some(association) = self.endpoint.association_mut(id) else { return false };
        let is_sent = association.send(now, message).is_ok();
        self.sent += u64::from(is_sent);
        is_sent
    }

    fn receive(&mut self, now: Time, sink: &mut Sink) {
        let Some(id) = self.id else { return };
        let Some(association) = self.endpoint.association_mut(id) else { return };
        while let Some(message) = association.receive() {
            sink.message(now, &message.payload);
        }
    }

    fn counters(&self) -> Counters {
        let living = self.association().map(|association| Box::new(association.stats()));
        let Some(stats) = living.or_else(|| self.last.clone()) else { return Counters::default() };
        Counters {
            retransmitted: stats.streams.chunks_retransmitted,
            given_up: stats.streams.abandoned(),
            sent_once: None,
        }
    }
}

impl Machine for SctpTransport {
    type Event = Change;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.endpoint.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.endpoint.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Change> {
        if let Some(reason) = self.refused.take() {
            return Some(Change::Ended(reason));
        }
        let (id, event) = self.endpoint.poll_event()?;
        if let Event::Closed { reason, stats } = event {
            self.last = Some(stats);
            return Some(Change::Ended(reason.to_string()));
        }
        if let Event::Connected { .. } = event {
            self.id = Some(id);
            self.set_priorities(id);
        }
        let is_ready = matches!(event, Event::Connected { .. } | Event::Writable);
        Some(if is_ready { Change::Ready } else { Change::Other })
    }

    fn set_tracing(&mut self, on: bool) {
        self.endpoint.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.endpoint.poll_trace()
    }
}
