//! Setting an association up: four packets, and what happens when one of them is lost.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CloseReason, Event, PathId, SendError};
use anabranch_wire::{Chunk, ChunkType, ErrorCause, Parameter, ParameterType, VerificationTag};

use crate::harness::{Duo, Side, good_link, numbered};
use crate::packets::{Wiretap, lose_first};
use crate::raw_peer::{RawPeer, TAG, causes_of, init, init_ack};

const MINUTE: Duration = Duration::from_secs(60);

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

fn connecting() -> (Duo, Wiretap) {
    let mut duo = Duo::new(1, &[good_link()], default());
    let tap = Wiretap::on(&mut duo);
    (duo, tap)
}

fn is_connected(duo: &Duo) -> bool {
    duo.is_established(Side::Client) && duo.is_established(Side::Server)
}

/// Connects while the first `count` chunks of a kind get lost.
fn connected_despite(side: Side, ty: ChunkType, count: u32) -> (Duo, Wiretap) {
    let (mut duo, tap) = connecting();
    lose_first(&mut duo, side, ty, count);
    duo.connect();
    assert!(duo.run_until(MINUTE, is_connected), "connects");
    (duo, tap)
}

fn connections(duo: &Duo, side: Side) -> usize {
    duo.events(side).iter().filter(|event| matches!(event, Event::Connected { .. })).count()
}

#[test]
fn four_packets_in_two_round_trips_make_an_association() {
    let (mut duo, tap) = connecting();
    duo.connect();
    duo.run_until(MINUTE, is_connected);
    assert_eq!(duo.now().as_millis(), 40, "two round trips of 20 ms");
    let expected = [
        (Side::Client, vec![ChunkType::INIT]),
        (Side::Server, vec![ChunkType::INIT_ACK]),
        (Side::Client, vec![ChunkType::COOKIE_ECHO]),
        (Side::Server, vec![ChunkType::COOKIE_ACK]),
    ];
    assert_eq!(tap.exchange(), expected);
    let connected =
        |incoming| Event::Connected { incoming, outbound_streams: 16, partial_reliability: true };
    assert_eq!(duo.events(Side::Client), [connected(false)]);
    assert_eq!(duo.events(Side::Server), [connected(true)]);
}

#[test]
fn lost_init_is_recovered_by_t1_init() {
    let (_, tap) = connected_despite(Side::Client, ChunkType::INIT, 3);
    assert_eq!(tap.times(Side::Client, ChunkType::INIT), [0, 1_000, 3_000, 7_000]);
    let inits = tap.of(Side::Client, ChunkType::INIT);
    assert!(inits.iter().all(|init| init.bytes == inits[0].bytes), "the same INIT each time");
}

#[test]
fn lost_init_ack_is_recovered_by_t1_init() {
    let (duo, tap) = connected_despite(Side::Server, ChunkType::INIT_ACK, 1);
    assert_eq!(tap.times(Side::Server, ChunkType::INIT_ACK), [10, 1_010]);
    assert_eq!(duo.pair.server().associations().count(), 1);
}

#[test]
fn lost_cookie_echo_is_recovered_by_t1_cookie() {
    let (_, tap) = connected_despite(Side::Client, ChunkType::COOKIE_ECHO, 2);
    assert_eq!(tap.times(Side::Client, ChunkType::COOKIE_ECHO), [20, 1_020, 3_020]);
}

#[test]
fn lost_cookie_ack_is_recovered_by_t1_cookie_and_the_server_keeps_its_association() {
    let (duo, tap) = connected_despite(Side::Server, ChunkType::COOKIE_ACK, 1);
    assert_eq!(tap.times(Side::Server, ChunkType::COOKIE_ACK), [30, 1_030]);
    assert_eq!(duo.pair.server().associations().count(), 1);
    assert_eq!(connections(&duo, Side::Server), 1);
}

#[test]
fn messages_wait_for_the_handshake() {
    let (mut duo, tap) = connecting();
    lose_first(&mut duo, Side::Client, ChunkType::INIT, 1);
    duo.connect();
    (0..3).for_each(|number| duo.send(Side::Client, numbered(0, number, 100)));
    duo.run_for(MINUTE);
    assert_eq!(duo.numbers(Side::Server), [0, 1, 2]);
    assert_eq!(tap.times(Side::Client, ChunkType::DATA), [1_020], "with the COOKIE ECHO");
}

#[test]
fn data_goes_with_the_cookie_echo_and_nothing_else_does_before_the_cookie_ack() {
    let (mut duo, tap) = connecting();
    duo.connect();
    (0..8).for_each(|number| duo.send(Side::Client, numbered(0, number, 500)));
    duo.run_for(MINUTE);
    let exchange = tap.exchange();
    let (side, types) = &exchange[2];
    assert_eq!((*side, types[0]), (Side::Client, ChunkType::COOKIE_ECHO));
    assert_eq!(types[1..], [ChunkType::DATA; 2], "as many as fit into this packet");
    assert_eq!(exchange[3], (Side::Server, vec![ChunkType::COOKIE_ACK, ChunkType::SACK]));
    assert_eq!(duo.numbers(Side::Server), (0..8).collect::<Vec<_>>());
    assert_eq!(duo.stats(Side::Client).streams.chunks_retransmitted, 0);
}

#[test]
fn data_that_was_lost_with_a_cookie_echo_goes_with_the_next_one() {
    for config in [default(), AssociationConfig::media()] {
        let mut duo = Duo::new(1, &[good_link()], config);
        let tap = Wiretap::on(&mut duo);
        lose_first(&mut duo, Side::Client, ChunkType::COOKIE_ECHO, 2);
        duo.connect();
        duo.send(Side::Client, numbered(0, 0, 500));
        duo.run_for(MINUTE);
        let with_data = |sent: &crate::packets::Sent| sent.types()[1..] == [ChunkType::DATA];
        let echoes = tap.of(Side::Client, ChunkType::COOKIE_ECHO);
        assert_eq!((echoes.len(), echoes.iter().all(with_data)), (3, true));
        assert_eq!(duo.numbers(Side::Server), [0]);
        assert_eq!(duo.path(Side::Client, 0).counters.timeouts, 0, "T3-rtx is not for that");
    }
}

#[test]
fn media_resend_a_handshake_at_a_steady_pace_at_first() {
    let mut duo = Duo::new(1, &[good_link()], AssociationConfig::media());
    let tap = Wiretap::on(&mut duo);
    duo.pair.cut(0);
    duo.connect();
    assert_eq!(duo.run_until_closed(Side::Client), CloseReason::HandshakeTimeout);
    let times = tap.times(Side::Client, ChunkType::INIT);
    assert!(times[..18].iter().copied().eq((0..18).map(|n| n * 60)), "{times:?}");
    assert_eq!(times[18..22], [1_140, 1_380, 1_860, 2_820]);
    assert_eq!((times.len(), duo.now().as_millis()), (27, 8_820));
}

#[test]
fn the_second_half_of_a_handshake_is_resent_after_the_round_trip_that_the_first_half_took() {
    // RTO is three times the first round trip. Where T1 is steady, it is a quarter more than one,
    // and the delay of a SACK.
    for (t1_steady, resent) in [(0, 100 + 300), (16, 100 + 125 + 20)] {
        let config = AssociationConfig::media().with(|config| {
            config.timers.t1_initial = Duration::from_millis(125);
            config.timers.t1_steady = t1_steady;
        });
        let mut duo = Duo::new(1, &[crate::harness::link(20, 50, 0.0)], config);
        let tap = Wiretap::on(&mut duo);
        lose_first(&mut duo, Side::Client, ChunkType::COOKIE_ECHO, 1);
        duo.connect();
        duo.run_for(MINUTE);
        let times = tap.times(Side::Client, ChunkType::COOKIE_ECHO);
        assert_eq!(times[..2], [100, resent], "{t1_steady}");
    }
}

#[test]
fn nine_of_ten_calls_over_a_path_that_loses_a_tenth_take_under_400_ms_and_none_fails() {
    let mut times: Vec<_> = (0..100)
        .map(|seed| {
            let link = crate::harness::link(20, 25, 0.1);
            let mut duo = Duo::new(seed, &[link], AssociationConfig::media());
            duo.connect();
            assert!(duo.run_until(MINUTE, |duo| duo.is_established(Side::Client)), "seed {seed}");
            duo.now().as_millis()
        })
        .collect();
    times.sort_unstable();
    assert!(times[90] <= 400, "{times:?}");
}

#[test]
fn a_peer_that_never_answers_is_given_up_after_max_init_retransmits() {
    let (mut duo, tap) = connecting();
    duo.pair.cut(0);
    duo.connect();
    assert_eq!(duo.run_until_closed(Side::Client), CloseReason::HandshakeTimeout);
    let seconds = [0, 1, 3, 7, 15, 31, 63, 123, 183];
    assert_eq!(tap.times(Side::Client, ChunkType::INIT), seconds.map(|s| s * 1_000));
    assert_eq!(duo.now().as_millis(), 243_000);
    assert_eq!(duo.pair.client().associations().count(), 0, "nothing is kept");
}

#[test]
fn connecting_over_a_dead_first_path_takes_the_second() {
    let mut duo = Duo::new(1, &[good_link(), good_link()], default());
    duo.pair.cut(0);
    duo.connect();
    duo.send(Side::Client, numbered(0, 7, 100));
    assert!(duo.run_until(MINUTE, is_connected));
    assert_eq!(duo.now().as_millis(), 1_040, "one expiry of T1-init, two round trips");
    duo.run_until(MINUTE, |duo| !duo.messages(Side::Server).is_empty());
    assert_eq!(duo.now().as_millis(), 1_040, "data does not try the dead path first");
    assert!(duo.path(Side::Client, 1).is_current);
}

#[test]
fn a_first_path_that_comes_back_after_the_handshake_is_taken_again() {
    let mut duo = Duo::new(1, &[good_link(), good_link()], default());
    duo.pair.cut(0);
    duo.connect();
    duo.run_until(MINUTE, is_connected);
    duo.pair.restore(0);
    duo.run_for(MINUTE);
    assert!(duo.path(Side::Client, 0).is_current);
    let back = Event::DataPathChanged { from: PathId(1), to: PathId(0) };
    assert!(duo.events(Side::Client).contains(&back));
}

#[test]
fn an_endpoint_that_does_not_listen_refuses() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init(TAG, &[]))]);
    let sent = peer.take();
    assert_eq!(sent[0].tag(), TAG);
    let [Chunk::Abort(abort)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
    assert!(!abort.tag_reflected, "the tag is the one that the INIT announced");
    assert_eq!(peer.endpoint.stats().inits_refused, 1);
}

#[test]
fn a_refused_caller_learns_it_at_once() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], default());
    let causes = crate::raw_peer::cause(ErrorCause::OutOfResource);
    let abort = anabranch_wire::Abort {
        tag_reflected: false,
        causes: anabranch_wire::ErrorCauses::from_bytes(&causes),
    };
    peer.deliver(&[Chunk::Abort(abort)]);
    let reason = peer.close_reason().expect("closed");
    assert_eq!(reason.to_string(), "the peer aborted the association: out of resources");
}

#[test]
fn streams_are_negotiated_down_to_what_the_other_side_takes() {
    let config = default().with(|config| {
        config.streams.outbound_streams = 10;
        config.streams.inbound_streams_max = 4;
    });
    let mut duo = Duo::new(1, &[good_link()], config);
    duo.connect();
    duo.send(Side::Client, numbered(3, 0, 50));
    duo.send(Side::Client, numbered(4, 1, 50));
    duo.run_for(MINUTE);
    assert_eq!(duo.numbers(Side::Server), [0], "stream 4 does not exist");
    assert_eq!(duo.stats(Side::Client).streams.abandoned_unsent, 1);
    for side in [Side::Client, Side::Server] {
        let connected = duo
            .events(side)
            .iter()
            .any(|e| matches!(e, Event::Connected { outbound_streams: 4, .. }));
        assert!(connected, "{side:?}");
        let refused = duo.act(side, |association, now| association.send(now, numbered(4, 0, 9)));
        assert_eq!(refused, Err(SendError::InvalidStream { stream: 4, last: 3 }));
    }
}

#[test]
fn an_init_ack_announces_no_more_streams_than_the_caller_takes() {
    let config = default().with(|config| config.streams.outbound_streams = 100);
    let mut peer = RawPeer::facing_listener(config);
    peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init(TAG, &[]))]);
    let sent = peer.take();
    let [Chunk::InitAck(init_ack)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
    assert_eq!(init_ack.outbound_streams, 8, "RFC 9260 section 3.3.3: not above the INIT's MIS");
}

/// What INIT and INIT ACK may not hold, and the cause that the ABORT names.
fn unusable() -> Vec<(&'static str, anabranch_wire::Init<'static>, Vec<ErrorCause<'static>>)> {
    const HOST_NAME: &[u8] = &[0, 11, 0, 8, b'a', b'.', b'b', 0];
    let plain = || init(TAG, &[]);
    let invalid = || vec![ErrorCause::InvalidMandatoryParameter];
    vec![
        ("no outbound streams", anabranch_wire::Init { outbound_streams: 0, ..plain() }, invalid()),
        ("no inbound streams", anabranch_wire::Init { inbound_streams: 0, ..plain() }, invalid()),
        ("a window under 1500", anabranch_wire::Init { a_rwnd: 1_499, ..plain() }, invalid()),
        ("a host name", init(TAG, HOST_NAME), vec![ErrorCause::UnresolvableAddress(HOST_NAME)]),
    ]
}

#[test]
fn an_init_that_cannot_be_used_is_refused_with_its_fault_and_leaves_no_state() {
    for (fault, init, causes) in unusable() {
        let mut peer = RawPeer::facing_listener(default());
        peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init)]);
        let sent = peer.take();
        assert_eq!((sent.len(), sent[0].tag()), (1, TAG), "{fault}");
        assert_eq!(causes_of(&sent[0].chunks()[0]), causes, "{fault}");
        assert_eq!(peer.endpoint.associations().count(), 0, "{fault}");
    }
}

#[test]
fn an_init_ack_that_cannot_be_used_ends_the_attempt_with_an_abort() {
    for (fault, init, causes) in unusable() {
        let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
        let path = peer.path;
        peer.let_it_call(&[path], default());
        let mut parameters = Vec::new();
        Parameter::StateCookie(b"cookie").encode(&mut parameters);
        init.parameters.iter().for_each(|p| p.expect("ours").encode(&mut parameters));
        let parameters = anabranch_wire::Parameters::from_bytes(&parameters);
        peer.deliver(&[Chunk::InitAck(init_ack(anabranch_wire::Init { parameters, ..init }))]);
        let sent = peer.take();
        assert_eq!((sent.len(), sent[0].tag()), (1, TAG), "{fault}");
        assert_eq!(causes_of(&sent[0].chunks()[0]), causes, "{fault}");
        assert!(matches!(peer.close_reason(), Some(CloseReason::PeerMisbehaved { .. })), "{fault}");
    }
}

#[test]
fn an_init_with_a_zero_tag_or_beside_another_chunk_gets_no_answer() {
    let mut peer = RawPeer::facing_listener(default());
    let zero = VerificationTag(0);
    peer.deliver_as(peer.path, zero, &[Chunk::Init(init(zero, &[]))]);
    peer.deliver_as(peer.path, zero, &[Chunk::Init(init(TAG, &[])), Chunk::CookieAck]);
    peer.deliver_as(peer.path, TAG, &[Chunk::Init(init(TAG, &[]))]);
    assert!(peer.take().is_empty());
    assert_eq!(peer.endpoint.stats().malformed, 3);
}

#[test]
fn an_init_ack_with_a_zero_tag_ends_the_attempt_with_a_reflected_abort() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], default());
    let tag = peer.tag;
    peer.deliver(&[Chunk::InitAck(init_ack(init(VerificationTag(0), &[])))]);
    let sent = peer.take();
    let [Chunk::Abort(abort)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
    assert!(abort.tag_reflected && sent[0].tag() == tag, "the T bit, and the tag that came in");
    assert!(matches!(peer.close_reason(), Some(CloseReason::PeerMisbehaved { .. })));
}

#[test]
fn an_init_ack_without_a_cookie_is_answered_with_what_is_missing() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], default());
    peer.deliver(&[Chunk::InitAck(init_ack(init(TAG, &[])))]);
    let sent = peer.take();
    let causes = causes_of(&sent[0].chunks()[0]).len();
    let chunks = sent[0].chunks();
    let [ErrorCause::MissingMandatoryParameter { missing }] = causes_of(&chunks[0])[..] else {
        panic!("{chunks:?}")
    };
    assert_eq!((causes, missing.iter().next()), (1, Some(ParameterType::STATE_COOKIE)));
}

/// 0xc123: skip and report; 0x8123: skip; 0x4123: stop and report; 0x0123: stop.
fn unknown_parameters() -> [(Vec<u8>, bool, bool); 4] {
    let known_after = [0xc0, 0, 0, 4]; // Forward-TSN-Supported
    [(0xc1, true, true), (0x81, false, true), (0x41, true, false), (0x01, false, false)].map(
        |(first, reported, goes_on)| {
            let mut bytes = vec![first, 0x23, 0, 5, 7, 0, 0, 0];
            bytes.extend(known_after);
            (bytes, reported, goes_on)
        },
    )
}

#[test]
fn unknown_parameters_of_an_init_are_skipped_or_reported_by_their_upper_bits() {
    for (parameters, reported, goes_on) in unknown_parameters() {
        let mut peer = RawPeer::facing_listener(default());
        peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init(TAG, &parameters))]);
        let sent = peer.take();
        let [Chunk::InitAck(init_ack)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
        let reports: Vec<_> = init_ack
            .parameters
            .iter()
            .filter_map(|parameter| match parameter {
                Ok(Parameter::UnrecognizedParameter(raw)) => Some(raw),
                _ => None,
            })
            .collect();
        let expected: &[&[u8]] = if reported { &[&parameters[..5]] } else { &[] };
        assert_eq!(reports, expected, "whole, without its padding");
        peer.call(&parameters);
        let partial = |e: &&Event| matches!(e, Event::Connected { partial_reliability: true, .. });
        assert_eq!(peer.events().iter().any(partial), goes_on, "{parameters:x?}");
    }
}

#[test]
fn several_unknown_parameters_are_reported_one_by_one() {
    let parameters = [0xc1, 0x23, 0, 5, 7, 0, 0, 0, 0xc1, 0x24, 0, 4];
    let mut peer = RawPeer::facing_listener(default());
    peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init(TAG, &parameters))]);
    let sent = peer.take();
    let [Chunk::InitAck(init_ack)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
    let reports = init_ack.parameters.iter().filter_map(Result::ok);
    let reports: Vec<_> = reports
        .filter(|parameter| parameter.ty() == ParameterType::UNRECOGNIZED_PARAMETER)
        .collect();
    let expected = [&parameters[..5], &parameters[8..]].map(Parameter::UnrecognizedParameter);
    assert_eq!(reports, expected);
}

/// RFC 3758 section 3.3.2: who does not support FORWARD TSN treats the parameter as unknown.
#[test]
fn regression_forward_tsn_supported_was_not_reported_by_one_without_partial_reliability() {
    let without = || default().with(|config| config.extensions.partial_reliability = false);
    let mut parameter = Vec::new();
    Parameter::ForwardTsnSupported.encode(&mut parameter);
    let offer = [&[0xc1, 0x23, 0, 5, 7, 0, 0, 0], &parameter[..]].concat();
    let reports = |config| {
        let mut peer = RawPeer::facing_listener(config);
        peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init(TAG, &offer))]);
        let sent = peer.take();
        let [Chunk::InitAck(init_ack)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
        let report = |parameter| match parameter {
            Ok(Parameter::UnrecognizedParameter(raw)) => Some(raw.to_vec()),
            _ => None,
        };
        init_ack.parameters.iter().filter_map(report).collect::<Vec<_>>()
    };
    assert_eq!(reports(default()), [&offer[..5]]);
    assert_eq!(reports(without()), [&offer[..5], &parameter[..]]);
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], without());
    peer.answer_init(&parameter);
    let sent = peer.take();
    assert_eq!(sent[0].types(), [ChunkType::COOKIE_ECHO, ChunkType::ERROR]);
    let unrecognized = ErrorCause::UnrecognizedParameters(&parameter);
    assert_eq!(causes_of(&sent[0].chunks()[1]), [unrecognized]);
}

#[test]
fn unknown_parameters_of_an_init_ack_are_reported_behind_the_cookie_echo() {
    for (parameters, reported, goes_on) in unknown_parameters() {
        let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
        let path = peer.path;
        peer.let_it_call(&[path], default());
        peer.answer_init(&parameters);
        let sent = peer.take();
        let mut expected = vec![ChunkType::COOKIE_ECHO];
        expected.extend(reported.then_some(ChunkType::ERROR));
        assert_eq!(sent.iter().flat_map(crate::packets::Sent::types).collect::<Vec<_>>(), expected);
        if reported {
            let unrecognized = ErrorCause::UnrecognizedParameters(&parameters[..5]);
            assert_eq!(causes_of(&sent[0].chunks()[1]), [unrecognized]);
        }
        peer.deliver(&[Chunk::CookieAck]);
        let partial = |e: &&Event| matches!(e, Event::Connected { partial_reliability: true, .. });
        assert_eq!(peer.events().iter().any(partial), goes_on, "{parameters:x?}");
    }
}

#[test]
fn the_first_data_of_an_association_is_acknowledged_at_once() {
    let mut peer = RawPeer::connected(default());
    peer.deliver(&[Chunk::Data(crate::raw_peer::data(crate::raw_peer::FIRST_TSN, 0))]);
    assert_eq!(peer.take_types(), [[ChunkType::SACK]]);
}

#[test]
fn data_beside_the_cookie_echo_is_taken_and_acknowledged_behind_the_cookie_ack() {
    let mut peer = RawPeer::facing_listener(default());
    let cookie = peer.fetch_cookie(TAG, &[]);
    let echo = anabranch_wire::CookieEcho { cookie: &cookie };
    let data = crate::raw_peer::data(crate::raw_peer::FIRST_TSN, 0);
    peer.deliver(&[Chunk::CookieEcho(echo), Chunk::Data(data)]);
    assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ACK, ChunkType::SACK]]);
    assert_eq!(peer.read().len(), 1);
}

#[test]
fn setup_chunks_that_come_again_later_change_nothing() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], default());
    peer.answer_init(&[]);
    peer.answer_init(&[]);
    let echoes = peer.take_types();
    assert_eq!(echoes, [[ChunkType::COOKIE_ECHO]], "the second INIT ACK is discarded");
    peer.deliver(&[Chunk::CookieAck]);
    peer.deliver(&[Chunk::CookieAck]);
    peer.answer_init(&[]);
    assert!(peer.is_established() && peer.take().is_empty());
    let connected = peer.events().iter().filter(|e| matches!(e, Event::Connected { .. })).count();
    assert_eq!(connected, 1);
}
