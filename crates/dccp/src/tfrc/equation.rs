//! The throughput equation: RFC 5348 section 3.1.

use std::time::Duration;

/// The least loss event rate that [`loss_event_rate_for`] answers: a loss in 10^10 packets.
const LOSS_EVENT_RATE_MIN: f64 = 1e-10;

/// How many packets a TCP would send in a round-trip time at this loss event rate, which is between
/// 0 and 1; infinitely many at 0.
///
/// RFC 5348 section 3.1: "With t_RTO=4*R and b=1, the throughput equation for X_Bps, the TCP
/// sending rate in bytes per second, can be simplified as: s / (R * (sqrt(2*p/3) +
/// 12*sqrt(3*p/8)*p*(1+32*p^2)))".
#[must_use]
pub fn packets_per_round_trip(loss_event_rate: f64) -> f64 {
    let p = loss_event_rate.clamp(0.0, 1.0);
    1.0 / ((2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

/// X_Bps: what a TCP would send with segments of `segment_size` bytes, in bytes per second.
#[must_use]
pub fn allowed_rate(segment_size: f64, rtt: Duration, loss_event_rate: f64) -> f64 {
    segment_size * packets_per_round_trip(loss_event_rate) / rtt.as_secs_f64()
}

/// The loss event rate at which a TCP would send so many packets in a round-trip time.
///
/// RFC 5348 section 6.3.1 has one found "for which the throughput equation in Section 3.1 gives a
/// sending rate within 5% of X_target"; this one is closer.
#[must_use]
pub fn loss_event_rate_for(packets_per_rtt: f64) -> f64 {
    // The equation falls with p: halve the range on a logarithmic scale.
    let (mut low, mut high) = (LOSS_EVENT_RATE_MIN, 1.0_f64);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if packets_per_round_trip(middle) > packets_per_rtt {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// RFC 4828 section 4.2.3, table 1: kilobytes per second at a round-trip time of 100 ms, with
    /// headers of 40 bytes to each segment.
    #[test]
    fn the_equation_gives_the_table_of_rfc_4828() {
        let table = [
            (0.000_01, [209.25, 2_232.00, 5_812.49]),
            (0.000_1, [66.12, 705.25, 1_836.58]),
            (0.001, [20.74, 221.23, 576.12]),
            (0.01, [6.07, 64.75, 168.61]),
            (0.03, [2.99, 31.90, 83.07]),
            (0.1, [0.96, 10.21, 26.58]),
        ];
        for (p, rates) in table {
            for (segment, rate) in [14.0, 536.0, 1_460.0].into_iter().zip(rates) {
                let ours = allowed_rate(segment + 40.0, RTT, p) / 1_000.0;
                // The table has two decimals.
                assert!((ours - rate).abs() < 0.002 * rate + 0.005, "{ours} for {rate} at {p}");
            }
        }
    }

    /// Computed with 40 decimal digits, apart from this code.
    #[test]
    fn the_equation_is_exact() {
        for (p, packets) in [
            (0.000_1, 122.364_359_180_655_38),
            (0.01, 11.233_223_436_299_3),
            (0.05, 3.685_885_312_955_357_4),
            (0.25, 0.316_063_192_617_184_3),
            (1.0, 0.004_109_882_118_763_721),
        ] {
            let ours = packets_per_round_trip(p);
            assert!((ours / packets - 1.0).abs() < 1e-12, "{ours} for {packets} at {p}");
        }
        assert_eq!(packets_per_round_trip(0.0), f64::INFINITY);
    }

    #[test]
    fn the_inverse_leads_back() {
        for packets in [0.005, 0.5, 1.0, 10.0, 1_000.0, 100_000.0] {
            let found = packets_per_round_trip(loss_event_rate_for(packets));
            assert!((found / packets - 1.0).abs() < 1e-6, "{found} for {packets}");
        }
        assert!(loss_event_rate_for(f64::INFINITY) < 1.001e-10);
        assert!((loss_event_rate_for(0.0) - 1.0).abs() < 1e-9);
    }
}
