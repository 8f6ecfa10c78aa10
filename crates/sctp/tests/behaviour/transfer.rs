//! Messages arrive: all of them, once, whole, and in the order that they were promised.

use std::time::Duration;

use anabranch_netsim::{Hostility, Probability};
use anabranch_sctp::{AssociationConfig, SendError};

use crate::harness::{Duo, Side, good_link, link, numbered};

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

#[test]
fn messages_of_every_size_arrive_whole() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    let sizes = [4, 5, 1_000, 1_320, 1_324, 1_325, 5_000, 65_536, 262_144];
    for (number, size) in sizes.into_iter().enumerate() {
        duo.send(Side::Client, numbered(0, number as u32, size));
    }
    duo.run_for(Duration::from_secs(10));
    let arrived: Vec<_> = duo.messages(Side::Server).iter().map(|m| m.payload.len()).collect();
    assert_eq!(arrived, sizes);
    for message in duo.messages(Side::Server) {
        let last = message.payload[message.payload.len() - 1];
        assert!(message.payload[4..].iter().all(|byte| *byte == last));
    }
}

#[test]
fn both_sides_send_at_once() {
    let mut duo = Duo::connected(2, &[good_link()], default());
    for number in 0..100 {
        duo.send(Side::Client, numbered(0, number, 3_000));
        duo.send(Side::Server, numbered(0, number, 2_000));
    }
    duo.run_for(Duration::from_secs(5));
    let expected: Vec<u32> = (0..100).collect();
    assert_eq!(duo.numbers(Side::Server), expected);
    assert_eq!(duo.numbers(Side::Client), expected);
}

#[test]
fn loss_reordering_and_duplication_change_nothing_for_the_user() {
    let mut duo = Duo::new(3, &[link(20, 10, 0.05)], default());
    let some = Probability::new(0.05).expect("a probability");
    let hold_max = Duration::from_millis(30);
    duo.harass(Hostility { duplicate: some, reorder: some, hold_max, corrupt: some });
    duo.connect();
    duo.run_until(Duration::from_secs(60), |duo| duo.is_established(Side::Server));
    for number in 0..300 {
        duo.send(Side::Client, numbered(0, number, 2_500));
    }
    duo.run_until(Duration::from_secs(600), |duo| duo.messages(Side::Server).len() == 300);
    assert_eq!(duo.numbers(Side::Server), (0..300).collect::<Vec<_>>());
    let stats = duo.stats(Side::Server);
    assert!(stats.duplicates_received > 0, "the network repeated packets");
}

#[test]
fn a_reader_that_stops_holds_the_sender_up_and_nothing_is_lost() {
    let config = default().with(|config| {
        config.buffers.receive_buffer = 64 << 10;
        config.buffers.message_size_max = 16 << 10;
    });
    let mut duo = Duo::connected(4, &[good_link()], config);
    duo.reads = false;
    for number in 0..60 {
        duo.send(Side::Client, numbered(0, number, 10_000));
    }
    duo.run_for(Duration::from_secs(100));
    let held = duo.stats(Side::Server).held;
    assert!((32 << 10..=64 << 10).contains(&held), "{held} bytes wait for the reader");
    assert!(duo.is_established(Side::Client), "a closed window is no failure");
    duo.reads = true;
    duo.run_until(Duration::from_secs(100), |duo| duo.messages(Side::Server).len() == 60);
    assert_eq!(duo.numbers(Side::Server), (0..60).collect::<Vec<_>>());
}

#[test]
fn a_full_send_queue_refuses_and_then_says_that_it_has_room() {
    let config = default().with(|config| config.buffers.send_buffer = 50_000);
    let mut duo = Duo::connected(5, &[good_link()], config);
    let refusal = (0..100).find_map(|number| {
        let message = numbered(0, number, 10_000);
        duo.act(Side::Client, |association, now| association.send(now, message)).err()
    });
    assert!(matches!(refusal, Some(SendError::BufferFull { limit: 50_000, .. })), "{refusal:?}");
    duo.run_for(Duration::from_secs(2));
    let writable = |event: &_| matches!(event, anabranch_sctp::Event::Writable);
    assert_eq!(duo.events(Side::Client).iter().filter(|event| writable(event)).count(), 1);
}
