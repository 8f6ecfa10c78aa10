//! When a SACK is sent and what it says (RFC 9260 sections 6.2 and 6.7).

use std::time::Duration;

use anabranch_sctp::AssociationConfig;
use anabranch_wire::{Chunk, ChunkType, Data, StreamId};

use crate::harness::{Duo, Side, good_link, numbered};
use crate::packets::{Wiretap, packet};
use crate::raw_peer::{FIRST_TSN, RawPeer, Report, data, tuple};

const MILLISECOND: Duration = Duration::from_millis(1);

/// A peer whose first DATA chunk is acknowledged; the next TSN is `FIRST_TSN + 1`.
fn begun() -> RawPeer {
    begun_with(AssociationConfig::default())
}

fn begun_with(config: AssociationConfig) -> RawPeer {
    let mut peer = RawPeer::connected(config);
    deliver(&mut peer, &[0]);
    peer.take();
    peer
}

/// Delivers messages, by their number from the first on, in one packet.
fn deliver(peer: &mut RawPeer, numbers: &[u32]) {
    let chunks: Vec<_> = numbers.iter().map(|n| Chunk::Data(numbered_data(*n))).collect();
    peer.deliver(&chunks);
}

fn numbered_data(number: u32) -> Data<'static> {
    data(FIRST_TSN + number, number as u16)
}

fn cumulative(report: Option<&Report>) -> Option<u32> {
    report.map(|report| report.cumulative - FIRST_TSN)
}

#[test]
fn a_lone_packet_is_acknowledged_after_200_ms() {
    let mut peer = begun();
    deliver(&mut peer, &[1]);
    peer.run_for(199 * MILLISECOND);
    assert_eq!(peer.take_types(), Vec::<Vec<ChunkType>>::new());
    peer.run_for(MILLISECOND);
    assert_eq!(cumulative(peer.take_sack().as_ref()), Some(1));
}

#[test]
fn every_second_packet_is_acknowledged_at_once() {
    let mut peer = begun();
    for number in 1..=10 {
        deliver(&mut peer, &[number]);
        let expected = (number % 2 == 0).then_some(number);
        assert_eq!(cumulative(peer.take_sack().as_ref()), expected, "packet {number}");
    }
    peer.run_for(Duration::from_secs(1));
    assert!(peer.take_types().is_empty(), "nothing was left over");
}

#[test]
fn two_chunks_in_one_packet_are_one_packet() {
    let mut peer = begun();
    deliver(&mut peer, &[1, 2, 3]);
    assert!(peer.take_sack().is_none());
}

#[test]
fn the_delay_counts_from_the_first_packet_that_waits() {
    let mut peer = begun();
    deliver(&mut peer, &[1]);
    peer.run_for(150 * MILLISECOND);
    deliver(&mut peer, &[2]);
    assert!(peer.take_sack().is_some());
    deliver(&mut peer, &[3]);
    peer.run_for(199 * MILLISECOND);
    assert!(peer.take_sack().is_none());
    peer.run_for(MILLISECOND);
    assert!(peer.take_sack().is_some());
}

#[test]
fn a_sack_delay_above_half_a_second_counts_as_that() {
    let config = AssociationConfig::default()
        .with(|config| config.timers.sack_delay = Duration::from_secs(3));
    let mut peer = begun_with(config);
    deliver(&mut peer, &[1]);
    peer.run_for(500 * MILLISECOND);
    assert!(peer.take_sack().is_some(), "RFC 9260 section 6.2 allows no more");
}

#[test]
fn the_i_bit_asks_for_a_sack_at_once() {
    let mut peer = begun();
    peer.deliver(&[Chunk::Data(Data { immediate: true, ..numbered_data(1) })]);
    assert_eq!(cumulative(peer.take_sack().as_ref()), Some(1));
}

#[test]
fn a_gap_is_reported_at_once_and_with_every_packet_until_it_is_filled() {
    let mut peer = begun();
    for (number, expected) in [
        (2, (0, vec![(2, 2)])),
        (3, (0, vec![(2, 3)])),
        (5, (0, vec![(2, 3), (5, 5)])),
        (1, (3, vec![(2, 2)])),
        (4, (5, vec![])),
    ] {
        deliver(&mut peer, &[number]);
        let report = peer.take_sack().expect("at once");
        assert_eq!((report.cumulative - FIRST_TSN, report.blocks), expected, "packet {number}");
    }
    deliver(&mut peer, &[6]);
    assert!(peer.take_sack().is_none(), "no gap, no hurry");
}

#[test]
fn a_duplicate_is_reported_at_once_as_often_as_it_came() {
    let mut peer = begun();
    deliver(&mut peer, &[0, 0]);
    let report = peer.take_sack().expect("at once");
    assert_eq!(report.duplicates, [FIRST_TSN, FIRST_TSN]);
    deliver(&mut peer, &[1]);
    deliver(&mut peer, &[2]);
    assert!(peer.take_sack().expect("the second").duplicates.is_empty(), "told once");
    assert_eq!(peer.stats().duplicates_received, 2);
}

#[test]
fn every_gap_block_that_fits_is_reported_from_the_lowest_on() {
    let mut peer = begun();
    for number in 1..=400 {
        deliver(&mut peer, &[2 * number]);
    }
    let sent = peer.take();
    let last = sent.last().expect("one for each packet");
    let blocks = last.sack().expect("a SACK").gap_ack_blocks.len();
    // 1352 bytes of packet, 12 of common header, 16 of SACK header.
    assert_eq!((last.bytes.len(), blocks), (1_352, (1_352 - 28) / 4));
    let first: Vec<_> = last.sack().expect("a SACK").gap_ack_blocks.iter().take(2).collect();
    assert_eq!((first[0].start, first[1].start), (2, 4));
}

#[test]
fn duplicates_take_the_room_that_gap_blocks_leave() {
    let mut peer = begun();
    for number in 1..=329 {
        deliver(&mut peer, &[2 * number]);
    }
    deliver(&mut peer, &[0, 2, 4, 6]);
    let sent = peer.take();
    let last = sent.last().expect("at once");
    let sack = last.sack().expect("a SACK");
    assert_eq!((sack.gap_ack_blocks.len(), sack.duplicate_tsns.len()), (329, 2));
}

#[test]
fn a_waiting_sack_goes_with_data() {
    let mut peer = begun();
    deliver(&mut peer, &[1]);
    peer.run_for(50 * MILLISECOND);
    assert!(peer.take().is_empty());
    peer.act(|association, now| association.send(now, numbered(0, 0, 100))).expect("taken");
    assert_eq!(peer.take_types(), [[ChunkType::SACK, ChunkType::DATA]]);
    peer.run_for(400 * MILLISECOND);
    assert!(peer.take_sack().is_none(), "said already");
}

#[test]
fn regression_a_message_that_did_not_fit_behind_a_waiting_sack_waited_with_it() {
    for len in 1_000..=1_500 {
        let mut peer = begun();
        deliver(&mut peer, &[1]);
        assert!(peer.take().is_empty(), "the SACK waits");
        let message = numbered(0, 0, len);
        peer.act(|association, now| association.send(now, message)).expect("taken");
        let sent = peer.take();
        assert!(sent.iter().any(|packet| packet.has(ChunkType::DATA)), "{len} bytes wait");
        peer.run_for(200 * MILLISECOND);
        let later = peer.take();
        let sacks = sent.iter().chain(&later).filter_map(|packet| packet.sack());
        assert!(sacks.count() > 0, "{len} bytes: nothing was acknowledged");
    }
}

/// A SACK that might still wait was sent alone as soon as the congestion window was open: with
/// every packet.
#[test]
fn regression_a_receiver_acknowledged_every_packet() {
    let mut duo = Duo::connected(1, &[good_link()], AssociationConfig::default());
    duo.saturate(Side::Client, 1_000, Duration::from_secs(3));
    let tap = Wiretap::on(&mut duo);
    duo.saturate(Side::Client, 1_000, Duration::from_secs(2));
    let packets = tap.of(Side::Client, ChunkType::DATA).len();
    let sacks = tap.of(Side::Server, ChunkType::SACK).len();
    // While a gap is open, every packet gets one.
    assert!(packets > 2_000 && 3 * sacks < 2 * packets, "{sacks} SACKs for {packets} packets");
}

#[test]
fn a_sack_goes_where_the_data_came_from() {
    let mut peer = begun();
    let other = tuple("10.0.1.2:9899", "10.0.1.1:9899");
    // The path must be known to be the peer's.
    peer.deliver_as(other, peer.tag, &[Chunk::Heartbeat(anabranch_wire::Heartbeat { info: b"" })]);
    peer.run_for(10 * MILLISECOND);
    let heartbeat = peer.take().into_iter().find(|sent| sent.has(ChunkType::HEARTBEAT));
    answer_heartbeat(&mut peer, &heartbeat.expect("a new path is probed"));
    let bytes = packet(peer.ports, peer.tag, &[Chunk::Data(numbered_data(2))]);
    peer.deliver_bytes(other, &bytes);
    let sent = peer.take();
    assert!(sent[0].sack().is_some() && sent[0].path == other);
}

#[test]
fn no_sack_goes_to_a_path_that_is_not_confirmed() {
    let mut peer = begun();
    let other = tuple("10.0.1.2:9899", "10.0.1.1:9899");
    peer.deliver_as(other, peer.tag, &[Chunk::Data(numbered_data(2))]);
    let sent = peer.take();
    let sack = sent.iter().find(|sent| sent.has(ChunkType::SACK)).expect("a gap");
    assert_eq!(sack.path, peer.path);
}

#[test]
fn data_on_a_stream_that_does_not_exist_is_acknowledged_reported_and_dropped() {
    let mut peer = begun();
    let stream = StreamId(8);
    peer.deliver(&[Chunk::Data(Data { stream, ..numbered_data(1) })]);
    let sent = peer.take();
    assert_eq!(sent[0].types(), [ChunkType::ERROR, ChunkType::SACK]);
    let cause = anabranch_wire::ErrorCause::InvalidStreamIdentifier { stream };
    assert_eq!(crate::raw_peer::causes_of(&sent[0].chunks()[0]), [cause]);
    assert_eq!(sent[0].sack().map(|sack| sack.cumulative_tsn_ack.0), Some(FIRST_TSN + 1));
    deliver(&mut peer, &[2]);
    peer.read();
    assert_eq!(peer.stats().messages_received, 2);
}

#[test]
fn a_tsn_that_no_gap_block_could_report_is_dropped() {
    let mut peer = begun();
    deliver(&mut peer, &[65_536]);
    deliver(&mut peer, &[65_535]);
    let report = peer.take_sack().expect("a gap");
    assert_eq!(report.blocks, [(65_535, 65_535)]);
    assert_eq!(peer.stats().dropped_no_room, 1);
}

#[test]
fn tsns_are_followed_over_their_wrap_around() {
    let mut peer = RawPeer::facing_listener(AssociationConfig::default());
    let first = u32::MAX - 2;
    peer.call_with(anabranch_wire::Init {
        initial_tsn: anabranch_wire::Tsn(first),
        ..crate::raw_peer::init(crate::raw_peer::TAG, &[])
    });
    peer.take();
    for number in [0, 1, 2, 4, 5] {
        peer.deliver(&[Chunk::Data(data(first.wrapping_add(number), number as u16))]);
    }
    let report = peer.take_sack().expect("a gap");
    assert_eq!((report.cumulative, report.blocks), (u32::MAX, vec![(2, 3)]));
    peer.deliver(&[Chunk::Data(data(0, 3))]);
    assert_eq!(peer.take_sack().expect("filled").cumulative, 2);
    assert_eq!(peer.read().len(), 6);
}

/// Echoes a heartbeat over the path that it came by.
fn answer_heartbeat(peer: &mut RawPeer, sent: &crate::packets::Sent) {
    for chunk in sent.chunks() {
        if let Chunk::Heartbeat(heartbeat) = chunk {
            let ack = anabranch_wire::HeartbeatAck { info: heartbeat.info };
            peer.deliver_as(sent.path, peer.tag, &[Chunk::HeartbeatAck(ack)]);
        }
    }
}
