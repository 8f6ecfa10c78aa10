//! [`BoundSocket`]: a UDP socket, bound and configured, with errors that say what would be right.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::address::{InterfaceAddress, canonical, interface_addresses};

/// The kernel buffer asked for in each direction: what 200 Mbit/s bring in 80 ms are 2 MB, and the
/// kernel counts about twice a packet's bytes against the buffer.
const KERNEL_BUFFER: usize = 4 << 20;

/// How to bind a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindConfig {
    /// The address. An unspecified one (`0.0.0.0`, `::`) receives on all addresses of its family;
    /// port 0 lets the system choose.
    pub local: SocketAddr,
    /// Sends and receives through this interface only, whatever the routing table says
    /// (SO_BINDTODEVICE). With an unspecified address, the interface's own one is bound.
    pub interface: Option<String>,
    /// Bytes of kernel buffer to ask for, receiving. The kernel may grant less: see
    /// [`SocketInfo::receive_buffer`]. Default: 4 MiB.
    pub receive_buffer: usize,
    /// Bytes of kernel buffer to ask for, sending. Default: 4 MiB.
    pub send_buffer: usize,
}

impl From<SocketAddr> for BindConfig {
    fn from(local: SocketAddr) -> Self {
        Self { local, interface: None, receive_buffer: KERNEL_BUFFER, send_buffer: KERNEL_BUFFER }
    }
}

/// What a socket got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketInfo {
    /// The address, with its real port.
    pub bound: SocketAddr,
    /// The interface it is tied to.
    pub interface: Option<String>,
    /// Bytes of kernel buffer granted, receiving. Linux counts its own bookkeeping in and
    /// therefore grants twice the bytes asked for, up to twice `net.core.rmem_max`.
    pub receive_buffer: usize,
    /// Bytes of kernel buffer granted, sending; as above with `net.core.wmem_max`.
    pub send_buffer: usize,
}

/// Why an address cannot be bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another program has the port.
    #[error(
        "port {} is in use at {}: choose another one, or 0 for any free one, or end the program \
         that holds it", .addr.port(), .addr.ip()
    )]
    PortInUse {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The address belongs to another machine, or to an interface that is down.
    #[error("{} is not an address of this machine; it has {}", .addr.ip(), List(.ours))]
    NotOurs {
        /// The address asked for.
        addr: SocketAddr,
        /// The addresses that could be bound.
        ours: Vec<IpAddr>,
    },
    /// The system forbids it.
    #[error("no permission to bind {addr}: choose a port from 1024 up, or run with more rights")]
    NotPermitted {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The system forbids tying a socket to an interface.
    #[error(
        "no permission to tie a socket to interface {interface}: run with CAP_NET_RAW, or leave \
         the interface out and bind to its address"
    )]
    InterfaceNotPermitted {
        /// The interface asked for.
        interface: String,
    },
    /// There is no such interface, or none with an address.
    #[error("there is no interface {interface} with an address; those that are: {}", List(.ours))]
    UnknownInterface {
        /// The interface asked for.
        interface: String,
        /// The interfaces that have addresses.
        ours: Vec<String>,
    },
    /// The interface has no address of the family, or not this one.
    #[error("interface {interface} does not have {ip}; it has {}", List(.ours))]
    NotOnInterface {
        /// The interface asked for.
        interface: String,
        /// The address asked for.
        ip: IpAddr,
        /// The addresses of the interface.
        ours: Vec<IpAddr>,
    },
    /// The family is switched off in this system.
    #[error("this machine has no {}: use an address of the other family", Family(*.addr))]
    NoFamily {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The driver has a socket at this very address. A path could not tell two of them apart, even
    /// if they are tied to different interfaces.
    #[error("{addr} is bound already: give each socket a port of its own")]
    AlreadyBound {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The driver is full.
    #[error("no more than {limit} sockets: remove one first")]
    TooMany {
        /// The bound.
        limit: usize,
    },
    /// The driver has ended.
    #[error("the driver is closed: bind the socket in a new one")]
    Closed,
    /// Anything else that the system reports.
    #[error("cannot bind {addr}: {message}")]
    Other {
        /// The address asked for.
        addr: SocketAddr,
        /// The system's words.
        message: String,
    },
}

/// How many addresses an error lists.
const LISTED_MAX: usize = 8;

struct List<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (nth, item) in self.0.iter().take(LISTED_MAX).enumerate() {
            write!(f, "{}{item}", if nth == 0 { "" } else { ", " })?;
        }
        match self.0.len().saturating_sub(LISTED_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

struct Family(SocketAddr);

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_ipv4() { "IPv4" } else { "IPv6" })
    }
}

/// A UDP socket that no driver has yet.
#[derive(Debug)]
pub(crate) struct BoundSocket {
    socket: Socket,
    info: SocketInfo,
}

impl BoundSocket {
    pub(crate) fn bind(config: &BindConfig) -> Result<Self, BindError> {
        let addr = bindable(config)?;
        let socket = open(addr)?;
        if let Some(interface) = &config.interface {
            tie_to(&socket, interface, addr)?;
        }
        socket.bind(&addr.into()).map_err(|error| bind_error(addr, &error))?;
        let info = configure(&socket, config).map_err(|error| other(addr, &error))?;
        tracing::debug!(
            bound = %info.bound, interface = info.interface,
            receive_buffer = info.receive_buffer, send_buffer = info.send_buffer,
            "socket bound"
        );
        Ok(Self { socket, info })
    }

    pub(crate) fn info(&self) -> &SocketInfo {
        &self.info
    }

    pub(crate) fn into_parts(self) -> (std::net::UdpSocket, SocketInfo) {
        (self.socket.into(), self.info)
    }
}

/// The address to bind: canonical, and the interface's own one if only the interface is given.
fn bindable(config: &BindConfig) -> Result<SocketAddr, BindError> {
    let addr = canonical(config.local);
    let Some(interface) = &config.interface else { return Ok(addr) };
    let all = interface_addresses().map_err(|error| other(addr, &error))?;
    let here: Vec<&InterfaceAddress> =
        all.iter().filter(|held| held.interface == *interface).collect();
    if here.is_empty() {
        let mut ours: Vec<String> = all.into_iter().map(|held| held.interface).collect();
        ours.dedup();
        return Err(BindError::UnknownInterface { interface: interface.clone(), ours });
    }
    // Any address of 127.0.0.0/8 can be bound, though the interface lists one only.
    if !addr.ip().is_unspecified() && addr.ip().is_loopback() {
        return Ok(addr);
    }
    let wanted = |held: &&&InterfaceAddress| match addr.ip().is_unspecified() {
        true => held.ip.is_ipv4() == addr.is_ipv4(),
        false => held.ip == addr.ip(),
    };
    // A global address before a link-local one: it reaches further.
    let found = here.iter().filter(wanted).min_by_key(|held| held.scope_id);
    let Some(held) = found else {
        let ours = here.iter().map(|held| held.ip).collect();
        let interface = interface.clone();
        return Err(BindError::NotOnInterface { interface, ip: addr.ip(), ours });
    };
    Ok(held.with_port(addr.port()))
}

fn open(addr: SocketAddr) -> Result<Socket, BindError> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))
        .map_err(|error| bind_error(addr, &error))?;
    if addr.is_ipv6() {
        // So that a wildcard of each family can be bound to one port, and no IPv4 address ever
        // shows up in IPv6 clothes.
        socket.set_only_v6(true).map_err(|error| other(addr, &error))?;
    }
    Ok(socket)
}

fn tie_to(socket: &Socket, interface: &str, addr: SocketAddr) -> Result<(), BindError> {
    let Err(error) = socket.bind_device(Some(interface.as_bytes())) else { return Ok(()) };
    match Errno::from_io_error(&error).unwrap_or(Errno::IO) {
        Errno::PERM | Errno::ACCESS => {
            Err(BindError::InterfaceNotPermitted { interface: interface.to_owned() })
        }
        _ => Err(other(addr, &error)),
    }
}

fn configure(socket: &Socket, config: &BindConfig) -> io::Result<SocketInfo> {
    // A refusal is no error: what was granted is reported.
    let _refused = socket.set_recv_buffer_size(config.receive_buffer);
    let _refused = socket.set_send_buffer_size(config.send_buffer);
    let bound = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok(SocketInfo {
        bound: canonical(bound),
        interface: config.interface.clone(),
        receive_buffer: socket.recv_buffer_size()?,
        send_buffer: socket.send_buffer_size()?,
    })
}

fn bind_error(addr: SocketAddr, error: &io::Error) -> BindError {
    match Errno::from_io_error(error).unwrap_or(Errno::IO) {
        Errno::ADDRINUSE => BindError::PortInUse { addr },
        Errno::ADDRNOTAVAIL => BindError::NotOurs { addr, ours: addresses_like(addr) },
        Errno::PERM | Errno::ACCESS => BindError::NotPermitted { addr },
        Errno::AFNOSUPPORT => BindError::NoFamily { addr },
        _ => other(addr, error),
    }
}

/// This machine's addresses of the family of `addr`.
fn addresses_like(addr: SocketAddr) -> Vec<IpAddr> {
    let all = interface_addresses().unwrap_or_default();
    all.into_iter().map(|held| held.ip).filter(|ip| ip.is_ipv4() == addr.is_ipv4()).collect()
}

fn other(addr: SocketAddr, error: &io::Error) -> BindError {
    BindError::Other { addr, message: error.to_string() }
}
