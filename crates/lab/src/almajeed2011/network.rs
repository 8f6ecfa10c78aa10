//! [`Network`]: cells, core network, and who sends what through them.
//!
//! ```text
//! SS1 SS2 SS3 ))) base station --- R1 === R2 --- C, or base station ))) station
//!                                  |       |
//!                                  A       B
//! ```
//!
//! A sender that has two cells is the first station of another one, too, whose base station is at
//! R1 as well, or where the first one is.

use std::net::IpAddr;

use anabranch_dccp::{
    Bundle, BundleConfig, Ccid, Config, Connections, Encapsulation, EndpointConfig, Interleaving,
    Multipath, MultipathConfig,
    tfrc::{FirstRate, PacketSize},
    wire::ServiceCode,
};
use anabranch_netsim::{Duplex, ElementId, HostId, Service, Simulation};
use anabranch_sansio::{FourTuple, Rng};
use anabranch_sctp as sctp;
use anabranch_tcp as tcp;

use super::cbr::Cbr;
use super::cell::{Carrier, Cell, Scenario};
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
    /// Those of them that go the video's way, one for each cell that it is sent by.
    pub(super) beside: Vec<Flow>,
}

/// Who sends to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) sender: HostId,
    pub(super) receiver: HostId,
    pub(super) path: FourTuple,
    /// From the sender's other address, by its other cell.
    pub(super) second: Option<FourTuple>,
}

impl Flow {
    /// By all cells of the sender.
    pub(super) fn paths(&self) -> impl Iterator<Item = FourTuple> + use<> {
        [self.path].into_iter().chain(self.second)
    }
}

/// A cell that stations share, by name.
const FIRST_CELL: &str = "first cell";
/// The other cell of a sender that has two.
const OTHER_CELL: &str = "other cell";
/// The one of who receives, from user to user.
const FAR_CELL: &str = "second cell";

/// The links that a station has in its cell, by what they are promised.
#[derive(Clone, Copy)]
struct Station {
    rtps: Duplex,
    nrtps: Duplex,
}

/// The wires; forward is away from the stations.
#[derive(Clone, Copy)]
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
        let stations = builder.stations(FIRST_CELL);
        let core = (cell.scenario != Scenario::BaseStation).then(|| builder.core());
        let mut ways = vec![builder.access(FIRST_CELL, stations[0], core.as_ref())];
        let far = builder.far_way(core.as_ref());
        let other = cell.carrier.has_two_cells().then(|| builder.stations(OTHER_CELL));
        if let Some(other) = &other {
            let core = core.as_ref().map(|core| builder.other_entry(core));
            ways.push(builder.access(OTHER_CELL, other[0], core.as_ref()));
        }
        ways.iter_mut().for_each(|way| way.extend(&far));
        let video = builder.video(&ways);
        let beside = ways.iter().filter(|_| values.has_tcp_beside);
        let beside: Vec<Flow> = beside.map(|way| builder.transfer(way)).collect();
        let mut transfers = beside.clone();
        transfers.extend(builder.traffic(&stations, core.as_ref()));
        if let Some(other) = &other {
            // What node B sends goes to the first cell.
            transfers.extend(builder.traffic(other, None));
        }
        Self { sim: builder.sim, video, transfers, beside }
    }
}

impl Builder<'_> {
    /// The three stations of a cell.
    fn stations(&mut self, cell: &str) -> [Station; 3] {
        [1, 2, 3].map(|number| {
            let mut link = |service, name: &str| {
                let radio = self.values.radio(self.cell, cell, service);
                let of_other = if cell == OTHER_CELL { "other " } else { "" };
                let name = format!("{of_other}SS{number} {name}");
                self.sim.network_mut().add_duplex(&name, radio)
            };
            Station { rtps: link(Service::Rtps, "rtPS"), nrtps: link(Service::Nrtps, "nrtPS") }
        })
    }

    fn core(&mut self) -> Core {
        let network = self.sim.network_mut();
        let mut wire = |name| network.add_duplex(name, self.values.wire());
        let [base_station, a, b, c] = ["BS-R1", "A-R1", "R2-B", "R2-C"].map(&mut wire);
        let bottleneck = network.add_duplex("R1-R2", self.values.bottleneck());
        Core { base_station, bottleneck, a, b, c }
    }

    /// The core as the other cell has it: with a wire of its own to the first router.
    fn other_entry(&mut self, core: &Core) -> Core {
        let base_station = self.sim.network_mut().add_duplex("other BS-R1", self.values.wire());
        Core { base_station, ..*core }
    }

    /// The links that the video passes up to the core, and its feedback from there.
    fn access(&mut self, cell: &str, station: Station, core: Option<&Core>) -> Vec<Duplex> {
        let Values { has_own_queue, has_own_feedback_queue, .. } = *self.values;
        let mut first = station.rtps;
        let name = |what: &str| match cell {
            OTHER_CELL => format!("other {what}"),
            _ => what.to_owned(),
        };
        if has_own_queue || has_own_feedback_queue {
            let radio = self.values.radio(self.cell, cell, Service::Rtps);
            let own = self.sim.network_mut().add_duplex(&name("SS1 video"), radio);
            first.forward = if has_own_queue { own.forward } else { first.forward };
            first.backward = if has_own_feedback_queue { own.backward } else { first.backward };
        }
        let mut way = vec![first];
        if let Some(link) = self.values.beyond().filter(|_| core.is_none()) {
            way.push(self.sim.network_mut().add_duplex(&name("beyond"), link));
        }
        way.extend(core.map(|core| core.base_station));
        way
    }

    /// The links that it passes then.
    fn far_way(&mut self, core: Option<&Core>) -> Vec<Duplex> {
        let mut way: Vec<_> = core.iter().flat_map(|core| [core.bottleneck, core.c]).collect();
        if self.cell.scenario == Scenario::UserToUser {
            let radio = self.values.far_radio(self.cell, FAR_CELL);
            let up = self.sim.network_mut().add_duplex("SS4 rtPS", radio);
            way.push(reversed(up));
        }
        way
    }

    fn video(&mut self, ways: &[Vec<Duplex>]) -> Flow {
        match self.cell.carrier {
            Carrier::Dccp(count) => self.bundle(ways, Connections::Fixed(count as usize)),
            Carrier::Auto => self.bundle(ways, Connections::Auto),
            Carrier::Multipath => {
                let config = multipath_config(self.values);
                self.flow(ways, |_, is_sender, rng| {
                    let mut host = Multipath::new(on_ip(), config.clone(), rng);
                    if !is_sender {
                        host.listen(PORTS.1, vec![SERVICE]);
                    }
                    Host::Multipath(Box::new(host))
                })
            }
            Carrier::Sctp | Carrier::SctpOverTwo => self.flow(ways, |_, is_sender, rng| {
                let association = sctp_config(ways.len());
                let config =
                    sctp::EndpointConfig { accept: !is_sender, association, ..Default::default() };
                Host::Sctp(Box::new(sctp::Endpoint::new(config, rng)))
            }),
        }
    }

    fn bundle(&mut self, ways: &[Vec<Duplex>], connections: Connections) -> Flow {
        let config = bundle_config(self.cell, self.values, connections);
        self.flow(ways, |_, is_sender, rng| {
            let mut bundle = Bundle::new(on_ip(), config.clone(), rng);
            if !is_sender {
                bundle.listen(PORTS.1, vec![SERVICE]);
            }
            Host::Bundle(Box::new(bundle))
        })
    }

    /// All that goes on beside the video in a cell, and in the core network if it is given; returns
    /// the transfers.
    fn traffic(&mut self, stations: &[Station; 3], core: Option<&Core>) -> Vec<Flow> {
        self.streams(stations, core);
        match self.values.has_ftp {
            true => self.transfers(stations, core),
            false => Vec::new(),
        }
    }

    /// Streams of constant rate: Al-Majeed 2011, table 2 and section 3.3.
    fn streams(&mut self, stations: &[Station; 3], core: Option<&Core>) {
        for station in stations {
            self.stream(&[station.rtps]);
        }
        // To the first station from node B, if it is there, as section 3.3 says of one stream; to
        // the second one from the base station.
        if let Some(core) = core {
            self.stream(&[reversed(core.a), core.bottleneck, core.b]);
        }
        for way in self.ways_from_b(stations[0].rtps, core) {
            self.stream(&way);
        }
        self.stream(&[reversed(stations[1].rtps)]);
    }

    /// The way from node B, if it is there, to a station. If that ends at the base station already,
    /// the station has the same from there.
    fn ways_from_b(&self, station: Duplex, core: Option<&Core>) -> Vec<Vec<Duplex>> {
        let down = vec![reversed(station)];
        let Some(core) = core else { return vec![down] };
        let from_b = [core.b, core.bottleneck, core.base_station].map(reversed).to_vec();
        match self.values.is_core_on_radio {
            true => vec![[from_b, down].concat()],
            false => vec![from_b, down],
        }
    }

    fn transfers(&mut self, stations: &[Station; 3], core: Option<&Core>) -> Vec<Flow> {
        let mut flows: Vec<_> =
            stations.iter().map(|station| self.transfer(&[station.nrtps])).collect();
        if let Some(core) = core {
            let to_a = [reversed(core.b), reversed(core.bottleneck), core.a];
            flows.push(self.transfer(&to_a));
        }
        let to_third = self.ways_from_b(stations[2].nrtps, core);
        flows.extend(to_third.iter().map(|way| self.transfer(way)));
        flows
    }

    fn stream(&mut self, way: &[Duplex]) -> Flow {
        let rate = self.values.cbr.mean().unwrap_or_default();
        self.flow(&[way.to_vec()], |path, is_sender, mut rng| {
            Host::Cbr(if is_sender { Cbr::source(path, rate, &mut rng) } else { Cbr::sink(path) })
        })
    }

    fn transfer(&mut self, way: &[Duplex]) -> Flow {
        let config = self.values.tcp();
        self.flow(&[way.to_vec()], |path, is_sender, rng| {
            let config = config.clone();
            let make = if is_sender { tcp::Connection::client } else { tcp::Connection::listener };
            Host::Tcp(Box::new(make(config, path, rng)))
        })
    }

    /// Two hosts of their own, and the routes between them: of each way the sender has an address.
    fn flow(&mut self, ways: &[Vec<Duplex>], make: impl Fn(FourTuple, bool, Rng) -> Host) -> Flow {
        self.flows += 1;
        let far = IpAddr::from([10, self.flows, 0, 2]);
        let near: Vec<IpAddr> =
            (0..).zip(ways).map(|(way, _)| IpAddr::from([10, self.flows, way, 1])).collect();
        let path = |near: &IpAddr| FourTuple::new((*near, PORTS.0).into(), (far, PORTS.1).into());
        let first = path(&near[0]);
        let [sender, receiver] = [first, first.reversed()].map(|end| {
            let rng = self.sim.fork_rng();
            let host = make(end, end == first, rng);
            let protocol = host.protocol();
            let name = end.local.ip().to_string();
            let addresses = if end == first { near.clone() } else { vec![far] };
            let host = self.sim.add_host(name, &addresses, host).expect("new addresses");
            self.sim.set_carrier(host, protocol);
            host
        });
        let network = self.sim.network_mut();
        for (near, way) in near.iter().zip(ways) {
            let forward = way.iter().map(|link| ElementId::from(link.forward));
            let backward = way.iter().rev().map(|link| ElementId::from(link.backward));
            network.add_route(*near, far, forward).expect("IPv4, and each link once");
            network.add_route(far, *near, backward).expect("IPv4, and each link once");
        }
        Flow { sender, receiver, path: first, second: near.get(1).map(path) }
    }
}

fn reversed(link: Duplex) -> Duplex {
    Duplex { forward: link.backward, backward: link.forward }
}

fn on_ip() -> EndpointConfig {
    EndpointConfig { encapsulation: Encapsulation::Ip, ..EndpointConfig::default() }
}

/// As each connection behaves, and each path of one over several.
fn connection_config(values: &Values) -> Config {
    Config {
        packet_size: if values.has_actual_size { PacketSize::Actual } else { PacketSize::Mean },
        oscillation_reduction: values.gives_way_to_delay,
        first_rate: match values.begins_with_packet {
            true => FirstRate::Packet,
            false => FirstRate::Window,
        },
        ..Config::with_ccid(Ccid::Tfrc)
    }
}

fn multipath_config(values: &Values) -> MultipathConfig {
    MultipathConfig {
        connection: connection_config(values),
        send_buffer: BUFFER,
        ..MultipathConfig::default()
    }
}

fn bundle_config(cell: &Cell, values: &Values, connections: Connections) -> BundleConfig {
    // Section 4.3: "the multiplexing granularity was changed to be on the packet level".
    let is_by_packet = (cell.scenario == Scenario::UserToUser) != values.is_interleaving_swapped;
    BundleConfig {
        connections,
        interleaving: if is_by_packet { Interleaving::ByPacket } else { Interleaving::ByGroup },
        start_gap: values.start_gap,
        send_buffer: BUFFER,
        reordering_buffer: BUFFER,
        connection: connection_config(values),
        ..BundleConfig::default()
    }
}

/// As our sessions have it, with room for the whole video; over several cells each message takes
/// the one where it arrives first.
pub(super) fn sctp_config(cells: usize) -> sctp::AssociationConfig {
    sctp::AssociationConfig::media().with(|config| {
        config.buffers.send_buffer = BUFFER;
        if cells > 1 {
            config.paths.path_scheduler = sctp::PathSchedulerKind::EarliestDelivery;
        }
    })
}
