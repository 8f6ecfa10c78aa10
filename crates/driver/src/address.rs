//! Addresses in the one form that paths are compared in, and what this machine has of them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use socket2::{Domain, Protocol, Socket, Type};

/// The form in which addresses are compared: an IPv4 address mapped into IPv6 is the IPv4 address,
/// and IPv6 flow labels are left out, because they are no part of an endpoint's identity.
#[must_use]
pub fn canonical(addr: SocketAddr) -> SocketAddr {
    let SocketAddr::V6(v6) = addr else { return addr };
    match v6.ip().to_ipv4_mapped() {
        Some(v4) => SocketAddr::from((v4, v6.port())),
        None => SocketAddrV6::new(*v6.ip(), v6.port(), 0, v6.scope_id()).into(),
    }
}

/// The local address that a socket bound to `bound` uses towards `remote`.
///
/// A path names a real local address. A caller on a wildcard socket learns it here, from the
/// routing table; no packet is sent.
///
/// # Errors
/// The system has no route to `remote`, or `bound` and `remote` are of different families.
pub fn local_towards(bound: SocketAddr, remote: SocketAddr) -> io::Result<SocketAddr> {
    let (bound, remote) = (canonical(bound), canonical(remote));
    if bound.is_ipv4() != remote.is_ipv4() {
        let text = format!("{bound} cannot reach {remote}: one is IPv4, the other IPv6");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    if !bound.ip().is_unspecified() {
        return Ok(bound);
    }
    let probe = Socket::new(Domain::for_address(remote), Type::DGRAM, Some(Protocol::UDP))?;
    probe.connect(&remote.into())?;
    let Some(mut local) = probe.local_addr()?.as_socket() else {
        return Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
    };
    local.set_port(bound.port());
    Ok(canonical(local))
}

/// An address of this machine and the interface that holds it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceAddress {
    /// The interface's name, as `ip link` shows it.
    pub interface: String,
    /// The address.
    pub ip: IpAddr,
    /// The scope id that an IPv6 link-local address needs; zero for all others.
    pub scope_id: u32,
}

impl InterfaceAddress {
    /// The socket address of a port at this address.
    #[must_use]
    pub fn with_port(&self, port: u16) -> SocketAddr {
        match self.ip {
            IpAddr::V4(ip) => SocketAddr::from((ip, port)),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, self.scope_id).into(),
        }
    }
}

/// The addresses of this machine's interfaces, in the order of their names.
///
/// # Errors
/// The system does not tell.
pub fn interface_addresses() -> io::Result<Vec<InterfaceAddress>> {
    let mut found: Vec<_> = if_addrs::get_if_addrs()?
        .into_iter()
        .map(|entry| {
            let ip = entry.ip();
            let scope_id = if is_link_local(ip) { entry.index.unwrap_or(0) } else { 0 };
            InterfaceAddress { interface: entry.name, ip, scope_id }
        })
        .collect();
    found.sort();
    Ok(found)
}

/// Only IPv6 link-local addresses need a scope to be complete.
pub(crate) fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

/// The wildcard address of the same family and port.
pub(crate) fn wildcard_like(addr: SocketAddr) -> SocketAddr {
    match addr {
        SocketAddr::V4(v4) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, v4.port())),
        SocketAddr::V6(v6) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, v6.port())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_address() {
        assert_eq!(canonical(addr("[::ffff:192.0.2.1]:9")), addr("192.0.2.1:9"));
        assert_eq!(canonical(addr("[2001:db8::1]:9")), addr("[2001:db8::1]:9"));
    }

    #[test]
    fn a_flow_label_is_no_part_of_an_address() {
        let labelled = SocketAddrV6::new("fe80::1".parse().unwrap(), 9, 77, 2);
        assert_eq!(canonical(labelled.into()), addr("[fe80::1%2]:9"));
    }

    #[test]
    fn a_wildcard_becomes_the_address_that_the_routes_choose() {
        let local = local_towards(addr("0.0.0.0:5000"), addr("127.0.0.1:9")).unwrap();
        assert_eq!(local, addr("127.0.0.1:5000"));
        let bound = addr("127.0.0.3:5000");
        assert_eq!(local_towards(bound, addr("127.0.0.1:9")).unwrap(), bound);
        assert!(local_towards(bound, addr("[::1]:9")).is_err());
    }

    #[test]
    fn the_loopback_interface_is_listed() {
        let found = interface_addresses().unwrap();
        let lo = found.iter().find(|at| at.ip == IpAddr::from([127, 0, 0, 1])).unwrap();
        assert_eq!(lo.with_port(7), addr("127.0.0.1:7"));
    }
}
