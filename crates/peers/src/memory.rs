//! [`Memory`]: two peers joined without a network.

use std::collections::VecDeque;

use anabranch_sansio::{FourTuple, Rng, Time};
use bytes::Bytes;

use crate::{Config, Peer};

/// Two peers joined by memory: packets keep their order and take no time; those towards `b` may
/// get lost.
///
/// `b` takes packets in small batches and is asked for its answer after each, as a receiver on a
/// real link would. Handing it all at once would flatter stacks that acknowledge once per poll.
pub struct Memory {
    /// The end that [`connect`](Self::connect) starts from.
    pub a: Box<dyn Peer>,
    /// The other one.
    pub b: Box<dyn Peer>,
    now: Time,
    to_a: VecDeque<Bytes>,
    to_b: VecDeque<Bytes>,
    loss: f64,
    rng: Rng,
    counters: Counters,
    /// What either end sent, if that is recorded.
    recorded: Option<Vec<Bytes>>,
}

/// What went through a [`Memory`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets that reached `a`.
    pub to_a: u64,
    /// Packets that reached `b`.
    pub to_b: u64,
    /// Packets that were lost on their way to `b`.
    pub lost: u64,
    /// The sum over all batches of the packets that waited for `b`.
    pub waiting: u64,
    /// The batches that `b` took.
    pub batches: u64,
}

/// Packets that `b` takes before it is asked for its answer.
const BATCH: usize = 2;

/// Steps after which [`Memory::run_until`] calls it chatter.
const STEPS_MAX: usize = 10_000_000;

impl Memory {
    /// Joins two peers, at time zero.
    #[must_use]
    pub fn new(a: Box<dyn Peer>, b: Box<dyn Peer>) -> Self {
        Self {
            a,
            b,
            now: Time::ZERO,
            to_a: VecDeque::new(),
            to_b: VecDeque::new(),
            loss: 0.0,
            rng: Rng::from_u64(0),
            counters: Counters::default(),
            recorded: None,
        }
    }

    /// From now on, loses packets towards `b` with this probability.
    pub fn lose(&mut self, probability: f64, seed: u64) {
        self.loss = probability;
        self.rng = Rng::from_u64(seed);
    }

    /// From now on, keeps what either end sends, for [`recorded`](Self::recorded).
    pub fn record(&mut self) {
        self.recorded = Some(Vec::new());
    }

    /// What either end sent since [`record`](Self::record), lost packets included.
    #[must_use]
    pub fn recorded(&self) -> &[Bytes] {
        self.recorded.as_deref().unwrap_or_default()
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// What went through so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Connects `a` to `b` and lets the handshake finish.
    pub fn connect(&mut self) {
        self.a.connect(self.now);
        self.settle();
    }

    /// Moves packets until there is none left, without waiting for timers.
    pub fn settle(&mut self) {
        while self.step() {}
    }

    /// Moves packets, and when there is none jumps to the next timer, until `done`.
    ///
    /// # Panics
    ///
    /// When nothing more can happen, or it takes suspiciously long.
    pub fn run_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        for _ in 0..STEPS_MAX {
            if done(self) {
                return;
            }
            if !self.step() {
                assert!(self.jump(), "at {}: no packet, no timer, and not done", self.now);
            }
        }
        panic!("at {}: not done after {STEPS_MAX} steps", self.now);
    }

    /// Moves one batch to `b`, and the answers to `a`. False if nothing moved.
    pub fn step(&mut self) -> bool {
        self.collect();
        self.counters.waiting += self.to_b.len() as u64;
        self.counters.batches += u64::from(!self.to_b.is_empty());
        let [towards_a, towards_b] = paths();
        let before = self.counters;
        for packet in self.to_b.drain(..BATCH.min(self.to_b.len())) {
            self.counters.to_b += 1;
            self.b.handle_packet(self.now, towards_b, packet);
        }
        self.to_a.extend(std::iter::from_fn(|| self.b.poll_packet(self.now)));
        if let Some(recorded) = &mut self.recorded {
            recorded.extend(self.to_a.iter().cloned());
        }
        for packet in self.to_a.drain(..) {
            self.counters.to_a += 1;
            self.a.handle_packet(self.now, towards_a, packet);
        }
        self.counters != before
    }

    /// Lets time pass until the next timer of either. False if there is none.
    pub fn jump(&mut self) -> bool {
        let wakeups = [self.a.poll_timeout(), self.b.poll_timeout()];
        let Some(wakeup) = wakeups.into_iter().flatten().min() else {
            return false;
        };
        self.now = self.now.max(wakeup.at);
        self.a.handle_timeout(self.now);
        self.b.handle_timeout(self.now);
        true
    }

    fn collect(&mut self) {
        while let Some(packet) = self.a.poll_packet(self.now) {
            if let Some(recorded) = &mut self.recorded {
                recorded.push(packet.clone());
            }
            if self.rng.chance(self.loss) {
                self.counters.lost += 1;
            } else {
                self.to_b.push_back(packet);
            }
        }
    }
}

/// The path seen from `a` and from `b`.
fn paths() -> [FourTuple; 2] {
    let path = Config::default().path;
    [path, path.reversed()]
}
