//! [`Network`]: elements and the routes through them.

mod cells;
mod nats;
mod routes;

use std::collections::VecDeque;
use std::net::IpAddr;

use anabranch_sansio::{Rng, Time};

pub use nats::{NatId, NatSide};
pub use routes::RouteError;

use crate::agenda::Agenda;
use crate::observer::Observers;
use crate::{
    DropCause, Element, ElementId, Link, LinkConfig, MemberId, Nat, Observer, Packet, Sighting,
    Traffic,
};
use cells::CellNode;
use nats::NatPlace;
use routes::Routes;
pub(crate) use routes::{Rank, rank};

/// Buffers of packets that are gone; at most this many are kept for new ones.
const MAX_BUFFERS_KEPT: usize = 4_096;

/// Elements and the routes through them.
///
/// A route leads from a source address to a destination address, one direction, through a chain of
/// elements; what no route fits is counted and dropped. Two hosts with two interfaces each have two
/// independent paths when two [`connect`](Self::connect) calls join them; a link that is in the
/// chains of several routes is shared by them.
///
/// When a packet leaves an element, its route is looked up again: it goes on to the next element of
/// the chain. If the element is not in that chain, because it rewrote an address, the packet begins
/// the chain of its new route: that is how a [`Nat`] has its place.
///
/// The network is an element itself: what comes out of it has arrived.
pub struct Network {
    nodes: Vec<Node>,
    agenda: Agenda,
    routes: Routes,
    duplexes: Vec<(String, Duplex)>,
    nats: Vec<NatPlace>,
    arrived: VecDeque<Packet>,
    unrouted: Traffic,
    rng: Rng,
    observers: Observers,
    buffers: Vec<Vec<u8>>,
}

/// A link of a network; it is an element too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(usize);

impl From<LinkId> for ElementId {
    fn from(link: LinkId) -> Self {
        Self(link.0)
    }
}

/// Both directions between two addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplex {
    /// From the first address to the second.
    pub forward: LinkId,
    /// From the second address to the first.
    pub backward: LinkId,
}

/// The configuration of both directions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DuplexConfig {
    /// From the first address to the second.
    pub forward: LinkConfig,
    /// From the second address to the first.
    pub backward: LinkConfig,
}

impl From<LinkConfig> for DuplexConfig {
    fn from(both: LinkConfig) -> Self {
        Self { forward: both.clone(), backward: both }
    }
}

impl Network {
    /// A network without elements. Each link gets a generator of its own, forked from `rng`.
    #[must_use]
    pub fn new(rng: Rng) -> Self {
        Self {
            nodes: Vec::new(),
            agenda: Agenda::default(),
            routes: Routes::default(),
            duplexes: Vec::new(),
            nats: Vec::new(),
            arrived: VecDeque::new(),
            unrouted: Traffic::default(),
            rng,
            observers: Observers::default(),
            buffers: Vec::new(),
        }
    }

    /// Adds a link. The name is for captures and messages. One that is in a cell sends to its
    /// access point; [`add_duplex`](Self::add_duplex) makes both directions of a station.
    pub fn add_link(&mut self, name: impl Into<String>, config: LinkConfig) -> LinkId {
        if config.cell.is_some() {
            return self.add_sender(name.into(), config);
        }
        let mut link = Link::new(config, self.rng.fork());
        link.keep_dropped();
        LinkId(self.add_node(name.into(), AnyElement::Link(Box::new(link))).0)
    }

    /// Adds an element of any kind.
    pub fn add_element(
        &mut self,
        name: impl Into<String>,
        element: impl Element + Send + 'static,
    ) -> ElementId {
        self.add_node(name.into(), AnyElement::Other(Box::new(element)))
    }

    /// A generator for an element that is to be added.
    pub fn fork_rng(&mut self) -> Rng {
        self.rng.fork()
    }

    /// Adds a route: what goes from `source` to `destination` passes the elements in this order. It
    /// takes the place of an earlier route between the two.
    ///
    /// # Errors
    /// The addresses are of two families, or an element comes twice.
    pub fn add_route(
        &mut self,
        source: IpAddr,
        destination: IpAddr,
        chain: impl IntoIterator<Item = ElementId>,
    ) -> Result<(), RouteError> {
        self.routes.add(source, destination, chain.into_iter().collect())
    }

    /// Removes a route; packets on it are dropped where they leave their present element.
    pub fn remove_route(&mut self, source: IpAddr, destination: IpAddr) {
        self.routes.remove(source, destination);
    }

    /// Joins two addresses by a link for each direction, named `name` and `name back`.
    ///
    /// # Errors
    /// The addresses are of two families.
    pub fn connect(
        &mut self,
        name: &str,
        (near, far): (IpAddr, IpAddr),
        config: impl Into<DuplexConfig>,
    ) -> Result<Duplex, RouteError> {
        RouteError::check_families(near, far)?;
        let duplex = self.add_duplex(name, config);
        self.add_route(near, far, [duplex.forward.into()])?;
        self.add_route(far, near, [duplex.backward.into()])?;
        Ok(duplex)
    }

    /// The links that [`add_duplex`](Self::add_duplex) or [`connect`](Self::connect) added
    /// under this name; the first of several.
    #[must_use]
    pub fn duplex(&self, name: &str) -> Option<Duplex> {
        self.duplexes.iter().find(|(other, _)| other == name).map(|(_, duplex)| *duplex)
    }

    /// A link, to look at.
    ///
    /// # Panics
    /// If the link is another network's.
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link {
        self.link_at(id.0).unwrap_or_else(|| panic!("{} is not a link of this network", id.0))
    }

    /// All links in the order they were added.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &str, &Link)> {
        self.nodes.iter().enumerate().filter_map(|(index, node)| {
            Some((LinkId(index), node.name.as_str(), self.link_at(index)?))
        })
    }

    /// The name of an element.
    #[must_use]
    pub fn name(&self, element: impl Into<ElementId>) -> &str {
        &self.nodes[element.into().0].name
    }

    /// Changes a link: see [`Link::reconfigure`].
    pub fn reconfigure(&mut self, now: Time, link: LinkId, config: LinkConfig) {
        match self.place_in_cell(link) {
            Some((cell, member)) => {
                self.change_cell(now, cell, |cell| cell.reconfigure(now, member, config))
            }
            None => self.change_link(now, link, |link| link.reconfigure(now, config)),
        }
    }

    /// Takes a link down: see [`Link::cut`].
    pub fn cut(&mut self, now: Time, link: LinkId) {
        match self.place_in_cell(link) {
            Some((cell, member)) => self.change_cell(now, cell, |cell| cell.cut(now, member)),
            None => self.change_link(now, link, |link| link.cut(now)),
        }
    }

    /// Brings a link up again: see [`Link::restore`].
    pub fn restore(&mut self, now: Time, link: LinkId) {
        match self.place_in_cell(link) {
            Some((cell, member)) => self.change_cell(now, cell, |cell| cell.restore(member)),
            None => self.change_link(now, link, Link::restore),
        }
    }

    /// Packets that no route fitted.
    #[must_use]
    pub fn unrouted(&self) -> Traffic {
        self.unrouted
    }

    /// Adds an observer of all packets.
    pub fn add_observer(&mut self, observer: impl Observer + Send + 'static) {
        self.observers.add(observer);
    }

    pub(crate) fn tell(&mut self, now: Time, sighting: Sighting<'_>) {
        self.observers.tell(now, sighting);
    }

    /// Counts and drops a packet that has no route.
    pub(crate) fn drop_unrouted(&mut self, now: Time, packet: Packet) {
        self.unrouted.add(&packet);
        self.observers.tell(now, Sighting::Unrouted { packet: &packet });
        self.recycle(packet.bytes);
    }

    /// An empty buffer for a packet's bytes.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.len() < MAX_BUFFERS_KEPT {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    fn add_node(&mut self, name: String, element: AnyElement) -> ElementId {
        self.nodes.push(Node { name, element });
        ElementId(self.agenda.add())
    }

    fn change_link(&mut self, now: Time, id: LinkId, change: impl FnOnce(&mut Link)) {
        match &mut self.nodes[id.0].element {
            AnyElement::Link(link) => change(link),
            AnyElement::Nat(_)
            | AnyElement::Cell(_)
            | AnyElement::Member(..)
            | AnyElement::Other(_) => panic!("{} is not a link of this network", id.0),
        }
        self.settle(now, ElementId(id.0));
    }

    /// Sends a packet on its way, from a host or from the element that it has left.
    fn forward(&mut self, now: Time, packet: Packet, from: Option<ElementId>) {
        let Some(chain) = self.routes.chain(&packet.path) else {
            return self.drop_unrouted(now, packet);
        };
        let place = from.and_then(|from| chain.iter().position(|element| *element == from));
        let Some(next) = chain.get(place.map_or(0, |place| place + 1)).copied() else {
            return self.arrived.push_back(packet);
        };
        if let AnyElement::Member(cell, member) = self.nodes[next.0].element {
            return self.change_cell(now, cell, |cell| cell.handle_packet(now, member, packet));
        }
        self.nodes[next.0].element.handle_packet(now, packet);
        self.settle(now, next);
    }

    /// Takes what an element dropped and asks when it is due.
    fn settle(&mut self, now: Time, id: ElementId) {
        while let Some((element, cause, packet)) = self.nodes[id.0].element.poll_dropped(id) {
            self.observers.tell(now, Sighting::Dropped { element, cause, packet: &packet });
            self.recycle(packet.bytes);
        }
        self.agenda.set(id.0, self.nodes[id.0].element.poll_timeout());
    }
}

impl Element for Network {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        self.forward(now, packet, None);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Packet> {
        loop {
            if let Some(packet) = self.arrived.pop_front() {
                return Some(packet);
            }
            let (_, index) = self.agenda.first().filter(|(at, _)| *at <= now)?;
            let id = ElementId(index);
            let left = self.nodes[index].element.poll_packet(now, id);
            self.settle(now, id);
            let Some((element, packet)) = left else { continue };
            self.observers.tell(now, Sighting::Passed { element, packet: &packet });
            self.forward(now, packet, Some(element));
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.arrived.is_empty() {
            self.agenda.first().map(|(at, _)| at)
        } else {
            Some(Time::ZERO)
        }
    }
}

struct Node {
    name: String,
    element: AnyElement,
}

enum AnyElement {
    Link(Box<Link>),
    Nat(Box<Nat>),
    Cell(Box<CellNode>),
    /// A link in the cell with this number.
    Member(ElementId, MemberId),
    Other(Box<dyn Element + Send>),
}

/// What all can do, but for links in cells: their cell does it for them.
impl AnyElement {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        match self {
            Self::Link(link) => link.handle_packet(now, packet),
            Self::Nat(nat) => nat.handle_packet(now, packet),
            Self::Cell(_) | Self::Member(..) => {}
            Self::Other(other) => other.handle_packet(now, packet),
        }
    }

    /// `id` is the element's own. A packet that leaves a cell comes out of one of its links.
    fn poll_packet(&mut self, now: Time, id: ElementId) -> Option<(ElementId, Packet)> {
        let packet = match self {
            Self::Link(link) => link.poll_packet(now),
            Self::Nat(nat) => nat.poll_packet(now),
            Self::Cell(node) => return node.poll_packet(now),
            Self::Member(..) => None,
            Self::Other(other) => other.poll_packet(now),
        };
        packet.map(|packet| (id, packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Link(link) => link.poll_timeout(),
            Self::Nat(nat) => nat.poll_timeout(),
            Self::Cell(node) => node.cell.poll_timeout(),
            Self::Member(..) => None,
            Self::Other(other) => other.poll_timeout(),
        }
    }

    fn poll_dropped(&mut self, id: ElementId) -> Option<(ElementId, DropCause, Packet)> {
        let (cause, packet) = match self {
            Self::Link(link) => link.poll_dropped(),
            Self::Nat(nat) => nat.poll_dropped(),
            Self::Cell(node) => return node.poll_dropped(),
            Self::Member(..) => None,
            Self::Other(other) => other.poll_dropped(),
        }?;
        Some((id, cause, packet))
    }
}
