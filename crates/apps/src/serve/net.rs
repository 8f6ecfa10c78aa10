//! Where a server is found: sockets, and the addresses that viewers are told.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use anabranch_driver::{BindError, SocketSet, SpawnError, interface_addresses};
use anabranch_rtc::CertificateError;
use thiserror::Error;
use tokio::net::TcpListener;

use super::access::KeyError;
use super::listen::TlsError;
use crate::net::{NetError, is_link_local};
use crate::service::SecurityError;

/// The ports if none is asked for.
pub(super) const HTTP_PORT: u16 = 8_080;
pub(super) const UDP_PORT: u16 = 9_000;

/// Candidates that a browser is told at most: it checks each.
const CANDIDATES_MAX: usize = 8;

/// Where viewers find the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advertised {
    ip: IpAddr,
    /// That of the UDP socket, if none is given.
    port: Option<u16>,
}

/// Why a server cannot begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// No such address.
    #[error(
        "\"{text}\" is no address to serve at: give 127.0.0.1:{usual}, :{usual} for all \
         addresses, or {usual}"
    )]
    Address {
        /// What was given.
        text: String,
        /// The usual port.
        usual: u16,
    },
    /// No such address.
    #[error("\"{text}\" is no address to advertise: give one, as in 192.0.2.1 or 192.0.2.1:9000")]
    Advertised {
        /// What was given.
        text: String,
    },
    /// The UDP port cannot be had.
    #[error("viewers cannot be served: {source}; --udp takes the port")]
    Udp {
        /// Why.
        source: BindError,
    },
    /// The HTTP or HTTPS port is somebody else's.
    #[error(
        "the page cannot be served at {addr}: another program has the port; end it, or give \
         another port with {option}, 0 for any free one"
    )]
    HttpInUse {
        /// Where.
        addr: SocketAddr,
        /// What asks for it.
        option: &'static str,
    },
    /// The HTTP or HTTPS port cannot be had.
    #[error("the page cannot be served at {addr}: {source}; give another address with {option}")]
    Http {
        /// Where.
        addr: SocketAddr,
        /// What asks for it.
        option: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The system refuses.
    #[error("the system refuses: {0}")]
    System(io::Error),
    /// Our own key.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The system has no randomness.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The key for tokens.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No certificate for HTTPS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A certificate without its key, or without HTTPS.
    #[error(
        "HTTPS with a certificate of your own needs three: https, tls_certificate and tls_key \
         (--https, --tls-certificate, --tls-key)"
    )]
    HalfTls,
    /// A certificate for native viewers without its key, or a key without its certificate.
    #[error("certificate and certificate_key go together: give both files, or none")]
    HalfCertificate,
    /// Who nobody can prove to be.
    #[error(
        "allow, ca and certificate have no effect with encryption off: leave them out, or \
         encryption on"
    )]
    CredentialsInTheOpen,
    /// No certificate for browsers.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The system refuses.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl FromStr for Advertised {
    type Err = ServeError;

    fn from_str(text: &str) -> Result<Self, ServeError> {
        if let Ok(addr) = text.parse::<SocketAddr>() {
            return Ok(Self { ip: addr.ip(), port: Some(addr.port()) });
        }
        let ip = text.trim_start_matches('[').trim_end_matches(']').parse();
        let ip = ip.map_err(|_| ServeError::Advertised { text: text.to_owned() })?;
        Ok(Self { ip, port: None })
    }
}

/// Binds one port of both families, or the address that is asked for.
pub(super) fn bind_udp(
    asked: Option<SocketAddr>,
) -> Result<(SocketSet, Vec<SocketAddr>), ServeError> {
    let wanted = asked.unwrap_or_else(|| (Ipv6Addr::UNSPECIFIED, UDP_PORT).into());
    bind_both(wanted).map_err(|source| ServeError::Udp { source })
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

pub(super) async fn bind_http(asked: Option<SocketAddr>) -> Result<TcpListener, ServeError> {
    bind_page(asked.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, HTTP_PORT).into()), "--http").await
}

pub(super) async fn bind_https(addr: SocketAddr) -> Result<TcpListener, ServeError> {
    bind_page(addr, "--https").await
}

async fn bind_page(addr: SocketAddr, option: &'static str) -> Result<TcpListener, ServeError> {
    TcpListener::bind(addr).await.map_err(|source| {
        if source.kind() == io::ErrorKind::AddrInUse {
            return ServeError::HttpInUse { addr, option };
        }
        ServeError::Http { addr, option, source }
    })
}

/// What a certificate of our own is good for: the names, and all addresses of this machine.
pub(super) fn certificate_names(names: &[String]) -> Vec<String> {
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

/// Where viewers find the sockets, the best first: what is advertised, then all addresses of this
/// machine, its own loopback last.
pub(super) fn candidates(
    bound: &[SocketAddr],
    advertised: Option<Advertised>,
) -> Result<Vec<SocketAddr>, ServeError> {
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
        let all = interface_addresses().map_err(ServeError::System)?;
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
