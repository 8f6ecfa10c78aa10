//! Runs a scenario.

mod network;
mod tally;

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_netsim::written::{Fault, Happening, WrittenEvent};
use anabranch_netsim::{
    CaptureScope, Carrier, HostId, Packet, QlogFile, RouteError, Simulation, SimulationError,
};
use anabranch_sansio::{FourTuple, Rng, Time};
use thiserror::Error;

use super::end::{End, Sent};
use super::flow::{Flow, Kind, MessageCarrier, Messages};
use super::frames::{FlowFrames, Frames};
use super::media::{Screen, Studio};
use super::messages::MessageEnd;
use super::sink::Sink;
use super::source::Source;
use super::television::{Station, Watcher};
use super::transport::{QuicTransport, SctpTransport, TcpTransport, Transport, UdpTransport, dccp};
use super::{Outcome, Scenario};
use crate::records::{InUdp, Owner, Owners, PacketRecords, Rows};
use network::Net;
use tally::Tally;

/// How long a run goes on after its end, for what is still under way.
pub const AFTER: Duration = Duration::from_secs(2);

/// The ports of both ends.
const PORTS: (u16, u16) = (5_000, 5_001);

/// Says why a run is to end, if it is.
pub type Stop = Box<dyn FnMut() -> Option<String> + Send>;

/// What is recorded of a run, and where that goes.
#[derive(Default)]
pub struct Watching {
    /// All packets, as they leave the links, as a pcapng file.
    pub capture: Option<Box<dyn Write + Send>>,
    /// What all ends do and why, as a qlog file.
    pub trace: Option<Box<dyn Write + Send>>,
    /// What becomes of all packets: rows of [`PACKET_COLUMNS`](crate::records::PACKET_COLUMNS).
    pub packets: Option<Box<dyn Rows>>,
    /// What becomes of all units of media: rows of [`FRAME_COLUMNS`](super::FRAME_COLUMNS).
    pub frames: Option<Box<dyn Rows>>,
    /// Asked after each event of the simulator: a reason ends the run.
    pub stop: Option<Stop>,
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capture, trace, packets, frames, stop } = self;
        let mut shown = f.debug_struct("Watching");
        shown.field("capture", &capture.is_some()).field("trace", &trace.is_some());
        shown.field("packets", &packets.is_some()).field("frames", &frames.is_some());
        shown.field("stop", &stop.is_some()).finish()
    }
}

/// A run that came to no end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario asks for what cannot be run.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A machine misbehaved.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// It took more events than it may.
    #[error(
        "the run was ended at {at} of {end:?}: it took {steps} events, its limit; give more \
         steps_max, or a slower link"
    )]
    Endless {
        /// When.
        at: Time,
        /// When it would have ended.
        end: Duration,
        /// How many.
        steps: u64,
    },
    /// Whoever watches ended it.
    #[error("the run was ended at {at}: {reason}")]
    Stopped {
        /// When.
        at: Time,
        /// Why.
        reason: String,
    },
    /// What is recorded cannot be written.
    #[error("what is recorded cannot be written: {0}")]
    Recording(#[from] io::Error),
}

impl Scenario {
    /// Runs it with one seed. The same seed gives the same outcome to the last digit.
    ///
    /// # Errors
    /// It takes more events than it may, a machine misbehaves, what is recorded cannot be written,
    /// or whoever watches ends it.
    pub fn run(&self, seed: u64, watching: Watching) -> Result<Outcome, RunError> {
        let frames = watching.frames.map(Frames::begin);
        let mut run = Run::build(self, seed, frames.as_ref())?;
        run.stop = watching.stop;
        let title = format!("seed {seed}");
        let capture =
            watching.capture.map(|writer| run.sim.capture(CaptureScope::AllLinks, &title, writer));
        let trace = watching.trace.map(|writer| run.trace(writer, &title));
        let packets = watching.packets.map(|rows| run.record(rows));
        for event in &self.events {
            run.run_to(Time::ZERO + event.at)?;
            run.happen(event);
        }
        run.run_to(Time::ZERO + self.duration)?;
        let links = run.links();
        let shares = run.shares();
        run.run_to(Time::ZERO + self.duration + AFTER)?;
        let outcome = Outcome { flows: run.flows(&shares), links };
        // A source of somebody's own was asked for the last time.
        run.ask_to_stop()?;
        if let Some(capture) = capture {
            capture?.finish()?.flush()?;
        }
        if let Some(packets) = packets {
            packets.finish()?;
        }
        if let Some(frames) = frames {
            Frames::finish(&frames)?;
        }
        if let Some(trace) = trace {
            finish(&trace)?;
        }
        Ok(outcome)
    }
}

/// A scenario under way.
struct Run<'a> {
    scenario: &'a Scenario,
    sim: Simulation<End>,
    net: Net,
    /// The sending and the receiving host of each flow.
    hosts: Vec<(HostId, HostId)>,
    tally: Arc<Mutex<Tally>>,
    stop: Option<Stop>,
}

impl<'a> Run<'a> {
    fn build(
        scenario: &'a Scenario,
        seed: u64,
        frames: Option<&Arc<Mutex<Frames>>>,
    ) -> Result<Self, RunError> {
        let mut sim = Simulation::new(seed);
        sim.limit_steps(scenario.steps_max);
        let mut net = Net::build(sim.network_mut(), &scenario.links);
        let mut draws = sim.fork_rng();
        let mut hosts = Vec::new();
        for (number, flow) in scenario.flows.iter().enumerate() {
            let written = (&*scenario.links, &*scenario.nats);
            let routed = net.route(sim.network_mut(), written, number, flow);
            let paths = routed.map_err(|error| broken(flow, &error))?;
            hosts.push(add_flow(&mut sim, &mut draws, flow, &paths, (seed, frames))?);
        }
        let tally = Arc::new(Mutex::new(Tally::new(&net, scenario)));
        sim.network_mut().add_observer(Arc::clone(&tally));
        Ok(Self { scenario, sim, net, hosts, tally, stop: None })
    }

    fn run_to(&mut self, end: Time) -> Result<(), RunError> {
        while self.sim.next_step_at().is_some_and(|at| at <= end) {
            self.sim.step().map_err(|error| self.ended_by(error))?;
            self.ask_to_stop()?;
        }
        Ok(self.sim.run_to(end)?)
    }

    fn ended_by(&self, error: SimulationError) -> RunError {
        if let SimulationError::Endless { at, steps } = error {
            return RunError::Endless { at, end: self.scenario.duration, steps };
        }
        error.into()
    }

    fn ask_to_stop(&mut self) -> Result<(), RunError> {
        let at = self.sim.now();
        let reason = self.stop.as_mut().and_then(|stop| stop());
        reason.map_or(Ok(()), |reason| Err(RunError::Stopped { at, reason }))
    }

    fn happen(&mut self, event: &WrittenEvent) {
        let now = self.sim.now();
        match &event.what {
            Happening::Cut(link) => {
                self.net.capacity(*link).cut(now);
                self.sim.cut_both(self.net.duplex(*link));
            }
            Happening::Restore(link) => {
                self.net.capacity(*link).restore(now);
                self.sim.restore_both(self.net.duplex(*link));
            }
            Happening::Change(link, config) => {
                self.net.capacity(*link).change(now, config);
                self.sim.reconfigure_both(self.net.duplex(*link), (**config).clone());
            }
            Happening::Rebind(link) => self.net.rebind(self.sim.network_mut(), *link),
            Happening::Address(link) => {
                let given = self.net.readdress(self.sim.network_mut(), *link);
                debug_assert_eq!(given, Ok(()), "all addresses are IPv4");
            }
            Happening::Check(_) => {}
        }
    }

    fn links(&mut self) -> Vec<super::LinkOutcome> {
        let now = self.sim.now();
        self.net.outcomes(self.sim.network(), &self.scenario.links, now)
    }

    fn shares(&self) -> Vec<f64> {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.shares(&self.scenario.flows)
    }

    fn flows(&mut self, shares: &[f64]) -> Vec<super::FlowOutcome> {
        let ends = self.scenario.flows.iter().zip(self.hosts.clone()).zip(shares);
        ends.filter_map(|((flow, hosts), share)| self.flow(flow, hosts, *share)).collect()
    }

    fn flow(
        &mut self,
        flow: &Flow,
        (sender, receiver): (HostId, HostId),
        share: f64,
    ) -> Option<super::FlowOutcome> {
        let packets = self.sim.stats(sender).sent.packets;
        let Sent { start, messages, is_paced, counters, ended } =
            self.sim.machine_mut(sender).sent()?;
        let received = self.sim.machine_mut(receiver).received()?;
        let span = (Time::ZERO + flow.stop).saturating_since(start);
        let ms = |span: Duration| rounded(span.as_nanos() as f64 / 1e6);
        let delay = |share| received.delays.quantile(share).map(ms);
        let lost = messages.saturating_sub(received.arrived);
        Some(super::FlowOutcome {
            name: flow.name.clone(),
            kind: flow.kind.name().to_owned(),
            goodput_bps: (received.bytes_in_time as f64 * 8.0 / span.as_secs_f64()).round(),
            share: rounded(share),
            delay_p50_ms: delay(0.5),
            delay_p95_ms: delay(0.95),
            delay_p99_ms: delay(0.99),
            delay_max_ms: delay(1.0),
            first_ms: received.first.map(|at| ms(at.saturating_since(start))),
            messages,
            lost: match counters.sent_once {
                _ if is_paced => lost,
                Some(sent) => sent.saturating_sub(received.arrived),
                None => counters.given_up,
            },
            packets,
            retransmitted: counters.retransmitted,
            late: received.seen.map(|seen| seen.late),
            freezes: received.seen.map(|seen| seen.freezes),
            frozen_ms: received.seen.map(|seen| ms(seen.frozen)),
            ended: ended.or(received.ended),
        })
    }

    /// Has every packet told to a table.
    fn record(&mut self, rows: Box<dyn Rows>) -> PacketRecords {
        let flows = &self.scenario.flows;
        let in_udp: Vec<_> = flows.iter().map(in_udp).collect();
        let of = move |packet: &Packet| {
            let IpAddr::V4(address) = packet.path.local.ip() else { return None };
            let [_, flow, path, _] = address.octets();
            let flow = usize::from(flow);
            Some(Owner { flow, path: path + 1, in_udp: *in_udp.get(flow)? })
        };
        let flows = flows.iter().map(|flow| flow.name.clone()).collect();
        let owners = Owners { flows, of: Box::new(of) };
        PacketRecords::begin_among(self.sim.network_mut(), rows, Some(owners))
    }

    fn trace(&mut self, writer: Box<dyn Write + Send>, title: &str) -> Arc<Mutex<Trace>> {
        let trace = Arc::new(Mutex::new(QlogFile::new(writer, title, None)));
        let shared = Arc::clone(&trace);
        let ends = self.scenario.flows.iter().zip(&self.hosts);
        let name = |host: HostId| {
            let found = ends.clone().find(|(_, hosts)| hosts.0 == host || hosts.1 == host);
            found.map_or_else(String::new, |(flow, hosts)| {
                let end = if hosts.0 == host { "sender" } else { "receiver" };
                format!("{} {end}", flow.name)
            })
        };
        let hosts = self.hosts.iter().flat_map(|hosts| [hosts.0, hosts.1]);
        let names: Vec<(HostId, String)> = hosts.map(|host| (host, name(host))).collect();
        self.sim.trace(move |host, record| {
            let mut trace = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let label = names.iter().find(|(known, _)| *known == host);
            if let (Ok(file), Some((_, label))) = (&mut *trace, label)
                && let Err(error) = file.record(label, &record)
            {
                *trace = Err(error);
            }
        });
        trace
    }
}

/// To six digits behind the point: what is written is read again as it was.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The file is gone with its first error.
type Trace = io::Result<QlogFile<Box<dyn Write + Send>>>;

fn finish(trace: &Mutex<Trace>) -> io::Result<()> {
    let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *trace {
        Ok(file) => file.flush(),
        Err(error) => Err(std::mem::replace(error, io::ErrorKind::Other.into())),
    }
}

fn broken(flow: &Flow, error: &RouteError) -> Fault {
    Fault::new(flow.place, format!("{}: {error}", flow.name))
}

/// A flow's name, and what it has in UDP.
/// What the UDP datagrams of a flow carry.
const fn in_udp(flow: &Flow) -> Option<InUdp> {
    match &flow.kind {
        Kind::Messages(Messages { carrier: MessageCarrier::Sctp(_), .. }) => Some(InUdp::Sctp),
        Kind::Messages(Messages { carrier: MessageCarrier::Dccp(_), .. }) => Some(InUdp::Dccp),
        Kind::Media(options) if options.is_over_dccp() => Some(InUdp::Dccp),
        Kind::Media(_) | Kind::Television(_) => Some(InUdp::Sctp),
        Kind::Messages(_) => None,
    }
}

/// The two hosts of a flow, with an address for each path.
fn add_flow(
    sim: &mut Simulation<End>,
    draws: &mut Rng,
    flow: &Flow,
    paths: &[FourTuple],
    (seed, frames): (u64, Option<&Arc<Mutex<Frames>>>),
) -> Result<(HostId, HostId), Fault> {
    let late = draws.range(0..u64::try_from(flow.spread.as_nanos()).unwrap_or(u64::MAX).max(1));
    let start = Time::ZERO + flow.start + Duration::from_nanos(late);
    let stop = Time::ZERO + flow.stop;
    let back: Vec<FourTuple> = paths.iter().copied().map(FourTuple::reversed).collect();
    let (sender, receiver, carrier) = match &flow.kind {
        Kind::Messages(messages) => {
            let mut sending = messages.carrier.clone();
            if let MessageCarrier::Sctp(options) = &mut sending {
                flow.own.configure(&mut options.config);
            }
            let (near, carrier) = transport(sim, &sending, paths, true);
            let (far, _) = transport(sim, &messages.carrier, &back, false);
            let Messages { pattern, size, .. } = *messages;
            let most = messages.carrier.message_max();
            let source = match flow.own.source(seed, most) {
                Some(source) => Source::own(source, most, start, stop),
                None => Source::new(pattern, size, start, stop),
            };
            let sender = MessageEnd::sender(near, source);
            let receiver = MessageEnd::receiver(far, Sink::new(size, stop));
            (End::Messages(Box::new(sender)), End::Messages(Box::new(receiver)), carrier)
        }
        Kind::Media(options) => {
            let rng = sim.fork_rng();
            let mut studio = Studio::new(options, &flow.own, paths.to_vec(), (start, stop), rng);
            let mut screen = Screen::new(options, &back, stop, sim.fork_rng());
            if let Some(frames) = frames {
                let frames = FlowFrames::new(frames, &flow.name, options.latency);
                studio.record(frames.clone());
                screen.record(frames);
            }
            (End::Studio(Box::new(studio)), End::Screen(Box::new(screen)), Carrier::Udp)
        }
        Kind::Television(options) => {
            let rng = sim.fork_rng();
            let station = Station::new(options, &flow.own, &back, (start, stop), rng);
            let mut station = station.map_err(|error| Fault::new(flow.place, error.to_string()))?;
            let rng = sim.fork_rng();
            let mut watcher = Watcher::new(options, paths.to_vec(), (start, stop), rng);
            if let Some(frames) = frames {
                let frames = FlowFrames::new(frames, &flow.name, options.latency);
                station.record(frames.clone());
                watcher.record(frames);
            }
            (End::Station(Box::new(station)), End::Watcher(Box::new(watcher)), Carrier::Udp)
        }
    };
    // It is the viewer who calls.
    let (near, far) = match flow.kind {
        Kind::Messages(_) | Kind::Media(_) => (paths, &*back),
        Kind::Television(_) => (&*back, paths),
    };
    let mut add = |name: String, end: End, paths: &[FourTuple]| {
        let addresses: Vec<_> = paths.iter().map(|path| path.local.ip()).collect();
        let host = sim.add_host(name, &addresses, end).expect("each flow has its own addresses");
        sim.set_carrier(host, carrier);
        host
    };
    let sender = add(format!("{} sender", flow.name), sender, near);
    Ok((sender, add(format!("{} receiver", flow.name), receiver, far)))
}

fn transport(
    sim: &mut Simulation<End>,
    carrier: &MessageCarrier,
    paths: &[FourTuple],
    calls: bool,
) -> (Box<dyn Transport + Send>, Carrier) {
    let rng = sim.fork_rng();
    let first = paths[0];
    match carrier {
        MessageCarrier::Sctp(options) => {
            let carrier = if options.over_udp { Carrier::Udp } else { Carrier::Sctp };
            let options = (**options).clone();
            (Box::new(SctpTransport::new(options, paths.to_vec(), !calls, rng)), carrier)
        }
        MessageCarrier::Tcp(config) => {
            let config = (**config).clone();
            let end = match calls {
                true => TcpTransport::client(config, first, rng),
                false => TcpTransport::server(config, first, rng),
            };
            (Box::new(end), Carrier::Tcp)
        }
        MessageCarrier::Quic(options) => {
            (Box::new(QuicTransport::new(options, first, !calls, rng)), Carrier::Udp)
        }
        MessageCarrier::Dccp(options) => {
            let carrier = if options.over_udp { Carrier::Udp } else { Carrier::Dccp };
            (dccp(options, paths, !calls, rng), carrier)
        }
        MessageCarrier::Udp => (Box::new(UdpTransport::new(first)), Carrier::Udp),
    }
}
