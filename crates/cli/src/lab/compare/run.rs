//! One run: a tool, its links, and the stream through both.

use std::net::{Ipv4Addr, UdpSocket as StdSocket};
use std::time::Duration;

use anabranch_driver::emulator::{EmulatedLink, EmulatedLinkStats, Emulator, EmulatorConfig};
use anabranch_netsim::DuplexConfig;
use serde::Serialize;
use tokio::net::UdpSocket;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::process::{Cost, Running};
use super::scenario::{ONE_WAY, Scenario};
use super::stream::{Meter, Received, Stream};
use super::tool::{Entrant, Ports};
use crate::failure::Failure;

/// How long a receiver gets to listen before its sender starts.
const HEAD_START: Duration = Duration::from_millis(300);
/// By how much a packet may be later than link and buffer together: what a tool's own clockwork,
/// and a machine that does other things, too, may take.
pub(super) const TOLERANCE: Duration = Duration::from_millis(100);
/// What is sent before measuring begins, so that connections stand.
pub(super) const WARM_UP: Duration = Duration::from_secs(3);
/// No UDP datagram is longer.
const LONGEST: usize = 65_536;

/// What a run showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Measured {
    #[serde(flatten)]
    pub(super) received: Received,
    /// IP bytes that were sent over links towards the receiver, beyond the stream, in percent of
    /// it.
    pub(super) overhead_percent: f64,
    /// IP bytes that came back over links, in percent of the stream.
    pub(super) return_percent: f64,
    /// CPU seconds of both programs for 10^9 bytes that arrived.
    pub(super) cpu_s_per_gb: f64,
    /// The larger one's memory, in 10^6 bytes.
    pub(super) peak_memory_mb: f64,
}

/// Runs it. `None`: the tool cannot do that.
pub(super) async fn run(
    tool: Entrant,
    scenario: &Scenario,
    seed: u64,
    span: Duration,
) -> Result<Option<Measured>, Failure> {
    if scenario.is_cut && !tool.tool.bonds() {
        return Ok(None);
    }
    let links = vec![DuplexConfig::from(scenario.link()); if scenario.is_cut { 2 } else { 1 }];
    let mut bench = Bench::start(tool, &links, scenario.buffer, seed, Meter::default()).await?;
    bench.stream_for(WARM_UP, |_| Ok(())).await?;
    let before = bench.stand();
    bench.begin();
    let begun = Instant::now();
    let third = span / 3;
    let mut is_cut = false;
    bench
        .stream_for(span, |bench| {
            let is_to_be_cut = scenario.is_cut && (third..2 * third).contains(&begun.elapsed());
            if is_to_be_cut == is_cut {
                return Ok(());
            }
            is_cut = is_to_be_cut;
            let (link, emulator) = (name(0), &bench.emulator);
            let changed = if is_cut { emulator.cut(&link) } else { emulator.restore(&link) };
            changed.map_err(Failure::failed)
        })
        .await?;
    bench.listen_for(scenario.buffer + 2 * ONE_WAY + TOLERANCE).await?;
    let after = bench.stand();
    let measured = before.until(&after, bench.stream(), scenario.buffer);
    bench.stop().await?;
    Ok(Some(measured))
}

/// A tool's programs, the links between them, and both ends of the stream.
pub(super) struct Bench<S> {
    emulator: Emulator,
    /// How long the links ran before the stream.
    head_start: Duration,
    sender: Running,
    receiver: Running,
    source: UdpSocket,
    sink: UdpSocket,
    stream: S,
    /// Time zero of the stream.
    begun: Instant,
    buffer: Vec<u8>,
}

/// What was used up to some time.
struct Stand {
    cost: Cost,
    up: u64,
    down: u64,
}

impl<S: Stream> Bench<S> {
    pub(super) async fn start(
        tool: Entrant,
        links: &[DuplexConfig],
        buffer: Duration,
        seed: u64,
        stream: S,
    ) -> Result<Self, Failure> {
        let sink = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let [input, receiver] = [free_port()?, free_port()?];
        let emulator = emulator(links, receiver, seed)?;
        let links_begun = Instant::now();
        let entrances = emulator.stats().iter().map(|link| link.listen.port()).collect();
        let output = sink.local_addr()?.port();
        let ports = Ports { input, links: entrances, receiver, output };
        let receiver = Running::start(tool.receiver(&ports, buffer)?)?;
        sleep_until(Instant::now() + HEAD_START).await;
        let sender = Running::start(tool.sender(&ports, buffer)?)?;
        let source = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        source.connect((Ipv4Addr::LOCALHOST, input)).await?;
        Ok(Self {
            emulator,
            head_start: links_begun.elapsed(),
            sender,
            receiver,
            source,
            sink,
            stream,
            begun: Instant::now(),
            buffer: vec![0; LONGEST],
        })
    }

    /// Streams until something comes out; returns after what time that was.
    pub(super) async fn first_packet(
        &mut self,
        patience: Duration,
    ) -> Result<Option<Duration>, Failure> {
        let mut ticks = interval(Duration::from_millis(1));
        while self.passed() < patience {
            tokio::select! {
                _ = ticks.tick() => self.send_due().await,
                received = self.sink.recv(&mut self.buffer) => self.take(received?),
            }
            if self.stream.has_any() {
                return Ok(Some(self.passed()));
            }
        }
        Ok(None)
    }

    /// What was sent before does not count.
    pub(super) fn begin(&mut self) {
        self.stream.begin();
    }

    pub(super) fn stream(&self) -> &S {
        &self.stream
    }

    /// How long the links ran before the stream.
    pub(super) fn head_start(&self) -> Duration {
        self.head_start
    }

    fn passed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Sends and receives, and lets `act` look at it every millisecond.
    pub(super) async fn stream_for(
        &mut self,
        span: Duration,
        mut act: impl FnMut(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let end = Instant::now() + span;
        let mut ticks = interval(Duration::from_millis(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while Instant::now() < end {
            tokio::select! {
                _ = ticks.tick() => {
                    self.send_due().await;
                    act(self)?;
                }
                received = self.sink.recv(&mut self.buffer) => self.take(received?),
            }
        }
        Ok(())
    }

    /// Receives what is still under way.
    pub(super) async fn listen_for(&mut self, span: Duration) -> Result<(), Failure> {
        let end = Instant::now() + span;
        while let Ok(received) = timeout_at(end, self.sink.recv(&mut self.buffer)).await {
            self.take(received?);
        }
        Ok(())
    }

    async fn send_due(&mut self) {
        while self.stream.next_at().is_some_and(|at| at <= self.passed()) {
            let datagram = self.stream.send(self.passed());
            // A sender that does not listen yet is one that loses the beginning.
            let _refused = self.source.send(&datagram).await;
        }
    }

    fn take(&mut self, len: usize) {
        let now = self.passed();
        self.stream.take(now, self.buffer.get(..len).unwrap_or_default());
    }

    fn stand(&self) -> Stand {
        let stats = self.emulator.stats();
        let sum = |bytes: fn(&EmulatedLinkStats) -> u64| stats.iter().map(bytes).sum();
        Stand {
            cost: self.sender.cost().with(self.receiver.cost()),
            up: sum(|link| link.up.offered.bytes),
            down: sum(|link| link.down.offered.bytes),
        }
    }

    pub(super) async fn stop(self) -> Result<(), Failure> {
        self.sender.stop().await?;
        self.receiver.stop().await?;
        self.emulator.close();
        self.emulator.closed().await.map_err(Failure::failed)
    }
}

impl Stand {
    fn until(&self, end: &Self, meter: &Meter, buffer: Duration) -> Measured {
        let (sent, came) = meter.bytes();
        let of_stream = |bytes: u64| 100.0 * bytes as f64 / sent.max(1) as f64;
        let cpu = (end.cost.cpu - self.cost.cpu).as_secs_f64();
        Measured {
            received: meter.judge(ONE_WAY, ONE_WAY + buffer + TOLERANCE),
            overhead_percent: of_stream(end.up - self.up) - 100.0,
            return_percent: of_stream(end.down - self.down),
            cpu_s_per_gb: cpu / (came.max(1) as f64 / 1e9),
            peak_memory_mb: end.cost.peak_memory as f64 / 1e6,
        }
    }
}

fn emulator(links: &[DuplexConfig], receiver: u16, seed: u64) -> Result<Emulator, Failure> {
    let links = links.iter().enumerate().map(|(n, config)| EmulatedLink {
        name: name(n),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        target: (Ipv4Addr::LOCALHOST, receiver).into(),
        up: config.forward.clone(),
        down: config.backward.clone(),
    });
    let config = EmulatorConfig { links: links.collect(), seed };
    Emulator::spawn(config).map_err(Failure::failed)
}

fn name(link: usize) -> String {
    format!("link {link}")
}

/// An even port, as RIST wants it, that was free just now.
fn free_port() -> Result<u16, Failure> {
    loop {
        let socket = StdSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = socket.local_addr()?.port();
        if port % 2 == 0 {
            return Ok(port);
        }
    }
}
