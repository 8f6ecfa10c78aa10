//! Several paths carry data at the same time.

use std::ops::Range;
use std::time::Duration;

use anabranch_netsim::{LinkConfig, QueueLimit};
use anabranch_sansio::Rate;
use anabranch_sctp::{
    AssociationConfig, CongestionControl, Event, LossDetection, OutgoingMessage, PathId,
    PathPreference, PathReport, PathSchedulerKind, PathState, Reliability, RetransmissionPolicy,
};

use crate::harness::{Duo, Side, link, numbered};

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
    AssociationConfig::default().with(|config| {
        config.paths.path_scheduler = path_scheduler;
        config.buffers.receive_buffer = 4 << 20;
        config.buffers.send_buffer = 4 << 20;
        config.paths.path_mtu = 1_500;
        config.window.max_burst = None;
    })
}

/// With what keeps paths full in practice.
fn filling(path_scheduler: PathSchedulerKind) -> AssociationConfig {
    concurrent(path_scheduler).with(|config| {
        config.window.congestion_control = CongestionControl::Media;
        config.recovery.loss_detection = LossDetection::InTime;
    })
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
        let goodput = goodput_mbps(&[bdp_link(50, 50), bdp_link(50, 50)], filling(kind), 4);
        assert!(goodput > 94.0, "{kind:?}: {goodput:.1} of 100 Mbit/s");
    }
}

#[test]
fn a_slow_path_with_a_long_round_trip_adds_what_it_carries() {
    for kind in CONCURRENT {
        let goodput = goodput_mbps(&[bdp_link(50, 20), bdp_link(10, 200)], filling(kind), 6);
        assert!(goodput > 56.0, "{kind:?}: {goodput:.1} of 60 Mbit/s");
    }
}

/// The fast path alone brings 47 Mbit/s. While one packet comes in over the slow path, it would
/// fill the peer's buffer several times.
#[test]
fn with_a_small_receive_buffer_two_paths_are_not_slower_than_the_better_one() {
    let links = [bdp_link(50, 20), bdp_link(10, 200)];
    let goodput = |kind| {
        let config = concurrent(kind).with(|config| config.buffers.receive_buffer = 300_000);
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
        let config = concurrent(PathSchedulerKind::LowestRtt).with(|config| {
            config.buffers.receive_buffer = 80_000;
            config.buffers.message_size_max = 10_000;
            config.paths.buffer_splitting = buffer_splitting;
            config.window.congestion_control = CongestionControl::Fixed { window: 60_000 };
        });
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
        concurrent(PathSchedulerKind::EarliestDelivery).with(|config| config.window.pacing = true);
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
        let config = concurrent(PathSchedulerKind::EarliestDelivery)
            .with(|config| config.recovery.retransmission_policy = retransmission_policy);
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

/// 10 Mbit/s of media in messages that live 200 ms, a frame every 20 ms; returns the longest time
/// without an arrival.
fn stream_media(duo: &mut Duo, numbers: Range<u32>) -> Duration {
    let (mut longest, mut last) = (Duration::ZERO, duo.now());
    let reliability = Reliability::Lifetime(Duration::from_millis(200));
    for number in numbers {
        duo.send(Side::Client, OutgoingMessage { reliability, ..numbered(0, number, 25_000) });
        let end = duo.now() + Duration::from_millis(20);
        while duo.now() < end {
            let before = duo.messages(Side::Server).len();
            duo.run_until(end - duo.now(), |duo| duo.messages(Side::Server).len() > before);
            if duo.messages(Side::Server).len() > before {
                longest = longest.max(duo.now() - last);
                last = duo.now();
            }
        }
    }
    longest
}

fn balanced_media() -> AssociationConfig {
    AssociationConfig::media().with(|config| {
        config.paths.path_scheduler = PathSchedulerKind::EarliestDelivery;
        config.recovery.retransmission_policy = RetransmissionPolicy::Earliest;
    })
}

#[test]
fn media_survives_the_death_of_a_path_without_a_loss_and_uses_it_again_when_it_is_back() {
    for dies in [0, 1] {
        let mut duo = Duo::connected(1, &[link(15, 10, 0.0), link(15, 10, 0.0)], balanced_media());
        duo.run_for(Duration::from_secs(1));
        stream_media(&mut duo, 0..100);
        let used = [0, 1].map(|path| duo.path(Side::Client, path).counters.chunks_sent);
        assert!(used.iter().all(|chunks| *chunks > 100), "both carry data: {used:?}");
        duo.pair.cut(dies);
        let gap = stream_media(&mut duo, 100..200);
        duo.run_for(Duration::from_secs(1));
        assert_eq!(duo.numbers(Side::Server), (0..200).collect::<Vec<_>>(), "path {dies}");
        assert!(gap < Duration::from_millis(100), "path {dies}: a gap of {gap:?}");
        duo.pair.restore(dies);
        stream_media(&mut duo, 200..300);
        // More at once than the other path takes.
        let before = duo.path(Side::Client, dies).counters.chunks_sent;
        (300..310).for_each(|number| duo.send(Side::Client, numbered(0, number, 25_000)));
        assert!(duo.path(Side::Client, dies).counters.chunks_sent > before, "after two seconds");
        duo.run_for(Duration::from_secs(1));
        assert_eq!(duo.numbers(Side::Server), (0..310).collect::<Vec<_>>());
    }
}

#[test]
fn a_path_that_dies_costs_a_tenth_more_bytes_at_most() {
    for dies in [0, 1] {
        let bytes_sent = |cut: bool| {
            let links = [link(15, 10, 0.0), link(15, 10, 0.0)];
            let mut duo = Duo::connected(1, &links, balanced_media());
            duo.run_for(Duration::from_secs(1));
            stream_media(&mut duo, 0..100);
            if cut {
                duo.pair.cut(dies);
            }
            stream_media(&mut duo, 100..300);
            duo.run_for(Duration::from_secs(1));
            assert_eq!(duo.messages(Side::Server).len(), 300, "nothing is lost");
            [0, 1].map(|path| duo.path(Side::Client, path).counters.bytes_sent).iter().sum::<u64>()
        };
        let (with, without) = (bytes_sent(true), bytes_sent(false));
        assert!(10 * with <= 11 * without, "path {dies}: {with} bytes instead of {without}");
    }
}

#[test]
fn a_clean_minute_over_two_paths_shows_no_failover_and_repeats_nothing() {
    let mut duo = Duo::connected(1, &[link(15, 10, 0.0), link(15, 10, 0.0)], balanced_media());
    duo.run_for(Duration::from_secs(1));
    stream_media(&mut duo, 0..3_000);
    for index in [0, 1] {
        let PathReport { state, counters, .. } = duo.path(Side::Client, index);
        let spurious = counters.spurious_retransmissions + counters.chunks_retransmitted;
        assert_eq!((state, spurious, counters.timeouts), (PathState::Active, 0, 0), "{index}");
        assert!(counters.chunks_sent > 1_000, "path {index} carries data");
    }
    let fails = |event: &&Event| matches!(event, Event::PathStateChanged { .. });
    assert_eq!(duo.events(Side::Client).iter().filter(fails).count(), 0);
}

#[test]
fn a_path_that_fell_silent_gets_no_new_data_before_it_answers() {
    let mut duo = Duo::connected(1, &[link(15, 10, 0.0), link(15, 10, 0.0)], balanced_media());
    duo.run_for(Duration::from_secs(1));
    stream_media(&mut duo, 0..50);
    duo.pair.cut(1);
    let probes = |duo: &Duo| duo.path(Side::Client, 1).counters.probes_sent;
    let before = probes(&duo);
    let path = PathPreference::Prefer(PathId(1));
    duo.send(Side::Client, OutgoingMessage { path, ..numbered(0, 50, 1_000) });
    duo.run_until(Duration::from_secs(1), |duo| probes(duo) > before);
    let silent = duo.path(Side::Client, 1);
    assert_eq!(silent.state, PathState::Active, "the answer may still come");
    (51..90).for_each(|number| duo.send(Side::Client, numbered(0, number, 25_000)));
    assert_eq!(duo.path(Side::Client, 1).counters.chunks_sent, silent.counters.chunks_sent);
}

#[test]
fn all_that_went_to_a_dead_path_is_sent_again_at_once() {
    let mut duo = Duo::connected(1, &[link(15, 10, 0.0), link(15, 10, 0.0)], balanced_media());
    duo.run_for(Duration::from_secs(1));
    stream_media(&mut duo, 0..100);
    let start = duo.now();
    duo.pair.cut(1);
    stream_media(&mut duo, 100..104);
    duo.run_until(Duration::from_secs(1), |duo| duo.numbers(Side::Server).contains(&103));
    let took = duo.now() - start;
    assert!(took < Duration::from_millis(100), "a second timeout was waited for: {took:?}");
}

#[test]
fn a_path_that_is_back_is_active_within_two_seconds() {
    for cut_ms in (3_000..6_000).step_by(250) {
        let mut duo = Duo::connected(1, &[link(15, 10, 0.0), link(15, 10, 0.0)], balanced_media());
        duo.run_for(Duration::from_secs(1));
        duo.pair.cut(1);
        duo.run_for(Duration::from_millis(cut_ms));
        assert_ne!(duo.path(Side::Client, 1).state, PathState::Active);
        duo.pair.restore(1);
        let is_active = |duo: &Duo| duo.path(Side::Client, 1).state == PathState::Active;
        assert!(duo.run_until(Duration::from_secs(2), is_active), "after {cut_ms} ms");
    }
}

#[test]
fn a_path_that_was_never_measured_gets_no_data_where_another_one_was() {
    for kind in CONCURRENT {
        let mut duo = Duo::connected(1, &[bdp_link(50, 20), bdp_link(10, 200)], filling(kind));
        assert_eq!(duo.path(Side::Client, 1).srtt, None, "its heartbeat is under way");
        (0..20).for_each(|number| duo.send(Side::Client, numbered(0, number, 5_000)));
        duo.run_for(Duration::from_millis(100));
        assert_eq!(duo.path(Side::Client, 1).counters.chunks_sent, 0, "{kind:?}");
        duo.saturate(Side::Client, 5_000, Duration::from_secs(2));
        assert!(duo.path(Side::Client, 1).counters.chunks_sent > 0, "{kind:?}");
    }
}
