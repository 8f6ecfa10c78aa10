//! How much of a link data fills.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, QueueLimit};
use anabranch_sansio::{Datagram, Machine, Rng, Time};
use anabranch_sctp::{AssociationConfig, CongestionControl, Endpoint, EndpointConfig};

use crate::harness::{Duo, PORTS, Side, link, numbered};
use crate::raw_peer::tuple;

/// Payload bits per second that arrive, of one second's of `seconds` after the start.
fn goodput_mbps(duo: &mut Duo, seconds: u64) -> f64 {
    let before = duo.stats(Side::Server).bytes_received;
    duo.saturate(Side::Client, 10_000, Duration::from_secs(seconds));
    let received = duo.stats(Side::Server).bytes_received - before;
    received as f64 * 8.0 / seconds as f64 / 1e6
}

fn large_buffers() -> AssociationConfig {
    AssociationConfig::default().with(|config| {
        config.buffers.receive_buffer = 4 << 20;
        config.buffers.send_buffer = 4 << 20;
        config.paths.path_mtu = 1_500;
    })
}

#[test]
fn a_clean_link_is_filled() {
    let mut duo = Duo::connected(1, &[link(50, 10, 0.0)], large_buffers());
    let goodput = goodput_mbps(&mut duo, 20);
    assert!(goodput > 45.0, "{goodput:.1} of 50 Mbit/s");
}

#[test]
fn cubic_fills_a_clean_link_with_a_long_round_trip() {
    let config = large_buffers().with(|config| {
        config.window.congestion_control = CongestionControl::Cubic;
        config.window.pacing = true;
        config.window.max_burst = None;
    });
    let mut duo = Duo::connected(1, &[link(50, 50, 0.0)], config);
    let goodput = goodput_mbps(&mut duo, 20);
    assert!(goodput > 45.0, "{goodput:.1} of 50 Mbit/s");
}

#[test]
fn bbr_and_the_media_controller_fill_a_link_without_filling_its_queue() {
    for congestion_control in [CongestionControl::Bbr, CongestionControl::Media] {
        let config = AssociationConfig::media()
            .with(|config| config.window.congestion_control = congestion_control);
        let mut duo = Duo::connected(1, &[link(50, 25, 0.0)], config);
        duo.saturate(Side::Client, 10_000, Duration::from_secs(2));
        let goodput = goodput_mbps(&mut duo, 10);
        assert!(goodput > 44.0, "{goodput:.1} of 50 Mbit/s under {congestion_control:?}");
        let srtt = duo.path(Side::Client, 0).srtt.expect("measured");
        assert!(srtt < Duration::from_millis(75), "{srtt:?} of 50 ms and 100 ms of queue");
    }
}

#[test]
fn random_loss_costs_the_media_controller_little_and_bbr_much_above_two_percent() {
    let goodput = |congestion_control| {
        let config = AssociationConfig::media()
            .with(|config| config.window.congestion_control = congestion_control);
        let mut duo = Duo::connected(1, &[link(20, 25, 0.05)], config);
        duo.saturate(Side::Client, 10_000, Duration::from_secs(2));
        goodput_mbps(&mut duo, 10)
    };
    let (media, bbr) = (goodput(CongestionControl::Media), goodput(CongestionControl::Bbr));
    assert!(media > 1.3 * bbr, "{media:.1} and {bbr:.1} of 20 Mbit/s at 5 %");
}

#[test]
fn random_loss_brings_it_down_to_what_the_law_of_reno_says() {
    let mut runs = [1, 2, 3, 4, 5].map(|seed| {
        let mut duo = Duo::connected(seed, &[link(100, 25, 0.001)], large_buffers());
        goodput_mbps(&mut duo, 60)
    });
    runs.sort_by(f64::total_cmp);
    let goodput = runs[2];
    // 1.31 MSS / (RTT sqrt p), with an RTT of 50 ms and messages of 1424 bytes.
    let law = 1.31 * 1_424.0 * 8.0 / (0.050 * 0.001_f64.sqrt()) / 1e6;
    assert!(
        (0.8 * law..1.2 * law).contains(&goodput),
        "{goodput:.2} Mbit/s, law {law:.2}, all {runs:.2?}"
    );
}

#[test]
fn a_paced_window_brings_bursts_through_a_queue_of_ten_packets() {
    let lost = |pacing| {
        let queue = QueueLimit::Packets(10);
        let links = [LinkConfig { queue, ..link(50, 10, 0.0) }];
        let congestion_control = CongestionControl::Fixed { window: 80_000 };
        let config = large_buffers().with(|config| {
            config.window.pacing = pacing;
            config.window.congestion_control = congestion_control;
            config.window.max_burst = None;
        });
        let mut duo = Duo::connected(1, &links, config);
        duo.send(Side::Client, numbered(0, 0, 100));
        for number in 1..20 {
            duo.run_for(Duration::from_millis(200));
            duo.send(Side::Client, numbered(0, number, 60_000));
        }
        duo.path(Side::Client, 0).counters.chunks_lost
    };
    assert_eq!(lost(true), 0);
    assert!(lost(false) > 200, "most of 42 packets that come at once find no room");
}

/// The most packets of one transmission while 300,000 bytes cross from one endpoint to another, 64
/// of which the driver would take.
fn largest_transmission(config: AssociationConfig) -> usize {
    let endpoint = |accept, seed| {
        let association = config.clone();
        let config =
            EndpointConfig { accept, association, segments_max: 64, ..EndpointConfig::default() };
        Endpoint::new(config, Rng::from_u64(seed))
    };
    let (mut server, mut client) = (endpoint(true, 1), endpoint(false, 2));
    let mut now = Time::ZERO;
    let path = tuple("10.0.0.1:9899", "10.0.0.2:9899");
    let id = client.connect(now, &[path], PORTS, config.clone()).expect("sound");
    let association = client.association_mut(id).expect("just made");
    (0..30).for_each(|number| association.send(now, numbered(0, number, 10_000)).expect("taken"));
    let mut largest = 0;
    for round in 0..400 {
        now += Duration::from_millis(5);
        let (from, to) =
            if round % 2 == 0 { (&mut client, &mut server) } else { (&mut server, &mut client) };
        from.handle_timeout(now);
        let mut buf = Vec::new();
        while let Some(transmit) = from.poll_transmit(now, &mut buf) {
            let segment = transmit.segment_size.unwrap_or(buf.len());
            let path = transmit.path.reversed();
            largest = largest.max(buf.len().div_ceil(segment));
            for bytes in buf.chunks(segment) {
                to.handle_datagram(now, Datagram { path, ecn: None, bytes });
            }
            buf.clear();
        }
    }
    assert!(client.association(id).expect("alive").is_drained());
    largest
}

#[test]
fn a_transmission_holds_no_more_packets_than_an_arrival_may_release() {
    let config = AssociationConfig::default();
    let largest = largest_transmission(config.clone());
    assert!((4..=5).contains(&largest), "{largest}: the last may be shorter");
    let unlimited = config.with(|config| config.window.max_burst = None);
    let largest = largest_transmission(unlimited);
    assert!(largest > 15, "{largest}: what the window allows");
}
