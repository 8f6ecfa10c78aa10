//! Where a server is found: sockets, and the addresses that its guests are told.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use anabranch_driver::{BindError, SocketSet, interface_addresses};
use tokio::net::TcpListener;

use super::error::SiteError;
use crate::net::is_link_local;

/// The ports if none is asked for.
pub(crate) const HTTP_PORT: u16 = 8_080;
pub(crate) const UDP_PORT: u16 = 9_000;

/// Candidates that a browser is told at most: it checks each.
const CANDIDATES_MAX: usize = 8;

/// Where those who are served find the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advertised {
    ip: IpAddr,
    /// That of the UDP socket, if none is given.
    port: Option<u16>,
}

impl FromStr for Advertised {
    type Err = SiteError;

    fn from_str(text: &str) -> Result<Self, SiteError> {
        if let Ok(addr) = text.parse::<SocketAddr>() {
            return Ok(Self { ip: addr.ip(), port: Some(addr.port()) });
        }
        let ip = text.trim_start_matches('[').trim_end_matches(']').parse();
        let ip = ip.map_err(|_| SiteError::Advertised { text: text.to_owned() })?;
        Ok(Self { ip, port: None })
    }
}

/// Binds one port of both families, or the address that is asked for.
pub(crate) fn bind_udp(
    asked: Option<SocketAddr>,
) -> Result<(SocketSet, Vec<SocketAddr>), SiteError> {
    let wanted = asked.unwrap_or_else(|| (Ipv6Addr::UNSPECIFIED, UDP_PORT).into());
    bind_both(wanted).map_err(|source| SiteError::Udp { source })
}

/// `[::]` means all addresses, those of IPv4 included.
fn bind_both(wanted: SocketAddr) -> Result<(SocketSet, Vec<SocketAddr>), BindError> {
    let mut sockets = SocketSet::new();
    if wanted.ip() != IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        let bound = sockets.bind(wanted)?;
        return Ok((sockets, vec![bound]));
    }
    let v4 = sockets.bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, wanted.port())))?;
    let mut bound = vec![v4];
    match sockets.bind(SocketAddr::new(wanted.ip(), v4.port())) {
        Ok(v6) => bound.push(v6),
        Err(BindError::NoFamily { .. }) => tracing::info!("this machine has no IPv6"),
        Err(error) => return Err(error),
    }
    Ok((sockets, bound))
}

pub(crate) async fn bind_http(asked: Option<SocketAddr>) -> Result<TcpListener, SiteError> {
    bind_page(asked.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, HTTP_PORT).into()), "--http").await
}

pub(crate) async fn bind_https(addr: SocketAddr) -> Result<TcpListener, SiteError> {
    bind_page(addr, "--https").await
}

async fn bind_page(addr: SocketAddr, option: &'static str) -> Result<TcpListener, SiteError> {
    TcpListener::bind(addr).await.map_err(|source| {
        if source.kind() == io::ErrorKind::AddrInUse {
            return SiteError::HttpInUse { addr, option };
        }
        SiteError::Http { addr, option, source }
    })
}

/// What a certificate of our own is good for: the names, and all addresses of this machine.
pub(crate) fn certificate_names(names: &[String]) -> Vec<String> {
    let addresses = interface_addresses().unwrap_or_default();
    let addresses = addresses.iter().filter(|held| !is_link_local(held.ip));
    let mut all: Vec<_> = std::iter::once("localhost".to_owned())
        .chain(names.iter().cloned())
        .chain(addresses.map(|held| held.ip.to_string()))
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Where those who are served find the sockets, the best first: what is advertised, then all
/// addresses of this machine, its own loopback last.
pub(crate) fn candidates(
    bound: &[SocketAddr],
    advertised: Option<Advertised>,
) -> Result<Vec<SocketAddr>, SiteError> {
    let mut found: Vec<SocketAddr> = Vec::new();
    if let Some(Advertised { ip, port }) = advertised {
        let own = bound.first().map_or(UDP_PORT, SocketAddr::port);
        found.push(SocketAddr::new(ip, port.unwrap_or(own)));
    }
    let mut own = Vec::new();
    for socket in bound {
        if !socket.ip().is_unspecified() {
            own.push(*socket);
            continue;
        }
        let all = interface_addresses().map_err(SiteError::System)?;
        let ips = all.iter().map(|held| held.ip);
        let fits = |ip: &IpAddr| ip.is_ipv4() == socket.is_ipv4() && !is_link_local(*ip);
        own.extend(ips.filter(fits).map(|ip| SocketAddr::new(ip, socket.port())));
    }
    own.sort_by_key(|addr| addr.ip().is_loopback());
    found.extend(own);
    found.truncate(CANDIDATES_MAX);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_advertised_comes_first_with_our_port_unless_it_has_its_own() {
        let bound = ["127.0.0.1:7000".parse().unwrap()];
        let first = |text: &str| candidates(&bound, Some(text.parse().unwrap())).unwrap()[0];
        assert_eq!(first("192.0.2.1"), "192.0.2.1:7000".parse().unwrap());
        assert_eq!(first("192.0.2.1:9"), "192.0.2.1:9".parse().unwrap());
        assert_eq!(first("[2001:db8::1]"), "[2001:db8::1]:7000".parse().unwrap());
        let error = "example.org".parse::<Advertised>().unwrap_err().to_string();
        assert!(error.contains("give one, as in 192.0.2.1"), "{error}");
    }

    #[test]
    fn all_addresses_of_this_machine_are_told_and_loopback_last() {
        let found = candidates(&["0.0.0.0:7000".parse().unwrap()], None).unwrap();
        assert!(found.iter().all(|addr| addr.is_ipv4() && addr.port() == 7000), "{found:?}");
        assert!(found.is_sorted_by_key(|addr| addr.ip().is_loopback()), "{found:?}");
    }
}
