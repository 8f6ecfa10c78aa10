//! One station alone, calculated by hand.

use std::time::Duration;

use super::{assert_near, link, saturated};
use crate::{LinkConfig, WifiConfig, WifiStandard};
use anabranch_sansio::Rate;

/// Half of the smallest window, 15 slots of 9 microseconds.
const BACKOFF: f64 = 7.5 * 9.0;

/// What a station alone sends in packets of 1,500 bytes, in Mbit/s.
fn alone(config: WifiConfig, rate: Rate) -> f64 {
    let links = vec![LinkConfig { rate: Some(rate), ..link(config) }];
    saturated(config, links, 1_500).throughputs(Duration::from_secs(10))[0]
}

#[test]
fn a_station_of_802_11a_alone_sends_30_mbps_at_54() {
    // DIFS, backoff, 20 + 57 symbols, SIFS, ACK: 12,000 bits in 393.5 us.
    let cycle = 34.0 + BACKOFF + (20.0 + 57.0 * 4.0) + 16.0 + 28.0;
    let measured = alone(WifiConfig::new(WifiStandard::A), Rate::mbps(54));
    assert_near(measured, 12_000.0 / cycle, 0.005, "802.11a at 54 Mbit/s");
}

#[test]
fn a_station_of_802_11g_alone_sends_30_mbps_at_54_and_5_at_6() {
    let config = WifiConfig::new(WifiStandard::G);
    let cycle = 28.0 + BACKOFF + (20.0 + 57.0 * 4.0 + 6.0) + 10.0 + (28.0 + 6.0);
    assert_near(alone(config, Rate::mbps(54)), 12_000.0 / cycle, 0.005, "at 54 Mbit/s");
    // 12,310 bits are 513 symbols of 24, and the ACK has 6.
    let cycle = 28.0 + BACKOFF + (20.0 + 513.0 * 4.0 + 6.0) + 10.0 + (20.0 + 6.0 * 4.0 + 6.0);
    assert_near(alone(config, Rate::mbps(6)), 12_000.0 / cycle, 0.005, "at 6 Mbit/s");
}

#[test]
fn a_station_of_802_11n_alone_sends_aggregates_of_42_packets() {
    let config = WifiConfig::new(WifiStandard::N);
    // 42 frames of 1,538 bytes, each with 4 bytes in front and, but for the last, 2 behind:
    // 64,846 bytes and 22 bits are 1,996 symbols of 260.
    let cycle = 43.0 + BACKOFF + (36.0 + 1_996.0 * 4.0) + 16.0 + (20.0 + 3.0 * 4.0);
    let measured = alone(config, Rate::mbps(65));
    assert_near(measured, 42.0 * 12_000.0 / cycle, 0.005, "802.11n at 65 Mbit/s");
    // One by one: 12,326 bits are 48 symbols of 260.
    let single = WifiConfig { aggregate_bytes: 0, ..config };
    let cycle = 43.0 + BACKOFF + (36.0 + 48.0 * 4.0) + 16.0 + 28.0;
    assert_near(alone(single, Rate::mbps(65)), 12_000.0 / cycle, 0.005, "without aggregation");
}

#[test]
fn rts_and_cts_cost_what_their_frames_take() {
    let config = WifiConfig { rts_over: Some(1_000), ..WifiConfig::new(WifiStandard::G) };
    let answered = |frame: f64| frame + 10.0;
    // RTS of 20 bytes: 182 bits, 2 symbols of 96; CTS as the ACK.
    let announced = answered(20.0 + 2.0 * 4.0 + 6.0) + answered(28.0 + 6.0);
    let cycle = 28.0 + BACKOFF + announced + answered(20.0 + 57.0 * 4.0 + 6.0) + (28.0 + 6.0);
    assert_near(alone(config, Rate::mbps(54)), 12_000.0 / cycle, 0.005, "802.11g with RTS");
}
