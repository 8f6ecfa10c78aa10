//! What a user is told of messages, calls and ends, and may ask for.

use std::time::Duration;

use anabranch_sctp::{
    AssociationConfig, AssociationState, CallFilter, CloseReason, EndpointConfig, Event,
    OutgoingMessage, Reliability, SendError, SendFailure,
};
use anabranch_wire::{Chunk, ChunkType, ErrorCause, ErrorCauses, ErrorChunk, StreamId};
use bytes::Bytes;

use crate::harness::{Duo, PORTS, Side, good_link, numbered};
use crate::packets::Sent;
use crate::raw_peer::{RawPeer, TAG, cause, init};

const SECOND: Duration = Duration::from_secs(1);

fn connected() -> Duo {
    Duo::connected(1, &[good_link()], AssociationConfig::media())
}

fn with_context(
    context: u64,
    reliability: Reliability,
    message: OutgoingMessage,
) -> OutgoingMessage {
    OutgoingMessage { context: Some(context), reliability, ..message }
}

/// Context, whether a part was sent, and the reason of each message that was not delivered.
fn failures(duo: &Duo) -> Vec<(u64, bool, SendFailure)> {
    let failed = |event: &Event| {
        let Event::SendFailed { context, was_sent, why, .. } = *event else { return None };
        Some((context, was_sent, why))
    };
    duo.events(Side::Client).iter().filter_map(failed).collect()
}

fn count_dry(duo: &Duo) -> usize {
    duo.events(Side::Client).iter().filter(|event| **event == Event::SenderDry).count()
}

#[test]
fn a_message_that_is_given_up_is_reported_once_with_its_context() {
    let mut duo = connected();
    duo.pair.cut(0);
    let brief = Reliability::Lifetime(Duration::from_millis(50));
    duo.send(Side::Client, with_context(7, brief, numbered(0, 0, 5_000)));
    duo.send(Side::Client, with_context(8, Reliability::MaxRetransmissions(0), numbered(1, 1, 9)));
    duo.send(Side::Client, OutgoingMessage { reliability: brief, ..numbered(2, 2, 9) });
    duo.run_for(2 * SECOND);
    let mut failed = failures(&duo);
    failed.sort_by_key(|failure| failure.0);
    assert_eq!(failed, [(7, true, SendFailure::Expired), (8, true, SendFailure::Retransmissions)]);
}

#[test]
fn a_message_that_expires_in_the_queue_was_not_sent() {
    let mut duo = connected();
    duo.pair.cut(0);
    for number in 0..100 {
        duo.send(Side::Client, numbered(0, number, 1_300));
    }
    let brief = Reliability::Lifetime(Duration::from_millis(50));
    duo.send(Side::Client, with_context(7, brief, numbered(1, 100, 9)));
    duo.run_for(SECOND);
    duo.act(Side::Client, |association, now| association.withdraw(now, StreamId(1)));
    duo.run_for(SECOND);
    assert_eq!(failures(&duo), [(7, false, SendFailure::Expired)]);
}

#[test]
fn what_is_not_delivered_when_an_association_ends_is_reported_before_its_end() {
    let mut duo = connected();
    duo.send(Side::Client, with_context(1, Reliability::Reliable, numbered(0, 0, 100)));
    duo.run_for(SECOND);
    duo.pair.cut(0);
    for number in 1..40 {
        let message = numbered(0, number, 5_000);
        duo.send(Side::Client, with_context(number.into(), Reliability::Reliable, message));
    }
    duo.run_for(SECOND);
    duo.act(Side::Client, |association, _| association.abort("enough"));
    duo.run_for(SECOND);
    let failed = failures(&duo);
    let contexts: Vec<_> = failed.iter().map(|failure| failure.0).collect();
    assert_eq!(contexts, (1..40).collect::<Vec<_>>(), "each once, and not the one that arrived");
    assert!(failed.iter().all(|failure| failure.2 == SendFailure::Closed));
    assert_eq!(failed.first().map(|failure| failure.1), Some(true));
    assert_eq!(failed.last().map(|failure| failure.1), Some(false));
    assert!(matches!(duo.events(Side::Client).last(), Some(Event::Closed { .. })));
}

#[test]
fn a_sender_is_dry_when_all_is_acknowledged_and_says_so_once() {
    let mut duo = connected();
    duo.send(Side::Client, numbered(0, 0, 50_000));
    duo.run_for(SECOND);
    assert_eq!(count_dry(&duo), 0, "nobody asked");
    duo.act(Side::Client, |association, _| association.report_when_dry());
    duo.run_for(SECOND);
    assert_eq!(count_dry(&duo), 1, "RFC 6458 section 6.1.9: at once if there is nothing to send");
    duo.pair.cut(0);
    duo.send(Side::Client, numbered(0, 1, 50_000));
    duo.act(Side::Client, |association, _| association.report_when_dry());
    duo.run_for(SECOND);
    assert_eq!(count_dry(&duo), 1, "it is not acknowledged");
    duo.pair.restore(0);
    duo.run_for(5 * SECOND);
    duo.send(Side::Client, numbered(0, 2, 100));
    duo.run_for(SECOND);
    assert_eq!(count_dry(&duo), 2);
}

#[test]
fn a_message_can_ask_for_an_acknowledgement_at_once() {
    let mut peer = RawPeer::connected(AssociationConfig::default());
    let immediate = |peer: &mut RawPeer, message| {
        peer.send(message);
        let sent = peer.take();
        let data: Vec<_> = sent.iter().flat_map(Sent::data).collect();
        data.iter().map(|data| data.immediate).collect::<Vec<_>>()
    };
    assert_eq!(immediate(&mut peer, numbered(0, 0, 100)), [false]);
    let message = OutgoingMessage { sack_immediately: true, ..numbered(0, 1, 2_000) };
    assert_eq!(immediate(&mut peer, message), [false, true], "its last chunk");
}

#[test]
fn a_full_queue_gives_the_message_back() {
    let config = AssociationConfig::default().with(|config| config.buffers.send_buffer = 10_000);
    let mut peer = RawPeer::connected_with_window(config, 1_500);
    let message = |number| OutgoingMessage { context: Some(3), ..numbered(1, number, 6_000) };
    peer.send(message(0));
    let refused = peer.act(|association, now| association.send(now, message(1)));
    let Err(SendError::BufferFull { message: refused, .. }) = refused else { panic!("is full") };
    assert_eq!(*refused, message(1));
}

#[test]
fn a_listener_decides_by_port_which_calls_it_answers() {
    let answers_on = |ports: &[u16]| {
        let mut peer = RawPeer::facing(EndpointConfig {
            accept: true,
            call_filter: Some(CallFilter::ports(ports.iter().copied())),
            ..EndpointConfig::default()
        });
        peer.deliver_as(
            peer.path,
            anabranch_wire::VerificationTag(0),
            &[Chunk::Init(init(TAG, &[]))],
        );
        peer.take()[0].types()[0]
    };
    let called = answers_on(&[PORTS.0, PORTS.1]);
    assert_eq!(called, ChunkType::INIT_ACK);
    assert_eq!(answers_on(&[9]), ChunkType::ABORT);
}

#[test]
fn a_call_that_was_answered_is_refused_when_its_caller_is_no_longer_welcome() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static IS_OPEN: AtomicBool = AtomicBool::new(true);
    let filter =
        CallFilter::new(|call| call.path.remote.port() == 9_899 && IS_OPEN.load(Ordering::Relaxed));
    let mut peer = RawPeer::facing(EndpointConfig {
        accept: true,
        call_filter: Some(filter),
        ..EndpointConfig::default()
    });
    let cookie = peer.fetch_cookie(TAG, &[]);
    IS_OPEN.store(false, Ordering::Relaxed);
    let cookie = anabranch_wire::CookieEcho { cookie: &cookie };
    peer.deliver(&[Chunk::CookieEcho(cookie)]);
    assert_eq!(peer.take_types(), [[ChunkType::ABORT]]);
    assert_eq!(peer.endpoint.associations().count(), 0);
}

#[test]
fn state_ports_and_streams_of_an_association_can_be_read() {
    let mut duo = Duo::new(1, &[good_link()], AssociationConfig::default());
    duo.connect();
    let client = |duo: &Duo| {
        let association = duo.association(Side::Client).expect("exists");
        let ports = (association.local_port(), association.peer_port());
        (association.state(), ports, association.inbound_streams())
    };
    assert_eq!(client(&duo), (AssociationState::CookieWait, PORTS, 0));
    duo.run_for(SECOND);
    assert_eq!(client(&duo), (AssociationState::Established, PORTS, 16));
    assert_eq!(AssociationState::ShutdownAckSent.to_string(), "SHUTDOWN-ACK-SENT");
    duo.pair.cut(0);
    duo.send(Side::Client, OutgoingMessage::new(StreamId(0), Bytes::from_static(b"late")));
    duo.act(Side::Client, |association, now| association.shutdown(now));
    assert_eq!(client(&duo).0, AssociationState::ShutdownPending);
}

#[test]
fn the_causes_of_an_abort_are_data_as_well_as_words() {
    let mut duo = connected();
    duo.act(Side::Client, |association, _| association.abort("the film is over"));
    let reason = duo.run_until_closed(Side::Server);
    let CloseReason::AbortedByPeer { causes } = &reason else { panic!("{reason}") };
    let read: Vec<_> = causes.iter().collect();
    assert_eq!(read, [Ok(ErrorCause::UserInitiatedAbort(b"the film is over"))]);
    assert_eq!(causes.user_reason(), Some(&b"the film is over"[..]));
    assert!(reason.to_string().contains("the film is over"), "{reason}");
}

/// RFC 9260 section 11.2.6.
#[test]
fn what_the_peer_reports_as_an_error_is_told_as_data_and_ends_nothing() {
    let mut peer = RawPeer::connected(AssociationConfig::default());
    let mut causes = cause(ErrorCause::InvalidStreamIdentifier { stream: StreamId(7) });
    causes.extend(cause(ErrorCause::ProtocolViolation(b"no")));
    let report = || Chunk::Error(ErrorChunk { causes: ErrorCauses::from_bytes(&causes) });
    peer.deliver(&[report()]);
    let events = peer.events();
    let [.., Event::PeerError { causes: told }] = &events[..] else { panic!("{events:?}") };
    let told: Vec<_> = told.iter().map(Result::unwrap).collect();
    let invalid = ErrorCause::InvalidStreamIdentifier { stream: StreamId(7) };
    assert_eq!(told, [invalid, ErrorCause::ProtocolViolation(b"no")]);
    assert!(peer.is_established());
}

#[test]
fn of_a_flood_of_errors_a_bounded_number_is_told() {
    let mut peer = RawPeer::connected(AssociationConfig::default());
    let causes = cause(ErrorCause::OutOfResource);
    let report = || Chunk::Error(ErrorChunk { causes: ErrorCauses::from_bytes(&causes) });
    let many: Vec<_> = (0..40).map(|_| report()).collect();
    peer.deliver(&many);
    let told = peer.events().into_iter();
    assert_eq!(told.filter(|event| matches!(event, Event::PeerError { .. })).count(), 16);
}
