//! How fast simulated time passes: two paths in full use, every packet a real one.

mod ns2;

use std::fmt;
use std::io;
use std::time::Duration;

use anabranch_netsim::{CLIENT, DuplexConfig, LinkConfig, Pair, QueueLimit, SERVER, Side};
use anabranch_sansio::{FourTuple, Rate, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, Endpoint, EndpointConfig, Event,
    OutgoingMessage, PathId, PathPreference, PathSchedulerKind, RetransmissionPolicy,
};
use anabranch_wire::StreamId;
use bytes::Bytes;

use crate::cpu;

/// Each path's rate.
const MBPS: u64 = 30;

/// Each path's delay, one way.
const DELAY: Duration = Duration::from_millis(5);

/// What each path's queue holds, in time at its rate.
const QUEUE: Duration = Duration::from_millis(50);

/// The largest packet.
const MTU: u16 = 1_500;

/// SCTP's own ports.
const PORTS: (u16, u16) = (5_000, 5_000);

/// Who fills the two paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filler {
    /// Our defaults for media, a stream on each path.
    Media,
    /// Concurrent multipath transfer by RFC 9260's congestion control (Iyengar 2006).
    Cmt,
    /// The same in ns-2.
    Ns2,
}

/// What a run came to.
struct Pace {
    filler: Filler,
    simulated: Duration,
    cpu: Duration,
    /// Of both paths: what arrived, without headers.
    goodput_mbps: f64,
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.filler {
            Filler::Media => "anabranch, defaults for media",
            Filler::Cmt => "anabranch, CMT",
            Filler::Ns2 => "ns-2, CMT",
        };
        let ratio = self.simulated.as_secs_f64() / self.cpu.as_secs_f64();
        write!(f, "{name:<32}{ratio:>6.0}{:>14.1}", self.goodput_mbps)
    }
}

/// Simulates an association that always has more to send for both paths, as we have it and, if
/// wanted, as ns-2 has it, and shows a row of each.
///
/// # Errors
///
/// A run that fails, ns-2 that is not installed, or `show`'s.
pub(crate) fn measure(
    simulated: Duration,
    with_ns2: bool,
    mut show: impl FnMut(String) -> io::Result<()>,
) -> io::Result<()> {
    show(format!("two paths of {MBPS} Mbit/s in full use by one association"))?;
    show(format!("{:<32}{:>6}{:>14}", "", "pace", "Mbit/s"))?;
    for filler in [Filler::Media, Filler::Cmt] {
        show(run(filler, simulated)?.to_string())?;
    }
    if with_ns2 {
        show(ns2::run(simulated)?.to_string())?;
    }
    show("pace: simulated seconds per CPU second".to_owned())
}

fn run(filler: Filler, simulated: Duration) -> io::Result<Pace> {
    let mut pair = pair(filler);
    let paths: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses).collect();
    let connect =
        |endpoint: &mut Endpoint, now| endpoint.connect(now, &paths, PORTS, config(filler));
    let client = pair.act_client(connect).map_err(io::Error::other)?.map_err(io::Error::other)?;
    let start = cpu::of_thread();
    let mut received = 0;
    let end = Time::ZERO + simulated;
    while pair.now() < end {
        pair.run_for(Duration::from_millis(20)).map_err(io::Error::other)?;
        pair.act_client(|endpoint, now| refill(endpoint, now, client, filler))
            .map_err(io::Error::other)?;
        pair.sim.take_events(CLIENT);
        for (id, event) in pair.sim.take_events(SERVER) {
            if event == Event::Readable {
                received +=
                    pair.act_server(|endpoint, _| read(endpoint, id)).map_err(io::Error::other)?;
            }
        }
    }
    let cpu = cpu::of_thread() - start;
    let goodput_mbps = received as f64 * 8.0 / simulated.as_secs_f64() / 1e6;
    Ok(Pace { filler, simulated, cpu, goodput_mbps })
}

fn pair(filler: Filler) -> Pair<Endpoint> {
    let rate = Rate::mbps(MBPS);
    let link = LinkConfig {
        rate: Some(rate),
        delay: DELAY,
        queue: QueueLimit::lasting(QUEUE, rate),
        ..LinkConfig::default()
    };
    let links: [DuplexConfig; 2] = [link.clone().into(), link.into()];
    Pair::new(1, &links, |side, paths, rng| {
        let accept = side == Side::Server;
        let config =
            EndpointConfig { accept, association: config(filler), ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, rng);
        endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
        endpoint
    })
}

fn config(filler: Filler) -> AssociationConfig {
    let config = match filler {
        Filler::Media => AssociationConfig::media(),
        Filler::Cmt | Filler::Ns2 => AssociationConfig::default().with(|config| {
            config.paths.path_scheduler = PathSchedulerKind::AsWindowAllows;
            config.recovery.retransmission_policy = RetransmissionPolicy::Ssthresh;
            config.extensions.cmt_delayed_ack = true;
            config.buffers.send_buffer = 4 << 20;
            config.buffers.receive_buffer = 4 << 20;
        }),
    };
    config.with(|config| config.paths.path_mtu = MTU.into())
}

/// Hands over messages of one packet until the queue is full: one of several fragments would hold
/// the other path up while its own is full. CMT chooses the path of each; media has a stream on
/// each.
fn refill(endpoint: &mut Endpoint, now: Time, id: AssociationId, filler: Filler) {
    let Some(association) = endpoint.association_mut(id) else { return };
    let payload = Bytes::from_static(&[0x5a; 1_400]);
    loop {
        for path in [0_u16, 1] {
            let mut message = OutgoingMessage::new(StreamId(path), payload.clone());
            if filler == Filler::Media {
                message.path = PathPreference::Prefer(PathId(path.into()));
            }
            if association.send(now, message).is_err() {
                return;
            }
        }
    }
}

fn read(endpoint: &mut Endpoint, id: AssociationId) -> usize {
    let messages = |association: &mut Association| {
        std::iter::from_fn(|| association.receive()).map(|message| message.payload.len()).sum()
    };
    endpoint.association_mut(id).map_or(0, messages)
}
