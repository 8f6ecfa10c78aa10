//! Everything that a peer can make us keep has a bound.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, EndpointConfig, Event};
use anabranch_wire::{
    Chunk, ChunkType, CookieEcho, Data, Heartbeat, Parameter, Ssn, StreamId, VerificationTag,
};

use crate::harness::{Duo, Side, link, numbered};
use crate::packets::packet;
use crate::raw_peer::{FIRST_TSN, RawPeer, TAG, data, init, tuple};

const KIB: usize = 1 << 10;

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

/// Delivers chunks without letting the endpoint send meanwhile, as when a call of the kernel hands
/// over many packets.
fn deliver_all_at_once(peer: &mut RawPeer, count: usize, chunk: Chunk<'_>) {
    let bytes = packet(peer.ports, peer.tag, &[chunk]);
    for _ in 1..count {
        peer.handle_bytes(peer.path, &bytes);
    }
    peer.deliver_bytes(peer.path, &bytes);
}

#[test]
fn received_data_is_bounded_however_small_its_messages_are() {
    // The bytes of each message and 96 beside: small ones close the window sooner.
    for (len, unordered, held) in
        [(1, false, 128), (1, true, 128), (100, false, 64 + 63), (1_300, true, 64 + 5)]
    {
        let mut peer =
            RawPeer::connected(default().with(|config| config.buffers.receive_buffer = 64 * KIB));
        let payload = vec![0; len];
        for number in 0..20_000 {
            let data = data(FIRST_TSN + number, number as u16);
            peer.deliver(&[Chunk::Data(Data { payload: &payload, unordered, ..data })]);
        }
        let (expected, held) = (held * KIB, peer.stats().held);
        let is_right = (expected - 2 * KIB..=expected + KIB).contains(&held);
        assert!(is_right, "{held} of messages of {len}");
        assert!(peer.stats().dropped_no_room > 0);
    }
}

#[test]
fn received_data_is_bounded_though_no_window_was_told_meanwhile() {
    let mut peer =
        RawPeer::connected(default().with(|config| config.buffers.receive_buffer = 64 * KIB));
    for number in 0..20_000 {
        let data = Data { payload: b"!", ..data(FIRST_TSN + number, number as u16) };
        let bytes = packet(peer.ports, peer.tag, &[Chunk::Data(data)]);
        peer.handle_bytes(peer.path, &bytes);
    }
    let held = peer.stats().held;
    assert!((191 * KIB..=192 * KIB).contains(&held), "{held}");
}

#[test]
fn data_that_waits_for_gaps_is_bounded_by_twice_the_buffer() {
    let mut peer =
        RawPeer::connected(default().with(|config| config.buffers.receive_buffer = 64 * KIB));
    let payload = [0; 1_000];
    // From the far end on, so that each fills a gap, and none can be delivered.
    for number in (1..20_000).rev() {
        let data = Data { payload: &payload, ..data(FIRST_TSN + number, number as u16) };
        peer.deliver(&[Chunk::Data(data)]);
    }
    let held = peer.stats().held;
    assert!((130 * KIB..=142 * KIB).contains(&held), "twice 64, and 96 for each: {held}");
    assert!(peer.read().is_empty());
}

#[test]
fn heartbeats_are_answered_up_to_a_bound_when_many_come_at_once() {
    let mut peer = RawPeer::connected(default());
    deliver_all_at_once(&mut peer, 1_000, Chunk::Heartbeat(Heartbeat { info: &[0; 20] }));
    let answers: usize = peer.take_types().iter().map(Vec::len).sum();
    assert_eq!((answers, peer.stats().control_dropped), (64, 936));
}

#[test]
fn invalid_streams_are_reported_up_to_a_bound_when_many_come_at_once() {
    let mut peer = RawPeer::connected(default());
    let data = Data { stream: StreamId(999), ..data(FIRST_TSN, 0) };
    deliver_all_at_once(&mut peer, 1_000, Chunk::Data(data));
    let types = peer.take_types().concat();
    let reports = types.iter().filter(|ty| **ty == ChunkType::ERROR).count();
    assert_eq!(reports, 64);
}

#[test]
fn duplicates_are_reported_up_to_a_bound() {
    let mut peer = RawPeer::connected(default());
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0))]);
    peer.take();
    deliver_all_at_once(&mut peer, 1_000, Chunk::Data(data(FIRST_TSN, 0)));
    assert_eq!(peer.take_sack().expect("at once").duplicates.len(), 32);
    assert_eq!(peer.stats().duplicates_received, 1_000);
}

#[test]
fn announced_addresses_are_taken_up_to_the_limit_on_paths() {
    let mut parameters = Vec::new();
    for last in 1..=250 {
        Parameter::Ipv4Address([10, 0, 0, last].into()).encode(&mut parameters);
    }
    let mut peer = RawPeer::facing_listener(default());
    peer.call(&parameters);
    assert_eq!(peer.stats().paths.len(), 8);
}

#[test]
fn streams_are_bounded_by_what_we_accept() {
    let mut peer = RawPeer::facing_listener(default().with(|config| {
        config.streams.outbound_streams = u16::MAX;
        config.streams.inbound_streams_max = 10;
    }));
    peer.call_with(anabranch_wire::Init {
        outbound_streams: u16::MAX,
        inbound_streams: 3,
        ..init(TAG, &[])
    });
    let outbound = peer.association().map(anabranch_sctp::Association::outbound_streams);
    assert_eq!(outbound, Some(3));
    for stream in 0..100 {
        let data = Data {
            stream: StreamId(stream),
            ssn: Ssn(0),
            ..data(FIRST_TSN + u32::from(stream), 0)
        };
        peer.deliver(&[Chunk::Data(data)]);
    }
    assert_eq!(peer.read().len(), 10);
}

#[test]
fn associations_are_bounded_and_those_beyond_are_refused() {
    let mut peer = RawPeer::facing(EndpointConfig {
        accept: true,
        associations_max: 10,
        ..EndpointConfig::default()
    });
    for last in 1..=20 {
        peer.path = tuple("10.0.0.2:9899", &format!("10.0.1.{last}:9899"));
        let init = Chunk::Init(init(TAG, &[]));
        peer.deliver_as(peer.path, VerificationTag(0), &[init]);
        let sent = peer.take();
        let ty = sent[0].types()[0];
        assert_eq!(ty == ChunkType::INIT_ACK, last <= 10, "{last}: {ty}");
        if last <= 10 {
            let cookie = peer.fetch_cookie(TAG, &[]);
            peer.deliver(&[Chunk::CookieEcho(CookieEcho { cookie: &cookie })]);
            peer.take();
        }
    }
    assert_eq!(peer.endpoint.associations().count(), 10);
}

#[test]
fn a_cookie_given_out_before_the_limit_was_reached_is_refused_after() {
    let mut peer = RawPeer::facing(EndpointConfig {
        accept: true,
        associations_max: 1,
        ..EndpointConfig::default()
    });
    let late = peer.fetch_cookie(TAG, &[]);
    let (late_path, late_tag) = (peer.path, peer.tag);
    peer.path = tuple("10.0.0.2:9899", "10.0.1.1:9899");
    peer.call(&[]);
    peer.take();
    let echo = Chunk::CookieEcho(CookieEcho { cookie: &late });
    peer.deliver_as(late_path, late_tag, &[echo]);
    let sent = peer.take();
    assert_eq!((sent[0].types(), sent[0].tag()), (vec![ChunkType::ABORT], TAG));
}

#[test]
fn a_trace_that_nobody_reads_keeps_its_newest_lines() {
    let config = default().with(|config| config.trace_events_max = 100);
    let mut peer = RawPeer::connected(config);
    for number in 0..500 {
        peer.deliver(&[Chunk::Data(data(FIRST_TSN + number, number as u16))]);
        peer.run_for(Duration::from_millis(1));
    }
    let lines: Vec<_> =
        peer.act(|association, _| std::iter::from_fn(|| association.poll_trace()).collect());
    assert_eq!(lines.len(), 100);
    assert!(lines[0].at.as_millis() > 400);
}

/// A peer with a huge window and tiny messages: TSNs beyond what a SACK can report, and SSNs that
/// come twice within the window.
#[test]
fn regression_more_chunks_were_outstanding_than_a_sack_can_report() {
    let config = default().with(|config| {
        config.window.congestion_control =
            anabranch_sctp::CongestionControl::Fixed { window: 100 << 20 };
        config.window.max_burst = None;
        config.buffers.send_buffer = 32 << 20;
        config.buffers.receive_buffer = 32 << 20;
    });
    let mut duo = Duo::connected(1, &[link(1_000, 200, 0.0)], config);
    let mut number = 0;
    while number < 70_000 {
        duo.act(Side::Client, |association, now| {
            for _ in 0..10_000 {
                association.send(now, numbered(0, number, 4)).expect("taken");
                number += 1;
            }
        });
        assert!(duo.stats(Side::Client).outstanding_chunks < 1 << 16);
    }
    duo.run_for(Duration::from_secs(10));
    assert!(duo.numbers(Side::Server).iter().copied().eq(0..number));
    assert_eq!(duo.stats(Side::Client).streams.chunks_retransmitted, 0);
}

#[test]
fn a_full_send_queue_of_expired_messages_says_that_it_has_room() {
    let config = default().with(|config| config.buffers.send_buffer = 20_000);
    let mut peer = RawPeer::connected_with_window(config, 1_500);
    let reliability = anabranch_sctp::Reliability::Lifetime(Duration::from_millis(100));
    let message = || anabranch_sctp::OutgoingMessage { reliability, ..numbered(0, 0, 1_000) };
    let refused = (0..100).any(|_| peer.act(|a, now| a.send(now, message())).is_err());
    assert!(refused);
    peer.run_for(Duration::from_secs(2));
    let said = peer.events().iter().filter(|event| matches!(event, Event::Writable)).count();
    assert_eq!((said, peer.stats().queued), (1, 0), "without anything having been acknowledged");
}
