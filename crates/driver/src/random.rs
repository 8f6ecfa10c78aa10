//! [`unpredictable_rng`]: what a machine on a real network is seeded with.

use std::io;

use anabranch_sansio::Rng;

/// A generator whose numbers nobody can guess, seeded by the operating system.
///
/// # Errors
/// The system has no randomness.
pub fn unpredictable_rng() -> io::Result<Rng> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    Ok(Rng::from_seed(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_generators_are_alike() {
        let [mut one, mut other] = [(); 2].map(|()| unpredictable_rng().unwrap());
        assert_ne!(one.next_u64(), other.next_u64());
    }
}
