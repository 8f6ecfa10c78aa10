//! What the tests of all media need.

use std::time::Duration;

use anabranch_sansio::{Rng, Time};

use crate::testing::packet;
use crate::{Cell, LinkConfig, LinkStats, Medium, MemberId};

/// IPv4 and UDP headers of what [`packet`] makes.
pub(super) const HEADERS: usize = 28;

/// What each link has to send at any time, in packets: more than a transmission holds.
const BACKLOG: u64 = 130;

/// Links that always have more to send.
pub(super) struct Saturated {
    cell: Cell,
    members: Vec<MemberId>,
    ip_len: usize,
    now: Time,
}

impl Saturated {
    /// Stations that send.
    pub(super) fn new(medium: &Medium, links: Vec<LinkConfig>, ip_len: usize) -> Self {
        Self::with(medium, links, ip_len, Cell::add_sender)
    }

    /// Stations that receive.
    pub(super) fn receivers(medium: &Medium, links: Vec<LinkConfig>, ip_len: usize) -> Self {
        Self::with(medium, links, ip_len, Cell::add_receiver)
    }

    fn with(
        medium: &Medium,
        links: Vec<LinkConfig>,
        ip_len: usize,
        add: impl Fn(&mut Cell, LinkConfig) -> MemberId,
    ) -> Self {
        let mut cell = Cell::new(medium, Rng::from_u64(5));
        let members = links.into_iter().map(|link| add(&mut cell, link)).collect();
        Self { cell, members, ip_len, now: Time::ZERO }
    }

    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            for member in &self.members {
                while self.cell.link(*member).stats().in_flight().packets < BACKLOG {
                    let packet = packet(0, self.ip_len - HEADERS);
                    self.cell.handle_packet(self.now, *member, packet);
                }
            }
            self.now = self.cell.poll_timeout().unwrap_or(end).min(end);
            while self.cell.poll_packet(self.now).is_some() {}
        }
    }

    pub(super) fn stats(&self) -> Vec<LinkStats> {
        self.members.iter().map(|member| self.cell.link(*member).stats()).collect()
    }

    /// Mbit/s of IP of each station, without its beginning.
    pub(super) fn throughputs(mut self, span: Duration) -> Vec<f64> {
        self.run(span / 20);
        let before = self.stats();
        self.run(span);
        let bytes = self.stats().into_iter().zip(before);
        let bytes = bytes.map(|(after, before)| after.delivered.bytes - before.delivered.bytes);
        bytes.map(|bytes| bytes as f64 * 8.0 / span.as_secs_f64() / 1e6).collect()
    }
}

pub(super) fn assert_near(measured: f64, expected: f64, tolerance: f64, what: &str) {
    let error = (measured / expected - 1.0).abs();
    assert!(error <= tolerance, "{what}: {measured:.4}, not {expected:.4}: {:.2} %", error * 1e2);
}
