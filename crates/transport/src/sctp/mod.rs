//! [`SctpTransport`]: associations as connections.

mod config;
mod connection;
mod convert;

use std::net::SocketAddr;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_sctp::{AssociationId, Endpoint, EndpointConfig};

pub use config::SctpConfig;

use crate::{ConnectError, Connection, ConnectionId, Event, RefusedCall, StrangerStats, Transport};

/// The associations of one UDP port.
#[derive(Debug)]
pub struct SctpTransport {
    endpoint: Endpoint,
    /// Incoming calls get this as well, so that both ends are set up alike.
    config: EndpointConfig,
    /// SCTP's port at both ends, inside UDP.
    port: u16,
}

impl SctpTransport {
    /// A transport that uses this SCTP port at both ends. The generator must be unpredictable on
    /// real networks.
    #[must_use]
    pub fn new(config: SctpConfig, port: u16, rng: Rng) -> Self {
        let config = config.endpoint();
        Self { endpoint: Endpoint::new(config.clone(), rng), config, port }
    }

    fn is_keyed(&self) -> bool {
        self.config.association.extensions.authentication.is_some()
    }
}

impl Transport for SctpTransport {
    fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.endpoint.set_local_addresses(locals);
    }

    fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<ConnectionId, ConnectError> {
        let config = self.config.association.clone();
        let called = self.endpoint.connect(now, paths, (self.port, self.port), config);
        match called {
            Ok(id) => Ok(ConnectionId(id.0)),
            Err(error) => Err(ConnectError { reason: error.to_string() }),
        }
    }

    fn connection(&self, id: ConnectionId) -> Option<&dyn Connection> {
        let association = self.endpoint.association(AssociationId(id.0))?;
        Some(association)
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut dyn Connection> {
        let association = self.endpoint.association_mut(AssociationId(id.0))?;
        Some(association)
    }

    fn forget(&mut self, id: ConnectionId) {
        self.endpoint.forget(AssociationId(id.0));
    }

    fn connections(&self) -> usize {
        self.endpoint.associations().count()
    }

    fn poll_refused_call(&mut self) -> Option<RefusedCall> {
        let call = self.endpoint.poll_refused_call()?;
        Some(RefusedCall { remote: call.path.remote, why: convert::refused_call_reason(call.why) })
    }

    fn strangers(&self) -> StrangerStats {
        self.endpoint.stats().into()
    }
}

impl Machine for SctpTransport {
    type Event = (ConnectionId, Event);

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

    fn poll_event(&mut self) -> Option<Self::Event> {
        loop {
            let (id, event) = self.endpoint.poll_event()?;
            if let Some(event) = convert::event(event, self.is_keyed(), &self.config.association) {
                return Some((ConnectionId(id.0), event));
            }
        }
    }

    fn set_tracing(&mut self, on: bool) {
        self.endpoint.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.endpoint.poll_trace()
    }
}
