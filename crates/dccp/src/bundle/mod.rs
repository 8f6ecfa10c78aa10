//! [`Bundle`]: several connections that carry one source.
//!
//! Almajeed 2011 sends one video over several connections, because one alone, which takes each loss
//! of a radio link for congestion, cannot fill it. The source is dealt out in turns, by group of
//! pictures or by packet; the connections begin some time apart; the receiver puts in order what
//! they bring. What such a bundle takes from a TCP beside it grows with its connections.

mod reorder;
mod width;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use bytes::Bytes;

use crate::config::{Ccid, Config};
use crate::connection::Connection;
use crate::endpoint::{ConnectionId, Endpoint, EndpointConfig};
use crate::error::{ConnectError, SendError};
use crate::event::Event;
use crate::stats::Stats;
use crate::wire::ServiceCode;
use reorder::{ReorderBuffer, Taken};
pub use width::{CONNECTIONS_MAX, Connections, Look, Width};

/// Which bundle, and the number of the datagram in it.
const HEADER_LEN: usize = 4 + 8;

/// Bundles that a listener takes at a time.
const BUNDLES_MAX: usize = 64;

/// Connections that a bundle that chooses their number begins in all, those that ended included.
const BEGUN_MAX: usize = 4 * CONNECTIONS_MAX;

/// Datagrams that a connection may hold when it gets more of what no connection has yet.
const HELD_MAX: usize = 2;

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
    pub connections: Connections,
    /// How the source is dealt out to them. Default: by group.
    pub interleaving: Interleaving,
    /// How long after the one before each connection begins. Default: 0.5 s (Almajeed 2011).
    pub start_gap: Duration,
    /// Bytes that may wait for one connection; for all, where their number is chosen as they go.
    /// Default: 4 MiB.
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
            connections: Connections::Fixed(4),
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
    /// Half of the send buffer is free again, after it was full.
    Writable,
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
    /// Chooses how many of them are used.
    width: Option<Width>,
    /// What no connection has yet, by group: only where their number is chosen.
    pool: VecDeque<(u64, Bytes)>,
    pool_len: usize,
    next_number: u64,
    is_finishing: bool,
    was_full: bool,
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
    /// The group of what it got last.
    group: u64,
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
            width: None,
            pool: VecDeque::new(),
            pool_len: 0,
            next_number: 0,
            is_finishing: false,
            was_full: false,
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

    /// Begins all connections, one after the other, from ports that follow `first_port`. Where
    /// their number is chosen as they go, the others follow as they are needed.
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
        let members = (0..self.config.connections.first()).zip(0_u16..).map(|(n, offset)| {
            let ports = (first_port.wrapping_add(offset), peer_port);
            let at = now + self.config.start_gap * u32::from(offset);
            let state = if n == 0 { MemberState::Begun(first) } else { MemberState::Waiting };
            Member::new(Start { at, path, ports, service_code }, state)
        });
        self.members = members.collect();
        self.width = (self.config.connections == Connections::Auto).then(|| Width::new(now));
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
        let waiting = self.waiting_len(at);
        if waiting + data.len() > self.config.send_buffer {
            self.was_full = true;
            return Err(SendError::BufferFull { waiting });
        }
        let mut bytes = Vec::with_capacity(HEADER_LEN + data.len());
        bytes.extend(self.name.to_be_bytes());
        bytes.extend(self.next_number.to_be_bytes());
        bytes.extend_from_slice(data);
        self.next_number += 1;
        self.stats.sent += 1;
        if self.width.is_some() {
            self.pool_len += bytes.len();
            self.pool.push_back((turn, bytes.into()));
        } else if let Some(member) = self.members.get_mut(at) {
            member.push(bytes.into());
        }
        self.deal();
        Ok(())
    }

    /// Bytes that wait in the buffer of a connection, or in that of all.
    fn waiting_len(&self, at: usize) -> usize {
        match self.width {
            Some(_) => self.pool_len,
            None => self.members.get(at).map_or(0, |member| member.waiting_len),
        }
    }

    fn tell_writable(&mut self) {
        let longest = (0..self.members.len()).map(|at| self.waiting_len(at)).max().unwrap_or(0);
        if self.was_full && longest <= self.config.send_buffer / 2 {
            self.was_full = false;
            self.events.push_back(BundleEvent::Writable);
        }
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
        let dealt = self.members.iter().map(|member| member.waiting.len() + in_connection(member));
        self.pool.len() + dealt.sum::<usize>()
    }

    /// How many of our connections are used; those that are not rest until more are needed.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.used().count()
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

    /// The connections that are dealt to: the first ones that are not over.
    fn used(&self) -> impl Iterator<Item = usize> {
        let count = self.width.as_ref().map_or(self.members.len(), Width::target);
        let alive =
            |(n, member): (usize, &Member)| (member.state != MemberState::Over).then_some(n);
        self.members.iter().enumerate().filter_map(alive).take(count)
    }

    /// Has there be as many connections as are right.
    fn widen(&mut self, now: Time) {
        let Some(width) = self.width.as_ref().filter(|_| !self.is_finishing || self.waits()) else {
            return;
        };
        if width.look_at() <= now {
            let look = self.look();
            if let Some(width) = &mut self.width {
                width.look(now, &look);
            }
        }
        let target = self.width.as_ref().map_or(0, Width::target);
        let mut missing = target.saturating_sub(self.used().count());
        let Some(first) = self.members.first().map(|member| member.start) else { return };
        while missing > 0 && self.used().next().is_some() && self.members.len() < BEGUN_MAX {
            let port = first.ports.0.wrapping_add(self.members.len() as u16);
            let start = Start { at: now, ports: (port, first.ports.1), ..first };
            self.members.push(Member::new(start, MemberState::Waiting));
            missing -= 1;
        }
    }

    fn waits(&self) -> bool {
        !self.pool.is_empty() || self.members.iter().any(|member| !member.waiting.is_empty())
    }

    /// What the connections that are used look like.
    fn look(&self) -> Look {
        let connection = |n: usize| {
            let id = self.members.get(n).and_then(|member| self.connection_of(member))?;
            self.endpoint.connection(id).filter(|connection| connection.is_connected())
        };
        let connected = self.used().filter_map(connection).count();
        let used: Vec<_> =
            self.used().filter_map(connection).map(|it| it.stats().congestion).collect();
        let rtts = used.iter().filter_map(|it| it.rtt);
        let (sum, count) = rtts.fold((Duration::ZERO, 0), |(sum, n), rtt| (sum + rtt, n + 1));
        let losses = || used.iter().map(|it| it.loss_event_rate).filter(|rate| *rate > 0.0);
        Look {
            connections: connected,
            rtt: (count > 0).then(|| sum / count),
            loss_event_rate: losses().sum::<f64>() / losses().count().max(1) as f64,
            loss_events: self.members().map(|(_, it)| it.congestion.congestion_events).sum(),
            bytes: self.members().map(|(_, stats)| stats.bytes_sent).sum(),
            packets: self.members().map(|(_, stats)| stats.datagrams_sent).sum(),
            is_limited: self.waits(),
            allowed_rate: None,
        }
    }

    /// Does what time and packets have brought about.
    fn turn(&mut self, now: Time) {
        self.now = now;
        self.widen(now);
        self.begin_due(now);
        while let Some((id, event)) = self.endpoint.poll_event() {
            let member = self.members.iter().position(|m| m.state == MemberState::Begun(id));
            match member {
                Some(n) => self.on_member(n, event),
                None => self.on_incoming(id, event),
            }
        }
        self.deal();
        self.tell_writable();
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
        let (group, orphans) = (member.group, member.take_all());
        if self.width.is_some() {
            self.pool_len += orphans.iter().map(Bytes::len).sum::<usize>();
            orphans.into_iter().rev().for_each(|data| self.pool.push_front((group, data)));
            return self.say_whether_over();
        }
        for (offset, data) in orphans.into_iter().enumerate() {
            if let Some(at) = self.next_alive(n + offset)
                && let Some(member) = self.members.get_mut(at)
            {
                member.push(data);
            }
        }
        self.say_whether_over();
    }

    fn say_whether_over(&mut self) {
        if self.members.iter().all(|member| member.state == MemberState::Over) {
            self.events.push_back(BundleEvent::Closed);
        }
    }

    /// Deals out what no connection has yet to those that have sent what they had.
    fn deal_out(&mut self) {
        while !self.pool.is_empty() {
            let mut dealt = false;
            for n in self.used().collect::<Vec<_>>() {
                let Some(MemberState::Begun(id)) = self.members.get(n).map(|it| it.state) else {
                    continue;
                };
                let connection = self.endpoint.connection(id);
                let is_free =
                    connection.is_some_and(|it| it.is_connected() && it.waiting() < HELD_MAX);
                let Some(member) = self.members.get_mut(n) else { continue };
                let Some((group, _)) = self.pool.front().filter(|_| is_free) else { continue };
                if !member.waiting.is_empty() {
                    continue;
                }
                (member.group, dealt) = (*group, true);
                while let Some((_, data)) =
                    self.pool.pop_front_if(|(group, _)| *group == member.group)
                {
                    self.pool_len -= data.len();
                    member.push(data);
                }
                let has_more = !self.pool.is_empty();
                if let Some(connection) = self.endpoint.connection_mut(id) {
                    connection.set_has_more(has_more);
                    member.give(connection);
                }
            }
            if !dealt {
                break;
            }
        }
    }

    /// Gives connections what was dealt out to them.
    fn deal(&mut self) {
        if self.width.is_some() {
            self.deal_out();
        }
        for member in &mut self.members {
            let MemberState::Begun(id) = member.state else { continue };
            if member.waiting.is_empty() {
                continue;
            }
            let Some(connection) = self.endpoint.connection_mut(id) else { continue };
            member.give(connection);
        }
    }

    /// Closes connections that have nothing left to send.
    fn finish(&mut self, now: Time) {
        if !self.is_finishing || !self.pool.is_empty() {
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
                self.stats.missing = self.stats.missing.saturating_add(missing);
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
    const fn new(start: Start, state: MemberState) -> Self {
        Self { start, state, group: 0, waiting: VecDeque::new(), waiting_len: 0 }
    }

    /// Hands over what the connection takes.
    fn give(&mut self, connection: &mut Connection) {
        while let Some(data) = self.waiting.front()
            && connection.send(data.clone()).is_ok()
        {
            self.pop();
        }
    }

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
        let look = self.width.as_ref().filter(|_| self.waits());
        let look = look.map(|width| Wakeup { at: width.look_at(), why: "look at the bundle" });
        [self.endpoint.poll_timeout(), start, reorder, look].into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<BundleEvent> {
        self.events.pop_front()
    }

    fn set_tracing(&mut self, on: bool) {
        self.endpoint.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.endpoint.poll_trace()
    }
}
