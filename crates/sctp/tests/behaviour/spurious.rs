//! Retransmissions that had no reason: noticed and undone.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CongestionControl, LossDetection, PathSchedulerKind};

use crate::harness::{Duo, Side, good_link, link, numbered};
use crate::raw_peer::{RawPeer, WINDOW};

const MILLISECOND: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(40);
const FULL: usize = 1_324;

fn in_time() -> AssociationConfig {
    // A controller that answers every loss shows what it was told.
    let congestion_control = CongestionControl::LargeInitialWindow;
    AssociationConfig::media().with(|config| config.window.congestion_control = congestion_control)
}

/// A sender with eight packets that were sent a round trip ago, the first of which is declared lost
/// and sent again.
fn retransmitting(config: AssociationConfig) -> RawPeer {
    let mut peer = RawPeer::at_distance(config, RTT);
    (0..8).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.run_for(RTT);
    peer.take();
    for highest in 2..=4 {
        peer.acknowledge(0, &[(2, highest)], WINDOW);
    }
    assert_eq!(peer.take_numbers(), [[1]]);
    peer
}

#[test]
fn an_answer_sooner_than_a_round_trip_is_one_to_the_original_and_the_window_is_as_before() {
    let mut peer = RawPeer::at_distance(in_time(), RTT);
    let window = peer.stats().paths[0].window;
    (0..8).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.run_for(RTT);
    peer.acknowledge(0, &[(2, 4)], WINDOW);
    assert!(peer.stats().paths[0].window < window);
    peer.run_for(RTT - MILLISECOND);
    peer.acknowledge(4, &[], WINDOW);
    let path = peer.stats().paths[0].clone();
    assert!(path.window >= window, "{} of {window}", path.window);
    let counters = path.counters;
    assert_eq!((counters.spurious_retransmissions, counters.reductions_undone), (1, 1));
}

#[test]
fn an_answer_after_a_round_trip_is_one_to_the_retransmission() {
    let mut peer = retransmitting(in_time());
    peer.run_for(RTT);
    peer.acknowledge(8, &[], WINDOW);
    let counters = peer.stats().paths[0].counters;
    assert_eq!((counters.spurious_retransmissions, counters.reductions_undone), (0, 0));
}

#[test]
fn a_reported_duplicate_undoes_the_reduction_long_after_the_chunk_was_acknowledged() {
    let mut peer = retransmitting(in_time());
    let reduced = peer.stats().paths[0].window;
    peer.run_for(RTT);
    peer.acknowledge(8, &[], WINDOW);
    assert_eq!(peer.stats().paths[0].counters.spurious_retransmissions, 0);
    peer.acknowledge_with(8, &[], &[1], WINDOW);
    let path = peer.stats().paths[0].clone();
    assert!(path.window > reduced + FULL);
    assert_eq!((path.counters.spurious_retransmissions, path.counters.reductions_undone), (1, 1));
    peer.acknowledge_with(8, &[], &[1], WINDOW);
    assert_eq!(peer.stats().paths[0].counters.spurious_retransmissions, 1, "counted once");
}

#[test]
fn one_real_loss_among_them_leaves_the_window_reduced() {
    let mut peer = RawPeer::at_distance(in_time(), RTT);
    (0..8).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.run_for(RTT);
    peer.acknowledge(0, &[(3, 5)], WINDOW);
    peer.run_for(RTT);
    peer.acknowledge_with(8, &[], &[1], WINDOW);
    let counters = peer.stats().paths[0].counters;
    assert_eq!((counters.spurious_retransmissions, counters.reductions_undone), (1, 0), "not 2");
}

#[test]
fn a_duplicate_that_the_network_made_counts_for_nothing() {
    let mut peer = retransmitting(in_time());
    peer.acknowledge_with(0, &[(2, 8)], &[3], WINDOW);
    let counters = peer.stats().paths[0].counters;
    assert_eq!((counters.spurious_retransmissions, counters.reductions_undone), (0, 0));
}

#[test]
fn duplicates_widen_the_reordering_window() {
    let mut peer = retransmitting(in_time());
    peer.run_for(RTT);
    peer.acknowledge_with(8, &[], &[1], WINDOW);
    (0..2).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.run_for(RTT);
    peer.take();
    peer.acknowledge(8, &[(10, 10)], WINDOW);
    peer.run_for(RTT / 2 - MILLISECOND);
    assert!(peer.take_numbers().is_empty(), "twice min_RTT / 4 now");
    peer.run_for(MILLISECOND);
    assert_eq!(peer.take_numbers(), [[9]]);
}

#[test]
fn rfc_9260_counts_them_and_undoes_nothing() {
    let config = in_time().with(|config| config.recovery.loss_detection = LossDetection::Rfc9260);
    let mut peer = retransmitting(config);
    let reduced = peer.stats().paths[0].window;
    peer.acknowledge_with(0, &[(2, 4)], &[1], WINDOW);
    let path = peer.stats().paths[0].clone();
    assert_eq!((path.counters.spurious_retransmissions, path.counters.reductions_undone), (1, 0));
    assert_eq!(path.window, reduced);
}

/// The path holds everything back for a while: T3-rtx expires although nothing was lost.
#[test]
fn a_timeout_without_a_loss_is_undone_by_the_first_answer_to_what_was_sent_before() {
    let mut peer = RawPeer::at_distance(in_time(), RTT);
    (0..8).for_each(|number| peer.send(numbered(0, number, FULL)));
    let before = peer.stats().paths[0].clone();
    peer.take();
    // The probe, and the timeout an RTO later.
    peer.run_for(2 * RTT + before.rto);
    assert_eq!(peer.take_numbers(), [[8], [1]]);
    let timed_out = peer.stats().paths[0].clone();
    assert!(timed_out.window < before.window && timed_out.rto > before.rto);
    // A stall of two RTOs ends: 2 was marked for retransmission, and not sent again yet.
    peer.acknowledge(0, &[(2, 3)], WINDOW);
    let path = peer.stats().paths[0].clone();
    assert_eq!(path.counters.reductions_undone, 1);
    assert!(path.window >= before.window, "{} of {}", path.window, before.window);
    assert!(peer.take_numbers().is_empty(), "the others are on their way, not lost");
    assert_eq!(peer.stats().in_flight, 6 * (FULL + 16));
}

#[test]
fn a_spike_of_delay_leaves_window_and_timeout_as_they_were() {
    let config = in_time().with(|config| config.buffers.receive_buffer = 8 << 20);
    let mut duo = Duo::connected(1, &[link(20, 20, 0.0)], config);
    let stream = |duo: &mut Duo, from: u32, messages: u32| {
        for number in from..from + messages {
            duo.send(Side::Client, numbered(0, number, 1_000));
            duo.run_for(MILLISECOND);
        }
    };
    stream(&mut duo, 0, 2_000);
    let before = duo.path(Side::Client, 0);
    duo.pair.reconfigure(0, link(20, 400, 0.0));
    stream(&mut duo, 2_000, 20);
    duo.pair.reconfigure(0, link(20, 20, 0.0));
    stream(&mut duo, 2_020, 2_000);
    duo.run_for(Duration::from_secs(1));
    let after = duo.path(Side::Client, 0);
    assert_eq!(duo.messages(Side::Server).len(), 4_020);
    assert!(after.counters.timeouts > 0 && after.counters.reductions_undone > 0, "{after:?}");
    assert!(after.window >= before.window, "{} of {}", after.window, before.window);
    assert!(after.rto <= Duration::from_millis(200), "{:?}", after.rto);
}

#[test]
fn a_clean_minute_sees_no_retransmission_no_probe_and_no_timeout() {
    let paths = [vec![good_link()], vec![link(50, 2, 0.0), link(20, 40, 0.0)]];
    let even = vec![link(6, 10, 0.0), link(6, 15, 0.0)];
    let runs = [
        (paths[0].clone(), PathSchedulerKind::Primary),
        (paths[1].clone(), PathSchedulerKind::Primary),
        (paths[1].clone(), PathSchedulerKind::EarliestDelivery),
        (even.clone(), PathSchedulerKind::EarliestDelivery),
        (even, PathSchedulerKind::Duplicate),
    ];
    for (links, path_scheduler) in runs {
        let config =
            AssociationConfig::media().with(|config| config.paths.path_scheduler = path_scheduler);
        let mut duo = Duo::connected(1, &links, config);
        for number in 0..6_000 {
            let len = if number % 25 == 0 { 30_000 } else { 1 + number as usize % 4_000 };
            duo.send(Side::Client, numbered((number % 3) as u16, number, len));
            duo.run_for(10 * MILLISECOND);
        }
        let stats = duo.stats(Side::Client);
        assert_eq!(stats.fast_recoveries, 0, "{path_scheduler:?}");
        for path in &stats.paths {
            let counters = path.counters;
            let (again, spurious) =
                (counters.chunks_retransmitted, counters.spurious_retransmissions);
            assert_eq!((again, spurious), (0, 0), "{path_scheduler:?}: {path:?}");
            let silences = (counters.probes_sent, counters.timeouts);
            assert_eq!(silences, (0, 0), "{path_scheduler:?}: {path:?}");
        }
    }
}
