//! [`Endpoint`]: all connections of a host, and the packets that belong to none.

mod cookie;
mod incoming;
mod train;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use anabranch_sansio::{
    Datagram, Ecn, FourTuple, Machine, Replies, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup,
    Wakeups,
};

use crate::config::Config;
use crate::connection::{Connection, Flow, initial_number};
use crate::encapsulation::Encapsulation;
use crate::error::ConnectError;
use crate::event::Event;
use crate::stats::EndpointStats;
use crate::wire::{Packet, ServiceCode};

use cookie::CookieJar;
use train::Train;

/// Resets that wait to be sent, and Responses with cookies.
const REPLIES_WAITING_MAX: usize = 64;

/// A connection of an endpoint. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u64);

impl ConnectionId {
    /// Its number, by which trace records name it.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.0)
    }
}

/// How an endpoint behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointConfig {
    /// What carries its packets. Default: UDP.
    pub encapsulation: Encapsulation,
    /// Connections that there may be, those that wait in TIMEWAIT included. Default: 1,024.
    pub connections_max: usize,
    /// Whether listeners remember nothing of who has not answered their Response (RFC 4340 section
    /// 8.1.4). Default: no.
    pub init_cookies: bool,
    /// How long a client may take to bring a cookie back. Default: 1 minute.
    pub cookie_life: Duration,
    /// Answers per second to packets that belong to no connection: so many Resets, and so many
    /// Responses with a cookie. Default: 1,024.
    pub stateless_replies_per_second: u32,
    /// Datagrams of one size that a single transmission may hold (UDP segmentation offload; the
    /// kernel's limit is 64). Default: 1.
    pub segments_max: usize,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            encapsulation: Encapsulation::default(),
            connections_max: 1_024,
            init_cookies: false,
            cookie_life: Duration::from_secs(60),
            stateless_replies_per_second: 1_024,
            segments_max: 1,
        }
    }
}

/// All connections of a host: a [`Machine`] whose events name the connection that they are about.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    rng: Rng,
    cookies: CookieJar,
    listeners: BTreeMap<u16, Listener>,
    entries: BTreeMap<ConnectionId, Entry>,
    by_flow: BTreeMap<Flow, ConnectionId>,
    wakeups: Wakeups<ConnectionId>,
    /// Connections that may have something to send or to say.
    to_transmit: VecDeque<ConnectionId>,
    to_report: VecDeque<ConnectionId>,
    /// RFC 4340 section 8.1.3: "The server SHOULD limit the rate at which it generates these
    /// resets; for example, to not more than 1024 per second."
    resets: Replies,
    /// Responses with cookies, which Resets do not hold up.
    responses: Replies,
    train: Train,
    /// The connection that the last packet was for.
    last_touched: Option<ConnectionId>,
    next_id: u64,
    stats: EndpointStats,
    /// What connections that are gone have left.
    records: TraceLog,
}

/// A port that is open for connections.
#[derive(Debug)]
struct Listener {
    service_codes: Vec<ServiceCode>,
    config: Config,
}

#[derive(Debug)]
struct Entry {
    connection: Connection,
    /// The earliest of its timers, when the tables were last brought up to date.
    wakeup: Option<Wakeup>,
    in_transmit: bool,
    in_report: bool,
}

impl Entry {
    fn next_record(&mut self, id: ConnectionId) -> Option<TraceRecord> {
        let record = self.connection.poll_trace()?;
        Some(TraceRecord { connection: Some(id.0), ..record })
    }
}

impl Endpoint {
    /// An endpoint without connections. The generator must be unpredictable on real networks.
    #[must_use]
    pub fn new(config: EndpointConfig, mut rng: Rng) -> Self {
        let cookies = CookieJar::new(&mut rng, config.cookie_life);
        let per_second = config.stateless_replies_per_second;
        Self {
            config,
            rng,
            cookies,
            listeners: BTreeMap::new(),
            entries: BTreeMap::new(),
            by_flow: BTreeMap::new(),
            wakeups: Wakeups::default(),
            to_transmit: VecDeque::new(),
            to_report: VecDeque::new(),
            resets: Replies::new(per_second, REPLIES_WAITING_MAX),
            responses: Replies::new(per_second, REPLIES_WAITING_MAX),
            train: Train::default(),
            last_touched: None,
            next_id: 0,
            stats: EndpointStats::default(),
            records: TraceLog::default(),
        }
    }

    /// Takes connections at a port of DCCP's from who asks for one of these services.
    pub fn listen(&mut self, port: u16, service_codes: Vec<ServiceCode>, config: Config) {
        self.listeners.insert(port, Listener { service_codes, config });
    }

    /// Takes no more connections at a port. Those that there are go on.
    pub fn stop_listening(&mut self, port: u16) {
        self.listeners.remove(&port);
    }

    /// Asks for a connection. `local_port` and `peer_port` are DCCP's own ports; straight on IP,
    /// the path's are not looked at.
    ///
    /// # Errors
    /// Says which limit or rule stands against it; nothing was begun then.
    pub fn connect(
        &mut self,
        now: Time,
        path: FourTuple,
        (local_port, peer_port): (u16, u16),
        service_code: ServiceCode,
        config: Config,
    ) -> Result<ConnectionId, ConnectError> {
        // RFC 4340 section 8.1.2: "The value 4294967295 is an invalid Service Code."
        if service_code == ServiceCode::INVALID {
            return Err(ConnectError::ServiceCode);
        }
        if config.send_ccids.is_empty() || config.receive_ccids.is_empty() {
            return Err(ConnectError::NoCcid);
        }
        if config.mtu < Config::mtu_min() {
            return Err(ConnectError::Mtu { mtu: config.mtu, least: Config::mtu_min() });
        }
        if self.entries.len() >= self.config.connections_max {
            return Err(ConnectError::TooMany { limit: self.config.connections_max });
        }
        let flow = self.flow(path, local_port, peer_port);
        if self.by_flow.contains_key(&flow) {
            return Err(ConnectError::Exists);
        }
        let first = initial_number(&mut self.rng);
        let encapsulation = self.config.encapsulation;
        let connection = Connection::client(now, config, flow, encapsulation, service_code, first);
        Ok(self.insert(connection))
    }

    /// A connection, until it is over, its last event was polled and its last datagram read.
    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.entries.get(&id).map(|entry| &entry.connection)
    }

    /// A connection, to act on.
    ///
    /// Invalidates the answers of all polls.
    #[must_use]
    pub fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.touch(id);
        self.entries.get_mut(&id).map(|entry| &mut entry.connection)
    }

    /// The connections there are.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.entries.keys().copied()
    }

    /// The connection that packets have come for since this was asked.
    pub(crate) const fn take_touched(&mut self) -> Option<ConnectionId> {
        self.last_touched.take()
    }

    /// Drops a connection without telling anyone.
    pub fn forget(&mut self, id: ConnectionId) {
        let Some(mut entry) = self.entries.remove(&id) else { return };
        self.wakeups.set(id, &mut entry.wakeup, None);
        self.by_flow.remove(&entry.connection.flow());
        while let Some(record) = entry.next_record(id) {
            self.records.push(|| record);
        }
    }

    /// Counters of packets that belong to no connection.
    #[must_use]
    pub const fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// The flow of a path and DCCP's ports.
    fn flow(&self, path: FourTuple, local_port: u16, remote_port: u16) -> Flow {
        let path = match self.config.encapsulation {
            // RFC 6773 section 3.8: "an active DCCP connection is uniquely identified by the
            // 6-tuple <source IP address, source UDP port, source DCCP port, destination IP
            // address, destination UDP port, destination DCCP port>."
            Encapsulation::Udp => path,
            Encapsulation::Ip => FourTuple::new(
                (path.local.ip(), local_port).into(),
                (path.remote.ip(), remote_port).into(),
            ),
        };
        Flow { path, local_port, remote_port }
    }

    fn insert(&mut self, mut connection: Connection) -> ConnectionId {
        connection.set_tracing(self.records.is_on());
        let id = ConnectionId(self.next_id);
        self.next_id += 1;
        self.by_flow.insert(connection.flow(), id);
        let entry = Entry { connection, wakeup: None, in_transmit: false, in_report: false };
        self.entries.insert(id, entry);
        self.touch(id);
        self.refresh(id);
        id
    }

    /// Notes that a connection may have something to send or to say.
    fn touch(&mut self, id: ConnectionId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if !std::mem::replace(&mut entry.in_transmit, true) {
            self.to_transmit.push_back(id);
        }
        if !std::mem::replace(&mut entry.in_report, true) {
            self.to_report.push_back(id);
        }
    }

    /// Appends the next packet of any connection.
    fn next_packet(&mut self, now: Time, out: &mut Vec<u8>) -> Option<(FourTuple, Option<Ecn>)> {
        while let Some(id) = self.to_transmit.front().copied() {
            if let Some(entry) = self.entries.get_mut(&id) {
                let path = entry.connection.flow().path;
                let has_packet = entry.connection.poll_transmit(now, out);
                entry.connection.trace_changes(now);
                if has_packet {
                    // The others get their turn.
                    self.to_transmit.rotate_left(1);
                    return Some((path, entry.connection.ecn()));
                }
                entry.in_transmit = false;
            }
            self.to_transmit.pop_front();
            self.refresh(id);
        }
        None
    }

    /// Brings the tables up to date with a connection.
    fn refresh(&mut self, id: ConnectionId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if entry.connection.is_gone() && !entry.in_report {
            return self.forget(id);
        }
        let wakeup = entry.connection.poll_timeout();
        self.wakeups.set(id, &mut entry.wakeup, wakeup);
    }
}

impl Machine for Endpoint {
    type Event = (ConnectionId, Event);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let protection = self.config.encapsulation.protection(datagram.path.reversed());
        let Ok(packet) = Packet::decode(protection, datagram.bytes) else {
            self.stats.malformed += 1;
            return;
        };
        let flow = self.flow(datagram.path, packet.destination_port, packet.source_port);
        self.on_packet(now, flow, &packet, datagram.ecn == Some(Ecn::Ce));
    }

    fn handle_timeout(&mut self, now: Time) {
        while let Some(id) = self.wakeups.due(now) {
            let Some(entry) = self.entries.get_mut(&id) else { return };
            self.wakeups.set(id, &mut entry.wakeup, None);
            entry.connection.handle_timeout(now);
            entry.connection.trace_changes(now);
            self.touch(id);
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((path, packet)) = self.responses.pop().or_else(|| self.resets.pop()) {
            buf.extend_from_slice(&packet);
            return Some(Transmit::datagram(path));
        }
        let mut train = std::mem::take(&mut self.train);
        let transmit =
            train.fill(buf, self.config.segments_max, |packet| self.next_packet(now, packet));
        self.train = train;
        transmit
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.entries.get(&self.wakeups.first()?)?.wakeup
    }

    fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        while let Some(id) = self.to_report.front().copied() {
            if let Some(entry) = self.entries.get_mut(&id) {
                if let Some(event) = entry.connection.poll_event() {
                    return Some((id, event));
                }
                entry.in_report = false;
            }
            self.to_report.pop_front();
            self.refresh(id);
        }
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.records.set(on);
        for entry in self.entries.values_mut() {
            entry.connection.set_tracing(on);
        }
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        if !self.records.is_on() {
            return None;
        }
        let mut entries = self.entries.iter_mut();
        self.records.pop().or_else(|| entries.find_map(|(id, entry)| entry.next_record(*id)))
    }
}
