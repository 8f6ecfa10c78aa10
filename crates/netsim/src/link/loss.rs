//! [`Loss`] and [`LossModel`]: which packets a link loses.

use std::time::Duration;

use anabranch_sansio::{Rng, Time};

use crate::Probability;

/// Which packets a link loses.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each packet independently.
    Uniform {
        /// Probability that a packet is lost.
        probability: Probability,
    },
    /// Two states, good and bad, with a loss probability each (Gilbert 1960, Elliott 1963; the
    /// names follow Hasslinger and Hohlfeld 2008, who write `1 - k` and `1 - h` for the losses).
    /// The chain starts in the good state.
    GilbertElliott {
        /// Probability of going from good to bad.
        p: Probability,
        /// Probability of going from bad to good: a bad period lasts `1 / r` packets on average.
        r: Probability,
        /// Loss probability in the good state, `1 - k`. Default 0.
        #[cfg_attr(feature = "serde", serde(default))]
        loss_good: Probability,
        /// Loss probability in the bad state, `1 - h`. Default 1.
        #[cfg_attr(feature = "serde", serde(default = "always"))]
        loss_bad: Probability,
        /// How long until the chain moves, whatever is sent. Default: none, it moves once per
        /// packet, after the packet.
        #[cfg_attr(
            feature = "serde",
            serde(
                default,
                with = "crate::millis::optional",
                rename = "tick_ms",
                skip_serializing_if = "Option::is_none"
            )
        )]
        tick: Option<Duration>,
    },
}

#[cfg(feature = "serde")]
fn always() -> Probability {
    Probability::ALWAYS
}

impl Loss {
    /// Each packet with the given probability, saturated to 0 to 1.
    #[must_use]
    pub fn uniform(probability: f64) -> Self {
        Self::Uniform { probability: Probability::saturating(probability) }
    }

    /// A simple Gilbert model by its results: the share of packets lost, and the mean number lost
    /// in a row (at least 1). Saturates where no such model exists.
    #[must_use]
    pub fn bursts(share: f64, mean_length: f64) -> Self {
        let r = 1.0 / mean_length.max(1.0);
        // share = p / (p + r), solved for p.
        let p = share * r / (1.0 - share).max(f64::MIN_POSITIVE);
        Self::GilbertElliott {
            p: Probability::saturating(p),
            r: Probability::saturating(r),
            loss_good: Probability::NEVER,
            loss_bad: Probability::ALWAYS,
            tick: None,
        }
    }

    /// The share of packets lost in the long run.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Uniform { probability } => probability.as_f64(),
            Self::GilbertElliott { p, r, loss_good, loss_bad, tick: _ } => {
                let (p, r) = (p.as_f64(), r.as_f64());
                // A chain that never moves stays in the good state, where it starts.
                let bad = if p == 0.0 { 0.0 } else { p / (p + r) };
                bad * loss_bad.as_f64() + (1.0 - bad) * loss_good.as_f64()
            }
        }
    }
}

/// A [`Loss`] at work: its generator and the state of its chain.
#[derive(Debug)]
pub(super) struct LossModel {
    loss: Loss,
    rng: Rng,
    is_bad: bool,
    /// Ticks of a chain that moves in time, up to which it has moved.
    ticks: u64,
}

impl LossModel {
    pub(super) fn new(loss: Loss, rng: Rng) -> Self {
        Self { loss, rng, is_bad: false, ticks: 0 }
    }

    pub(super) fn reconfigure(&mut self, loss: Loss) {
        self.loss = loss;
        self.is_bad = false;
    }

    /// Decides on one packet.
    pub(super) fn loses_next(&mut self, now: Time) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Uniform { probability } => self.rng.chance(probability.as_f64()),
            Loss::GilbertElliott { p, r, loss_good, loss_bad, tick } => {
                if let Some(tick) = tick {
                    self.move_to(now, tick, p.as_f64(), r.as_f64());
                }
                let (loss, turn) = if self.is_bad { (loss_bad, r) } else { (loss_good, p) };
                let is_lost = self.rng.chance(loss.as_f64());
                if tick.is_none() {
                    self.is_bad ^= self.rng.chance(turn.as_f64());
                }
                is_lost
            }
        }
    }

    /// Has a chain that moves in time make all its moves up to now at once: the chance that it is
    /// bad after n of them comes closer to that of the long run by 1 - p - r with each.
    fn move_to(&mut self, now: Time, tick: Duration, p: f64, r: f64) {
        let ticks = now.as_nanos() / u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX).max(1);
        let moves = ticks.saturating_sub(self.ticks);
        self.ticks = ticks;
        if moves == 0 || p + r == 0.0 {
            return;
        }
        let (in_the_end, is_now) = (p / (p + r), f64::from(u8::from(self.is_bad)));
        let left = (1.0 - p - r).powi(i32::try_from(moves).unwrap_or(i32::MAX));
        self.is_bad = self.rng.chance(in_the_end + left * (is_now - in_the_end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 200_000;

    fn losses(loss: Loss, seed: u64) -> Vec<bool> {
        let mut model = LossModel::new(loss, Rng::from_u64(seed));
        (0..PACKETS).map(|_| model.loses_next(Time::ZERO)).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    fn mean_burst(losses: &[bool]) -> f64 {
        let lost = losses.iter().filter(|lost| **lost).count();
        let bursts = losses.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
        lost as f64 / bursts as f64
    }

    #[test]
    fn uniform_loss_stays_within_binomial_bounds() {
        for (seed, probability) in [(1, 0.001), (2, 0.01), (3, 0.1), (4, 0.5)] {
            let measured = share(&losses(Loss::uniform(probability), seed));
            let sigma = (probability * (1.0 - probability) / PACKETS as f64).sqrt();
            assert!((measured - probability).abs() < 4.0 * sigma, "{measured} at {probability}");
        }
    }

    #[test]
    fn uniform_loss_has_no_memory() {
        // The mean length of a run of losses is 1 / (1 - p) when they are independent.
        let measured = mean_burst(&losses(Loss::uniform(0.2), 5));
        assert!((measured - 1.25).abs() < 0.02, "mean run of {measured}");
    }

    #[test]
    fn gilbert_elliott_meets_its_stationary_loss_and_burst_length() {
        for (seed, rate, length) in [(1, 0.01, 3.0), (2, 0.05, 5.0), (3, 0.1, 20.0)] {
            let loss = Loss::bursts(rate, length);
            let drawn = losses(loss, seed);
            assert!((loss.mean() - rate).abs() < 1e-12, "model of {rate} says {}", loss.mean());
            assert!((share(&drawn) / rate - 1.0).abs() < 0.1, "{} lost", share(&drawn));
            let burst = mean_burst(&drawn);
            assert!((burst / length - 1.0).abs() < 0.1, "mean burst of {burst}, not {length}");
        }
    }

    #[test]
    fn gilbert_elliott_loses_in_both_states_by_their_probabilities() {
        let of = Probability::saturating;
        let loss = Loss::GilbertElliott {
            p: of(0.02),
            r: of(0.1),
            loss_good: of(0.01),
            loss_bad: of(0.4),
            tick: None,
        };
        let expected = (0.1 * 0.01 + 0.02 * 0.4) / 0.12;
        assert!((loss.mean() - expected).abs() < 1e-12);
        let measured = share(&losses(loss, 6));
        assert!((measured / expected - 1.0).abs() < 0.05, "{measured}, not {expected}");
    }

    /// How often a packet is in the state of the one before, all of which are lost in the bad state
    /// and none in the good one.
    fn stays(loss: Loss, gap: Duration) -> f64 {
        let mut model = LossModel::new(loss, Rng::from_u64(7));
        let packets = (0..50_000_u32).map(|n| model.loses_next(Time::ZERO + gap * n));
        let lost: Vec<bool> = packets.collect();
        let alike = lost.windows(2).filter(|pair| pair[0] == pair[1]).count();
        alike as f64 / (lost.len() - 1) as f64
    }

    #[test]
    fn a_chain_that_moves_in_time_changes_between_ticks_alone() {
        let tick = Duration::from_millis(10);
        let of = |tick| {
            let (p, r) = (Probability::saturating(0.05), Probability::saturating(0.05));
            let (loss_good, loss_bad) = (Probability::NEVER, Probability::ALWAYS);
            Loss::GilbertElliott { p, r, loss_good, loss_bad, tick }
        };
        // By packets, a packet has the state of the one before with 95 %, however late it comes.
        for gap in [tick / 10, tick * 100] {
            assert!((stays(of(None), gap) - 0.95).abs() < 0.01);
        }
        // In time: with ten packets in a tick, one of ten can differ; after a hundred ticks a
        // packet has nothing to do with the one before.
        assert!((stays(of(Some(tick)), tick / 10) - 0.995).abs() < 0.002);
        assert!((stays(of(Some(tick)), tick) - 0.95).abs() < 0.01);
        assert!((stays(of(Some(tick)), tick * 100) - 0.5).abs() < 0.02);
    }

    #[test]
    fn no_loss_loses_nothing_and_certain_loss_everything() {
        assert_eq!(share(&losses(Loss::None, 1)), 0.0);
        assert_eq!(share(&losses(Loss::uniform(1.0), 1)), 1.0);
        assert_eq!(share(&losses(Loss::bursts(0.0, 5.0), 1)), 0.0);
        assert_eq!(Loss::bursts(0.0, 5.0).mean(), 0.0);
    }
}
