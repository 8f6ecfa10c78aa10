//! How fast simulated time passes: two paths in full use, every packet a real one.

use std::fmt;
use std::io;
use std::time::Duration;

use anabranch_netsim::{CLIENT, DuplexConfig, LinkConfig, Pair, QueueLimit, SERVER, Side};
use anabranch_sansio::{FourTuple, Rate, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, Endpoint, EndpointConfig, Event,
    OutgoingMessage, PathId, PathPreference,
};
use anabranch_wire::StreamId;
use bytes::Bytes;

use crate::cpu;

/// Each path's rate.
const MBPS: u64 = 30;

/// SCTP's own ports.
const PORTS: (u16, u16) = (5_000, 5_000);

/// What a run came to.
pub(crate) struct Pace {
    simulated: Duration,
    cpu: Duration,
    goodput_mbps: f64,
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.simulated.as_secs_f64() / self.cpu.as_secs_f64();
        writeln!(f, "simulator: two paths of {MBPS} Mbit/s in full use, one association")?;
        writeln!(f, "goodput of both: {:.1} Mbit/s", self.goodput_mbps)?;
        write!(f, "simulated seconds per CPU second: {ratio:.0}")
    }
}

/// Simulates one stream per path that always has more to send.
pub(crate) fn measure(simulated: Duration) -> io::Result<Pace> {
    let mut pair = pair();
    let paths: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses).collect();
    let connect = |endpoint: &mut Endpoint, now| endpoint.connect(now, &paths, PORTS, config());
    let client = pair.act_client(connect).map_err(io::Error::other)?.map_err(io::Error::other)?;
    let start = cpu::of_thread();
    let mut received = 0;
    let end = Time::ZERO + simulated;
    while pair.now() < end {
        pair.run_for(Duration::from_millis(20)).map_err(io::Error::other)?;
        pair.act_client(|endpoint, now| refill(endpoint, now, client)).map_err(io::Error::other)?;
        pair.sim.take_events(CLIENT);
        for (id, event) in pair.sim.take_events(SERVER) {
            if event == Event::Readable {
                received +=
                    pair.act_server(|endpoint, _| read(endpoint, id)).map_err(io::Error::other)?;
            }
        }
    }
    let goodput_mbps = received as f64 * 8.0 / simulated.as_secs_f64() / 1e6;
    Ok(Pace { simulated, cpu: cpu::of_thread() - start, goodput_mbps })
}

fn pair() -> Pair<Endpoint> {
    let rate = Rate::mbps(MBPS);
    let link = LinkConfig {
        rate: Some(rate),
        delay: Duration::from_millis(5),
        queue: QueueLimit::lasting(Duration::from_millis(50), rate),
        ..LinkConfig::default()
    };
    let links: [DuplexConfig; 2] = [link.clone().into(), link.into()];
    Pair::new(1, &links, |side, paths, rng| {
        let accept = side == Side::Server;
        let config = EndpointConfig { accept, association: config(), ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, rng);
        endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
        endpoint
    })
}

fn config() -> AssociationConfig {
    AssociationConfig::media().with(|config| config.paths.path_mtu = 1_500)
}

/// Hands over messages of one packet for both paths until the queue is full: one of several
/// fragments would hold the other path up while its own is full.
fn refill(endpoint: &mut Endpoint, now: Time, id: AssociationId) {
    let Some(association) = endpoint.association_mut(id) else { return };
    let payload = Bytes::from_static(&[0x5a; 1_400]);
    loop {
        for path in [0_u16, 1] {
            let message = OutgoingMessage {
                path: PathPreference::Prefer(PathId(path.into())),
                ..OutgoingMessage::new(StreamId(path), payload.clone())
            };
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
