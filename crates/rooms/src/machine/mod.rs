//! [`Server`]: rooms on one UDP port, which browsers and agents share.

mod agents;
mod callers;
mod pairs;

use std::collections::BTreeMap;
use std::net::IpAddr;

use anabranch_rtc::{
    AcceptError, CertificateError, ConnectionId, Event as BrowserEvent, Protocol, RestartError,
    RtcConfig,
};
use anabranch_sansio::{Datagram, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_transport::{
    Connection, ConnectionStats, Encryption, Incoming, SctpConfig, StrangerStats, Transport as _,
};
use thiserror::Error;

use crate::association::between_room_and_member;
use crate::protocol::{Role, STREAMS};
use crate::rooms::{Event, GuestId, RoomId, Rooms, RoomsConfig};
use agents::Agents;
use pairs::Pairs;

/// In records, the number of a browser's connection begins here.
const BROWSER_CONNECTIONS: u64 = 1_000_000;

/// How members reach a [`Server`].
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The rooms' program.
    pub rooms: RoomsConfig,
    /// Browsers, and where they find the UDP port.
    pub browsers: RtcConfig,
    /// How agents encrypt: those who do not are not let in then.
    pub encryption: Option<Encryption>,
    /// Datagrams of one size to an agent that one transmission may hold.
    pub segments_max: usize,
}

/// Why an offer got no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// What is wrong with the offer, or which limit of the server stands against it.
    #[error(transparent)]
    Offer(#[from] AcceptError),
    /// The room has as many connections as it takes, of those who come and go, too.
    #[error("this room has {limit} connections, which is its limit; try again in a few seconds")]
    Crowded {
        /// How many that is.
        limit: usize,
    },
}

/// The [`Machine`] of rooms: its datagrams are those of one UDP port.
#[derive(Debug)]
pub struct Server {
    rooms: Rooms,
    browsers: anabranch_rtc::Server,
    agents: Agents,
    pairs: Pairs,
    /// Offers that were answered, until their browsers come.
    expected: BTreeMap<ConnectionId, (RoomId, Role)>,
    guests: BTreeMap<Link, GuestId>,
    links: BTreeMap<GuestId, Link>,
    /// Connections that have ended, of members who may come back: a browser that goes away for
    /// good may say so by HTTP after its connection has ended.
    ended: BTreeMap<ConnectionId, GuestId>,
}

/// Where a guest's connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    Agent(anabranch_transport::ConnectionId),
    Browser(ConnectionId),
}

impl Server {
    /// Rooms without anybody. The generator must be unpredictable on real networks.
    ///
    /// # Errors
    /// If the cryptography at hand makes no certificate to show to browsers.
    pub fn new(config: ServerConfig, mut rng: Rng) -> Result<Self, CertificateError> {
        let ServerConfig { rooms, browsers, encryption, segments_max } = config;
        let association = between_room_and_member(SctpConfig::of(browsers.association)).association;
        let browsers = RtcConfig { association, negotiated_channels: STREAMS, ..browsers };
        Ok(Self {
            rooms: Rooms::new(rooms, rng.fork()),
            agents: Agents::new(encryption, segments_max, rng.fork()),
            pairs: Pairs::default(),
            browsers: anabranch_rtc::Server::new(browsers, rng)?,
            expected: BTreeMap::new(),
            guests: BTreeMap::new(),
            links: BTreeMap::new(),
            ended: BTreeMap::new(),
        })
    }

    /// Answers the offer of a browser at `address`, which wants to be in a room.
    /// What it may do there is for the caller to know.
    ///
    /// # Errors
    /// Says what is wrong with the offer, or which limit stands against it.
    pub fn accept(
        &mut self,
        now: Time,
        room: RoomId,
        role: Role,
        sdp: &str,
        address: IpAddr,
    ) -> Result<(ConnectionId, String), JoinError> {
        let waiting = self.expected.values().filter(|(expected, _)| *expected == room).count();
        if self.rooms.is_crowded(room, waiting) {
            return Err(JoinError::Crowded { limit: self.rooms.connections_max(room) });
        }
        let (id, answer) = self.browsers.accept(now, sdp, address)?;
        self.expected.insert(id, (room, role));
        Ok((id, answer))
    }

    /// Answers the offer of a browser that is somewhere else, and goes on from there.
    ///
    /// # Errors
    /// Says what is wrong with the offer, or that the connection has ended.
    pub fn restart(
        &mut self,
        now: Time,
        id: ConnectionId,
        sdp: &str,
    ) -> Result<String, RestartError> {
        self.browsers.restart(now, id, sdp)
    }

    /// Ends the connection of a browser, if there still is one. Its member leaves, or may come
    /// back.
    pub fn hang_up(&mut self, now: Time, id: ConnectionId, leaves: bool) {
        let guest = self.guests.get(&Link::Browser(id)).or_else(|| self.ended.get(&id));
        if let Some(guest) = guest.filter(|_| leaves) {
            self.rooms.guest_leaves(now, *guest);
        }
        self.browsers.close(now, id);
        self.take_events(now);
    }

    /// Offers that were answered, and whose browsers have not come yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.expected.len()
    }

    /// Connections of browsers, those that begin or end included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.browsers.connections().count()
    }

    /// Connections of agents, those that begin or end included.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.agents.transport.connections()
    }

    /// What came to the port of nobody who is connected, and looks like a browser's.
    #[must_use]
    pub const fn strangers(&self) -> anabranch_rtc::ServerStats {
        self.browsers.stats()
    }

    /// And what does not.
    #[must_use]
    pub fn strange_agents(&self) -> StrangerStats {
        self.agents.transport.strangers()
    }

    /// Rooms and members.
    #[must_use]
    pub const fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// Changes rooms; what comes of it is sent with the next polls.
    pub fn act<T>(&mut self, act: impl FnOnce(&mut Rooms) -> T) -> T {
        act(&mut self.rooms)
    }

    /// What the network does to a guest.
    #[must_use]
    pub fn network(&self, guest: GuestId) -> Option<ConnectionStats> {
        match *self.links.get(&guest)? {
            Link::Agent(id) => Some(self.agents.transport.connection(id)?.stats()),
            Link::Browser(id) => {
                let mut stats = ConnectionStats::from(self.browsers.association(id)?.stats());
                // Inside DTLS a path has no addresses.
                if let Some(path) = self.browsers.path(id) {
                    stats.paths.iter_mut().for_each(|report| report.tuple = path);
                }
                Some(stats)
            }
        }
    }

    fn take_events(&mut self, now: Time) {
        self.take_agents_events(now);
        while let Some((id, event)) = self.browsers.poll_event() {
            self.on_browser(now, id, event);
        }
        self.settle_pairs();
    }

    fn on_browser(&mut self, now: Time, id: ConnectionId, event: BrowserEvent) {
        let link = Link::Browser(id);
        match event {
            BrowserEvent::Connected => self.on_browser_connected(now, id),
            BrowserEvent::Message { message, .. } => {
                if let Some(guest) = self.guests.get(&link) {
                    self.rooms.handle_message(now, *guest, &Incoming::from(message));
                }
            }
            BrowserEvent::Writable => self.on_writable(link),
            BrowserEvent::Closed { .. } => {
                self.expected.remove(&id);
                if let Some(guest) = self.on_closed(now, link) {
                    self.ended.insert(id, guest);
                    self.ended.retain(|_, guest| self.rooms.is_away(*guest));
                }
            }
            // A page may have channels of its own; they say nothing to us.
            BrowserEvent::ChannelOpened { .. } | BrowserEvent::ChannelClosed { .. } => {}
            _ => {}
        }
    }

    fn on_browser_connected(&mut self, now: Time, id: ConnectionId) {
        let Some((room, role)) = self.expected.remove(&id) else { return };
        if !self.let_in(now, room, role, Link::Browser(id)) {
            self.browsers.close(now, id);
        }
    }

    /// Makes a connection a guest of a room; false if there is no place for it.
    fn let_in(&mut self, now: Time, room: RoomId, role: Role, link: Link) -> bool {
        let Some(guest) = self.rooms.guest_came(now, room, role) else { return false };
        self.guests.insert(link, guest);
        self.links.insert(guest, link);
        true
    }

    fn on_writable(&mut self, link: Link) {
        if let Some(guest) = self.guests.get(&link) {
            self.rooms.handle_writable(*guest);
        }
    }

    /// A connection has ended; returns whose it was.
    fn on_closed(&mut self, now: Time, link: Link) -> Option<GuestId> {
        let guest = self.guests.remove(&link)?;
        self.links.remove(&guest);
        self.rooms.guest_left(now, guest);
        Some(guest)
    }

    /// Hands the connection of the next guest what it is to send; false if there is none.
    fn serve_next(&mut self, now: Time) -> bool {
        let Some(guest) = self.rooms.poll_due() else { return false };
        let rooms = &mut self.rooms;
        let mut serve = |connection: &mut dyn Connection| rooms.serve(now, guest, connection);
        match self.links.get(&guest) {
            Some(&Link::Agent(id)) => {
                if let Some(connection) = self.agents.transport.connection_mut(id) {
                    serve(connection);
                }
            }
            // Without an association there is nothing to do.
            Some(&Link::Browser(id)) => {
                _ = self.browsers.with_association(now, id, |connection| serve(connection));
            }
            None => {}
        }
        true
    }

    fn transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let pairs = self.pairs.poll_transmit(buf);
        let agents = pairs.or_else(|| self.agents.transport.poll_transmit(now, buf));
        agents.or_else(|| self.browsers.poll_transmit(now, buf))
    }
}

impl Machine for Server {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        if self.relay(&datagram) {
            return;
        }
        if Protocol::of(datagram.bytes).is_some() {
            self.browsers.handle_datagram(now, datagram);
        } else {
            self.agents.transport.handle_datagram(now, datagram);
        }
        self.rooms.handle_progress();
        self.take_events(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.browsers.handle_timeout(now);
        self.agents.handle_timeout(now);
        self.rooms.handle_timeout(now);
        self.take_events(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        loop {
            if let Some(transmit) = self.transmit(now, buf) {
                return Some(transmit);
            }
            // What was sent may have made room.
            self.take_events(now);
            if !self.serve_next(now) {
                return self.transmit(now, buf);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let all =
            [self.agents.poll_timeout(), self.browsers.poll_timeout(), self.rooms.poll_timeout()];
        all.into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.rooms.poll_event()
    }

    fn set_tracing(&mut self, on: bool) {
        self.rooms.set_tracing(on);
        self.agents.transport.set_tracing(on);
        self.browsers.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        let own = self.rooms.poll_trace().or_else(|| self.agents.transport.poll_trace());
        own.or_else(|| {
            let record = self.browsers.poll_trace()?;
            // Agents' connections are counted apart.
            let connection = record.connection.map(|id| BROWSER_CONNECTIONS + id);
            Some(TraceRecord { connection, ..record })
        })
    }
}
