//! User message interleaving (RFC 8260): I-DATA and I-FORWARD-TSN, from both ends.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CloseReason, OutgoingMessage, Reliability, SchedulerKind};
use anabranch_wire::{
    Chunk, ChunkType, ErrorCause, ForwardTsn, FragmentPlace, Fsn, IData, IForwardTsn, Items, Level,
    Mid, Parameter, Ppid, SkippedMessages, StreamId, Tsn,
};

use crate::harness::{Duo, Side, good_link, link, numbered};
use crate::packets::{Sent, Wiretap, lose_first};
use crate::raw_peer::{FIRST_TSN, RawPeer, TAG, WINDOW, causes_of, data, init};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Payload of a full packet.
const FULL: usize = 1_320;

fn interleaving() -> AssociationConfig {
    AssociationConfig::default().with(|config| config.extensions.message_interleaving = true)
}

/// A peer that lists these chunks in its Supported Extensions.
fn listing(types: &[ChunkType], config: AssociationConfig, a_rwnd: u32) -> RawPeer {
    let mut peer = RawPeer::facing_listener(config);
    let mut parameters = Vec::new();
    Parameter::ForwardTsnSupported.encode(&mut parameters);
    Parameter::SupportedExtensions(Items::from_slice(types)).encode(&mut parameters);
    peer.call_with(anabranch_wire::Init { a_rwnd, ..init(TAG, &parameters) });
    assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ACK]]);
    peer
}

fn connected_with(config: AssociationConfig, a_rwnd: u32) -> RawPeer {
    listing(&[ChunkType::I_DATA, ChunkType::I_FORWARD_TSN, ChunkType::RE_CONFIG], config, a_rwnd)
}

fn connected() -> RawPeer {
    connected_with(interleaving(), WINDOW)
}

/// Chunks that fill the first congestion window.
const HOLDING: u32 = 4;

/// A peer to which nothing goes out until it acknowledges so many chunks of stream 7.
fn held_back(config: AssociationConfig) -> RawPeer {
    let mut peer = connected_with(config, WINDOW);
    peer.send(numbered(7, 0, HOLDING as usize * FULL));
    assert_eq!(places(&peer.take()).len(), HOLDING as usize);
    peer
}

/// A whole ordered message of stream 0.
fn whole(number: u32, mid: u32) -> IData<'static> {
    IData {
        tsn: Tsn(FIRST_TSN + number),
        stream: StreamId(0),
        mid: Mid(mid),
        unordered: false,
        fragment: FragmentPlace::First(Ppid(7)),
        ending: true,
        immediate: false,
        level: Level::Urgent,
        payload: b"data",
    }
}

/// A fragment by TSN, stream, MID and FSN.
fn part(number: u32, stream: u16, mid: u32, fsn: u32, ending: bool) -> IData<'static> {
    let fragment = match fsn {
        0 => FragmentPlace::First(Ppid(7)),
        _ => FragmentPlace::Later(Fsn(fsn)),
    };
    IData { stream: StreamId(stream), fragment, ending, ..whole(number, mid) }
}

fn deliver(peer: &mut RawPeer, chunks: &[IData<'_>]) {
    chunks.iter().for_each(|chunk| peer.deliver(&[Chunk::IData(*chunk)]));
}

fn skipped(stream: u16, unordered: bool, mid: u32) -> SkippedMessages {
    SkippedMessages { stream: StreamId(stream), unordered, mid: Mid(mid) }
}

fn forward(number: u32, streams: &[SkippedMessages]) -> Chunk<'_> {
    let new_cumulative_tsn = Tsn(FIRST_TSN + number);
    Chunk::IForwardTsn(IForwardTsn { new_cumulative_tsn, streams: Items::from_slice(streams) })
}

/// Stream, U bit, MID and FSN of the I-DATA chunks in packets.
fn places(sent: &[Sent]) -> Vec<(u16, bool, u32, u32)> {
    let chunks = sent.iter().flat_map(Sent::chunks);
    let i_data =
        chunks.filter_map(|chunk| if let Chunk::IData(data) = chunk { Some(data) } else { None });
    i_data
        .map(|data| {
            let fsn = if let FragmentPlace::Later(fsn) = data.fragment { fsn.0 } else { 0 };
            (data.stream.0, data.unordered, data.mid.0, fsn)
        })
        .collect()
}

fn forwards(sent: &[Sent]) -> Vec<(Tsn, Vec<SkippedMessages>)> {
    let chunks = sent.iter().flat_map(Sent::chunks);
    chunks
        .filter_map(|chunk| {
            let Chunk::IForwardTsn(forward) = chunk else { return None };
            Some((forward.new_cumulative_tsn, forward.streams.iter().collect()))
        })
        .collect()
}

fn aborted_for(peer: &mut RawPeer) -> String {
    let sent = peer.take();
    let chunks = sent.last().map(Sent::chunks).unwrap_or_default();
    let [abort @ Chunk::Abort(_)] = &chunks[..] else { panic!("an ABORT, not {sent:?}") };
    assert!(matches!(causes_of(abort)[..], [ErrorCause::ProtocolViolation(_)]), "{abort:?}");
    let Some(CloseReason::PeerMisbehaved { what }) = peer.close_reason() else {
        panic!("{:?}", peer.close_reason())
    };
    what
}

/// Section 2.2.1: "User message interleaving has been negotiated for an association if both
/// endpoints have indicated I-DATA support."
#[test]
fn messages_interleave_where_both_ends_offer_it() {
    for (client, server) in [(false, false), (true, false), (false, true), (true, true)] {
        let [config, association] = [client, server].map(|message_interleaving| {
            AssociationConfig::default()
                .with(|config| config.extensions.message_interleaving = message_interleaving)
        });
        let mut duo = Duo::of_two(1, &[good_link()], config, association);
        let tap = Wiretap::on(&mut duo);
        duo.connect();
        duo.run_for(SECOND);
        for side in [Side::Client, Side::Server] {
            duo.send(side, numbered(3, 0, 5_000));
        }
        duo.run_for(SECOND);
        let both = client && server;
        let (used, unused) = match both {
            true => (ChunkType::I_DATA, ChunkType::DATA),
            false => (ChunkType::DATA, ChunkType::I_DATA),
        };
        for side in [Side::Client, Side::Server] {
            let case = format!("{client} and {server}: {side:?}");
            let interleaves = duo.association(side).expect("alive").interleaves_messages();
            assert_eq!(interleaves, both, "{case}");
            assert_eq!(duo.numbers(side), [0], "{case}");
            assert!(!tap.of(side, used).is_empty() && tap.of(side, unused).is_empty(), "{case}");
        }
    }
}

/// Section 2.2.3: "If I-DATA support has been negotiated for an association, the reception of a
/// DATA chunk is a violation of the above rules and therefore the receiver of the DATA chunk MUST
/// abort the association by sending an ABORT chunk."
#[test]
fn a_chunk_of_the_other_format_ends_the_association() {
    let streams = Items::default();
    let plain_forward =
        Chunk::ForwardTsn(ForwardTsn { new_cumulative_tsn: Tsn(FIRST_TSN), streams });
    let cases = [
        (connected(), Chunk::Data(data(FIRST_TSN, 0)), "data as if messages did not interleave"),
        (connected(), plain_forward, "a FORWARD TSN as if messages did not interleave"),
        (
            RawPeer::connected(interleaving()),
            Chunk::IData(whole(0, 0)),
            "data as if messages interleaved",
        ),
        (
            RawPeer::connected(interleaving()),
            forward(0, &[]),
            "an I-FORWARD-TSN as if messages interleaved",
        ),
        (
            listing(&[ChunkType::I_DATA], interleaving(), WINDOW),
            forward(0, &[]),
            "an I-FORWARD-TSN as if messages interleaved",
        ),
    ];
    for (mut peer, chunk, what) in cases {
        peer.deliver(&[chunk]);
        assert_eq!(aborted_for(&mut peer), format!("it sent {what}"));
    }
}

/// Section 3.4: "When the scheduler interleaves user messages, the sending of large, lower-priority
/// user messages will not delay the sending of higher-priority user messages."
#[test]
fn an_urgent_message_does_not_wait_for_the_end_of_a_long_one() {
    let arrival = |config: AssociationConfig| {
        let mut duo = Duo::connected(1, &[link(2, 10, 0.0)], config);
        duo.act(Side::Client, |association, _| association.set_stream_priority(StreamId(0), 9));
        duo.send(Side::Client, numbered(0, 0, 200_000));
        duo.run_for(100 * MILLISECOND);
        let start = duo.now();
        duo.send(Side::Client, numbered(1, 1, 100));
        duo.run_for(10 * SECOND);
        let messages = duo.messages(Side::Server);
        let urgent = messages.iter().find(|message| message.stream == StreamId(1));
        (urgent.expect("arrived").completed_at - start, duo.numbers(Side::Server))
    };
    let (took, order) = arrival(interleaving());
    assert!(took < 200 * MILLISECOND && order == [1, 0], "{took:?} {order:?}");
    let (took, order) = arrival(AssociationConfig::default());
    assert!(took > 500 * MILLISECOND && order == [0, 1], "{took:?} {order:?}");
}

/// Section 3.2: "When interleaving user messages, this scheduler provides a fair scheduling based
/// on the number of I-DATA chunks by cycling around non-empty stream queues."
#[test]
fn fragments_are_numbered_within_messages_and_messages_by_stream_and_order() {
    let config = interleaving().with(|config| config.streams.scheduler = SchedulerKind::RoundRobin);
    let mut peer = held_back(config);
    peer.send(numbered(0, 0, FULL));
    peer.send(OutgoingMessage { ordered: false, ..numbered(0, 1, 2 * FULL) });
    peer.send(numbered(1, 2, 2 * FULL));
    peer.send(numbered(0, 3, FULL));
    peer.acknowledge(HOLDING, &[], WINDOW);
    let mut seen = places(&peer.take());
    peer.acknowledge(HOLDING + seen.len() as u32, &[], WINDOW);
    seen.extend(places(&peer.take()));
    let expected = [
        (0, false, 0, 0),
        (1, false, 0, 0),
        (0, true, 0, 0),
        (1, false, 0, 1),
        (0, true, 0, 1),
        (0, false, 1, 0),
    ];
    assert_eq!(seen, expected);
}

/// Section 2.2.2: "The sender MUST assign TSNs to I-DATA chunks in a way that the receiver can make
/// progress."
#[test]
fn unfinished_messages_never_fill_the_buffer_of_the_receiver() {
    let config = interleaving().with(|config| {
        config.buffers.receive_buffer = 20_000;
        config.buffers.message_size_max = 8_000;
        config.streams.scheduler = SchedulerKind::RoundRobin;
    });
    let mut duo = Duo::connected(1, &[link(20, 10, 0.02)], config);
    for number in 0..48 {
        duo.send(Side::Client, numbered((number % 16) as u16, number, 8_000));
    }
    duo.run_for(60 * SECOND);
    let mut numbers = duo.numbers(Side::Server);
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..48), "{numbers:?}");
}

#[test]
fn a_peer_whose_unfinished_messages_fill_the_buffer_is_told_so() {
    let config = interleaving().with(|config| config.buffers.receive_buffer = 10_000);
    let mut peer = connected_with(config, WINDOW);
    let payload = [0; 1_000];
    for number in 0..11 {
        assert!(peer.is_established(), "{number}");
        let stream = number as u16 % 8;
        deliver(
            &mut peer,
            &[IData { payload: &payload, ..part(number, stream, 0, number / 8, false) }],
        );
    }
    let reason = peer.close_reason().map(|reason| reason.to_string());
    let expected = "the peer broke the protocol: its unfinished messages fill our receive buffer";
    assert_eq!(reason.as_deref(), Some(expected));
}

/// Section 2.2.3: "The receiver MUST NOT make any assumption about the TSN assignments of the
/// sender."
#[test]
fn fragments_join_by_their_numbers_whatever_their_tsns() {
    let mut peer = connected();
    deliver(
        &mut peer,
        &[
            part(0, 1, 0, 1, false),
            part(1, 0, 0, 0, false),
            part(2, 1, 0, 2, true),
            part(3, 0, 0, 1, true),
            part(4, 1, 0, 0, false),
        ],
    );
    let read = peer.read();
    let told: Vec<_> = read.iter().map(|m| (m.stream.0, m.ppid.0, m.payload.len())).collect();
    assert_eq!(told, [(0, 7, 8), (1, 7, 12)]);
}

/// Section 2.1: "For ordered user messages, the MID is also used by the SCTP receiver to deliver
/// the user messages in the correct order to the upper layer".
#[test]
fn ordered_messages_come_by_their_mid_and_unordered_ones_at_once() {
    let mut peer = connected();
    let unordered = IData { unordered: true, payload: b"unordered", ..whole(2, 5) };
    deliver(&mut peer, &[whole(1, 1), unordered]);
    let read = peer.read();
    assert_eq!((read.len(), read[0].ordered), (1, false));
    deliver(&mut peer, &[whole(0, 0)]);
    assert_eq!(peer.read().iter().map(|m| m.ssn.0).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn an_i_bit_gets_a_sack_at_once_and_one_without_data_an_abort() {
    let mut peer = connected();
    deliver(&mut peer, &[IData { immediate: true, ..whole(0, 0) }]);
    assert_eq!(peer.take_sack().map(|report| report.cumulative), Some(FIRST_TSN));
    let mut bytes = vec![64, 3, 0, 20];
    bytes.extend((FIRST_TSN + 1).to_be_bytes());
    bytes.resize(20, 0);
    let packet = crate::packets::packet_of_bytes(peer.ports, peer.tag, &bytes);
    peer.deliver_bytes(peer.path, &packet);
    let sent = peer.take();
    let chunks = sent[0].chunks();
    assert!(matches!(causes_of(&chunks[0])[..], [ErrorCause::NoUserData { .. }]), "{chunks:?}");
}

/// Section 2.3.1: "The partial reliability extension is negotiated and can be used in combination
/// with user message interleaving only if both endpoints indicated their support of user message
/// interleaving and the I-FORWARD-TSN chunk."
#[test]
fn a_peer_without_i_forward_tsn_gets_everything() {
    let reliability = Reliability::Lifetime(50 * MILLISECOND);
    for (types, gives_up) in [
        (&[ChunkType::I_DATA][..], false),
        (&[ChunkType::I_DATA, ChunkType::FORWARD_TSN], false),
        (&[ChunkType::I_DATA, ChunkType::I_FORWARD_TSN], true),
    ] {
        let mut peer = listing(types, interleaving(), WINDOW);
        peer.send(OutgoingMessage { reliability, ..numbered(0, 0, 100) });
        peer.take();
        peer.run_for(3 * SECOND);
        let sent = peer.take();
        assert_eq!(!forwards(&sent).is_empty(), gives_up, "{types:?}");
        assert_eq!(places(&sent).is_empty(), gives_up, "{types:?}");
    }
}

/// Section 2.3.1: "This field holds the largest Message Identifier for ordered or unordered
/// messages indicated by the U bit that was skipped for the stream".
#[test]
fn an_i_forward_tsn_names_each_stream_and_order_once_with_its_largest_mid() {
    let mut peer = connected();
    let reliability = Reliability::Lifetime(100 * MILLISECOND);
    for (stream, ordered) in [(2, true), (5, true), (2, true), (2, false)] {
        let message = numbered(stream, 0, 10);
        peer.send(OutgoingMessage { reliability, ordered, ..message });
    }
    peer.take();
    peer.run_for(100 * MILLISECOND);
    let expected = vec![skipped(2, false, 1), skipped(5, false, 0), skipped(2, true, 0)];
    assert_eq!(forwards(&peer.take()), [(peer.tsn_of(4), expected)]);
}

/// RFC 3758 section 3.5, A3, has all of a message abandoned, and nothing of others.
#[test]
fn of_interleaved_messages_one_is_given_up_and_the_other_arrives() {
    let config = interleaving().with(|config| config.streams.scheduler = SchedulerKind::RoundRobin);
    let mut peer = held_back(config);
    let reliability = Reliability::Lifetime(100 * MILLISECOND);
    peer.send(OutgoingMessage { reliability, ..numbered(0, 0, 4 * FULL) });
    peer.send(numbered(1, 1, 4 * FULL));
    peer.acknowledge(HOLDING, &[], WINDOW);
    let begun = places(&peer.take());
    assert_eq!(begun[..3], [(0, false, 0, 0), (1, false, 0, 0), (0, false, 0, 1)]);
    peer.run_for(100 * MILLISECOND);
    let told = |number| (peer.tsn_of(HOLDING + number), vec![skipped(0, false, 0)]);
    let expected = [told(1), told(3)];
    assert_eq!(forwards(&peer.take()), expected[..1]);
    // The first fragment of the other one is there, and so nothing lacks before the next.
    peer.acknowledge(HOLDING + 2, &[], WINDOW);
    peer.run_for(5 * SECOND);
    let sent = peer.take();
    assert_eq!(forwards(&sent)[0], expected[1]);
    let later = places(&sent);
    assert!(!later.is_empty() && later.iter().all(|place| place.0 == 1), "{later:?}");
}

#[test]
fn the_rest_of_every_message_that_expires_unfinished_is_skipped() {
    let config = interleaving().with(|config| config.streams.scheduler = SchedulerKind::RoundRobin);
    let mut duo = Duo::connected(1, &[link(1, 10, 0.0)], config);
    let reliability = Reliability::Lifetime(300 * MILLISECOND);
    for stream in 0..4 {
        duo.send(Side::Client, numbered(stream, u32::from(stream), 20_000));
        let doomed = OutgoingMessage { reliability, ..numbered(stream + 4, 9, 60_000) };
        duo.send(Side::Client, doomed);
    }
    duo.run_for(30 * SECOND);
    for stream in 4..8 {
        duo.send(Side::Client, numbered(stream, u32::from(stream), 100));
    }
    duo.run_for(SECOND);
    let mut numbers = duo.numbers(Side::Server);
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(duo.stats(Side::Server).held, 0, "no part of the others is kept");
}

#[test]
fn a_receiver_moves_over_skipped_messages_of_either_order() {
    let mut peer = connected();
    let unordered = |data| IData { unordered: true, ..data };
    // Of stream 0, ordered 0 and unordered 0 lack an end; 1 of each is there.
    deliver(&mut peer, &[part(0, 0, 0, 0, false), unordered(part(2, 0, 0, 0, false))]);
    deliver(&mut peer, &[whole(4, 1), unordered(whole(5, 1))]);
    assert_eq!(peer.read().len(), 1, "the unordered one");
    peer.deliver(&[forward(3, &[skipped(0, false, 0)])]);
    assert_eq!(peer.read().len(), 1, "the ordered one");
    assert!(peer.stats().held > 0, "the part of an unordered one is kept");
    deliver(&mut peer, &[unordered(part(7, 0, 0, 2, false))]);
    peer.deliver(&[forward(6, &[skipped(0, true, 0)])]);
    assert_eq!(peer.stats().held, 0);
}

/// A fragment that was overtaken by the I-FORWARD-TSN would wait for the others for ever.
#[test]
fn a_late_fragment_of_a_skipped_message_is_acknowledged_and_not_kept() {
    let mut peer = connected();
    let unordered = |data| IData { unordered: true, ..data };
    peer.deliver(&[forward(0, &[skipped(0, false, 0), skipped(0, true, 3)])]);
    deliver(&mut peer, &[part(1, 0, 0, 1, false), unordered(part(2, 0, 3, 1, true))]);
    peer.run_for(SECOND);
    assert_eq!(peer.take_sack().map(|report| report.cumulative), Some(FIRST_TSN + 2));
    assert_eq!(peer.stats().held, 0);
    deliver(&mut peer, &[whole(3, 1), unordered(whole(4, 4))]);
    assert_eq!(peer.read().len(), 2);
}

/// Section 2.3.2: "the two counters (one for the ordered messages, one for the unordered messages)
/// used for the MIDs MUST be reset to 0."
#[test]
fn a_reset_stream_counts_its_messages_from_zero_again() {
    let mut duo = Duo::connected(1, &[good_link()], interleaving());
    let tap = Wiretap::on(&mut duo);
    let both = |duo: &mut Duo, number| {
        duo.send(Side::Client, numbered(0, number, 3_000));
        duo.send(Side::Client, OutgoingMessage { ordered: false, ..numbered(0, number, 10) });
        duo.run_for(SECOND);
    };
    both(&mut duo, 0);
    both(&mut duo, 1);
    duo.act(Side::Client, |a, now| a.reset_streams(now, &[StreamId(0)])).unwrap();
    duo.run_for(SECOND);
    tap.clear();
    both(&mut duo, 2);
    let sent = tap.of(Side::Client, ChunkType::I_DATA);
    assert!(places(&sent).iter().all(|place| place.2 == 0), "{sent:?}");
    assert_eq!(duo.messages(Side::Server).len(), 6);
}

#[test]
fn a_lost_fragment_of_one_message_does_not_hold_up_another_stream() {
    let config = interleaving().with(|config| config.streams.scheduler = SchedulerKind::RoundRobin);
    let mut duo = Duo::connected(1, &[good_link()], config);
    lose_first(&mut duo, Side::Client, ChunkType::I_DATA, 1);
    for stream in 0..2 {
        duo.send(Side::Client, numbered(stream, u32::from(stream), 2 * FULL));
    }
    duo.run_for(25 * MILLISECOND);
    assert_eq!(duo.numbers(Side::Server), [1]);
    duo.run_for(5 * SECOND);
    assert_eq!(duo.numbers(Side::Server), [1, 0]);
}

/// RFC 8260 section 4.1: "the lower-order 16 bits of the MID are used as the SSN". It was zero for
/// unordered messages.
#[test]
fn regression_unordered_messages_showed_no_number() {
    let mut peer = connected();
    let unordered = |data| IData { unordered: true, ..data };
    deliver(&mut peer, &[whole(0, 0), unordered(whole(1, 0x1_0005))]);
    peer.deliver(&[forward(2, &[skipped(0, true, 0x1_0006)])]);
    deliver(&mut peer, &[unordered(whole(3, 0x1_0006)), unordered(whole(4, 0x1_0007))]);
    let told: Vec<_> = peer.read().iter().map(|m| (m.ordered, m.ssn.0)).collect();
    assert_eq!(told, [(true, 0), (false, 5), (false, 7)], "6 was skipped");
}

/// RFC 8260 section 2.2.2: "The sender MUST NOT process (move user data into I-DATA chunks and
/// assign a TSN to it) more than one user message in any given stream at any time."
#[test]
fn messages_of_one_stream_never_interleave_whatever_their_order_and_lifetimes() {
    for seed in 0..20 {
        let config =
            interleaving().with(|config| config.streams.scheduler = SchedulerKind::RoundRobin);
        let mut duo = Duo::connected(seed, &[link(2, 10, 0.05)], config);
        let tap = Wiretap::on(&mut duo);
        for number in 0..40 {
            let lifetime = Duration::from_millis(20 + u64::from(number) * 10);
            let reliability = match number % 3 {
                0 => Reliability::Reliable,
                1 => Reliability::Lifetime(lifetime),
                _ => Reliability::MaxRetransmissions(0),
            };
            let message = numbered((number / 4 % 3) as u16, number, 4_000);
            let ordered = number % 2 == 0;
            duo.send(Side::Client, OutgoingMessage { reliability, ordered, ..message });
            duo.run_for(Duration::from_millis(5));
        }
        duo.run_for(20 * SECOND);
        let mut chunks = Vec::new();
        for sent in tap.of(Side::Client, ChunkType::I_DATA) {
            for chunk in sent.chunks() {
                let Chunk::IData(data) = chunk else { continue };
                chunks.push((data.tsn.0, (data.stream.0, data.unordered, data.mid.0)));
            }
        }
        let first = chunks[0].0;
        chunks.sort_unstable_by_key(|(tsn, _)| tsn.wrapping_sub(first));
        chunks.dedup();
        let mut current = std::collections::BTreeMap::new();
        let mut over = std::collections::BTreeSet::new();
        for (tsn, message) in chunks {
            let before = current.insert(message.0, message);
            over.extend(before.filter(|before| *before != message));
            assert!(!over.contains(&message), "seed {seed}, TSN {tsn}: {message:?} goes on");
        }
        assert!(over.len() > 20, "seed {seed}");
    }
}
