//! Timeouts, back-off, fast retransmit, and which path a retransmission takes (RFC 9260 sections
//! 6.3, 6.4 and 7.2).

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CloseReason, PathState};
use anabranch_wire::{Chunk, ChunkType, HeartbeatAck, Parameter};

use crate::harness::{Duo, Side, good_link, link, numbered};
use crate::packets::{Sent, Wiretap, lose, lose_first};
use crate::raw_peer::{RawPeer, tuple};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Payload of a full packet, and bytes of its DATA chunk.
const FULL: usize = 1_324;
const CHUNK: usize = 1_340;

/// What it counts in the send queue.
const QUEUED: usize = FULL + 64;

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

/// A sender with `count` messages of a packet each, all of them sent. The first one was
/// acknowledged after 100 ms, so that the RTO is known: one second, the minimum.
fn sending(count: u32) -> RawPeer {
    sending_with(default().with(|config| config.window.max_burst = None), count)
}

fn sending_with(config: AssociationConfig, count: u32) -> RawPeer {
    let mut peer = RawPeer::connected(config);
    peer.send(numbered(0, 0, FULL));
    peer.run_for(100 * MILLISECOND);
    peer.acknowledge(1, &[], 100_000);
    grow_window(&mut peer, 1 + count);
    (0..count).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.take();
    peer
}

/// Sends and acknowledges until `count` packets fit into the congestion window. All is acknowledged
/// then, and chunks are counted anew.
fn grow_window(peer: &mut RawPeer, count: u32) {
    let mut sent = 1;
    while peer.stats().paths[0].window < count as usize * CHUNK {
        let burst = (peer.stats().paths[0].window / CHUNK) as u32;
        for _ in 0..burst {
            peer.send(numbered(0, 0, FULL));
            sent += 1;
        }
        peer.run_for(100 * MILLISECOND);
        // Max.Burst may hold some of them back.
        while peer.stats().in_flight > 0 {
            let held_back = (peer.stats().queued / QUEUED) as u32;
            peer.acknowledge(sent - held_back, &[], 100_000);
        }
    }
    peer.their_first_tsn = peer.tsn_of(sent + 1);
}

#[test]
fn a_timeout_doubles_until_rto_max_and_the_peer_is_given_up_after_ten() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    let tap = Wiretap::on(&mut duo);
    duo.run_for(SECOND);
    duo.pair.cut(0);
    let start = duo.now();
    duo.send(Side::Client, numbered(0, 0, 100));
    assert_eq!(duo.run_until_closed(Side::Client), CloseReason::PeerUnreachable);
    let times: Vec<_> =
        tap.of(Side::Client, ChunkType::DATA).iter().map(|s| (s.at - start).as_secs()).collect();
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303]);
    assert_eq!((duo.now() - start).as_secs(), 363, "RFC 9260 section 8.1: Association.Max.Retrans");
}

#[test]
fn a_retransmission_gives_no_round_trip_time_and_the_next_new_chunk_ends_the_back_off() {
    let mut peer = sending(1);
    let before = peer.stats().paths[0].clone();
    peer.run_for(SECOND);
    assert_eq!(peer.take_numbers(), [[1]]);
    peer.run_for(50 * MILLISECOND);
    peer.acknowledge(1, &[], 100_000);
    let after = peer.stats().paths[0].clone();
    assert_eq!((after.latest_rtt, after.srtt), (before.latest_rtt, before.srtt), "Karn");
    assert_eq!(after.rto, 2 * SECOND, "backed off");
    peer.send(numbered(0, 0, FULL));
    peer.run_for(50 * MILLISECOND);
    peer.acknowledge(2, &[], 100_000);
    let path = peer.stats().paths[0].clone();
    assert_eq!((path.latest_rtt, path.rto), (Some(50 * MILLISECOND), SECOND));
}

#[test]
fn after_a_timeout_one_packet_goes_out_until_something_is_acknowledged() {
    let mut peer = RawPeer::connected(default());
    (0..4).for_each(|number| peer.send(numbered(0, number, 600)));
    peer.take();
    peer.run_for(SECOND);
    assert_eq!(peer.take_numbers(), [[1, 2]], "as many as fit into one packet");
    peer.run_for(SECOND);
    assert!(peer.take_numbers().is_empty());
    peer.acknowledge(1, &[], 100_000);
    assert_eq!(peer.take_numbers(), [[3, 4]]);
}

/// With chunks of less than a packet, cwnd = PMDCS let a second packet out.
#[test]
fn regression_two_packets_went_out_after_a_timeout() {
    let mut peer = RawPeer::connected(default());
    (0..4).for_each(|number| peer.send(numbered(0, number, 1_000)));
    peer.take();
    peer.run_for(SECOND);
    assert_eq!(peer.take_numbers(), [[1]]);
}

#[test]
fn the_third_report_of_a_gap_makes_a_fast_retransmission_that_ignores_the_window() {
    let mut peer = sending(10);
    let window = peer.stats().paths[0].window;
    for highest in [2, 3] {
        peer.acknowledge(0, &[(2, highest)], 100_000);
        assert!(!peer.take_numbers().contains(&vec![1]), "report {highest}");
    }
    peer.acknowledge(0, &[(2, 4)], 100_000);
    assert_eq!(peer.take_numbers(), [[1]], "more than half of cwnd is still in flight");
    let path = peer.stats().paths[0].clone();
    assert_eq!((path.window, path.ssthresh), (window / 2, Some(window / 2)));
    assert_eq!(peer.stats().fast_recoveries, 1);
    peer.acknowledge(0, &[(2, 10)], 100_000);
    assert!(!peer.take_numbers().contains(&vec![1]), "fast retransmitted once only");
    peer.acknowledge(10, &[], 100_000);
    assert_eq!(peer.stats().in_flight, 0);
}

#[test]
fn losses_within_fast_recovery_do_not_shrink_the_window_again() {
    let mut peer = sending(14);
    let window = peer.stats().paths[0].window;
    for highest in 2..=4 {
        peer.acknowledge(0, &[(2, highest)], 100_000);
    }
    for highest in 6..=8 {
        peer.acknowledge(0, &[(2, 4), (6, highest)], 100_000);
    }
    let stats = peer.stats();
    assert_eq!((stats.paths[0].window, stats.fast_recoveries), (window / 2, 1));
    assert_eq!(stats.paths[0].counters.chunks_lost, 2, "1 and 5");
}

/// The timer of the lost chunk's first transmission went on, and fired before its retransmission
/// could be acknowledged.
#[test]
fn regression_t3_was_not_restarted_by_a_fast_retransmission_of_the_earliest_chunk() {
    let mut peer = sending(4);
    peer.run_for(700 * MILLISECOND);
    for highest in 2..=4 {
        peer.acknowledge(0, &[(2, highest)], 100_000);
    }
    assert_eq!(peer.take_numbers(), [[1]]);
    peer.run_for(900 * MILLISECOND);
    assert!(peer.take_numbers().is_empty());
    assert_eq!(peer.stats().paths[0].counters.timeouts, 0);
    peer.run_for(200 * MILLISECOND);
    assert_eq!(peer.stats().paths[0].counters.timeouts, 1, "an RTO after the retransmission");
}

#[test]
fn an_ack_of_the_earliest_chunk_restarts_t3_and_one_of_a_later_does_not() {
    let mut peer = sending(3);
    peer.run_for(600 * MILLISECOND);
    peer.acknowledge(0, &[(3, 3)], 100_000);
    peer.run_for(300 * MILLISECOND);
    peer.acknowledge(1, &[(3, 3)], 100_000);
    let rto = peer.stats().paths[0].rto;
    peer.run_for(rto - MILLISECOND);
    assert_eq!(peer.stats().paths[0].counters.timeouts, 0);
    peer.run_for(MILLISECOND);
    assert_eq!(peer.stats().paths[0].counters.timeouts, 1);
}

#[test]
fn data_that_the_peer_reneged_on_is_sent_again_after_a_timeout() {
    let mut peer = sending(3);
    peer.acknowledge(0, &[(2, 3)], 100_000);
    assert_eq!(peer.stats().in_flight, CHUNK);
    peer.acknowledge(1, &[], 100_000);
    assert_eq!(peer.stats().in_flight, 2 * CHUNK, "2 and 3 are not there any more");
    peer.run_for(SECOND);
    assert_eq!(peer.take_numbers(), [[2]]);
}

#[test]
fn a_burst_has_at_most_max_burst_packets() {
    for (max_burst, packets) in [(Some(4), 4..=4), (Some(9), 9..=9), (None, 20..=24)] {
        let mut peer =
            sending_with(default().with(|config| config.window.max_burst = max_burst), 20);
        (0..40).for_each(|number| peer.send(numbered(0, number, FULL)));
        let sent = 20 + peer.take_numbers().len() as u32;
        peer.acknowledge(sent, &[], 100_000);
        let burst = peer.take_numbers().len();
        assert!(packets.contains(&burst), "{max_burst:?}: {burst}");
    }
}

#[test]
fn the_window_of_an_idle_path_halves_with_every_rto_down_to_four_packets() {
    for (idle_rtos, halvings) in [(0, 0), (1, 1), (2, 2), (20, 20)] {
        let mut peer = sending(40);
        peer.acknowledge(40, &[], 100_000);
        let window = peer.stats().paths[0].window;
        peer.run_for(idle_rtos * SECOND + 100 * MILLISECOND);
        peer.send(numbered(0, 0, FULL));
        let path = peer.stats().paths[0].clone();
        let expected = window.checked_shr(halvings).unwrap_or(0).max(4 * CHUNK);
        assert_eq!(path.window, expected, "{idle_rtos} RTOs");
        let threshold = (halvings > 0).then_some(window);
        assert_eq!(path.ssthresh, threshold, "the window of before can be regained quickly");
    }
}

#[test]
fn what_timed_out_goes_over_the_other_path() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], default());
    duo.run_for(SECOND);
    let tap = Wiretap::on(&mut duo);
    duo.pair.cut(0);
    let start = duo.now();
    duo.send(Side::Client, numbered(0, 0, 100));
    duo.run_for(5 * SECOND);
    let paths = [0, 1].map(|path| duo.pair.paths()[path].addresses);
    let sent: Vec<_> = tap
        .of(Side::Client, ChunkType::DATA)
        .iter()
        .map(|sent| ((sent.at - start).as_millis(), sent.path))
        .collect();
    assert_eq!(sent, [(0, paths[0]), (1_000, paths[1])]);
    assert_eq!(duo.numbers(Side::Server), [0]);
}

#[test]
fn what_is_fast_retransmitted_stays_on_its_path() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], default());
    duo.run_for(SECOND);
    let tap = Wiretap::on(&mut duo);
    lose_first(&mut duo, Side::Client, ChunkType::DATA, 1);
    (0..10).for_each(|number| duo.send(Side::Client, numbered(0, number, FULL)));
    duo.run_for(500 * MILLISECOND);
    let first = tap.of(Side::Client, ChunkType::DATA)[0].data()[0].tsn;
    let sent: Vec<Sent> = tap.of(Side::Client, ChunkType::DATA);
    let again: Vec<_> =
        sent.iter().filter(|s| s.data().iter().any(|data| data.tsn == first)).collect();
    assert_eq!((again.len(), again[1].path), (2, again[0].path));
    assert_eq!(duo.numbers(Side::Server).len(), 10);
}

#[test]
fn every_path_has_a_timeout_of_its_own() {
    let config = AssociationConfig::media().with(|config| config.timers.rto_min = 10 * MILLISECOND);
    let mut duo = Duo::connected(1, &[link(20, 10, 0.0), link(20, 150, 0.0)], config);
    duo.run_for(5 * SECOND);
    let [near, far] = [0, 1].map(|path| duo.path(Side::Client, path));
    assert!(near.srtt.is_some_and(|rtt| rtt < 25 * MILLISECOND), "{near:?}");
    assert!(far.srtt.is_some_and(|rtt| rtt > 300 * MILLISECOND), "{far:?}");
    assert!(near.rto < 100 * MILLISECOND && far.rto > 300 * MILLISECOND);
}

/// On a steady path RTTVAR went to nothing, and a delayed SACK came after the timeout.
#[test]
fn regression_a_delayed_sack_on_a_steady_long_path_looked_like_a_loss() {
    let mut duo = Duo::connected(1, &[link(50, 100, 0.0)], AssociationConfig::media());
    for number in 0..500 {
        duo.send(Side::Client, numbered(0, number, 500));
        duo.send(Side::Client, numbered(0, number, 2_000));
        duo.run_for(10 * MILLISECOND);
    }
    for number in 0..20 {
        duo.run_for(290 * MILLISECOND);
        duo.send(Side::Client, numbered(0, number, 500));
    }
    duo.run_for(SECOND);
    let path = duo.path(Side::Client, 0);
    assert_eq!(path.counters.timeouts, 0, "rto {:?}, rttvar {:?}", path.rto, path.rttvar);
}

/// A chunk that had been sent on both paths was acknowledged, and the dead one counted as alive.
#[test]
fn regression_an_ambiguous_acknowledgement_revived_a_path() {
    let mut peer = RawPeer::facing_listener(default());
    let mut parameters = Vec::new();
    Parameter::Ipv4Address([10, 0, 0, 1].into()).encode(&mut parameters);
    Parameter::Ipv4Address([10, 0, 0, 3].into()).encode(&mut parameters);
    peer.call(&parameters);
    peer.run_for(MILLISECOND);
    let other = tuple("10.0.0.2:9899", "10.0.0.3:9899");
    answer_heartbeats_of(&mut peer, other);
    assert_eq!(peer.stats().paths[1].state, PathState::Active);
    peer.send(numbered(0, 0, 100));
    // Lost on path 0, then on path 1, then sent on path 0 again.
    peer.run_for(Duration::from_millis(4_100));
    let states: Vec<_> = peer.stats().paths.iter().map(|path| path.state).collect();
    assert_eq!(states, [PathState::PotentiallyFailed; 2]);
    peer.acknowledge(1, &[], 100_000);
    let states: Vec<_> = peer.stats().paths.iter().map(|path| path.state).collect();
    assert_eq!(states, [PathState::PotentiallyFailed; 2], "either of them may be dead");
    peer.send(numbered(0, 1, 100));
    peer.acknowledge(2, &[], 100_000);
    let active = peer.stats().paths.iter().filter(|p| p.state == PathState::Active).count();
    assert_eq!(active, 1, "what was sent once proves its path");
}

fn answer_heartbeats_of(peer: &mut RawPeer, path: anabranch_sansio::FourTuple) {
    let sent = peer.take();
    for sent in sent.iter().filter(|sent| sent.path == path) {
        for chunk in sent.chunks() {
            if let Chunk::Heartbeat(heartbeat) = chunk {
                let ack = HeartbeatAck { info: heartbeat.info };
                peer.deliver_as(path, peer.tag, &[Chunk::HeartbeatAck(ack)]);
            }
        }
    }
}

#[test]
fn a_lost_sack_costs_nothing_while_others_follow() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    let mut number = 0;
    lose(&mut duo, move |side, sent| {
        number += u32::from(side == Side::Server && sent.has(ChunkType::SACK));
        side == Side::Server && number % 2 == 0
    });
    (0..200).for_each(|number| duo.send(Side::Client, numbered(0, number, FULL)));
    duo.run_for(10 * SECOND);
    assert_eq!(duo.numbers(Side::Server).len(), 200);
    assert_eq!(duo.stats(Side::Client).streams.chunks_retransmitted, 0);
}
