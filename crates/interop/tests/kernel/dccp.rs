//! The kernel's DCCP, straight on IP: connections either way, under CCID 2.
//!
//! User-mode Linux has no CCID 3.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use anabranch_dccp::wire::{ResetCode, ServiceCode};
use anabranch_dccp::{
    Ccid, CloseReason, Config, ConnectError, Connection, ConnectionId, Encapsulation, Endpoint,
    EndpointConfig, Event,
};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use bytes::Bytes;
use libtest_mimic::Trial;
use socket2::{Domain, Protocol, Socket, Type};

use crate::control::Control;
use crate::trial;

const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);
const KERNELS: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 2);
const SERVICE: ServiceCode = ServiceCode(0x616e_6162);
const OTHER_SERVICE: ServiceCode = ServiceCode(7);

/// IP's number for DCCP.
const PROTOCOL: i32 = 33;

/// How often the socket is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// As much as 2 MB.
const DATAGRAMS: usize = 2_000;
const LEN: usize = 1_000;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(dccp_carries_2_mb_to_the_kernel),
        trial(dccp_carries_2_mb_from_the_kernel),
        trial(dccp_carries_on_where_1_percent_is_lost),
        trial(dccp_carries_on_where_5_percent_is_lost),
        trial(we_agree_with_the_kernel_on_the_dccp_congestion_control_that_it_has),
        trial(the_kernels_server_has_our_dccp_client_wait),
        trial(our_dccp_server_has_the_kernels_client_wait),
        trial(the_kernel_refuses_another_dccp_service),
        trial(we_refuse_another_dccp_service),
        trial(a_dccp_port_where_the_kernel_does_not_listen_refuses_us),
    ]
}

async fn dccp_carries_2_mb_to_the_kernel() {
    let (mut host, mut kernel) = we_called(0.0, &tcp_like()).await;
    let found = host.send_all(&mut kernel).await;
    assert_eq!(found, DATAGRAMS);
    assert_eq!(host.closed().await, CloseReason::Finished);
}

async fn dccp_carries_2_mb_from_the_kernel() {
    let (mut host, mut kernel) = kernel_called(0.0, &Config::default()).await;
    kernel.request(&format!("dccp_send {DATAGRAMS} {LEN}"), b"").await;
    host.until(|host| host.received.len() == DATAGRAMS).await;
    let numbers: Vec<usize> = host.received.iter().map(number_of).collect();
    assert!(numbers.iter().copied().eq(0..DATAGRAMS), "each of them, in order");
    kernel.answer().await;
    kernel.request("close", b"").await;
    assert_eq!(host.closed().await, CloseReason::Finished);
}

async fn dccp_carries_on_where_1_percent_is_lost() {
    carries_on(0.01).await;
}

async fn dccp_carries_on_where_5_percent_is_lost() {
    carries_on(0.05).await;
}

/// What is lost is lost both ways, so that acknowledgements are, too.
async fn carries_on(loss: f64) {
    let (mut host, mut kernel) = we_called(loss, &tcp_like()).await;
    let found = host.send_all(&mut kernel).await;
    let least = (DATAGRAMS as f64 * (1.0 - 2.0 * loss)) as usize;
    assert!((least..DATAGRAMS).contains(&found), "{found} datagrams at the kernel");
    let (mut host, mut kernel) = kernel_called(loss, &Config::default()).await;
    kernel.request(&format!("dccp_send {DATAGRAMS} {LEN}"), b"").await;
    let mut is_sent = false;
    while !is_sent {
        tokio::select! {
            _ = kernel.answer() => is_sent = true,
            () = host.turn() => {}
        }
    }
    host.run_for(Duration::from_secs(1)).await;
    let found = host.received.len();
    assert!((least..DATAGRAMS).contains(&found), "{found} datagrams of the kernel");
}

/// Whoever asks: we would rather have CCID 3, and the kernel confirms what it has, with the Ack
/// Vectors that go with it.
async fn we_agree_with_the_kernel_on_the_dccp_congestion_control_that_it_has() {
    let ccids = vec![Ccid::Tfrc, Ccid::TcpLike];
    let config = Config { send_ccids: ccids.clone(), receive_ccids: ccids, ..Config::default() };
    for (mut host, _kernel) in [we_called(0.0, &config).await, kernel_called(0.0, &config).await] {
        let sent = host.with(|connection, _| connection.send(datagram(0)));
        sent.expect("an open connection");
        host.run_for(Duration::from_millis(500)).await;
        let stats = host.with(|connection, _| connection.stats());
        assert_eq!((host.closed, stats.congestion.ccid), (None, Ccid::TcpLike as u8));
        assert!(stats.congestion.rtt.is_some(), "it is acknowledged: {stats:?}");
    }
}

async fn the_kernels_server_has_our_dccp_client_wait() {
    let (mut host, mut kernel) = we_called(0.0, &tcp_like()).await;
    kernel.request("close", b"").await;
    assert_eq!(host.closed().await, CloseReason::Finished);
    assert_eq!(host.endpoint.connections().count(), 1, "it waits in TIMEWAIT");
}

async fn our_dccp_server_has_the_kernels_client_wait() {
    let (mut host, mut kernel) = kernel_called(0.0, &Config::default()).await;
    host.with(Connection::close);
    // The kernel tells its application, and answers our CloseReq when that closes.
    kernel.request("dccp_count", b"").await;
    let (words, _) = host.while_waiting(kernel.answer()).await;
    assert_eq!(words, ["count", "0", "0"], "it reads the end");
    kernel.request("close", b"").await;
    assert_eq!(host.closed().await, CloseReason::Finished);
    assert_eq!(host.endpoint.connections().count(), 0, "the kernel waits in TIMEWAIT");
}

async fn the_kernel_refuses_another_dccp_service() {
    let mut kernel = Control::open().await;
    let port = fresh_port();
    kernel.call(&format!("dccp_listen {port} {}", OTHER_SERVICE.0), b"").await;
    let mut host = Host::new(0.0);
    host.call(port, &tcp_like()).expect("a port of its own");
    assert_eq!(host.closed().await, CloseReason::Reset(ResetCode::BAD_SERVICE_CODE));
}

async fn we_refuse_another_dccp_service() {
    let port = fresh_port();
    let (mut host, mut kernel) = (Host::new(0.0), Control::open().await);
    host.endpoint.listen(port, vec![OTHER_SERVICE], Config::default());
    kernel.request(&format!("dccp_connect {OURS} {port} {}", SERVICE.0), b"").await;
    let words = host.while_waiting(kernel.answer()).await.0;
    assert_eq!(words, ["error", "EBADRQC"]);
}

async fn a_dccp_port_where_the_kernel_does_not_listen_refuses_us() {
    let mut host = Host::new(0.0);
    host.call(fresh_port(), &tcp_like()).expect("a port of its own");
    let reason = host.closed().await;
    let refused = [ResetCode::CONNECTION_REFUSED, ResetCode::NO_CONNECTION];
    assert!(refused.map(CloseReason::Reset).contains(&reason), "{reason:?}");
}

fn tcp_like() -> Config {
    Config::with_ccid(Ccid::TcpLike)
}

/// A connection that we asked for.
async fn we_called(loss: f64, config: &Config) -> (Host, Control) {
    let mut kernel = Control::open().await;
    let port = fresh_port();
    kernel.call(&format!("dccp_listen {port} {}", SERVICE.0), b"").await;
    let mut host = Host::new(loss);
    host.call(port, config).expect("a port of its own");
    host.until(|host| host.is_connected).await;
    kernel.request("dccp_accept", b"").await;
    let (words, _) = host.while_waiting(kernel.answer()).await;
    assert_eq!(words, ["ok"]);
    (host, kernel)
}

/// A connection that the kernel asked for.
async fn kernel_called(loss: f64, config: &Config) -> (Host, Control) {
    let (mut host, mut kernel) = (Host::new(loss), Control::open().await);
    let port = fresh_port();
    host.endpoint.listen(port, vec![SERVICE], config.clone());
    kernel.request(&format!("dccp_connect {OURS} {port} {}", SERVICE.0), b"").await;
    let (words, _) = host.while_waiting(kernel.answer()).await;
    assert_eq!(words, ["ok"]);
    host.until(|host| host.is_connected).await;
    (host, kernel)
}

fn fresh_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(43_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Our endpoint on a raw socket.
struct Host {
    endpoint: Endpoint,
    socket: Socket,
    start: Instant,
    rng: Rng,
    /// How much of what comes and goes is lost.
    loss: f64,
    id: Option<ConnectionId>,
    is_connected: bool,
    closed: Option<CloseReason>,
    received: Vec<Bytes>,
}

impl Host {
    fn new(loss: f64) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(PROTOCOL)));
        let socket = socket.expect("a raw socket");
        socket.set_nonblocking(true).expect("an option of every socket");
        socket.set_recv_buffer_size(4 << 20).expect("an option of every socket");
        socket.bind(&SocketAddr::from((OURS, 0)).into()).expect("our address");
        let encapsulation = Encapsulation::Ip;
        let config = EndpointConfig { encapsulation, ..EndpointConfig::default() };
        let mut rng = Rng::from_u64(fresh_port().into());
        Self {
            endpoint: Endpoint::new(config, rng.fork()),
            socket,
            start: Instant::now(),
            rng,
            loss,
            id: None,
            is_connected: false,
            closed: None,
            received: Vec::new(),
        }
    }

    fn now(&self) -> Time {
        Time::from_secs(1) + self.start.elapsed()
    }

    fn call(&mut self, port: u16, config: &Config) -> Result<(), ConnectError> {
        let ports = (fresh_port(), port);
        let path = FourTuple::new((OURS, ports.0).into(), (KERNELS, ports.1).into());
        let connected = self.endpoint.connect(self.now(), path, ports, SERVICE, config.clone());
        self.id = Some(connected?);
        Ok(())
    }

    fn with<T>(&mut self, action: impl FnOnce(&mut Connection, Time) -> T) -> T {
        let now = self.now();
        let connection = self.id.and_then(|id| self.endpoint.connection_mut(id));
        action(connection.expect("a connection"), now)
    }

    /// Sends all, closes, and returns how many datagrams the kernel read.
    async fn send_all(&mut self, kernel: &mut Control) -> usize {
        kernel.request("dccp_count", b"").await;
        let mut sent = 0;
        while sent < DATAGRAMS {
            self.with(|connection, _| {
                while sent < DATAGRAMS && connection.send(datagram(sent)).is_ok() {
                    sent += 1;
                }
            });
            self.turn().await;
        }
        self.with(Connection::close);
        let (words, _) = self.while_waiting(kernel.answer()).await;
        words.get(1).and_then(|count| count.parse().ok()).expect("a count")
    }

    async fn closed(&mut self) -> CloseReason {
        self.until(|host| host.closed.is_some()).await;
        self.closed.expect("it is closed")
    }

    async fn until(&mut self, is_done: impl Fn(&Self) -> bool) {
        while !is_done(self) {
            self.turn().await;
        }
    }

    async fn run_for(&mut self, span: Duration) {
        let end = self.start.elapsed() + span;
        self.until(|host| host.start.elapsed() >= end).await;
    }

    /// Goes on until something else is done.
    async fn while_waiting<T>(&mut self, other: impl Future<Output = T>) -> T {
        tokio::pin!(other);
        loop {
            tokio::select! {
                done = &mut other => return done,
                () = self.turn() => {}
            }
        }
    }

    /// Receives and sends what there is, and then waits a little for more. May be left at any time.
    async fn turn(&mut self) {
        self.work();
        let wakeup = self.endpoint.poll_timeout().map(|wakeup| wakeup.at - self.now());
        let pause = wakeup.unwrap_or(LOOK_EVERY).min(LOOK_EVERY);
        tokio::time::sleep(pause).await;
    }

    fn work(&mut self) {
        while let Ok((packet, source)) = self.read() {
            let now = self.now();
            let path = FourTuple::new((OURS, 0).into(), (source, 0).into());
            self.endpoint.handle_datagram(now, Datagram { path, ecn: None, bytes: &packet });
        }
        let now = self.now();
        if self.endpoint.poll_timeout().is_some_and(|wakeup| wakeup.at <= now) {
            self.endpoint.handle_timeout(now);
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.id = Some(id);
            self.is_connected |= event == Event::Connected;
            if let Event::Closed(reason) = event {
                self.closed = Some(reason);
            }
            if let Some(connection) = self.endpoint.connection_mut(id) {
                self.received.extend(std::iter::from_fn(|| connection.receive()));
            }
        }
        let mut buf = Vec::new();
        while let Some(transmit) = self.endpoint.poll_transmit(now, &mut buf) {
            if !self.rng.chance(self.loss) {
                let to = SocketAddr::new(transmit.path.remote.ip(), 0);
                // What the socket does not take is lost.
                let _sent = self.socket.send_to(&buf, &to.into());
            }
            buf.clear();
        }
    }

    /// The next packet, without its IP header, and who sent it.
    fn read(&mut self) -> io::Result<(Vec<u8>, IpAddr)> {
        loop {
            let mut buf = [0; 4_096];
            let len = io::Read::read(&mut &self.socket, &mut buf)?;
            let header_len = usize::from(buf[0] & 0xf) * 4;
            let source = Ipv4Addr::new(buf[12], buf[13], buf[14], buf[15]);
            let packet = buf.get(header_len..len).unwrap_or_default();
            if source == KERNELS && !self.rng.chance(self.loss) {
                return Ok((packet.to_vec(), source.into()));
            }
        }
    }
}

/// A datagram that begins with its number.
fn datagram(number: usize) -> Bytes {
    let mut data = (number as u32).to_be_bytes().to_vec();
    data.resize(LEN, b'x');
    data.into()
}

fn number_of(data: &Bytes) -> usize {
    let number = data.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    number.expect("a number") as usize
}
