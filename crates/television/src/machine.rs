//! [`Server`]: a television on one UDP port, for native viewers and browsers.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use anabranch_rtc::{
    AcceptError, CertificateError, ConnectionId, Event as BrowserEvent, Protocol, RtcConfig,
};
use anabranch_sansio::{Datagram, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_transport::{
    Connection, ConnectionStats, Event, Incoming, SctpConfig, SctpTransport, StrangerStats,
    Transport,
};

use crate::address_group::AddressGroups;
use crate::protocol::STREAMS;
use crate::sctp::{SCTP_PORT, at_server, native};
use crate::server::{Carrier, Television, ViewerId};

/// In records, the number of a browser's connection begins here.
const BROWSER_CONNECTIONS: u64 = 1_000_000;

/// How viewers reach a [`Server`].
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Those that speak SCTP over UDP, by several paths if they have them.
    pub native: SctpConfig,
    /// Browsers, and where they find the UDP port.
    pub browsers: RtcConfig,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { native: native(), browsers: RtcConfig::default() }
    }
}

/// What there is beside viewers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Connections of native viewers, those that begin or end included.
    pub natives: usize,
    /// Connections of browsers, those that begin or end included.
    pub connections: usize,
    /// Datagrams of no viewer that do not look like a browser's.
    pub native: StrangerStats,
    /// Those that do.
    pub browsers: anabranch_rtc::ServerStats,
}

/// The [`Machine`] of a television: its datagrams are those of one UDP port, which native viewers
/// and browsers share.
#[derive(Debug)]
pub struct Server {
    television: Television,
    native: SctpTransport,
    browsers: anabranch_rtc::Server,
    viewers: BTreeMap<Link, ViewerId>,
    links: BTreeMap<ViewerId, Link>,
    address_groups: AddressGroups,
}

/// Where a viewer's connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    Native(anabranch_transport::ConnectionId),
    Browser(ConnectionId),
}

impl Server {
    /// A server for a television. The generator must be unpredictable on real networks.
    ///
    /// # Errors
    ///
    /// If the cryptography at hand makes no certificate to show to browsers.
    pub fn new(
        television: Television,
        config: ServerConfig,
        mut rng: Rng,
    ) -> Result<Self, CertificateError> {
        let ServerConfig { native, browsers } = config;
        let native = SctpConfig { listen: true, ..at_server(native) };
        let browsers = RtcConfig {
            association: at_server(SctpConfig::of(browsers.association)).association,
            negotiated_channels: STREAMS,
            ..browsers
        };
        Ok(Self {
            television,
            native: SctpTransport::new(native, SCTP_PORT, rng.fork()),
            browsers: anabranch_rtc::Server::new(browsers, rng)?,
            viewers: BTreeMap::new(),
            links: BTreeMap::new(),
            address_groups: AddressGroups::default(),
        })
    }

    /// Which of its addresses native viewers may use beside the one they called.
    pub fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.native.set_local_addresses(locals);
    }

    /// Answers a browser's offer, which came from `address`. It becomes a viewer when it is there.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the offer, or which limit stands against it.
    pub fn accept(
        &mut self,
        now: Time,
        sdp: &str,
        address: IpAddr,
    ) -> Result<(ConnectionId, String), AcceptError> {
        let limit = self.television.viewers_max();
        if self.links.len() >= limit {
            return Err(AcceptError::Full { limit });
        }
        self.browsers.accept(now, sdp, address)
    }

    /// Whether there are as many viewers from an address as may be.
    #[must_use]
    pub fn is_full_for(&self, address: IpAddr) -> bool {
        self.address_groups.count(address) >= self.television.viewers_per_address_max()
    }

    /// Ends the connection of a browser, if there still is one.
    pub fn hang_up(&mut self, now: Time, id: ConnectionId) {
        self.browsers.close(now, id);
        self.take_events(now);
    }

    /// Channels and viewers.
    #[must_use]
    pub const fn television(&self) -> &Television {
        &self.television
    }

    /// Changes channels or viewers; what comes of it is sent with the next polls.
    pub fn act<T>(&mut self, act: impl FnOnce(&mut Television) -> T) -> T {
        act(&mut self.television)
    }

    /// What the network does to a viewer: paths, round-trip times, losses, rate, what waits.
    #[must_use]
    pub fn network(&self, viewer: ViewerId) -> Option<ConnectionStats> {
        match *self.links.get(&viewer)? {
            Link::Native(id) => Some(self.native.connection(id)?.stats()),
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

    /// What there is beside viewers.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        ServerStats {
            natives: self.native.connections(),
            connections: self.browsers.connections().count(),
            native: self.native.strangers(),
            browsers: self.browsers.stats(),
        }
    }

    fn take_events(&mut self, now: Time) {
        while let Some((id, event)) = self.native.poll_event() {
            self.on_native(now, id, event);
        }
        while let Some((id, event)) = self.browsers.poll_event() {
            self.on_browser(now, id, event);
        }
    }

    fn on_native(&mut self, now: Time, id: anabranch_transport::ConnectionId, event: Event) {
        let link = Link::Native(id);
        match event {
            Event::Connected { .. } => self.on_connected(now, link),
            // A viewer that began anew has to say hello again.
            Event::Restarted { .. } => {
                self.on_closed(link);
                self.on_connected(now, link);
            }
            Event::Closed { .. } => self.on_closed(link),
            Event::Readable => self.read(now, id),
            Event::Writable => self.on_writable(link),
            Event::Path(_) | Event::RateChanged(_) => {}
            _ => {}
        }
    }

    /// Also what nobody wants is read: a connection stays until it was.
    fn read(&mut self, now: Time, id: anabranch_transport::ConnectionId) {
        let viewer = self.viewers.get(&Link::Native(id)).copied();
        let Some(connection) = self.native.connection_mut(id) else { return };
        while let Some(message) = connection.receive() {
            if let Some(viewer) = viewer {
                self.television.handle_message(now, viewer, &message);
            }
        }
    }

    fn on_browser(&mut self, now: Time, id: ConnectionId, event: BrowserEvent) {
        let link = Link::Browser(id);
        match event {
            BrowserEvent::Connected => self.on_connected(now, link),
            BrowserEvent::Message { message, .. } => {
                if let Some(viewer) = self.viewers.get(&link) {
                    self.television.handle_message(now, *viewer, &Incoming::from(message));
                }
            }
            BrowserEvent::Writable => self.on_writable(link),
            BrowserEvent::Closed { .. } => self.on_closed(link),
            // A page may have channels of its own; they say nothing to us.
            BrowserEvent::ChannelOpened { .. } | BrowserEvent::ChannelClosed { .. } => {}
            _ => {}
        }
    }

    fn on_connected(&mut self, now: Time, link: Link) {
        let carrier = match link {
            Link::Native(_) => Carrier::Native,
            Link::Browser(_) => Carrier::Browser,
        };
        let address = self.remote(link);
        if address.is_some_and(|address| self.is_full_for(address)) {
            let reason = "there are as many viewers from this address as the server takes";
            self.with_connection(now, link, |_, connection| connection.abort(reason));
        } else if let Some(viewer) = self.television.viewer_came(now, carrier) {
            self.viewers.insert(link, viewer);
            self.links.insert(viewer, link);
            address.into_iter().for_each(|address| self.address_groups.add(viewer, address));
        } else {
            let reason = "there are as many viewers as the server takes";
            self.with_connection(now, link, |_, connection| connection.abort(reason));
        }
    }

    /// Where the other end is.
    fn remote(&self, link: Link) -> Option<IpAddr> {
        let path = match link {
            Link::Native(id) => self.native.connection(id)?.stats().paths.first()?.tuple,
            Link::Browser(id) => self.browsers.path(id)?,
        };
        Some(path.remote.ip())
    }

    fn on_writable(&mut self, link: Link) {
        if let Some(viewer) = self.viewers.get(&link) {
            self.television.handle_writable(*viewer);
        }
    }

    fn on_closed(&mut self, link: Link) {
        if let Some(viewer) = self.viewers.remove(&link) {
            self.links.remove(&viewer);
            self.address_groups.remove(viewer);
            self.television.viewer_left(viewer);
        }
    }

    /// Hands the connection of the next viewer what it is to send; false if there is none.
    fn serve_next(&mut self, now: Time) -> bool {
        let Some(viewer) = self.television.poll_due() else { return false };
        if let Some(&link) = self.links.get(&viewer) {
            self.with_connection(now, link, |television, connection| {
                television.serve(now, viewer, connection);
            });
        }
        true
    }

    fn with_connection(
        &mut self,
        now: Time,
        link: Link,
        act: impl FnOnce(&mut Television, &mut dyn Connection),
    ) {
        let television = &mut self.television;
        match link {
            Link::Native(id) => {
                if let Some(connection) = self.native.connection_mut(id) {
                    act(television, connection);
                }
            }
            Link::Browser(id) => {
                // Without an association there is nothing to do.
                let _done: Option<()> = self
                    .browsers
                    .with_association(now, id, |connection| act(television, connection));
            }
        }
    }

    fn transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let native = self.native.poll_transmit(now, buf);
        native.or_else(|| self.browsers.poll_transmit(now, buf))
    }
}

impl Machine for Server {
    type Event = std::convert::Infallible;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        if Protocol::of(datagram.bytes).is_some() {
            self.browsers.handle_datagram(now, datagram);
        } else {
            self.native.handle_datagram(now, datagram);
        }
        self.take_events(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.native.handle_timeout(now);
        self.browsers.handle_timeout(now);
        self.television.handle_timeout(now);
        self.take_events(now);
    }

    /// Viewers are served one by one, each when all is sent that the one before has room for: what
    /// a processor knows of a connection it needs once, and not again when hundreds of others
    /// were served in between.
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
        let all = [
            self.native.poll_timeout(),
            self.browsers.poll_timeout(),
            self.television.poll_timeout(),
        ];
        all.into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.television.set_tracing(on);
        self.native.set_tracing(on);
        self.browsers.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        let own = self.television.poll_trace().or_else(|| self.native.poll_trace());
        own.or_else(|| {
            let record = self.browsers.poll_trace()?;
            // Native viewers' connections are counted apart.
            let connection = record.connection.map(|id| BROWSER_CONNECTIONS + id);
            Some(TraceRecord { connection, ..record })
        })
    }
}
