//! [`Rng`]: all the randomness a machine gets.

use std::ops::Range;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// A seeded generator (ChaCha with 12 rounds): the same seed gives the same numbers everywhere.
///
/// Verification tags, initial TSNs and cookie keys are drawn from it, so on real sockets the seed
/// must come from the operating system ([`Rng::from_seed`]); a plain number is for simulations.
#[derive(Debug, Clone)]
pub struct Rng(ChaCha12Rng);

impl Rng {
    /// A generator whose output cannot be guessed without the seed's 256 bits.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(ChaCha12Rng::from_seed(seed))
    }

    /// A generator for simulations and tests.
    #[must_use]
    pub fn from_u64(seed: u64) -> Self {
        Self(ChaCha12Rng::seed_from_u64(seed))
    }

    /// A generator of its own for a part of a system, so that one part's draws do not shift
    /// another's.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        let mut seed = [0; 32];
        self.fill(&mut seed);
        Self::from_seed(seed)
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Fills `bytes` with random bits.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// A number in `[0, 1)`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with the given probability: never at 0, always at 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number of a range; its start if the range is empty. Its bias is under 2^-32 for ranges
    /// shorter than 2^32.
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        let width = range.end.saturating_sub(range.start);
        let scaled = (u128::from(self.next_u64()) * u128::from(width)) >> 64;
        range.start + scaled as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_sequence() {
        let draw = |seed| Rng::from_u64(seed).next_u64();
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn chance_meets_its_probability_and_its_ends() {
        let mut rng = Rng::from_u64(1);
        let hits = (0..100_000).filter(|_| rng.chance(0.03)).count();
        assert!((2_800..3_200).contains(&hits), "{hits} of 100000 at 3 %");
        assert!((0..1_000).all(|_| !rng.chance(0.0) && rng.chance(1.0)));
    }

    #[test]
    fn range_reaches_its_ends_and_nothing_outside() {
        let mut rng = Rng::from_u64(2);
        let drawn: std::collections::BTreeSet<_> = (0..1_000).map(|_| rng.range(5..8)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [5, 6, 7]);
        assert_eq!(rng.range(9..9), 9);
    }
}
