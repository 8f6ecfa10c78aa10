//! Ending an association: in order, at once, and out of the blue (RFC 9260 sections 8.4, 8.5 and
//! 9).

use std::time::Duration;

use anabranch_sansio::Machine;
use anabranch_sctp::{Association, AssociationConfig, CloseReason, Event, PathId, SendError};
use anabranch_wire::{
    Abort, Chunk, ChunkType, Data, ErrorCause, ErrorCauses, ErrorChunk, Shutdown, ShutdownComplete,
    Tsn, VerificationTag,
};

use crate::harness::{Duo, Side, good_link, numbered};
use crate::packets::{Sent, Wiretap, lose_first};
use crate::raw_peer::{FIRST_TSN, RawPeer, TAG, cause, causes_of, data, tuple};

const SECOND: Duration = Duration::from_secs(1);

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

fn connected() -> (Duo, Wiretap) {
    let mut duo = Duo::connected(1, &[good_link()], default());
    let tap = Wiretap::on(&mut duo);
    (duo, tap)
}

fn shut_down(duo: &mut Duo, side: Side) {
    duo.act(side, Association::shutdown);
}

fn both_closed(duo: &mut Duo) {
    for side in [Side::Client, Side::Server] {
        assert_eq!(duo.run_until_closed(side), CloseReason::Shutdown, "{side:?}");
    }
    for endpoint in [duo.pair.client(), duo.pair.server()] {
        assert_eq!(endpoint.associations().count(), 0, "nothing is kept");
    }
}

fn shutdown(cumulative: Tsn) -> Chunk<'static> {
    Chunk::Shutdown(Shutdown { cumulative_tsn_ack: cumulative })
}

/// SHUTDOWN of a peer that received nothing.
fn shutdown_of(peer: &RawPeer) -> Chunk<'static> {
    shutdown(peer.tsn_of(0))
}

fn abort(tag_reflected: bool, causes: &[u8]) -> Chunk<'_> {
    Chunk::Abort(Abort { tag_reflected, causes: ErrorCauses::from_bytes(causes) })
}

#[test]
fn three_packets_shut_an_association_down_from_either_side() {
    for (side, other) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
        let (mut duo, tap) = connected();
        shut_down(&mut duo, side);
        both_closed(&mut duo);
        let expected = [
            (side, vec![ChunkType::SHUTDOWN]),
            (other, vec![ChunkType::SHUTDOWN_ACK]),
            (side, vec![ChunkType::SHUTDOWN_COMPLETE]),
        ];
        assert_eq!(tap.exchange(), expected);
        assert!(duo.events(other).contains(&Event::PeerClosing));
    }
}

#[test]
fn a_shutdown_delivers_what_both_sides_had_handed_over() {
    let (mut duo, _) = connected();
    for number in 0..50 {
        duo.send(Side::Client, numbered(0, number, 3_000));
        duo.send(Side::Server, numbered(0, number, 3_000));
    }
    shut_down(&mut duo, Side::Client);
    both_closed(&mut duo);
    let all: Vec<u32> = (0..50).collect();
    assert_eq!(duo.numbers(Side::Server), all);
    assert_eq!(duo.numbers(Side::Client), all);
}

#[test]
fn simultaneous_shutdowns_meet() {
    let (mut duo, tap) = connected();
    shut_down(&mut duo, Side::Client);
    shut_down(&mut duo, Side::Server);
    both_closed(&mut duo);
    for side in [Side::Client, Side::Server] {
        assert_eq!(tap.times(side, ChunkType::SHUTDOWN).len(), 1);
        assert_eq!(tap.times(side, ChunkType::SHUTDOWN_ACK).len(), 1);
    }
}

#[test]
fn a_lost_shutdown_chunk_of_any_kind_is_recovered_after_an_rto() {
    for (side, ty) in [
        (Side::Client, ChunkType::SHUTDOWN),
        (Side::Server, ChunkType::SHUTDOWN_ACK),
        (Side::Client, ChunkType::SHUTDOWN_COMPLETE),
    ] {
        let (mut duo, tap) = connected();
        duo.run_for(SECOND);
        let start = duo.now();
        lose_first(&mut duo, side, ty, 1);
        shut_down(&mut duo, Side::Client);
        both_closed(&mut duo);
        let took = (duo.now() - start).as_millis();
        assert!((1_000..1_100).contains(&took), "{ty}: {took} ms");
        assert!(tap.times(side, ty).len() >= 2, "{ty} is sent again");
    }
}

#[test]
fn a_lost_shutdown_complete_is_answered_by_an_endpoint_that_has_forgotten() {
    let (mut duo, tap) = connected();
    lose_first(&mut duo, Side::Client, ChunkType::SHUTDOWN_COMPLETE, 1);
    shut_down(&mut duo, Side::Client);
    both_closed(&mut duo);
    let sent = tap.of(Side::Client, ChunkType::SHUTDOWN_COMPLETE);
    let reflected: Vec<_> = sent
        .iter()
        .map(|sent| matches!(sent.chunks()[0], Chunk::ShutdownComplete(c) if c.tag_reflected))
        .collect();
    assert_eq!(reflected, [false, true]);
}

#[test]
fn nothing_is_taken_once_a_side_shuts_down() {
    let (mut duo, _) = connected();
    duo.send(Side::Server, numbered(0, 0, 200_000));
    shut_down(&mut duo, Side::Client);
    let refused = duo.act(Side::Client, |a, now| a.send(now, numbered(0, 0, 10)));
    assert_eq!(refused, Err(SendError::Closing));
    duo.run_for(Duration::from_millis(50));
    let refused = duo.act(Side::Server, |a, now| a.send(now, numbered(0, 1, 10)));
    assert_eq!(refused, Err(SendError::Closing), "SHUTDOWN-RECEIVED");
    both_closed(&mut duo);
    assert_eq!(duo.numbers(Side::Client), [0]);
}

#[test]
fn shutdown_is_sent_again_with_back_off_until_the_guard_ends_it() {
    let config = default().with(|config| config.timers.rto_max = 10 * SECOND);
    let mut peer = RawPeer::connected(config);
    peer.act(Association::shutdown);
    let start = peer.now;
    peer.run_for(Duration::from_secs(600));
    let sent = peer.take();
    let times = |ty| {
        let sent = sent.iter().filter(move |sent| sent.has(ty));
        sent.map(|sent| (sent.at - start).as_secs()).collect::<Vec<_>>()
    };
    assert_eq!(times(ChunkType::SHUTDOWN), [0, 1, 3, 7, 15, 25, 35, 45]);
    assert_eq!(times(ChunkType::ABORT), [50], "5 times RTO.Max");
    assert_eq!(peer.close_reason(), Some(CloseReason::ShutdownTimeout));
}

#[test]
fn a_peer_that_never_answers_shutdown_counts_as_unreachable() {
    let config = default().with(|config| config.recovery.association_max_retrans = 3);
    let mut peer = RawPeer::connected(config);
    peer.act(Association::shutdown);
    peer.run_for(Duration::from_secs(60));
    let sent = peer.take().iter().filter(|sent| sent.has(ChunkType::SHUTDOWN)).count();
    assert_eq!(sent, 4);
    assert_eq!(peer.close_reason(), Some(CloseReason::PeerUnreachable));
}

#[test]
fn a_peer_that_goes_on_sending_is_answered_with_shutdown_each_time_and_bounded_by_the_guard() {
    let config = default().with(|config| config.timers.rto_max = 10 * SECOND);
    let mut peer = RawPeer::connected(config);
    peer.act(Association::shutdown);
    peer.take();
    for number in 0..49 {
        peer.run_for(SECOND);
        peer.take();
        peer.deliver(&[Chunk::Data(data(FIRST_TSN + number, number as u16))]);
        let sent = peer.take();
        let Some(Chunk::Shutdown(shutdown)) =
            sent.iter().flat_map(Sent::chunks).find(|c| matches!(c, Chunk::Shutdown(_)))
        else {
            panic!("{sent:?}")
        };
        assert_eq!(shutdown.cumulative_tsn_ack, Tsn(FIRST_TSN + number));
        peer.read();
    }
    peer.run_for(2 * SECOND);
    assert_eq!(peer.close_reason(), Some(CloseReason::ShutdownTimeout));
}

#[test]
fn gaps_in_shutdown_sent_are_told_by_a_sack_beside_the_shutdown() {
    let mut peer = RawPeer::connected(default());
    peer.act(Association::shutdown);
    peer.take();
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 1, 1))]);
    let sent = peer.take();
    assert_eq!(sent[0].types(), [ChunkType::SHUTDOWN, ChunkType::SACK]);
    assert_eq!(sent[0].sack().expect("there").gap_ack_blocks.len(), 1);
}

#[test]
fn shutdown_received_waits_for_what_is_outstanding() {
    let mut peer = RawPeer::connected(default());
    peer.send(numbered(0, 0, 100));
    peer.send(numbered(0, 1, 100));
    peer.take();
    peer.deliver(&[shutdown_of(&peer)]);
    assert!(peer.take().is_empty());
    peer.deliver(&[shutdown(peer.tsn_of(1))]);
    assert_eq!(peer.stats().outstanding_chunks, 1, "SHUTDOWN acknowledges");
    assert!(peer.take().is_empty());
    peer.acknowledge(2, &[], 100_000);
    assert_eq!(peer.take_types(), [[ChunkType::SHUTDOWN_ACK]]);
    peer.act(Association::shutdown);
    assert!(peer.take().is_empty(), "a shutdown of our own is ignored");
    peer.deliver(&[Chunk::ShutdownComplete(ShutdownComplete { tag_reflected: false })]);
    assert_eq!(peer.close_reason(), Some(CloseReason::Shutdown));
}

#[test]
fn regression_an_abort_that_overtook_the_shutdown_complete_spoilt_an_orderly_end() {
    let mut peer = RawPeer::connected(default());
    peer.deliver(&[shutdown_of(&peer)]);
    assert_eq!(peer.take_types(), [[ChunkType::SHUTDOWN_ACK]]);
    // A heartbeat on another path found nobody there any more.
    peer.deliver_as(peer.path, TAG, &[abort(true, &[])]);
    assert_eq!(peer.close_reason(), Some(CloseReason::Shutdown));
}

#[test]
fn a_shutdown_complete_out_of_place_is_ignored() {
    let mut peer = RawPeer::connected(default());
    peer.deliver(&[Chunk::ShutdownComplete(ShutdownComplete { tag_reflected: false })]);
    peer.deliver_as(
        peer.path,
        TAG,
        &[Chunk::ShutdownComplete(ShutdownComplete { tag_reflected: true })],
    );
    assert!(peer.is_established());
    peer.deliver(&[Chunk::ShutdownAck]);
    assert!(peer.is_established(), "nor does a SHUTDOWN ACK end what nobody shut down");
}

#[test]
fn an_abort_tells_its_reason_in_words() {
    for side in [Side::Client, Side::Server] {
        let (mut duo, tap) = connected();
        duo.act(side, |association, _| association.abort("the battery is empty"));
        let other = if side == Side::Client { Side::Server } else { Side::Client };
        let reason = duo.run_until_closed(other);
        assert_eq!(duo.close_reason(side), Some(CloseReason::Aborted));
        let words = "the peer aborted the association: \
                     the application aborted: \"the battery is empty\"";
        assert_eq!(reason.to_string(), words);
        duo.run_for(10 * SECOND);
        assert_eq!(tap.exchange().len(), 1, "nobody answers an ABORT");
    }
}

#[test]
fn a_long_reason_is_cut_between_characters_and_stays_in_one_packet() {
    let mut peer = RawPeer::connected(default());
    let reason = "ä".repeat(2_000);
    peer.act(|association, _| association.abort(&reason));
    let sent = peer.take();
    assert!(sent[0].bytes.len() < 600);
    let chunks = sent[0].chunks();
    let [ErrorCause::UserInitiatedAbort(told)] = causes_of(&chunks[0])[..] else {
        panic!("{chunks:?}")
    };
    assert_eq!(std::str::from_utf8(told).map(|told| told.chars().count()), Ok(256));
}

#[test]
fn what_was_received_before_an_abort_can_be_read_after_it() {
    let mut peer = RawPeer::connected(default());
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0)), abort(false, &[])]);
    let reason = peer.close_reason().expect("closed");
    assert_eq!(reason.to_string(), "the peer aborted the association without a reason");
    assert_eq!(peer.read().len(), 1);
    assert_eq!(peer.endpoint.associations().count(), 0, "then it is gone");
}

#[test]
fn an_abort_counts_with_our_tag_or_with_the_peers_and_the_t_bit() {
    let cases = [
        (VerificationTag(1), false, false),
        (VerificationTag(1), true, false),
        (TAG, false, false),
        (TAG, true, true),
    ];
    for (tag, reflected, ends) in cases {
        let mut peer = RawPeer::connected(default());
        peer.deliver_as(peer.path, tag, &[abort(reflected, &[])]);
        assert_eq!(peer.close_reason().is_some(), ends, "{tag:?} {reflected}");
        assert!(peer.take().is_empty(), "an ABORT is never answered");
    }
    let mut peer = RawPeer::connected(default());
    peer.deliver(&[abort(true, &[])]);
    assert!(peer.is_established(), "our tag and the T bit contradict each other");
    peer.deliver(&[abort(false, &[])]);
    assert!(!peer.is_established());
}

/// What stood behind a chunk with the T bit was taken as if it had our tag.
#[test]
fn regression_chunks_behind_a_reflected_shutdown_complete_were_taken() {
    let mut peer = RawPeer::connected(default());
    let complete = Chunk::ShutdownComplete(ShutdownComplete { tag_reflected: true });
    peer.deliver_as(peer.path, TAG, &[complete, Chunk::Data(data(FIRST_TSN, 0))]);
    assert_eq!(peer.stats().chunks_received, 0);
}

#[test]
fn a_packet_with_a_wrong_tag_is_dropped_and_counted() {
    let mut peer = RawPeer::connected(default());
    for tag in [VerificationTag(0), TAG, VerificationTag(peer.tag.0 ^ 1)] {
        peer.deliver_as(peer.path, tag, &[Chunk::Data(data(FIRST_TSN, 0))]);
    }
    assert!(peer.take().is_empty(), "not even an ABORT: it would tell the tag's guesser something");
    assert_eq!((peer.stats().malformed, peer.stats().chunks_received), (3, 0));
}

#[test]
fn packets_out_of_the_blue_are_answered_by_rule() {
    let stale = cause(ErrorCause::StaleCookie { measure_us: 1 });
    let other = cause(ErrorCause::OutOfResource);
    let error = |causes| Chunk::Error(ErrorChunk { causes: ErrorCauses::from_bytes(causes) });
    let cases: [(&str, Vec<Chunk<'_>>, Option<ChunkType>); 9] = [
        ("2", vec![abort(false, &[])], None),
        ("2", vec![Chunk::Data(data(1, 0)), abort(false, &[])], None),
        ("5", vec![Chunk::ShutdownAck], Some(ChunkType::SHUTDOWN_COMPLETE)),
        ("6", vec![Chunk::ShutdownComplete(ShutdownComplete { tag_reflected: false })], None),
        ("7", vec![error(&stale)], None),
        ("7", vec![Chunk::CookieAck], None),
        ("8", vec![error(&other)], Some(ChunkType::ABORT)),
        ("8", vec![Chunk::Data(data(1, 0))], Some(ChunkType::ABORT)),
        ("8", vec![shutdown(Tsn(1))], Some(ChunkType::ABORT)),
    ];
    for (rule, chunks, answer) in cases {
        let mut peer = RawPeer::facing_listener(default());
        let tag = VerificationTag(0x1234);
        peer.deliver_as(peer.path, tag, &chunks);
        let sent = peer.take();
        let types: Vec<_> = sent.iter().flat_map(Sent::types).collect();
        assert_eq!(types, Vec::from_iter(answer), "rule {rule}: {chunks:?}");
        for sent in &sent {
            assert_eq!(sent.tag(), tag, "rule {rule}: reflected");
            let (Chunk::Abort(Abort { tag_reflected, .. })
            | Chunk::ShutdownComplete(ShutdownComplete { tag_reflected })) = sent.chunks()[0]
            else {
                panic!("rule {rule}: {sent:?}")
            };
            assert!(tag_reflected, "rule {rule}");
        }
        assert_eq!(peer.endpoint.stats().out_of_the_blue, 1);
        assert_eq!(peer.endpoint.associations().count(), 0);
    }
}

#[test]
fn packets_from_many_at_once_get_no_answer() {
    let mut peer = RawPeer::facing_listener(default());
    for remote in ["224.0.0.1:9", "255.255.255.255:9", "0.0.0.0:9"] {
        let path = tuple("10.0.0.2:9899", remote);
        peer.deliver_as(path, VerificationTag(1), &[Chunk::Data(data(1, 0))]);
    }
    assert!(peer.take().is_empty());
}

#[test]
fn answers_out_of_the_blue_are_bounded() {
    let mut peer = RawPeer::facing_listener(default());
    for _ in 0..5_000 {
        peer.deliver_as(peer.path, VerificationTag(1), &[Chunk::Data(data(1, 0))]);
    }
    assert_eq!(peer.take().len(), 1_000, "those of one second");
    assert_eq!(peer.endpoint.stats().replies_suppressed, 4_000);
}

#[test]
fn an_association_that_the_peer_has_forgotten_ends_with_its_first_packet() {
    let (mut duo, _) = connected();
    let server = duo.id(Side::Server).expect("one");
    duo.pair.act_server(|endpoint, _| endpoint.forget(server)).expect("quiet");
    duo.act(Side::Client, |a, now| a.send(now, numbered(0, 0, 10))).expect("taken");
    let reason = duo.run_until_closed(Side::Client);
    let CloseReason::AbortedByPeer { causes } = reason else { panic!("{reason}") };
    assert!(causes.is_empty(), "it knows nothing of it: {causes}");
    assert!(duo.now().as_millis() < 1_000, "at once");
}

#[test]
fn a_user_that_gives_up_in_the_handshake_tells_the_peer_if_it_can() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], default());
    peer.answer_init(&[]);
    peer.take();
    peer.act(Association::shutdown);
    assert_eq!(peer.take_types(), [[ChunkType::ABORT]], "the peer may be established already");
    assert_eq!(peer.close_reason(), Some(CloseReason::Aborted));
}

#[test]
fn data_that_was_lost_before_a_shutdown_is_delivered_first() {
    let (mut duo, _) = connected();
    lose_first(&mut duo, Side::Client, ChunkType::DATA, 2);
    (0..5).for_each(|number| duo.send(Side::Client, numbered(0, number, 1_000)));
    shut_down(&mut duo, Side::Client);
    both_closed(&mut duo);
    assert_eq!(duo.numbers(Side::Server), (0..5).collect::<Vec<_>>());
}

#[test]
fn the_last_data_before_a_shutdown_asks_for_its_sack_at_once() {
    let mut peer = RawPeer::connected(default());
    peer.send(numbered(0, 0, 100));
    peer.acknowledge(1, &[], 1_000);
    peer.act(|association, now| {
        association.send(now, numbered(0, 1, 100)).expect("taken");
        association.shutdown(now);
    });
    let sent = peer.take();
    let last = sent.iter().flat_map(Sent::data).last().expect("sent");
    assert!(matches!(last, Data { immediate: true, .. }));
}

#[test]
fn regression_heartbeats_put_off_a_lost_shutdown_until_it_was_given_up() {
    let config = AssociationConfig::media().with(|config| {
        config.timers.heartbeat_interval = Duration::from_millis(100);
        config.timers.rto_min = Duration::from_millis(500);
    });
    let mut duo = Duo::connected(1, &[good_link()], config);
    lose_first(&mut duo, Side::Client, ChunkType::SHUTDOWN, 1);
    let begun = duo.now();
    shut_down(&mut duo, Side::Client);
    both_closed(&mut duo);
    assert!(duo.now() - begun < SECOND, "{:?}", duo.now() - begun);
}

#[test]
fn regression_data_over_another_path_kept_a_shutdown_on_the_dead_one() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], default());
    duo.run_for(SECOND);
    assert!(duo.act(Side::Server, |association, _| association.set_primary(PathId(1))));
    duo.pair.cut(0);
    shut_down(&mut duo, Side::Client);
    for number in 0..10 {
        let send = |association: &mut Association, now| {
            association.send(now, numbered(0, number, 100)).is_ok()
        };
        if duo.close_reason(Side::Client).is_none() {
            duo.act(Side::Server, send);
        }
        duo.run_for(SECOND / 2);
    }
    assert_eq!(duo.close_reason(Side::Client), Some(CloseReason::Shutdown));
}

/// It was answered as out of the blue: who guessed no tag could make us talk to the peer.
#[test]
fn regression_a_shutdown_ack_with_a_wrong_tag_was_answered() {
    let mut peer = RawPeer::connected(default());
    peer.act(Association::shutdown);
    peer.take();
    for tag in [VerificationTag(0), TAG, VerificationTag(peer.tag.0 ^ 1)] {
        peer.deliver_as(peer.path, tag, &[Chunk::ShutdownAck]);
    }
    assert!(peer.take().is_empty());
    assert_eq!((peer.close_reason(), peer.stats().malformed), (None, 3));
    peer.deliver(&[Chunk::ShutdownAck]);
    assert_eq!(peer.take_types(), [[ChunkType::SHUTDOWN_COMPLETE]]);
    assert_eq!(peer.close_reason(), Some(CloseReason::Shutdown));
}

/// It was not kept and yet answered with a SACK.
#[test]
fn regression_data_in_shutdown_received_was_answered() {
    let mut peer = RawPeer::connected(default());
    peer.send(numbered(0, 0, 100));
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0)), shutdown_of(&peer)]);
    assert_eq!(peer.take_sack().map(|report| report.cumulative), Some(FIRST_TSN));
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 1, 1)), Chunk::Data(data(FIRST_TSN + 2, 2))]);
    peer.run_for(SECOND / 2);
    assert!(peer.take().is_empty());
    assert_eq!(peer.read().len(), 1, "what came before the SHUTDOWN");
    peer.acknowledge(1, &[], 100_000);
    assert_eq!(peer.take_types(), [[ChunkType::SHUTDOWN_ACK]]);
}

/// The guard of the SHUTDOWN's sender ran at its receiver, too.
#[test]
fn regression_a_shutdown_ack_was_given_up_before_its_retransmissions_were_exhausted() {
    let config = default().with(|config| {
        config.timers.rto_max = SECOND;
        config.recovery.association_max_retrans = 8;
    });
    let mut peer = RawPeer::connected(config);
    let start = peer.now;
    peer.deliver(&[shutdown_of(&peer)]);
    peer.run_for(60 * SECOND);
    let sent = peer.take();
    let times: Vec<_> = sent.iter().map(|sent| (sent.at - start).as_secs()).collect();
    assert!(sent.iter().all(|sent| sent.types() == [ChunkType::SHUTDOWN_ACK]), "{sent:?}");
    assert_eq!(times, (0..=8).collect::<Vec<_>>());
    assert_eq!(peer.close_reason(), Some(CloseReason::PeerUnreachable));
}

#[test]
fn a_sender_of_shutdown_that_acknowledges_one_keeps_its_guard() {
    let config = default().with(|config| {
        config.timers.rto_max = SECOND;
        config.recovery.association_max_retrans = 8;
    });
    let mut peer = RawPeer::connected(config);
    peer.act(Association::shutdown);
    peer.run_for(SECOND / 2);
    peer.deliver(&[shutdown_of(&peer)]);
    peer.run_for(60 * SECOND);
    let abort = peer.take().into_iter().find(|sent| sent.has(ChunkType::ABORT));
    assert_eq!(abort.map(|sent| (sent.at - anabranch_sansio::Time::ZERO).as_secs()), Some(5));
    assert_eq!(peer.close_reason(), Some(CloseReason::ShutdownTimeout));
}

/// What was handed over was dropped.
#[test]
fn regression_a_shutdown_before_the_handshake_was_done_lost_what_was_sent() {
    for (side, lost) in [
        (Side::Client, ChunkType::INIT),
        (Side::Server, ChunkType::INIT_ACK),
        (Side::Client, ChunkType::COOKIE_ECHO),
        (Side::Server, ChunkType::COOKIE_ACK),
    ] {
        for count in 0..2 {
            let mut duo = Duo::new(1, &[good_link()], default());
            lose_first(&mut duo, side, lost, count);
            duo.connect();
            (0..3).for_each(|number| duo.send(Side::Client, numbered(0, number, 5_000)));
            shut_down(&mut duo, Side::Client);
            let refused = duo.act(Side::Client, |a, now| a.send(now, numbered(0, 3, 10)));
            assert_eq!(refused, Err(SendError::Closing));
            both_closed(&mut duo);
            assert_eq!(duo.numbers(Side::Server), [0, 1, 2], "{lost} lost {count} times");
        }
    }
}

#[test]
fn a_shutdown_is_remembered_when_the_cookie_is_stale() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], default());
    peer.answer_init(&[]);
    peer.send(numbered(0, 0, 100));
    peer.act(Association::shutdown);
    let stale = cause(ErrorCause::StaleCookie { measure_us: 1 });
    peer.deliver(&[Chunk::Error(ErrorChunk { causes: ErrorCauses::from_bytes(&stale) })]);
    peer.answer_init(&[]);
    peer.deliver(&[Chunk::CookieAck]);
    peer.acknowledge(1, &[], 100_000);
    assert_eq!(peer.take_types().last(), Some(&vec![ChunkType::SHUTDOWN]));
}

/// The association was gone to the network as soon as its end was told, and what came before its
/// ABORT was written had an answer without a reason in front of it.
#[test]
fn regression_a_packet_that_crossed_an_abort_took_its_reason_away() {
    let mut peer = RawPeer::connected(default());
    let id = peer.endpoint.associations().next().expect("it is connected");
    peer.endpoint.association_mut(id).expect("it is there").abort("enough");
    while Machine::poll_event(&mut peer.endpoint).is_some() {}
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0))]);
    let sent = peer.take();
    let [only] = &sent[..] else { panic!("one ABORT, not {sent:?}") };
    let [Chunk::Abort(Abort { tag_reflected, causes })] = only.chunks()[..] else {
        panic!("an ABORT, not {only:?}")
    };
    assert!(!tag_reflected && causes.iter().count() == 1, "with its reason");
}
