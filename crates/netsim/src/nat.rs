//! [`Nat`]: one public address for several hosts.

mod config;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use anabranch_sansio::{Rng, Time};

pub use config::{Filtering, Mapping, NatConfig};

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
/// As RFC 4787 asks (REQ-1), a host's port has one public port towards everybody, unless
/// [`NatConfig::mapping`] says otherwise. A mapping is kept by what leaves, not by what comes in
/// (REQ-6), for [`NatConfig::timeout`] after the last packet; [`rebind`](Self::rebind) forgets all
/// at once. Only UDP has ports that can be rewritten without a look inside: other packets are
/// dropped, as most NATs do.
#[derive(Debug)]
pub struct Nat {
    config: NatConfig,
    public: IpAddr,
    inside: Vec<IpAddr>,
    bindings: BTreeMap<Inside, Binding>,
    /// Whose a public port is.
    owners: BTreeMap<u16, Inside>,
    next_port: u16,
    ready: VecDeque<Packet>,
    dropped: VecDeque<Packet>,
}

/// A port of a host behind the NAT, and whom it has a public port towards, if not everybody.
type Inside = (SocketAddr, Option<SocketAddr>);

/// A public port, for a port of a host behind the NAT.
#[derive(Debug)]
struct Binding {
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
            bindings: BTreeMap::new(),
            owners: BTreeMap::new(),
            next_port,
            ready: VecDeque::new(),
            dropped: VecDeque::new(),
        }
    }

    /// Forgets all mappings, as after a restart: what leaves gets other ports from now on.
    pub fn rebind(&mut self) {
        self.bindings.clear();
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
        self.bindings.len()
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
        let inside = match self.config.mapping {
            Mapping::EndpointIndependent => (source, None),
            Mapping::AddressAndPortDependent => (source, Some(destination)),
        };
        self.forget_if_idle(now, inside);
        if !self.bindings.contains_key(&inside) {
            self.bind(now, inside)?;
        }
        let binding = self.bindings.get_mut(&inside)?;
        binding.last_used = now;
        if binding.peers.len() < PEERS_MAX {
            binding.peers.insert(destination);
        }
        Some(SocketAddr::new(self.public, binding.port))
    }

    fn bind(&mut self, now: Time, inside: Inside) -> Option<()> {
        if self.bindings.len() >= MAPPINGS_MAX {
            let known: Vec<_> = self.bindings.keys().copied().collect();
            known.into_iter().for_each(|known| self.forget_if_idle(now, known));
        }
        if self.bindings.len() >= MAPPINGS_MAX {
            return None;
        }
        while self.owners.contains_key(&self.next_port) {
            self.next_port = after(self.next_port);
        }
        let port = self.next_port;
        self.next_port = after(port);
        self.owners.insert(port, inside);
        self.bindings.insert(inside, Binding { port, last_used: now, peers: BTreeSet::new() });
        Some(())
    }

    /// The host that a packet from `peer` to one of our ports is for, if it may pass.
    fn owner(&mut self, now: Time, peer: SocketAddr, public: SocketAddr) -> Option<SocketAddr> {
        if public.ip() != self.public {
            return None;
        }
        let owner = *self.owners.get(&public.port())?;
        self.forget_if_idle(now, owner);
        let binding = self.bindings.get(&owner)?;
        let is_let_in = match self.config.filtering {
            Filtering::EndpointIndependent => true,
            Filtering::AddressDependent => binding.peers.iter().any(|to| to.ip() == peer.ip()),
            Filtering::AddressAndPortDependent => binding.peers.contains(&peer),
        };
        is_let_in.then_some(owner.0)
    }

    fn forget_if_idle(&mut self, now: Time, inside: Inside) {
        let Some(binding) = self.bindings.get(&inside) else { return };
        if now - binding.last_used > self.config.timeout {
            self.owners.remove(&binding.port);
            self.bindings.remove(&inside);
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
