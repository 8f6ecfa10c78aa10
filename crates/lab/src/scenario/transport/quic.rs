//! QUIC by quinn-proto: one connection with one stream, in which message follows message.
//!
//! Nothing is encrypted: keys would be drawn anew in each run, and cost what is not the subject.
//! Lengths are those of encrypted packets, and round trips those of TLS 1.3.
#![expect(clippy::disallowed_types, reason = "quinn-proto takes Instants: only differences count")]

mod plain;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anabranch_sansio::{Datagram, Ecn, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use bytes::{Buf, Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, ServerConfig, StreamEvent, StreamId,
    TimeSource,
};

use super::{Change, Counters, Transport};
use crate::scenario::options::QuicOptions;
use crate::scenario::sink::Sink;
use plain::Plain;

/// The other end's name, which nobody checks.
const NAME: &str = "server";
/// Bytes of a connection ID.
const ID_LEN: usize = 8;

/// One end of a connection.
pub(in crate::scenario) struct QuicTransport {
    endpoint: Endpoint,
    client: ClientConfig,
    path: FourTuple,
    /// What [`Time::ZERO`] is here: only differences count.
    zero: Instant,
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    /// The rest of a message, of which the stream took a part.
    rest: Bytes,
    /// Datagrams that belong to no connection.
    replies: VecDeque<(SocketAddr, Vec<u8>)>,
    wakeup: Option<Instant>,
    failed: Option<String>,
}

impl QuicTransport {
    /// One end; the one that is called accepts.
    pub(in crate::scenario) fn new(
        options: &QuicOptions,
        path: FourTuple,
        accepts: bool,
        mut rng: Rng,
    ) -> Self {
        let mut seed = [0; 32];
        rng.fill(&mut seed);
        let ids = Arc::new(Mutex::new(rng));
        let first_ids = Arc::clone(&ids);
        let mut config = EndpointConfig::new(Arc::new(Plain));
        config.rng_seed(Some(seed)).cid_generator(move || Box::new(Ids(Arc::clone(&ids))));
        // Anything that fits into a link is taken.
        let _ = config.max_udp_payload_size(options.datagram.max(1_500));
        let mut server = ServerConfig::new(Arc::new(Plain), Arc::new(Plain));
        server.transport_config(Arc::clone(&options.transport)).time_source(Arc::new(NoClock));
        let server = accepts.then(|| Arc::new(server));
        let mut client = ClientConfig::new(Arc::new(Plain));
        client.transport_config(Arc::clone(&options.transport));
        client.initial_dst_cid_provider(Arc::new(move || draw_id(&first_ids)));
        Self {
            endpoint: Endpoint::new(Arc::new(config), server, true, None),
            client,
            path,
            zero: Instant::now(),
            connection: None,
            stream: None,
            rest: Bytes::new(),
            replies: VecDeque::new(),
            wakeup: None,
            failed: None,
        }
    }

    /// A datagram for the other end, where it is now: a NAT may have given it another address.
    fn to(&self, remote: SocketAddr) -> Transmit {
        Transmit::datagram(FourTuple::new(self.path.local, remote))
    }

    fn instant(&self, now: Time) -> Instant {
        self.zero + Duration::from_nanos(now.as_nanos())
    }

    /// Carries what connection and endpoint have for each other, and asks when to wake up.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        self.wakeup = connection.poll_timeout();
    }

    /// Has the stream take what is left of a message. Whether nothing is left.
    fn flush(&mut self) -> bool {
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream) else {
            return self.rest.is_empty();
        };
        while !self.rest.is_empty() {
            match connection.send_stream(stream).write(&self.rest) {
                Ok(taken) if taken > 0 => self.rest.advance(taken),
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    fn on_datagram(&mut self, now: Instant, remote: SocketAddr, ecn: Option<Ecn>, bytes: &[u8]) {
        let mut reply = Vec::new();
        let (ecn, data) = (ecn.map(codepoint), BytesMut::from(bytes));
        match self.endpoint.handle(now, remote, None, ecn, data, &mut reply) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut reply, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => self.failed = Some(error.cause.to_string()),
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                reply.truncate(transmit.size);
                self.replies.push_back((transmit.destination, reply));
            }
            None => {}
        }
    }
}

impl Transport for QuicTransport {
    fn open(&mut self, now: Time) {
        let (now, remote) = (self.instant(now), self.path.remote);
        match self.endpoint.connect(now, self.client.clone(), remote, NAME) {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.failed = Some(error.to_string()),
        }
        self.settle();
    }

    fn send(&mut self, _now: Time, message: Bytes) -> bool {
        if self.stream.is_none() || !self.flush() {
            return false;
        }
        let len = message.len();
        self.rest = message;
        self.flush();
        if self.rest.len() == len {
            // Nothing of it was taken: it comes again.
            self.rest = Bytes::new();
            return false;
        }
        true
    }

    fn receive(&mut self, now: Time, sink: &mut Sink) {
        let Some((_, connection)) = &mut self.connection else { return };
        if self.stream.is_none() {
            self.stream = connection.streams().accept(Dir::Uni);
        }
        let Some(stream) = self.stream else { return };
        let mut reader = connection.recv_stream(stream);
        if let Ok(mut chunks) = reader.read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                sink.stream(now, &chunk.bytes);
            }
            let _ = chunks.finalize();
        }
        self.settle();
    }

    fn counters(&self) -> Counters {
        let lost = |(_, connection): &(_, Connection)| connection.stats().path.lost_packets;
        let retransmitted = self.connection.as_ref().map_or(0, lost);
        Counters { retransmitted, ..Counters::default() }
    }
}

impl Machine for QuicTransport {
    type Event = Change;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let now = self.instant(now);
        self.on_datagram(now, datagram.path.remote, datagram.ecn, datagram.bytes);
        self.settle();
    }

    fn handle_timeout(&mut self, now: Time) {
        let now = self.instant(now);
        if let Some((_, connection)) = &mut self.connection
            && self.wakeup.is_some_and(|at| at <= now)
        {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((remote, reply)) = self.replies.pop_front() {
            buf.extend_from_slice(&reply);
            return Some(self.to(remote));
        }
        let now = self.instant(now);
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(now, 1, buf);
        self.settle();
        let transmit = transmit?;
        Some(Transmit { ecn: transmit.ecn.map(bits), ..self.to(transmit.destination) })
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let since = self.wakeup?.saturating_duration_since(self.zero);
        Some(Wakeup { at: Time::ZERO + since, why: "a timer of QUIC" })
    }

    fn poll_event(&mut self) -> Option<Change> {
        if let Some(reason) = self.failed.take() {
            return Some(Change::Ended(reason));
        }
        let (_, connection) = self.connection.as_mut()?;
        Some(match connection.poll()? {
            Event::Connected if connection.side().is_client() => {
                self.stream = connection.streams().open(Dir::Uni);
                Change::Ready
            }
            Event::Stream(StreamEvent::Writable { .. }) if self.flush() => Change::Ready,
            Event::ConnectionLost { reason } => Change::Ended(reason.to_string()),
            Event::Connected
            | Event::Stream(_)
            | Event::HandshakeDataReady
            | Event::DatagramReceived
            | Event::DatagramsUnblocked => Change::Other,
        })
    }
}

/// Connection IDs from the run's own randomness.
struct Ids(Arc<Mutex<Rng>>);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        draw_id(&self.0)
    }

    fn cid_len(&self) -> usize {
        ID_LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

fn draw_id(rng: &Mutex<Rng>) -> ConnectionId {
    let mut id = [0; ID_LEN];
    rng.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut id);
    ConnectionId::new(&id)
}

/// Tokens carry a time, which would differ from run to run.
struct NoClock;

impl TimeSource for NoClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

const fn codepoint(ecn: Ecn) -> EcnCodepoint {
    match ecn {
        Ecn::Ect0 => EcnCodepoint::Ect0,
        Ecn::Ect1 => EcnCodepoint::Ect1,
        Ecn::Ce => EcnCodepoint::Ce,
    }
}

const fn bits(ecn: EcnCodepoint) -> Ecn {
    match ecn {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}
