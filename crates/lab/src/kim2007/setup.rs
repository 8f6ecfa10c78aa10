//! [`Setup`]: all that decides a run but its seed.

use std::time::Duration;

use anabranch_netsim::{DuplexConfig, LinkConfig, Loss, Pair, PathConfig, QueueLimit};
use anabranch_sansio::Rate;
use anabranch_sctp::{AssociationConfig, Reliability};
use anabranch_tcp::Config as TcpConfig;

use super::carrier::{Carrier, lifetime, linux_tcp};
use super::message::{INTERVAL, MESSAGES};
use super::peer::Peer;

/// R in equation 1: what rate control and the viewer's buffer leave.
pub(super) const RATE_CONTROL: Duration = Duration::from_millis(500);

/// Of the client; each further TCP connection has the next one.
pub(super) const CLIENT_PORT: u16 = 40_001;
const SERVER_PORT: u16 = 40_000;

/// All that decides a run but its seed.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) network: Network,
    pub(super) tcp: TcpConfig,
    pub(super) association: AssociationConfig,
    pub(super) is_timed: bool,
    pub(super) is_ordered: bool,
    /// R of equation 1.
    pub(super) rate_control: Duration,
    /// Bytes that a server's transport takes before they are sent and acknowledged; then the server
    /// waits.
    pub(super) send_buffer: usize,
    /// Channels that are sent at once.
    pub(super) channels: u16,
    /// Streams that each channel's messages go around.
    pub(super) streams: u16,
    /// Whether all channels share one stream.
    pub(super) is_on_one_stream: bool,
    /// Messages of each channel.
    pub(super) messages: u32,
    /// Between two messages, whichever channel's.
    pub(super) interval: Duration,
}

/// Between server and client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    pub(super) rate: Rate,
    /// One way.
    pub(super) delay: Duration,
    /// Probability that a packet is lost.
    pub(super) loss: f64,
    /// Whether what the client sends is lost as well.
    pub(super) loses_both_ways: bool,
}

impl Setup {
    pub(super) fn new(carrier: Carrier, network: Network) -> Self {
        Self {
            network,
            tcp: linux_tcp(),
            association: carrier.association(),
            is_timed: carrier.is_timed(),
            is_ordered: carrier != Carrier::AnabranchPr,
            rate_control: RATE_CONTROL,
            send_buffer: carrier.send_buffer(),
            channels: 1,
            streams: 1,
            is_on_one_stream: false,
            messages: MESSAGES,
            interval: INTERVAL,
        }
    }

    /// How hard SCTP tries to deliver a message.
    pub(super) fn reliability(&self) -> Reliability {
        match self.is_timed {
            true => Reliability::Lifetime(lifetime(self.rate_control)),
            false => Reliability::Reliable,
        }
    }

    /// The two hosts, on a network that loses nothing yet.
    pub(super) fn pair<P: Peer>(&self, seed: u64) -> Pair<P> {
        let path = PathConfig::nth(0, Network { loss: 0.0, ..self.network }.links());
        let path = path.map(|mut path| {
            path.addresses.local.set_port(CLIENT_PORT);
            path.addresses.remote.set_port(SERVER_PORT);
            path
        });
        let pair = path.and_then(|path| {
            Pair::with_paths(seed, &[path], |side, paths, rng| P::new(side, paths[0], self, rng))
        });
        let mut pair = pair.expect("one standard path makes a pair");
        pair.set_carrier(P::PROTOCOL);
        pair
    }
}

/// Packets that both links lost so far.
pub(super) fn lost_on_links<P: Peer>(pair: &Pair<P>) -> u64 {
    let links = pair.sim.network().links();
    links.map(|(_, _, link)| link.stats().dropped.total().packets).sum()
}

impl Network {
    /// The media goes backward: the client is the one who begins.
    pub(super) fn links(self) -> DuplexConfig {
        let link = |loss: f64| LinkConfig {
            rate: Some(self.rate),
            delay: self.delay,
            queue: QueueLimit::Packets(1_000),
            loss: Loss::uniform(loss),
            mtu: 1_500,
            ..LinkConfig::default()
        };
        let forward = link(if self.loses_both_ways { self.loss } else { 0.0 });
        DuplexConfig { forward, backward: link(self.loss) }
    }
}
