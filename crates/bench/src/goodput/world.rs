//! [`World`]: senders that share a bottleneck, each with a receiver of its own, or one sender that
//! has several paths.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_netsim::{HostId, LinkConfig, LinkId, Loss, Simulation};
use anabranch_sansio::{FourTuple, Time};
use anabranch_sctp::Association;

use super::end::{End, Transport};

/// The port of both ends.
const PORT: u16 = 9_899;

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

/// Senders and receivers.
pub(super) struct World {
    sim: Simulation<End>,
    flows: Vec<Flow>,
}

#[derive(Clone, Copy)]
struct Flow {
    sender: HostId,
    receiver: HostId,
    received: u64,
}

impl World {
    /// Flow `n` is sent with the `n`th transport.
    pub(super) fn new(
        seed: u64,
        losses: Losses,
        link: LinkConfig,
        transports: &[Transport],
        encrypted: bool,
    ) -> io::Result<Self> {
        let mut sim = Simulation::new(seed);
        let forward = sim.network_mut().add_link("bottleneck", link.clone());
        let back = match losses {
            Losses::OfData => LinkConfig { loss: Loss::None, ..link },
            Losses::BothWays => link,
        };
        let backward = sim.network_mut().add_link("back", back);
        let mut world = Self { sim, flows: Vec::new() };
        for (n, transport) in (1..).zip(transports) {
            let ends = ends_of(n);
            world.join(ends, [forward, backward])?;
            world.add_flow(*transport, encrypted, &[ends])?;
        }
        Ok(world)
    }

    /// One flow over a path for each link, which is the same both ways.
    pub(super) fn of_paths(
        seed: u64,
        links: &[LinkConfig],
        transport: Transport,
        encrypted: bool,
    ) -> io::Result<Self> {
        let mut world = Self { sim: Simulation::new(seed), flows: Vec::new() };
        let mut paths = Vec::new();
        for (n, link) in (1..).zip(links) {
            let network = world.sim.network_mut();
            let forward = network.add_link(format!("forward {n}"), link.clone());
            let backward = network.add_link(format!("backward {n}"), link.clone());
            paths.push(ends_of(n));
            world.join(ends_of(n), [forward, backward])?;
        }
        world.add_flow(transport, encrypted, &paths)?;
        Ok(world)
    }

    fn join(&mut self, [near, far]: [IpAddr; 2], links: [LinkId; 2]) -> io::Result<()> {
        let [forward, backward] = links;
        let network = self.sim.network_mut();
        network.add_route(near, far, vec![forward.into()]).map_err(io::Error::other)?;
        network.add_route(far, near, vec![backward.into()]).map_err(io::Error::other)
    }

    fn add_flow(
        &mut self,
        transport: Transport,
        encrypted: bool,
        ends: &[[IpAddr; 2]],
    ) -> io::Result<()> {
        let config = transport.config(encrypted)?;
        let Self { sim, flows } = self;
        let near: Vec<_> = ends.iter().map(|[near, _]| *near).collect();
        let far: Vec<_> = ends.iter().map(|[_, far]| *far).collect();
        let path = |[near, far]: &[IpAddr; 2]| FourTuple::new(at(*near), at(*far));
        let paths: Vec<_> = ends.iter().map(path).collect();
        let reversed: Vec<_> = paths.iter().map(|path| path.reversed()).collect();
        let rng = sim.fork_rng();
        let sending = config.sender(sim.now(), &paths, rng).map_err(io::Error::other)?;
        let sender = sim.add_host("sender", &near, sending).map_err(io::Error::other)?;
        let receiving = config.receiver(&reversed, sim.fork_rng());
        let receiver = sim.add_host("receiver", &far, receiving).map_err(io::Error::other)?;
        sim.set_carrier(sender, transport.carrier());
        sim.set_carrier(receiver, transport.carrier());
        flows.push(Flow { sender, receiver, received: 0 });
        Ok(())
    }

    pub(super) fn now(&self) -> Time {
        self.sim.now()
    }

    /// Keeps every sender busy for `span`.
    pub(super) fn saturate(&mut self, span: Duration) -> io::Result<()> {
        let end = self.now() + span;
        while self.now() < end {
            for flow in &self.flows {
                self.sim.act(flow.sender, End::fill).map_err(io::Error::other)?;
            }
            self.run(TICK, |_, _| {})?;
        }
        Ok(())
    }

    /// Acts on the sending association of a flow of SCTP.
    pub(super) fn act<T>(
        &mut self,
        flow: usize,
        action: impl FnOnce(&mut Association, Time) -> T,
    ) -> io::Result<T> {
        let act =
            |end: &mut End, now| end.association().map(|association| action(association, now));
        let result = self.sim.act(self.flows[flow].sender, act).map_err(io::Error::other)?;
        result.ok_or_else(|| io::Error::other("there is no association, or none any more"))
    }

    /// Lets time pass, and hands what arrives to `take`.
    pub(super) fn run(
        &mut self,
        span: Duration,
        mut take: impl FnMut(Time, &[u8]),
    ) -> io::Result<()> {
        self.sim.run_for(span).map_err(io::Error::other)?;
        for flow in &mut self.flows {
            let received = &mut flow.received;
            let read = |end: &mut End, now| {
                end.read(now, |now, payload| {
                    *received += payload.len() as u64;
                    take(now, payload);
                });
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

/// The addresses of a path's two ends.
fn ends_of(path: u8) -> [IpAddr; 2] {
    [1, 2].map(|side| IpAddr::from([10, path, 0, side]))
}

fn at(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, PORT)
}
