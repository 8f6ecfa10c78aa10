//! [`World`]: senders that share a bottleneck, each with a receiver of its own.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_netsim::{HostId, LinkConfig, Loss, Simulation};
use anabranch_sansio::{FourTuple, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, CongestionControl, Endpoint, EndpointConfig,
    IncomingMessage, OutgoingMessage,
};
use anabranch_wire::StreamId;
use bytes::Bytes;

use super::MTU;

/// Payload of a full packet: without headers of IPv6, UDP, SCTP and DATA.
pub(super) const PAYLOAD: usize = MTU - 48 - 12 - 16;

/// SCTP's own ports.
const PORTS: (u16, u16) = (5_000, 5_000);

/// The UDP port of both ends.
const UDP_PORT: u16 = 9_899;

/// How often senders get more to send and receivers are read.
const TICK: Duration = Duration::from_millis(5);

/// What the link's losses hit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Losses {
    /// What goes forward, as in the laws of congestion control.
    OfData,
    /// Acknowledgements too.
    BothWays,
}

/// Senders that share one bottleneck.
pub(super) struct World {
    sim: Simulation<Endpoint>,
    flows: Vec<Flow>,
}

#[derive(Clone, Copy)]
struct Flow {
    sender: HostId,
    receiver: HostId,
    sending: AssociationId,
    receiving: Option<AssociationId>,
    received: u64,
}

impl World {
    /// Flow `n` runs under the `n`th controller.
    pub(super) fn new(
        seed: u64,
        losses: Losses,
        link: LinkConfig,
        controllers: &[CongestionControl],
    ) -> io::Result<Self> {
        let mut sim = Simulation::new(seed);
        let forward = sim.network_mut().add_link("bottleneck", link);
        let back = match losses {
            Losses::OfData => LinkConfig { loss: Loss::None, ..link },
            Losses::BothWays => link,
        };
        let backward = sim.network_mut().add_link("back", back);
        let mut flows = Vec::new();
        for (n, control) in (1..).zip(controllers) {
            let (near, far) = (IpAddr::from([10, n, 0, 1]), IpAddr::from([10, n, 0, 2]));
            let config = config(*control);
            let sender = add_host(&mut sim, "sender", near, &config)?;
            let receiver = add_host(&mut sim, "receiver", far, &config)?;
            let network = sim.network_mut();
            network.add_route(near, far, vec![forward.into()]).map_err(io::Error::other)?;
            network.add_route(far, near, vec![backward.into()]).map_err(io::Error::other)?;
            let path = FourTuple::new(at(near), at(far));
            let sending = sim
                .act(sender, |endpoint, now| endpoint.connect(now, &[path], PORTS, config))
                .map_err(io::Error::other)?
                .map_err(io::Error::other)?;
            flows.push(Flow { sender, receiver, sending, receiving: None, received: 0 });
        }
        Ok(Self { sim, flows })
    }

    pub(super) fn now(&self) -> Time {
        self.sim.now()
    }

    /// Keeps every sender busy for `span`.
    pub(super) fn saturate(&mut self, span: Duration) -> io::Result<()> {
        let payload = Bytes::from_static(&[0x5a; PAYLOAD]);
        let end = self.now() + span;
        while self.now() < end {
            for n in 0..self.flows.len() {
                self.act(n, |association, now| {
                    let message = || OutgoingMessage::new(StreamId(0), payload.clone());
                    while association.send(now, message()).is_ok() {}
                })?;
            }
            self.run(TICK, |_, _| {})?;
        }
        Ok(())
    }

    /// Acts on the sending association of a flow.
    pub(super) fn act<T>(
        &mut self,
        flow: usize,
        action: impl FnOnce(&mut Association, Time) -> T,
    ) -> io::Result<T> {
        let Flow { sender, sending, .. } = self.flows[flow];
        let act = |endpoint: &mut Endpoint, now| {
            endpoint.association_mut(sending).map(|association| action(association, now))
        };
        let result = self.sim.act(sender, act).map_err(io::Error::other)?;
        result.ok_or_else(|| io::Error::other("the association broke"))
    }

    /// Lets time pass, and hands each message that arrives to `take`.
    pub(super) fn run(
        &mut self,
        span: Duration,
        mut take: impl FnMut(Time, &IncomingMessage),
    ) -> io::Result<()> {
        self.sim.run_for(span).map_err(io::Error::other)?;
        for flow in &mut self.flows {
            self.sim.take_events(flow.sender);
            for (id, _) in self.sim.take_events(flow.receiver) {
                flow.receiving = Some(id);
            }
            let Some(id) = flow.receiving else { continue };
            let received = &mut flow.received;
            let read = |endpoint: &mut Endpoint, now| {
                let association = endpoint.association_mut(id)?;
                while let Some(message) = association.receive() {
                    *received += message.payload.len() as u64;
                    take(now, &message);
                }
                Some(())
            };
            self.sim.act(flow.receiver, read).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// The mean of what a flow delivered so far.
    pub(super) fn goodput_mbps(&self, flow: usize, span: Duration) -> f64 {
        self.flows[flow].received as f64 * 8.0 / span.as_secs_f64() / 1e6
    }
}

fn at(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, UDP_PORT)
}

fn add_host(
    sim: &mut Simulation<Endpoint>,
    name: &str,
    address: IpAddr,
    config: &AssociationConfig,
) -> io::Result<HostId> {
    let config =
        EndpointConfig { accept: true, association: config.clone(), ..EndpointConfig::default() };
    let mut endpoint = Endpoint::new(config, sim.fork_rng());
    endpoint.set_local_addresses(vec![at(address)]);
    sim.add_host(name, &[address], endpoint).map_err(io::Error::other)
}

/// Each controller as it is used: the standard one with the standard's timers.
fn config(control: CongestionControl) -> AssociationConfig {
    let is_standard = control == CongestionControl::Rfc9260;
    let preset =
        if is_standard { AssociationConfig::default() } else { AssociationConfig::media() };
    AssociationConfig {
        congestion_control: control,
        pacing: control == CongestionControl::Cubic,
        path_mtu: MTU,
        send_buffer: 4 << 20,
        receive_buffer: 4 << 20,
        ..preset
    }
}
