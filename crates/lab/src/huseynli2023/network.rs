//! The network of the paper's figure 6, and a run on it.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use anabranch_netsim::settings::{DirectionSettings, Queue, SettingsError, Speed};
use anabranch_netsim::{
    Carrier, CellConfig, Duplex, HostId, LinkConfig, Loss, Medium, Network, Simulation,
    SimulationError, WifiConfig, WifiStandard,
};
use anabranch_sansio::{FourTuple, Time};
use anabranch_sctp::Level;

use super::cell::{Cell, LastHop};
use super::host::{Host, PORTS, Reader, Writer};
use super::measure::{Ended, Outcome, Read};
use super::method::rfc;
use super::source::Planned;
use super::values::Values;
use crate::recording::Recording;
use crate::records::UnitRecord;

/// What connections have to stand.
const START: Time = Time::from_secs(1);
/// As the sender marks them: I and sound, P, B.
const LEVELS: [&str; Level::ALL.len()] = ["urgent", "I", "P", "B"];
/// For what is under way or waits when the stream ends. At a load of 1.05 that takes 6 s.
const AFTER: Duration = Duration::from_secs(12);

/// Runs a cell.
pub(super) fn run(
    cell: &Cell,
    values: &Values,
    name: &str,
    recording: &mut Recording,
) -> Result<Outcome, SimulationError> {
    let mut sim = Simulation::new(cell.seed);
    sim.limit_steps(values.steps_max);
    // What is drawn is the same for all methods.
    let mut draws = sim.fork_rng();
    let service_times = sim.fork_rng();
    let stream = cell.source.messages(values, &mut draws);
    let sent = stream.len();
    let bottleneck = sim.network_mut().add_duplex("bottleneck", values.bottleneck());
    let association = cell.method.association(values);
    let mut ends = None;
    for pair in 1..=values.flows + 1 {
        let path = connect(sim.network_mut(), pair as u8, bottleneck, cell.last_hop, values);
        let (writer, reader, config) = match pair {
            1 => {
                let pace = values.pace(sent);
                let writer = Writer::new(stream.clone(), cell.method, values.ordered);
                (writer, Reader::new(pace, service_times.clone()), association.clone())
            }
            _ => {
                let phase = values.flow_interval().mul_f64(draws.unit());
                let writer = Writer::new(background(values, phase), super::Method::Sctp, true);
                (writer, Reader::at_once(draws.fork()), rfc(values))
            }
        };
        let writer = Host::calling(path, config.clone(), writer, START, sim.fork_rng());
        let reader = Host::listening(path.reversed(), config, reader, sim.fork_rng());
        let hosts = (add(&mut sim, "sender", pair, path, writer), {
            add(&mut sim, "receiver", pair, path.reversed(), reader)
        });
        ends.get_or_insert(hosts);
    }
    let (sender, receiver) = ends.expect("the stream has two ends");
    recording.begin_among(&name, &mut sim, move |host: HostId| match host {
        host if host == sender => Some("sender"),
        host if host == receiver => Some("receiver"),
        _ => None,
    });
    sim.run_to(START + values.duration + AFTER)?;
    let lost = sim.network().links().map(|(_, _, link)| link.stats().dropped.total().packets).sum();
    let chunks_repeated = sim.machine(sender).chunks_repeated();
    let reads = sim.machine_mut(receiver).take_reads();
    recording.units(|| units(stream, &reads));
    let (start, method) = (START, cell.method);
    Ok(Outcome::of(&Ended { start, method, values, sent, reads, lost, chunks_repeated }))
}

/// What became of each message of the stream. Those of one level that are due at one time are told
/// apart by their order alone.
fn units(stream: Vec<Planned>, reads: &[Read]) -> Vec<UnitRecord> {
    let mut arrivals: BTreeMap<(Time, usize), VecDeque<Time>> = BTreeMap::new();
    for read in reads {
        arrivals.entry((read.ready, read.kind.into())).or_default().push_back(read.arrived);
    }
    let mut numbers = [0; Level::ALL.len()];
    let unit = |message: Planned| {
        let (ready, level) = (START + message.at, message.level.index());
        let number = numbers[level];
        numbers[level] += 1;
        UnitRecord {
            of: "stream".to_owned(),
            kind: LEVELS[level],
            number,
            bytes: message.len,
            ready,
            deadline: None,
            completed: arrivals.get_mut(&(ready, level)).and_then(VecDeque::pop_front),
        }
    };
    stream.into_iter().map(unit).collect()
}

fn add(sim: &mut Simulation<Host>, end: &str, pair: u32, path: FourTuple, machine: Host) -> HostId {
    let host = sim.add_host(format!("{end} {pair}"), &[path.local.ip()], machine);
    let host = host.expect("each host has an address of its own");
    sim.set_carrier(host, Carrier::Sctp);
    host
}

/// Joins a sender to its receiver; the sender's path.
fn connect(
    network: &mut Network,
    pair: u8,
    bottleneck: Duplex,
    last_hop: LastHop,
    values: &Values,
) -> FourTuple {
    let [sender, receiver] = [1, 2].map(|side| IpAddr::from([10, side, pair, 1]));
    let first = network.add_duplex(&format!("sender {pair}"), values.access());
    let last = match last_hop {
        LastHop::Wired => values.access(),
        LastHop::Wireless => wifi(),
    };
    // A station's first link leads to its access point.
    let last = network.add_duplex(&format!("receiver {pair}"), last);
    let there = [first.forward, bottleneck.forward, last.backward];
    let back = [last.forward, bottleneck.backward, first.backward];
    let routes = [(sender, receiver, there), (receiver, sender, back)];
    for (from, to, links) in routes {
        let added = network.add_route(from, to, links.map(Into::into));
        added.expect("all addresses are IPv4, and no link comes twice");
    }
    FourTuple::new((sender, PORTS.0).into(), (receiver, PORTS.1).into())
}

/// A station of the one cell.
fn wifi() -> LinkConfig {
    let medium = Medium::Wifi(WifiConfig::new(WifiStandard::G));
    let cell = CellConfig { name: Some("wifi".to_owned()), ..medium.clone().into() };
    LinkConfig { cell: Some(cell), ..medium.link() }
}

fn background(values: &Values, phase: Duration) -> Vec<Planned> {
    let interval = values.flow_interval();
    let times = (0..).map(|number| phase + interval * number);
    let len = values.message as usize;
    let planned = |at| Planned { at, level: Level::Normal, len };
    times.take_while(|at| *at < values.duration).map(planned).collect()
}

impl Values {
    fn bottleneck(&self) -> LinkConfig {
        let loss = Loss::uniform(self.loss);
        LinkConfig { loss, ..self.checked(&self.rate, self.delay) }
    }

    fn access(&self) -> LinkConfig {
        self.checked(&self.access_rate, self.access_delay)
    }

    fn checked(&self, rate: &Speed, delay: Duration) -> LinkConfig {
        link(rate, delay, self.queue).expect("what makes no sense together was refused")
    }

    pub(super) fn check_links(&self) -> Result<(), SettingsError> {
        link(&self.rate, self.delay, self.queue)?;
        link(&self.access_rate, self.access_delay, self.queue)?;
        Ok(())
    }
}

fn link(rate: &Speed, delay: Duration, queue: Queue) -> Result<LinkConfig, SettingsError> {
    let settings = DirectionSettings {
        rate: Some(rate.clone()),
        delay: Some(delay),
        queue: Some(queue),
        mtu: Some(1_500),
        ..DirectionSettings::default()
    };
    settings.change(LinkConfig::default())
}
