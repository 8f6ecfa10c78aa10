//! [`Callers`]: agents that are connected, and have not said where they want to be.
//!
//! There are so many at most, and fewer from one place: beyond that the newest takes the room of
//! the oldest, which has had the longest to say something. Who floods is in nobody's way but its
//! own.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use anabranch_sansio::Time;
use anabranch_transport::ConnectionId;

/// All of them.
const CALLERS_MAX: usize = 64;

/// Those from one place.
const CALLERS_PER_PLACE_MAX: usize = 16;

/// Where somebody calls from. RFC 4291 section 2.5.1: below the first 64 bits of an address of
/// IPv6 whoever has the network chooses as they like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(IpAddr);

#[derive(Debug)]
struct Caller {
    place: Place,
    /// When it must have said where it wants to be.
    until: Time,
    /// Who came before has a lower one.
    turn: u64,
}

/// Agents that have not said where they want to be.
#[derive(Debug, Default)]
pub(super) struct Callers {
    callers: BTreeMap<ConnectionId, Caller>,
    turns: u64,
}

impl Callers {
    /// One more, from this address; returns who has to go for it.
    pub(super) fn add(
        &mut self,
        id: ConnectionId,
        address: IpAddr,
        until: Time,
    ) -> Option<ConnectionId> {
        let place = Place::of(address);
        let leaves = if self.from(place) >= CALLERS_PER_PLACE_MAX {
            self.oldest(|caller| caller.place == place)
        } else if self.callers.len() >= CALLERS_MAX {
            // Whoever waits where most do: one that comes from elsewhere is spared.
            let most = self.callers.values().map(|caller| self.from(caller.place)).max();
            self.oldest(|caller| Some(self.from(caller.place)) == most)
        } else {
            None
        };
        if let Some(leaves) = leaves {
            self.callers.remove(&leaves);
        }
        self.turns += 1;
        self.callers.insert(id, Caller { place, until, turn: self.turns });
        leaves
    }

    /// One said something, or is gone; false if it was none of these.
    pub(super) fn remove(&mut self, id: ConnectionId) -> bool {
        self.callers.remove(&id).is_some()
    }

    /// Those that took too long.
    pub(super) fn due(&self, now: Time) -> impl Iterator<Item = ConnectionId> {
        self.callers.iter().filter(move |(_, caller)| caller.until <= now).map(|(id, _)| *id)
    }

    /// When the next one will have taken too long.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.callers.values().map(|caller| caller.until).min()
    }

    fn from(&self, place: Place) -> usize {
        self.callers.values().filter(|caller| caller.place == place).count()
    }

    fn oldest(&self, is_meant: impl Fn(&Caller) -> bool) -> Option<ConnectionId> {
        let meant = self.callers.iter().filter(|(_, caller)| is_meant(caller));
        meant.min_by_key(|(_, caller)| caller.turn).map(|(id, _)| *id)
    }
}

impl Place {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                Self(Ipv6Addr::from_bits(network).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTIL: Time = Time::from_secs(6);

    fn address(network: u16, host: u16) -> IpAddr {
        Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, host).into()
    }

    #[test]
    fn who_floods_from_one_network_is_in_its_own_way_alone() {
        let mut callers = Callers::default();
        assert_eq!(callers.add(ConnectionId(0), address(1, 1), UNTIL), None);
        for id in 1..1_000_u64 {
            let first = u64::try_from(CALLERS_PER_PLACE_MAX).unwrap() + 1;
            let leaves = id.checked_sub(first).map(|oldest| ConnectionId(oldest + 1));
            let host = u16::try_from(id).unwrap();
            assert_eq!(callers.add(ConnectionId(id), address(2, host), UNTIL), leaves);
        }
        assert!(callers.remove(ConnectionId(0)));
        assert!(!callers.remove(ConnectionId(1)));
    }

    #[test]
    fn where_all_is_full_the_oldest_leaves_of_where_most_wait() {
        let mut callers = Callers::default();
        let mut id = 0;
        let mut come = |network: u16| {
            id += 1;
            callers.add(ConnectionId(id), address(network, 1), UNTIL)
        };
        assert_eq!(come(9), None, "the oldest of all, alone where it is");
        for network in [1, 2, 3, 4] {
            for _ in 0..CALLERS_PER_PLACE_MAX - usize::from(network == 4) {
                assert_eq!(come(network), None);
            }
        }
        assert_eq!(come(10), Some(ConnectionId(2)));
        assert_eq!(callers.callers.len(), CALLERS_MAX);
    }
}
