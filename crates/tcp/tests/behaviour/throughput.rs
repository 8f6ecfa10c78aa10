//! How much of a link a connection fills.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, QueueLimit};
use anabranch_tcp::{Config, CongestionControl};

use crate::harness::{Duo, link};

const RTT: f64 = 0.05;

fn reno() -> Config {
    // A timer as most systems have it: the law knows no timeouts.
    Config { rto_min: Duration::from_millis(200), ..Config::default() }
}

/// Goodput over the law's: 1.31 MSS / (RTT sqrt p), for acknowledgments that the window counts by
/// bytes (b = 1).
fn share_of_law(loss: f64, config: Config) -> f64 {
    let law = 1.31 * 1_460.0 * 8.0 / (RTT * loss.sqrt()) / 1e6;
    let mut duo = Duo::one_way(1, link(100, 50, loss), config);
    duo.connect();
    duo.saturate(Duration::from_secs(200)) / law
}

#[test]
fn reno_with_sack_meets_its_law() {
    for loss in [0.001, 0.01] {
        let share = share_of_law(loss, reno());
        assert!((0.8..1.2).contains(&share), "{share} of the law at {loss}");
    }
}

#[test]
fn newreno_meets_its_law() {
    for loss in [0.001, 0.01] {
        let share = share_of_law(loss, Config { sack: false, ..reno() });
        assert!((0.8..1.2).contains(&share), "{share} of the law at {loss}");
    }
}

#[test]
fn the_law_does_not_depend_on_how_many_segments_are_acknowledged_at_once() {
    let each = Config { segments_per_ack: 1, ..reno() };
    let share = share_of_law(0.01, each);
    assert!((0.8..1.2).contains(&share), "{share} of the law");
}

#[test]
fn cubic_fills_a_link() {
    let config = Config { congestion_control: CongestionControl::Cubic, ..reno() };
    let mut duo = Duo::one_way(1, link(50, 50, 0.0), config);
    duo.connect();
    let goodput = duo.saturate(Duration::from_secs(30));
    // 1,460 of 1,500 bytes are payload.
    assert!(goodput > 0.95 * 50.0 * 1_460.0 / 1_500.0, "{goodput} Mbit/s");
}

#[test]
fn reno_fills_a_link_with_one_bandwidth_delay_product_of_queue() {
    let mut duo = Duo::one_way(1, link(20, 50, 0.0), reno());
    duo.connect();
    let goodput = duo.saturate(Duration::from_secs(30));
    let stats = duo.stats();
    assert!(goodput > 0.95 * 20.0 * 1_460.0 / 1_500.0, "{goodput} Mbit/s");
    assert_eq!(stats.timeouts, 0, "{stats:?}");
}

fn bbr() -> Config {
    Config { congestion_control: CongestionControl::Bbr, ..reno() }
}

#[test]
fn bbr_fills_a_link_that_loses_packets_and_keeps_its_queue_short() {
    let mut duo = Duo::one_way(1, link(20, 50, 0.01), bbr());
    duo.connect();
    let goodput = duo.saturate(Duration::from_secs(30));
    let stats = duo.stats();
    assert!(goodput > 0.85 * 20.0 * 1_460.0 / 1_500.0, "{goodput} Mbit/s, {stats:?}");
    let srtt = stats.srtt.unwrap();
    assert!(srtt < Duration::from_millis(75), "a queue of {srtt:?} less 50 ms, of 50 there are");
}

#[test]
fn bbr_spreads_what_it_sends_so_that_a_short_queue_suffices() {
    let short = LinkConfig { queue: QueueLimit::Packets(10), ..link(20, 50, 0.0) };
    let mut duo = Duo::one_way(1, short, bbr());
    duo.connect();
    let goodput = duo.saturate(Duration::from_secs(30));
    assert!(goodput > 0.85 * 20.0 * 1_460.0 / 1_500.0, "{goodput} Mbit/s, {:?}", duo.stats());
}
