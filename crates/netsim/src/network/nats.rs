//! NATs in a network: what is routed through them.

use std::net::IpAddr;

use super::{AnyElement, Duplex, Network, RouteError};
use crate::{ElementId, Nat, NatConfig};

/// A NAT of a network; it is an element too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NatId(usize);

impl From<NatId> for ElementId {
    fn from(nat: NatId) -> Self {
        Self(nat.0)
    }
}

/// What a NAT's packets pass on one side of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NatSide {
    /// On the way out, in this order.
    pub out: Vec<ElementId>,
    /// On the way in, in this order.
    pub back: Vec<ElementId>,
}

impl From<Duplex> for NatSide {
    fn from(links: Duplex) -> Self {
        Self { out: vec![links.forward.into()], back: vec![links.backward.into()] }
    }
}

/// Where a NAT stands.
#[derive(Debug)]
pub(super) struct NatPlace {
    name: String,
    nat: NatId,
    /// The host behind it and the one that it calls.
    ends: (IpAddr, IpAddr),
    outside: NatSide,
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
        self.add_nat_between(name, (near, far), (NatSide::default(), links.into()), public, config)
    }

    /// The same with links on both sides: those of `inside` lie between `near` and the NAT.
    ///
    /// # Errors
    /// The addresses are of two families, or an element comes twice in a row of links.
    pub fn add_nat_between(
        &mut self,
        name: &str,
        (near, far): (IpAddr, IpAddr),
        (inside, outside): (NatSide, NatSide),
        public: IpAddr,
        config: NatConfig,
    ) -> Result<NatId, RouteError> {
        RouteError::check_families(near, far)?;
        RouteError::check_families(near, public)?;
        let nat = Nat::new(config, public, vec![near], self.rng.fork());
        let nat = NatId(self.add_node(name.to_owned(), AnyElement::Nat(Box::new(nat))).0);
        self.add_route(near, far, inside.out.into_iter().chain([ElementId::from(nat)]))?;
        // What the NAT let in goes on; what aims past it does not.
        self.add_route(far, near, [ElementId::from(nat)].into_iter().chain(inside.back))?;
        self.nats.push(NatPlace { name: name.to_owned(), nat, ends: (near, far), outside });
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
        let (NatSide { out, back }, (_, far)) = (place.outside.clone(), place.ends);
        self.add_route(public, far, out)?;
        self.add_route(far, public, back.into_iter().chain([ElementId::from(nat)]))
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
