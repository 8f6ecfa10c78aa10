//! What holds for a link whatever it is and whatever is done to it.

use std::ops::ControlFlow;
use std::time::Duration;

use anabranch_netsim::{
    Carrier, Element, Link, LinkConfig, LinkStats, Loss, Packet, QueueLimit, Trace,
};
use anabranch_sansio::{FourTuple, Rate, Rng, Time};

const SEEDS: u64 = 300;
const OPERATIONS: u32 = 400;

#[test]
fn every_packet_is_accounted_for_and_none_overtakes_whatever_happens() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        for _ in 0..OPERATIONS {
            let before = world.link.stats();
            let operation = world.operate();
            world.check(&before, &format!("seed {seed}, after {operation} at {}", world.now));
        }
        world.drain();
        let stats = world.link.stats();
        assert_eq!(stats.in_flight().packets, 0, "seed {seed}: {stats:?}");
        world.check(&stats, &format!("seed {seed}, at the end"));
    }
}

#[test]
fn no_rate_is_ever_exceeded_and_a_busy_link_uses_all_of_it() {
    for seed in 0..SEEDS {
        let mut rng = Rng::from_u64(seed);
        let rate = Rate::kbps(rng.range(64..100_000));
        let delay = Duration::from_micros(rng.range(0..50_000));
        let config = LinkConfig { rate: Some(rate), delay, ..LinkConfig::default() };
        let arrivals = saturate(Link::new(config, rng.fork()), rate, &mut rng);
        for pair in arrivals.windows(2) {
            let [(before, _), (at, len)] = pair else { panic!("windows of two") };
            let least = rate.time_for(*len);
            assert!(*at - *before >= least, "seed {seed}: {len} bytes in {:?}", *at - *before);
        }
        let bytes: u64 = arrivals.iter().skip(1).map(|(_, len)| len).sum();
        let used = Rate::of(bytes, arrivals[arrivals.len() - 1].0 - arrivals[0].0);
        let share = used.as_bps() as f64 / rate.as_bps() as f64;
        assert!((0.999..=1.0).contains(&share), "seed {seed}: {used} of {rate}");
    }
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    let run = |seed| {
        let mut world = World::new(seed);
        for _ in 0..OPERATIONS {
            world.operate();
        }
        world.drain();
        (world.delivered, world.link.stats())
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed));
        assert_ne!(run(seed), run(seed + 1));
    }
}

/// Keeps a link busy with packets of random lengths; returns when each arrived, and its IP bytes.
fn saturate(mut link: Link, rate: Rate, rng: &mut Rng) -> Vec<(Time, u64)> {
    let mut now = Time::ZERO;
    let mut arrivals = Vec::new();
    for number in 0..300 {
        let offered = packet(number, rng.range(4..1_473) as usize);
        // A little faster than the link, on average.
        now += rate.time_for(rng.range(0..1_200));
        while let Some(at) = link.poll_timeout().filter(|at| *at <= now) {
            arrivals.extend(link.poll_packet(at).map(|packet| (at, packet.ip_len() as u64)));
        }
        link.handle_packet(now, offered);
    }
    while let Some(at) = link.poll_timeout() {
        arrivals.extend(link.poll_packet(at).map(|packet| (at, packet.ip_len() as u64)));
    }
    // What came before the queue had filled up says nothing about a busy link.
    arrivals.split_off(150)
}

/// A link, and random operations on it.
struct World {
    rng: Rng,
    now: Time,
    link: Link,
    next: u32,
    delivered: Vec<(Time, u32)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::from_u64(seed);
        let link = Link::new(random_config(&mut rng), rng.fork());
        Self { rng, now: Time::ZERO, link, next: 0, delivered: Vec::new() }
    }

    fn operate(&mut self) -> &'static str {
        match self.rng.range(0..100) {
            0..50 => self.offer(),
            50..75 => self.pass_time(),
            75..85 => self.jump(),
            85..94 => {
                let config = random_config(&mut self.rng);
                self.link.reconfigure(self.now, config);
                "reconfigure"
            }
            94..96 => {
                self.link.cut(self.now);
                "cut"
            }
            _ => {
                self.link.restore();
                "restore"
            }
        }
    }

    fn offer(&mut self) -> &'static str {
        for _ in 0..self.rng.range(1..8) {
            let len = self.rng.range(4..2_000) as usize;
            self.link.handle_packet(self.now, packet(self.next, len));
            self.next += 1;
        }
        "offer"
    }

    /// Polls at each timeout, as the simulation does.
    fn pass_time(&mut self) -> &'static str {
        let end = self.now + Duration::from_micros(self.rng.range(0..20_000));
        while let ControlFlow::Continue(()) = self.poll_next(end) {}
        self.now = end;
        "pass time"
    }

    /// Polls late, as a driver in real time does.
    fn jump(&mut self) -> &'static str {
        self.now += Duration::from_micros(self.rng.range(0..20_000));
        self.poll(self.now);
        "jump"
    }

    fn drain(&mut self) {
        self.link.reconfigure(self.now, LinkConfig::default());
        while let ControlFlow::Continue(()) = self.poll_next(Time::MAX) {}
    }

    fn poll_next(&mut self, end: Time) -> ControlFlow<()> {
        let Some(at) = self.link.poll_timeout().filter(|at| *at <= end) else {
            return ControlFlow::Break(());
        };
        self.poll(at.max(self.now));
        assert!(self.link.poll_timeout() > Some(at) || self.link.poll_timeout().is_none());
        ControlFlow::Continue(())
    }

    fn poll(&mut self, at: Time) {
        while let Some(packet) = self.link.poll_packet(at) {
            let number = packet.bytes.first_chunk().expect("four bytes at least");
            self.delivered.push((at, u32::from_be_bytes(*number)));
        }
    }

    fn check(&self, before: &LinkStats, what: &str) {
        let stats = self.link.stats();
        let accounted = stats.delivered + stats.dropped.total() + stats.in_flight();
        assert_eq!(stats.offered, accounted, "{what}: {stats:?}");
        assert_eq!(stats.offered.packets, u64::from(self.next), "{what}");
        assert_eq!(stats.delivered.packets, self.delivered.len() as u64, "{what}");
        let is_in_order = self.delivered.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1);
        assert!(is_in_order, "{what}: a packet was overtaken or came twice");
        // A limit that was lowered drops nothing, but no new packet goes beyond it.
        let (held, limit) = match self.link.config().queue {
            QueueLimit::Packets(packets) => (stats.queued.packets, u64::from(packets)),
            QueueLimit::Bytes(bytes) => (stats.queued.bytes, bytes),
        };
        let was_held = before.queued.bytes.max(before.queued.packets);
        assert!(held <= limit.max(was_held), "{what}: {held} wait, the limit is {limit}");
    }
}

fn random_config(rng: &mut Rng) -> LinkConfig {
    let probability = rng.unit();
    LinkConfig {
        rate: match rng.range(0..10) {
            0 => None,
            1 => Some(Rate::ZERO),
            _ => Some(Rate::kbps(rng.range(100..50_000))),
        },
        delay: Duration::from_micros(rng.range(0..30_000)),
        jitter: Duration::from_micros(rng.range(0..3_000) * rng.range(0..2)),
        queue: match rng.range(0..2) {
            0 => QueueLimit::Packets(rng.range(0..30) as u32),
            _ => QueueLimit::Bytes(rng.range(0..40_000)),
        },
        loss: match rng.range(0..3) {
            0 => Loss::None,
            1 => Loss::uniform(probability),
            _ => Loss::bursts(probability, 1.0 + 10.0 * rng.unit()),
        },
        mtu: rng.range(1_000..3_000) as u16,
        trace: (rng.range(0..4) == 0).then(|| random_trace(rng)),
        ..LinkConfig::default()
    }
}

fn random_trace(rng: &mut Rng) -> Trace {
    let mut ms = 0;
    let count = rng.range(1..100);
    let times = (0..count).map(|_| {
        ms += rng.range(0..5) as u32;
        ms
    });
    Trace::new(times.chain([500]).collect()).expect("a trace")
}

fn packet(number: u32, len: usize) -> Packet {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(len, 0);
    let path = FourTuple::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
    Packet::new(path, Carrier::Udp, bytes)
}
