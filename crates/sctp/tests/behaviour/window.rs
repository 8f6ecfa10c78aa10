//! The receive window: the sender keeps to it and probes it, the receiver tells it.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CloseReason, PathState};
use anabranch_wire::{Chunk, ChunkType, ErrorCause, GapAckBlock, Items, Sack, Tsn};

use crate::harness::{Duo, Side, good_link, numbered};
use crate::packets::{Sent, Wiretap, packet};
use crate::raw_peer::{FIRST_TSN, RawPeer, causes_of, data, sack};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Payload of a full packet.
const FULL: usize = 1_324;

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

/// A sender with two messages of a packet each, the first acknowledged, the window closed then.
fn closed() -> RawPeer {
    let mut peer = RawPeer::connected_with_window(default(), 1_500);
    peer.send(numbered(0, 0, FULL));
    peer.send(numbered(0, 1, FULL));
    assert_eq!(peer.take_numbers(), [[1]]);
    peer.acknowledge(1, &[], 0);
    peer
}

#[test]
fn a_sender_keeps_to_the_peers_window() {
    let mut peer = RawPeer::connected_with_window(default(), 3_000);
    peer.send(numbered(0, 0, 10_000));
    assert_eq!(peer.take_numbers(), [[1], [2]], "two of {FULL} bytes, a third would not fit");
    peer.acknowledge(2, &[], 2 * FULL as u32);
    assert_eq!(peer.take_numbers(), [[3], [4]]);
    peer.acknowledge(2, &[], 2 * FULL as u32);
    assert!(peer.take_numbers().is_empty(), "what is in flight takes its part of the window");
}

#[test]
fn a_closed_window_is_probed_with_growing_intervals() {
    let mut peer = closed();
    let mut times = Vec::new();
    let start = peer.now;
    for _ in 0..600 {
        peer.run_for(SECOND);
        for probe in peer.take().iter().filter(|sent| sent.has(ChunkType::DATA)) {
            times.push((probe.at - start).as_secs());
            peer.acknowledge(1, &[], 0);
        }
    }
    assert_eq!(times, [1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363, 423, 483, 543]);
}

#[test]
fn probing_costs_neither_errors_nor_congestion_window_however_long_it_lasts() {
    let mut peer = closed();
    let before = peer.stats().paths[0].clone();
    for _ in 0..3_600 {
        peer.run_for(SECOND);
        answer_heartbeats_and_probes(&mut peer);
    }
    let after = peer.stats().paths[0].clone();
    assert_eq!((after.state, after.error_count), (PathState::Active, 0));
    assert_eq!((after.window, after.ssthresh), (before.window, before.ssthresh));
    assert!(peer.is_established());
}

fn answer_heartbeats_and_probes(peer: &mut RawPeer) {
    let sent: Vec<Sent> = peer.take();
    if sent.iter().any(|sent| sent.has(ChunkType::DATA)) {
        peer.acknowledge(1, &[], 0);
    }
    for chunk in sent.iter().flat_map(Sent::chunks) {
        if let Chunk::Heartbeat(heartbeat) = chunk {
            let ack = anabranch_wire::HeartbeatAck { info: heartbeat.info };
            peer.deliver(&[Chunk::HeartbeatAck(ack)]);
        }
    }
}

#[test]
fn probes_that_nobody_answers_end_the_association() {
    let mut peer = closed();
    peer.run_for(HOUR);
    assert_eq!(peer.close_reason(), Some(CloseReason::PeerUnreachable));
}

/// The probe that was refused waited for its timer, which had backed off to a minute.
#[test]
fn regression_a_window_that_opened_left_the_probe_waiting() {
    let mut peer = closed();
    for _ in 0..100 {
        peer.run_for(SECOND);
        if !peer.take_numbers().is_empty() {
            peer.acknowledge(1, &[], 0);
        }
    }
    peer.acknowledge(1, &[], 50_000);
    assert_eq!(peer.take_numbers(), [[2]], "at once");
}

/// The timer that waited to probe went on when data was sent again, and fired early.
#[test]
fn regression_a_window_that_opened_just_before_a_probe_caused_a_timeout() {
    let mut peer = closed();
    peer.run_for(Duration::from_millis(990));
    peer.acknowledge(1, &[], 50_000);
    assert_eq!(peer.take_numbers(), [[2]]);
    peer.run_for(Duration::from_millis(500));
    peer.acknowledge(2, &[], 50_000);
    let path = peer.stats().paths[0].clone();
    assert_eq!((path.counters.timeouts, path.state), (0, PathState::Active));
}

#[test]
fn a_probe_needs_an_open_congestion_window_and_nothing_in_flight() {
    let mut peer = RawPeer::connected_with_window(default(), 3_000);
    peer.send(numbered(0, 0, 3 * FULL));
    assert_eq!(peer.take_numbers(), [[1], [2]]);
    peer.acknowledge(1, &[], 0);
    peer.run_for(Duration::from_millis(999));
    assert!(peer.take_numbers().is_empty(), "2 is in flight: its timeout comes first");
}

/// A SACK that was overtaken by a newer one set the window as it was before.
#[test]
fn regression_an_old_sack_reopened_a_closed_window() {
    let mut peer = RawPeer::connected_with_window(default(), 3_000);
    (0..4).for_each(|number| peer.send(numbered(0, number, FULL)));
    assert_eq!(peer.take_numbers(), [[1], [2]]);
    peer.acknowledge(2, &[], 0);
    peer.acknowledge(1, &[], 50_000);
    assert!(peer.take_numbers().is_empty());
    assert_eq!(peer.stats().peer_window, 0);
}

#[test]
fn a_sack_for_what_was_never_sent_ends_the_association_with_words() {
    let lies: [(u32, &[(u16, u16)]); 3] = [(3, &[]), (1, &[(2, 3)]), (1, &[(2, 1)])];
    for (cumulative, blocks) in lies {
        let mut peer = RawPeer::connected(default());
        peer.send(numbered(0, 0, 10));
        peer.send(numbered(0, 0, 10));
        peer.take();
        let blocks: Vec<_> =
            blocks.iter().map(|&(start, end)| GapAckBlock { start, end }).collect();
        peer.deliver(&[Chunk::Sack(Sack {
            cumulative_tsn_ack: peer.tsn_of(cumulative),
            a_rwnd: 50_000,
            gap_ack_blocks: Items::from_slice(&blocks),
            duplicate_tsns: Items::default(),
            data_packets: 1,
        })]);
        let sent = peer.take();
        assert_eq!(sent[0].types(), [ChunkType::ABORT], "{cumulative} {blocks:?}");
        let chunks = sent[0].chunks();
        assert!(matches!(causes_of(&chunks[0])[..], [ErrorCause::ProtocolViolation(_)]));
        let reason = peer.close_reason().expect("closed");
        assert!(matches!(reason, CloseReason::PeerMisbehaved { .. }), "{reason}");
    }
}

/// The association was aborted.
#[test]
fn regression_a_gap_block_without_a_gap_in_front_ended_the_association() {
    for (start, end) in [(0, 0), (0, 9), (1, 1), (1, 3), (1, 0)] {
        let mut peer = RawPeer::connected(default());
        (0..4).for_each(|number| peer.send(numbered(0, number, 10)));
        let blocks = [GapAckBlock { start, end }, GapAckBlock { start: 3, end: 3 }];
        peer.deliver(&[Chunk::Sack(Sack {
            cumulative_tsn_ack: peer.tsn_of(1),
            a_rwnd: 50_000,
            gap_ack_blocks: Items::from_slice(&blocks),
            duplicate_tsns: Items::default(),
            data_packets: 1,
        })]);
        assert!(peer.is_established(), "{start}-{end}");
        // Of 2, 3 and 4 the second block acknowledges the last.
        assert_eq!(peer.stats().in_flight, 2 * (16 + 12), "{start}-{end}");
    }
}

#[test]
fn a_sack_from_long_ago_is_no_lie() {
    let mut peer = RawPeer::connected(default());
    peer.send(numbered(0, 0, 10));
    let long_ago = Tsn(peer.their_first_tsn.0.wrapping_sub(1 << 30));
    peer.deliver(&[sack(long_ago, 0)]);
    assert!(peer.is_established());
    assert_eq!(peer.stats().peer_window, 100_000 - 10);
}

#[test]
fn the_window_told_shrinks_by_what_is_held_and_grows_when_it_is_read() {
    let config = default().with(|config| config.buffers.receive_buffer = 10_000);
    let mut peer = RawPeer::connected(config);
    let payload = [7; 1_000];
    let chunk = |number: u32| {
        let data = data(FIRST_TSN + number, number as u16);
        Chunk::Data(anabranch_wire::Data { payload: &payload, immediate: true, ..data })
    };
    (0..9).for_each(|number| peer.deliver(&[chunk(number)]));
    let window = peer.take_sack().expect("asked for").window as usize;
    assert_eq!(window, 10_000 - 9 * 1_000);
    (9..11).for_each(|number| peer.deliver(&[chunk(number)]));
    let report = peer.take_sack().expect("at once");
    assert_eq!(report.cumulative, FIRST_TSN + 9, "no room: not acknowledged");
    assert_eq!(peer.stats().dropped_no_room, 1);
    let updates = read_one_by_one(&mut peer);
    assert!((1..=4).contains(&updates.len()), "by quarters: {updates:?}");
    assert_eq!(peer.stats().held, 0);
    peer.deliver(&[chunk(10)]);
    assert_eq!(peer.take_sack().expect("asked for").cumulative, FIRST_TSN + 10);
}

/// What each message costs beside its bytes was taken off the window, also for what had been sent
/// within it.
#[test]
fn regression_data_within_the_window_that_was_told_found_no_room() {
    const TOLD: usize = 20_000;
    for len in [50, 100, 300, 1_000, 1_300] {
        let config = default().with(|config| config.buffers.receive_buffer = TOLD);
        let mut peer = RawPeer::connected(config);
        let payload = vec![7; len];
        let count = TOLD / len;
        for number in 0..count as u32 {
            let data = data(FIRST_TSN + number, number as u16);
            let data = anabranch_wire::Data { payload: &payload, immediate: true, ..data };
            let bytes = packet(peer.ports, peer.tag, &[Chunk::Data(data)]);
            peer.handle_bytes(peer.path, &bytes);
        }
        peer.act(|_, _| ());
        let report = peer.take_sack().expect("asked for");
        assert_eq!(report.cumulative, FIRST_TSN + count as u32 - 1, "of {len} bytes");
        assert_eq!(peer.stats().dropped_no_room, 0, "of {len} bytes");
        let left = if len >= 100 { TOLD - count * len } else { 0 };
        assert_eq!(report.window as usize, left, "of {len} bytes");
    }
}

/// A window that was nearly closed was told of only when a quarter of the buffer was free.
#[test]
fn regression_a_window_that_was_nearly_closed_opened_late() {
    let config = default().with(|config| config.buffers.receive_buffer = 100_000);
    let mut peer = RawPeer::connected(config);
    let payload = [7; 1_000];
    for number in 0..95 {
        let data = data(FIRST_TSN + number, number as u16);
        peer.deliver(&[Chunk::Data(anabranch_wire::Data { payload: &payload, ..data })]);
    }
    peer.run_for(SECOND);
    assert_eq!(peer.take_sack().map(|report| report.window), Some(5_000));
    let updates = read_one_by_one(&mut peer);
    assert_eq!(updates[..3], [8_000, 11_000, 14_000], "two packets each");
    assert_eq!(updates[updates.len() - 2..], [75_000, 100_000], "a quarter each");
}

/// Reads all messages, one after the other; returns the windows told meanwhile.
fn read_one_by_one(peer: &mut RawPeer) -> Vec<u32> {
    let mut told = Vec::new();
    while peer.act(|association, _| association.receive()).is_some() {
        told.extend(peer.take_sack().map(|report| report.window));
    }
    told
}

#[test]
fn what_fills_a_gap_is_taken_even_when_the_window_is_closed() {
    let config = default().with(|config| config.buffers.receive_buffer = 10_000);
    let mut peer = RawPeer::connected(config);
    let payload = [7; 1_000];
    for number in 1..=11 {
        let data = data(FIRST_TSN + number, number as u16);
        peer.deliver(&[Chunk::Data(anabranch_wire::Data { payload: &payload, ..data })]);
    }
    assert_eq!(peer.take_sack().expect("a gap").blocks, [(2, 11)], "the last one has no room");
    let first = data(FIRST_TSN, 0);
    peer.deliver(&[Chunk::Data(anabranch_wire::Data { payload: &payload, ..first })]);
    assert_eq!(peer.take_sack().expect("filled").cumulative, FIRST_TSN + 10);
    assert_eq!(peer.read().len(), 11);
}

#[test]
fn a_reader_that_stops_for_an_hour_loses_neither_association_nor_data() {
    let config = default().with(|config| {
        config.buffers.receive_buffer = 20_000;
        config.buffers.message_size_max = 5_000;
    });
    let mut duo = Duo::connected(1, &[good_link()], config);
    duo.reads = false;
    (0..30).for_each(|number| duo.send(Side::Client, numbered(0, number, 2_000)));
    duo.run_for(HOUR);
    assert_eq!(duo.path(Side::Client, 0).state, PathState::Active);
    duo.reads = true;
    let at = duo.now();
    duo.run_until(HOUR, |duo| duo.messages(Side::Server).len() == 30);
    assert_eq!(duo.numbers(Side::Server), (0..30).collect::<Vec<_>>());
    let took = duo.now() - at;
    assert!(took < SECOND, "the window update gets things going: {took:?}");
}

#[test]
fn a_reader_that_keeps_up_causes_no_window_updates() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    let tap = Wiretap::on(&mut duo);
    duo.saturate(Side::Client, 5_000, SECOND);
    duo.run_for(SECOND);
    let packets = tap.of(Side::Client, ChunkType::DATA).len();
    let sacks = tap.of(Side::Server, ChunkType::SACK).len();
    assert!(sacks <= packets, "one SACK for a packet at most: {sacks} for {packets}");
}
