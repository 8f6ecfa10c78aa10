//! The links of a run, and what they could have carried.

use std::net::IpAddr;

use anabranch_netsim::written::{WrittenLink, WrittenNat};
use anabranch_netsim::{
    Duplex, DuplexConfig, ElementId, LinkConfig, LinkId, NatId, NatSide, Network, RouteError, Trace,
};
use anabranch_sansio::{FourTuple, Time};

use super::{PORTS, rounded};
use crate::scenario::flow::Flow;
use crate::scenario::route::Hop;
use crate::scenario::{LinkOutcome, nats};

/// The first and the last of the public addresses of a path's NAT: 10.FLOW.PATH.3 and so on.
const PUBLIC: (u8, u8) = (3, 254);

/// The links of a run, in the order of the file, and its NATs.
pub(super) struct Net {
    links: Vec<(Duplex, Capacity)>,
    nats: Vec<PathNat>,
}

/// What a NAT is to one path: each has its own addresses there.
struct PathNat {
    link: usize,
    nat: NatId,
}

/// What a link could have carried so far, in bits each way.
pub(super) struct Capacity {
    forward: Way,
    backward: Way,
    is_up: bool,
    since: Time,
}

#[derive(Default)]
struct Way {
    /// `None`: without limit.
    bps: Option<f64>,
    bits: f64,
    was_unlimited: bool,
}

impl Net {
    pub(super) fn build(network: &mut Network, links: &[WrittenLink]) -> Self {
        let mut add = |link: &WrittenLink| {
            (network.add_duplex(&link.name, link.config.clone()), Capacity::new(&link.config))
        };
        Self { links: links.iter().map(&mut add).collect(), nats: Vec::new() }
    }

    pub(super) fn duplex(&self, link: usize) -> Duplex {
        self.links[link].0
    }

    pub(super) fn capacity(&mut self, link: usize) -> &mut Capacity {
        &mut self.links[link].1
    }

    /// The element that a hop passes.
    pub(super) fn element(&self, hop: Hop) -> ElementId {
        let links = self.duplex(hop.link);
        if hop.forward { links.forward.into() } else { links.backward.into() }
    }

    /// Joins the addresses of a flow by its paths, that of the end that calls first:
    /// 10.FLOW.PATH.1 and 10.FLOW.PATH.2.
    pub(super) fn route(
        &mut self,
        network: &mut Network,
        (links, nats): (&[WrittenLink], &[WrittenNat]),
        number: usize,
        flow: &Flow,
    ) -> Result<Vec<FourTuple>, RouteError> {
        let mut tuples = Vec::new();
        for (path, hops) in flow.ways().iter().enumerate() {
            let address = |end: u8| IpAddr::from([10, number as u8, path as u8, end]);
            let (near, far) = (address(1), address(2));
            let at = hops.iter().position(|hop| nats::at(nats, links, *hop).is_some());
            let way = self.side(hops);
            match at {
                None => {
                    network.add_route(near, far, way.out)?;
                    network.add_route(far, near, way.back)?;
                }
                Some(at) => {
                    let (inside, outside) = hops.split_at(at);
                    let link = outside[0].link;
                    let config = nats[nats::at(nats, links, outside[0]).unwrap_or_default()].config;
                    let sides = (self.side(inside), self.side(outside));
                    let (name, public) = (&links[link].name, address(PUBLIC.0));
                    let nat = network.add_nat_between(name, (near, far), sides, public, config)?;
                    self.nats.push(PathNat { link, nat });
                }
            }
            tuples.push(FourTuple::new((near, PORTS.0).into(), (far, PORTS.1).into()));
        }
        Ok(tuples)
    }

    /// What packets pass on these hops, out and back.
    fn side(&self, hops: &[Hop]) -> NatSide {
        let back = |hop: &Hop| self.element(Hop { forward: !hop.forward, ..*hop });
        NatSide {
            out: hops.iter().map(|hop| self.element(*hop)).collect(),
            back: hops.iter().rev().map(back).collect(),
        }
    }

    /// The NAT at a link forgets its mappings.
    pub(super) fn rebind(&self, network: &mut Network, link: usize) {
        self.nats_at(link).for_each(|nat| network.rebind(nat));
    }

    /// The NAT at a link gets another public address.
    pub(super) fn readdress(&self, network: &mut Network, link: usize) -> Result<(), RouteError> {
        self.nats_at(link).try_for_each(|nat| {
            let IpAddr::V4(address) = network.public_address(nat) else { return Ok(()) };
            let [a, b, c, end] = address.octets();
            let next = if end == PUBLIC.1 { PUBLIC.0 } else { end + 1 };
            network.renumber(nat, [a, b, c, next].into())
        })
    }

    fn nats_at(&self, link: usize) -> impl Iterator<Item = NatId> {
        self.nats.iter().filter(move |nat| nat.link == link).map(|nat| nat.nat)
    }

    pub(super) fn outcomes(
        &mut self,
        network: &Network,
        links: &[WrittenLink],
        now: Time,
    ) -> Vec<LinkOutcome> {
        let mut outcomes = Vec::new();
        for ((duplex, capacity), written) in self.links.iter_mut().zip(links) {
            capacity.count_to(now);
            let ways = [
                (duplex.forward, &capacity.forward, written.name.clone()),
                (duplex.backward, &capacity.backward, format!("{} back", written.name)),
            ];
            outcomes.extend(ways.map(|(link, way, name)| outcome(network, link, way, name, now)));
        }
        outcomes
    }
}

fn outcome(network: &Network, link: LinkId, way: &Way, name: String, now: Time) -> LinkOutcome {
    let link = network.link(link);
    let stats = link.stats();
    let carried = (stats.delivered + stats.on_wire + stats.dropped.loss).bytes as f64 * 8.0;
    let could = (!way.was_unlimited && way.bits > 0.0).then_some(way.bits);
    LinkOutcome {
        name,
        utilisation: could.map(|bits| rounded((carried / bits).min(1.0))),
        lost: (stats.dropped.loss + stats.dropped.retries).packets,
        refused: stats.dropped.queue.packets,
        cut: stats.dropped.cut.packets + stats.dropped.mtu.packets,
        queue_mean_bytes: link.mean_queue_bytes(now).round(),
        queue_max_bytes: link.longest_queue().bytes,
    }
}

impl Capacity {
    fn new(config: &DuplexConfig) -> Self {
        let (forward, backward) = (Way::default(), Way::default());
        let mut capacity = Self { forward, backward, is_up: true, since: Time::ZERO };
        capacity.change(Time::ZERO, config);
        capacity
    }

    pub(super) fn cut(&mut self, now: Time) {
        self.count_to(now);
        self.is_up = false;
    }

    pub(super) fn restore(&mut self, now: Time) {
        self.count_to(now);
        self.is_up = true;
    }

    pub(super) fn change(&mut self, now: Time, config: &DuplexConfig) {
        self.count_to(now);
        self.forward.set(&config.forward);
        self.backward.set(&config.backward);
    }

    fn count_to(&mut self, now: Time) {
        let seconds = now.saturating_since(self.since).as_secs_f64();
        self.since = now;
        if self.is_up {
            self.forward.bits += self.forward.bps.unwrap_or(0.0) * seconds;
            self.backward.bits += self.backward.bps.unwrap_or(0.0) * seconds;
        }
    }
}

impl Way {
    fn set(&mut self, config: &LinkConfig) {
        let rate = config.trace.as_ref().map(Trace::mean_rate).or(config.rate);
        self.bps = rate.map(|rate| rate.as_bps() as f64);
        self.was_unlimited |= rate.is_none();
    }
}
