//! Losses found by time: RACK (RFC 8985 section 6).

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CongestionControl, LossDetection};
use anabranch_wire::ChunkType;

use crate::harness::{Duo, Side, link, numbered};
use crate::packets::lose;
use crate::raw_peer::{RawPeer, WINDOW};

const MILLISECOND: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(80);

/// Payload of a full packet.
const FULL: usize = 1_324;

fn in_time() -> AssociationConfig {
    // A controller that answers every loss shows what it was told.
    let congestion_control = CongestionControl::LargeInitialWindow;
    AssociationConfig::media().with(|config| config.window.congestion_control = congestion_control)
}

/// A sender with `count` packets that went out one round trip ago.
fn sending(count: u32) -> RawPeer {
    let mut peer = RawPeer::at_distance(in_time(), RTT);
    (0..count).for_each(|number| peer.send(numbered(0, number, FULL)));
    assert_eq!(peer.take_numbers().len(), count as usize);
    peer.run_for(RTT);
    peer
}

#[test]
fn what_was_overtaken_is_lost_a_quarter_of_a_round_trip_later() {
    let mut peer = sending(3);
    peer.acknowledge(0, &[(3, 3)], WINDOW);
    peer.run_for(RTT / 4 - MILLISECOND);
    assert!(peer.take_numbers().is_empty(), "it may have been overtaken only");
    peer.run_for(MILLISECOND);
    assert_eq!(peer.take_numbers(), [[1], [2]]);
    assert_eq!(peer.stats().fast_recoveries, 1);
    assert_eq!(peer.stats().paths[0].counters.timeouts, 0);
}

#[test]
fn three_arrivals_of_what_was_sent_later_make_a_loss_at_once() {
    let mut peer = sending(5);
    peer.acknowledge(0, &[(3, 4)], WINDOW);
    assert!(peer.take_numbers().is_empty());
    peer.acknowledge(0, &[(3, 5)], WINDOW);
    assert_eq!(peer.take_numbers(), [[1], [2]]);
}

#[test]
fn once_something_arrived_out_of_order_three_later_arrivals_prove_nothing() {
    let mut peer = sending(8);
    peer.acknowledge(0, &[(2, 2)], WINDOW);
    peer.acknowledge(2, &[], WINDOW);
    peer.acknowledge(2, &[(4, 8)], WINDOW);
    peer.run_for(RTT / 4 - MILLISECOND);
    assert!(peer.take_numbers().is_empty(), "reordering was seen: the window holds");
    peer.acknowledge(8, &[], WINDOW);
    peer.run_for(RTT);
    let stats = peer.stats();
    assert_eq!((stats.streams.chunks_retransmitted, stats.fast_recoveries), (0, 0));
}

#[test]
fn chunks_sent_at_different_times_are_due_one_after_the_other() {
    let mut peer = RawPeer::at_distance(in_time(), RTT);
    for number in 0..3 {
        peer.send(numbered(0, number, FULL));
        peer.run_for(5 * MILLISECOND);
    }
    peer.run_for(RTT - 5 * MILLISECOND);
    peer.take();
    peer.acknowledge(0, &[(3, 3)], WINDOW);
    let window = RTT / 4;
    peer.run_for(window - 10 * MILLISECOND);
    assert_eq!(peer.take_numbers(), [[1]]);
    peer.run_for(5 * MILLISECOND - Duration::from_micros(1));
    assert!(peer.take_numbers().is_empty());
    peer.run_for(Duration::from_micros(1));
    assert_eq!(peer.take_numbers(), [[2]]);
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout_and_is_a_second_sign_of_congestion() {
    let mut peer = sending(4);
    peer.acknowledge(0, &[(2, 4)], WINDOW);
    assert_eq!(peer.take_numbers(), [[1]]);
    peer.run_for(MILLISECOND);
    (0..3).for_each(|number| peer.send(numbered(0, number, FULL)));
    peer.take();
    peer.run_for(RTT);
    peer.acknowledge(0, &[(2, 7)], WINDOW);
    assert_eq!(peer.take_numbers(), [[1]], "what was sent after it has arrived");
    let stats = peer.stats();
    assert_eq!((stats.fast_recoveries, stats.paths[0].counters.timeouts), (2, 0));
}

/// The peer waited for it for ever: no SACK and no timeout followed that told it.
#[test]
fn regression_what_the_reordering_timer_gave_up_was_not_told() {
    let mut peer = RawPeer::at_distance(in_time(), RTT);
    let once = anabranch_sctp::OutgoingMessage {
        reliability: anabranch_sctp::Reliability::MaxRetransmissions(0),
        ..numbered(0, 0, FULL)
    };
    peer.send(once);
    peer.send(numbered(0, 1, FULL));
    peer.run_for(RTT);
    peer.acknowledge(0, &[(2, 2)], WINDOW);
    peer.take();
    peer.run_for(RTT / 4);
    assert_eq!(peer.take_types(), [[ChunkType::FORWARD_TSN]]);
}

#[test]
fn losses_of_one_window_are_one_sign_of_congestion() {
    let mut peer = sending(8);
    peer.acknowledge(0, &[(2, 4)], WINDOW);
    peer.acknowledge(0, &[(2, 4), (6, 8)], WINDOW);
    let stats = peer.stats();
    assert_eq!((stats.paths[0].counters.chunks_lost, stats.fast_recoveries), (2, 1), "1 and 5");
}

#[test]
fn the_answer_to_a_retransmission_that_comes_too_soon_tells_nothing_of_what_was_sent_before() {
    let mut peer = sending(4);
    peer.acknowledge(0, &[(2, 4)], WINDOW);
    peer.send(numbered(0, 9, FULL));
    assert_eq!(peer.take_numbers(), [[1], [5]]);
    peer.run_for(RTT / 2);
    peer.acknowledge(4, &[], WINDOW);
    peer.run_for(RTT / 2);
    assert!(peer.take_numbers().is_empty(), "the original of 1 arrived, and 5 is on its way");
}

/// Sends a packet a millisecond over 20 Mbit/s with an RTT of 50 ms, of which some are lost.
/// Returns how late the latest came, beyond the one-way delay.
fn worst_delay(detection: LossDetection, lost: std::ops::Range<u32>) -> (Duration, Duo) {
    let config = AssociationConfig::media().with(|config| {
        config.recovery.loss_detection = detection;
        config.window.congestion_control = CongestionControl::Fixed { window: 1 << 20 };
    });
    let mut duo = Duo::connected(1, &[link(20, 25, 0.0)], config);
    let mut data = 0;
    lose(&mut duo, move |side, sent| {
        let counts = side == Side::Client && sent.has(ChunkType::DATA);
        data += u32::from(counts);
        counts && lost.contains(&data)
    });
    let start = duo.now();
    for number in 0..500 {
        duo.send(Side::Client, numbered(0, number, 1_000));
        duo.run_for(MILLISECOND);
    }
    duo.run_for(Duration::from_secs(3));
    let late = duo.messages(Side::Server).iter().map(|message| {
        let sent = start + crate::harness::number_of(message) * MILLISECOND;
        message.completed_at - sent
    });
    let worst = late.max().expect("something arrives") - Duration::from_millis(25);
    (worst, duo)
}

#[test]
fn a_burst_of_losses_costs_one_round_trip_and_no_timeout() {
    let (worst, duo) = worst_delay(LossDetection::InTime, 200..220);
    assert_eq!(duo.messages(Side::Server).len(), 500);
    assert!(worst < Duration::from_millis(50 + 20 + 10), "{worst:?}");
    let path = duo.path(Side::Client, 0);
    assert_eq!((path.counters.chunks_retransmitted, path.counters.timeouts), (20, 0));
    assert_eq!(path.counters.spurious_retransmissions, 0);
}

#[test]
fn a_retransmission_lost_as_well_costs_a_second_round_trip_where_rfc_9260_needs_a_timeout() {
    // The 200th message goes out again as about the 255th packet.
    let (worst, duo) = worst_delay_of_one_lost_twice(LossDetection::InTime);
    assert!(worst < Duration::from_millis(2 * 50 + 20), "{worst:?}");
    assert_eq!(duo.path(Side::Client, 0).counters.timeouts, 0);
    let (worst, duo) = worst_delay_of_one_lost_twice(LossDetection::Rfc9260);
    assert!(worst > Duration::from_millis(2 * 50 + 40), "{worst:?}");
    assert!(duo.path(Side::Client, 0).counters.timeouts > 0);
}

/// The share of messages that arrive within 200 ms: 10 Mbit/s of them, a packet each, over
/// 20 Mbit/s with an RTT of 50 ms.
fn share_in_time(detection: LossDetection, loss: f64, seconds: u32) -> f64 {
    let lifetime = Duration::from_millis(200);
    let config = AssociationConfig::media().with(|config| {
        config.recovery.loss_detection = detection;
        config.window.congestion_control = CongestionControl::Fixed { window: 1 << 20 };
    });
    let mut duo = Duo::connected(1, &[link(20, 25, loss)], config);
    let start = duo.now();
    let period = Duration::from_micros(1_053);
    let count = seconds * 950;
    for number in 0..count {
        let message = anabranch_sctp::OutgoingMessage {
            ordered: false,
            reliability: anabranch_sctp::Reliability::Lifetime(lifetime),
            ..numbered(0, number, 1_316)
        };
        duo.send(Side::Client, message);
        duo.run_for(period);
    }
    duo.run_for(Duration::from_secs(1));
    let in_time = duo.messages(Side::Server).iter().filter(|message| {
        let sent = start + crate::harness::number_of(message) * period;
        message.completed_at <= sent + lifetime
    });
    in_time.count() as f64 / f64::from(count)
}

#[test]
fn at_ten_percent_loss_nearly_all_arrives_within_four_round_trips() {
    let share = share_in_time(LossDetection::InTime, 0.1, 20);
    assert!(share >= 0.9998, "{share}");
}

fn worst_delay_of_one_lost_twice(detection: LossDetection) -> (Duration, Duo) {
    let config = AssociationConfig::media().with(|config| {
        config.recovery.loss_detection = detection;
        config.window.congestion_control = CongestionControl::Fixed { window: 1 << 20 };
    });
    let mut duo = Duo::connected(1, &[link(20, 25, 0.0)], config);
    let (mut packets, mut doomed, mut times) = (0, None, 0);
    lose(&mut duo, move |side, sent| {
        if side != Side::Client || !sent.has(ChunkType::DATA) {
            return false;
        }
        packets += 1;
        let tsns: Vec<_> = sent.data().iter().map(|data| data.tsn).collect();
        if packets == 200 {
            doomed = tsns.first().copied();
        }
        let is_lost = doomed.is_some_and(|doomed| tsns.contains(&doomed)) && times < 2;
        times += u32::from(is_lost);
        is_lost
    });
    let start = duo.now();
    for number in 0..500 {
        duo.send(Side::Client, numbered(0, number, 1_000));
        duo.run_for(MILLISECOND);
    }
    duo.run_for(Duration::from_secs(3));
    let number = 199;
    let messages = duo.messages(Side::Server);
    let twice = messages.iter().find(|m| crate::harness::number_of(m) == number);
    let took = twice.expect("delivered").completed_at - (start + number * MILLISECOND);
    (took - Duration::from_millis(25), duo)
}
