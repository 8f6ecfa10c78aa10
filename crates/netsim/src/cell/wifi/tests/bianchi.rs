//! Bianchi 2000: "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE
//! JSAC 18(3). Saturation throughput by his equations, with the parameters of his table II.

use std::time::Duration;

use super::{assert_near, link, saturated};
use crate::{WifiConfig, WifiStandard};

/// Microseconds, which at 1 Mbit/s are bits (table II).
const PAYLOAD: f64 = 8_184.0;
const HEADERS: f64 = 272.0 + 128.0;
const ACK: f64 = 112.0 + 128.0;
const RTS: f64 = 160.0 + 128.0;
const CTS: f64 = 112.0 + 128.0;
const DELAY: f64 = 1.0;
const SLOT: f64 = 50.0;
const SIFS: f64 = 28.0;
const DIFS: f64 = 128.0;

/// LLC and SNAP are payload to him.
const IP_LEN: usize = PAYLOAD as usize / 8 - 8;

/// His W, the smallest window.
const W: u32 = 32;

#[test]
fn basic_access_has_the_saturation_throughput_of_bianchi_for_1_to_20_stations() {
    for m in [3, 5] {
        for stations in 1..=20 {
            let success = HEADERS + PAYLOAD + SIFS + DELAY + ACK + DIFS + DELAY;
            let collision = HEADERS + PAYLOAD + DIFS + DELAY;
            let expected = saturation(stations, m, success, collision);
            let what = format!("{stations} stations, m {m}");
            assert_near(simulated(stations, m, None), expected, 0.03, &what);
        }
    }
}

#[test]
fn rts_and_cts_have_the_saturation_throughput_of_bianchi_for_1_to_20_stations() {
    for m in [3, 5] {
        for stations in 1..=20 {
            let success = RTS + SIFS + DELAY + CTS + SIFS + DELAY;
            let success = success + HEADERS + PAYLOAD + SIFS + DELAY + ACK + DIFS + DELAY;
            let collision = RTS + DIFS + DELAY;
            let expected = saturation(stations, m, success, collision);
            let what = format!("{stations} stations, m {m}, RTS");
            assert_near(simulated(stations, m, Some(0)), expected, 0.03, &what);
        }
    }
}

/// The share of the time in which payload is on the air.
fn simulated(stations: u32, m: u32, rts_over: Option<u32>) -> f64 {
    let config = WifiConfig {
        contention_window: (W - 1, (W << m) - 1),
        attempts_max: None,
        rts_over,
        ..WifiConfig::new(WifiStandard::Fhss)
    };
    let links = vec![link(config); stations as usize];
    let mbps = saturated(config, links, IP_LEN).throughputs(Duration::from_secs(40));
    mbps.iter().sum::<f64>() * PAYLOAD / (IP_LEN as f64 * 8.0)
}

/// His equation 13.
fn saturation(stations: u32, m: u32, success: f64, collision: f64) -> f64 {
    let tau = attempt_probability(stations, m);
    let idle = (1.0 - tau).powf(f64::from(stations));
    let busy = 1.0 - idle;
    let alone = f64::from(stations) * tau * (1.0 - tau).powf(f64::from(stations) - 1.0) / busy;
    let mean_slot = idle * SLOT + busy * alone * success + busy * (1.0 - alone) * collision;
    busy * alone * PAYLOAD / mean_slot
}

/// His equations 7 and 9, solved by halving: the right side of 7 falls where p rises, and p of 9
/// rises with tau.
fn attempt_probability(stations: u32, m: u32) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let tau = (low + high) / 2.0;
        let p = 1.0 - f64::powf(1.0 - tau, f64::from(stations) - 1.0);
        let w = f64::from(W);
        let series: f64 = (0..m).map(|i| (2.0 * p).powi(i as i32)).sum();
        let implied = 2.0 / (1.0 + w + p * w * series);
        if implied > tau { low = tau } else { high = tau }
    }
    (low + high) / 2.0
}
