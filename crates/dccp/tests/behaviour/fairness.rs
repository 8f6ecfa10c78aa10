//! How connections share a bottleneck with TCP and with each other.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_dccp::{
    Bundle, BundleConfig, Ccid, Config, ConnectionId, Connections, Endpoint, Interleaving,
};
use anabranch_netsim::{Carrier, HostId, LinkConfig, QueueLimit, Simulation, machine_of_several};
use anabranch_sansio::{FourTuple, Rate, Rng, Time};
use anabranch_tcp as tcp;
use bytes::Bytes;

use crate::harness::{PORTS, SERVICE, endpoint_config};

const RTT: Duration = Duration::from_millis(60);
const RATE: Rate = Rate::mbps(8);

/// Datagrams that fit into a packet of 1,500 bytes, in a bundle too.
const LEN: usize = 1_400;

/// One end of either protocol.
enum Host {
    Dccp(Box<Endpoint>),
    Bundle(Box<Bundle>),
    Tcp(Box<tcp::Connection>),
}

/// Where something happened.
enum Happening {
    Dccp(ConnectionId),
    Bundle,
    Tcp,
}

machine_of_several!(Host: Happening {
    Dccp(end) => end.poll_event().map(|(id, _)| Happening::Dccp(id)),
    Bundle(end) => end.poll_event().map(|_| Happening::Bundle),
    Tcp(end) => end.poll_event().map(|_| Happening::Tcp),
});

/// A flow from a host of its own to another one, through what all share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Dccp(Ccid),
    Bundle(Connections),
    Tcp,
}

struct Flow {
    kind: Kind,
    path: FourTuple,
    client: HostId,
    server: HostId,
    id: Option<ConnectionId>,
    /// Bytes of data that the server read.
    received: u64,
}

/// Pairs of hosts whose packets share one link there and one back.
struct Dumbbell {
    sim: Simulation<Host>,
    flows: Vec<Flow>,
}

impl Dumbbell {
    fn new(seed: u64, kinds: &[Kind], queue: QueueLimit) -> Self {
        let mut sim = Simulation::new(seed);
        let link = LinkConfig { rate: Some(RATE), delay: RTT / 2, queue, ..LinkConfig::default() };
        let forward = sim.network_mut().add_link("forward", link.clone());
        let backward = sim.network_mut().add_link("backward", link);
        let mut flows = Vec::new();
        for (n, kind) in kinds.iter().enumerate() {
            let ends = [1, 2].map(|end| IpAddr::from([10, n as u8, 0, end]));
            let path = FourTuple::new(
                SocketAddr::from((ends[0], PORTS.0)),
                SocketAddr::from((ends[1], PORTS.1)),
            );
            let [client, server] = [path, path.reversed()].map(|end| {
                let host = host(*kind, end, end == path, sim.fork_rng());
                let host = sim.add_host("host", &[end.local.ip()], host).expect("new addresses");
                let carrier = if *kind == Kind::Tcp { Carrier::Tcp } else { Carrier::Dccp };
                sim.set_carrier(host, carrier);
                host
            });
            let network = sim.network_mut();
            network.add_route(ends[0], ends[1], [forward.into()]).expect("one family");
            network.add_route(ends[1], ends[0], [backward.into()]).expect("one family");
            flows.push(Flow { kind: *kind, path, client, server, id: None, received: 0 });
        }
        Self { sim, flows }
    }

    fn begin(&mut self, n: usize) {
        let Flow { kind, path, client, .. } = self.flows[n];
        let begin = |host: &mut Host, now: Time| match (host, kind) {
            (Host::Dccp(end), Kind::Dccp(ccid)) => {
                let config = Config::with_ccid(ccid);
                Some(end.connect(now, path, PORTS, SERVICE, config).expect("a connection"))
            }
            (Host::Bundle(end), Kind::Bundle(_)) => {
                end.connect(now, path, PORTS, SERVICE).expect("connections");
                None
            }
            (Host::Tcp(end), Kind::Tcp) => {
                end.connect(now);
                None
            }
            _ => unreachable!("a host is of its flow's kind"),
        };
        self.flows[n].id = self.sim.act(client, begin).expect("machines that behave");
    }

    /// Keeps all clients busy.
    fn feed(&mut self) {
        let data = Bytes::from_static(&[0x5a; LEN]);
        for flow in &self.flows {
            let feed = |host: &mut Host, now: Time| match host {
                Host::Dccp(end) => {
                    let connection = flow.id.and_then(|id| end.connection_mut(id));
                    if let Some(connection) = connection {
                        while connection.send(data.clone()).is_ok() {}
                    }
                }
                Host::Bundle(end) => while end.send(0, &data).is_ok() {},
                Host::Tcp(end) => while end.send(now, data.clone()).is_ok() {},
            };
            self.sim.act(flow.client, feed).expect("machines that behave");
        }
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.sim.now() + span;
        while self.sim.now() < end {
            self.feed();
            let flows = &mut self.flows;
            let step = self.sim.now() + Duration::from_millis(5);
            let read = |sim: &mut Simulation<Host>, host, happening| {
                let Some(flow) = flows.iter_mut().find(|flow| flow.server == host) else { return };
                let read = |host: &mut Host, now: Time| {
                    let mut len = 0;
                    match (host, happening) {
                        (Host::Dccp(end), Happening::Dccp(id)) => {
                            while let Some(data) = end.connection_mut(id).and_then(|c| c.receive())
                            {
                                len += data.len();
                            }
                        }
                        (Host::Bundle(end), Happening::Bundle) => {
                            len += std::iter::from_fn(|| end.receive())
                                .map(|it| it.len())
                                .sum::<usize>();
                        }
                        (Host::Tcp(end), Happening::Tcp) => {
                            while let Some(data) = end.receive(now) {
                                len += data.len();
                            }
                        }
                        _ => unreachable!("a host is of its events' kind"),
                    }
                    len
                };
                flow.received += sim.act(host, read).expect("machines that behave") as u64;
            };
            self.sim.run_to_with(step, read).expect("machines that behave");
        }
    }

    /// Mbit/s of data that each flow's server read in so long a time.
    fn measure(&mut self, span: Duration) -> Vec<f64> {
        self.flows.iter_mut().for_each(|flow| flow.received = 0);
        self.run_for(span);
        let mbps = |flow: &Flow| flow.received as f64 * 8.0 / span.as_secs_f64() / 1e6;
        self.flows.iter().map(mbps).collect()
    }
}

fn host(kind: Kind, path: FourTuple, is_client: bool, rng: Rng) -> Host {
    match kind {
        Kind::Dccp(ccid) => {
            let mut end = Endpoint::new(endpoint_config(), rng);
            if !is_client {
                end.listen(PORTS.1, vec![SERVICE], Config::with_ccid(ccid));
            }
            Host::Dccp(Box::new(end))
        }
        Kind::Bundle(connections) => {
            let config = BundleConfig {
                connections,
                interleaving: Interleaving::ByPacket,
                send_buffer: 64 << 10,
                reordering: 4 * RTT,
                ..BundleConfig::default()
            };
            let mut end = Bundle::new(endpoint_config(), config, rng);
            if !is_client {
                end.listen(PORTS.1, vec![SERVICE]);
            }
            Host::Bundle(Box::new(end))
        }
        Kind::Tcp => {
            let config = tcp::Config::default();
            let make = if is_client { tcp::Connection::client } else { tcp::Connection::listener };
            Host::Tcp(Box::new(make(config, path, rng)))
        }
    }
}

/// Mbit/s of each flow over a minute, after they have had time to find their share. One begins so
/// long after the other.
fn shares(kinds: &[Kind], gap_ms: u64) -> Vec<f64> {
    shares_of(kinds, gap_ms, QueueLimit::lasting(RTT, RATE))
}

fn shares_of(kinds: &[Kind], gap_ms: u64, queue: QueueLimit) -> Vec<f64> {
    let mut dumbbell = Dumbbell::new(1, kinds, queue);
    for n in 0..kinds.len() {
        dumbbell.begin(n);
        dumbbell.run_for(Duration::from_millis(gap_ms));
    }
    dumbbell.run_for(Duration::from_secs(20));
    dumbbell.measure(Duration::from_secs(60))
}

/// What a flow under this CCID gets of a drop-tail bottleneck for each Mbit/s of a TCP's, whichever
/// begins.
#[track_caller]
fn assert_fair(ccid: Ccid) {
    for (gap_ms, kinds) in [
        (500, [Kind::Dccp(ccid), Kind::Tcp]),
        (1_370, [Kind::Tcp, Kind::Dccp(ccid)]),
        (2_900, [Kind::Dccp(ccid), Kind::Tcp]),
    ] {
        let shares = shares(&kinds, gap_ms);
        let of_dccp = usize::from(kinds[0] == Kind::Tcp);
        let ratio = shares[of_dccp] / shares[1 - of_dccp];
        assert!((0.5..2.0).contains(&ratio), "{ratio}: {kinds:?} get {shares:?} Mbit/s");
        assert!(shares.iter().sum::<f64>() > 0.9 * RATE.as_mbps_f64(), "{shares:?} Mbit/s");
    }
}

#[test]
fn ccid_2_shares_a_bottleneck_with_tcp() {
    assert_fair(Ccid::TcpLike);
}

#[test]
fn ccid_3_shares_a_bottleneck_with_tcp() {
    assert_fair(Ccid::Tfrc);
}

#[test]
fn two_of_a_kind_get_the_same() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let shares = shares(&[Kind::Dccp(ccid); 2], 1_370);
        let ratio = shares[0] / shares[1];
        assert!((0.8..1.25).contains(&ratio), "{ratio}: {shares:?} Mbit/s under {ccid:?}");
    }
}

#[test]
fn as_many_connections_as_are_right_leave_a_tcp_what_one_leaves_it() {
    for (gap_ms, bundle_first, queue) in [
        (500, true, RTT),
        (1_370, false, RTT),
        (30_000, true, RTT),
        (500, true, 4 * RTT),
        (500, true, RTT / 4),
    ] {
        let shares = |connections| {
            let mut kinds = vec![Kind::Bundle(connections), Kind::Tcp];
            let mut order = [0, 1];
            if !bundle_first {
                kinds.reverse();
                order.reverse();
            }
            let shares = shares_of(&kinds, gap_ms, QueueLimit::lasting(queue, RATE));
            order.map(|n| shares[n])
        };
        let [one, auto] = [Connections::Fixed(1), Connections::Auto].map(shares);
        assert!(auto[1] > 0.8 * one[1], "a TCP gets {} Mbit/s of {}: {queue:?}", auto[1], one[1]);
        assert!(auto.iter().sum::<f64>() > 0.85 * RATE.as_mbps_f64(), "{auto:?} Mbit/s");
    }
}
