//! [`Pipe`]: a controller on a bottleneck, for unit tests: packets out, samples back.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;

use crate::{Ack, CongestionController, LostChunk, RateSample, SentData};

/// Bytes of every chunk.
pub(crate) const SMSS: usize = 1_000;

/// Bytes that go out at once at most.
const MAX_BURST: f64 = 100_000.0;

/// A controller that always has data, in front of a link with an unlimited queue.
pub(crate) struct Pipe<C> {
    pub(crate) controller: C,
    pub(crate) now: Time,
    /// Bytes per second.
    pub(crate) rate: f64,
    pub(crate) rtt: Duration,
    /// Every how many chunks one is lost; 0 for none.
    pub(crate) loss_every: u64,
    /// Whether a second copy makes up for what is lost.
    pub(crate) is_covered: bool,
    /// What the application sends at most, in bytes per second.
    pub(crate) app_rate: f64,
    pub(crate) flight: usize,
    pub(crate) delivered: u64,
    lost: u64,
    pub(crate) sent: u64,
    delivered_at: Time,
    first_sent_at: Time,
    departed: Time,
    credit: f64,
    packets: VecDeque<Packet>,
}

#[derive(Clone, Copy)]
struct Packet {
    sent_at: Time,
    acked_at: Time,
    is_lost: bool,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    in_flight: usize,
    lost: u64,
    is_app_limited: bool,
}

impl<C: CongestionController> Pipe<C> {
    /// A link of so many chunks per millisecond and this round trip.
    pub(crate) fn new(controller: C, chunks_per_ms: f64, rtt_ms: u64) -> Self {
        Self {
            controller,
            now: Time::from_secs(1),
            rate: chunks_per_ms * SMSS as f64 * 1e3,
            rtt: Duration::from_millis(rtt_ms),
            loss_every: 0,
            is_covered: false,
            app_rate: f64::INFINITY,
            flight: 0,
            delivered: 0,
            lost: 0,
            sent: 0,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            departed: Time::ZERO,
            credit: 0.0,
            packets: VecDeque::new(),
        }
    }

    /// The bandwidth-delay product in bytes.
    pub(crate) fn bdp(&self) -> f64 {
        self.rate * self.rtt.as_secs_f64()
    }

    /// Runs until `is_done`; panics after `limit`.
    pub(crate) fn run_until(&mut self, limit: Duration, is_done: impl Fn(&Self) -> bool) {
        let end = self.now + limit;
        while !is_done(self) {
            assert!(self.now < end, "not done after {limit:?}: {:?}", self.controller);
            self.tick();
        }
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.tick();
        }
    }

    /// A millisecond.
    fn tick(&mut self) {
        self.now += Duration::from_millis(1);
        while let Some(packet) = self.packets.front().copied().filter(|p| p.acked_at <= self.now) {
            self.packets.pop_front();
            self.arrive(packet);
        }
        let pace = self.controller.pacing_rate().map_or(f64::INFINITY, |r| r.as_bps() as f64 / 8.0);
        let is_app_limited = self.app_rate < pace;
        self.credit = (self.credit + pace.min(self.app_rate) / 1e3).min(MAX_BURST);
        while self.credit >= SMSS as f64 && self.flight < self.controller.window() {
            self.credit -= SMSS as f64;
            self.send(is_app_limited);
        }
        // What the window held back does not come in a burst.
        if self.flight >= self.controller.window() {
            self.credit = 0.0;
        }
    }

    fn send(&mut self, is_app_limited: bool) {
        if self.flight == 0 {
            self.first_sent_at = self.now;
            self.delivered_at = self.now;
        }
        let (now, flight) = (self.now, self.flight);
        self.controller.on_sent(&SentData { now, bytes: SMSS, flight, is_app_limited });
        self.flight += SMSS;
        self.sent += 1;
        let takes = Duration::from_secs_f64(SMSS as f64 / self.rate);
        self.departed = self.departed.max(now) + takes;
        self.packets.push_back(Packet {
            sent_at: now,
            acked_at: self.departed + self.rtt,
            is_lost: self.loss_every > 0 && self.sent.is_multiple_of(self.loss_every),
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: self.flight,
            lost: self.lost,
            is_app_limited,
        });
    }

    fn arrive(&mut self, packet: Packet) {
        let flight_before = self.flight;
        self.flight -= SMSS;
        if packet.is_lost {
            self.lost += SMSS as u64;
            let lost = LostChunk {
                is_covered: self.is_covered,
                size: SMSS,
                in_flight: packet.in_flight,
                lost_since_sent: self.lost - packet.lost,
                delivered: self.delivered,
                is_app_limited: packet.is_app_limited,
            };
            return self.controller.on_chunk_lost(self.now, &lost);
        }
        self.delivered += SMSS as u64;
        self.delivered_at = self.now;
        self.first_sent_at = packet.sent_at;
        let rtt = self.now - packet.sent_at;
        let sample = RateSample {
            delivered: self.delivered - packet.delivered,
            prior_delivered: packet.delivered,
            send_elapsed: packet.sent_at - packet.first_sent_at,
            ack_elapsed: self.now - packet.delivered_at,
            is_reliable: true,
            is_app_limited: packet.is_app_limited,
            in_flight: packet.in_flight,
            lost: self.lost - packet.lost,
            rtt: Some(rtt),
        };
        self.controller.on_ack(&Ack {
            now: self.now,
            acked: SMSS,
            flight_before,
            flight: self.flight,
            advanced: true,
            in_recovery: self.loss_every > 0,
            rtt: Some(rtt),
            delivered: self.delivered,
            sample: Some(sample),
        });
    }
}
