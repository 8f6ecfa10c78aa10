//! The kernels' DCCP, straight on IP, and our endpoint on a raw socket: connections either way.

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
use socket2::{Domain, Protocol, Socket, Type};

use crate::control::Control;

/// A kernel, and how we reach it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) ours: Ipv4Addr,
    pub(crate) address: Ipv4Addr,
    pub(crate) control: Ipv4Addr,
    /// What its sockets are to insist on, if anything.
    pub(crate) ccid: Option<Ccid>,
}

const SERVICE: ServiceCode = ServiceCode(0x616e_6162);
const OTHER_SERVICE: ServiceCode = ServiceCode(7);

/// IP's number for DCCP.
const PROTOCOL: i32 = 33;

/// How often the socket is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// As much as 2 MB.
const DATAGRAMS: usize = 2_000;
const LEN: usize = 1_000;

impl Kernel {
    pub(crate) async fn carries_2_mb_to_us(self, config: &Config) {
        let (mut host, mut kernel) = self.calls(0.0, config).await;
        kernel.request(&format!("dccp_send {DATAGRAMS} {LEN}"), b"").await;
        host.until(|host| host.received.len() == DATAGRAMS).await;
        let numbers: Vec<usize> = host.received.iter().map(number_of).collect();
        assert!(numbers.iter().copied().eq(0..DATAGRAMS), "each of them, in order");
        kernel.answer().await;
        kernel.request("close", b"").await;
        assert_eq!(host.closed().await, CloseReason::Finished);
    }

    pub(crate) async fn takes_2_mb_of_ours(self, config: &Config) {
        let (mut host, mut kernel) = self.is_called(0.0, config).await;
        let found = host.send_all(&mut kernel).await;
        assert_eq!(found, DATAGRAMS);
        assert_eq!(host.closed().await, CloseReason::Finished);
    }

    /// What is lost is lost both ways, so that acknowledgements are, too.
    pub(crate) async fn carries_on(self, loss: f64, config: &Config) {
        let (mut host, mut kernel) = self.is_called(loss, config).await;
        let found = host.send_all(&mut kernel).await;
        let least = (DATAGRAMS as f64 * (1.0 - 2.0 * loss)) as usize;
        assert!((least..DATAGRAMS).contains(&found), "{found} datagrams at the kernel");
        let (mut host, mut kernel) = self.calls(loss, config).await;
        kernel.request(&format!("dccp_send {DATAGRAMS} {LEN}"), b"").await;
        host.while_waiting(kernel.answer()).await;
        host.run_for(Duration::from_secs(1)).await;
        let found = host.received.len();
        assert!((least..DATAGRAMS).contains(&found), "{found} datagrams of the kernel");
    }

    /// Whoever asks.
    pub(crate) async fn agrees_on(self, ccid: Ccid, config: &Config) {
        let called = [self.is_called(0.0, config).await, self.calls(0.0, config).await];
        for (mut host, _kernel) in called {
            let sent = host.with(|connection, _| connection.send(datagram(0)));
            sent.expect("an open connection");
            host.run_for(Duration::from_millis(500)).await;
            let stats = host.with(|connection, _| connection.stats());
            assert_eq!((host.closed, stats.congestion.ccid), (None, ccid as u8));
            assert!(stats.congestion.rtt.is_some(), "it is acknowledged: {stats:?}");
        }
    }

    pub(crate) async fn as_a_server_has_our_client_wait(self, config: &Config) {
        let (mut host, mut kernel) = self.is_called(0.0, config).await;
        kernel.request("close", b"").await;
        assert_eq!(host.closed().await, CloseReason::Finished);
        assert_eq!(host.endpoint.connections().count(), 1, "it waits in TIMEWAIT");
    }

    pub(crate) async fn as_a_client_waits_for_our_server(self, config: &Config) {
        let (mut host, mut kernel) = self.calls(0.0, config).await;
        host.with(Connection::close);
        // The kernel tells its application, and answers our CloseReq when that closes.
        kernel.request("dccp_count", b"").await;
        let (words, _) = host.while_waiting(kernel.answer()).await;
        assert_eq!(words, ["count", "0", "0"], "it reads the end");
        kernel.request("close", b"").await;
        assert_eq!(host.closed().await, CloseReason::Finished);
        assert_eq!(host.endpoint.connections().count(), 0, "the kernel waits in TIMEWAIT");
    }

    pub(crate) async fn refuses_another_service(self, config: &Config) {
        let mut kernel = Control::open_at(self.control).await;
        let port = fresh_port();
        kernel.call(&self.request(&format!("dccp_listen {port}"), OTHER_SERVICE), b"").await;
        let mut host = Host::new(self, 0.0);
        host.call(port, config).expect("a port of its own");
        assert_eq!(host.closed().await, CloseReason::Reset(ResetCode::BAD_SERVICE_CODE));
    }

    pub(crate) async fn is_refused_another_service(self, config: &Config) {
        let port = fresh_port();
        let mut host = Host::new(self, 0.0);
        let mut kernel = Control::open_at(self.control).await;
        host.endpoint.listen(port, vec![OTHER_SERVICE], config.clone());
        kernel.request(&self.request(&self.connect_to(port), SERVICE), b"").await;
        let words = host.while_waiting(kernel.answer()).await.0;
        assert_eq!(words, ["error", "EBADRQC"]);
    }

    pub(crate) async fn refuses_us_where_it_does_not_listen(self, config: &Config) {
        let mut host = Host::new(self, 0.0);
        host.call(fresh_port(), config).expect("a port of its own");
        let reason = host.closed().await;
        let refused = [ResetCode::CONNECTION_REFUSED, ResetCode::NO_CONNECTION];
        assert!(refused.map(CloseReason::Reset).contains(&reason), "{reason:?}");
    }

    /// A connection that we asked for.
    async fn is_called(self, loss: f64, config: &Config) -> (Host, Control) {
        let mut kernel = Control::open_at(self.control).await;
        let port = fresh_port();
        kernel.call(&self.request(&format!("dccp_listen {port}"), SERVICE), b"").await;
        let mut host = Host::new(self, loss);
        host.call(port, config).expect("a port of its own");
        host.until(|host| host.is_connected).await;
        kernel.request("dccp_accept", b"").await;
        let (words, _) = host.while_waiting(kernel.answer()).await;
        assert_eq!(words, ["ok"]);
        (host, kernel)
    }

    /// A connection that the kernel asked for.
    async fn calls(self, loss: f64, config: &Config) -> (Host, Control) {
        let (mut host, mut kernel) = (Host::new(self, loss), Control::open_at(self.control).await);
        let port = fresh_port();
        host.endpoint.listen(port, vec![SERVICE], config.clone());
        kernel.request(&self.request(&self.connect_to(port), SERVICE), b"").await;
        let (words, _) = host.while_waiting(kernel.answer()).await;
        assert_eq!(words, ["ok"]);
        host.until(|host| host.is_connected).await;
        (host, kernel)
    }

    fn connect_to(self, port: u16) -> String {
        format!("dccp_connect {} {port}", self.ours)
    }

    fn request(self, words: &str, service: ServiceCode) -> String {
        let ccid = self.ccid.map(|ccid| (ccid as u8).to_string()).unwrap_or_default();
        format!("{words} {} {ccid}", service.0)
    }
}

fn fresh_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(43_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Our endpoint on a raw socket.
struct Host {
    kernel: Kernel,
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
    fn new(kernel: Kernel, loss: f64) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(PROTOCOL)));
        let socket = socket.expect("a raw socket");
        socket.set_nonblocking(true).expect("an option of every socket");
        socket.set_recv_buffer_size(4 << 20).expect("an option of every socket");
        socket.bind(&SocketAddr::from((kernel.ours, 0)).into()).expect("our address");
        let encapsulation = Encapsulation::Ip;
        let config = EndpointConfig { encapsulation, ..EndpointConfig::default() };
        let mut rng = Rng::from_u64(fresh_port().into());
        Self {
            kernel,
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
        let path = FourTuple::new(
            (self.kernel.ours, ports.0).into(),
            (self.kernel.address, ports.1).into(),
        );
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
            let path = FourTuple::new((self.kernel.ours, 0).into(), (source, 0).into());
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
            if source == self.kernel.address && !self.rng.chance(self.loss) {
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
