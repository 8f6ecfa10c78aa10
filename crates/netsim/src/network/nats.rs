//! NATs in a network: what is routed through them.

use std::net::IpAddr;

use super::{AnyElement, Duplex, ElementId, Network, RouteError};
use crate::{Nat, NatConfig};

/// A NAT of a network; it is an element too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NatId(usize);

impl From<NatId> for ElementId {
    fn from(nat: NatId) -> Self {
        Self(nat.0)
    }
}

/// Where a NAT stands.
#[derive(Debug)]
pub(super) struct NatPlace {
    name: String,
    nat: NatId,
    /// The host behind it and the one that it calls.
    ends: (IpAddr, IpAddr),
    links: Duplex,
}

impl Network {
    /// Puts a NAT with a public address between `near` and the links that lead to `far`, in place
    /// of the routes that joined them.
    ///
    /// # Errors
    /// The addresses are of two families.
    pub fn add_nat(
        &mut self,
        name: &str,
        (near, far): (IpAddr, IpAddr),
        links: Duplex,
        public: IpAddr,
        config: NatConfig,
    ) -> Result<NatId, RouteError> {
        RouteError::check_families(near, far)?;
        RouteError::check_families(near, public)?;
        let nat = Nat::new(config, public, vec![near], self.rng.fork());
        let nat = NatId(self.add_node(name.to_owned(), AnyElement::Nat(Box::new(nat))).0);
        self.add_route(near, far, [nat.into()])?;
        // What the NAT let in has arrived; what aims past it has not.
        self.add_route(far, near, [nat.into()])?;
        self.nats.push(NatPlace { name: name.to_owned(), nat, ends: (near, far), links });
        self.route_public(nat, public)?;
        Ok(nat)
    }

    /// The NAT that [`add_nat`](Self::add_nat) added under this name; the first of several.
    #[must_use]
    pub fn nat(&self, name: &str) -> Option<NatId> {
        self.nats.iter().find(|place| place.name == name).map(|place| place.nat)
    }

    /// The public address of a NAT.
    ///
    /// # Panics
    /// If the NAT is another network's.
    #[must_use]
    pub fn public_address(&self, nat: NatId) -> IpAddr {
        match &self.nodes[nat.0].element {
            AnyElement::Nat(nat) => nat.public(),
            AnyElement::Link(_)
            | AnyElement::Cell(_)
            | AnyElement::Member(..)
            | AnyElement::Other(_) => panic!("{} is not our NAT", nat.0),
        }
    }

    /// Has a NAT forget all its mappings: see [`Nat::rebind`].
    ///
    /// # Panics
    /// If the NAT is another network's.
    pub fn rebind(&mut self, nat: NatId) {
        self.nat_mut(nat).rebind();
    }

    /// Gives a NAT another address and leads what is for it there: see [`Nat::renumber`].
    ///
    /// # Errors
    /// The address is of another family than those that the NAT stands between.
    ///
    /// # Panics
    /// If the NAT is another network's.
    pub fn renumber(&mut self, nat: NatId, public: IpAddr) -> Result<(), RouteError> {
        self.route_public(nat, public)?;
        self.nat_mut(nat).renumber(public);
        Ok(())
    }

    fn route_public(&mut self, nat: NatId, public: IpAddr) -> Result<(), RouteError> {
        let Some(place) = self.nats.iter().find(|place| place.nat == nat) else { return Ok(()) };
        let (NatPlace { links, .. }, (_, far)) = (place, place.ends);
        let (forward, backward) = (links.forward, links.backward);
        self.add_route(public, far, [forward.into()])?;
        self.add_route(far, public, [backward.into(), nat.into()])
    }

    fn nat_mut(&mut self, id: NatId) -> &mut Nat {
        match &mut self.nodes[id.0].element {
            AnyElement::Nat(nat) => nat,
            AnyElement::Link(_)
            | AnyElement::Cell(_)
            | AnyElement::Member(..)
            | AnyElement::Other(_) => panic!("{} is not our NAT", id.0),
        }
    }
}
