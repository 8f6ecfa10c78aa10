//! How a connection begins.

use std::time::Duration;

use anabranch_netsim::{CLIENT, SERVER};
use anabranch_sansio::Time;
use anabranch_tcp::{CloseReason, Config, Event, SendError};

use crate::harness::{Duo, link, pattern};

fn duo() -> Duo {
    Duo::new(1, link(10, 100, 0.0), Config::default(), Config::default())
}

/// When both ends are connected.
fn connected_at(duo: &mut Duo) -> Time {
    let is_done = |client: &anabranch_tcp::Connection, server: &anabranch_tcp::Connection| {
        client.is_connected() && server.is_connected()
    };
    duo.pair.run_until(is_done, 1_000).expect("a connection");
    duo.pair.now()
}

/// One and a half round trips of 100 ms, and some microseconds for the bytes.
fn is_about(at: Time, millis: u64) -> bool {
    (Time::from_millis(millis)..Time::from_millis(millis + 1)).contains(&at)
}

#[test]
fn it_takes_one_and_a_half_round_trips() {
    let mut duo = duo();
    duo.begin();
    let at = connected_at(&mut duo);
    assert!(is_about(at, 150), "{at:?}");
    assert_eq!(duo.pair.sim.take_events(CLIENT), [Event::Connected]);
    assert_eq!(duo.pair.sim.take_events(SERVER), [Event::Connected]);
}

#[test]
fn a_lost_syn_is_sent_again_after_the_initial_timeout() {
    let mut duo = duo();
    duo.pair.sim.drop_next(CLIENT, 1);
    duo.begin();
    let at = connected_at(&mut duo);
    assert!(is_about(at, 1_150), "{at:?}");
}

#[test]
fn a_lost_answer_is_sent_again() {
    let mut duo = duo();
    duo.pair.sim.drop_next(SERVER, 1);
    duo.begin();
    // The client's timer asks again before the server's runs out, and is answered at once.
    let at = connected_at(&mut duo);
    assert!(is_about(at, 1_150), "{at:?}");
}

#[test]
fn data_stands_in_for_a_lost_acknowledgment_of_the_syn() {
    let mut duo = duo();
    duo.begin();
    duo.run_for(Duration::from_millis(60));
    duo.pair.sim.drop_next(CLIENT, 1);
    duo.run_for(Duration::from_millis(60));
    assert!(duo.pair.client().is_connected() && !duo.pair.server().is_connected());
    duo.send(b"hello").unwrap();
    duo.run_for(Duration::from_millis(60));
    assert!(duo.pair.server().is_connected());
    assert_eq!(duo.received, b"hello");
}

#[test]
fn nobody_answers_and_the_client_gives_up() {
    let config = Config { retries: 2, ..Config::default() };
    let mut duo = Duo::new(1, link(10, 100, 0.0), config.clone(), config);
    duo.pair.cut(0);
    duo.begin();
    duo.run_for(Duration::from_millis(6_999));
    assert_eq!(duo.client_events, []);
    duo.run_for(Duration::from_millis(1));
    assert_eq!(duo.client_events, [Event::Closed(CloseReason::TimedOut)]);
    assert_eq!(duo.send(b"late"), Err(SendError::NotConnected));
}

#[test]
fn who_does_not_listen_refuses() {
    let mut duo = duo();
    duo.pair.act_server(|server, _| server.close()).unwrap();
    duo.begin();
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.client_events, [Event::Closed(CloseReason::Reset)]);
}

#[test]
fn a_peer_without_sack_and_scaling_is_served_without() {
    let plain = Config { sack: false, receive_buffer: 60_000, ..Config::default() };
    let mut duo = Duo::new(2, link(10, 20, 0.02), Config::default(), plain);
    duo.connect();
    let data = pattern(500_000);
    duo.send(&data).unwrap();
    duo.run_for(Duration::from_secs(60));
    assert!(duo.received == data);
}
