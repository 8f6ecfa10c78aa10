//! [`UdpSink`]: media as datagrams to a player or the next program.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anabranch_driver::canonical;
use quinn_udp::{Transmit, UdpSocketState};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::url::UdpUrl;

/// The most bytes that one call sends: 65,535 less the headers of IPv4 and UDP.
const CALL_BYTES_MAX: usize = 65_507;

/// Packets into datagrams of `pkt_size` bytes, or less where the next packet is not due yet. What
/// is due at once leaves in one call.
#[derive(Debug)]
pub(super) struct UdpSink {
    socket: UdpSocket,
    target: SocketAddr,
    offload: UdpSocketState,
    /// Datagrams that one call may send; 1 once the device has refused more.
    per_call: usize,
    pkt_size: usize,
    gathered: Vec<u8>,
}

impl UdpSink {
    /// Opens a socket towards `url`. The error says what would be right.
    pub(super) async fn open(url: &UdpUrl) -> Result<Self, String> {
        let Some(host) = &url.host else {
            return Err("give the host to send to, as in udp://127.0.0.1:1234".to_owned());
        };
        let target = target(host, url).await?;
        Self::towards(target, url).map_err(|error| error.to_string())
    }

    fn towards(target: SocketAddr, url: &UdpUrl) -> io::Result<Self> {
        let socket = socket_towards(target, url)?;
        let offload = UdpSocketState::new((&socket).into())?;
        allow_fragments(&socket, target)?;
        let per_call = offload.max_gso_segments().min(CALL_BYTES_MAX / url.pkt_size).max(1);
        let pkt_size = url.pkt_size;
        Ok(Self { socket, target, offload, per_call, pkt_size, gathered: Vec::new() })
    }

    /// Takes packets that are due.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() < self.per_call * self.pkt_size {
            return Ok(());
        }
        let whole = self.gathered.len() / self.pkt_size * self.pkt_size;
        self.send(whole).await
    }

    /// Nothing more is due now: sends what was taken.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        self.send(self.gathered.len()).await
    }

    /// Sends the first `len` bytes that were gathered.
    async fn send(&mut self, len: usize) -> io::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        let (due, rest) = gathered.split_at_checked(len).unwrap_or((&gathered, &[]));
        self.send_datagrams(due).await?;
        self.gathered.extend_from_slice(rest);
        Ok(())
    }

    async fn send_datagrams(&mut self, mut due: &[u8]) -> io::Result<()> {
        while !due.is_empty() {
            let len = due.len().min(self.per_call * self.pkt_size);
            let (part, rest) = due.split_at_checked(len).unwrap_or((due, &[]));
            match self.call(part).await {
                // Nobody listens at the moment: as with any UDP, the packets are gone.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                // A device without offload, or datagrams larger than a link carries: sent one by
                // one, the kernel cuts them.
                Err(_) if part.len() > self.pkt_size => {
                    self.per_call = 1;
                    continue;
                }
                sent => sent?,
            }
            due = rest;
        }
        Ok(())
    }

    async fn call(&self, contents: &[u8]) -> io::Result<()> {
        if contents.len() <= self.pkt_size {
            return self.socket.send(contents).await.map(|_| ());
        }
        let transmit = Transmit {
            destination: self.target,
            ecn: None,
            contents,
            segment_size: Some(self.pkt_size),
            src_ip: None,
        };
        let send = || self.offload.try_send((&self.socket).into(), &transmit);
        self.socket.async_io(Interest::WRITABLE, send).await
    }
}

async fn target(host: &str, url: &UdpUrl) -> Result<SocketAddr, String> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, url.port));
    }
    let found = tokio::net::lookup_host((host, url.port)).await;
    let mut found = found.map_err(|error| format!("{error}: check the name"))?;
    found.next().map(canonical).ok_or_else(|| "the name has no address".to_owned())
}

fn socket_towards(target: SocketAddr, url: &UdpUrl) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(target), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    let any = match target {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let local = SocketAddr::new(url.local_addr.unwrap_or(any), 0);
    socket.bind(&local.into())?;
    if let (true, Some(ttl)) = (target.ip().is_multicast(), url.ttl) {
        match target {
            SocketAddr::V4(_) => socket.set_multicast_ttl_v4(ttl.into())?,
            SocketAddr::V6(_) => socket.set_multicast_hops_v6(ttl.into())?,
        }
    }
    if let (SocketAddr::V4(_), Some(IpAddr::V4(local))) = (target, url.local_addr) {
        socket.set_multicast_if_v4(&local)?;
    }
    socket.connect(&target.into())?;
    UdpSocket::from_std(socket.into())
}

/// Lets the kernel cut datagrams that a link does not carry whole, as it does by default: with
/// offload it is asked to refuse them.
fn allow_fragments(socket: &UdpSocket, target: SocketAddr) -> io::Result<()> {
    match target {
        SocketAddr::V4(_) => set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::WANT)?,
        SocketAddr::V6(_) => set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::WANT)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(url: &str, writes: &[usize]) -> Vec<usize> {
        let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = receiver.local_addr().unwrap().port();
        let url = url.replace("PORT", &port.to_string());
        let mut sink = UdpSink::open(&url.parse().unwrap()).await.unwrap();
        for len in writes {
            sink.write(&vec![7; *len]).await.unwrap();
        }
        sink.flush().await.unwrap();
        let mut buf = vec![0; 1 << 16];
        let total: usize = writes.iter().sum();
        let mut lens = Vec::new();
        while lens.iter().sum::<usize>() < total {
            lens.push(receiver.recv(&mut buf).await.unwrap());
        }
        lens
    }

    #[tokio::test]
    async fn what_is_due_at_once_leaves_as_datagrams_of_the_chosen_size() {
        let url = "udp://127.0.0.1:PORT?pkt_size=376";
        assert_eq!(sent(url, &[188; 5]).await, [376, 376, 188]);
        let many = sent(url, &[188 * 101]).await;
        assert_eq!((many.len(), many.last()), (51, Some(&188)));
    }

    #[tokio::test]
    async fn datagrams_that_a_link_does_not_carry_whole_are_sent_all_the_same() {
        let url = "udp://127.0.0.1:PORT?pkt_size=65424";
        assert_eq!(sent(url, &[65_424, 65_424, 188]).await, [65_424, 65_424, 188]);
    }

    #[tokio::test]
    async fn packets_for_nobody_are_gone() {
        let free = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let url = format!("udp://127.0.0.1:{free}?pkt_size=188");
        let mut sink = UdpSink::open(&url.parse().unwrap()).await.unwrap();
        for _ in 0..20 {
            sink.write(&[7; 188 * 3]).await.unwrap();
            sink.flush().await.unwrap();
        }
        assert!(sink.per_call > 1, "a refused datagram was taken for a device without offload");
    }
}
