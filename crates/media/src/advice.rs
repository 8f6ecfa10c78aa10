//! [`advise_latency`]: which latency a measured link needs.
//!
//! The model: every packet is lost with probability `p`, whatever happened to others. A loss is
//! seen when the packets after it are acknowledged, a quarter of the round trip later than need be
//! because reordering is waited for (RFC 8985 section 6.2: the window starts at a quarter of the
//! smallest RTT), and repeated at once; the repetition arrives a round trip after what was lost
//! would have. Each round thus costs
//!
//! ```text
//! round = RTT + RTT / 4 + 10 ms (spacing of the packets that reveal the loss, timers)
//! ```
//!
//! and after `n` rounds `p^(n + 1)` of the packets are still missing. The latency to advise is
//!
//! ```text
//! latency = 5 ms (packetizer) + 4 * RTT variation (queues on the way) + n * round
//! ```
//!
//! with the smallest `n` that leaves at most the loss asked for. Losses in bursts longer than a
//! round break the model: they need the length of the burst on top. So does a repetition that waits
//! behind a queue because the link is full.

use std::time::Duration;

use crate::packetizer::HOLD;

/// What was measured of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkQuality {
    /// Round-trip time, smoothed.
    pub rtt: Duration,
    /// Its mean deviation (RTTVAR).
    pub rtt_variation: Duration,
    /// Share of the packets that are lost, 0 to 1.
    pub loss: f64,
}

/// A latency and what it buys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyAdvice {
    /// The latency, in steps of 10 ms.
    pub latency: Duration,
    /// Rounds of repetition that fit into it.
    pub rounds: u32,
    /// Share of the packets that are still missing then, 0 to 1.
    pub residual_loss: f64,
}

/// The loss that a viewer hardly meets: at 5 Mbit/s one packet in 25 seconds.
pub const RESIDUAL_LOSS_DEFAULT: f64 = 1e-4;

/// Where advice ends: a link that needs more rounds needs less load instead.
pub const ROUNDS_MAX: u32 = 8;

/// Even a link that lost nothing so far gets time to repeat once.
const ROUNDS_MIN: u32 = 1;

/// Spacing of the packets that reveal a loss, and of timers.
const DETECTION: Duration = Duration::from_millis(10);

const STEP_MS: u128 = 10;

/// The latency that leaves at most `residual_loss` on a link, by the model above.
#[must_use]
pub fn advise_latency(link: &LinkQuality, residual_loss: f64) -> LatencyAdvice {
    let loss = loss_of(link);
    let remaining = |rounds: u32| loss.powi(rounds as i32 + 1);
    // 0.1 to the fourth is a little above 1e-4 in binary.
    let enough = |rounds: &u32| remaining(*rounds) <= residual_loss * (1.0 + 1e-9);
    let rounds = (ROUNDS_MIN..ROUNDS_MAX).find(enough).unwrap_or(ROUNDS_MAX);
    let round = round_of(link);
    let exact = HOLD
        .saturating_add(link.rtt_variation.saturating_mul(4))
        .saturating_add(round.saturating_mul(rounds));
    LatencyAdvice { latency: step_above(exact), rounds, residual_loss: remaining(rounds) }
}

/// The share of packets that are still missing after `latency`, by the same model.
#[must_use]
pub fn residual_loss(link: &LinkQuality, latency: Duration) -> f64 {
    let left = latency.saturating_sub(HOLD.saturating_add(link.rtt_variation.saturating_mul(4)));
    let rounds = left.as_nanos() / round_of(link).as_nanos();
    let rounds = u32::try_from(rounds).unwrap_or(ROUNDS_MAX).min(ROUNDS_MAX);
    loss_of(link).powi(rounds as i32 + 1)
}

fn loss_of(link: &LinkQuality) -> f64 {
    if link.loss.is_finite() { link.loss.clamp(0.0, 1.0) } else { 1.0 }
}

fn round_of(link: &LinkQuality) -> Duration {
    link.rtt.saturating_add(link.rtt / 4).saturating_add(DETECTION)
}

fn step_above(exact: Duration) -> Duration {
    let steps = exact.as_micros().div_ceil(STEP_MS * 1_000);
    Duration::from_millis(u64::try_from(steps * STEP_MS).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_sansio::Rng;

    fn link(rtt_ms: u64, loss: f64) -> LinkQuality {
        LinkQuality { rtt: Duration::from_millis(rtt_ms), rtt_variation: Duration::ZERO, loss }
    }

    #[test]
    fn the_advice_follows_the_model() {
        let advice = advise_latency(&link(50, 0.1), 1e-4);
        // 3 rounds of 72.5 ms and 5 ms: 222.5 ms.
        assert_eq!((advice.latency, advice.rounds), (Duration::from_millis(230), 3));
        assert!((advice.residual_loss - 1e-4).abs() < 1e-12);
        assert_eq!(advise_latency(&link(50, 0.01), 1e-4).rounds, 1);
        assert_eq!(advise_latency(&link(50, 0.0), 1e-4).rounds, 1);
    }

    #[test]
    fn the_latency_that_was_advised_leaves_the_loss_that_was_said() {
        for loss in [0.001, 0.01, 0.05, 0.1, 0.2] {
            let link = link(50, loss);
            let advice = advise_latency(&link, 1e-4);
            assert_eq!(residual_loss(&link, advice.latency), advice.residual_loss);
            let less = residual_loss(&link, advice.latency - Duration::from_millis(73));
            assert!((less * loss / advice.residual_loss - 1.0).abs() < 1e-9, "{loss}: {less}");
        }
        assert_eq!(residual_loss(&link(50, 0.1), Duration::ZERO), 0.1);
    }

    #[test]
    fn more_loss_more_delay_and_more_variation_never_advise_less() {
        let latency = |rtt, loss| advise_latency(&link(rtt, loss), 1e-4).latency;
        for rtt in 1..300 {
            assert!(latency(rtt + 1, 0.05) >= latency(rtt, 0.05));
        }
        for percent in 0..100 {
            let (less, more) = (f64::from(percent) / 100.0, f64::from(percent + 1) / 100.0);
            assert!(latency(40, more) >= latency(40, less));
        }
        let mut shaky = link(40, 0.05);
        shaky.rtt_variation = Duration::from_millis(20);
        assert_eq!(
            advise_latency(&shaky, 1e-4).latency,
            latency(40, 0.05) + Duration::from_millis(80)
        );
    }

    #[test]
    fn senseless_measures_get_the_most_cautious_advice() {
        for loss in [1.0, 7.0, f64::NAN, f64::INFINITY] {
            assert_eq!(advise_latency(&link(50, loss), 1e-4).rounds, ROUNDS_MAX);
        }
        assert_eq!(advise_latency(&link(50, -1.0), 1e-4).rounds, 1);
        let endless = LinkQuality { rtt: Duration::MAX, ..link(0, 0.1) };
        assert!(advise_latency(&endless, 1e-4).latency > Duration::from_secs(1 << 40));
    }

    #[test]
    fn a_simulated_link_keeps_what_the_advice_promises() {
        let mut rng = Rng::from_u64(8);
        let link = link(60, 0.08);
        let advice = advise_latency(&link, 1e-3);
        let round = Duration::from_millis(60 + 15) + DETECTION;
        let packets = 200_000;
        let late = (0..packets)
            .filter(|_| {
                let mut arrival = HOLD;
                while rng.chance(link.loss) {
                    arrival += round;
                }
                arrival > advice.latency
            })
            .count();
        let share = f64::from(late as u32) / f64::from(packets);
        assert!(share <= 1.2 * advice.residual_loss && share > 0.5 * advice.residual_loss);
    }
}
