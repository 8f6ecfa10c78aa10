//! [`Multipath`]: one connection over several paths at once (RFC 9897).
//!
//! Each path is a DCCP connection of its own, a subflow, with its own congestion control. Datagrams
//! have a number among all of the connection, by which the receiver puts them in order. The
//! scheduler is ours: each datagram takes the path on which it arrives first.
//!
//! Sections are those of the last draft, draft-ietf-tsvwg-multipath-dccp-25.

mod closing;
mod control;
mod group;
mod handshake;
mod order;
mod rtt;
mod secrets;
mod sending;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use bytes::Bytes;

use crate::config::Config;
use crate::connection::Connection;
use crate::endpoint::{ConnectionId, Endpoint, EndpointConfig};
use crate::error::{ConnectError, SendError};
use crate::event::{CloseReason, Event};
use crate::stats::Stats;
use crate::wire::{SequenceNumber, ServiceCode};
use group::Group;

/// A multipath connection. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MultipathId(u64);

impl fmt::Display for MultipathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "multipath connection {}", self.0)
    }
}

/// A path of a multipath connection, counted from zero as they begin. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubflowId(pub u32);

/// How multipath connections behave.
#[derive(Debug, Clone, PartialEq)]
pub struct MultipathConfig {
    /// How each path behaves.
    pub connection: Config,
    /// Multipath connections that there may be. Default: 64.
    pub connections_max: usize,
    /// Paths of each that there may be at a time. Default: 8.
    pub subflows_max: usize,
    /// Bytes that may wait to be sent. Default: 256 KiB.
    pub send_buffer: usize,
    /// How long the receiver waits for what is missing, at most: where the peer tells how long the
    /// paths are, as they differ by. Default: 200 ms.
    pub reordering: Duration,
    /// Bytes that may wait to be put in order or read: twice as many in all. Default: 1 MiB.
    pub receive_buffer: usize,
}

impl Default for MultipathConfig {
    fn default() -> Self {
        Self {
            connection: Config::default(),
            connections_max: 64,
            subflows_max: 8,
            send_buffer: 256 << 10,
            reordering: Duration::from_millis(200),
            receive_buffer: 1 << 20,
        }
    }
}

/// What happens to a multipath connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultipathEvent {
    /// Its first path is there, and data may be sent.
    Connected {
        /// Whether there may be more; if not, the peer knows nothing of several paths.
        is_multipath: bool,
    },
    /// A path is there.
    Joined(SubflowId),
    /// A path is over.
    Left(SubflowId, CloseReason),
    /// The peer asks for a path to be used otherwise: see [`Multipath::set_priority`].
    Prioritized(SubflowId, u8),
    /// The peer can be reached there, too: at DCCP's port if it names one.
    AddressAdded {
        /// Its name for the address.
        id: u8,
        /// The address.
        ip: IpAddr,
        /// DCCP's port.
        port: Option<u16>,
    },
    /// The peer can no longer be reached there.
    AddressRemoved(u8),
    /// There is something to read.
    Readable,
    /// Half of the send buffer is free again, after it was full.
    Writable,
    /// It is over.
    Closed(CloseReason),
}

/// What a multipath connection counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MultipathStats {
    /// Datagrams that were given to a path.
    pub sent: u64,
    /// Datagrams that were put in order.
    pub delivered: u64,
    /// Numbers that were waited for in vain.
    pub missing: u64,
    /// Datagrams that came when their turn was over, or twice.
    pub late: u64,
    /// Options whose HMAC or key was wrong or missing.
    pub unproved: u64,
}

/// All multipath connections of a host: a [`Machine`] whose events name the connection that they
/// are about.
#[derive(Debug)]
pub struct Multipath {
    endpoint: Endpoint,
    config: MultipathConfig,
    rng: Rng,
    groups: BTreeMap<MultipathId, Group>,
    owners: BTreeMap<ConnectionId, MultipathId>,
    next_id: u64,
    /// When something last happened.
    now: Time,
}

impl Multipath {
    /// A host without connections. The generator must be unpredictable on real networks.
    #[must_use]
    pub fn new(endpoint: EndpointConfig, mut config: MultipathConfig, mut rng: Rng) -> Self {
        // A cookie holds no keys.
        let endpoint = EndpointConfig { init_cookies: false, ..endpoint };
        config.connection.multipath = true;
        Self {
            endpoint: Endpoint::new(endpoint, rng.fork()),
            config,
            rng,
            groups: BTreeMap::new(),
            owners: BTreeMap::new(),
            next_id: 0,
            now: Time::ZERO,
        }
    }

    /// Takes connections at a port of DCCP's, of one path or several.
    pub fn listen(&mut self, port: u16, service_codes: Vec<ServiceCode>) {
        self.endpoint.listen(port, service_codes, self.config.connection.clone());
    }

    /// Begins a connection over the first of these paths, and has the others join when it is there.
    /// `local_port` and `peer_port` are DCCP's own.
    ///
    /// # Errors
    /// The first path cannot begin, or there are too many; nothing was begun then.
    pub fn connect(
        &mut self,
        now: Time,
        paths: &[FourTuple],
        ports: (u16, u16),
        service_code: ServiceCode,
    ) -> Result<MultipathId, ConnectError> {
        let limit = self.config.subflows_max;
        let Some((first, others)) = paths.split_first() else { return Err(ConnectError::NoPath) };
        if paths.len() > limit || self.groups.len() >= self.config.connections_max {
            let limit = limit.min(self.config.connections_max);
            return Err(ConnectError::TooMany { limit });
        }
        let id = self.begin(now, *first, ports, service_code)?;
        if let Some(group) = self.groups.get_mut(&id) {
            group.to_join.extend(others);
        }
        Ok(id)
    }

    /// Has a further path join, now or when the first one is there. False: there is no room for
    /// it, the connection was not begun here, or it has one path only.
    pub fn add_path(&mut self, now: Time, id: MultipathId, path: FourTuple) -> bool {
        let limit = self.config.subflows_max;
        let Some(group) = self.groups.get_mut(&id) else { return false };
        let may_join = group.is_caller && !group.is_plain() && !group.is_ending();
        if !may_join || group.subflows.len() + group.to_join.len() >= limit {
            return false;
        }
        group.to_join.push_back(path);
        self.turn(now);
        true
    }

    /// Takes a datagram to be sent.
    ///
    /// # Errors
    /// There is no connection, the datagram does not fit into a packet, or too many wait.
    pub fn send(&mut self, now: Time, id: MultipathId, data: Bytes) -> Result<(), SendError> {
        let limit = self.datagram_len_max(id);
        let Some(group) = self.groups.get_mut(&id).filter(|group| group.may_send()) else {
            return Err(SendError::NotConnected);
        };
        if data.len() > limit {
            return Err(SendError::TooLarge { len: data.len(), limit });
        }
        let waiting = group.queue_len;
        if waiting > 0 && waiting + group::room_for(&data) > self.config.send_buffer {
            group.was_full = true;
            return Err(SendError::BufferFull { waiting });
        }
        group.push(data);
        self.now = now;
        self.feed(now);
        Ok(())
    }

    /// The most bytes of data that fit into a datagram on every path: RFC 9897 section 3.9.
    #[must_use]
    pub fn datagram_len_max(&self, id: MultipathId) -> usize {
        let subflows = self.groups.get(&id).into_iter().flat_map(|group| group.subflows.values());
        let connections = subflows.filter_map(|subflow| self.endpoint.connection(subflow.id));
        connections.map(Connection::datagram_len_max).min().unwrap_or(0)
    }

    /// The next datagram in the order in which they were sent, whatever path brought it.
    pub fn receive(&mut self, id: MultipathId) -> Option<Bytes> {
        let group = self.groups.get_mut(&id)?;
        if let Some(plain) = group.plain {
            return self.endpoint.connection_mut(plain)?.receive();
        }
        let data = group.ready.pop_front()?;
        group.ready_len -= group::room_for(&data);
        if group.ready.is_empty() {
            self.take_held_back(id);
        }
        Some(data)
    }

    /// Takes what arrived while too much waited to be read.
    fn take_held_back(&mut self, id: MultipathId) {
        let Some(group) = self.groups.get(&id) else { return };
        for subflow in group.subflows.values().map(|subflow| subflow.id).collect::<Vec<_>>() {
            self.take_arrived(self.now, subflow, id);
        }
        self.give_out(self.now, id);
    }

    /// What was counted.
    #[must_use]
    pub fn stats(&self, id: MultipathId) -> Option<MultipathStats> {
        self.groups.get(&id).map(|group| group.stats)
    }

    /// The paths there are: their addresses, and what each counted.
    pub fn subflows(
        &self,
        id: MultipathId,
    ) -> impl Iterator<Item = (SubflowId, FourTuple, Stats)> + '_ {
        let subflows = self.groups.get(&id).into_iter().flat_map(|group| &group.subflows);
        subflows.filter_map(|(name, subflow)| {
            let connection = self.endpoint.connection(subflow.id)?;
            Some((*name, connection.path(), connection.stats()))
        })
    }

    /// The connections there are.
    pub fn connections(&self) -> impl Iterator<Item = MultipathId> + '_ {
        self.groups.keys().copied()
    }

    /// Does what packets and time have brought about.
    fn turn(&mut self, now: Time) {
        self.now = now;
        if let Some(id) = self.endpoint.take_touched() {
            self.listen_to(now, id);
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.on_event(now, id, event);
        }
        for id in self.groups.keys().copied().collect::<Vec<_>>() {
            self.settle(now, id);
            self.join_due(now, id);
            self.repeat_due(now, id);
            self.tell_rtts(now, id);
            self.give_out(now, id);
        }
        self.feed(now);
        self.groups.retain(|_, group| !group.is_gone());
    }

    fn on_event(&mut self, now: Time, id: ConnectionId, event: Event) {
        let Some((owner, name)) = self.subflow_of(id) else { return };
        match event {
            Event::Closed(reason) => self.on_subflow_closed(now, owner, name, reason),
            Event::Readable => {
                if let Some(group) = self.groups.get_mut(&owner).filter(|group| group.is_plain()) {
                    group.tell_once(MultipathEvent::Readable);
                }
            }
            Event::Connected | Event::Writable | Event::PeerStoppedListening => {}
        }
    }

    fn subflow_of(&self, id: ConnectionId) -> Option<(MultipathId, SubflowId)> {
        let owner = *self.owners.get(&id)?;
        let subflows = &self.groups.get(&owner)?.subflows;
        let found = subflows.iter().find(|(_, subflow)| subflow.id == id)?;
        Some((owner, *found.0))
    }

    /// Puts in order what has come, and gives it out.
    fn give_out(&mut self, now: Time, id: MultipathId) {
        let most = self.config.reordering;
        let Some(group) = self.groups.get_mut(&id) else { return };
        let wait = group.reordering(now, most);
        group.order.set_wait(wait);
        let before = group.ready.len();
        while group.has_room()
            && let Some((missing, data)) = group.order.pop(now)
        {
            group.stats.missing = group.stats.missing.saturating_add(missing);
            group.stats.delivered += 1;
            group.ready_len += group::room_for(&data);
            group.ready.push_back(data);
        }
        if group.ready.len() > before {
            group.tell_once(MultipathEvent::Readable);
        }
    }
}

/// A number of data that is drawn at random: section 3.2.5.
fn first_number(rng: &mut Rng) -> SequenceNumber {
    SequenceNumber::new(rng.next_u64())
}

impl Machine for Multipath {
    type Event = (MultipathId, MultipathEvent);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.endpoint.handle_datagram(now, datagram);
        self.turn(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
        self.turn(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = self.endpoint.poll_transmit(now, buf);
        if transmit.is_some() {
            return transmit;
        }
        // What went out has made room for more.
        self.turn(now);
        self.endpoint.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let groups = self.groups.values().filter_map(|group| group.poll_timeout(&self.endpoint));
        let data = self.groups.values().filter_map(|group| self.room_at(group));
        groups.chain(data).chain(self.endpoint.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        let mut groups = self.groups.iter_mut();
        groups.find_map(|(id, group)| Some((*id, group.events.pop_front()?)))
    }

    fn set_tracing(&mut self, on: bool) {
        self.endpoint.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.endpoint.poll_trace()
    }
}

/// Events that wait for the application; of more, nothing is said.
const EVENTS_MAX: usize = 256;

type Events = VecDeque<MultipathEvent>;
