//! Several paths carry data at the same time.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, QueueLimit};
use anabranch_sansio::Rate;
use anabranch_sctp::{
    AssociationConfig, CongestionControl, OutgoingMessage, PathId, PathPreference,
    PathSchedulerKind, RetransmissionPolicy,
};

use crate::harness::{Duo, Side, numbered};

/// A link by rate and round-trip time with a drop-tail queue of one bandwidth-delay product.
fn bdp_link(mbps: u64, rtt_ms: u64) -> LinkConfig {
    let rate = Rate::mbps(mbps);
    let rtt = Duration::from_millis(rtt_ms);
    LinkConfig {
        rate: Some(rate),
        delay: rtt / 2,
        queue: QueueLimit::lasting(rtt, rate),
        ..LinkConfig::default()
    }
}

fn concurrent(path_scheduler: PathSchedulerKind) -> AssociationConfig {
    AssociationConfig {
        path_scheduler,
        receive_buffer: 4 << 20,
        send_buffer: 4 << 20,
        path_mtu: 1_500,
        max_burst: None,
        ..AssociationConfig::default()
    }
}

/// Payload in Mbit/s that arrives while the sender always has more, after two seconds of start.
fn goodput_mbps(links: &[LinkConfig], config: AssociationConfig, seconds: u64) -> f64 {
    let mut duo = Duo::connected(1, links, config);
    duo.saturate(Side::Client, 10_000, Duration::from_secs(2));
    let before = duo.stats(Side::Server).bytes_received;
    duo.saturate(Side::Client, 10_000, Duration::from_secs(seconds));
    let received = duo.stats(Side::Server).bytes_received - before;
    received as f64 * 8.0 / seconds as f64 / 1e6
}

const CONCURRENT: [PathSchedulerKind; 3] = [
    PathSchedulerKind::AsWindowAllows,
    PathSchedulerKind::LowestRtt,
    PathSchedulerKind::EarliestDelivery,
];

#[test]
fn two_equal_paths_are_both_filled() {
    for kind in CONCURRENT {
        let goodput = goodput_mbps(&[bdp_link(50, 50), bdp_link(50, 50)], concurrent(kind), 4);
        assert!(goodput > 93.0, "{kind:?}: {goodput:.1} of 100 Mbit/s");
    }
}

#[test]
fn a_slow_path_with_a_long_round_trip_adds_what_it_carries() {
    for kind in CONCURRENT {
        let goodput = goodput_mbps(&[bdp_link(50, 20), bdp_link(10, 200)], concurrent(kind), 6);
        assert!(goodput > 56.0, "{kind:?}: {goodput:.1} of 60 Mbit/s");
    }
}

/// The fast path alone brings 47 Mbit/s. While one packet comes in over the slow path, it would
/// fill the peer's buffer several times.
#[test]
fn with_a_small_receive_buffer_two_paths_are_not_slower_than_the_better_one() {
    let links = [bdp_link(50, 20), bdp_link(10, 200)];
    let goodput = |kind| {
        let config = AssociationConfig { receive_buffer: 300_000, ..concurrent(kind) };
        goodput_mbps(&links, config, 6)
    };
    let alone = goodput(PathSchedulerKind::Primary);
    let together = goodput(PathSchedulerKind::EarliestDelivery);
    assert!(together > 0.99 * alone, "{together:.1} Mbit/s, {alone:.1} over the better path alone");
    let blocked = goodput(PathSchedulerKind::AsWindowAllows);
    assert!(blocked < 0.7 * alone, "{blocked:.1} Mbit/s: the buffer matters here");
}

#[test]
fn a_path_fills_its_share_of_the_peers_buffer_and_no_more() {
    let most_in_flight = |buffer_splitting| {
        let config = AssociationConfig {
            receive_buffer: 80_000,
            message_size_max: 10_000,
            buffer_splitting,
            congestion_control: CongestionControl::Fixed { window: 60_000 },
            ..concurrent(PathSchedulerKind::LowestRtt)
        };
        let mut duo = Duo::connected(1, &[bdp_link(50, 20), bdp_link(50, 40)], config);
        duo.run_for(Duration::from_secs(1));
        (0..20).for_each(|number| duo.send(Side::Client, numbered(0, number, 10_000)));
        duo.path(Side::Client, 0).in_flight
    };
    // The packet that reaches the limit, and the headers of the chunks.
    let (half, above) = (40_000, 2_000);
    let most = most_in_flight(true);
    assert!(most < half + above, "{most} bytes");
    assert!(most_in_flight(false) >= 60_000, "the window alone allows more");
}

#[test]
fn fragments_of_one_message_take_several_paths_and_meet_again() {
    for kind in CONCURRENT {
        let config = concurrent(kind);
        let mut duo = Duo::connected(1, &[bdp_link(5, 50), bdp_link(5, 50)], config);
        duo.run_for(Duration::from_secs(1));
        duo.send(Side::Client, numbered(0, 7, 200_000));
        duo.run_for(Duration::from_secs(1));
        assert_eq!(duo.numbers(Side::Server), [7], "{kind:?}");
        let sent = [0, 1].map(|path| duo.path(Side::Client, path).counters.chunks_sent);
        assert!(sent.iter().all(|chunks| *chunks > 40), "{kind:?}: {sent:?} of 141 chunks");
    }
}

#[test]
fn a_message_takes_the_path_that_it_prefers_whatever_the_scheduler_says() {
    for kind in CONCURRENT {
        let mut duo = Duo::connected(1, &[bdp_link(50, 20), bdp_link(10, 200)], concurrent(kind));
        duo.run_for(Duration::from_secs(1));
        let before = duo.path(Side::Client, 0).counters.chunks_sent;
        let path = PathPreference::Prefer(PathId(1));
        for number in 0..50 {
            duo.send(Side::Client, OutgoingMessage { path, ..numbered(0, number, 1_000) });
        }
        duo.run_for(Duration::from_secs(2));
        assert_eq!(duo.numbers(Side::Server), (0..50).collect::<Vec<_>>());
        assert_eq!(duo.path(Side::Client, 0).counters.chunks_sent, before, "{kind:?}");
    }
}

/// Live media far below what the fast path carries, in frames that its pace takes a moment for.
#[test]
fn earliest_delivery_leaves_a_slow_path_alone_while_the_fast_one_has_room() {
    let config =
        AssociationConfig { pacing: true, ..concurrent(PathSchedulerKind::EarliestDelivery) };
    let mut duo = Duo::connected(1, &[bdp_link(50, 20), bdp_link(10, 200)], config);
    duo.run_for(Duration::from_secs(1));
    for number in 0..50 {
        let sent = duo.now();
        duo.send(Side::Client, numbered(0, number, 30_000));
        duo.run_until(Duration::from_secs(1), |duo| {
            duo.messages(Side::Server).len() > number as usize
        });
        let took = duo.now() - sent;
        assert!(took < Duration::from_millis(90), "frame {number} took {took:?}");
        duo.run_for(Duration::from_millis(40));
    }
    assert_eq!(duo.path(Side::Client, 1).counters.chunks_sent, 0);
}

#[test]
fn what_is_lost_on_a_slow_path_goes_over_the_one_where_it_arrives_first() {
    let repaired_after = |retransmission_policy| {
        let config = AssociationConfig {
            retransmission_policy,
            ..concurrent(PathSchedulerKind::EarliestDelivery)
        };
        let mut duo = Duo::connected(1, &[bdp_link(50, 20), bdp_link(10, 200)], config);
        duo.run_for(Duration::from_secs(1));
        let path = PathPreference::Prefer(PathId(1));
        duo.pair.cut(1);
        duo.send(Side::Client, OutgoingMessage { path, ..numbered(0, 0, 1_000) });
        duo.pair.restore(1);
        let sent = duo.now();
        for number in 1..6 {
            duo.send(Side::Client, OutgoingMessage { path, ..numbered(1, number, 1_000) });
        }
        duo.run_until(Duration::from_secs(5), |duo| duo.numbers(Side::Server).contains(&0));
        duo.now() - sent
    };
    let earliest = repaired_after(RetransmissionPolicy::Earliest);
    let same = repaired_after(RetransmissionPolicy::Same);
    assert!(earliest < Duration::from_millis(220), "after {earliest:?}");
    assert!(same > Duration::from_millis(290), "after {same:?}");
}
