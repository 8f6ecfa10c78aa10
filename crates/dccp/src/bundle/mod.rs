//! [`Bundle`]: several connections that carry one source.
//!
//! Almajeed 2011 sends one video over several connections, because one alone, which takes each loss
//! of a radio link for congestion, cannot fill it. The source is dealt out in turns, by group of
//! pictures or by packet; the connections begin some time apart; the receiver puts in order what
//! they bring. What such a bundle takes from a TCP beside it grows with its connections.

mod reorder;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use bytes::Bytes;

use crate::config::{Ccid, Config};
use crate::connection::Connection;
use crate::endpoint::{ConnectionId, Endpoint, EndpointConfig};
use crate::error::{ConnectError, SendError};
use crate::event::Event;
use crate::stats::Stats;
use crate::wire::ServiceCode;
use reorder::{ReorderBuffer, Taken};

/// Which bundle, and the number of the datagram in it.
const HEADER_LEN: usize = 4 + 8;

/// Bundles that a listener takes at a time.
const BUNDLES_MAX: usize = 64;

/// How a source is dealt out to connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interleaving {
    /// All of a group goes by one connection, the next group by the next.
    #[default]
    ByGroup,
    /// Each datagram goes by the next connection.
    ByPacket,
}

/// How a bundle behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct BundleConfig {
    /// How many connections. Default: 4, the most that Almajeed 2011 has to a base station.
    pub connections: usize,
    /// How the source is dealt out to them. Default: by group.
    pub interleaving: Interleaving,
    /// How long after the one before each connection begins. Default: 0.5 s (Almajeed 2011).
    pub start_gap: Duration,
    /// Bytes that may wait for one connection. Default: 4 MiB.
    pub send_buffer: usize,
    /// How long the receiver waits for what is missing. Default: 6 s, which Almajeed 2011, section
    /// 4.1, found to be enough for groups of 15 pictures.
    pub reordering: Duration,
    /// Bytes that may wait at the receiver, to be put in order or to be read: twice as many in all.
    /// Default: 16 MiB.
    pub reordering_buffer: usize,
    /// How each connection behaves.
    pub connection: Config,
}

impl Default for BundleConfig {
    fn default() -> Self {
        Self {
            connections: 4,
            interleaving: Interleaving::default(),
            start_gap: Duration::from_millis(500),
            send_buffer: 4 << 20,
            reordering: Duration::from_secs(6),
            reordering_buffer: 16 << 20,
            connection: Config::with_ccid(Ccid::Tfrc),
        }
    }
}

/// What happens to a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundleEvent {
    /// The first of our connections is there.
    Connected,
    /// There is something to read.
    Readable,
    /// A connection of ours began or ended: which one, counted from zero, and what.
    Member(usize, Event),
    /// None of our connections is left.
    Closed,
}

/// What a bundle counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BundleStats {
    /// Datagrams that were dealt out.
    pub sent: u64,
    /// Datagrams that were put in order and given to the application.
    pub delivered: u64,
    /// Datagrams that were waited for in vain.
    pub missing: u64,
    /// Datagrams that came when their turn was over, or twice.
    pub late: u64,
    /// Datagrams of no bundle, or of one too many.
    pub stray: u64,
}

/// Several connections of an endpoint that carry one source, in one direction. A [`Machine`], whose
/// other end is one, too.
#[derive(Debug)]
pub struct Bundle {
    endpoint: Endpoint,
    config: BundleConfig,
    /// Our name among the bundles of the receiver.
    name: u32,
    members: Vec<Member>,
    next_number: u64,
    is_finishing: bool,
    /// By the names of those who send to us.
    incoming: BTreeMap<u32, ReorderBuffer>,
    /// Connections of others that may have something to read.
    unread: BTreeSet<ConnectionId>,
    ready: VecDeque<Bytes>,
    ready_len: usize,
    /// When something last happened.
    now: Time,
    events: VecDeque<BundleEvent>,
    stats: BundleStats,
}

/// A connection that we send by.
#[derive(Debug)]
struct Member {
    start: Start,
    state: MemberState,
    /// What was dealt out to it and it has not taken.
    waiting: VecDeque<Bytes>,
    waiting_len: usize,
}

/// How and when it begins.
#[derive(Debug, Clone, Copy)]
struct Start {
    at: Time,
    path: FourTuple,
    ports: (u16, u16),
    service_code: ServiceCode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemberState {
    /// Its time has not come.
    Waiting,
    Begun(ConnectionId),
    Over,
}

impl Bundle {
    /// A bundle without connections.
    #[must_use]
    pub fn new(endpoint: EndpointConfig, config: BundleConfig, mut rng: Rng) -> Self {
        let name = rng.next_u32();
        Self {
            endpoint: Endpoint::new(endpoint, rng),
            config,
            name,
            members: Vec::new(),
            next_number: 0,
            is_finishing: false,
            incoming: BTreeMap::new(),
            unread: BTreeSet::new(),
            ready: VecDeque::new(),
            ready_len: 0,
            now: Time::ZERO,
            events: VecDeque::new(),
            stats: BundleStats::default(),
        }
    }

    /// Takes bundles at a port.
    pub fn listen(&mut self, port: u16, service_codes: Vec<ServiceCode>) {
        self.endpoint.listen(port, service_codes, self.config.connection.clone());
    }

    /// Begins all connections, one after the other, from ports that follow `first_port`.
    ///
    /// # Errors
    /// The first one cannot begin; nothing was begun then.
    pub fn connect(
        &mut self,
        now: Time,
        path: FourTuple,
        (first_port, peer_port): (u16, u16),
        service_code: ServiceCode,
    ) -> Result<(), ConnectError> {
        let config = self.config.connection.clone();
        let ports = (first_port, peer_port);
        let first = self.endpoint.connect(now, path, ports, service_code, config)?;
        let members = (0..self.config.connections.max(1)).zip(0_u16..).map(|(n, offset)| {
            let ports = (first_port.wrapping_add(offset), peer_port);
            let at = now + self.config.start_gap * u32::from(offset);
            Member {
                start: Start { at, path, ports, service_code },
                state: if n == 0 { MemberState::Begun(first) } else { MemberState::Waiting },
                waiting: VecDeque::new(),
                waiting_len: 0,
            }
        });
        self.members = members.collect();
        Ok(())
    }

    /// Deals out a datagram of a group. Groups are counted from zero.
    ///
    /// # Errors
    /// There is no connection, the datagram does not fit into a packet, or too many wait for the
    /// same connection.
    pub fn send(&mut self, group: u64, data: &[u8]) -> Result<(), SendError> {
        let limit = self.datagram_len_max();
        if self.is_finishing || self.members.iter().all(|member| member.state == MemberState::Over)
        {
            return Err(SendError::NotConnected);
        }
        if data.len() > limit {
            return Err(SendError::TooLarge { len: data.len(), limit });
        }
        let turn = match self.config.interleaving {
            Interleaving::ByGroup => group,
            Interleaving::ByPacket => self.next_number,
        };
        let at = (turn % self.members.len() as u64) as usize;
        let Some(at) = self.next_alive(at) else { return Err(SendError::NotConnected) };
        let waiting = self.members.get(at).map_or(0, |member| member.waiting_len);
        if waiting + data.len() > self.config.send_buffer {
            return Err(SendError::BufferFull { waiting });
        }
        let mut bytes = Vec::with_capacity(HEADER_LEN + data.len());
        bytes.extend(self.name.to_be_bytes());
        bytes.extend(self.next_number.to_be_bytes());
        bytes.extend_from_slice(data);
        self.next_number += 1;
        self.stats.sent += 1;
        if let Some(member) = self.members.get_mut(at) {
            member.push(bytes.into());
        }
        self.deal();
        Ok(())
    }

    /// The most bytes of data that fit into a datagram.
    #[must_use]
    pub fn datagram_len_max(&self) -> usize {
        let id = self.members.iter().find_map(|member| self.connection_of(member));
        let connection = id.and_then(|id| self.endpoint.connection(id));
        connection.map_or(0, Connection::datagram_len_max).saturating_sub(HEADER_LEN)
    }

    /// The next datagram in the order in which they were sent, whatever connection brought it.
    pub fn receive(&mut self) -> Option<Bytes> {
        if self.ready.is_empty() {
            self.read(self.now);
        }
        let data = self.ready.pop_front()?;
        self.ready_len -= data.len();
        Some(data)
    }

    /// Closes each connection when it has sent what was dealt out to it.
    pub fn close(&mut self, now: Time) {
        self.is_finishing = true;
        self.turn(now);
    }

    /// How many datagrams wait to be sent.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let in_connection = |member: &Member| {
            let connection = self.connection_of(member).and_then(|id| self.endpoint.connection(id));
            connection.map_or(0, Connection::waiting)
        };
        self.members.iter().map(|member| member.waiting.len() + in_connection(member)).sum()
    }

    /// What was counted.
    #[must_use]
    pub const fn stats(&self) -> BundleStats {
        self.stats
    }

    /// What each of our connections counted that has begun and is not over.
    pub fn members(&self) -> impl Iterator<Item = (usize, Stats)> + '_ {
        self.members.iter().enumerate().filter_map(|(n, member)| {
            let id = self.connection_of(member)?;
            Some((n, self.endpoint.connection(id)?.stats()))
        })
    }

    /// A connection of ours, to act on.
    ///
    /// Invalidates the answers of all polls.
    #[must_use]
    pub fn member_mut(&mut self, n: usize) -> Option<&mut Connection> {
        let id = self.members.get(n).and_then(|member| self.connection_of(member))?;
        self.endpoint.connection_mut(id)
    }

    fn connection_of(&self, member: &Member) -> Option<ConnectionId> {
        if let MemberState::Begun(id) = member.state { Some(id) } else { None }
    }

    /// The member whose turn it is, or the next one that is not over.
    fn next_alive(&self, at: usize) -> Option<usize> {
        let count = self.members.len();
        let mut turns = (0..count).map(|offset| (at + offset) % count);
        turns.find(|at| self.members.get(*at).is_some_and(|m| m.state != MemberState::Over))
    }

    /// Does what time and packets have brought about.
    fn turn(&mut self, now: Time) {
        self.now = now;
        self.begin_due(now);
        while let Some((id, event)) = self.endpoint.poll_event() {
            let member = self.members.iter().position(|m| m.state == MemberState::Begun(id));
            match member {
                Some(n) => self.on_member(n, event),
                None => self.on_incoming(id, event),
            }
        }
        self.deal();
        self.finish(now);
        self.read(now);
    }

    fn begin_due(&mut self, now: Time) {
        for n in 0..self.members.len() {
            let Some(member) = self.members.get_mut(n) else { break };
            let Start { at, path, ports, service_code } = member.start;
            if member.state != MemberState::Waiting || at > now {
                continue;
            }
            let config = self.config.connection.clone();
            match self.endpoint.connect(now, path, ports, service_code, config) {
                Ok(id) => member.state = MemberState::Begun(id),
                // Its port is taken: the others carry its share.
                Err(_) => self.give_up(n),
            }
        }
    }

    fn on_member(&mut self, n: usize, event: Event) {
        match event {
            Event::Connected => {
                if self.events.iter().all(|event| *event != BundleEvent::Connected) && n == 0 {
                    self.events.push_back(BundleEvent::Connected);
                }
                self.events.push_back(BundleEvent::Member(n, event));
            }
            Event::Closed(_) => {
                self.events.push_back(BundleEvent::Member(n, event));
                self.give_up(n);
            }
            Event::Readable | Event::Writable | Event::PeerStoppedListening => {}
        }
    }

    /// What waits for a member that is over goes by the others, each datagram by the next.
    fn give_up(&mut self, n: usize) {
        let Some(member) = self.members.get_mut(n) else { return };
        member.state = MemberState::Over;
        let orphans = member.take_all();
        for (offset, data) in orphans.into_iter().enumerate() {
            if let Some(at) = self.next_alive(n + offset)
                && let Some(member) = self.members.get_mut(at)
            {
                member.push(data);
            }
        }
        if self.members.iter().all(|member| member.state == MemberState::Over) {
            self.events.push_back(BundleEvent::Closed);
        }
    }

    /// Gives connections what was dealt out to them.
    fn deal(&mut self) {
        for member in &mut self.members {
            let MemberState::Begun(id) = member.state else { continue };
            if member.waiting.is_empty() {
                continue;
            }
            let Some(connection) = self.endpoint.connection_mut(id) else { continue };
            while let Some(data) = member.waiting.front()
                && connection.send(data.clone()).is_ok()
            {
                member.pop();
            }
        }
    }

    /// Closes connections that have nothing left to send.
    fn finish(&mut self, now: Time) {
        if !self.is_finishing {
            return;
        }
        for n in 0..self.members.len() {
            let Some(member) = self.members.get(n).filter(|m| m.waiting.is_empty()) else {
                continue;
            };
            match member.state {
                MemberState::Begun(id) => {
                    if let Some(connection) = self.endpoint.connection_mut(id)
                        && connection.is_connected()
                    {
                        connection.close(now);
                    }
                }
                MemberState::Waiting => self.give_up(n),
                MemberState::Over => {}
            }
        }
    }

    /// A connection of somebody else's.
    fn on_incoming(&mut self, id: ConnectionId, event: Event) {
        self.unread.insert(id);
        let others = self
            .endpoint
            .connections()
            .any(|other| self.endpoint.connection(other).is_some_and(Connection::is_connected));
        // Nobody is left who could bring what is missing.
        if matches!(event, Event::Closed(_)) && !others {
            self.incoming.values_mut().for_each(ReorderBuffer::finish);
        }
    }

    /// Takes what connections have brought, unless the application has too much to read already:
    /// they then drop what they have no room for, and their senders hear of it.
    fn read(&mut self, now: Time) {
        while self.ready_len <= self.config.reordering_buffer
            && let Some(id) = self.unread.first().copied()
        {
            match self.endpoint.connection_mut(id).and_then(Connection::receive) {
                Some(data) => self.take(now, &data),
                None => _ = self.unread.remove(&id),
            }
            self.give_out(now);
        }
        self.give_out(now);
    }

    fn take(&mut self, now: Time, data: &Bytes) {
        let header = data.split_first_chunk::<4>().and_then(|(name, rest)| {
            let (number, _) = rest.split_first_chunk::<8>()?;
            Some((u32::from_be_bytes(*name), u64::from_be_bytes(*number)))
        });
        let Some((name, number)) = header else { return self.stats.stray += 1 };
        if !self.incoming.contains_key(&name) && self.incoming.len() >= BUNDLES_MAX {
            return self.stats.stray += 1;
        }
        let (wait, bytes_max) = (self.config.reordering, self.config.reordering_buffer);
        let buffer =
            self.incoming.entry(name).or_insert_with(|| ReorderBuffer::new(wait, bytes_max));
        if buffer.push(now, number, data.slice(HEADER_LEN..)) == Taken::Late {
            self.stats.late += 1;
        }
    }

    fn give_out(&mut self, now: Time) {
        let before = self.ready.len();
        for buffer in self.incoming.values_mut() {
            while let Some((missing, data)) = buffer.pop(now) {
                self.stats.missing += missing;
                self.stats.delivered += 1;
                self.ready_len += data.len();
                self.ready.push_back(data);
            }
        }
        self.incoming.retain(|_, buffer| !buffer.is_over());
        if self.ready.len() > before && !self.events.contains(&BundleEvent::Readable) {
            self.events.push_back(BundleEvent::Readable);
        }
    }
}

impl Member {
    fn push(&mut self, data: Bytes) {
        self.waiting_len += data.len();
        self.waiting.push_back(data);
    }

    fn pop(&mut self) {
        if let Some(data) = self.waiting.pop_front() {
            self.waiting_len -= data.len();
        }
    }

    fn take_all(&mut self) -> VecDeque<Bytes> {
        self.waiting_len = 0;
        std::mem::take(&mut self.waiting)
    }
}

impl Machine for Bundle {
    type Event = BundleEvent;

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
            // There is room again for what waits.
            self.turn(now);
        }
        transmit
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let waiting = self.members.iter().filter(|member| member.state == MemberState::Waiting);
        let start = waiting.map(|member| member.start.at).min();
        let start = start.map(|at| Wakeup { at, why: "next connection of the bundle" });
        let reorder = self.incoming.values().filter_map(ReorderBuffer::poll_timeout).min();
        let reorder = reorder.map(|at| Wakeup { at, why: "reordering" });
        [self.endpoint.poll_timeout(), start, reorder].into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<BundleEvent> {
        self.events.pop_front()
    }
}
