//! Streams: order within each, independence between them, and whose message goes next.

use std::time::Duration;

use anabranch_sctp::{
    AssociationConfig, EndpointConfig, OutgoingMessage, PathId, PathPreference, SchedulerKind,
    SendError,
};
use anabranch_wire::{Chunk, ChunkType, Data, Heartbeat, Ppid, Ssn, StreamId};
use bytes::Bytes;

use crate::harness::{Duo, Side, good_link, link, number_of, numbered};
use crate::packets::{Sent, Wiretap, lose_first};
use crate::raw_peer::{FIRST_TSN, RawPeer, data};

const SECOND: Duration = Duration::from_secs(1);

/// Payload of a full packet.
const FULL: usize = 1_324;

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

/// The streams of the messages that a peer is sent while it acknowledges every packet.
fn order_of(peer: &mut RawPeer) -> Vec<u16> {
    let mut order = Vec::new();
    let mut count = 0;
    loop {
        let sent = peer.take();
        let data: Vec<_> = sent.iter().flat_map(Sent::data).collect();
        if data.is_empty() {
            return order;
        }
        count += data.len() as u32;
        order.extend(data.iter().filter(|data| data.beginning).map(|data| data.stream.0));
        peer.acknowledge(count, &[], 100_000);
    }
}

/// A peer whose window is closed until `order_of` is asked.
fn held_back(config: AssociationConfig) -> RawPeer {
    RawPeer::connected_with_window(config, 1_500)
}

#[test]
fn a_loss_on_one_stream_does_not_hold_up_another() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    lose_first(&mut duo, Side::Client, ChunkType::DATA, 1);
    for number in 0..10 {
        duo.send(Side::Client, numbered((number % 2) as u16, number, FULL));
    }
    duo.run_for(Duration::from_millis(14));
    let arrived: Vec<_> = duo.messages(Side::Server).iter().map(|m| m.stream.0).collect();
    assert!(!arrived.is_empty() && arrived.iter().all(|stream| *stream == 1), "{arrived:?}");
    duo.run_for(SECOND);
    for stream in 0..2 {
        let of_stream = duo.messages(Side::Server).iter().filter(|m| m.stream.0 == stream);
        let expected: Vec<u32> = (0..10).filter(|n| n % 2 == u32::from(stream)).collect();
        assert_eq!(of_stream.map(number_of).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn unordered_messages_overtake_on_their_own_stream() {
    let mut peer = RawPeer::connected(default());
    let unordered = Data { unordered: true, ssn: Ssn(77), ..data(FIRST_TSN + 2, 0) };
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 1, 1)), Chunk::Data(unordered)]);
    let read = peer.read();
    assert_eq!((read.len(), read[0].ordered), (1, false));
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0))]);
    assert_eq!(peer.read().len(), 2);
}

#[test]
fn payload_protocol_identifier_order_and_stream_arrive_with_the_message() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    let message = OutgoingMessage {
        ppid: Ppid(53),
        ordered: false,
        ..OutgoingMessage::new(StreamId(7), Bytes::from_static(b"x"))
    };
    duo.send(Side::Client, message);
    duo.run_for(SECOND);
    let message = &duo.messages(Side::Server)[0];
    assert_eq!((message.ppid, message.ordered, message.stream), (Ppid(53), false, StreamId(7)));
    assert_eq!(message.payload, "x");
}

#[test]
fn ssns_wrap_around() {
    let mut duo = Duo::connected(1, &[link(1_000, 1, 0.0)], AssociationConfig::media());
    let mut number = 0;
    while number < 66_000 {
        let sent = duo.act(Side::Client, |association, now| {
            (0..500)
                .take_while(|n| association.send(now, numbered(0, number + n, 4)).is_ok())
                .count()
        });
        number += sent as u32;
        duo.run_for(Duration::from_millis(3));
    }
    duo.run_for(SECOND);
    let numbers = duo.numbers(Side::Server);
    assert!(numbers.iter().copied().eq(0..number), "{} of {number}", numbers.len());
}

#[test]
fn priority_serves_the_lowest_number_first_and_equals_in_turn() {
    let mut peer = held_back(default());
    for (stream, priority) in [(1, 5), (2, 3), (3, 3)] {
        peer.act(|association, _| association.set_stream_priority(StreamId(stream), priority));
    }
    // The first one fills the window.
    peer.send(numbered(0, 0, FULL));
    for number in 0..3 {
        (1..=3).for_each(|stream| peer.send(numbered(stream, number, FULL)));
    }
    assert_eq!(order_of(&mut peer), [0, 2, 3, 2, 3, 2, 3, 1, 1, 1]);
}

#[test]
fn round_robin_gives_each_stream_a_message_in_turn_whatever_their_sizes() {
    let mut peer =
        held_back(default().with(|config| config.streams.scheduler = SchedulerKind::RoundRobin));
    peer.act(|association, _| association.set_stream_priority(StreamId(1), 9));
    peer.send(numbered(0, 0, FULL));
    for number in 0..3 {
        peer.send(numbered(1, number, 5 * FULL));
        peer.send(numbered(2, number, 10));
    }
    assert_eq!(order_of(&mut peer), [0, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn an_urgent_message_overtakes_a_queue_of_large_ones_at_the_next_border() {
    let mut peer = held_back(default());
    peer.act(|association, _| association.set_stream_priority(StreamId(1), 10));
    peer.send(numbered(0, 0, FULL));
    (0..5).for_each(|number| peer.send(numbered(1, number, 4 * FULL)));
    peer.take();
    peer.acknowledge(1, &[], 3_000);
    assert_eq!(peer.take_numbers(), [[2], [3]], "in the middle of the first large one");
    peer.send(numbered(2, 0, 10));
    peer.acknowledge(3, &[], 100_000);
    let order: Vec<_> = peer.take().iter().flat_map(Sent::data).map(|d| d.stream.0).collect();
    assert_eq!(order[..4], [1, 1, 2, 1], "behind the message that was begun, before the others");
}

#[test]
fn an_urgent_message_waits_for_one_message_only_on_a_slow_link() {
    let mut duo = Duo::connected(1, &[link(2, 10, 0.0)], AssociationConfig::media());
    duo.act(Side::Client, |a, _| a.set_stream_priority(StreamId(0), 1));
    (0..40).for_each(|number| duo.send(Side::Client, numbered(0, number, 16_000)));
    duo.run_for(SECOND);
    let at = duo.now();
    duo.send(Side::Client, numbered(1, 99, 100));
    duo.run_until(5 * SECOND, |duo| duo.numbers(Side::Server).contains(&99));
    let waited = duo.now() - at;
    // 16 kB take 64 ms, and as much may wait in the link's queue of 100 ms.
    assert!(waited < Duration::from_millis(250), "{waited:?}");
}

#[test]
fn a_message_takes_the_path_that_it_prefers_while_that_is_active() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], AssociationConfig::media());
    duo.run_for(SECOND);
    let tap = Wiretap::on(&mut duo);
    let paths = [0, 1].map(|path| duo.pair.paths()[path].addresses);
    let send = |duo: &mut Duo, number, path| {
        let path = PathPreference::Prefer(PathId(path));
        duo.send(Side::Client, OutgoingMessage { path, ..numbered(0, number, 100) });
        duo.run_for(Duration::from_millis(100));
    };
    let taken = |tap: &Wiretap| {
        let sent = tap.of(Side::Client, ChunkType::DATA);
        tap.clear();
        sent.iter().map(|sent| sent.path).collect::<Vec<_>>()
    };
    send(&mut duo, 0, 0);
    send(&mut duo, 1, 1);
    assert_eq!(taken(&tap), paths);
    duo.pair.cut(1);
    duo.run_for(2 * SECOND);
    send(&mut duo, 2, 1);
    assert_eq!(taken(&tap), [paths[0]], "the preferred one failed");
    send(&mut duo, 3, 77);
    assert_eq!(taken(&tap), [paths[0]], "there is no such path");
    assert_eq!(duo.numbers(Side::Server), [0, 1, 2, 3]);
}

#[test]
fn paths_with_preferences_are_filled_at_the_same_time() {
    let config = AssociationConfig::media().with(|config| config.buffers.receive_buffer = 4 << 20);
    let mut duo = Duo::connected(1, &[link(8, 10, 0.0), link(8, 10, 0.0)], config);
    duo.run_for(SECOND);
    for number in 0..800 {
        let path = PathPreference::Prefer(PathId(number % 2));
        let message = numbered((number % 2) as u16, number, FULL);
        duo.act(Side::Client, |a, now| a.send(now, OutgoingMessage { path, ..message })).ok();
    }
    duo.run_for(SECOND);
    // One path carries about 8 Mbit/s: 750 messages a second.
    let arrived = duo.messages(Side::Server).len();
    assert!(arrived > 760, "{arrived} over both");
}

#[test]
fn a_message_that_cannot_be_sent_is_refused_with_the_rule_and_the_numbers() {
    let config = default().with(|config| {
        config.buffers.message_size_max = 1_000;
        config.buffers.send_buffer = 3_000;
    });
    let mut peer = held_back(config);
    let mut send = |stream, len: usize| {
        let message = OutgoingMessage::new(StreamId(stream), Bytes::from(vec![0; len]));
        peer.act(|association, now| association.send(now, message))
    };
    assert_eq!(send(0, 0), Err(SendError::Empty));
    assert_eq!(send(0, 1_001), Err(SendError::TooLarge { len: 1_001, limit: 1_000 }));
    assert_eq!(send(8, 1), Err(SendError::InvalidStream { stream: 8, last: 7 }));
    // One goes out at once, and a second does not fit the window.
    (0..3).for_each(|_| send(0, 1_000).expect("taken"));
    let message = OutgoingMessage::new(StreamId(0), Bytes::from(vec![0; 1_000]));
    let full = SendError::BufferFull { queued: 2_128, limit: 3_000, message: Box::new(message) };
    assert_eq!(send(0, 1_000), Err(full));
}

#[test]
fn small_messages_share_a_packet_and_one_that_fits_is_never_cut() {
    let mut peer = held_back(default());
    peer.send(numbered(0, 0, FULL));
    (1..5).for_each(|number| peer.send(numbered(0, number, 400)));
    peer.take();
    peer.acknowledge(1, &[], 100_000);
    let sent = peer.take();
    let counts: Vec<_> = sent.iter().map(|sent| sent.data().len()).collect();
    assert_eq!(counts, [3, 1]);
    assert!(sent.iter().flat_map(Sent::data).all(|data| data.beginning && data.ending));
}

#[test]
fn fragments_fill_packets_and_none_exceeds_the_mtu() {
    for path_mtu in [576, 1_280, 1_400, 1_500, 9_000] {
        let config = default().with(|config| config.paths.path_mtu = path_mtu);
        let mut peer = RawPeer::connected(config);
        peer.send(numbered(0, 0, 60_000));
        let mut count = 0;
        let mut received = 0;
        while received < 60_000 {
            let sent = peer.take();
            assert!(!sent.is_empty(), "{received} of 60000 at MTU {path_mtu}");
            for sent in &sent {
                // IPv6 and UDP headers.
                assert!(sent.bytes.len() + 48 <= path_mtu, "{} at {path_mtu}", sent.bytes.len());
                received += sent.data().iter().map(|data| data.payload.len()).sum::<usize>();
                count += sent.data().len() as u32;
            }
            peer.acknowledge(count, &[], 100_000);
        }
        let full = ((path_mtu - 48) & !3) - 28;
        assert_eq!(count as usize, 60_000_usize.div_ceil(full), "as few as possible");
    }
}

/// In one transmission all packets but the last have one length.
#[test]
fn regression_behind_a_control_chunk_that_fits_no_packet_data_exceeded_the_mtu() {
    let association = default().with(|config| config.window.max_burst = None);
    let config =
        EndpointConfig { accept: true, association, segments_max: 8, ..EndpointConfig::default() };
    let mut peer = RawPeer::facing(config);
    peer.call(&[]);
    peer.take();
    peer.handle(&[Chunk::Heartbeat(Heartbeat { info: &[7; 1_400] })]);
    peer.send(numbered(0, 0, 4_000));
    let sent = peer.take();
    assert_eq!(sent[0].types(), [ChunkType::HEARTBEAT_ACK]);
    let lengths: Vec<_> = sent[1..].iter().map(|sent| sent.bytes.len()).collect();
    assert!(lengths.len() >= 3 && lengths.iter().all(|len| *len <= 1_352), "{lengths:?}");
}
