//! [`ways_to`] and [`InterfaceWatch`]: which of the machine's interfaces reach a peer, and when that
//! may have changed.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use crate::address::{canonical, interface_addresses, local_towards, wildcard_like};
use crate::timer::register;

/// rtnetlink(7): RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR and
/// RTMGRP_IPV6_ROUTE.
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

/// A link, its address and its routes change one after the other.
const SETTLING: Duration = Duration::from_millis(50);

/// The kernel's notices are not read, only counted: what does not fit is cut off.
const NOTICE_MAX: usize = 4_096;

/// Tells when interfaces, addresses or routes of this machine change (rtnetlink).
#[derive(Debug)]
pub struct InterfaceWatch {
    notices: AsyncFd<OwnedFd>,
    /// Whether a change was noticed and not yet told.
    has_changed: bool,
}

impl InterfaceWatch {
    /// Begins to watch. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The system refuses a netlink socket.
    pub fn start() -> io::Result<Self> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let protocol = SockProtocol::NetlinkRoute;
        let notices = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
        bind(notices.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
        Ok(Self { notices: register(notices)?, has_changed: false })
    }

    /// Waits for a change, and until what belongs to it has changed too. Dropping the future loses
    /// none.
    ///
    /// # Errors
    /// The system's notices cannot be read.
    pub async fn changed(&mut self) -> io::Result<()> {
        if !self.has_changed {
            self.notice().await?;
            self.has_changed = true;
        }
        sleep(SETTLING).await;
        take_all(self.notices.as_raw_fd())?;
        self.has_changed = false;
        Ok(())
    }

    async fn notice(&self) -> io::Result<()> {
        loop {
            let mut guard = self.notices.readable().await?;
            match guard.try_io(|fd| take(fd.as_raw_fd())) {
                Ok(taken) => return taken,
                Err(_would_block) => {}
            }
        }
    }
}

/// Takes what the kernel has told; all that is left is one change.
fn take_all(notices: RawFd) -> io::Result<()> {
    loop {
        match take(notices) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            taken => taken?,
        }
    }
}

fn take(notices: RawFd) -> io::Result<()> {
    match recv(notices, &mut [0; NOTICE_MAX], MsgFlags::empty()) {
        // More changed than the kernel could keep for us.
        Ok(_) | Err(Errno::ENOBUFS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// How a peer is reached over one interface.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// The interface's name.
    pub interface: String,
    /// The address that the routes choose there; its port is 0.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

/// The ways to a peer that has these addresses: at most one over each interface, the one that the
/// routes prefer first. Several interfaces and several addresses go side by side.
///
/// The routing table is asked; no packet is sent.
///
/// # Errors
/// The system does not tell, or does not let sockets be tied to interfaces.
pub fn ways_to(remotes: &[SocketAddr]) -> io::Result<Vec<Way>> {
    let mut names: Vec<_> = interface_addresses()?.into_iter().map(|at| at.interface).collect();
    names.dedup();
    let mut ways: Vec<Way> = Vec::new();
    for interface in names {
        let beside = ways.len() % remotes.len().max(1);
        let candidates = remotes.iter().cycle().skip(beside).take(remotes.len());
        for remote in candidates.copied().map(canonical) {
            match local_over(&interface, remote) {
                // A default route is no way to the machine itself.
                Ok(local) if local.ip().is_loopback() != remote.ip().is_loopback() => {}
                Ok(local) if ways.iter().any(|way| way.local == local) => {}
                Ok(local) => {
                    ways.push(Way { interface, local, remote });
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
                Err(error) => tracing::debug!(interface, %remote, %error, "no way"),
            }
        }
    }
    ways.sort_by_key(|way| !is_preferred(way));
    Ok(ways)
}

/// The address from which `remote` is reached over an interface.
fn local_over(interface: &str, remote: SocketAddr) -> io::Result<SocketAddr> {
    let probe = Socket::new(Domain::for_address(remote), Type::DGRAM, Some(Protocol::UDP))?;
    probe.bind_device(Some(interface.as_bytes()))?;
    probe.connect(&remote.into())?;
    let local = probe.local_addr()?.as_socket();
    let mut local = local.ok_or(io::ErrorKind::AddrNotAvailable)?;
    local.set_port(0);
    Ok(canonical(local))
}

fn is_preferred(way: &Way) -> bool {
    let mut any = wildcard_like(way.remote);
    any.set_port(0);
    local_towards(any, way.remote).is_ok_and(|local| local == way.local)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn this_machine_is_reached_over_the_loopback_interface_alone() {
        let remote = addr("127.0.0.1:9");
        let way = Way { interface: "lo".to_owned(), local: addr("127.0.0.1:0"), remote };
        assert_eq!(ways_to(&[remote]).unwrap(), [way]);
    }

    #[test]
    fn what_no_route_leads_to_has_no_way() {
        let ways = ways_to(&[addr("198.51.100.1:9")]).unwrap();
        assert!(ways.iter().all(|way| way.interface != "lo"), "{ways:?}");
        assert_eq!(ways_to(&[]).unwrap(), []);
    }

    #[tokio::test]
    async fn a_machine_that_does_not_change_tells_nothing() {
        let mut watch = InterfaceWatch::start().unwrap();
        let told = tokio::time::timeout(Duration::from_millis(20), watch.changed()).await;
        assert!(told.is_err(), "{told:?}");
    }
}
