//! [`Duplicate`]: repeats packets.

use std::collections::VecDeque;

use anabranch_sansio::{Rng, Time};

use crate::{Element, Packet, Probability};

/// Repeats some packets: the copy leaves right behind the original. A [`Reorder`](crate::Reorder)
/// behind this element parts the two.
#[derive(Debug)]
pub struct Duplicate {
    probability: Probability,
    rng: Rng,
    ready: VecDeque<Packet>,
}

impl Duplicate {
    /// Repeats each packet with the given probability.
    #[must_use]
    pub fn new(probability: Probability, rng: Rng) -> Self {
        Self { probability, rng, ready: VecDeque::new() }
    }
}

impl Element for Duplicate {
    fn handle_packet(&mut self, _now: Time, packet: Packet) {
        if self.rng.chance(self.probability.as_f64()) {
            self.ready.push_back(packet.clone());
        }
        self.ready.push_back(packet);
    }

    fn poll_packet(&mut self, _now: Time) -> Option<Packet> {
        self.ready.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.ready.is_empty()).then_some(Time::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drain, packet};

    #[test]
    fn it_repeats_its_share_and_loses_nothing() {
        let mut duplicate = Duplicate::new(Probability::saturating(0.1), Rng::from_u64(1));
        let mut twice = 0;
        for number in 0..10_000 {
            duplicate.handle_packet(Time::ZERO, packet(number, 4));
            let out = drain(&mut duplicate, Time::ZERO);
            assert!(out.iter().all(|out| *out == packet(number, 4)));
            assert!(matches!(out.len(), 1 | 2));
            twice += out.len() - 1;
        }
        assert!((900..1_100).contains(&twice), "{twice} of 10000 repeated");
    }
}
