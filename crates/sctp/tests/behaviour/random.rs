//! Random operations over a hostile network, with invariants after each step.
//!
//! `ANABRANCH_SEEDS=0..100000` runs those seeds instead of the usual few hundred.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use anabranch_netsim::{Hostility, NatConfig, Probability};
use anabranch_sansio::{Rng, Time};
use anabranch_sctp::{
    Association, AssociationConfig, CloseReason, CongestionControl, IncomingMessage, Level,
    LossDetection, OutgoingMessage, PathId, PathPreference, PathSchedulerKind, PathStats,
    Protection, ReceiveOrder, Reliability, RetransmissionPolicy, SchedulerKind,
};
use anabranch_wire::StreamId;

use crate::harness::{Duo, Side, link, number_of, numbered};
use crate::signing::{SECRET, keyed};

const SIDES: [Side; 2] = [Side::Client, Side::Server];
const STREAMS: u64 = 4;
const PATHS: u64 = 2;
const OPERATIONS: u32 = 120;

/// The longest that a handshake takes.
const CONNECT_MAX: Duration = Duration::from_secs(60);

/// The longest that a packet is under way: delay, queue and being held back.
const TRANSIT_MAX: Duration = Duration::from_millis(100 + 100 + 60);

/// The longest that the whole system is suspended at once.
const JUMP_MAX: Duration = Duration::from_millis(3_000);

/// What was sent, by its number.
struct Sent {
    message: OutgoingMessage,
    at: Time,
    /// How long the system had been suspended by then.
    suspended: Duration,
}

/// One direction: what was sent, and what of it was found to have arrived so far.
#[derive(Default)]
struct Ledger {
    sent: BTreeMap<u32, Sent>,
    arrived: BTreeMap<u32, Time>,
    /// Messages of the receiver that were looked at.
    checked: usize,
    /// The last ordered message that arrived on each stream.
    last_ordered: BTreeMap<StreamId, u32>,
}

struct Run {
    duo: Duo,
    rng: Rng,
    /// What the client and the server sent.
    ledgers: [Ledger; 2],
    /// The counters of their paths at the last look.
    counted: [PathStats; 2],
    next_number: u32,
    /// Without FORWARD TSN what was begun is sent to its end, however long that takes.
    lifetimes_hold: bool,
    /// Whether a NAT stands in front of the client on each path.
    is_behind_nat: bool,
    /// Rates stay as they are: what is in a queue would take longer on a slower link.
    rates_mbps: [u64; PATHS as usize],
    /// How long the system was suspended, in all.
    suspended: Duration,
}

#[test]
fn random_operations_keep_every_promise() {
    for seed in seeds() {
        let caught = std::panic::catch_unwind(|| Run::new(seed).run());
        if let Err(panic) = caught {
            eprintln!("seed {seed} failed: run again with ANABRANCH_SEEDS={seed}..{}", seed + 1);
            std::panic::resume_unwind(panic);
        }
    }
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("ANABRANCH_SEEDS") else { return 0..200 };
    let (start, end) = text.split_once("..").expect("ANABRANCH_SEEDS is START..END");
    start.parse().expect("a number")..end.parse().expect("a number")
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::from_u64(seed);
        let rates_mbps = [(); PATHS as usize].map(|()| 1 + rng.range(0..40));
        let links = rates_mbps.map(|mbps| {
            let delay = rng.range(1..50);
            link(mbps, delay, 0.1 * rng.unit() * rng.unit())
        });
        let mut config = random_config(&mut rng);
        // Chosen by the seed itself, so that what the other dice say stays as it was.
        let protection = match seed % 3 {
            0 => None,
            1 => Some(Protection::Addresses),
            _ => Some(Protection::Everything),
        };
        if let Some(protection) = protection {
            config = keyed(SECRET, protection, config);
        }
        config.extensions.message_interleaving = seed / 3 % 2 == 1;
        config.extensions.level_marks = !seed.is_multiple_of(5);
        if seed % 5 > 1 {
            config.buffers.receive_order = ReceiveOrder::PRIORITY;
        }
        let lifetimes_hold = config.extensions.partial_reliability;
        let is_behind_nat = rng.range(0..4) == 0;
        let mut duo = Duo::new(seed, &links, config);
        if is_behind_nat {
            (0..PATHS).for_each(|path| _ = duo.pair.add_nat(path as usize, NatConfig::default()));
        }
        duo.connect();
        duo.run_until(CONNECT_MAX, |duo| SIDES.iter().all(|side| duo.is_established(*side)));
        Self {
            duo,
            rng,
            ledgers: Default::default(),
            counted: Default::default(),
            next_number: 0,
            lifetimes_hold,
            is_behind_nat,
            rates_mbps,
            suspended: Duration::ZERO,
        }
    }

    fn run(mut self) {
        for _ in 0..OPERATIONS {
            self.operate();
            self.check();
        }
        self.heal();
        self.check_all_delivered();
        self.shut_down();
    }

    fn operate(&mut self) {
        let side = SIDES[self.rng.range(0..2) as usize];
        let path = self.rng.range(0..PATHS);
        match self.rng.range(0..100) {
            0..45 => self.send_some(side),
            45..70 => {
                let span = Duration::from_micros(self.rng.range(0..200_000));
                self.duo.run_for(span);
            }
            70..75 => self.duo.pair.cut(path as usize),
            75..83 => self.duo.pair.restore(path as usize),
            83..87 => self.change_link(path as usize),
            87..90 if self.is_behind_nat => _ = self.duo.pair.sim.rebind(&format!("path {path}")),
            87..90 => self.harass(path as usize),
            90..92 => self.duo.reads = !self.duo.reads,
            92..94 => {
                let jump = JUMP_MAX.mul_f64(self.rng.unit());
                let at = self.duo.now() + jump;
                self.suspended += jump;
                self.duo.pair.sim.jump_to(at);
            }
            94 => {
                let stream = StreamId(self.rng.range(0..STREAMS) as u16);
                // Refused before the handshake is done.
                let _begun = self.duo.act(side, |a, now| a.reset_streams(now, &[stream]));
            }
            95 => self.leave_or_return(path as usize),
            96 => {
                let set = |association: &mut Association, _| {
                    association.set_primary(PathId(path as u32));
                };
                self.duo.act(side, set);
            }
            97..99 => {
                let stream = StreamId(self.rng.range(0..STREAMS) as u16);
                let priority = self.rng.range(0..3) as u16;
                self.duo.act(side, |association, _| {
                    association.set_stream_priority(stream, priority);
                });
            }
            _ => {
                let stream = StreamId(self.rng.range(0..STREAMS) as u16);
                self.duo.act(side, |association, now| association.withdraw(now, stream));
            }
        }
    }

    /// An address of the client's goes or comes; what arrives there still gets through.
    fn leave_or_return(&mut self, path: usize) {
        let tuple = self.duo.pair.paths()[path].addresses;
        let leaves = self.rng.chance(0.5);
        self.duo.act(Side::Client, |association, now| {
            if leaves {
                association.close_paths_from(now, tuple.local);
            } else {
                association.open_path(now, tuple);
            }
        });
    }

    fn send_some(&mut self, side: Side) {
        for _ in 0..1 + self.rng.range(0..4) {
            let number = self.next_number;
            let message = self.random_message(number);
            let copy = message.clone();
            let (at, suspended) = (self.duo.now(), self.suspended);
            let taken = self.duo.act(side, |association, now| association.send(now, copy));
            if taken.is_ok() {
                self.next_number += 1;
                self.ledgers[side as usize].sent.insert(number, Sent { message, at, suspended });
            }
        }
    }

    fn random_message(&mut self, number: u32) -> OutgoingMessage {
        let rng = &mut self.rng;
        let len = match rng.range(0..10) {
            0..4 => rng.range(4..200),
            4..8 => rng.range(200..6_000),
            _ => rng.range(6_000..40_000),
        };
        let reliability = match rng.range(0..4) {
            0 | 1 => Reliability::Reliable,
            2 => Reliability::Lifetime(Duration::from_millis(rng.range(1..800))),
            _ => Reliability::MaxRetransmissions(rng.range(0..4) as u32),
        };
        let path = match rng.range(0..6) {
            0 => PathPreference::Prefer(PathId(rng.range(0..PATHS) as u32)),
            1 => PathPreference::Two,
            _ => PathPreference::Any,
        };
        let ordered = rng.chance(0.6);
        let stream = rng.range(0..STREAMS) as u16;
        let message = numbered(stream, number, len as usize);
        let level = Level::ALL[number as usize % Level::ALL.len()];
        OutgoingMessage { reliability, path, ordered, level, ..message }
    }

    fn change_link(&mut self, path: usize) {
        let delay = self.rng.range(1..100);
        let loss = 0.3 * self.rng.unit() * self.rng.unit();
        let config = link(self.rates_mbps[path], delay, loss);
        self.duo.pair.reconfigure(path, config);
    }

    fn harass(&mut self, path: usize) {
        let mut some = || Probability::saturating(0.2 * self.rng.unit());
        let hostility = Hostility {
            duplicate: some(),
            reorder: some(),
            corrupt: some(),
            hold_max: Duration::from_millis(60),
        };
        self.duo.pair.harass(path, hostility);
    }

    /// What must hold after every step.
    fn check(&mut self) {
        for side in SIDES {
            self.check_arrivals(side);
            let stats = self.duo.stats(side);
            let on_paths: usize = stats.paths.iter().map(|path| path.in_flight).sum();
            assert_eq!(stats.in_flight, on_paths, "what is in flight is on some path");
            assert!(stats.held <= 4 * BUFFER, "{} bytes held", stats.held);
            // Each message of the queue costs a record beside its bytes.
            assert!(stats.queued <= BUFFER + MESSAGE_MAX, "{} bytes queued", stats.queued);
            assert!(stats.outstanding_chunks < 1 << 16);
            let before = std::mem::replace(&mut self.counted[side as usize], stats.path_totals);
            assert!(counters_rose(&before, &stats.path_totals), "{before:?}, then {stats:?}");
        }
    }

    /// Checks what newly arrived from `side`.
    fn check_arrivals(&mut self, side: Side) {
        let ledger = &mut self.ledgers[side as usize];
        let received = self.duo.messages(other(side));
        for message in &received[ledger.checked..] {
            let sent = ledger.check_arrival(message);
            let suspended = self.suspended - sent.suspended;
            if let Reliability::Lifetime(lifetime) = sent.message.reliability
                && self.lifetimes_hold
            {
                let latest = sent.at + lifetime + TRANSIT_MAX + suspended;
                let late = message.completed_at - latest;
                assert_eq!(
                    late,
                    Duration::ZERO,
                    "message {} outlived its lifetime",
                    number_of(message)
                );
            }
        }
        ledger.checked = received.len();
    }

    /// The network becomes harmless, and everything comes to rest.
    fn heal(&mut self) {
        self.duo.reads = true;
        for path in 0..PATHS as usize {
            let tuple = self.duo.pair.paths()[path].addresses;
            self.duo.act(Side::Client, |association, now| association.open_path(now, tuple));
            if !self.is_behind_nat {
                self.duo.pair.harass(path, Hostility::default());
            }
            self.duo.pair.reconfigure(path, link(self.rates_mbps[path], 10, 0.0));
            self.duo.pair.restore(path);
        }
        // A second copy may be in flight still when its chunk was acknowledged.
        let rests = |association: &Association| {
            association.is_drained() && association.stats().in_flight == 0
        };
        let drained =
            |duo: &Duo| SIDES.iter().all(|side| duo.association(*side).is_some_and(rests));
        assert!(self.duo.run_until(Duration::from_secs(600), drained), "comes to rest");
        self.duo.run_for(Duration::from_secs(1));
        self.check();
    }

    fn check_all_delivered(&self) {
        for ledger in &self.ledgers {
            for (number, sent) in &ledger.sent {
                let reliable = sent.message.reliability == Reliability::Reliable;
                let arrived = ledger.arrived.contains_key(number);
                assert!(arrived || !reliable, "reliable message {number} did not arrive");
            }
        }
        for side in SIDES {
            let stats = self.duo.stats(side);
            assert_eq!((stats.in_flight, stats.queued, stats.held), (0, 0, 0), "{side:?}");
        }
    }

    fn shut_down(&mut self) {
        let side = SIDES[self.rng.range(0..2) as usize];
        self.duo.act(side, |association, now| association.shutdown(now));
        for side in SIDES {
            assert_eq!(self.duo.run_until_closed(side), CloseReason::Shutdown, "{side:?}");
        }
    }
}

fn counters_rose(before: &PathStats, now: &PathStats) -> bool {
    let counters = |stats: &PathStats| {
        [
            stats.packets_sent,
            stats.bytes_sent,
            stats.packets_received,
            stats.bytes_received,
            stats.chunks_sent,
            stats.chunks_lost,
            stats.bytes_acked,
            stats.timeouts,
            stats.heartbeats_sent,
            stats.heartbeats_acked,
        ]
    };
    counters(before).iter().zip(counters(now)).all(|(before, now)| *before <= now)
}

impl Ledger {
    fn check_arrival(&mut self, message: &IncomingMessage) -> &Sent {
        let number = number_of(message);
        let sent = self.sent.get(&number).expect("only what was sent arrives");
        assert_eq!(message.payload, sent.message.payload, "message {number} is whole");
        assert_eq!((message.stream, message.ordered), (sent.message.stream, sent.message.ordered));
        let before = self.arrived.insert(number, message.completed_at);
        assert_eq!(before, None, "message {number} arrives once");
        if message.ordered {
            self.check_order(number, message.stream);
        }
        &self.sent[&number]
    }

    /// An ordered message comes after all earlier ordered ones of its stream, except for those that
    /// were abandoned.
    fn check_order(&mut self, number: u32, stream: StreamId) {
        let last = self.last_ordered.insert(stream, number);
        assert!(last.is_none_or(|last| last < number), "{number} after {last:?} on {stream:?}");
        let from = last.map_or(0, |last| last + 1);
        for (skipped, sent) in self.sent.range(from..number) {
            let on_stream = sent.message.stream == stream && sent.message.ordered;
            let reliable = sent.message.reliability == Reliability::Reliable;
            assert!(!on_stream || !reliable, "{number} overtook the reliable message {skipped}");
        }
    }
}

const BUFFER: usize = 256 << 10;
const MESSAGE_MAX: usize = 64 << 10;

fn random_config(rng: &mut Rng) -> AssociationConfig {
    let preset =
        if rng.chance(0.5) { AssociationConfig::media() } else { AssociationConfig::default() };
    preset.with(|config| {
        // Cuts last as long as the dice say; no association shall end by them.
        config.recovery.association_max_retrans = u32::MAX - 1;
        config.recovery.max_init_retransmits = u32::MAX - 1;
        config.buffers.receive_buffer = BUFFER;
        config.buffers.send_buffer = BUFFER;
        config.buffers.message_size_max = MESSAGE_MAX;
        config.extensions.partial_reliability = rng.chance(0.9);
        config.recovery.loss_detection =
            if rng.chance(0.5) { LossDetection::InTime } else { LossDetection::Rfc9260 };
        config.streams.scheduler =
            if rng.chance(0.5) { SchedulerKind::RoundRobin } else { SchedulerKind::Priority };
        config.paths.path_mtu = 600 + rng.range(0..900) as usize;
        config.window.congestion_control =
            random_controller(rng).unwrap_or(config.window.congestion_control);
        config.window.pacing = rng.chance(0.3);
        config.paths.path_scheduler = one_of(rng, &PATH_SCHEDULERS);
        config.recovery.retransmission_policy = one_of(rng, &RETRANSMISSION_POLICIES);
        config.paths.buffer_splitting = rng.chance(0.5);
        config.recovery.last_chance_twice = rng.chance(0.5);
        config.extensions.cmt_delayed_ack = rng.chance(0.7);
        config.extensions.spaced_sacks = rng.chance(0.7);
    })
}

const PATH_SCHEDULERS: [PathSchedulerKind; 5] = [
    PathSchedulerKind::Primary,
    PathSchedulerKind::AsWindowAllows,
    PathSchedulerKind::LowestRtt,
    PathSchedulerKind::EarliestDelivery,
    PathSchedulerKind::Duplicate,
];

const RETRANSMISSION_POLICIES: [RetransmissionPolicy; 7] = [
    RetransmissionPolicy::Rfc9260,
    RetransmissionPolicy::Same,
    RetransmissionPolicy::Asap,
    RetransmissionPolicy::Cwnd,
    RetransmissionPolicy::Ssthresh,
    RetransmissionPolicy::LossRate,
    RetransmissionPolicy::Earliest,
];

fn one_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.range(0..choices.len() as u64) as usize]
}

/// `None` leaves it to the preset.
fn random_controller(rng: &mut Rng) -> Option<CongestionControl> {
    let controllers = [
        None,
        Some(CongestionControl::Cubic),
        Some(CongestionControl::Bbr),
        Some(CongestionControl::Media),
    ];
    controllers[rng.range(0..controllers.len() as u64) as usize]
}

const fn other(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}
