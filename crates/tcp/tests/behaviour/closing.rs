//! How a connection ends.

use std::time::Duration;

use anabranch_netsim::{CLIENT, SERVER};
use anabranch_tcp::{CloseReason, Config, Connection, Event, SendError};

use crate::harness::{Duo, link, pattern};

fn duo() -> Duo {
    let config = Config { time_wait: Duration::from_secs(10), ..Config::default() };
    let mut duo = Duo::new(1, link(10, 20, 0.0), config.clone(), config);
    duo.connect();
    duo
}

fn close(connection: &mut Connection) {
    connection.close();
}

#[test]
fn what_was_sent_before_the_end_arrives_before_the_end() {
    let mut duo = duo();
    let data = pattern(50_000);
    duo.send(&data).unwrap();
    duo.pair.act_client(|client, _| close(client)).unwrap();
    assert_eq!(duo.send(b"more"), Err(SendError::Closed));
    duo.run_for(Duration::from_secs(1));
    assert!(duo.received == data);
    assert_eq!(duo.server_events.last(), Some(&Event::PeerClosed));
    assert!(duo.pair.server().is_connected(), "it may still send");
}

#[test]
fn who_closes_first_waits_for_late_segments() {
    let mut duo = duo();
    duo.pair.act_client(|client, _| close(client)).unwrap();
    duo.run_for(Duration::from_millis(100));
    duo.pair.act_server(|server, _| close(server)).unwrap();
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.server_events.last(), Some(&Event::Closed(CloseReason::Finished)));
    assert!(!duo.pair.client().is_closed());
    duo.run_for(Duration::from_secs(10));
    assert_eq!(duo.client_events.last(), Some(&Event::Closed(CloseReason::Finished)));
}

#[test]
fn both_may_close_at_once() {
    let mut duo = duo();
    duo.pair.act_client(|client, _| close(client)).unwrap();
    duo.pair.act_server(|server, _| close(server)).unwrap();
    duo.run_for(Duration::from_secs(20));
    assert!(duo.pair.client().is_closed() && duo.pair.server().is_closed());
}

#[test]
fn a_lost_fin_and_a_lost_last_acknowledgment_are_sent_again() {
    let mut duo = duo();
    duo.pair.sim.drop_next(CLIENT, 1);
    duo.pair.act_client(|client, _| close(client)).unwrap();
    duo.run_for(Duration::from_secs(2));
    assert_eq!(duo.server_events.last(), Some(&Event::PeerClosed));
    duo.pair.act_server(|server, _| close(server)).unwrap();
    duo.pair.sim.drop_next(CLIENT, 1);
    duo.run_for(Duration::from_secs(3));
    assert_eq!(duo.server_events.last(), Some(&Event::Closed(CloseReason::Finished)));
}

#[test]
fn an_abort_is_told_to_the_peer() {
    let mut duo = duo();
    duo.pair.act_client(|client, _| client.abort()).unwrap();
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.client_events.last(), Some(&Event::Closed(CloseReason::Aborted)));
    assert_eq!(duo.server_events.last(), Some(&Event::Closed(CloseReason::Reset)));
}

#[test]
fn who_is_gone_resets_a_peer_that_does_not_know() {
    let mut duo = duo();
    duo.pair.sim.drop_next(SERVER, 1);
    duo.pair.act_server(|server, _| server.abort()).unwrap();
    duo.send(b"hello?").unwrap();
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.client_events.last(), Some(&Event::Closed(CloseReason::Reset)));
}
