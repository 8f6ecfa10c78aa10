//! The paper's tables 2 to 5.

use super::cell::{LOSSES, RATES_MBPS};
use super::strategy::{SctpStrategy, Strategy, Treatment};

/// Mean delay in seconds and PSNR-Y in dB.
pub(super) type Value = (f64, f64);

/// Of each table: the row of a strategy, with 30, 45 and 60 Mbit/s.
type PaperRow = (&'static str, [Value; 3]);

/// What the paper reports for a strategy at a rate and a loss. It does not say how often its
/// unreliable strategies send again, so both readings have the same value there. Its source is
/// another encode than ours: its full PSNR is 34.4653 dB.
#[must_use]
pub fn published(strategy: Strategy, mbps: f64, loss: f64) -> Option<Value> {
    let column = RATES_MBPS.iter().position(|rate| f64::from(*rate).total_cmp(&mbps).is_eq())?;
    let table = LOSSES.iter().position(|known| known.total_cmp(&loss).is_eq())?;
    let name = match strategy {
        Strategy::Sctp(SctpStrategy::CmtMulti(treatment)) => {
            format!("CMTMulti{}", name_of(treatment))
        }
        Strategy::Sctp(SctpStrategy::Multi(treatment)) => {
            format!("SCTPMulti{}", name_of(treatment))
        }
        Strategy::Sctp(SctpStrategy::Single(treatment)) => format!("SCTP{}", name_of(treatment)),
        Strategy::Sctp(SctpStrategy::Anabranch) => return None,
        Strategy::Rtp(_) | Strategy::Tcp => strategy.to_string(),
    };
    let (_, values) = TABLES[table].iter().find(|(row, _)| *row == name)?;
    values.get(column).copied()
}

const fn name_of(treatment: Treatment) -> &'static str {
    match treatment {
        Treatment::Reliable => "Reliable",
        Treatment::Unreliable(_) => "Unreliable",
        Treatment::Mixed(_) => "Mixed",
    }
}

/// PSNR-Y of the paper's whole video.
pub(super) const FULL: f64 = 34.4653;

/// Tables 2 to 5: packet error rates of 0, 1e-4, 1e-3 and 1e-2.
const TABLES: [&[PaperRow]; 4] = [
    &[
        ("CMTMultiReliable", [(0.0057, FULL), (0.0056, FULL), (0.0055, FULL)]),
        ("CMTMultiUnreliable", [(0.0057, FULL), (0.0056, FULL), (0.0055, FULL)]),
        ("CMTMultiMixed", [(0.0057, FULL), (0.0056, FULL), (0.0055, FULL)]),
        ("SCTPMultiReliable", [(1.6108, FULL), (0.0172, FULL), (0.0061, FULL)]),
        ("SCTPMultiUnreliable", [(1.6108, FULL), (0.0172, FULL), (0.0061, FULL)]),
        ("SCTPMultiMixed", [(1.6108, FULL), (0.0172, FULL), (0.0061, FULL)]),
        ("SCTPReliable", [(1.6105, FULL), (0.0171, FULL), (0.0060, FULL)]),
        ("SCTPUnreliable", [(1.6105, FULL), (0.0171, FULL), (0.0060, FULL)]),
        ("RTPMulti", [(0.0061, 33.4609), (0.0052, FULL), (0.0052, FULL)]),
        ("RTP", [(0.0094, 29.8153), (0.0059, 33.6131), (0.0052, FULL)]),
        ("TCP", [(2.4409, FULL), (0.2865, FULL), (0.0583, FULL)]),
    ],
    &[
        ("CMTMultiReliable", [(0.0057, FULL), (0.0056, FULL), (0.0055, FULL)]),
        ("CMTMultiUnreliable", [(0.0057, FULL), (0.0056, FULL), (0.0055, FULL)]),
        ("CMTMultiMixed", [(0.0057, FULL), (0.0056, FULL), (0.0055, FULL)]),
        ("SCTPMultiReliable", [(1.6146, FULL), (0.0174, FULL), (0.0062, FULL)]),
        ("SCTPMultiUnreliable", [(1.6146, FULL), (0.0174, FULL), (0.0062, FULL)]),
        ("SCTPMultiMixed", [(1.6146, FULL), (0.0174, FULL), (0.0062, FULL)]),
        ("SCTPReliable", [(1.6149, FULL), (0.0172, FULL), (0.0061, FULL)]),
        ("SCTPUnreliable", [(1.6149, FULL), (0.0172, FULL), (0.0061, FULL)]),
        ("RTPMulti", [(0.0061, 33.4229), (0.0052, 34.4272), (0.0052, 34.4272)]),
        ("RTP", [(0.0094, 29.7677), (0.0059, 33.5600), (0.0052, 34.4159)]),
        ("TCP", [(2.4581, FULL), (0.2865, FULL), (0.0583, FULL)]),
    ],
    &[
        ("CMTMultiReliable", [(0.0244, FULL), (0.0101, FULL), (0.0057, FULL)]),
        ("CMTMultiUnreliable", [(0.0300, 34.4596), (0.0101, FULL), (0.0057, FULL)]),
        ("CMTMultiMixed", [(0.0300, 34.4596), (0.0101, FULL), (0.0057, FULL)]),
        ("SCTPMultiReliable", [(1.9877, FULL), (0.0458, FULL), (0.0556, FULL)]),
        ("SCTPMultiUnreliable", [(1.9877, FULL), (0.0458, FULL), (0.0556, FULL)]),
        ("SCTPMultiMixed", [(1.9877, FULL), (0.0458, FULL), (0.0556, FULL)]),
        ("SCTPReliable", [(3.0093, FULL), (0.0466, FULL), (0.1124, FULL)]),
        ("SCTPUnreliable", [(2.0130, FULL), (0.0466, FULL), (0.1124, FULL)]),
        ("RTPMulti", [(0.0061, 32.9780), (0.0052, 33.9753), (0.0052, 33.9753)]),
        ("RTP", [(0.0094, 29.2786), (0.0059, 33.0309), (0.0052, 33.8717)]),
        ("TCP", [(2.9667, FULL), (0.4165, FULL), (0.1325, FULL)]),
    ],
    &[
        ("CMTMultiReliable", [(1.3272, FULL), (0.0644, FULL), (0.6181, FULL)]),
        ("CMTMultiUnreliable", [(0.4039, 34.4372), (0.7470, 34.4417), (0.4098, 34.4367)]),
        ("CMTMultiMixed", [(1.7904, 34.2869), (0.7470, 34.4417), (0.4026, 34.4427)]),
        ("SCTPMultiReliable", [(41.1406, FULL), (20.3130, FULL), (3.5188, FULL)]),
        ("SCTPMultiUnreliable", [(17.2343, 33.9208), (12.4975, 34.1825), (13.0626, 34.1603)]),
        ("SCTPMultiMixed", [(17.2308, 33.9577), (12.4961, 34.1896), (13.0586, 34.1666)]),
        ("SCTPReliable", [(44.7756, FULL), (19.2490, FULL), (9.7437, FULL)]),
        ("SCTPUnreliable", [(18.2282, 33.9311), (12.1949, 34.1579), (11.1983, 34.0951)]),
        ("RTPMulti", [(0.0061, 29.5685), (0.0052, 30.5368), (0.0052, 30.5368)]),
        ("RTP", [(0.0094, 24.7738), (0.0059, 28.5860), (0.0052, 29.3284)]),
        ("TCP", [(37.1808, FULL), (25.5925, FULL), (23.5196, FULL)]),
    ],
];

#[cfg(test)]
mod tests {
    use super::super::strategy::RtpStrategy;
    use super::*;

    #[test]
    fn every_cell_of_the_papers_strategies_has_a_value() {
        for strategy in Strategy::ALL.into_iter().filter(|it| *it != Strategy::OURS) {
            for mbps in RATES_MBPS.map(f64::from) {
                for loss in LOSSES {
                    assert!(published(strategy, mbps, loss).is_some(), "{strategy} {mbps} {loss}");
                }
            }
        }
        let slow =
            published(Strategy::Sctp(SctpStrategy::Single(Treatment::Unreliable(1))), 30.0, 1e-2);
        assert_eq!(slow, Some((18.2282, 33.9311)));
        assert_eq!(published(Strategy::Tcp, 45.0, 1e-3), Some((0.4165, 34.4653)));
        assert_eq!(published(Strategy::OURS, 30.0, 0.0), None);
        assert_eq!(published(Strategy::Rtp(RtpStrategy::Single), 31.0, 0.0), None);
    }
}
