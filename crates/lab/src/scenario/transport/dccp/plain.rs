//! One connection over one path.

use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{Config, Connection, ConnectionId, Endpoint, Event};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use bytes::Bytes;

use super::{PORTS, ended};
use crate::scenario::options::DccpOptions;
use crate::scenario::sink::Sink;
use crate::scenario::transport::{Change, Counters, Transport};

/// One end of a connection.
#[derive(Debug)]
pub(super) struct PlainTransport {
    endpoint: Endpoint,
    config: Config,
    service_code: ServiceCode,
    path: Option<FourTuple>,
    id: Option<ConnectionId>,
    /// Messages that were taken.
    taken: u64,
    /// What the endpoint refused to begin.
    refused: Option<String>,
}

impl PlainTransport {
    pub(super) fn new(
        options: &DccpOptions,
        path: Option<FourTuple>,
        accept: bool,
        rng: Rng,
    ) -> Self {
        let (config, service_code) = (options.connection.clone(), options.service_code);
        let mut endpoint = Endpoint::new(options.endpoint(), rng);
        if accept {
            endpoint.listen(PORTS.1, vec![service_code], config.clone());
        }
        Self { endpoint, config, service_code, path, id: None, taken: 0, refused: None }
    }

    fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.endpoint.connection_mut(self.id?)
    }
}

impl Transport for PlainTransport {
    fn open(&mut self, now: Time) {
        let Some(path) = self.path else { return };
        let config = self.config.clone();
        match self.endpoint.connect(now, path, PORTS, self.service_code, config) {
            Ok(id) => self.id = Some(id),
            Err(error) => self.refused = Some(error.to_string()),
        }
    }

    fn send(&mut self, _now: Time, message: Bytes) -> bool {
        let is_taken = self.connection_mut().is_some_and(|it| it.send(message).is_ok());
        self.taken += u64::from(is_taken);
        is_taken
    }

    fn receive(&mut self, now: Time, sink: &mut Sink) {
        let Some(connection) = self.connection_mut() else { return };
        while let Some(message) = connection.receive() {
            sink.message(now, &message);
        }
    }

    fn counters(&self) -> Counters {
        let connection = self.id.and_then(|id| self.endpoint.connection(id));
        let waiting = connection.map_or(0, Connection::waiting) as u64;
        Counters { sent_once: Some(self.taken - waiting), ..Counters::default() }
    }
}

impl Machine for PlainTransport {
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
        Some(match event {
            Event::Connected => {
                self.id = Some(id);
                Change::Ready
            }
            Event::Writable => Change::Ready,
            Event::Closed(reason) => Change::Ended(ended(reason)),
            Event::Readable | Event::PeerStoppedListening | _ => Change::Other,
        })
    }

    fn set_tracing(&mut self, on: bool) {
        self.endpoint.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.endpoint.poll_trace()
    }
}
