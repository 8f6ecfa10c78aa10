//! [`LocalSocket`]: a bound socket in its driver's hands.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::task::{Context, Poll};

use anabranch_sansio::{Datagram, Ecn, FourTuple, Transmit};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use quinn_udp::{EcnCodepoint, UdpSocketState};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::queue::SendQueue;
use super::receive::{from_codepoint, split};
use super::{BoundSocket, ReceiveBuffers};
use crate::Capture;
use crate::readiness::register;
use crate::stats::{Counters, SocketStats};

/// The most bytes that one send can carry: 65,535 less the headers of IPv4 and UDP.
const SEND_BYTES_MAX: usize = 65_507;

/// How one send call describes its contents: datagrams of `segment` bytes, the last at most that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burst {
    pub(crate) path: FourTuple,
    /// The source address to ask for; `None` where the socket has only one.
    pub(crate) source: Option<IpAddr>,
    pub(crate) ecn: Option<EcnCodepoint>,
    pub(crate) segment: usize,
    /// Whether IP may fragment its one datagram.
    pub(crate) may_fragment: bool,
}

impl Burst {
    pub(crate) fn datagrams(&self, contents: &[u8]) -> usize {
        contents.len().div_ceil(self.segment).max(1)
    }
}

#[derive(Debug)]
pub(crate) struct LocalSocket {
    /// Wakes the task when something has arrived, and for nothing else.
    io: AsyncFd<UdpSocket>,
    /// A duplicate that wakes the task when the kernel has room, while something waits for that.
    ///
    /// The kernel reports room whenever a packet has left, also where there was room before: who
    /// always listened would wake a thread for each call that sends.
    room: Option<AsyncFd<UdpSocket>>,
    state: UdpSocketState,
    bound: SocketAddr,
    gso_segments: usize,
    queue: SendQueue,
    counters: Counters,
    capture: Option<Capture>,
}

impl LocalSocket {
    /// Must be called within a tokio runtime.
    pub(crate) fn new(bound: BoundSocket, capture: Option<Capture>) -> io::Result<Self> {
        let (socket, info) = bound.into_parts();
        let state = offloads(&socket)?;
        Ok(Self {
            io: register(socket, Interest::READABLE)?,
            room: None,
            gso_segments: state.max_gso_segments(),
            state,
            bound: info.bound,
            queue: SendQueue::default(),
            counters: Counters::default(),
            capture,
        })
    }

    pub(crate) fn bound(&self) -> SocketAddr {
        self.bound
    }

    pub(crate) fn stats(&self) -> SocketStats {
        SocketStats {
            bound: self.bound,
            gso_segments: self.gso_segments,
            queued: self.queue.datagrams(),
            counters: self.counters,
        }
    }

    /// Fills `buffers` with what has arrived; pending if that is nothing.
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut ReceiveBuffers,
    ) -> Poll<()> {
        // The runtime's end is not ours to tell: it drops the task.
        while let Poll::Ready(Ok(mut readable)) = self.io.poll_read_ready(cx) {
            match readable.try_io(|io| buffers.fill(io.get_ref().into(), &self.state)) {
                Ok(Ok(())) => {
                    if buffers.took_all() {
                        // Saves the call that would find nothing. What came since wakes the task.
                        readable.clear_ready();
                    }
                    self.counters.rx.add(&buffers.traffic());
                    if let Some(capture) = &self.capture {
                        capture.received(buffers.datagrams(self.bound));
                    }
                    return Poll::Ready(());
                }
                Ok(Err(error)) => {
                    // The kernel reports each of these once, then goes on.
                    self.counters.rx_errors += 1;
                    tracing::debug!(bound = %self.bound, %error, "receive failed");
                }
                Err(_nothing_is_there) => {}
            }
        }
        Poll::Pending
    }

    /// Sends what a machine wrote, in as few system calls as the kernel allows.
    pub(crate) fn send(&mut self, transmit: Transmit, contents: &[u8]) {
        let Transmit { path, ecn, segment_size, may_fragment } = transmit;
        let segment = segment_size.unwrap_or(contents.len()).clamp(1, contents.len().max(1));
        let source = self.bound.ip().is_unspecified().then(|| path.local.ip());
        let source = source.filter(|ip| !ip.is_unspecified());
        let burst = Burst { path, source, ecn: ecn.map(to_codepoint), segment, may_fragment };
        if contents.is_empty() {
            return self.send_burst(burst, contents);
        }
        let per_call = (SEND_BYTES_MAX / segment).clamp(1, self.gso_segments.max(1));
        for part in contents.chunks(per_call * segment) {
            self.send_burst(burst, part);
        }
    }

    fn send_burst(&mut self, burst: Burst, contents: &[u8]) {
        if !self.queue.is_empty() {
            return self.enqueue(burst, contents);
        }
        match self.call(burst, contents) {
            Ok(()) => self.count_sent(burst, contents),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.enqueue(burst, contents);
            }
            Err(error) => self.on_error(burst, contents, &error),
        }
    }

    fn call(&self, burst: Burst, contents: &[u8]) -> io::Result<()> {
        let transmit = quinn_udp::Transmit {
            destination: burst.path.remote,
            ecn: burst.ecn,
            contents,
            segment_size: Some(burst.segment),
            src_ip: burst.source,
        };
        if !burst.may_fragment {
            return self.state.try_send(self.io.get_ref().into(), &transmit);
        }
        allow_fragments(self.io.get_ref(), true)?;
        let sent = self.state.try_send(self.io.get_ref().into(), &transmit);
        allow_fragments(self.io.get_ref(), false)?;
        sent
    }

    fn enqueue(&mut self, burst: Burst, contents: &[u8]) {
        if !self.queue.push(burst, contents) {
            self.counters.lost.queue_full += burst.datagrams(contents) as u64;
        }
    }

    /// Sends what waits, as far as the kernel has room; it wakes the task for the rest.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) {
        if !self.queue.is_empty() && self.room.is_none() {
            self.room = self.listen_for_room();
        }
        while let (Some((burst, contents)), Some(room)) = (self.queue.front(), &self.room) {
            let Poll::Ready(Ok(mut writable)) = room.poll_write_ready(cx) else { return };
            let Ok(sent) = writable.try_io(|_| self.call(burst, contents)) else { continue };
            let Some((burst, contents)) = self.queue.pop() else { break };
            match sent {
                Ok(()) => self.count_sent(burst, &contents),
                Err(error) => self.on_error(burst, &contents, &error),
            }
            self.queue.recycle(contents);
        }
        self.room = None;
    }

    /// Nothing if the process has no descriptor left: the next turn tries again.
    fn listen_for_room(&self) -> Option<AsyncFd<UdpSocket>> {
        let duplicate = self.io.get_ref().try_clone();
        let room = duplicate.and_then(|io| register(io, Interest::WRITABLE));
        room.inspect_err(|error| {
            tracing::warn!(bound = %self.bound, %error, "cannot wait for the kernel to have room");
        })
        .ok()
    }

    fn count_sent(&mut self, burst: Burst, contents: &[u8]) {
        let tx = &mut self.counters.tx;
        tx.calls += 1;
        tx.datagrams += burst.datagrams(contents) as u64;
        tx.bytes += contents.len() as u64;
        if let Some(capture) = &self.capture {
            let ecn = burst.ecn.map(from_codepoint);
            let datagrams = split(contents, burst.segment);
            let path = burst.path;
            capture.sent(datagrams.map(|bytes| Datagram { path, ecn, bytes }));
        }
        tracing::trace!(
            path = %burst.path, bytes = contents.len(), segment = burst.segment, "sent"
        );
    }

    fn on_error(&mut self, burst: Burst, contents: &[u8], error: &io::Error) {
        let refused = matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::IO));
        if !refused {
            return self.count_lost(burst, contents, error);
        }
        // quinn-udp takes EINVAL and EIO for a device without offload, and gives up segmentation
        // and ECN on the whole socket. But a source address that has just vanished gives EINVAL,
        // too, and must not slow down the other paths: its conclusion is discarded, and a burst is
        // tried once more without offload, which tells the two apart.
        self.forget_refusals();
        if burst.datagrams(contents) == 1 {
            return self.count_lost(burst, contents, error);
        }
        let before = self.counters.tx.datagrams;
        for datagram in contents.chunks(burst.segment) {
            match self.call(burst, datagram) {
                Ok(()) => self.count_sent(burst, datagram),
                Err(error) => {
                    self.forget_refusals();
                    self.count_lost(burst, datagram, &error);
                }
            }
        }
        if self.counters.tx.datagrams > before {
            tracing::info!(bound = %self.bound, "no segmentation offload here: one call a packet");
            self.gso_segments = 1;
        }
    }

    fn forget_refusals(&mut self) {
        if let Ok(fresh) = offloads(self.io.get_ref()) {
            self.state = fresh;
        }
    }

    fn count_lost(&mut self, burst: Burst, contents: &[u8], error: &io::Error) {
        let counter = self.counters.lost.by_error(error);
        // Whoever debugs should see each kind once; what it means, the machine above tells in
        // words. Protocols probe with packets that are too large.
        if *counter == 0 && !quinn_udp::is_msg_size_err(error) {
            tracing::info!(path = %burst.path, %error, "cannot send; counted as loss from here on");
        } else {
            tracing::trace!(path = %burst.path, bytes = contents.len(), %error, "cannot send");
        }
        *counter += burst.datagrams(contents) as u64;
    }
}

/// Switches on what the kernel offers: segmentation, coalescing, ECN, destination addresses.
fn offloads(socket: &impl AsFd) -> io::Result<UdpSocketState> {
    let state = UdpSocketState::new(socket.into())?;
    // quinn-udp 0.6.3 also asks for timestamps, and has no room for them beside all the rest: of a
    // coalesced buffer, the kernel then drops the last thing it would tell, the ECN codepoint.
    setsockopt(socket, ReceiveTimestampns, &false)?;
    Ok(state)
}

/// Lets IP fragment what is sent from now on, or not: as quinn-udp sets it up, it must not.
fn allow_fragments(socket: &UdpSocket, allow: bool) -> io::Result<()> {
    if socket.local_addr()?.is_ipv4() {
        let mode = if allow { Ipv4PathMtuDiscovery::DONT } else { Ipv4PathMtuDiscovery::PROBE };
        set_ip_mtu_discover(socket, mode)?;
    } else {
        let mode = if allow { Ipv6PathMtuDiscovery::DONT } else { Ipv6PathMtuDiscovery::PROBE };
        set_ipv6_mtu_discover(socket, mode)?;
    }
    Ok(())
}

fn to_codepoint(ecn: Ecn) -> EcnCodepoint {
    match ecn {
        Ecn::Ect0 => EcnCodepoint::Ect0,
        Ecn::Ect1 => EcnCodepoint::Ect1,
        Ecn::Ce => EcnCodepoint::Ce,
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;
    use crate::BindConfig;
    use crate::socket::SEND_QUEUE_BYTES_MAX;

    fn socket() -> LocalSocket {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        LocalSocket::new(BoundSocket::bind(&BindConfig::from(any)).unwrap(), None).unwrap()
    }

    fn transmit(path: FourTuple) -> Transmit {
        Transmit::datagram(path)
    }

    async fn flush(socket: &mut LocalSocket) {
        poll_fn(|cx| {
            socket.poll_flush(cx);
            if socket.queue.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    #[tokio::test]
    async fn what_waits_for_the_kernel_is_sent_in_order_when_it_has_room() {
        let (mut from, to) = (socket(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let path = FourTuple::new(from.bound(), to.local_addr().unwrap());
        from.enqueue(
            Burst { path, source: None, ecn: None, segment: 3, may_fragment: false },
            b"onetwo",
        );
        from.send(transmit(path), b"three");
        assert_eq!(from.stats().queued, 3, "the third is not sent before those that wait");
        flush(&mut from).await;
        let mut buf = [0; 8];
        for expected in ["one", "two", "three"] {
            let len = to.recv(&mut buf).unwrap();
            assert_eq!(&buf[..len], expected.as_bytes());
        }
        let Counters { tx, lost, .. } = from.stats().counters;
        assert_eq!((tx.datagrams, tx.bytes, lost.sum()), (3, 11, 0));
    }

    #[tokio::test]
    async fn what_exceeds_the_send_queue_is_lost_and_counted() {
        let (mut from, to) = (socket(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let path = FourTuple::new(from.bound(), to.local_addr().unwrap());
        let burst = Burst { path, source: None, ecn: None, segment: 1_024, may_fragment: false };
        for _ in 0..SEND_QUEUE_BYTES_MAX / 4_096 {
            from.enqueue(burst, &[0; 4_096]);
        }
        from.send(transmit(path), b"one too many");
        assert_eq!(from.stats().counters.lost.queue_full, 1);
        flush(&mut from).await;
        from.send(transmit(path), b"room again");
        assert_eq!(from.stats().counters.lost.sum(), 1);
    }

    #[tokio::test]
    async fn an_error_while_flushing_costs_its_own_datagrams_only() {
        let (mut from, to) = (socket(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let good = FourTuple::new(from.bound(), to.local_addr().unwrap());
        let bad = FourTuple::new(from.bound(), "255.255.255.255:9".parse().unwrap());
        for path in [bad, good] {
            from.enqueue(
                Burst { path, source: None, ecn: None, segment: 5, may_fragment: false },
                b"hello",
            );
        }
        flush(&mut from).await;
        let Counters { tx, lost, .. } = from.stats().counters;
        assert_eq!((tx.datagrams, lost.not_permitted), (1, 1));
    }

    #[tokio::test]
    async fn what_comes_after_a_batch_that_took_all_wakes_the_task_again() {
        let (mut to, from) = (socket(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let (address, mut buffers) = (to.bound(), ReceiveBuffers::new());
        for round in 0..100_u8 {
            from.send_to(&[round], address).unwrap();
            poll_fn(|cx| to.poll_receive(cx, &mut buffers)).await;
            let came: Vec<_> = buffers.datagrams(address).map(|it| it.bytes.to_vec()).collect();
            assert_eq!(came, [[round]]);
        }
    }

    #[tokio::test]
    async fn more_than_a_batch_is_taken_without_anything_new() {
        let (mut to, from) = (socket(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let (address, mut buffers) = (to.bound(), ReceiveBuffers::new());
        // Their lengths keep the kernel from joining them.
        (1..=50).for_each(|len| assert_eq!(from.send_to(&[7; 50][..len], address).unwrap(), len));
        let mut lens = Vec::new();
        while lens.len() < 50 {
            poll_fn(|cx| to.poll_receive(cx, &mut buffers)).await;
            lens.extend(buffers.datagrams(address).map(|datagram| datagram.bytes.len()));
        }
        assert!(lens.iter().copied().eq(1..=50), "{lens:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_leaves_wakes_no_thread() {
        let (mut from, to) = (socket(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let path = FourTuple::new(from.bound(), to.local_addr().unwrap());
        let metrics = tokio::runtime::Handle::current().metrics();
        let before = metrics.worker_park_count(0);
        for _ in 0..100 {
            from.send(transmit(path), b"hello");
            std::thread::sleep(Duration::from_micros(100));
        }
        let parked = metrics.worker_park_count(0) - before;
        assert!(parked < 10, "the runtime's thread went back to sleep {parked} times");
    }
}
