//! [`address_group`] and [`AddressGroups`]: viewers that share an address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::server::ViewerId;

/// The part of an IPv6 address that names a network, which is what a home has.
const NETWORK_MASK: u128 = u128::MAX << 64;

/// What is limited together: an IPv4 address, or the network of an IPv6 address.
#[must_use]
pub fn address_group(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK_MASK))
        }
        address @ (IpAddr::V4(_) | IpAddr::V6(_)) => address,
    }
}

/// Counts the viewers of each group. Viewers on the server's own machine are in none.
#[derive(Debug, Default)]
pub(crate) struct AddressGroups {
    viewers: BTreeMap<ViewerId, IpAddr>,
    counts: BTreeMap<IpAddr, usize>,
}

impl AddressGroups {
    /// How many viewers there are where this address is.
    pub(crate) fn count(&self, address: IpAddr) -> usize {
        self.counts.get(&address_group(address)).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, viewer: ViewerId, address: IpAddr) {
        let address_group = address_group(address);
        if !address_group.is_loopback() {
            self.viewers.insert(viewer, address_group);
            *self.counts.entry(address_group).or_insert(0) += 1;
        }
    }

    pub(crate) fn remove(&mut self, viewer: ViewerId) {
        let Some(address_group) = self.viewers.remove(&viewer) else { return };
        if let Some(count) = self.counts.get_mut(&address_group) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&address_group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_group_is_an_address_or_a_network_of_ipv6() {
        let address_group = |text: &str| address_group(text.parse().unwrap()).to_string();
        assert_eq!(address_group("192.0.2.7"), "192.0.2.7");
        assert_eq!(address_group("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(address_group("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(address_group("::1"), "::1");
    }

    #[test]
    fn viewers_are_counted_where_they_are_and_not_on_this_machine() {
        let mut address_groups = AddressGroups::default();
        let address = |text: &str| text.parse().unwrap();
        let viewers = [1, 2, 3].map(ViewerId::of);
        address_groups.add(viewers[0], address("2001:db8::1"));
        address_groups.add(viewers[1], address("2001:db8::2"));
        address_groups.add(viewers[2], address("127.0.0.1"));
        assert_eq!(address_groups.count(address("2001:db8::3")), 2);
        assert_eq!(address_groups.count(address("2001:db8:0:1::1")), 0);
        assert_eq!(address_groups.count(address("127.0.0.1")), 0);
        viewers.into_iter().for_each(|viewer| address_groups.remove(viewer));
        assert_eq!(address_groups.counts.len() + address_groups.viewers.len(), 0);
    }
}
