//! Which addresses lead to this machine, and from where.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anabranch_driver::interface_addresses;

/// Where another machine finds what is bound: the first address of this one that is not its own
/// loopback.
pub(crate) fn from_elsewhere(bound: SocketAddr) -> SocketAddr {
    if !bound.ip().is_unspecified() {
        return bound;
    }
    // Without interfaces there is no elsewhere.
    let all = interface_addresses().unwrap_or_default();
    let mut ips = all.iter().map(|held| held.ip);
    let fits = |ip: &IpAddr| ip.is_ipv4() && !ip.is_loopback() && !is_link_local(*ip);
    ips.find(fits).map_or(reachable(bound), |ip| SocketAddr::new(ip, bound.port()))
}

/// Such an address says nothing without its interface.
pub(crate) const fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// An address that a browser on this machine can open.
pub(crate) const fn reachable(bound: SocketAddr) -> SocketAddr {
    match bound {
        SocketAddr::V4(addr) if addr.ip().is_unspecified() => {
            SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), addr.port())
        }
        SocketAddr::V6(addr) if addr.ip().is_unspecified() => {
            SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), addr.port())
        }
        SocketAddr::V4(_) | SocketAddr::V6(_) => bound,
    }
}
