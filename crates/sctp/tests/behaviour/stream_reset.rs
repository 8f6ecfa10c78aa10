//! Streams that begin anew (RFC 6525).

use std::time::Duration;

use anabranch_sctp::{
    AssociationConfig, Direction, Event, OutgoingMessage, Reliability, ResetError,
};
use anabranch_wire::{
    AddStreamsRequest, Chunk, ChunkType, ErrorCause, IncomingSsnResetRequest, Items,
    OutgoingSsnResetRequest, Parameter, Parameters, ReConfig, ReconfigurationResponse,
    ReconfigurationResult, Ssn, StreamId, Tsn,
};

use crate::harness::{Duo, Side, good_link, link, numbered};
use crate::packets::{Wiretap, lose_first};
use crate::raw_peer::{FIRST_TSN, RawPeer, TAG, WINDOW, causes_of, data, init};

/// A raw peer that understands RE-CONFIG.
pub(crate) fn peer() -> RawPeer {
    peer_of(AssociationConfig::default())
}

pub(crate) fn peer_of(config: AssociationConfig) -> RawPeer {
    let mut peer = RawPeer::facing_listener(config);
    let types = [ChunkType::RE_CONFIG, ChunkType::FORWARD_TSN];
    let mut parameters = Vec::new();
    Parameter::SupportedExtensions(Items::from_slice(&types)).encode(&mut parameters);
    peer.call_with(init(TAG, &parameters));
    assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ACK]]);
    peer
}

pub(crate) fn re_config(peer: &mut RawPeer, parameters: &[Parameter<'_>]) {
    let mut bytes = Vec::new();
    parameters.iter().for_each(|parameter| parameter.encode(&mut bytes));
    peer.deliver(&[Chunk::ReConfig(ReConfig { parameters: Parameters::from_bytes(&bytes) })]);
}

/// The peer's wish to reset streams of its own.
fn outgoing(number: u32, last_assigned: u32, streams: &[StreamId]) -> Parameter<'_> {
    Parameter::OutgoingSsnResetRequest(OutgoingSsnResetRequest {
        request_sequence_number: number,
        response_sequence_number: 0,
        last_assigned_tsn: Tsn(last_assigned),
        streams: Items::from_slice(streams),
    })
}

fn incoming(number: u32, streams: &[StreamId]) -> Parameter<'_> {
    Parameter::IncomingSsnResetRequest(IncomingSsnResetRequest {
        request_sequence_number: number,
        streams: Items::from_slice(streams),
    })
}

pub(crate) fn response(number: u32, result: ReconfigurationResult) -> Parameter<'static> {
    Parameter::ReconfigurationResponse(ReconfigurationResponse {
        response_sequence_number: number,
        result,
        next_tsns: None,
    })
}

/// What the endpoint asked for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    number: u32,
    response_number: u32,
    last_assigned: Tsn,
    streams: Vec<StreamId>,
}

/// The results that the endpoint sent since the last call, and its requests.
fn take(peer: &mut RawPeer) -> (Vec<(u32, ReconfigurationResult)>, Vec<Request>) {
    let (mut results, mut requests) = (Vec::new(), Vec::new());
    for sent in peer.take() {
        for chunk in sent.chunks() {
            let Chunk::ReConfig(chunk) = chunk else { continue };
            for parameter in chunk.parameters.iter().map(Result::unwrap) {
                if let Parameter::ReconfigurationResponse(response) = parameter {
                    results.push((response.response_sequence_number, response.result));
                } else if let Parameter::OutgoingSsnResetRequest(request) = parameter {
                    requests.push(Request {
                        number: request.request_sequence_number,
                        response_number: request.response_sequence_number,
                        last_assigned: request.last_assigned_tsn,
                        streams: request.streams.iter().collect(),
                    });
                }
            }
        }
    }
    (results, requests)
}

/// The answers that the endpoint sent since the last call.
fn responses(peer: &mut RawPeer) -> Vec<ReconfigurationResponse> {
    let mut responses = Vec::new();
    for chunk in peer.take().iter().flat_map(crate::packets::Sent::chunks) {
        let Chunk::ReConfig(chunk) = chunk else { continue };
        for parameter in chunk.parameters.iter().map(Result::unwrap) {
            if let Parameter::ReconfigurationResponse(response) = parameter {
                responses.push(response);
            }
        }
    }
    responses
}

fn resets(events: &[&Event]) -> Vec<(Direction, Vec<StreamId>)> {
    let reset = |event: &&Event| {
        let Event::StreamsReset { direction, streams } = event else { return None };
        Some((*direction, streams.clone()))
    };
    events.iter().filter_map(reset).collect()
}

const STREAM: [StreamId; 1] = [StreamId(0)];

#[test]
fn a_reset_stream_counts_from_zero_on_both_sides() {
    let mut duo = Duo::connected(1, &[good_link()], AssociationConfig::default());
    for number in 0..3 {
        duo.send(Side::Client, numbered(0, number, 100));
    }
    duo.act(Side::Client, |a, now| a.reset_streams(now, &STREAM)).unwrap();
    duo.send(Side::Client, numbered(0, 3, 100));
    duo.run_for(Duration::from_secs(5));
    assert_eq!(duo.numbers(Side::Server), [0, 1, 2, 3]);
    let ssns: Vec<_> = duo.messages(Side::Server).iter().map(|message| message.ssn).collect();
    assert_eq!(ssns, [Ssn(0), Ssn(1), Ssn(2), Ssn(0)]);
    for (side, direction) in
        [(Side::Client, Direction::Outgoing), (Side::Server, Direction::Incoming)]
    {
        let events: Vec<_> = duo.events(side).iter().collect();
        assert_eq!(resets(&events), [(direction, STREAM.to_vec())], "{side:?}");
    }
}

#[test]
fn a_stream_is_reset_after_all_of_it_was_delivered_whatever_is_lost() {
    let mut duo = Duo::connected(5, &[link(5, 20, 0.2)], AssociationConfig::default());
    for number in 0..40 {
        duo.send(Side::Client, numbered(0, number, 3_000));
        duo.send(Side::Client, numbered(1, 1_000 + number, 3_000));
    }
    duo.act(Side::Client, |a, now| a.reset_streams(now, &STREAM)).unwrap();
    for number in 40..50 {
        duo.send(Side::Client, numbered(0, number, 3_000));
    }
    let is_done = |duo: &Duo| duo.messages(Side::Server).len() == 90;
    assert!(duo.run_until(Duration::from_secs(900), is_done));
    let order: Vec<_> = duo.numbers(Side::Server).into_iter().filter(|n| *n < 1_000).collect();
    assert_eq!(order, (0..50).collect::<Vec<_>>());
}

#[test]
fn a_lost_request_is_sent_again_after_the_rto_with_the_same_number() {
    let mut duo = Duo::connected(1, &[good_link()], AssociationConfig::default());
    let wiretap = Wiretap::on(&mut duo);
    lose_first(&mut duo, Side::Client, ChunkType::RE_CONFIG, 2);
    duo.act(Side::Client, |a, now| a.reset_streams(now, &STREAM)).unwrap();
    duo.run_for(Duration::from_secs(10));
    let times = wiretap.times(Side::Client, ChunkType::RE_CONFIG);
    let [first, second, third] = times[..] else { panic!("{times:?}") };
    assert_eq!([second - first, third - second], [1_000, 2_000], "doubled at every expiration");
    let sent = wiretap.of(Side::Client, ChunkType::RE_CONFIG);
    let [first, .., last] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(first.chunks()[0], last.chunks()[0]);
    let events: Vec<_> = duo.events(Side::Server).iter().collect();
    assert_eq!(resets(&events).len(), 1);
}

#[test]
fn a_lost_answer_is_given_again_and_the_stream_is_reset_once() {
    let mut duo = Duo::connected(1, &[good_link()], AssociationConfig::default());
    lose_first(&mut duo, Side::Server, ChunkType::RE_CONFIG, 1);
    duo.act(Side::Client, |a, now| a.reset_streams(now, &STREAM)).unwrap();
    duo.run_for(Duration::from_secs(10));
    for side in [Side::Client, Side::Server] {
        let events: Vec<_> = duo.events(side).iter().collect();
        assert_eq!(resets(&events).len(), 1, "{side:?}");
    }
}

#[test]
fn a_peer_that_answers_nothing_counts_as_lost() {
    let mut peer = peer();
    peer.act(|a, now| a.reset_streams(now, &STREAM)).unwrap();
    peer.run_for(Duration::from_secs(3_600));
    assert_eq!(peer.close_reason(), Some(anabranch_sctp::CloseReason::PeerUnreachable));
}

#[test]
fn one_request_is_in_flight_and_streams_that_are_not_at_rest_wait_for_the_next() {
    let mut peer = peer();
    let first = peer.tsn_of(1);
    peer.act(|a, now| a.reset_streams(now, &STREAM)).unwrap();
    let request = |number, last_assigned, streams: &[StreamId]| Request {
        number,
        response_number: FIRST_TSN - 1,
        last_assigned,
        streams: streams.to_vec(),
    };
    let before = peer.tsn_of(0);
    assert_eq!(take(&mut peer).1, [request(first.0, before, &STREAM)]);
    peer.send(numbered(1, 0, 100));
    peer.act(|a, now| a.reset_streams(now, &[StreamId(1)])).unwrap();
    re_config(&mut peer, &[response(first.0, ReconfigurationResult::PERFORMED)]);
    assert_eq!(take(&mut peer).1, [], "stream 1 has a message that is not acknowledged");
    peer.act(|a, now| a.reset_streams(now, &STREAM)).unwrap();
    peer.acknowledge(1, &[], WINDOW);
    let both = [StreamId(0), StreamId(1)];
    assert_eq!(take(&mut peer).1, [request(first.next().0, first, &both)]);
    peer.act(|a, now| a.reset_streams(now, &[StreamId(2)])).unwrap();
    assert_eq!(take(&mut peer).1, [], "the second request is not answered");
    re_config(&mut peer, &[response(first.next().0, ReconfigurationResult::PERFORMED)]);
    assert_eq!(take(&mut peer).1, [request(first.next().next().0, first, &[StreamId(2)])]);
}

#[test]
fn a_message_that_is_given_up_does_not_keep_its_stream_from_being_reset() {
    let mut duo = Duo::connected(3, &[good_link()], AssociationConfig::default());
    lose_first(&mut duo, Side::Client, ChunkType::DATA, 1);
    let reliability = Reliability::MaxRetransmissions(0);
    duo.send(Side::Client, OutgoingMessage { reliability, ..numbered(0, 0, 100) });
    duo.act(Side::Client, |a, now| a.reset_streams(now, &STREAM)).unwrap();
    duo.send(Side::Client, numbered(0, 1, 100));
    duo.run_for(Duration::from_secs(10));
    assert_eq!(duo.numbers(Side::Server), [1]);
    assert_eq!(duo.messages(Side::Server)[0].ssn, Ssn(0));
}

#[test]
fn a_refused_reset_leaves_the_stream_as_it_was() {
    let mut peer = peer();
    peer.act(|a, now| a.reset_streams(now, &STREAM)).unwrap();
    let (_, requests) = take(&mut peer);
    peer.send(numbered(0, 7, 100));
    assert!(peer.take().is_empty(), "it waits for the answer");
    re_config(&mut peer, &[response(requests[0].number, ReconfigurationResult::DENIED)]);
    let refused =
        Event::ResetRefused { streams: STREAM.to_vec(), result: ReconfigurationResult::DENIED };
    assert!(peer.events().contains(&&refused));
    assert_eq!(peer.take_types(), [[ChunkType::DATA]]);
}

#[test]
fn in_progress_is_asked_again_without_counting_as_an_error() {
    let mut peer = peer();
    peer.act(|a, now| a.reset_streams(now, &STREAM)).unwrap();
    let number = take(&mut peer).1[0].number;
    for _ in 0..20 {
        re_config(&mut peer, &[response(number, ReconfigurationResult::IN_PROGRESS)]);
        peer.run_for(Duration::from_millis(1_000));
        assert_eq!(take(&mut peer).1[0].number, number);
    }
    assert_eq!(peer.stats().paths[0].error_count, 0);
}

#[test]
fn the_peers_reset_waits_for_what_it_sent_before() {
    let mut peer = peer();
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0)), Chunk::Data(data(FIRST_TSN + 2, 2))]);
    peer.take();
    re_config(&mut peer, &[outgoing(FIRST_TSN, FIRST_TSN + 2, &STREAM)]);
    assert_eq!(take(&mut peer).0, [(FIRST_TSN, ReconfigurationResult::IN_PROGRESS)]);
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 3, 0))]);
    assert_eq!(peer.read().len(), 1, "the new life of the stream waits");
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 1, 1))]);
    assert_eq!(take(&mut peer).0, [(FIRST_TSN, ReconfigurationResult::PERFORMED)]);
    let ssns: Vec<_> = peer.read().iter().map(|message| message.ssn.0).collect();
    assert_eq!(ssns, [1, 2, 0]);
    assert_eq!(resets(&peer.events()), [(Direction::Incoming, STREAM.to_vec())]);
    re_config(&mut peer, &[outgoing(FIRST_TSN, FIRST_TSN + 2, &STREAM)]);
    assert_eq!(take(&mut peer).0, [(FIRST_TSN, ReconfigurationResult::PERFORMED)]);
    assert_eq!(resets(&peer.events()).len(), 1, "the request was a retransmission");
}

#[test]
fn requests_are_answered_with_a_sack_and_by_their_sequence_numbers() {
    let mut peer = peer();
    re_config(&mut peer, &[outgoing(FIRST_TSN + 1, FIRST_TSN - 1, &STREAM)]);
    let bad = ReconfigurationResult::BAD_SEQUENCE_NUMBER;
    assert_eq!(take(&mut peer).0, [(FIRST_TSN + 1, bad)]);
    re_config(&mut peer, &[outgoing(FIRST_TSN, FIRST_TSN - 1, &[StreamId(8)])]);
    assert_eq!(peer.take_types(), [[ChunkType::RE_CONFIG, ChunkType::SACK]]);
    re_config(&mut peer, &[outgoing(FIRST_TSN, FIRST_TSN - 1, &STREAM)]);
    let wrong = ReconfigurationResult::WRONG_SSN;
    assert_eq!(take(&mut peer).0, [(FIRST_TSN, wrong)], "as the first time");
}

#[test]
fn the_peer_may_ask_for_a_reset_of_our_streams() {
    let mut peer = peer();
    re_config(&mut peer, &[incoming(FIRST_TSN, &[StreamId(2)])]);
    let (results, requests) = take(&mut peer);
    assert_eq!(results, [(FIRST_TSN, ReconfigurationResult::IN_PROGRESS)]);
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((request.response_number, &request.streams[..]), (FIRST_TSN, &[StreamId(2)][..]));
    // The same again, while ours is under way.
    re_config(&mut peer, &[incoming(FIRST_TSN + 1, &[StreamId(2)])]);
    let nothing = ReconfigurationResult::NOTHING_TO_DO;
    assert_eq!(take(&mut peer).0, [(FIRST_TSN + 1, nothing)]);
    re_config(&mut peer, &[response(request.number, ReconfigurationResult::PERFORMED)]);
    assert_eq!(resets(&peer.events()), [(Direction::Outgoing, vec![StreamId(2)])]);
    re_config(&mut peer, &[incoming(FIRST_TSN, &[StreamId(2)])]);
    assert_eq!(take(&mut peer).0, [(FIRST_TSN, ReconfigurationResult::PERFORMED)]);
}

#[test]
fn the_peer_may_add_streams_up_to_our_limit_and_no_tsns_are_reset() {
    let mut peer = peer();
    let add = |number, new_streams| {
        let request = AddStreamsRequest { request_sequence_number: number, new_streams };
        Parameter::AddOutgoingStreamsRequest(request)
    };
    // It began with 8; 64 are our limit.
    re_config(&mut peer, &[add(FIRST_TSN, 56)]);
    assert_eq!(take(&mut peer).0, [(FIRST_TSN, ReconfigurationResult::PERFORMED)]);
    peer.deliver(&[Chunk::Data(anabranch_wire::Data {
        stream: StreamId(63),
        ..data(FIRST_TSN, 0)
    })]);
    assert_eq!(peer.read().len(), 1);
    re_config(&mut peer, &[add(FIRST_TSN + 1, 1)]);
    let reset = Parameter::SsnTsnResetRequest { request_sequence_number: FIRST_TSN + 2 };
    re_config(&mut peer, &[reset]);
    let denied = ReconfigurationResult::DENIED;
    assert_eq!(take(&mut peer).0, [(FIRST_TSN + 1, denied), (FIRST_TSN + 2, denied)]);
}

#[test]
fn parameters_that_may_not_stand_together_are_a_protocol_violation() {
    let mut peer = peer();
    let request = outgoing(FIRST_TSN, FIRST_TSN - 1, &STREAM);
    re_config(&mut peer, &[request, outgoing(FIRST_TSN + 1, FIRST_TSN - 1, &STREAM)]);
    let sent = peer.take();
    assert_eq!(sent[0].types(), [ChunkType::ERROR]);
    let causes = causes_of(&sent[0].chunks()[0]);
    assert!(matches!(causes[..], [ErrorCause::ProtocolViolation(_)]), "{causes:?}");
    assert_eq!(resets(&peer.events()), []);
}

#[test]
fn without_the_peers_support_nothing_is_asked_and_nothing_answered() {
    let mut peer = RawPeer::connected(AssociationConfig::default());
    let refused = peer.act(|a, now| a.reset_streams(now, &STREAM));
    assert_eq!(refused, Err(ResetError::NotSupported));
    re_config(&mut peer, &[outgoing(FIRST_TSN, FIRST_TSN - 1, &STREAM)]);
    assert!(peer.take().is_empty());
}

#[test]
fn a_stream_that_does_not_exist_cannot_be_reset() {
    let mut peer = peer();
    let refused = peer.act(|a, now| a.reset_streams(now, &[StreamId(8)]));
    assert_eq!(refused, Err(ResetError::InvalidStream { stream: 8, last: 7 }));
    peer.act(|a, now| a.shutdown(now));
    let refused = peer.act(|a, now| a.reset_streams(now, &STREAM));
    assert_eq!(refused, Err(ResetError::NotEstablished));
}

/// Nothing was reset, and no error told so.
#[test]
fn regression_resetting_no_stream_reset_none_instead_of_all() {
    let mut duo = Duo::connected(1, &[good_link()], AssociationConfig::default());
    let all: Vec<_> = (0..16).map(StreamId).collect();
    all.iter().for_each(|stream| duo.send(Side::Client, numbered(stream.0, 0, 100)));
    duo.act(Side::Client, |a, now| a.reset_streams(now, &[])).unwrap();
    all.iter().for_each(|stream| duo.send(Side::Client, numbered(stream.0, 1, 100)));
    duo.run_for(Duration::from_secs(5));
    let ssns: Vec<_> = duo.messages(Side::Server).iter().map(|message| message.ssn).collect();
    assert_eq!(ssns, [Ssn(0); 32]);
    let events: Vec<_> = duo.events(Side::Client).iter().collect();
    assert_eq!(resets(&events), [(Direction::Outgoing, all)]);
}

/// RFC 6525 section 5.1.7, D3 and D4.
#[test]
fn regression_answers_to_resets_of_tsns_lacked_the_next_tsns() {
    let mut peer = peer();
    peer.send(numbered(0, 0, 100));
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0))]);
    let next_tsn = peer.tsn_of(2);
    let reset = |number| Parameter::SsnTsnResetRequest { request_sequence_number: number };
    let expected = |number, result| {
        let next_tsns = Some((next_tsn, Tsn((FIRST_TSN + 1).wrapping_add(1 << 31))));
        ReconfigurationResponse { response_sequence_number: number, result, next_tsns }
    };
    let (denied, bad) = (ReconfigurationResult::DENIED, ReconfigurationResult::BAD_SEQUENCE_NUMBER);
    for (number, result) in [(FIRST_TSN, denied), (FIRST_TSN, denied), (FIRST_TSN + 9, bad)] {
        peer.take();
        re_config(&mut peer, &[reset(number)]);
        assert_eq!(responses(&mut peer), [expected(number, result)]);
    }
    peer.take();
    re_config(&mut peer, &[outgoing(FIRST_TSN + 1, FIRST_TSN, &STREAM)]);
    assert_eq!(responses(&mut peer)[0].next_tsns, None, "only of TSNs");
}
