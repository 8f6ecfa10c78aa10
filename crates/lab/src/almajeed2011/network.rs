//! [`Network`]: cells, core network, and who sends what through them.
//!
//! ```text
//! SS1 SS2 SS3 ))) base station --- R1 === R2 --- C, or base station ))) station
//!                                  |       |
//!                                  A       B
//! ```

use std::net::{IpAddr, SocketAddr};

use anabranch_dccp::{
    Bundle, BundleConfig, Ccid, Config, Connections, Encapsulation, EndpointConfig, Interleaving,
    tfrc::PacketSize, wire::ServiceCode,
};
use anabranch_netsim::{Duplex, ElementId, HostId, Service, Simulation};
use anabranch_sansio::{FourTuple, Rng};
use anabranch_sctp as sctp;
use anabranch_tcp as tcp;

use super::cbr::Cbr;
use super::cell::{Cell, Scenario};
use super::host::Host;
use super::values::Values;

/// Of the sender's first connection, and of the receiver.
pub(super) const PORTS: (u16, u16) = (40_000, 5_001);
/// What the video's connections are for.
pub(super) const SERVICE: ServiceCode = ServiceCode(u32::from_be_bytes(*b"vide"));
/// What a bundle may hold for a connection, and a receiver in all: more than any video has.
const BUFFER: usize = 64 << 20;

/// All of it.
pub(super) struct Network {
    pub(super) sim: Simulation<Host>,
    pub(super) video: Flow,
    /// The TCP connections beside it.
    pub(super) transfers: Vec<Flow>,
    /// The one of them that goes the video's way.
    pub(super) beside: Option<Flow>,
}

/// Who sends to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) sender: HostId,
    pub(super) receiver: HostId,
    pub(super) path: FourTuple,
}

/// The links that a station has in its cell, by what they are promised.
#[derive(Clone, Copy)]
struct Station {
    rtps: Duplex,
    nrtps: Duplex,
}

/// The wires; forward is away from the stations.
struct Core {
    base_station: Duplex,
    bottleneck: Duplex,
    a: Duplex,
    b: Duplex,
    c: Duplex,
}

/// Builds hosts and routes, one flow after the other.
struct Builder<'a> {
    sim: Simulation<Host>,
    cell: &'a Cell,
    values: &'a Values,
    flows: u8,
}

impl Network {
    pub(super) fn new(cell: &Cell, values: &Values) -> Self {
        let mut sim = Simulation::new(cell.seed);
        sim.limit_steps(values.steps_max);
        let mut builder = Builder { sim, cell, values, flows: 0 };
        let stations = [1, 2, 3].map(|number| builder.station(number));
        let core = (cell.scenario != Scenario::BaseStation).then(|| builder.core());
        let way = builder.video_way(stations[0], core.as_ref());
        let video = builder.video(&way);
        let beside = values.has_tcp_beside.then(|| builder.transfer(&way));
        let mut transfers = Vec::from_iter(beside);
        builder.streams(&stations, core.as_ref());
        if values.has_ftp {
            transfers.extend(builder.transfers(&stations, core.as_ref()));
        }
        Self { sim: builder.sim, video, transfers, beside }
    }
}

impl Builder<'_> {
    fn station(&mut self, number: u32) -> Station {
        let mut link = |service, name: &str| {
            let radio = self.values.radio(self.cell, "first cell", service);
            self.sim.network_mut().add_duplex(&format!("SS{number} {name}"), radio)
        };
        Station { rtps: link(Service::Rtps, "rtPS"), nrtps: link(Service::Nrtps, "nrtPS") }
    }

    fn core(&mut self) -> Core {
        let network = self.sim.network_mut();
        let mut wire = |name| network.add_duplex(name, self.values.wire());
        let [base_station, a, b, c] = ["BS-R1", "A-R1", "R2-B", "R2-C"].map(&mut wire);
        let bottleneck = network.add_duplex("R1-R2", self.values.bottleneck());
        Core { base_station, bottleneck, a, b, c }
    }

    /// The links that the video passes, and its feedback back.
    fn video_way(&mut self, station: Station, core: Option<&Core>) -> Vec<Duplex> {
        let Values { has_own_queue, has_own_feedback_queue, .. } = *self.values;
        let mut first = station.rtps;
        if has_own_queue || has_own_feedback_queue {
            let radio = self.values.radio(self.cell, "first cell", Service::Rtps);
            let own = self.sim.network_mut().add_duplex("SS1 video", radio);
            first.forward = if has_own_queue { own.forward } else { first.forward };
            first.backward = if has_own_feedback_queue { own.backward } else { first.backward };
        }
        let mut way = vec![first];
        if let Some(link) = self.values.beyond().filter(|_| core.is_none()) {
            way.push(self.sim.network_mut().add_duplex("beyond", link));
        }
        way.extend(core.iter().flat_map(|core| [core.base_station, core.bottleneck, core.c]));
        if self.cell.scenario == Scenario::UserToUser {
            let radio = self.values.radio(self.cell, "second cell", Service::Rtps);
            let up = self.sim.network_mut().add_duplex("SS4 rtPS", radio);
            way.push(reversed(up));
        }
        way
    }

    fn video(&mut self, way: &[Duplex]) -> Flow {
        match self.cell.carrier.connections() {
            Some(connections) => {
                let config = bundle_config(self.cell, self.values, connections);
                self.flow(way, |_, is_sender, rng| {
                    let mut bundle = Bundle::new(on_ip(), config.clone(), rng);
                    if !is_sender {
                        bundle.listen(PORTS.1, vec![SERVICE]);
                    }
                    Host::Bundle(Box::new(bundle))
                })
            }
            None => self.flow(way, |_, is_sender, rng| {
                let association = sctp_config();
                let config =
                    sctp::EndpointConfig { accept: !is_sender, association, ..Default::default() };
                Host::Sctp(Box::new(sctp::Endpoint::new(config, rng)))
            }),
        }
    }

    /// Streams of constant rate: Al-Majeed 2011, table 2 and section 3.3.
    fn streams(&mut self, stations: &[Station; 3], core: Option<&Core>) {
        for station in stations {
            self.stream(&[station.rtps]);
        }
        // To the first station from node B, if it is there, as section 3.3 says of one stream; to
        // the second one from the base station.
        let mut to_first = vec![reversed(stations[0].rtps)];
        if let Some(core) = core {
            let from_b = [core.b, core.bottleneck, core.base_station].map(reversed);
            to_first.splice(..0, from_b);
            self.stream(&[reversed(core.a), core.bottleneck, core.b]);
        }
        self.stream(&to_first);
        self.stream(&[reversed(stations[1].rtps)]);
    }

    fn transfers(&mut self, stations: &[Station; 3], core: Option<&Core>) -> Vec<Flow> {
        let mut flows: Vec<_> =
            stations.iter().map(|station| self.transfer(&[station.nrtps])).collect();
        let mut to_third = vec![reversed(stations[2].nrtps)];
        if let Some(core) = core {
            let from_b = [core.b, core.bottleneck, core.base_station].map(reversed);
            to_third.splice(..0, from_b);
            let to_a = [reversed(core.b), reversed(core.bottleneck), core.a];
            flows.push(self.transfer(&to_a));
        }
        flows.push(self.transfer(&to_third));
        flows
    }

    fn stream(&mut self, way: &[Duplex]) -> Flow {
        let rate = self.values.cbr.mean().unwrap_or_default();
        self.flow(way, |path, is_sender, mut rng| {
            Host::Cbr(if is_sender { Cbr::source(path, rate, &mut rng) } else { Cbr::sink(path) })
        })
    }

    fn transfer(&mut self, way: &[Duplex]) -> Flow {
        self.flow(way, |path, is_sender, rng| {
            let config = tcp::Config::default();
            let make = if is_sender { tcp::Connection::client } else { tcp::Connection::listener };
            Host::Tcp(Box::new(make(config, path, rng)))
        })
    }

    /// Two hosts of their own, and the routes between them.
    fn flow(&mut self, way: &[Duplex], make: impl Fn(FourTuple, bool, Rng) -> Host) -> Flow {
        self.flows += 1;
        let [near, far] = [1, 2].map(|end| IpAddr::from([10, self.flows, 0, end]));
        let path =
            FourTuple::new(SocketAddr::from((near, PORTS.0)), SocketAddr::from((far, PORTS.1)));
        let [sender, receiver] = [path, path.reversed()].map(|end| {
            let rng = self.sim.fork_rng();
            let host = make(end, end == path, rng);
            let protocol = host.protocol();
            let name = end.local.ip().to_string();
            let host = self.sim.add_host(name, &[end.local.ip()], host).expect("new addresses");
            self.sim.set_carrier(host, protocol);
            host
        });
        let forward = way.iter().map(|link| ElementId::from(link.forward));
        let backward = way.iter().rev().map(|link| ElementId::from(link.backward));
        let network = self.sim.network_mut();
        network.add_route(near, far, forward).expect("IPv4, and each link once");
        network.add_route(far, near, backward).expect("IPv4, and each link once");
        Flow { sender, receiver, path }
    }
}

fn reversed(link: Duplex) -> Duplex {
    Duplex { forward: link.backward, backward: link.forward }
}

fn on_ip() -> EndpointConfig {
    EndpointConfig { encapsulation: Encapsulation::Ip, ..EndpointConfig::default() }
}

fn bundle_config(cell: &Cell, values: &Values, connections: Connections) -> BundleConfig {
    let packet_size = if values.has_actual_size { PacketSize::Actual } else { PacketSize::Mean };
    // Section 4.3: "the multiplexing granularity was changed to be on the packet level".
    let is_by_packet = (cell.scenario == Scenario::UserToUser) != values.is_interleaving_swapped;
    BundleConfig {
        connections,
        interleaving: if is_by_packet { Interleaving::ByPacket } else { Interleaving::ByGroup },
        start_gap: values.start_gap,
        send_buffer: BUFFER,
        reordering_buffer: BUFFER,
        connection: Config {
            packet_size,
            oscillation_reduction: values.gives_way_to_delay,
            ..Config::with_ccid(Ccid::Tfrc)
        },
        ..BundleConfig::default()
    }
}

/// As our sessions have it, with room for the whole video.
pub(super) fn sctp_config() -> sctp::AssociationConfig {
    sctp::AssociationConfig::media().with(|config| config.buffers.send_buffer = BUFFER)
}
