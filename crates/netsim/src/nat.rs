//! [`Nat`]: one public address for several hosts.

mod config;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use anabranch_sansio::{Rng, Time};

pub use config::{Filtering, NatConfig};

use crate::{Carrier, DropCause, Element, Packet};

/// Mappings that exist at once; packets that need another one are dropped.
const MAPPINGS_MAX: usize = 4_096;

/// Addresses per mapping that may answer; what goes to others leaves, but their answers are not let
/// in.
const PEERS_MAX: usize = 256;

/// RFC 4787 section 4.2.2: a port at or above 1024 is mapped to one of that range.
const PORT_MIN: u16 = 1_024;

/// A network address and port translator (RFC 4787): what leaves the
/// hosts behind it has the NAT's address and a port of the NAT's choice.
///
/// The mapping is endpoint-independent (RFC 4787 REQ-1): a host's port has one public port towards
/// everybody. A mapping is kept by what leaves, not by what comes in (REQ-6), for
/// [`NatConfig::timeout`] after the last packet; [`rebind`](Self::rebind) forgets all at once. Only
/// UDP has ports that can be rewritten without a look inside: other packets are dropped, as most
/// NATs do.
#[derive(Debug)]
pub struct Nat {
    config: NatConfig,
    public: IpAddr,
    inside: Vec<IpAddr>,
    mappings: BTreeMap<SocketAddr, Mapping>,
    /// Whose a public port is.
    owners: BTreeMap<u16, SocketAddr>,
    next_port: u16,
    ready: VecDeque<Packet>,
    dropped: VecDeque<Packet>,
}

/// A public port, for a port of a host behind the NAT.
#[derive(Debug)]
struct Mapping {
    port: u16,
    last_used: Time,
    /// Who was sent something through it.
    peers: BTreeSet<SocketAddr>,
}

impl Nat {
    /// A NAT with the address `public` for the addresses `inside`.
    #[must_use]
    pub fn new(config: NatConfig, public: IpAddr, inside: Vec<IpAddr>, mut rng: Rng) -> Self {
        let next_port = PORT_MIN + (rng.next_u32() % u32::from(u16::MAX - PORT_MIN)) as u16;
        Self {
            config,
            public,
            inside,
            mappings: BTreeMap::new(),
            owners: BTreeMap::new(),
            next_port,
            ready: VecDeque::new(),
            dropped: VecDeque::new(),
        }
    }

    /// Forgets all mappings, as after a restart: what leaves gets other ports from now on.
    pub fn rebind(&mut self) {
        self.mappings.clear();
        self.owners.clear();
    }

    /// Takes another address, as after the provider assigned a new one.
    pub fn renumber(&mut self, public: IpAddr) {
        self.public = public;
        self.rebind();
    }

    /// Its public address.
    #[must_use]
    pub const fn public(&self) -> IpAddr {
        self.public
    }

    /// How many mappings there are, those included whose time is over and that nobody asked for.
    #[must_use]
    pub fn mappings(&self) -> usize {
        self.mappings.len()
    }

    /// The packet as it leaves towards the public side, or comes in from there.
    fn translate(&mut self, now: Time, packet: &Packet) -> Option<Packet> {
        if packet.carrier != Carrier::Udp {
            return None;
        }
        let mut translated = packet.clone();
        let (source, destination) = (packet.path.local, packet.path.remote);
        if self.inside.contains(&source.ip()) {
            translated.path.local = self.map(now, source, destination)?;
        } else {
            translated.path.remote = self.owner(now, source, destination)?;
        }
        Some(translated)
    }

    /// The public address of what leaves from `source`.
    fn map(
        &mut self,
        now: Time,
        source: SocketAddr,
        destination: SocketAddr,
    ) -> Option<SocketAddr> {
        self.forget_if_idle(now, source);
        if !self.mappings.contains_key(&source) {
            self.add_mapping(now, source)?;
        }
        let mapping = self.mappings.get_mut(&source)?;
        mapping.last_used = now;
        if mapping.peers.len() < PEERS_MAX {
            mapping.peers.insert(destination);
        }
        Some(SocketAddr::new(self.public, mapping.port))
    }

    fn add_mapping(&mut self, now: Time, source: SocketAddr) -> Option<()> {
        if self.mappings.len() >= MAPPINGS_MAX {
            let known: Vec<_> = self.mappings.keys().copied().collect();
            known.into_iter().for_each(|known| self.forget_if_idle(now, known));
        }
        if self.mappings.len() >= MAPPINGS_MAX {
            return None;
        }
        while self.owners.contains_key(&self.next_port) {
            self.next_port = after(self.next_port);
        }
        let port = self.next_port;
        self.next_port = after(port);
        self.owners.insert(port, source);
        self.mappings.insert(source, Mapping { port, last_used: now, peers: BTreeSet::new() });
        Some(())
    }

    /// The host that a packet from `peer` to one of our ports is for, if it may pass.
    fn owner(&mut self, now: Time, peer: SocketAddr, public: SocketAddr) -> Option<SocketAddr> {
        if public.ip() != self.public {
            return None;
        }
        let owner = *self.owners.get(&public.port())?;
        self.forget_if_idle(now, owner);
        let mapping = self.mappings.get(&owner)?;
        let is_let_in = match self.config.filtering {
            Filtering::EndpointIndependent => true,
            Filtering::AddressDependent => mapping.peers.iter().any(|to| to.ip() == peer.ip()),
            Filtering::AddressAndPortDependent => mapping.peers.contains(&peer),
        };
        is_let_in.then_some(owner)
    }

    fn forget_if_idle(&mut self, now: Time, source: SocketAddr) {
        let Some(mapping) = self.mappings.get(&source) else { return };
        if now - mapping.last_used > self.config.timeout {
            self.owners.remove(&mapping.port);
            self.mappings.remove(&source);
        }
    }
}

const fn after(port: u16) -> u16 {
    if port == u16::MAX { PORT_MIN } else { port + 1 }
}

impl Element for Nat {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        match self.translate(now, &packet) {
            Some(translated) => self.ready.push_back(translated),
            None => self.dropped.push_back(packet),
        }
    }

    fn poll_packet(&mut self, _now: Time) -> Option<Packet> {
        self.ready.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.ready.is_empty()).then_some(Time::ZERO)
    }

    fn poll_dropped(&mut self) -> Option<(DropCause, Packet)> {
        Some((DropCause::Nat, self.dropped.pop_front()?))
    }
}
