//! Probes of a silent path (RFC 8985 section 7), and a path that dies.

use std::time::Duration;

use anabranch_sctp::{
    AssociationConfig, CongestionControl, LossDetection, PathSchedulerKind, PathState,
};
use anabranch_wire::ChunkType;

use crate::harness::{Duo, Side, good_link, link, number_of, numbered};
use crate::packets::{Wiretap, lose_first};
use crate::raw_peer::{RawPeer, WINDOW};

const MILLISECOND: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(20);

/// The SACK delay of the media configuration.
const SACK_DELAY: Duration = Duration::from_millis(20);

const FULL: usize = 1_324;

fn media() -> AssociationConfig {
    // A controller that answers every loss shows what it was told.
    let congestion_control = CongestionControl::LargeInitialWindow;
    AssociationConfig::media().with(|config| config.window.congestion_control = congestion_control)
}

#[test]
fn a_lone_chunk_is_probed_after_two_round_trips_and_a_sack_delay() {
    let mut peer = RawPeer::at_distance(media(), RTT);
    peer.send(numbered(0, 0, FULL));
    peer.take();
    peer.run_for(2 * RTT + SACK_DELAY - MILLISECOND);
    assert!(peer.take_numbers().is_empty());
    peer.run_for(MILLISECOND);
    let sent = peer.take();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].data()[0].immediate, "its answer is wanted at once");
    assert_eq!(peer.stats().paths[0].counters.probes_sent, 1);
    assert_eq!(peer.stats().paths[0].counters.timeouts, 0);
}

#[test]
fn a_burst_is_probed_two_round_trips_after_its_last_packet_with_that_packet() {
    let mut peer = RawPeer::at_distance(media(), RTT);
    (0..4).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.take();
    peer.run_for(2 * RTT - MILLISECOND);
    assert!(peer.take_numbers().is_empty());
    peer.run_for(MILLISECOND);
    assert_eq!(peer.take_numbers(), [[4]]);
    peer.run_for(RTT);
    peer.acknowledge(0, &[(4, 4)], WINDOW);
    assert_eq!(peer.take_numbers(), [[1], [2], [3]], "they were sent before the probe");
    assert_eq!(peer.stats().paths[0].counters.timeouts, 0);
}

#[test]
fn new_data_serves_as_the_probe_whatever_the_window_says() {
    let config = media().with(|config| {
        config.window.congestion_control = CongestionControl::Fixed { window: 2 * FULL }
    });
    let mut peer = RawPeer::at_distance(config, RTT);
    (0..5).for_each(|number| peer.send(numbered(0, number, FULL)));
    assert_eq!(peer.take_numbers(), [[1], [2]], "the window is full");
    peer.run_for(2 * RTT);
    let sent = peer.take();
    let numbers: Vec<_> = sent.iter().flat_map(crate::packets::Sent::data).collect();
    assert_eq!((numbers.len(), numbers[0].tsn), (1, peer.tsn_of(3)));
    assert!(numbers[0].immediate);
}

#[test]
fn a_probe_that_is_not_answered_is_followed_by_the_timeout_and_no_further_probe() {
    let mut peer = RawPeer::at_distance(media(), RTT);
    (0..2).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.take();
    peer.run_for(2 * RTT);
    let rto = peer.stats().paths[0].rto;
    assert_eq!(peer.take_numbers(), [[2]]);
    peer.run_for(rto - MILLISECOND);
    assert!(peer.take_numbers().is_empty());
    peer.run_for(MILLISECOND);
    assert_eq!(peer.take_numbers(), [[1]]);
    let counters = peer.stats().paths[0].counters;
    assert_eq!((counters.probes_sent, counters.timeouts), (1, 1));
    peer.run_for(8 * rto);
    assert_eq!(peer.stats().paths[0].counters.probes_sent, 1, "no round trip was measured since");
}

#[test]
fn a_timeout_leaves_in_flight_what_was_sent_a_moment_ago_and_sends_the_oldest_again() {
    let mut peer = RawPeer::at_distance(media(), RTT);
    peer.send(numbered(0, 0, FULL));
    peer.run_for(2 * RTT + SACK_DELAY);
    assert_eq!(peer.take_numbers(), [[1], [1]], "the chunk and the probe");
    peer.run_for(90 * MILLISECOND);
    peer.send(numbered(0, 1, FULL));
    peer.take();
    peer.run_for(10 * MILLISECOND);
    assert_eq!(peer.stats().paths[0].counters.timeouts, 1);
    assert_eq!(peer.take_numbers(), [[1]]);
    assert_eq!(peer.stats().in_flight, 2 * (FULL + 16));
}

#[test]
fn answers_put_the_probe_off() {
    let mut peer = RawPeer::at_distance(media(), RTT);
    for number in 1..=100 {
        peer.send(numbered(0, 0, FULL));
        peer.run_for(RTT / 2);
        if number > 1 {
            peer.acknowledge(number - 1, &[], WINDOW);
        }
    }
    assert_eq!(peer.stats().paths[0].counters.probes_sent, 0);
}

#[test]
fn a_closed_receive_window_is_probed_by_t3_alone() {
    let mut peer = RawPeer::at_distance(media(), RTT);
    peer.send(numbered(0, 0, FULL));
    peer.run_for(RTT);
    peer.acknowledge(1, &[], 0);
    peer.send(numbered(0, 1, FULL));
    peer.run_for(Duration::from_secs(1));
    assert_eq!(peer.stats().paths[0].counters.probes_sent, 0);
}

#[test]
fn a_loss_that_the_probe_repaired_counts_as_one() {
    let mut peer = RawPeer::at_distance(media(), RTT);
    peer.send(numbered(0, 0, FULL));
    peer.run_for(2 * RTT + SACK_DELAY);
    let before = peer.stats().paths[0].window;
    peer.run_for(RTT);
    peer.acknowledge(1, &[], WINDOW);
    assert_eq!(peer.stats().fast_recoveries, 1);
    assert!(peer.stats().paths[0].window < before);
}

#[test]
fn a_duplicate_shows_that_the_probe_had_nothing_to_repair() {
    let probed = || {
        let mut peer = RawPeer::at_distance(media(), RTT);
        peer.send(numbered(0, 0, FULL));
        peer.run_for(3 * RTT + SACK_DELAY);
        peer
    };
    let mut peer = probed();
    let before = peer.stats().paths[0].window;
    peer.acknowledge_with(1, &[], &[1], WINDOW);
    let stats = peer.stats();
    assert_eq!((stats.fast_recoveries, stats.paths[0].counters.spurious_retransmissions), (0, 1));
    let mut peer = probed();
    peer.acknowledge(1, &[], WINDOW);
    peer.acknowledge_with(1, &[], &[1], WINDOW);
    let path = peer.stats().paths[0].clone();
    assert_eq!((path.counters.reductions_undone, path.window >= before), (1, true), "later");
}

/// Ten packets of which the last two are lost: how long until all have arrived.
fn time_with_lost_tail(detection: LossDetection, spaced_sacks: bool) -> Duration {
    let config = media().with(|config| {
        config.recovery.loss_detection = detection;
        config.extensions.spaced_sacks = spaced_sacks;
    });
    let mut duo = Duo::connected(1, &[link(100, 25, 0.0)], config);
    for number in 0..100 {
        duo.send(Side::Client, numbered(0, number, FULL));
        duo.run_for(10 * MILLISECOND);
    }
    duo.run_for(Duration::from_secs(1));
    let mut packets = 0;
    crate::packets::lose(&mut duo, move |side, sent| {
        packets += u32::from(side == Side::Client && sent.has(ChunkType::DATA));
        side == Side::Client && (9..=10).contains(&packets)
    });
    let start = duo.now();
    (100..110).for_each(|number| duo.send(Side::Client, numbered(0, number, FULL)));
    duo.run_until(Duration::from_secs(5), |duo| duo.messages(Side::Server).len() == 110);
    duo.now() - start
}

#[test]
fn a_lost_tail_is_repaired_by_a_probe_after_two_round_trips() {
    // The probe arrives half a round trip later, and its answer makes the other chunk go out.
    let took = time_with_lost_tail(LossDetection::InTime, false);
    assert!(took < Duration::from_millis(2 * 50 + 75 + 5), "{took:?}");
    let spaced = time_with_lost_tail(LossDetection::InTime, true);
    assert!(spaced < took + Duration::from_millis(2 * 10), "{spaced:?}, not {took:?}");
}

#[test]
fn with_another_path_the_overdue_goes_there_and_a_heartbeat_asks_the_silent_one() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], media());
    for number in 0..50 {
        duo.send(Side::Client, numbered(0, number, 1_000));
        duo.run_for(10 * MILLISECOND);
    }
    duo.run_for(Duration::from_secs(1));
    let tap = Wiretap::on(&mut duo);
    lose_first(&mut duo, Side::Client, ChunkType::DATA, 1);
    let start = duo.now();
    duo.send(Side::Client, numbered(0, 50, 1_000));
    duo.run_for(90 * MILLISECOND);
    let paths = [0, 1].map(|path| duo.pair.paths()[path].addresses);
    let data = tap.of(Side::Client, ChunkType::DATA);
    assert_eq!(data.iter().map(|sent| sent.path).collect::<Vec<_>>(), paths);
    // SRTT counts with SACKs that were delayed by 10 ms.
    let took = data[1].at - start;
    assert!(took < 4 * RTT, "{took:?}");
    let asked = tap.of(Side::Client, ChunkType::HEARTBEAT);
    assert!(asked.iter().any(|sent| sent.path == paths[0] && sent.at == data[1].at));
    assert_eq!(duo.path(Side::Client, 0).state, PathState::Active, "it answered");
    assert!(duo.path(Side::Client, 0).is_current);
}

#[test]
fn a_silent_path_that_does_not_answer_its_heartbeat_failed_long_before_a_timeout() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], media());
    for number in 0..50 {
        duo.send(Side::Client, numbered(0, number, 1_000));
        duo.run_for(10 * MILLISECOND);
    }
    duo.run_for(Duration::from_secs(1));
    duo.pair.cut(0);
    duo.send(Side::Client, numbered(0, 50, 1_000));
    // The probe goes out after two round trips, the verdict falls after the usual time for a SACK;
    // an RTO instead would make it 170 ms.
    duo.run_for(140 * MILLISECOND);
    assert_eq!(duo.path(Side::Client, 0).state, PathState::PotentiallyFailed);
    assert!(duo.path(Side::Client, 1).is_current);
    assert_eq!(duo.messages(Side::Server).len(), 51);
}

/// A message every 5 ms over two paths with an RTT of 20 ms, until the first is cut after `phase`.
/// Returns the longest time without an arrival, and the longest that a message took.
fn cut_primary(phase: Duration, len: usize) -> (Duration, Duration) {
    let links = [good_link(), good_link()];
    let mut duo = Duo::connected(3, &links, media());
    let period = 5 * MILLISECOND;
    let start = duo.now();
    for number in 0..600 {
        duo.send(Side::Client, numbered(0, number, len));
        if number == 300 {
            duo.run_for(phase);
            duo.pair.cut(0);
            duo.run_for(period - phase);
        } else {
            duo.run_for(period);
        }
    }
    duo.run_for(Duration::from_secs(1));
    let messages = duo.messages(Side::Server);
    assert_eq!(messages.len(), 600, "nothing is lost");
    let arrivals: Vec<_> = messages.iter().map(|message| message.completed_at).collect();
    let gap = arrivals.windows(2).map(|pair| pair[1] - pair[0]).max();
    let took = messages.iter().map(|m| m.completed_at - (start + number_of(m) * period)).max();
    (gap.expect("several"), took.expect("several"))
}

#[test]
fn a_path_that_dies_costs_a_gap_of_a_tenth_of_a_second_and_nothing_comes_later_than_200_ms() {
    for phase in 0..5 {
        for len in [200, 3_000] {
            let (gap, took) = cut_primary(phase * MILLISECOND, len);
            assert!(gap <= 100 * MILLISECOND, "phase {phase}, {len} bytes: a gap of {gap:?}");
            assert!(took <= 200 * MILLISECOND, "phase {phase}, {len} bytes: {took:?}");
        }
    }
}

/// Pictures of ten packets, 25 in a second, over two paths with this RTT, until one is cut at a
/// moment of its own for each seed. Returns the longest that a packet of them took.
fn cut_one_of_two(seed: u64, rtt: Duration) -> Duration {
    const PICTURE: Duration = Duration::from_millis(40);
    let one_way = u64::try_from(rtt.as_millis()).expect("a short time") / 2;
    let links = [link(50, one_way, 0.0), link(50, one_way, 0.0)];
    let config = media().with(|config| {
        config.paths.path_scheduler = PathSchedulerKind::EarliestDelivery;
    });
    let mut duo = Duo::connected(seed, &links, config);
    let start = duo.now();
    for picture in 0..100 {
        for packet in 0..10 {
            duo.send(Side::Client, numbered(0, 10 * picture + packet, 1_200));
        }
        duo.run_for(PICTURE / 2);
        if picture == 50 {
            let phase = seed as u32 % 20 * MILLISECOND;
            duo.run_for(phase);
            duo.pair.cut(seed as usize % 2);
            duo.run_for(PICTURE / 2 - phase);
        } else {
            duo.run_for(PICTURE / 2);
        }
    }
    duo.run_for(Duration::from_secs(1));
    let left = 1 - seed as usize % 2;
    assert_eq!(duo.path(Side::Client, left).counters.chunks_lost, 0, "the other path lost nothing");
    let messages = duo.messages(Side::Server);
    assert_eq!(messages.len(), 1_000, "nothing is lost");
    let took = messages.iter().map(|m| m.completed_at - (start + number_of(m) / 10 * PICTURE));
    took.max().expect("several")
}

#[test]
fn of_two_paths_that_share_a_stream_one_that_dies_costs_a_round_trip_and_a_half() {
    for seed in 0..40 {
        for rtt in [20, 50, 100].map(Duration::from_millis) {
            let took = cut_one_of_two(seed, rtt);
            // One way over the path that is left, and what the SACK may be delayed and spaced; and
            // the time that all of the flight takes at its pace.
            let most = 3 * rtt / 2 + Duration::from_millis(60);
            assert!(took <= most, "seed {seed}, {rtt:?}: {took:?}");
        }
    }
}
