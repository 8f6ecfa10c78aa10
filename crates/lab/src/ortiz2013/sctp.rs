//! The strategies that send with SCTP, straight on IP as the paper did.

use std::time::Duration;

use anabranch_netsim::{CLIENT, Carrier, HostId, Pair, SERVER, Side, Simulation, SimulationError};
use anabranch_sansio::FourTuple;
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, CongestionControl, Endpoint, EndpointConfig,
    Event, OutgoingMessage, PathSchedulerKind, RetransmissionPolicy, SchedulerKind, SendError,
};
use anabranch_wire::{Ppid, StreamId};
use bytes::Bytes;

use super::cell::{Cell, Setup};
use super::measure::{Arrivals, Delivery};
use super::sensitivity::Variation;
use super::strategy::{SctpStrategy, Treatment};
use super::values::{MTU_MAX, Values};
use super::watch::Watch;
use crate::svc::{Layer, VideoPacket};

/// SCTP's own ports.
const PORTS: (u16, u16) = (5_000, 5_001);
/// Of the video's first packet.
const FIRST_PPID: u32 = 1 << 31;
/// The streams of the two layers.
const BASE: StreamId = StreamId(0);
const ENHANCEMENT: StreamId = StreamId(1);

/// What ns-2's agents have, and ours on equal terms.
pub(super) const RECEIVE_BUFFER: usize = 65_536;
pub(super) const RTO_INITIAL: Duration = Duration::from_secs(3);
pub(super) const RTO_MIN: Duration = Duration::from_secs(1);
pub(super) const RTO_MAX: Duration = Duration::from_secs(60);

static PAYLOAD: [u8; MTU_MAX as usize] = [0x5a; MTU_MAX as usize];

pub(super) fn run(
    cell: &Cell,
    strategy: SctpStrategy,
    variation: Variation,
    setup: &Setup,
    watch: &mut Watch,
) -> Result<Delivery, SimulationError> {
    let (values, start) = (setup.values(), setup.values().start());
    let config = variation.apply(config(strategy, values));
    let mut session = Session::connect(cell, config, setup, watch)?;
    session.arrivals = vec![None; setup.packets.len()];
    let mut changes = cell.changes(setup.values()).into_iter().peekable();
    for (id, packet) in setup.packets.iter().enumerate() {
        let at = packet.sent_at(start);
        while let Some((when, path, links)) = changes.next_if(|(when, ..)| *when <= at) {
            session.run_to(when)?;
            session.pair.reconfigure(path, links);
        }
        session.run_to(at)?;
        session.send(message(strategy, variation, values, id, packet))?;
    }
    session.drain(values.patience)?;
    Ok(session.into_delivery())
}

/// Whether associations work with these values.
pub(super) fn check(values: &Values) -> Result<(), String> {
    let strategies = [SctpStrategy::Single(Treatment::Reliable), SctpStrategy::Anabranch];
    let mut configs = strategies.into_iter().map(|strategy| config(strategy, values));
    configs.try_for_each(|config| config.validate().map_err(|error| error.to_string()))
}

pub(super) fn config(strategy: SctpStrategy, values: &Values) -> AssociationConfig {
    match strategy {
        // Each link as its window allows, SACKs of reordered data delayed (DAC); what was lost goes
        // out on the link with the largest slow-start threshold (RTX-SSTHRESH), which is one of the
        // paper's two choices.
        SctpStrategy::CmtMulti(_) => ns2(values).with(|config| {
            config.paths.path_scheduler = PathSchedulerKind::AsWindowAllows;
            config.recovery.retransmission_policy = RetransmissionPolicy::Ssthresh;
            config.extensions.cmt_delayed_ack = true;
        }),
        SctpStrategy::Multi(_) | SctpStrategy::Single(_) => ns2(values).with(|config| {
            config.paths.path_scheduler = PathSchedulerKind::Primary;
            config.recovery.retransmission_policy = RetransmissionPolicy::Alternate;
        }),
        SctpStrategy::Anabranch => anabranch(values),
    }
}

/// What ns-2's agents do by default, which the paper left as it was: a receive window of 65,536
/// bytes, an initial window of two packets, bursts of at most four, SACKs delayed by 200 ms, an RTO
/// of 3 s at first and of 1 to 60 s later, heartbeats every 30 s; neither potentially failed paths
/// (RFC 7829) nor a receive buffer that paths share. A path fails at the second error in a row.
fn ns2(values: &Values) -> AssociationConfig {
    const ERRORS_MAX: u32 = 1;
    on_these_links(AssociationConfig::default(), values).with(|config| {
        config.timers.rto_initial = RTO_INITIAL.max(values.sctp_rto_min);
        config.timers.rto_min = values.sctp_rto_min;
        config.timers.rto_max = RTO_MAX;
        config.paths.path_max_retrans = ERRORS_MAX;
        config.paths.potentially_failed_max_retrans = ERRORS_MAX;
        config.recovery.association_max_retrans = 100;
        config.timers.heartbeat_interval = Duration::from_secs(30);
        config.timers.sack_delay = Duration::from_millis(200);
        config.window.max_burst = Some(4);
        config.buffers.receive_buffer = values.sctp_buffer;
        config.window.congestion_control = CongestionControl::SmallInitialWindow;
        config.paths.buffer_splitting = false;
        config.streams.scheduler = SchedulerKind::RoundRobin;
    })
}

/// As our own sessions are by default on several paths, at a latency of 200 ms.
fn anabranch(values: &Values) -> AssociationConfig {
    on_these_links(AssociationConfig::media(), values).with(|config| {
        config.paths.path_scheduler = PathSchedulerKind::EarliestDelivery;
        config.recovery.retransmission_policy = RetransmissionPolicy::Earliest;
        config.window.queuing_delay_max = Some(values.latency / 4);
        config.buffers.receive_buffer = values.our_buffer;
        let timers = &mut config.timers;
        timers.rto_min = values.our_rto_min;
        timers.rto_initial = timers.rto_initial.max(timers.rto_min);
        timers.rto_max = timers.rto_max.max(timers.rto_min);
    })
}

/// Full packets, and an encoder that does not wait for the network.
fn on_these_links(config: AssociationConfig, values: &Values) -> AssociationConfig {
    config.with(|config| {
        config.paths.path_mtu = values.mtu().into();
        config.paths.header_overhead = 20;
        config.buffers.message_size_max = values.payload_max() as usize;
        config.buffers.send_buffer = usize::MAX >> 1;
    })
}

/// The packet's number travels as the payload protocol identifier, which SCTP does not read.
/// Numbers that are registered for other protocols are left out: what shows captures goes by them.
fn message(
    strategy: SctpStrategy,
    variation: Variation,
    values: &Values,
    id: usize,
    packet: &VideoPacket,
) -> OutgoingMessage {
    let stream = match (strategy, packet.layer) {
        (SctpStrategy::Single(_), _) | (_, Layer::Base) => BASE,
        (_, Layer::Enhancement) => ENHANCEMENT,
    };
    OutgoingMessage {
        ppid: Ppid(FIRST_PPID + id as u32),
        // The viewer puts ours in order, as one of RTP does.
        ordered: strategy != SctpStrategy::Anabranch || variation == Variation::EqualTerms,
        reliability: strategy.reliability(packet.layer, values),
        ..OutgoingMessage::new(stream, Bytes::from_static(&PAYLOAD).slice(..packet.len as usize))
    }
}

/// The two hosts with their association.
struct Session {
    pair: Pair<Endpoint>,
    id: AssociationId,
    arrivals: Arrivals,
}

impl Session {
    fn connect(
        cell: &Cell,
        config: AssociationConfig,
        setup: &Setup,
        watch: &mut Watch,
    ) -> Result<Self, SimulationError> {
        let mut pair = Pair::new(cell.seed, &cell.links(setup.values()), |side, paths, rng| {
            let accept = side == Side::Server;
            let association = config.clone();
            let config = EndpointConfig { accept, association, ..EndpointConfig::default() };
            let mut endpoint = Endpoint::new(config, rng);
            endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
            endpoint
        });
        pair.set_carrier(Carrier::Sctp);
        watch.begin(cell, setup, &mut pair);
        let paths: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses).collect();
        let connect = |endpoint: &mut Endpoint, now| endpoint.connect(now, &paths, PORTS, config);
        let id = pair.act_client(connect)?.expect("a fresh endpoint takes two paths");
        pair.act_client(|endpoint, _| {
            let association = endpoint.association_mut(id);
            association.map(|association| association.set_stream_priority(ENHANCEMENT, 1))
        })?;
        let mut session = Self { pair, id, arrivals: Vec::new() };
        session.run_to(setup.values().start())?;
        Ok(session)
    }

    fn send(&mut self, message: OutgoingMessage) -> Result<(), SimulationError> {
        let id = self.id;
        let sent = self.pair.act_client(|endpoint, now| {
            endpoint.association_mut(id).map(|association| association.send(now, message))
        })?;
        // An association that was given up takes nothing any more: its packets do not arrive.
        debug_assert!(!matches!(sent, Some(Err(SendError::BufferFull { .. }))), "{sent:?}");
        Ok(())
    }

    /// Waits for what is still under way.
    fn drain(&mut self, patience: Duration) -> Result<(), SimulationError> {
        let end = self.pair.now() + patience;
        while self.pair.now() < end && !self.is_drained() {
            self.run_to(self.pair.now() + Duration::from_millis(100))?;
        }
        Ok(())
    }

    fn is_drained(&self) -> bool {
        self.pair.client().association(self.id).is_none_or(|association| association.is_drained())
    }

    fn into_delivery(self) -> Delivery {
        let association = self.pair.client().association(self.id);
        let stats = association.map(Association::stats).unwrap_or_default();
        let paths = stats.paths.iter();
        // Its only association.
        let server = self.pair.server();
        let receiver = server.associations().next().and_then(|id| server.association(id));
        Delivery {
            arrivals: self.arrivals,
            retransmissions: stats.streams.chunks_retransmitted,
            timeouts: paths.map(|path| path.counters.timeouts).sum(),
            discarded_by_receiver: receiver.map_or(0, |it| it.stats().dropped_no_room),
        }
    }

    fn run_to(&mut self, end: anabranch_sansio::Time) -> Result<(), SimulationError> {
        let arrivals = &mut self.arrivals;
        let mut failed = Ok(());
        self.pair.sim.run_to_with(end, |sim, host, (id, event)| {
            if (host, event) == (SERVER, Event::Readable) {
                failed = read(sim, host, id, arrivals);
            }
        })?;
        failed
    }
}

fn read(
    sim: &mut Simulation<Endpoint>,
    host: HostId,
    id: AssociationId,
    arrivals: &mut Arrivals,
) -> Result<(), SimulationError> {
    debug_assert_ne!(host, CLIENT, "the client sends only");
    sim.act(host, |endpoint, now| {
        let Some(association) = endpoint.association_mut(id) else { return };
        while let Some(message) = association.receive() {
            if let Some(arrival) =
                arrivals.get_mut(message.ppid.0.wrapping_sub(FIRST_PPID) as usize)
            {
                *arrival = Some(now);
            }
        }
    })
}
