//! What goes out twice: messages over two paths, and the last chance of a lost chunk.

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_sctp::{
    AssociationConfig, CongestionControl, OutgoingMessage, PathId, PathPreference,
    PathSchedulerKind, PathState, Reliability,
};
use anabranch_wire::ChunkType;

use crate::harness::{Duo, Side, link, numbered};
use crate::packets::{Wiretap, lose_first};
use crate::raw_peer::{RawPeer, WINDOW};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const RTT: Duration = Duration::from_millis(80);

/// How long an acknowledgement takes at most on a steady path of this RTT: a delayed SACK's 20 ms
/// more.
const PATIENCE: Duration = Duration::from_millis(100);

/// Payload of a full packet.
const FULL: usize = 1_324;

fn living(lifetime: Duration, message: OutgoingMessage) -> OutgoingMessage {
    let reliability = Reliability::Lifetime(lifetime);
    OutgoingMessage { reliability, ordered: false, ..message }
}

/// A sender whose first of five packets was found lost and sent again after one round trip, `left`
/// before the lifetime ends.
fn repairing(left: Duration) -> RawPeer {
    repairing_with(CongestionControl::LargeInitialWindow, left)
}

fn repairing_with(congestion_control: CongestionControl, left: Duration) -> RawPeer {
    let config = AssociationConfig::media()
        .with(|config| config.window.congestion_control = congestion_control);
    let mut peer = RawPeer::at_distance(config, RTT);
    (0..5).for_each(|number| peer.send(living(RTT + left, numbered(0, number, FULL))));
    peer.run_for(RTT);
    peer.take();
    peer.acknowledge(0, &[(2, 4)], WINDOW);
    assert_eq!(peer.take_numbers(), [[1]], "the repair");
    peer
}

#[test]
fn a_last_chance_goes_out_again_half_of_the_remaining_time_later() {
    let left = PATIENCE - 2 * MILLISECOND;
    let mut peer = repairing(left);
    peer.run_for(left / 2 - MILLISECOND);
    assert!(peer.take_numbers().is_empty(), "a burst of losses would take both");
    peer.run_for(MILLISECOND);
    assert_eq!(peer.take_numbers(), [[1]]);
    let streams = peer.stats().streams;
    assert_eq!((streams.chunks_retransmitted, streams.chunks_copied), (1, 1));
    assert_eq!(streams.bytes_copied, FULL as u64);
    assert_eq!(peer.stats().paths[0].counters.chunks_copied, 1);
}

#[test]
fn a_repair_whose_loss_would_be_noticed_in_time_goes_out_once() {
    let mut peer = repairing(PATIENCE + MILLISECOND);
    peer.run_for(PATIENCE);
    assert_eq!(peer.stats().streams.chunks_copied, 0);
}

#[test]
fn a_copy_that_waits_is_not_sent_after_the_acknowledgement() {
    let mut peer = repairing(PATIENCE / 2);
    peer.run_for(10 * MILLISECOND);
    peer.acknowledge(5, &[], WINDOW);
    peer.run_for(SECOND);
    assert_eq!(peer.stats().streams.chunks_copied, 0);
}

#[test]
fn the_duplicate_that_the_second_copy_makes_is_no_spurious_retransmission() {
    let mut peer = repairing(PATIENCE / 2);
    peer.run_for(PATIENCE / 4);
    assert_eq!(peer.take_numbers(), [[1]]);
    assert_eq!(peer.stats().in_flight, 3 * (FULL + 16), "the fifth chunk, and twice the first");
    peer.run_for(RTT - PATIENCE / 4);
    peer.acknowledge(5, &[], WINDOW);
    assert_eq!(peer.stats().in_flight, FULL + 16, "the second copy may be on its way");
    let window = peer.stats().paths[0].window;
    peer.run_for(PATIENCE / 4);
    peer.acknowledge_with(5, &[], &[1], WINDOW);
    let path = peer.stats().paths[0].clone();
    assert_eq!((path.counters.spurious_retransmissions, path.counters.reductions_undone), (0, 0));
    assert_eq!((path.in_flight, path.counters.chunks_lost), (0, 1));
    assert!(path.window >= window, "it was no loss");
}

#[test]
fn a_second_copy_that_no_duplicate_tells_of_was_lost() {
    let mut peer = repairing(PATIENCE / 2);
    peer.run_for(PATIENCE / 4);
    peer.run_for(RTT - PATIENCE / 4);
    peer.acknowledge(5, &[], WINDOW);
    (5..9).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.run_for(RTT);
    peer.take();
    peer.acknowledge(9, &[], WINDOW);
    let stats = peer.stats();
    assert_eq!((stats.in_flight, stats.paths[0].counters.chunks_lost), (0, 2));
    assert!(peer.take_numbers().is_empty(), "the chunk has arrived");
}

/// 10 Mbit/s at 10 % of loss: in time came 99.1 % instead of 99.8.
#[test]
fn a_copy_that_may_yet_be_reported_holds_up_nothing_that_was_sent_after_it() {
    let mut peer = repairing_with(CongestionControl::Fixed { window: 100_000 }, PATIENCE / 2);
    peer.run_for(PATIENCE / 4);
    assert_eq!(peer.take_numbers(), [[1]], "the copy");
    (5..10).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.run_for(RTT - PATIENCE / 4);
    peer.take();
    peer.acknowledge(5, &[], WINDOW);
    peer.run_for(PATIENCE / 4);
    peer.acknowledge(5, &[(7, 10)], WINDOW);
    assert_eq!(peer.take_numbers(), [[6]], "at once");
    peer.run_for(RTT);
    assert_eq!(peer.stats().paths[0].counters.chunks_lost, 3, "and the copy in the end");
}

fn over_two_paths(path_scheduler: PathSchedulerKind) -> AssociationConfig {
    AssociationConfig::media().with(|config| config.paths.path_scheduler = path_scheduler)
}

#[test]
fn with_a_second_path_the_last_chance_takes_both_at_once() {
    let links = [link(20, 20, 0.0), link(20, 20, 0.0)];
    let mut duo = Duo::connected(1, &links, over_two_paths(PathSchedulerKind::Primary));
    duo.run_for(SECOND);
    let tap = Wiretap::on(&mut duo);
    lose_first(&mut duo, Side::Client, ChunkType::DATA, 1);
    for number in 0..20 {
        duo.send(Side::Client, living(100 * MILLISECOND, numbered(0, number, 1_000)));
        duo.run_for(2 * MILLISECOND);
    }
    duo.run_for(SECOND);
    let of_first: Vec<_> = tap
        .of(Side::Client, ChunkType::DATA)
        .iter()
        .filter(|sent| sent.data().iter().any(|data| data.payload[..4] == [0; 4]))
        .map(|sent| (sent.at, sent.path.local.ip()))
        .collect();
    let [first, again, copy] = of_first[..] else { panic!("{of_first:?}") };
    assert_eq!(again.0, copy.0, "at once");
    assert_eq!(again.1, first.1);
    assert_ne!(copy.1, first.1);
    assert_eq!(duo.numbers(Side::Server).len(), 20);
}

/// A message of 1,250 bytes each millisecond, 10 Mbit/s, that lives 100 ms; returns the longest
/// time without an arrival.
fn stream(duo: &mut Duo, messages: u32, path: PathPreference) -> Duration {
    let (mut longest, mut last) = (Duration::ZERO, duo.now());
    for number in 0..messages {
        let message = living(100 * MILLISECOND, numbered(0, number, 1_250));
        duo.send(Side::Client, OutgoingMessage { path, ..message });
        let before = duo.messages(Side::Server).len();
        duo.run_for(MILLISECOND);
        if duo.messages(Side::Server).len() > before {
            longest = longest.max(duo.now() - last);
            last = duo.now();
        }
    }
    longest
}

fn duplicated(links: &[LinkConfig]) -> Duo {
    let mut duo = Duo::connected(1, links, over_two_paths(PathSchedulerKind::Duplicate));
    duo.run_for(SECOND);
    stream(&mut duo, 500, PathPreference::Any);
    duo.run_for(SECOND);
    duo
}

#[test]
fn both_paths_carry_everything_and_each_message_arrives_once() {
    let mut duo = duplicated(&[link(15, 10, 0.0), link(15, 25, 0.0)]);
    let before = duo.stats(Side::Client);
    stream(&mut duo, 500, PathPreference::Any);
    duo.run_for(SECOND);
    assert_eq!(duo.messages(Side::Server).len(), 1_000);
    let stats = duo.stats(Side::Client);
    assert_eq!(stats.streams.chunks_copied - before.streams.chunks_copied, 500);
    assert_eq!((stats.in_flight, stats.streams.chunks_retransmitted), (0, 0));
    for (path, before) in stats.paths.iter().zip(&before.paths) {
        let counters = path.counters;
        assert_eq!(counters.bytes_acked - before.counters.bytes_acked, 500 * 1_268, "{path:?}");
        let wrong = (counters.chunks_lost, counters.timeouts, counters.spurious_retransmissions);
        assert_eq!(wrong, (0, 0, 0), "{path:?}");
    }
    let srtt = |path: usize| stats.paths[path].srtt.unwrap_or_default();
    assert!(srtt(0) < 25 * MILLISECOND, "{:?}", srtt(0));
    assert!(srtt(1) > 45 * MILLISECOND, "{:?}", srtt(1));
}

#[test]
fn regression_a_primary_path_whose_data_took_the_other_one_was_never_found_dead() {
    let links = [link(20, 10, 0.0), link(20, 10, 0.0)];
    let mut duo = Duo::connected(1, &links, over_two_paths(PathSchedulerKind::EarliestDelivery));
    duo.run_for(SECOND);
    duo.pair.cut(0);
    stream(&mut duo, 2_000, PathPreference::Prefer(PathId(1)));
    assert_ne!(duo.path(Side::Client, 0).state, PathState::Active);
}

#[test]
fn a_path_that_dies_is_not_noticed_by_the_application() {
    for dies in [0, 1] {
        let mut duo = duplicated(&[link(15, 10, 0.0), link(15, 10, 0.0)]);
        duo.pair.cut(dies);
        let gap = stream(&mut duo, 1_000, PathPreference::Any);
        assert!(gap <= 15 * MILLISECOND, "path {dies}: a gap of {gap:?}");
        duo.pair.restore(dies);
        duo.run_for(2 * SECOND);
        let before = duo.path(Side::Client, dies).counters.chunks_sent;
        stream(&mut duo, 100, PathPreference::Any);
        duo.run_for(SECOND);
        assert_eq!(duo.messages(Side::Server).len(), 1_600, "path {dies}");
        let sent = duo.path(Side::Client, dies).counters.chunks_sent - before;
        assert!(sent >= 50, "path {dies} is in use again: {sent}");
        assert_eq!(duo.stats(Side::Client).in_flight, 0);
    }
}

/// How many of 3,000 messages arrive in time with a third of the packets lost on both paths.
fn arrived_of_3_000(seed: u64, congestion_control: CongestionControl) -> usize {
    let config = over_two_paths(PathSchedulerKind::Duplicate);
    let config = config.with(|config| config.window.congestion_control = congestion_control);
    let mut duo = Duo::connected(seed, &[link(20, 10, 0.3), link(20, 10, 0.3)], config);
    duo.run_for(SECOND);
    stream(&mut duo, 3_000, PathPreference::Any);
    duo.run_for(SECOND);
    assert_eq!(duo.stats(Side::Client).in_flight, 0);
    duo.messages(Side::Server).len()
}

#[test]
fn a_third_lost_on_both_paths_costs_nearly_nothing() {
    let arrived = arrived_of_3_000(1, CongestionControl::Fixed { window: 200_000 });
    assert!(arrived >= 2_985, "{arrived} of 3,000");
}

#[test]
fn the_media_controller_goes_on_where_copies_make_up_for_a_third_of_loss() {
    // One in five runs begins with so many losses of both copies that it takes seconds to recover.
    let arrived = (1..=9).map(|seed| arrived_of_3_000(seed, CongestionControl::Media));
    let mut arrived: Vec<_> = arrived.collect();
    arrived.sort_unstable();
    assert!(arrived[4] >= 2_980, "of 3,000 each: {arrived:?}");
}

#[test]
fn a_path_too_slow_for_all_copies_is_not_flooded() {
    let mut duo = duplicated(&[link(20, 20, 0.0), link(2, 20, 0.0)]);
    let before = duo.path(Side::Client, 1).counters;
    stream(&mut duo, 2_000, PathPreference::Any);
    let path = duo.path(Side::Client, 1);
    let sent = path.counters.chunks_sent - before.chunks_sent;
    // 2 Mbit/s carry 380 of them.
    assert!((250..450).contains(&sent), "{sent} copies");
    let lost = path.counters.chunks_lost - before.chunks_lost;
    assert!(lost < sent / 10, "{lost} of {sent} lost in its queue");
    duo.run_for(SECOND);
    assert_eq!(duo.messages(Side::Server).len(), 2_500);
}

#[test]
fn a_message_takes_two_paths_by_itself() {
    for kind in [PathSchedulerKind::Primary, PathSchedulerKind::EarliestDelivery] {
        let links = [link(15, 10, 0.0), link(15, 20, 0.0)];
        let mut duo = Duo::connected(1, &links, over_two_paths(kind));
        duo.run_for(SECOND);
        for number in 0..100 {
            let path = if number < 50 { PathPreference::Any } else { PathPreference::Two };
            let message = living(100 * MILLISECOND, numbered(0, number, 1_250));
            duo.send(Side::Client, OutgoingMessage { path, ..message });
            duo.run_for(5 * MILLISECOND);
            let copied = duo.stats(Side::Client).streams.chunks_copied;
            assert_eq!(copied, u64::from(number.saturating_sub(49)), "{kind:?}");
        }
        duo.run_for(SECOND);
        assert_eq!(duo.messages(Side::Server).len(), 100, "{kind:?}");
        assert_eq!(duo.stats(Side::Client).in_flight, 0, "{kind:?}");
    }
}

#[test]
fn a_single_path_carries_each_message_once() {
    let duo = duplicated(&[link(15, 10, 0.0)]);
    assert_eq!(duo.stats(Side::Client).streams.chunks_copied, 0);
    assert_eq!(duo.messages(Side::Server).len(), 500);
}
