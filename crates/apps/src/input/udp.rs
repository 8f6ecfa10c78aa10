//! Transport stream packets from UDP, as ffmpeg and OBS send them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anabranch_driver::{Clock, DatagramReader, interface_addresses, rest_thread};
use anabranch_sansio::Time;
use rtp_types::RtpPacket;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::mpsc;

use super::{Batch, PacketCutter, Reading, Timing};
use super::{InputError, InputOptions};
use crate::url::UdpUrl;

/// Bytes of kernel buffer to ask for: at 100 Mbit/s 300 ms.
const KERNEL_BUFFER: usize = 4 << 20;

/// Batches that wait: the datagrams of [`REST`] or one; at 100 Mbit/s 100 ms at least.
const BATCHES_MAX: usize = 1_024;

/// Where datagrams come this fast, those that come within it are read together: most of what a
/// stream costs its sender is being woken for each datagram.
const REST: Duration = Duration::from_millis(3);

/// What comes this soon after what was read before it was not let gather by the thread's rests.
const RESTLESS: Duration = Duration::from_millis(1);

/// The longest time over which datagrams that were read together are taken to have come evenly.
const SPREAD_MAX: Duration = Duration::from_millis(20);

/// Datagrams that are read together at most.
const DATAGRAMS_MAX: usize = 256;

/// What stands between UDP and the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapping {
    None,
    /// RTP, one header for all packets in a datagram (RFC 2250 section 2).
    Rtp,
}

impl Wrapping {
    pub(super) const fn scheme(self) -> &'static str {
        match self {
            Self::None => "udp://",
            Self::Rtp => "rtp://",
        }
    }

    /// The packets in a datagram; none in one that is nothing of the kind.
    fn unwrap(self, datagram: &[u8]) -> &[u8] {
        match self {
            Self::None => datagram,
            Self::Rtp => match RtpPacket::parse(datagram) {
                Ok(packet) => {
                    let padding = usize::from(packet.padding().unwrap_or(0));
                    let end = datagram.len().saturating_sub(padding);
                    let start = end.saturating_sub(packet.payload().len());
                    datagram.get(start..end).unwrap_or_default()
                }
                Err(error) => {
                    tracing::debug!(%error, "not RTP");
                    &[]
                }
            },
        }
    }
}

/// Receives until the service ends.
pub(super) fn spawn(
    url: &UdpUrl,
    wrapping: Wrapping,
    program: Option<u16>,
    clock: Clock,
) -> Result<mpsc::Receiver<Batch>, InputError> {
    let ip = listening_address(url)?;
    let failed =
        |error: io::Error| InputError::UdpBind { ip, port: url.port, message: words(&error, ip) };
    let socket = bind(ip, url).and_then(DatagramReader::new).map_err(failed)?;
    let name = format!("{}{}", wrapping.scheme(), SocketAddr::new(ip, url.port));
    let options = InputOptions { program, ..InputOptions::default() };
    let cutter = PacketCutter::new(name.clone(), options, Timing::Arrival, clock)?;
    let (sender, batches) = mpsc::channel(BATCHES_MAX);
    tokio::spawn(receive((socket, wrapping), clock, name, cutter, sender));
    Ok(batches)
}

async fn receive(
    (mut socket, wrapping): (DatagramReader, Wrapping),
    clock: Clock,
    name: String,
    mut cutter: PacketCutter,
    sender: mpsc::Sender<Batch>,
) {
    let mut last_read = Time::ZERO;
    loop {
        let mut pushed = Ok(());
        let mut ends = Vec::new();
        let take = |datagram: &[u8]| {
            if pushed.is_ok() {
                pushed = cutter.push(wrapping.unwrap(datagram));
                ends.push(cutter.waiting());
            }
        };
        let read = tokio::select! {
            read = socket.read(DATAGRAMS_MAX, take) => read,
            () = sender.closed() => return,
        };
        let pushed = pushed.and_then(|()| read.map_err(|error| InputError::broken(&name, &error)));
        let now = clock.now();
        cutter.spread(last_read.max(now.saturating_sub(SPREAD_MAX)), now, &ends);
        let is_fast = ends.len() > 1 || now < last_read + REST;
        let is_restless = now < last_read + RESTLESS;
        last_read = now;
        while let Some(batch) = cutter.take_batch() {
            if sender.send(Ok(Reading::Items(batch))).await.is_err() {
                return;
            }
        }
        if let Err(error) = pushed {
            // If nobody listens any more, the service has ended.
            _ = sender.send(Err(error)).await;
            return;
        }
        // A timer of tokio's costs a system call, and one turn of its thread more.
        if is_fast && (is_restless || !rest_thread(REST)) {
            tokio::time::sleep(REST).await;
        }
    }
}

fn listening_address(url: &UdpUrl) -> Result<IpAddr, InputError> {
    let any = match url.local_addr {
        Some(IpAddr::V6(_)) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        Some(IpAddr::V4(_)) | None => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    };
    let Some(host) = &url.host else { return Ok(url.local_addr.unwrap_or(any)) };
    if host == "localhost" {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    host.parse().map_err(|_| InputError::UdpHost { host: host.clone() })
}

fn bind(ip: IpAddr, url: &UdpUrl) -> io::Result<std::net::UdpSocket> {
    let addr = SocketAddr::new(ip, url.port);
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // A refusal is no error: the kernel's default is smaller, not wrong.
    _ = socket.set_recv_buffer_size(KERNEL_BUFFER);
    if ip.is_multicast() {
        // Several programs may listen to one group.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&addr.into())?;
    match (ip, url.local_addr) {
        (IpAddr::V4(group), local) if group.is_multicast() => {
            let interface = match local {
                Some(IpAddr::V4(local)) => local,
                Some(IpAddr::V6(_)) => return Err(other_family()),
                None => Ipv4Addr::UNSPECIFIED,
            };
            match url.source {
                Some(IpAddr::V4(source)) => socket.join_ssm_v4(&source, &group, &interface)?,
                Some(IpAddr::V6(_)) => return Err(other_family()),
                None => socket.join_multicast_v4(&group, &interface)?,
            }
            // Linux hands a socket also what comes to groups that others here joined, from senders
            // that it did not ask for.
            socket.set_multicast_all_v4(false)?;
        }
        (IpAddr::V6(group), local) if group.is_multicast() => {
            socket.join_multicast_v6(&group, local.map_or(Ok(0), interface_index)?)?;
        }
        (IpAddr::V4(_) | IpAddr::V6(_), _) => {}
    }
    Ok(socket.into())
}

fn other_family() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "localaddr= or source= is of the other family")
}

/// The number that the kernel gives the interface with an address; IPv6 groups are joined by it.
fn interface_index(local: IpAddr) -> io::Result<u32> {
    let all = interface_addresses()?;
    let found = all.iter().find(|held| held.ip == local);
    let interface = found
        .map(|held| held.interface.clone())
        .ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "localaddr= is not ours"))?;
    let path = format!("/sys/class/net/{interface}/ifindex");
    let index = std::fs::read_to_string(path)?;
    index.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

fn words(error: &io::Error, ip: IpAddr) -> String {
    let kind = error.kind();
    if kind == io::ErrorKind::AddrInUse {
        return "another program has the port; choose another one".to_owned();
    }
    if kind == io::ErrorKind::AddrNotAvailable {
        return format!("{ip} is not an address of this machine; leave it out to listen at all");
    }
    if kind == io::ErrorKind::PermissionDenied {
        return "no permission; choose a port from 1024 up".to_owned();
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_that_were_read_together_came_evenly_one_after_the_other() {
        let clock = Clock::start();
        let options = InputOptions::default();
        let name = "a test".to_owned();
        let mut cutter = PacketCutter::new(name, options, Timing::Arrival, clock).unwrap();
        let mut null = [0xff; 188];
        null[..4].copy_from_slice(&[0x47, 0x1f, 0xff, 0x10]);
        let mut ends = Vec::new();
        for _ in 0..4 {
            cutter.push(&null.repeat(7)).unwrap();
            ends.push(cutter.waiting());
        }
        let last = cutter.waiting();
        cutter.spread(Time::from_millis(100), Time::from_millis(104), &ends);
        let items = cutter.take_batch().unwrap();
        let times: Vec<Time> = items.iter().map(|item| item.at).collect();
        assert!(times.is_sorted() && items.len() == last && last >= 7, "{times:?}");
        assert_eq!(times.last(), Some(&Time::from_millis(104)));
        assert!(times[0] <= Time::from_millis(102), "{times:?}");
    }

    #[test]
    fn a_group_is_taken_from_the_sender_that_was_chosen() {
        let group = Ipv4Addr::new(232, 7, 19, 3);
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("udp://127.0.0.2@{group}:{free}?localaddr=127.0.0.1");
        let receiver = bind(group.into(), &url.parse().unwrap()).unwrap();
        receiver.set_nonblocking(false).unwrap();
        // Loopback keeps order: the foreign packet would come first.
        for (from, words) in [([127, 0, 0, 1], b"foreign"), ([127, 0, 0, 2], b"awaited")] {
            let sender = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
            sender.bind(&SocketAddr::from((from, 0)).into()).unwrap();
            sender.set_multicast_if_v4(&Ipv4Addr::LOCALHOST).unwrap();
            sender.send_to(words, &SocketAddr::from((group, free)).into()).unwrap();
        }
        let mut buf = [0; 16];
        let len = receiver.recv(&mut buf).unwrap();
        assert_eq!(&buf[..len], b"awaited");
    }

    #[test]
    fn the_packets_in_rtp_are_found_behind_its_header() {
        let plain = [&[0x80, 33, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3][..], b"Gpackets"].concat();
        assert_eq!(Wrapping::Rtp.unwrap(&plain), b"Gpackets");
        // One contributing source, and an extension of one word.
        let mut long = vec![0x91, 33, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];
        long.extend([0xbe, 0xde, 0, 1, 0, 0, 0, 0]);
        long.extend(b"Gpackets");
        assert_eq!(Wrapping::Rtp.unwrap(&long), b"Gpackets");
        assert_eq!(Wrapping::Rtp.unwrap(b"Gpackets"), b"");
        assert_eq!(Wrapping::None.unwrap(b"Gpackets"), b"Gpackets");
    }
}
