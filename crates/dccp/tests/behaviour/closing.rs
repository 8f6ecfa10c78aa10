//! How a connection ends.

use std::time::Duration;

use anabranch_dccp::wire::{Kind, Options, Packet, Protection, ResetCode, SequenceNumber};
use anabranch_dccp::{CloseReason, Config, Event, SendError};
use anabranch_netsim::{self as netsim, CLIENT, Carrier, SERVER};

use crate::harness::{BOTH, Duo, PORTS, link};

fn connected() -> Duo {
    let mut duo = Duo::new(1, link(10.0, 100, 0.0), &Config::default());
    duo.connect(&Config::default());
    duo
}

/// How many connections each end has, those in TIMEWAIT included.
fn left(duo: &Duo) -> [usize; 2] {
    [duo.pair.client().connections().count(), duo.pair.server().connections().count()]
}

const TIMEWAIT: Duration = Duration::from_secs(240);

#[test]
fn a_client_that_closes_waits_in_timewait() {
    let mut duo = connected();
    duo.act(CLIENT, |client, now| client.close(now));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(BOTH.map(|host| duo.closed(host)), [Some(CloseReason::Finished); 2]);
    assert_eq!(left(&duo), [1, 0]);
    duo.run_for(TIMEWAIT);
    assert_eq!(left(&duo), [0, 0]);
}

#[test]
fn a_server_that_closes_has_its_client_wait() {
    let mut duo = connected();
    duo.act(SERVER, |server, now| server.close(now));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(BOTH.map(|host| duo.closed(host)), [Some(CloseReason::Finished); 2]);
    assert_eq!(left(&duo), [1, 0]);
}

#[test]
fn what_waits_is_sent_before_the_close() {
    let mut duo = connected();
    for _ in 0..100 {
        duo.send(CLIENT, &[7; 1_000]);
    }
    duo.act(CLIENT, |client, now| client.close(now));
    let late = duo.act(CLIENT, |client, _| client.send("late".into()));
    assert_eq!(late, Err(SendError::NotConnected));
    duo.run_for(Duration::from_secs(10));
    assert_eq!(duo.received[0].len(), 100);
    assert_eq!(duo.closed(SERVER), Some(CloseReason::Finished));
}

#[test]
fn both_may_close_at_once() {
    let mut duo = connected();
    duo.act(CLIENT, |client, now| client.close(now));
    duo.act(SERVER, |server, now| server.close(now));
    duo.run_for(Duration::from_secs(5));
    assert_eq!(BOTH.map(|host| duo.closed(host)), [Some(CloseReason::Finished); 2]);
    let closes = |events: &[Event]| events.iter().filter(|e| matches!(e, Event::Closed(_))).count();
    assert_eq!((closes(&duo.client_events), closes(&duo.server_events)), (1, 1));
}

#[test]
fn lost_closes_are_sent_again() {
    for (host, lost) in [(CLIENT, CLIENT), (SERVER, SERVER), (SERVER, CLIENT)] {
        let mut duo = connected();
        duo.pair.sim.drop_next(lost, 1);
        duo.act(host, |end, now| end.close(now));
        duo.run_for(Duration::from_secs(2));
        let closed = BOTH.map(|host| duo.closed(host));
        assert_eq!(closed, [Some(CloseReason::Finished); 2], "{host:?} loses of {lost:?}");
    }
}

#[test]
fn a_lost_reset_is_answered_by_another_one() {
    let mut duo = connected();
    duo.pair.sim.drop_next(SERVER, 1);
    duo.act(CLIENT, |client, now| client.close(now));
    duo.run_for(Duration::from_secs(2));
    // The server has forgotten the connection: its next Reset says so.
    let gone = CloseReason::Reset(ResetCode::NO_CONNECTION);
    assert_eq!(BOTH.map(|host| duo.closed(host)), [Some(gone), Some(CloseReason::Finished)]);
}

#[test]
fn an_abort_tells_the_peer() {
    let mut duo = connected();
    duo.act(CLIENT, |client, now| client.abort(now));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.closed(CLIENT), Some(CloseReason::Aborted));
    assert_eq!(duo.closed(SERVER), Some(CloseReason::Reset(ResetCode::ABORTED)));
}

#[test]
fn a_peer_that_is_gone_is_given_up() {
    let mut duo = connected();
    duo.pair.cut(0);
    duo.act(CLIENT, |client, now| client.close(now));
    duo.run_for(Duration::from_secs(8 * 60 + 1));
    assert_eq!(duo.closed(CLIENT), Some(CloseReason::TimedOut));
    assert_eq!(left(&duo)[0], 0);
}

#[test]
fn who_waits_in_timewait_refuses_what_comes() {
    let mut duo = connected();
    duo.act(SERVER, |server, now| server.close(now));
    duo.run_for(Duration::from_secs(1));
    let before = duo.pair.client().stats().resets_sent;
    // The server forgot to whom it spoke, and a packet of old comes late.
    let path = duo.pair.paths()[0].addresses.reversed();
    let data = Packet {
        source_port: PORTS.1,
        destination_port: PORTS.0,
        ccval: 0,
        checksum_coverage: 0,
        sequence_number: SequenceNumber::new(7),
        is_short: false,
        kind: Kind::Data,
        options: Options::default(),
        data: b"late",
    };
    let mut bytes = Vec::new();
    data.encode(Protection::header(path), &mut bytes);
    let carrier = Carrier::Dccp;
    duo.pair.sim.inject(netsim::Packet::new(path, carrier, bytes));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.pair.client().stats().resets_sent, before + 1);
    assert_eq!(duo.received[1].len(), 0);
}

#[test]
fn what_arrived_can_be_read_after_the_end() {
    let mut duo = connected();
    duo.server_reads = false;
    duo.send(CLIENT, b"last words");
    duo.act(CLIENT, |client, now| client.close(now));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.closed(SERVER), Some(CloseReason::Finished));
    assert_eq!(duo.act(SERVER, |server, _| server.receive()), Some("last words".into()));
    duo.run_for(Duration::from_millis(1));
    assert_eq!(left(&duo)[1], 0);
}
