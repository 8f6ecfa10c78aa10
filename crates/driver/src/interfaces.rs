//! [`ways_to`] and [`InterfaceWatch`]: which of the machine's interfaces reach a peer, and when
//! that may have changed.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep_until};

use crate::address::{
    InterfaceAddress, canonical, interface_addresses, local_towards, wildcard_like,
};
use crate::readiness::register;

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
    /// When a change that was noticed is to be told.
    settled_at: Option<Instant>,
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
        Ok(Self { notices: register(notices, Interest::READABLE)?, settled_at: None })
    }

    /// Waits for a change, and until what belongs to it has changed too. Dropping the future loses
    /// none.
    ///
    /// # Errors
    /// The system's notices cannot be read.
    pub async fn changed(&mut self) -> io::Result<()> {
        let settled_at = match self.settled_at {
            Some(at) => at,
            None => {
                self.notice().await?;
                *self.settled_at.insert(Instant::now() + SETTLING)
            }
        };
        sleep_until(settled_at).await;
        take_all(self.notices.as_raw_fd())?;
        self.settled_at = None;
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
/// routes prefer first. Several interfaces and several addresses go side by side; an interface
/// that is in use keeps the address that it leads to.
///
/// The routing table is asked; no packet is sent.
///
/// # Errors
/// The system does not tell, or does not let sockets be tied to interfaces.
pub fn ways_to(remotes: &[SocketAddr], in_use: &[Way]) -> io::Result<Vec<Way>> {
    let map = Map::draw()?;
    let mut names: Vec<&str> = map.addresses.iter().map(|at| at.interface.as_str()).collect();
    names.dedup();
    let mut ways: Vec<Way> = Vec::new();
    for interface in names {
        let beside = ways.len() % remotes.len().max(1);
        let kept = in_use.iter().filter(|way| way.interface == interface).map(|way| &way.remote);
        let beside = remotes.iter().cycle().skip(beside).take(remotes.len());
        for remote in kept.chain(beside).copied().map(canonical) {
            if let Some(local) = map.local_over(interface, remote)? {
                ways.push(Way { interface: interface.to_owned(), local, remote });
                break;
            }
        }
    }
    ways.sort_by_key(|way| !is_preferred(way));
    Ok(ways)
}

/// The machine's addresses and its IPv4 routes.
struct Map {
    addresses: Vec<InterfaceAddress>,
    routes: Vec<Route>,
}

impl Map {
    fn draw() -> io::Result<Self> {
        let table = fs::read_to_string("/proc/self/net/route")?;
        let routes = table.lines().filter_map(Route::parse).collect();
        Ok(Self { addresses: interface_addresses()?, routes })
    }

    /// The address from which `remote` is reached over an interface, if it is.
    fn local_over(&self, interface: &str, remote: SocketAddr) -> io::Result<Option<SocketAddr>> {
        if self.is_own(remote.ip()) {
            // The machine reaches itself by its loopback interface, whatever routes say.
            let is_loopback = self.has(interface, |ip| ip.is_loopback());
            return Ok(is_loopback.then(|| SocketAddr::new(remote.ip(), 0)));
        }
        if !self.has_route(interface, remote.ip()) {
            return Ok(None);
        }
        match choose_source(interface, remote) {
            Ok(local) => Ok(Some(local).filter(|local| self.has(interface, |ip| ip == local.ip()))),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
            Err(error) => {
                tracing::debug!(interface, %remote, %error, "no way");
                Ok(None)
            }
        }
    }

    fn is_own(&self, ip: IpAddr) -> bool {
        ip.is_loopback() || self.addresses.iter().any(|at| at.ip == ip)
    }

    fn has(&self, interface: &str, is_meant: impl Fn(IpAddr) -> bool) -> bool {
        self.addresses.iter().any(|at| at.interface == interface && is_meant(at.ip))
    }

    /// Without a route, Linux takes an IPv4 destination for a neighbour of whatever interface a
    /// socket is tied to; an IPv6 one it refuses.
    fn has_route(&self, interface: &str, to: IpAddr) -> bool {
        let IpAddr::V4(to) = to else { return true };
        self.routes.iter().any(|route| route.interface == interface && route.leads_to(to))
    }
}

/// A line of `/proc/net/route` (proc(5)): addresses are hexadecimal numbers of this machine's byte
/// order.
struct Route {
    interface: String,
    destination: u32,
    mask: u32,
}

/// RTF_REJECT.
const REJECT: u32 = 0x200;

impl Route {
    /// `None` for the heading, and for what keeps packets from going out.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let interface = fields.next()?.to_owned();
        let mut number = |nth| u32::from_str_radix(fields.nth(nth)?, 16).ok();
        let (destination, flags, mask) = (number(0)?, number(1)?, number(3)?);
        (flags & REJECT == 0).then_some(Self { interface, destination, mask })
    }

    fn leads_to(&self, to: Ipv4Addr) -> bool {
        u32::from_ne_bytes(to.octets()) & self.mask == self.destination
    }
}

/// The address from which the system would send to `remote` over an interface.
fn choose_source(interface: &str, remote: SocketAddr) -> io::Result<SocketAddr> {
    let probe = Socket::new(Domain::for_address(remote), Type::DGRAM, Some(Protocol::UDP))?;
    probe.bind_device(Some(interface.as_bytes()))?;
    probe.connect(&remote.into())?;
    let local = probe.local_addr()?.as_socket();
    let mut local = local.ok_or(io::ErrorKind::AddrNotAvailable)?;
    local.set_port(0);
    Ok(canonical(local))
}

/// Whether the routes choose this way of all that lead to its peer's address: of several default
/// routes, it has the one that counts.
#[must_use]
pub fn is_preferred(way: &Way) -> bool {
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
        assert_eq!(ways_to(&[remote], &[]).unwrap(), [way]);
    }

    #[test]
    fn regression_an_interface_in_use_was_given_another_address() {
        let remotes = [addr("127.0.0.1:9"), addr("127.0.0.1:10")];
        let in_use = Way { remote: remotes[1], ..ways_to(&remotes, &[]).unwrap().remove(0) };
        let in_use = [in_use];
        assert_eq!(ways_to(&remotes, &in_use).unwrap(), in_use);
    }

    #[test]
    fn what_no_route_leads_to_has_no_way() {
        let ways = ways_to(&[addr("198.51.100.1:9")], &[]).unwrap();
        assert!(ways.iter().all(|way| way.interface != "lo"), "{ways:?}");
        assert_eq!(ways_to(&[], &[]).unwrap(), []);
    }

    #[test]
    fn a_route_is_read_from_the_systems_table() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n\
                     wlan0\t0001A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\n\
                     wwan0\t00000000\t0100000A\t0003\t0\t0\t700\t00000000\t0\n\
                     *\t00000000\t00000000\t0201\t0\t0\t900\t00000000\t0\n";
        let routes: Vec<Route> = table.lines().filter_map(Route::parse).collect();
        let over = |to: &str| -> Vec<&str> {
            let to = to.parse().unwrap();
            let leading = routes.iter().filter(|route| route.leads_to(to));
            leading.map(|route| route.interface.as_str()).collect()
        };
        assert_eq!(over("192.168.1.7"), ["wlan0", "wwan0"]);
        assert_eq!(over("198.51.100.7"), ["wwan0"]);
    }

    #[tokio::test]
    async fn a_machine_that_does_not_change_tells_nothing() {
        let mut watch = InterfaceWatch::start().unwrap();
        let told = tokio::time::timeout(Duration::from_millis(20), watch.changed()).await;
        assert!(told.is_err(), "{told:?}");
    }

    #[tokio::test]
    async fn regression_waiting_anew_for_each_event_put_a_change_off_without_end() {
        let mut watch = InterfaceWatch::start().unwrap();
        watch.settled_at = Some(Instant::now() + Duration::from_millis(10));
        let is_told = async {
            loop {
                tokio::select! {
                    told = watch.changed() => return told,
                    () = tokio::time::sleep(Duration::from_millis(1)) => {}
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), is_told).await.unwrap().unwrap();
    }
}
