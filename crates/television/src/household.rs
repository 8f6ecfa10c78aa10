//! [`household`] and [`Households`]: viewers that share an address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::server::ViewerId;

/// The part of an IPv6 address that names a network, which is what a home has.
const NETWORK_MASK: u128 = u128::MAX << 64;

/// What is limited together: an IPv4 address, or the network of an IPv6 address.
#[must_use]
pub fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK_MASK))
        }
        address @ (IpAddr::V4(_) | IpAddr::V6(_)) => address,
    }
}

/// Counts the viewers of each household. Viewers on the server's own machine are of none.
#[derive(Debug, Default)]
pub(crate) struct Households {
    viewers: BTreeMap<ViewerId, IpAddr>,
    counts: BTreeMap<IpAddr, usize>,
}

impl Households {
    /// How many viewers there are where this address is.
    pub(crate) fn count(&self, address: IpAddr) -> usize {
        self.counts.get(&household(address)).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, viewer: ViewerId, address: IpAddr) {
        let household = household(address);
        if !household.is_loopback() {
            self.viewers.insert(viewer, household);
            *self.counts.entry(household).or_insert(0) += 1;
        }
    }

    pub(crate) fn remove(&mut self, viewer: ViewerId) {
        let Some(household) = self.viewers.remove(&viewer) else { return };
        if let Some(count) = self.counts.get_mut(&household) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&household);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_household_is_an_address_or_a_network_of_ipv6() {
        let household = |text: &str| household(text.parse().unwrap()).to_string();
        assert_eq!(household("192.0.2.7"), "192.0.2.7");
        assert_eq!(household("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(household("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(household("::1"), "::1");
    }

    #[test]
    fn viewers_are_counted_where_they_are_and_not_on_this_machine() {
        let mut households = Households::default();
        let address = |text: &str| text.parse().unwrap();
        let viewers = [1, 2, 3].map(ViewerId::of);
        households.add(viewers[0], address("2001:db8::1"));
        households.add(viewers[1], address("2001:db8::2"));
        households.add(viewers[2], address("127.0.0.1"));
        assert_eq!(households.count(address("2001:db8::3")), 2);
        assert_eq!(households.count(address("2001:db8:0:1::1")), 0);
        assert_eq!(households.count(address("127.0.0.1")), 0);
        viewers.into_iter().for_each(|viewer| households.remove(viewer));
        assert_eq!(households.counts.len() + households.viewers.len(), 0);
    }
}
