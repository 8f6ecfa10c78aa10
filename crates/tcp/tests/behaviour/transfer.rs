//! Data arrives whole, whatever the network does.

use std::time::Duration;

use anabranch_netsim::{CLIENT, Hostility, Probability};
use anabranch_tcp::{Config, CongestionControl, Event, SendError};
use bytes::Bytes;

use crate::harness::{Duo, link, pattern};

#[test]
fn data_is_whole_over_a_network_that_loses_repeats_reorders_and_damages() {
    let reno = Config { rto_min: Duration::from_millis(200), ..Config::default() };
    let without_sack = Config { sack: false, ..reno.clone() };
    let cubic = Config { congestion_control: CongestionControl::Cubic, ..reno.clone() };
    let hostility = Hostility {
        duplicate: Probability::new(0.02).unwrap(),
        reorder: Probability::new(0.02).unwrap(),
        hold_max: Duration::from_millis(30),
        corrupt: Probability::new(0.01).unwrap(),
    };
    for seed in 1..=10 {
        for config in [reno.clone(), without_sack.clone(), cubic.clone()] {
            let mut duo = Duo::new(seed, link(20, 30, 0.02), config.clone(), config);
            duo.connect();
            duo.harass(hostility);
            let data = pattern(300_000 + seed as usize);
            for piece in data.chunks(7_777) {
                duo.send(piece).unwrap();
            }
            duo.run_for(Duration::from_secs(60));
            assert!(duo.received == data, "seed {seed}: {} bytes", duo.received.len());
        }
    }
}

#[test]
fn both_directions_carry_data_at_once() {
    let mut duo = Duo::new(1, link(20, 30, 0.01), Config::default(), Config::default());
    duo.connect();
    let data = pattern(200_000);
    duo.send(&data).unwrap();
    let back = Bytes::from(data.clone());
    duo.pair.act_server(|server, now| server.send(now, back)).unwrap().unwrap();
    duo.run_for(Duration::from_secs(30));
    assert!(duo.received == data);
    let read = |client: &mut anabranch_tcp::Connection, now| {
        let mut read = Vec::new();
        while let Some(piece) = client.receive(now) {
            read.extend(piece);
        }
        read
    };
    assert!(duo.pair.act_client(read).unwrap() == data);
}

#[test]
fn nagle_holds_a_short_segment_until_all_before_it_is_acknowledged() {
    let sent = |nagle| {
        let config = Config { nagle, ..Config::default() };
        let mut duo = Duo::new(1, link(10, 100, 0.0), config.clone(), config);
        duo.connect();
        let before = duo.stats().segments_sent;
        (0..10).for_each(|_| duo.send(b"short").unwrap());
        duo.run_for(Duration::from_millis(400));
        assert_eq!(duo.received.len(), 50);
        duo.stats().segments_sent - before
    };
    assert_eq!((sent(true), sent(false)), (2, 10));
}

#[test]
fn a_full_send_buffer_refuses_and_says_when_it_takes_more() {
    let config = Config { send_buffer: 10_000, ..Config::default() };
    let mut duo = Duo::new(1, link(10, 20, 0.0), config.clone(), config);
    duo.connect();
    duo.send(&[0; 9_000]).unwrap();
    assert_eq!(duo.send(&[0; 1_001]), Err(SendError::BufferFull { len: 1_001, free: 1_000 }));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.client_events, [Event::Connected, Event::Writable]);
    duo.send(&[0; 10_000]).unwrap();
}

#[test]
fn an_idle_connection_begins_with_the_initial_window_again() {
    let mut duo = Duo::new(1, link(100, 50, 0.0), Config::default(), Config::default());
    duo.connect();
    duo.saturate(Duration::from_secs(1));
    duo.run_for(Duration::from_secs(10));
    assert!(duo.stats().window > 100_000);
    let sent = duo.stats().segments_sent;
    duo.send(&[0; 100_000]).unwrap();
    assert_eq!(duo.stats().segments_sent - sent, 10);
}

#[test]
fn a_link_that_is_gone_for_good_ends_the_connection() {
    let mut duo = Duo::new(1, link(10, 20, 0.0), Config::default(), Config::default());
    duo.connect();
    duo.pair.cut(0);
    duo.send(b"into the void").unwrap();
    duo.run_for(Duration::from_secs(1_000));
    assert!(duo.pair.client().is_closed());
    assert!(duo.pair.sim.take_events(CLIENT).is_empty(), "Closed was told once, before");
}
