//! [`SharedTransport`]: callers over SCTP and over DCCP at one UDP port.

use std::collections::VecDeque;
use std::net::SocketAddr;

use anabranch_dccp::wire::{Kind, Packet, Protection};
use anabranch_sansio::{Datagram, FourTuple, Machine, Time, TraceRecord, Transmit, Wakeup};

use crate::{
    ConnectError, Connection, ConnectionId, DCCP_PORT, DccpTransport, Event, RefusedCall,
    RefusedCallReason, SctpTransport, StrangerStats, Transport,
};

/// What marks the names of connections over DCCP; SCTP's are numbered from 0.
const OVER_DCCP: u64 = 1 << 63;

/// From which number on a trace names connections over DCCP.
const TRACED_FROM: u64 = 2_000_000;

/// Refused calls that wait for the user to read of them; of more, nothing is said.
const REFUSED_CALLS_MAX: usize = 16;

/// A listener for both protocols. Calls of its own go over SCTP.
///
/// RFC 6951 and RFC 6773 lay SCTP's and DCCP's own ports at the same place of a UDP datagram, its
/// first four bytes. What is for [`DCCP_PORT`] is DCCP, all else SCTP.
#[derive(Debug)]
pub struct SharedTransport {
    sctp: SctpTransport,
    dccp: DccpTransport,
    refused_calls: VecDeque<RefusedCall>,
}

impl SharedTransport {
    /// Both at one port. A DCCP that does not listen refuses its callers, and they are told of in
    /// [`Transport::poll_refused_call`].
    #[must_use]
    pub const fn new(sctp: SctpTransport, dccp: DccpTransport) -> Self {
        Self { sctp, dccp, refused_calls: VecDeque::new() }
    }

    fn of(&self, id: ConnectionId) -> (&dyn Transport, ConnectionId) {
        match id.0 & OVER_DCCP {
            0 => (&self.sctp, id),
            _ => (&self.dccp, ConnectionId(id.0 & !OVER_DCCP)),
        }
    }

    fn of_mut(&mut self, id: ConnectionId) -> (&mut dyn Transport, ConnectionId) {
        match id.0 & OVER_DCCP {
            0 => (&mut self.sctp, id),
            _ => (&mut self.dccp, ConnectionId(id.0 & !OVER_DCCP)),
        }
    }

    /// Notes who calls over a DCCP that takes no calls.
    fn note_refused(&mut self, datagram: Datagram<'_>) {
        let is_full = self.refused_calls.len() >= REFUSED_CALLS_MAX;
        if self.dccp.listens() || is_full {
            return;
        }
        let packet = Packet::decode(Protection::Udp, datagram.bytes);
        if packet.is_ok_and(|packet| matches!(packet.kind, Kind::Request { .. })) {
            let (remote, why) = (datagram.path.remote, RefusedCallReason::Protocol);
            self.refused_calls.push_back(RefusedCall { remote, why });
        }
    }
}

/// Whether a datagram is for DCCP's port.
fn is_dccp(bytes: &[u8]) -> bool {
    bytes.get(2..4) == Some(&DCCP_PORT.to_be_bytes())
}

impl Transport for SharedTransport {
    fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.sctp.set_local_addresses(locals);
    }

    fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<ConnectionId, ConnectError> {
        self.sctp.connect(now, paths)
    }

    fn connection(&self, id: ConnectionId) -> Option<&dyn Connection> {
        let (transport, id) = self.of(id);
        transport.connection(id)
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut dyn Connection> {
        let (transport, id) = self.of_mut(id);
        transport.connection_mut(id)
    }

    fn forget(&mut self, id: ConnectionId) {
        let (transport, id) = self.of_mut(id);
        transport.forget(id);
    }

    fn connections(&self) -> usize {
        self.sctp.connections() + self.dccp.connections()
    }

    fn poll_refused_call(&mut self) -> Option<RefusedCall> {
        self.sctp.poll_refused_call().or_else(|| self.refused_calls.pop_front())
    }

    fn strangers(&self) -> StrangerStats {
        self.sctp.strangers() + self.dccp.strangers()
    }
}

impl Machine for SharedTransport {
    type Event = (ConnectionId, Event);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        if is_dccp(datagram.bytes) {
            self.note_refused(datagram);
            self.dccp.handle_datagram(now, datagram);
        } else {
            self.sctp.handle_datagram(now, datagram);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.sctp.handle_timeout(now);
        self.dccp.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.sctp.poll_transmit(now, buf).or_else(|| self.dccp.poll_transmit(now, buf))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.sctp.poll_timeout().into_iter().chain(self.dccp.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        self.sctp.poll_event().or_else(|| {
            let (id, event) = self.dccp.poll_event()?;
            Some((ConnectionId(id.0 | OVER_DCCP), event))
        })
    }

    fn set_tracing(&mut self, on: bool) {
        self.sctp.set_tracing(on);
        self.dccp.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.sctp.poll_trace().or_else(|| {
            let record = self.dccp.poll_trace()?;
            let connection = record.connection.map(|connection| TRACED_FROM + connection);
            Some(TraceRecord { connection, ..record })
        })
    }
}
