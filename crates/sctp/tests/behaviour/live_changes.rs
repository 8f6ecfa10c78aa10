//! Settings that change while an association lives.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CloseReason, ConfigError, PathId, TimerConfig};

use crate::harness::{Duo, Side, good_link, numbered};
use crate::raw_peer::{FIRST_TSN, RawPeer, WINDOW, data};

const SECOND: Duration = Duration::from_secs(1);

fn connected() -> Duo {
    Duo::connected(1, &[good_link(), good_link()], AssociationConfig::default())
}

#[test]
fn the_bounds_of_the_rto_hold_from_the_next_timer_on() {
    let mut duo = connected();
    duo.run_for(SECOND);
    assert_eq!(duo.path(Side::Client, 0).rto, SECOND, "RTO.Min");
    let timers = TimerConfig {
        rto_min: Duration::from_millis(100),
        rto_max: Duration::from_millis(400),
        ..TimerConfig::default()
    };
    duo.act(Side::Client, |association, _| association.set_timers(timers)).expect("sound");
    duo.send(Side::Client, numbered(0, 0, 100));
    duo.run_for(SECOND);
    assert!(duo.path(Side::Client, 0).rto <= Duration::from_millis(400));
    duo.pair.cut(0);
    duo.pair.cut(1);
    duo.send(Side::Client, numbered(0, 1, 100));
    duo.run_for(2 * SECOND);
    let timeouts = duo.stats(Side::Client).path_totals.timeouts;
    assert!(timeouts >= 3, "{timeouts}: by RTO.Min of 1 s it was one");
}

#[test]
fn timers_that_cannot_work_change_nothing() {
    let mut duo = connected();
    let (min, max) = (2 * SECOND, SECOND);
    let timers = TimerConfig { rto_min: min, rto_max: max, ..TimerConfig::default() };
    let refused = duo.act(Side::Client, |association, _| association.set_timers(timers));
    assert_eq!(refused, Err(ConfigError::RtoBounds { min, max }));
    let association = duo.association(Side::Client).expect("lives");
    assert_eq!(association.config().timers.rto_max, 60 * SECOND);
}

#[test]
fn a_lower_limit_on_retransmissions_ends_an_association_sooner() {
    let mut duo = connected();
    duo.act(Side::Client, |association, _| association.set_retransmission_limits(2, 1));
    duo.pair.cut(0);
    duo.pair.cut(1);
    duo.send(Side::Client, numbered(0, 0, 100));
    let begin = duo.now();
    assert_eq!(duo.run_until_closed(Side::Client), CloseReason::PeerUnreachable);
    let lasted = duo.now() - begin;
    assert!(lasted < 20 * SECOND, "not a minute and more: {lasted:?}");
}

#[test]
fn a_path_can_have_a_heartbeat_interval_of_its_own() {
    let mut duo = connected();
    duo.run_for(SECOND);
    let sent = |duo: &Duo, path| duo.path(Side::Client, path).counters.heartbeats_sent;
    let before = [sent(&duo, 0), sent(&duo, 1)];
    duo.act(Side::Client, |association, now| {
        assert!(association.set_heartbeat_interval(now, PathId(1), SECOND));
        assert!(!association.set_heartbeat_interval(now, PathId(7), SECOND));
    });
    duo.run_for(20 * SECOND);
    assert_eq!(sent(&duo, 0), before[0], "every 30 s");
    assert!(sent(&duo, 1) >= before[1] + 8, "every 2 s, the RTO included");
}

/// The lengths of the packets with data since the last call, and how many chunks of it each has.
fn data_packets(peer: &mut RawPeer) -> Vec<(usize, usize)> {
    let sent = peer.take();
    let packets = sent.iter().map(|sent| (sent.bytes.len(), sent.data().len()));
    packets.filter(|(_, chunks)| *chunks > 0).collect()
}

#[test]
fn after_the_path_mtu_shrank_messages_are_cut_shorter_and_what_was_cut_goes_out_alone() {
    let mut peer = RawPeer::connected(AssociationConfig::default());
    peer.send(numbered(0, 0, 1_300));
    peer.send(numbered(0, 1, 100));
    assert_eq!(data_packets(&mut peer), [(12 + 1_316, 1), (12 + 116, 1)]);
    peer.act(|association, now| association.set_path_mtu(now, 700)).unwrap();
    assert_eq!(peer.association().unwrap().whole_message_max(), 652 - 12 - 16);
    // What is to be acknowledged soon goes along.
    peer.deliver(&[anabranch_wire::Chunk::Data(data(FIRST_TSN, 0))]);
    peer.run_for(SECOND);
    assert_eq!(data_packets(&mut peer), [(12 + 1_316, 1)], "it cannot be cut again");
    peer.acknowledge(2, &[], WINDOW);
    peer.send(numbered(0, 2, 1_300));
    assert_eq!(data_packets(&mut peer)[..2], [(652, 1), (652, 1)]);
}

#[test]
fn after_the_path_mtu_grew_packets_are_longer() {
    let mut peer = RawPeer::connected(AssociationConfig::default());
    peer.act(|association, now| association.set_path_mtu(now, 1_500)).unwrap();
    peer.send(numbered(0, 0, 2_000));
    assert_eq!(data_packets(&mut peer)[0], (1_452, 1));
    let config = peer.association().unwrap().config();
    assert_eq!(config.paths.path_mtu, 1_500);
}

#[test]
fn a_path_mtu_that_cannot_work_changes_nothing() {
    let mut duo = connected();
    let refused = duo.act(Side::Client, |association, now| association.set_path_mtu(now, 575));
    assert_eq!(refused, Err(ConfigError::PathMtu { path_mtu: 575, min: 576 }));
    assert_eq!(duo.association(Side::Client).expect("lives").config().paths.path_mtu, 1_400);
}
