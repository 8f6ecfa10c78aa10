//! [`Reorder`]: lets packets overtake.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Rng, Time};

use crate::{Element, Packet, Probability};

/// At most this many packets are held back; more pass at once.
const MAX_HELD: usize = 1 << 14;

/// Holds some packets back, so that later ones overtake them; the others pass at once.
#[derive(Debug)]
pub struct Reorder {
    probability: Probability,
    hold_max: Duration,
    rng: Rng,
    /// By time of leaving.
    held: VecDeque<(Time, Packet)>,
}

impl Reorder {
    /// Holds each packet back with the given probability, for a time drawn uniformly from just
    /// above zero to `hold_max`.
    #[must_use]
    pub fn new(probability: Probability, hold_max: Duration, rng: Rng) -> Self {
        Self { probability, hold_max, rng, held: VecDeque::new() }
    }

    fn hold(&mut self) -> Duration {
        if self.held.len() >= MAX_HELD || !self.rng.chance(self.probability.as_f64()) {
            return Duration::ZERO;
        }
        let max = u64::try_from(self.hold_max.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.rng.range(0..max) + 1)
    }
}

impl Element for Reorder {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let at = now + self.hold();
        let place = self.held.partition_point(|(other, _)| *other <= at);
        self.held.insert(place, (at, packet));
    }

    fn poll_packet(&mut self, now: Time) -> Option<Packet> {
        self.held.pop_front_if(|(at, _)| *at <= now).map(|(_, packet)| packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.held.front().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drain, number, packet};

    /// Sends `count` packets, one per millisecond, and returns when each came out.
    fn run(reorder: &mut Reorder, count: u32) -> Vec<(u32, Time)> {
        let mut out = Vec::new();
        for n in 0..count + 20 {
            let now = Time::from_millis(u64::from(n));
            while let Some(at) = reorder.poll_timeout().filter(|at| *at <= now) {
                out.extend(drain(reorder, at).iter().map(|packet| (number(packet), at)));
            }
            if n < count {
                reorder.handle_packet(now, packet(n, 4));
            }
        }
        out
    }

    #[test]
    fn held_packets_are_its_share_and_uniform_in_time() {
        let hold_max = Duration::from_millis(10);
        let mut reorder = Reorder::new(Probability::saturating(0.3), hold_max, Rng::from_u64(1));
        let out = run(&mut reorder, 10_000);
        assert_eq!(out.len(), 10_000);
        let holds: Vec<_> = out
            .iter()
            .map(|(n, at)| *at - Time::from_millis(u64::from(*n)))
            .filter(|hold| !hold.is_zero())
            .collect();
        assert!((2_850..3_150).contains(&holds.len()), "{} of 10000 held", holds.len());
        assert!(holds.iter().all(|hold| *hold <= hold_max));
        let mean = holds.iter().sum::<Duration>() / holds.len() as u32;
        assert!((4_800..5_200).contains(&mean.as_micros()), "held for {mean:?} on average");
        assert!(!out.is_sorted_by_key(|(n, _)| *n));
    }

    #[test]
    fn with_probability_zero_nothing_overtakes() {
        let hold_max = Duration::from_secs(1);
        let mut reorder = Reorder::new(Probability::NEVER, hold_max, Rng::from_u64(1));
        let out = run(&mut reorder, 100);
        assert!(out.iter().all(|(n, at)| *at == Time::from_millis(u64::from(*n))));
    }

    #[test]
    fn it_holds_no_more_than_its_bound() {
        let hold_max = Duration::from_secs(1);
        let mut reorder = Reorder::new(Probability::ALWAYS, hold_max, Rng::from_u64(1));
        let more = 10;
        for n in 0..MAX_HELD as u32 + more {
            reorder.handle_packet(Time::ZERO, packet(n, 4));
        }
        assert_eq!(drain(&mut reorder, Time::ZERO).len(), more as usize);
    }
}
