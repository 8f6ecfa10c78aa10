//! Streams that are added to an association (RFC 6525 sections 5.1.5, 5.1.6, 5.2.5 to 5.2.7).

use std::time::Duration;

use anabranch_sctp::{AddStreamsError, AssociationConfig, Direction, Event, SendError};
use anabranch_wire::{
    AddStreamsRequest, Chunk, ChunkType, Parameter, ReconfigurationResult, Ssn, StreamId,
};

use crate::harness::{Duo, Side, good_link, numbered};
use crate::packets::{Wiretap, lose_first};
use crate::raw_peer::{FIRST_TSN, RawPeer};
use crate::stream_reset::{peer, peer_of, re_config, response};

const PERFORMED: ReconfigurationResult = ReconfigurationResult::PERFORMED;

/// A request of 16 streams and 64 at most from the other side, which may have us go up to 20.
fn config() -> AssociationConfig {
    AssociationConfig::default().with(|config| config.streams.outbound_streams_max = 20)
}

fn connected() -> Duo {
    Duo::connected(1, &[good_link()], config())
}

/// Which streams were added on a side, and which requests for some were refused.
fn told(events: &[Event]) -> Vec<(Direction, u16, String)> {
    let mut told = Vec::new();
    for event in events {
        if let Event::StreamsAdded { direction, streams } = event {
            told.push((*direction, *streams, "added".to_owned()));
        } else if let Event::AddInProgress { direction, streams } = event {
            told.push((*direction, *streams, "in progress".to_owned()));
        } else if let Event::AddRefused { direction, streams, result } = event {
            told.push((*direction, *streams, result.to_string()));
        }
    }
    told
}

fn told_peer(peer: &RawPeer) -> Vec<(Direction, u16, String)> {
    let events: Vec<Event> = peer.events().into_iter().cloned().collect();
    told(&events)
}

/// A request to add streams: whose, its number, how many.
type Asked = (Direction, u32, u16);

fn asked(parameter: &Parameter<'_>) -> Option<Asked> {
    let of = |direction, request: &AddStreamsRequest| {
        (direction, request.request_sequence_number, request.new_streams)
    };
    if let Parameter::AddOutgoingStreamsRequest(request) = parameter {
        Some(of(Direction::Outgoing, request))
    } else if let Parameter::AddIncomingStreamsRequest(request) = parameter {
        Some(of(Direction::Incoming, request))
    } else {
        None
    }
}

/// What the endpoint asked for since the last call, and the results that it told.
fn take(peer: &mut RawPeer) -> (Vec<Asked>, Vec<(u32, ReconfigurationResult)>) {
    let (mut requests, mut results) = (Vec::new(), Vec::new());
    for chunk in peer.take().iter().flat_map(crate::packets::Sent::chunks) {
        let Chunk::ReConfig(chunk) = chunk else { continue };
        for parameter in chunk.parameters.iter().map(Result::unwrap) {
            requests.extend(asked(&parameter));
            if let Parameter::ReconfigurationResponse(response) = parameter {
                results.push((response.response_sequence_number, response.result));
            }
        }
    }
    (requests, results)
}

fn request(direction: Direction, number: u32, new_streams: u16) -> Parameter<'static> {
    let request = AddStreamsRequest { request_sequence_number: number, new_streams };
    match direction {
        Direction::Outgoing => Parameter::AddOutgoingStreamsRequest(request),
        Direction::Incoming => Parameter::AddIncomingStreamsRequest(request),
    }
}

#[test]
fn streams_of_ours_carry_messages_once_the_peer_agreed() {
    let mut duo = connected();
    duo.act(Side::Client, |a, now| a.add_streams(now, 4, 0)).unwrap();
    let early = duo.act(Side::Client, |a, now| a.send(now, numbered(16, 0, 100)));
    assert_eq!(early, Err(SendError::InvalidStream { stream: 16, last: 15 }));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(told(duo.events(Side::Client)), [(Direction::Outgoing, 4, "added".to_owned())]);
    assert_eq!(told(duo.events(Side::Server)), [(Direction::Incoming, 4, "added".to_owned())]);
    for number in [1, 2] {
        duo.send(Side::Client, numbered(19, number, 100));
    }
    duo.run_for(Duration::from_secs(1));
    let read = duo.messages(Side::Server).iter();
    let read: Vec<_> = read.map(|message| (message.stream, message.ssn)).collect();
    assert_eq!(read, [(StreamId(19), Ssn(0)), (StreamId(19), Ssn(1))]);
    let [client, server] = [Side::Client, Side::Server].map(|side| duo.association(side).unwrap());
    assert_eq!((client.outbound_streams(), server.inbound_streams()), (20, 20));
}

#[test]
fn streams_of_the_peer_are_added_if_it_has_no_lower_limit() {
    let mut duo = connected();
    duo.act(Side::Client, |a, now| a.add_streams(now, 0, 4)).unwrap();
    duo.run_for(Duration::from_secs(1));
    assert_eq!(told(duo.events(Side::Client)), [(Direction::Incoming, 4, "added".to_owned())]);
    assert_eq!(told(duo.events(Side::Server)), [(Direction::Outgoing, 4, "added".to_owned())]);
    duo.send(Side::Server, numbered(19, 7, 100));
    duo.act(Side::Client, |a, now| a.add_streams(now, 0, 1)).unwrap();
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.numbers(Side::Client), [7]);
    assert_eq!(
        told(duo.events(Side::Client))[1..],
        [(Direction::Incoming, 1, "Denied".to_owned())]
    );
    assert_eq!(duo.association(Side::Server).unwrap().outbound_streams(), 20);
}

#[test]
fn what_we_ask_for_ourselves_is_above_our_own_limit() {
    let wide = config().with(|config| config.streams.outbound_streams_max = 100);
    let mut duo = Duo::of_two(1, &[good_link()], config(), wide);
    duo.connect();
    duo.run_for(Duration::from_secs(1));
    duo.act(Side::Client, |a, now| a.add_streams(now, 0, 84)).unwrap();
    duo.run_for(Duration::from_secs(1));
    assert_eq!(told(duo.events(Side::Client)), [(Direction::Incoming, 84, "added".to_owned())]);
    assert_eq!(duo.association(Side::Client).unwrap().inbound_streams(), 100);
}

#[test]
fn a_peer_that_refuses_leaves_the_streams_as_they_were() {
    let mut duo = connected();
    duo.act(Side::Client, |a, now| a.add_streams(now, 49, 5)).unwrap();
    duo.run_for(Duration::from_secs(1));
    let refused = [
        (Direction::Outgoing, 49, "Denied".to_owned()),
        (Direction::Incoming, 5, "Denied".to_owned()),
    ];
    assert_eq!(told(duo.events(Side::Client)), refused, "64 and 20 are its limits");
    let client = duo.association(Side::Client).unwrap();
    assert_eq!((client.outbound_streams(), client.inbound_streams()), (16, 16));
}

#[test]
fn lost_requests_and_answers_come_again_and_streams_are_added_once() {
    for (side, count) in [(Side::Client, 2), (Side::Server, 2)] {
        let mut duo = connected();
        let wiretap = Wiretap::on(&mut duo);
        lose_first(&mut duo, side, ChunkType::RE_CONFIG, count);
        duo.act(Side::Client, |a, now| a.add_streams(now, 4, 2)).unwrap();
        duo.run_for(Duration::from_secs(20));
        let added = [
            (Direction::Outgoing, 4, "added".to_owned()),
            (Direction::Incoming, 2, "added".to_owned()),
        ];
        assert_eq!(told(duo.events(Side::Client)), added, "{side:?}");
        let client = duo.association(Side::Client).unwrap();
        assert_eq!((client.outbound_streams(), client.inbound_streams()), (20, 18), "{side:?}");
        let sent = wiretap.of(Side::Client, ChunkType::RE_CONFIG);
        assert_eq!(sent[0].chunks()[0], sent[1].chunks()[0], "{side:?}");
    }
}

#[test]
fn one_request_is_under_way_at_a_time() {
    let mut peer = peer();
    let first = peer.tsn_of(1).0;
    peer.act(|a, now| a.add_streams(now, 2, 3)).unwrap();
    assert_eq!(take(&mut peer).0, [(Direction::Outgoing, first, 2)]);
    peer.act(|a, now| a.add_streams(now, 1, 0)).unwrap();
    peer.act(|a, now| a.reset_streams(now, &[StreamId(0)])).unwrap();
    assert_eq!(take(&mut peer).0, []);
    re_config(&mut peer, &[response(first, PERFORMED)]);
    assert_eq!(take(&mut peer).0, [(Direction::Outgoing, first + 1, 1)]);
    re_config(&mut peer, &[response(first + 1, PERFORMED)]);
    assert_eq!(take(&mut peer).0, [(Direction::Incoming, first + 2, 3)]);
    assert_eq!(peer.association().unwrap().outbound_streams(), 8 + 3);
}

#[test]
fn in_progress_is_told_and_asked_again_without_counting_as_an_error() {
    let mut peer = peer();
    let number = peer.tsn_of(1).0;
    peer.act(|a, now| a.add_streams(now, 2, 0)).unwrap();
    take(&mut peer);
    re_config(&mut peer, &[response(number, ReconfigurationResult::IN_PROGRESS)]);
    peer.run_for(Duration::from_secs(1));
    assert_eq!(take(&mut peer).0, [(Direction::Outgoing, number, 2)]);
    assert_eq!(peer.stats().paths[0].error_count, 0);
    re_config(&mut peer, &[response(number, PERFORMED)]);
    let told = told_peer(&peer);
    let whats: Vec<_> = told.iter().map(|(_, _, what)| what.as_str()).collect();
    assert_eq!(whats, ["in progress", "added"]);
}

/// Linux answers by the request alone (RFC 6525 section 5.2.6).
#[test]
fn the_peers_request_answers_ours_for_streams_of_its_own() {
    let mut peer = peer();
    let number = peer.tsn_of(1).0;
    peer.act(|a, now| a.add_streams(now, 0, 3)).unwrap();
    assert_eq!(take(&mut peer).0, [(Direction::Incoming, number, 3)]);
    re_config(&mut peer, &[request(Direction::Outgoing, FIRST_TSN, 3)]);
    assert_eq!(take(&mut peer).1, [(FIRST_TSN, PERFORMED)]);
    assert_eq!(told_peer(&peer), [(Direction::Incoming, 3, "added".to_owned())]);
    peer.run_for(Duration::from_secs(5));
    assert_eq!(take(&mut peer).0, [], "nothing is asked again");
}

/// Others answer by a response, too.
#[test]
fn a_response_for_streams_of_the_peer_adds_none_before_its_request() {
    let mut peer = peer();
    let number = peer.tsn_of(1).0;
    peer.act(|a, now| a.add_streams(now, 0, 3)).unwrap();
    re_config(&mut peer, &[response(number, PERFORMED)]);
    assert_eq!(told_peer(&peer), []);
    assert_eq!(peer.association().unwrap().inbound_streams(), 8);
    re_config(&mut peer, &[request(Direction::Outgoing, FIRST_TSN, 3)]);
    assert_eq!(told_peer(&peer), [(Direction::Incoming, 3, "added".to_owned())]);
}

#[test]
fn a_peer_that_wants_us_to_have_more_streams_gets_a_request_for_an_answer() {
    let mut peer = peer_of(config());
    let number = peer.tsn_of(1).0;
    let wish = [request(Direction::Incoming, FIRST_TSN, 12)];
    re_config(&mut peer, &wish);
    assert_eq!(take(&mut peer), (vec![(Direction::Outgoing, number, 12)], vec![]));
    re_config(&mut peer, &wish);
    assert_eq!(take(&mut peer), (vec![], vec![]), "it was sent again: so is ours, by its timer");
    re_config(&mut peer, &[request(Direction::Incoming, FIRST_TSN + 1, 0)]);
    let nothing = ReconfigurationResult::NOTHING_TO_DO;
    assert_eq!(take(&mut peer).1, [(FIRST_TSN + 1, nothing)]);
    re_config(&mut peer, &[response(number, PERFORMED)]);
    assert_eq!(peer.association().unwrap().outbound_streams(), 20);
    re_config(&mut peer, &wish);
    assert_eq!(take(&mut peer).1, [(FIRST_TSN, PERFORMED)], "an answer that was lost");
    re_config(&mut peer, &[request(Direction::Incoming, FIRST_TSN + 2, 1)]);
    let denied = ReconfigurationResult::DENIED;
    assert_eq!(take(&mut peer).1, [(FIRST_TSN + 2, denied)], "20 are our limit");
}

#[test]
fn a_peer_that_asks_while_we_ask_is_told_to_wait() {
    let mut peer = peer_of(config());
    peer.act(|a, now| a.add_streams(now, 0, 3)).unwrap();
    take(&mut peer);
    re_config(&mut peer, &[request(Direction::Incoming, FIRST_TSN, 2)]);
    let already = ReconfigurationResult::REQUEST_ALREADY_IN_PROGRESS;
    assert_eq!(take(&mut peer), (vec![], vec![(FIRST_TSN, already)]));
}

#[test]
fn a_request_that_cannot_be_met_says_why() {
    let mut stranger = RawPeer::connected(AssociationConfig::default());
    let refused = stranger.act(|a, now| a.add_streams(now, 1, 0));
    assert_eq!(refused, Err(AddStreamsError::NotSupported));
    let mut peer = peer();
    let refused = peer.act(|a, now| a.add_streams(now, u16::MAX - 7, 0));
    assert_eq!(refused, Err(AddStreamsError::TooMany { streams: 65_536, limit: 65_535 }));
    peer.act(|a, now| a.add_streams(now, u16::MAX - 8, 0)).unwrap();
    let refused = peer.act(|a, now| a.add_streams(now, 1, 0));
    assert_eq!(refused, Err(AddStreamsError::TooMany { streams: 65_536, limit: 65_535 }));
    peer.act(|a, now| a.shutdown(now));
    let refused = peer.act(|a, now| a.add_streams(now, 1, 0));
    assert_eq!(refused, Err(AddStreamsError::NotEstablished));
}
