//! [`Cell`]: links that share one resource, as the stations of a radio cell do.

#[cfg(test)]
mod testing;
mod wifi;
mod wimax;

use anabranch_sansio::{Rng, Time};

use crate::{DropCause, Element as _, Link, LinkConfig, Medium, Packet, Service};
use wifi::Wifi;
use wimax::Wimax;

/// The links of some stations and their access point or base station, which share one medium.
///
/// Each station has a link to the access point and one back, and each of these has a queue of its
/// own. The medium says which queue sends next and for how long; what it has carried then travels
/// for the link's delay. A link's `rate` is that of its frames on the air, its `loss` strikes each
/// frame of it.
///
/// ```
/// use anabranch_netsim::{Carrier, Cell, LinkConfig, Packet};
/// use anabranch_sansio::{FourTuple, Rng, Time};
///
/// let config = LinkConfig::wifi_cell();
/// let medium = config.cell.clone().expect("it is in a cell").medium;
/// let mut cell = Cell::new(&medium, Rng::from_u64(7));
/// let [up, _down] = cell.add_station(config.clone(), config);
/// let path = FourTuple::new("10.0.0.1:9899".parse()?, "10.0.0.2:9899".parse()?);
/// cell.handle_packet(Time::ZERO, up, Packet::new(path, Carrier::Udp, vec![0; 1_200]));
/// while let Some(at) = cell.poll_timeout() {
///     if let Some((link, packet)) = cell.poll_packet(at) {
///         assert_eq!((link, packet.bytes.len()), (up, 1_200));
///     }
/// }
/// assert_eq!(cell.link(up).stats().delivered.packets, 1);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug)]
pub struct Cell {
    medium: AnyMedium,
    links: Vec<Link>,
    rng: Rng,
}

/// One direction of a station's link, in a cell. Using it with another cell than its own is a
/// mistake that panics or meets another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberId(pub(crate) usize);

/// At which end of the cell something is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// A station, by its number.
    Station(usize),
    /// The access point or base station.
    Base,
}

#[derive(Debug)]
enum AnyMedium {
    Wifi(Box<Wifi>),
    Wimax(Box<Wimax>),
}

impl Cell {
    /// A cell without stations. All its randomness comes from `rng`.
    #[must_use]
    pub fn new(medium: &Medium, mut rng: Rng) -> Self {
        let medium = match medium {
            Medium::Wifi(config) => AnyMedium::Wifi(Box::new(Wifi::new(*config, rng.fork()))),
            Medium::Wimax(config) => AnyMedium::Wimax(Box::new(Wimax::new(*config))),
        };
        Self { medium, links: Vec::new(), rng }
    }

    /// Adds a station: its link to the access point, and the one back.
    pub fn add_station(&mut self, up: LinkConfig, down: LinkConfig) -> [MemberId; 2] {
        let station = self.links.len();
        [self.add(up, End::Station(station)), self.add(down, End::Base)]
    }

    /// Adds a station that only sends.
    pub fn add_sender(&mut self, up: LinkConfig) -> MemberId {
        let station = self.links.len();
        self.add(up, End::Station(station))
    }

    /// Adds a station that only receives.
    pub fn add_receiver(&mut self, down: LinkConfig) -> MemberId {
        self.add(down, End::Base)
    }

    /// A link, to look at.
    #[must_use]
    pub fn link(&self, member: MemberId) -> &Link {
        &self.links[member.0]
    }

    /// Takes a packet for a link that arrived at `now`.
    pub fn handle_packet(&mut self, now: Time, member: MemberId, packet: Packet) {
        self.advance(now);
        self.links[member.0].handle_packet(now, packet);
        if self.links[member.0].has_waiting() {
            self.medium.on_packet(now, member.0);
        }
    }

    /// The next packet that leaves a link at `now` or should have left before. To be called until
    /// it returns `None`.
    #[must_use]
    pub fn poll_packet(&mut self, now: Time) -> Option<(MemberId, Packet)> {
        self.advance(now);
        let due = self.links.iter().enumerate();
        let due =
            due.filter_map(|(n, link)| Some((link.poll_timeout().filter(|at| *at <= now)?, n)));
        let (_, n) = due.min()?;
        self.links[n].poll_packet(now).map(|packet| (MemberId(n), packet))
    }

    /// When to call [`poll_packet`](Self::poll_packet) next, if ever.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let arrivals = self.links.iter().filter_map(Link::poll_timeout);
        arrivals.chain(self.medium.next_at()).min()
    }

    /// The next packet that a link dropped, if the links keep them ([`Link::keep_dropped`]).
    #[must_use]
    pub fn poll_dropped(&mut self) -> Option<(MemberId, DropCause, Packet)> {
        self.links.iter_mut().enumerate().find_map(|(n, link)| {
            link.poll_dropped().map(|(cause, packet)| (MemberId(n), cause, packet))
        })
    }

    /// Changes a link, but not which cell it is in: see [`Link::reconfigure`].
    pub fn reconfigure(&mut self, now: Time, member: MemberId, config: LinkConfig) {
        self.advance(now);
        self.links[member.0].reconfigure(now, config);
    }

    /// Takes a link down: see [`Link::cut`].
    pub fn cut(&mut self, now: Time, member: MemberId) {
        self.advance(now);
        let link = &mut self.links[member.0];
        link.cut(now);
        for packet in self.medium.on_cut(member.0) {
            link.give_up(DropCause::Cut, packet);
        }
    }

    /// Brings a link up again, empty.
    pub fn restore(&mut self, member: MemberId) {
        self.links[member.0].restore();
    }

    /// Keeps dropped packets for [`poll_dropped`](Self::poll_dropped).
    pub fn keep_dropped(&mut self, member: MemberId) {
        self.links[member.0].keep_dropped();
    }

    fn add(&mut self, config: LinkConfig, sender: End) -> MemberId {
        let service = config.cell.as_ref().map(|cell| cell.service).unwrap_or_default();
        self.links.push(Link::in_cell(config, self.rng.fork()));
        self.medium.add(sender, service);
        MemberId(self.links.len() - 1)
    }

    /// Lets the medium do all that is due by `now`.
    fn advance(&mut self, now: Time) {
        while let Some(at) = self.medium.next_at().filter(|at| *at <= now) {
            self.medium.act(at, &mut self.links);
        }
    }
}

impl AnyMedium {
    /// Adds a link that sends at this end; its number is that of all links so far.
    fn add(&mut self, sender: End, service: Service) {
        match self {
            Self::Wifi(wifi) => wifi.add(sender),
            Self::Wimax(wimax) => wimax.add(sender, service),
        }
    }

    /// A packet waits in the queue of a link.
    fn on_packet(&mut self, now: Time, link: usize) {
        match self {
            Self::Wifi(wifi) => wifi.on_packet(now, link),
            Self::Wimax(wimax) => wimax.on_packet(now, link),
        }
    }

    /// A link was cut: what the medium holds of it.
    fn on_cut(&mut self, link: usize) -> Vec<Packet> {
        match self {
            Self::Wifi(wifi) => wifi.on_cut(link),
            Self::Wimax(wimax) => wimax.on_cut(link),
        }
    }

    /// When [`act`](Self::act) is due.
    fn next_at(&self) -> Option<Time> {
        match self {
            Self::Wifi(wifi) => wifi.next_at(),
            Self::Wimax(wimax) => wimax.next_at(),
        }
    }

    fn act(&mut self, now: Time, links: &mut [Link]) {
        match self {
            Self::Wifi(wifi) => wifi.act(now, links),
            Self::Wimax(wimax) => wimax.act(now, links),
        }
    }
}
