//! quinn over the live emulator beside quinn-proto in the simulator: whether the one may stand for
//! the other.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anabranch_driver::emulator::{EmulatedLink, Emulator, EmulatorConfig};
use anabranch_lab::Estimate;
use anabranch_lab::scenario::{Files, Scenario, Watching};
use anabranch_netsim::{LinkConfig, Loss, QueueLimit};
use anabranch_sansio::Rate;
use quinn::{ClientConfig, TransportConfig, VarInt};
use tokio::runtime;
use tokio::time::{Instant, timeout_at};

use crate::{quic, udp};

/// The link: its rate, its delay in one direction, and what its queue holds.
const MBPS: u64 = 50;
const DELAY: Duration = Duration::from_millis(20);
const QUEUE: Duration = Duration::from_millis(40);

/// Losses, in percent.
const LOSSES: [f64; 3] = [0.0, 0.1, 1.0];

/// Bytes of an IP packet at most, and of those what IPv4 and UDP take.
const MTU: u16 = 1_500;
const HEADERS: u16 = 28;

/// Bytes that wait to be sent, and to be read.
const BUFFER: u32 = 4 << 20;

/// A loss, and the goodput there in Mbit/s.
#[derive(Debug)]
pub(crate) struct Row {
    loss: f64,
    emulated: Estimate,
    simulated: Estimate,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { loss, emulated, simulated } = self;
        write!(
            f,
            "loss {loss} %: quinn over the emulator {:.2} ± {:.2} Mbit/s, quinn-proto in the \
             simulator {:.2} ± {:.2}: {:.3} of it",
            emulated.mean,
            emulated.half_width,
            simulated.mean,
            simulated.half_width,
            simulated.mean / emulated.mean
        )
    }
}

/// One connection with one stream that always has more to send, each way of running it `runs`
/// times for so long, from before the handshake on.
pub(crate) fn measure(
    span: Duration,
    runs: u64,
    mut show: impl FnMut(Row) -> io::Result<()>,
) -> io::Result<()> {
    for loss in LOSSES {
        let each = |run: fn(f64, u64, Duration) -> io::Result<f64>| {
            let figures = (1..=runs).map(|seed| run(loss, seed, span));
            figures.collect::<io::Result<Vec<_>>>().map(|figures| Estimate::of(&figures))
        };
        show(Row { loss, emulated: each(emulated)?, simulated: each(simulated)? })?;
    }
    Ok(())
}

fn simulated(loss: f64, seed: u64, span: Duration) -> io::Result<f64> {
    let text = format!(
        "duration = \"{span:?}\"
        [[links]]
        name = \"bottleneck\"
        between = [\"client\", \"server\"]
        rate = \"{MBPS}M\"
        delay = \"{DELAY:?}\"
        queue = \"{QUEUE:?}\"
        loss = \"{loss}%\"
        [[flows]]
        name = \"quic\"
        kind = \"quic\"
        controller = \"cubic\"
        send_buffer = \"{BUFFER}\"
        receive_buffer = \"{BUFFER}\"
        mtu = {MTU}
        "
    );
    let nothing = Files::new(|file| Err(format!("{file} is not there")));
    let scenario = Scenario::read(&text, &[], &nothing).map_err(io::Error::other)?;
    let outcome = scenario.run(seed, Watching::default()).map_err(io::Error::other)?;
    outcome.flows.first().map(|flow| flow.goodput_bps / 1e6).ok_or_else(|| io::Error::other(text))
}

fn emulated(loss: f64, seed: u64, span: Duration) -> io::Result<f64> {
    runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(cross(loss, seed, span))
}

async fn cross(loss: f64, seed: u64, span: Duration) -> io::Result<f64> {
    let (server, client) = quic::configs(&Arc::new(transport()))?;
    let socket = udp::socket()?;
    let target = socket.local_addr()?;
    let server = quic::endpoint(socket, Some(server))?;
    let emulator = emulator(loss, seed, target)?;
    let entrance = emulator.listens_at("bottleneck").map_err(io::Error::other)?;
    let end = Instant::now() + span;
    let sender = tokio::spawn(send(client, entrance));
    let mut bytes = 0;
    let ended = timeout_at(end, receive(&server, &mut bytes)).await;
    sender.abort();
    emulator.close();
    match ended {
        Err(_its_time_is_over) => Ok(bytes as f64 * 8.0 / span.as_secs_f64() / 1e6),
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) => Err(io::Error::other("the stream ended before its time")),
    }
}

/// Sends without an end.
async fn send(client: ClientConfig, to: SocketAddr) -> io::Result<()> {
    let endpoint = quic::endpoint(udp::socket()?, None)?;
    let connecting = endpoint.connect_with(client, to, quic::SERVER).map_err(io::Error::other)?;
    let mut stream = connecting.await?.open_uni().await?;
    let message = vec![0x5a; 1 << 16];
    loop {
        stream.write_all(&message).await?;
    }
}

/// Counts what comes, until the stream ends.
async fn receive(endpoint: &quinn::Endpoint, bytes: &mut u64) -> io::Result<()> {
    let incoming = endpoint.accept().await.ok_or(io::ErrorKind::NotConnected)?;
    let mut stream = incoming.await?.accept_uni().await?;
    while let Some(chunk) = stream.read_chunk(usize::MAX, true).await.map_err(io::Error::other)? {
        *bytes += chunk.bytes.len() as u64;
    }
    Ok(())
}

fn emulator(loss: f64, seed: u64, target: SocketAddr) -> io::Result<Emulator> {
    let rate = Rate::mbps(MBPS);
    let link = LinkConfig {
        rate: Some(rate),
        delay: DELAY,
        queue: QueueLimit::lasting(QUEUE, rate),
        loss: Loss::uniform(loss / 100.0),
        ..LinkConfig::default()
    };
    let link = EmulatedLink {
        name: "bottleneck".to_owned(),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        target,
        up: link.clone(),
        down: link,
    };
    Emulator::spawn(EmulatorConfig { links: vec![link], seed }).map_err(io::Error::other)
}

/// As scenarios have it.
fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(MTU - HEADERS)
        .mtu_discovery_config(None)
        .send_window(BUFFER.into())
        .stream_receive_window(VarInt::from_u32(BUFFER))
        .receive_window(VarInt::from_u32(BUFFER))
        .max_idle_timeout(None);
    transport
}
