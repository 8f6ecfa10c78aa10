//! [`Corrupt`]: damages packets.

use std::collections::VecDeque;

use anabranch_sansio::{Rng, Time};

use crate::{Element, Packet, Probability};

/// The longest run of bytes that is damaged.
const MAX_BURST: u64 = 4;

/// Damages some packets on their way through, as a network does whose UDP checksums nobody checks:
/// changes one to four bytes in a row, or cuts the end off. An empty packet stays as it is.
#[derive(Debug)]
pub struct Corrupt {
    probability: Probability,
    rng: Rng,
    ready: VecDeque<Packet>,
}

impl Corrupt {
    /// Damages each packet with the given probability.
    #[must_use]
    pub fn new(probability: Probability, rng: Rng) -> Self {
        Self { probability, rng, ready: VecDeque::new() }
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.rng.range(0..bytes.len() as u64) as usize;
        if self.rng.chance(0.5) {
            return bytes.truncate(at);
        }
        let burst = self.rng.range(1..MAX_BURST + 1) as usize;
        for byte in bytes.iter_mut().skip(at).take(burst) {
            *byte ^= self.rng.range(1..256) as u8;
        }
    }
}

impl Element for Corrupt {
    fn handle_packet(&mut self, _now: Time, mut packet: Packet) {
        if self.rng.chance(self.probability.as_f64()) && !packet.bytes.is_empty() {
            self.damage(&mut packet.bytes);
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
    fn it_damages_its_share_and_leaves_the_rest_alone() {
        let mut corrupt = Corrupt::new(Probability::saturating(0.2), Rng::from_u64(1));
        let (mut cut, mut changed) = (0, 0);
        for number in 0..10_000 {
            corrupt.handle_packet(Time::ZERO, packet(number, 100));
            let through = drain(&mut corrupt, Time::ZERO);
            let [out] = through.as_slice() else { panic!("one in, {} out", through.len()) };
            cut += u32::from(out.bytes.len() < 100);
            changed += u32::from(out.bytes.len() == 100 && *out != packet(number, 100));
        }
        assert!((900..1_100).contains(&cut), "{cut} of 10000 cut");
        assert!((900..1_100).contains(&changed), "{changed} of 10000 changed");
    }

    #[test]
    fn empty_packets_pass() {
        let mut corrupt = Corrupt::new(Probability::ALWAYS, Rng::from_u64(1));
        corrupt.handle_packet(Time::ZERO, packet(0, 0));
        assert_eq!(drain(&mut corrupt, Time::ZERO), [packet(0, 0)]);
    }
}
