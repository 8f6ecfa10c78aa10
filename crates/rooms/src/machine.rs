//! [`Server`]: rooms on one UDP port.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use anabranch_rtc::{
    AcceptError, CertificateError, ConnectionId, Event as BrowserEvent, RestartError, RtcConfig,
};
use anabranch_sansio::{Datagram, Machine, Rate, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_transport::{ConnectionStats, Incoming, SctpConfig};
use thiserror::Error;

use crate::protocol::{Role, STREAMS};
use crate::rooms::{Event, GuestId, RoomId, Rooms, RoomsConfig};

/// Bytes that wait for one member in its association.
const SEND_BUFFER: usize = 256 << 10;

/// Bytes of one member that wait to be read: pictures, whole.
const RECEIVE_BUFFER: usize = 1 << 20;

/// With the timers of media, the other end is given up about ten seconds after it vanished.
const RETRANSMISSIONS_MAX: u32 = 10;

/// What may wait in a member's network: voice waits behind it.
const QUEUING_DELAY_MAX: Duration = Duration::from_millis(60);

/// A member's network is tried with so much at first: a narrower one shows within a round trip.
const START_RATE: Rate = Rate::mbps(3);

/// How members reach a [`Server`].
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The rooms' program.
    pub rooms: RoomsConfig,
    /// Browsers, and where they find the UDP port.
    pub browsers: RtcConfig,
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
    /// Offers that were answered, until their browsers come.
    expected: BTreeMap<ConnectionId, (RoomId, Role)>,
    guests: BTreeMap<ConnectionId, GuestId>,
    connections: BTreeMap<GuestId, ConnectionId>,
    /// Connections that have ended, of members who may come back: a browser that goes away for
    /// good may say so by HTTP after its connection has ended.
    ended: BTreeMap<ConnectionId, GuestId>,
}

impl Server {
    /// Rooms without anybody. The generator must be unpredictable on real networks.
    ///
    /// # Errors
    /// If the cryptography at hand makes no certificate to show to browsers.
    pub fn new(config: ServerConfig, mut rng: Rng) -> Result<Self, CertificateError> {
        let association = SctpConfig::of(config.browsers.association)
            .with_streams(STREAMS)
            .with_send_buffer(SEND_BUFFER)
            .with_receive_buffer(RECEIVE_BUFFER)
            .with_retransmissions_max(RETRANSMISSIONS_MAX)
            .with_start_rate(START_RATE)
            .with_queuing_delay_max(QUEUING_DELAY_MAX)
            .with_urgent_ahead()
            .association;
        let browsers = RtcConfig { association, negotiated_channels: STREAMS, ..config.browsers };
        Ok(Self {
            rooms: Rooms::new(config.rooms, rng.fork()),
            browsers: anabranch_rtc::Server::new(browsers, rng)?,
            expected: BTreeMap::new(),
            guests: BTreeMap::new(),
            connections: BTreeMap::new(),
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
        let guest = self.guests.get(&id).or_else(|| self.ended.get(&id));
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

    /// What came to the port of nobody who is connected.
    #[must_use]
    pub const fn strangers(&self) -> anabranch_rtc::ServerStats {
        self.browsers.stats()
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
        let id = *self.connections.get(&guest)?;
        let mut stats = ConnectionStats::from(self.browsers.association(id)?.stats());
        // Inside DTLS a path has no addresses.
        if let Some(path) = self.browsers.path(id) {
            stats.paths.iter_mut().for_each(|report| report.tuple = path);
        }
        Some(stats)
    }

    fn take_events(&mut self, now: Time) {
        while let Some((id, event)) = self.browsers.poll_event() {
            self.on_event(now, id, event);
        }
    }

    fn on_event(&mut self, now: Time, id: ConnectionId, event: BrowserEvent) {
        match event {
            BrowserEvent::Connected => self.on_connected(now, id),
            BrowserEvent::Message { message, .. } => {
                if let Some(guest) = self.guests.get(&id) {
                    self.rooms.handle_message(now, *guest, &Incoming::from(message));
                }
            }
            BrowserEvent::Writable => {
                if let Some(guest) = self.guests.get(&id) {
                    self.rooms.handle_writable(*guest);
                }
            }
            BrowserEvent::Closed { .. } => {
                self.expected.remove(&id);
                if let Some(guest) = self.guests.remove(&id) {
                    self.connections.remove(&guest);
                    self.rooms.guest_left(now, guest);
                    self.ended.insert(id, guest);
                    self.ended.retain(|_, guest| self.rooms.is_away(*guest));
                }
            }
            // A page may have channels of its own; they say nothing to us.
            BrowserEvent::ChannelOpened { .. } | BrowserEvent::ChannelClosed { .. } => {}
            _ => {}
        }
    }

    fn on_connected(&mut self, now: Time, id: ConnectionId) {
        let Some((room, role)) = self.expected.remove(&id) else { return };
        if let Some(guest) = self.rooms.guest_came(now, room, role) {
            self.guests.insert(id, guest);
            self.connections.insert(guest, id);
        } else {
            self.browsers.close(now, id);
        }
    }

    /// Hands the connection of the next guest what it is to send; false if there is none.
    fn serve_next(&mut self, now: Time) -> bool {
        let Some(guest) = self.rooms.poll_due() else { return false };
        if let Some(&id) = self.connections.get(&guest) {
            let rooms = &mut self.rooms;
            // Without an association there is nothing to do.
            let _done: Option<()> = self
                .browsers
                .with_association(now, id, |connection| rooms.serve(now, guest, connection));
        }
        true
    }
}

impl Machine for Server {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.browsers.handle_datagram(now, datagram);
        self.rooms.handle_progress();
        self.take_events(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.browsers.handle_timeout(now);
        self.rooms.handle_timeout(now);
        self.take_events(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        loop {
            if let Some(transmit) = self.browsers.poll_transmit(now, buf) {
                return Some(transmit);
            }
            // What was sent may have made room.
            self.take_events(now);
            if !self.serve_next(now) {
                return self.browsers.poll_transmit(now, buf);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let all = [self.browsers.poll_timeout(), self.rooms.poll_timeout()];
        all.into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.rooms.poll_event()
    }

    fn set_tracing(&mut self, on: bool) {
        self.rooms.set_tracing(on);
        self.browsers.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.rooms.poll_trace().or_else(|| self.browsers.poll_trace())
    }
}
