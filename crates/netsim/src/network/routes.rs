//! [`Routes`]: which elements a packet passes.

use std::net::IpAddr;

use anabranch_sansio::FourTuple;
use thiserror::Error;

use crate::ElementId;

/// Which elements a packet passes, by its two addresses. Sorted, so that looking up is a search in
/// one piece of memory.
#[derive(Debug, Default)]
pub(super) struct Routes(Vec<Route>);

#[derive(Debug)]
struct Route {
    /// The [`rank`]s of source and destination.
    between: (Rank, Rank),
    chain: Vec<ElementId>,
}

impl Routes {
    pub(super) fn add(
        &mut self,
        source: IpAddr,
        destination: IpAddr,
        chain: Vec<ElementId>,
    ) -> Result<(), RouteError> {
        RouteError::check_families(source, destination)?;
        let is_repeated = |i: usize| chain.get(..i).is_some_and(|head| head.contains(&chain[i]));
        if (0..chain.len()).any(is_repeated) {
            return Err(RouteError::Loop { source_address: source, destination });
        }
        let route = Route { between: (rank(source), rank(destination)), chain };
        match self.find(source, destination) {
            Ok(place) => self.0[place] = route,
            Err(place) => self.0.insert(place, route),
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, source: IpAddr, destination: IpAddr) {
        if let Ok(place) = self.find(source, destination) {
            self.0.remove(place);
        }
    }

    pub(super) fn chain(&self, path: &FourTuple) -> Option<&[ElementId]> {
        let place = self.find(path.local.ip(), path.remote.ip()).ok()?;
        self.0.get(place).map(|route| route.chain.as_slice())
    }

    fn find(&self, source: IpAddr, destination: IpAddr) -> Result<usize, usize> {
        self.0.binary_search_by_key(&(rank(source), rank(destination)), |route| route.between)
    }
}

/// See [`rank`].
pub(crate) type Rank = (bool, u128);

/// Orders addresses as [`IpAddr`] does, by a comparison of numbers: all packets are looked up.
pub(crate) const fn rank(address: IpAddr) -> Rank {
    match address {
        IpAddr::V4(address) => (false, address.to_bits() as u128),
        IpAddr::V6(address) => (true, address.to_bits()),
    }
}

/// A route that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RouteError {
    /// One address is IPv4 and the other IPv6.
    #[error("no route joins {near} and {far}: both must be IPv4, or both IPv6")]
    Families {
        /// One address.
        near: IpAddr,
        /// The other.
        far: IpAddr,
    },
    /// An element comes twice in one chain.
    #[error(
        "the route from {source_address} to {destination} passes an element twice: \
         each may come once, add another of its kind"
    )]
    Loop {
        /// Where the route begins.
        source_address: IpAddr,
        /// Where it ends.
        destination: IpAddr,
    },
}

impl RouteError {
    pub(super) fn check_families(near: IpAddr, far: IpAddr) -> Result<(), Self> {
        if near.is_ipv4() == far.is_ipv4() { Ok(()) } else { Err(Self::Families { near, far }) }
    }
}
