//! How long a picture or a frame of sound lives.

use std::time::Duration;

/// Below this rate the second term of the equation would let one live for seconds.
const RATE_MIN: u64 = 64_000;

/// Kim 2007, equation 1: `lifetime = R + 8 * length / media_bitrate`, where R is the delay that
/// rate control and buffers leave, here the viewer's latency budget. `length` is that of the whole
/// picture, in bytes; the rate is in bit/s.
#[must_use]
pub fn lifetime(budget: Duration, length: usize, media_bitrate: u64) -> Duration {
    let bits = 8 * length as u64;
    budget + Duration::from_micros(bits * 1_000_000 / media_bitrate.max(RATE_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_no_budget_a_message_lives_as_long_as_it_takes_at_the_rate_of_the_media() {
        assert_eq!(lifetime(Duration::ZERO, 1_024, 1_024_000), Duration::from_millis(8));
        let budget = Duration::from_millis(300);
        assert_eq!(lifetime(budget, 1_024, 1_024_000), Duration::from_millis(308));
    }

    #[test]
    fn an_unknown_rate_gives_no_message_an_endless_life() {
        assert_eq!(lifetime(Duration::ZERO, 16_000, 0), Duration::from_secs(2));
    }
}
