//! [`NetError`]: why there are no sockets or paths.

use std::io;
use std::net::{IpAddr, SocketAddr};

use anabranch_driver::BindError;
use thiserror::Error;

/// Why there are no sockets or paths.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetError {
    /// Nobody knows the name.
    #[error("the host {host} is not known ({message}): check the name, or give an address")]
    UnknownHost {
        /// The name.
        host: String,
        /// The system's words.
        message: String,
    },
    /// A local address that reaches none of the remote ones.
    #[error(
        "path={path} is {}, but {} is not: give paths of one family with the host, or the host's \
         address of the other one by peer=", family(.path), list(.remotes)
    )]
    WrongFamily {
        /// The local address.
        path: IpAddr,
        /// The remote ones.
        remotes: Vec<SocketAddr>,
    },
    /// The routing table has no way there.
    #[error("there is no route to {}: is the network up?", list(.remotes))]
    NoRoute {
        /// The remote addresses.
        remotes: Vec<SocketAddr>,
    },
    /// An address cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system forbids tying sockets to interfaces.
    #[error(
        "no permission to tie sockets to interfaces, which Linux before 5.7 gives with \
         CAP_NET_RAW only: run with it, or name the addresses by path="
    )]
    InterfacesNotPermitted,
    /// The system has no randomness to offer.
    #[error("the system gives no random numbers: {message}")]
    NoRandomness {
        /// The system's words.
        message: String,
    },
    /// Anything else.
    #[error("the network cannot be used: {0}")]
    System(#[from] io::Error),
}

const fn family(ip: &IpAddr) -> &'static str {
    if ip.is_ipv4() { "IPv4" } else { "IPv6" }
}

fn list(addrs: &[SocketAddr]) -> String {
    addrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
