//! Both sides call each other, chunks of the handshake come again, or a peer restarts: the tables
//! of RFC 9260 section 5.2.

use std::time::Duration;

use anabranch_netsim::{Pair, Side};
use anabranch_sansio::{FourTuple, Rng};
use anabranch_sctp::{
    Association, AssociationConfig, CloseReason, Endpoint, EndpointConfig, Event,
};
use anabranch_wire::{
    Chunk, ChunkType, CookieEcho, ErrorCause, Heartbeat, Init, Items, Parameter, Shutdown, Tsn,
    VerificationTag,
};

use crate::harness::{PORTS, good_link, numbered};
use crate::raw_peer::{
    FIRST_TSN, RESTART_TAG, RawPeer, TAG, causes_of, cookie_of, data, init, sack, tuple,
};

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

fn echo(cookie: &[u8]) -> Chunk<'_> {
    Chunk::CookieEcho(CookieEcho { cookie })
}

fn connections(peer: &RawPeer) -> usize {
    peer.events().iter().filter(|event| matches!(event, Event::Connected { .. })).count()
}

/// Two endpoints that both listen and call each other at once over the same two paths, each with
/// another one first if asked.
fn cross(client_first: usize, server_first: usize) -> Pair<Endpoint> {
    let links = [good_link().into(), good_link().into()];
    let mut pair = Pair::new(1, &links, |_, paths, rng: Rng| {
        let config = EndpointConfig { accept: true, ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, rng);
        endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
        endpoint
    });
    let mut there: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses).collect();
    let mut back: Vec<FourTuple> = there.iter().map(|path| path.reversed()).collect();
    there.rotate_left(client_first);
    back.rotate_left(server_first);
    let calls = pair.act_client(|e, now| e.connect(now, &there, PORTS, default()));
    calls.expect("quiet").expect("connects");
    let ports = (PORTS.1, PORTS.0);
    let calls = pair.act_server(|e, now| e.connect(now, &back, ports, default()));
    calls.expect("quiet").expect("connects");
    pair.run_for(Duration::from_secs(10)).expect("comes to rest");
    pair
}

#[test]
fn crossing_inits_make_one_association() {
    for (client_first, server_first) in [(0, 0), (0, 1), (1, 0)] {
        let mut pair = cross(client_first, server_first);
        for side in [Side::Client, Side::Server] {
            let endpoint = pair.sim.machine(side.host());
            let ids: Vec<_> = endpoint.associations().collect();
            assert_eq!(ids.len(), 1, "{side:?}, paths {client_first} and {server_first} first");
            assert!(endpoint.association(ids[0]).is_some_and(Association::is_established));
        }
        let client = pair.client().associations().next().expect("one");
        let send = |e: &mut Endpoint, now| {
            e.association_mut(client).expect("alive").send(now, numbered(0, 7, 100))
        };
        pair.act_client(send).expect("quiet").expect("taken");
        pair.run_for(Duration::from_secs(1)).expect("comes to rest");
        let server = pair.server().associations().next().expect("one");
        assert!(pair.server().association(server).is_some_and(Association::has_message));
    }
}

/// A caller in COOKIE-WAIT.
fn waiting() -> RawPeer {
    let mut peer = RawPeer::facing(EndpointConfig::default());
    let path = peer.path;
    let config = default().with(|config| {
        config.buffers.receive_buffer = 77_777;
        config.streams.inbound_streams_max = 5;
    });
    peer.let_it_call(&[path], config);
    peer
}

#[test]
fn an_init_in_cookie_wait_is_answered_with_what_our_own_init_said() {
    let mut peer = waiting();
    let (tag, first_tsn) = (peer.tag, peer.their_first_tsn);
    peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init(TAG, &[]))]);
    let sent = peer.take();
    let [Chunk::InitAck(init_ack)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
    assert_eq!((init_ack.initiate_tag, init_ack.initial_tsn), (tag, first_tsn));
    assert_eq!((init_ack.a_rwnd, init_ack.inbound_streams), (77_777, 5));
    peer.run_for(Duration::from_secs(1));
    assert_eq!(peer.take_types(), [[ChunkType::INIT]], "T1-init goes on");
}

/// The rows of table 12 as far as they concern a caller that is called itself.
#[test]
fn a_cookie_for_our_tag_and_an_unknown_peer_solves_a_collision() {
    // Row M 0: in COOKIE-WAIT the peer's tag is not known yet.
    let mut peer = waiting();
    let cookie = peer.fetch_cookie(TAG, &[]);
    peer.deliver(&[echo(&cookie)]);
    assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ACK]]);
    assert!(peer.is_established());
    peer.run_for(Duration::from_secs(5));
    assert!(peer.take_types().iter().all(|t| t != &[ChunkType::INIT]), "T1-init is stopped");
}

#[test]
fn a_cookie_for_our_tag_and_another_of_the_peers_takes_the_peers_new_tag() {
    // Row M X (B): the peer called after it had answered our INIT, with another tag.
    let mut peer = waiting();
    peer.answer_init(&[]);
    peer.take();
    let cookie = peer.fetch_cookie(RESTART_TAG, &[]);
    peer.deliver(&[echo(&cookie)]);
    let sent = peer.take();
    assert_eq!((sent[0].types(), sent[0].tag()), (vec![ChunkType::COOKIE_ACK], RESTART_TAG));
    assert!(peer.is_established());
    peer.run_for(Duration::from_secs(5));
    let echoes = peer.take_types().iter().filter(|t| t[0] == ChunkType::COOKIE_ECHO).count();
    assert_eq!(echoes, 0, "T1-cookie is stopped");
}

/// The peer called after it had answered our INIT, as a program does that took it down and began
/// anew: by now it takes fewer streams, and knows I-DATA no more.
#[test]
fn regression_counters_of_a_collision_went_back_and_the_rate_meter_panicked() {
    let mut peer = RawPeer::facing(EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], default().with(|c| c.extensions.message_interleaving = true));
    let mut parameters = Vec::new();
    let types = [ChunkType::I_DATA, ChunkType::I_FORWARD_TSN];
    Parameter::SupportedExtensions(Items::from_slice(&types)).encode(&mut parameters);
    for number in 0..8 {
        peer.send(numbered(number as u16, number, 100));
    }
    peer.answer_init(&parameters);
    peer.run_for(Duration::from_millis(300));
    let before = peer.stats().streams;
    assert_eq!((before.chunks_sent, before.bytes_sent), (8, 800));
    peer.deliver(&[Chunk::Heartbeat(Heartbeat { info: b"measure now" })]);
    peer.take();
    let few = Init { inbound_streams: 1, ..init(RESTART_TAG, &[]) };
    let cookie = peer.fetch_cookie_with(few);
    peer.run_for(Duration::from_millis(300));
    peer.deliver(&[echo(&cookie)]);
    assert!(peer.is_established());
    let after = peer.stats().streams;
    assert_eq!((after.chunks_sent, after.bytes_sent), (8, 800), "counters never go down");
}

#[test]
fn a_cookie_with_both_tags_ends_the_wait_for_cookie_ack() {
    // Row M M (D) in COOKIE-ECHOED.
    let mut peer = waiting();
    peer.answer_init(&[]);
    peer.take();
    let cookie = peer.fetch_cookie(TAG, &[]);
    peer.deliver(&[echo(&cookie)]);
    assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ACK]]);
    assert_eq!((peer.is_established(), connections(&peer)), (true, 1));
}

#[test]
fn a_cookie_that_is_late_is_discarded_and_the_timer_goes_on() {
    // Row X M 0 0 (C): we listened, then called; the cookie of before arrives.
    let mut peer = RawPeer::facing_listener(default());
    let late = peer.fetch_cookie(TAG, &[]);
    let late_tag = peer.tag;
    let path = peer.path;
    peer.let_it_call(&[path], default());
    peer.answer_init(&[]);
    peer.take();
    peer.deliver_as(path, late_tag, &[echo(&late)]);
    assert!(peer.take().is_empty() && !peer.is_established());
    peer.run_for(Duration::from_secs(1));
    assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ECHO]]);
}

#[test]
fn a_cookie_of_neither_tag_without_tie_tags_is_discarded() {
    // Not in table 12: X X 0 0.
    let mut peer = RawPeer::facing_listener(default());
    let stranger = peer.fetch_cookie(RESTART_TAG, &[]);
    let stranger_tag = peer.tag;
    peer.call(&[]);
    peer.take();
    peer.deliver_as(peer.path, stranger_tag, &[echo(&stranger)]);
    assert!(peer.take().is_empty());
    assert_eq!((peer.is_established(), connections(&peer)), (true, 1));
}

#[test]
fn a_cookie_of_the_peers_tag_and_an_old_one_of_ours_is_discarded() {
    // Not in table 12: X M with tie tags: two INITs of one caller, both cookies are echoed.
    let mut peer = RawPeer::connected(default());
    let (first_tag, first) = peer.fetch_restart_cookie();
    let (second_tag, second) = peer.fetch_restart_cookie();
    peer.deliver_as(peer.path, first_tag, &[echo(&first)]);
    assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ACK]]);
    peer.deliver_as(peer.path, second_tag, &[echo(&second)]);
    assert!(peer.take().is_empty(), "no second restart");
    let restarts = peer.events().iter().filter(|event| matches!(event, Event::Restarted)).count();
    assert_eq!(restarts, 1);
}

/// Brings the association into each state that an unexpected INIT can meet.
fn in_each_state() -> Vec<(&'static str, RawPeer)> {
    let established = || RawPeer::connected(default());
    let mut pending = established();
    pending.act(|a, now| a.send(now, numbered(0, 0, 10))).expect("taken");
    pending.act(Association::shutdown);
    let mut sent = established();
    sent.act(Association::shutdown);
    let mut received = established();
    received.act(|a, now| a.send(now, numbered(0, 0, 10))).expect("taken");
    let before_first = Tsn(received.their_first_tsn.0.wrapping_sub(1));
    received.deliver(&[Chunk::Shutdown(Shutdown { cumulative_tsn_ack: before_first })]);
    let states = [
        ("ESTABLISHED", established()),
        ("SHUTDOWN-PENDING", pending),
        ("SHUTDOWN-SENT", sent),
        ("SHUTDOWN-RECEIVED", received),
    ];
    states
        .into_iter()
        .map(|(name, mut peer)| {
            peer.take();
            (name, peer)
        })
        .collect()
}

#[test]
fn an_unexpected_init_is_answered_with_a_new_tag_and_changes_nothing() {
    for (state, mut peer) in in_each_state() {
        let tag = peer.tag;
        let (new_tag, cookie) = peer.fetch_restart_cookie();
        assert_ne!(new_tag, tag, "{state}");
        assert!(peer.is_established(), "{state}");
        for tag in [tag, TAG] {
            let leaks = cookie.windows(4).any(|bytes| bytes == tag.0.to_be_bytes());
            assert!(!leaks, "{state}: the cookie tells a tag of the association");
        }
    }
}

#[test]
fn a_peer_that_restarts_gets_a_fresh_association_in_every_state() {
    for (state, mut peer) in in_each_state() {
        let (tag, cookie) = peer.fetch_restart_cookie();
        peer.tag = tag;
        peer.deliver(&[echo(&cookie), Chunk::Data(data(FIRST_TSN, 0))]);
        let sent = peer.take();
        assert_eq!(sent[0].types(), [ChunkType::COOKIE_ACK, ChunkType::SACK], "{state}");
        assert_eq!(sent[0].tag(), RESTART_TAG, "{state}");
        assert!(peer.events().contains(&&Event::Restarted), "{state}");
        assert_eq!(peer.read().len(), 1, "{state}");
        peer.act(|a, now| a.send(now, numbered(0, 1, 10))).expect("takes messages again");
        assert_eq!(peer.take().concat_data(), [(0, 0)], "{state}: SSNs begin anew");
        assert_eq!(peer.endpoint.associations().count(), 1, "{state}");
    }
}

trait ConcatData {
    /// Stream and SSN of all DATA chunks.
    fn concat_data(&self) -> Vec<(u16, u16)>;
}

impl ConcatData for Vec<crate::packets::Sent> {
    fn concat_data(&self) -> Vec<(u16, u16)> {
        let data = self.iter().flat_map(crate::packets::Sent::data);
        data.map(|data| (data.stream.0, data.ssn.0)).collect()
    }
}

#[test]
fn what_arrived_before_a_restart_can_still_be_read() {
    let mut peer = RawPeer::connected(default());
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0))]);
    let (tag, cookie) = peer.fetch_restart_cookie();
    peer.tag = tag;
    peer.deliver(&[echo(&cookie), Chunk::Data(data(FIRST_TSN, 0))]);
    assert_eq!(peer.read().len(), 2);
    let held = peer.stats().held;
    assert_eq!(held, 0);
}

#[test]
fn a_restart_resets_congestion_control_and_round_trip_times() {
    let mut peer = RawPeer::connected(default());
    let fresh = peer.stats().paths[0].clone();
    peer.act(|a, now| a.send(now, numbered(0, 0, 40_000))).expect("taken");
    peer.run_for(Duration::from_secs(20));
    assert_ne!(peer.stats().paths[0].window, fresh.window, "timeouts made it smaller");
    let (tag, cookie) = peer.fetch_restart_cookie();
    peer.tag = tag;
    peer.deliver(&[echo(&cookie)]);
    let path = peer.stats().paths[0].clone();
    assert_eq!((path.window, path.rto, path.ssthresh), (fresh.window, fresh.rto, None));
    assert_eq!((peer.stats().in_flight, path.error_count), (0, 0));
}

#[test]
fn an_init_in_shutdown_ack_sent_is_answered_with_shutdown_ack() {
    let mut peer = RawPeer::connected(default());
    let before_first = Tsn(peer.their_first_tsn.0.wrapping_sub(1));
    peer.deliver(&[Chunk::Shutdown(Shutdown { cumulative_tsn_ack: before_first })]);
    assert_eq!(peer.take_types(), [[ChunkType::SHUTDOWN_ACK]]);
    peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init(RESTART_TAG, &[]))]);
    assert_eq!(peer.take_types(), [[ChunkType::SHUTDOWN_ACK]]);
}

#[test]
fn a_restart_in_shutdown_ack_sent_is_refused() {
    let mut peer = RawPeer::connected(default());
    let (restart_tag, cookie) = peer.fetch_restart_cookie();
    let before_first = Tsn(peer.their_first_tsn.0.wrapping_sub(1));
    peer.deliver(&[Chunk::Shutdown(Shutdown { cumulative_tsn_ack: before_first })]);
    peer.take();
    peer.deliver_as(peer.path, restart_tag, &[echo(&cookie)]);
    let sent = peer.take();
    assert_eq!(sent[0].types(), [ChunkType::SHUTDOWN_ACK, ChunkType::ERROR]);
    let chunks = sent[0].chunks();
    assert_eq!(causes_of(&chunks[1]), [ErrorCause::CookieReceivedWhileShuttingDown]);
    assert!(!peer.events().contains(&&Event::Restarted));
}

#[test]
fn an_init_that_adds_an_address_is_refused_and_names_it() {
    let mut peer = RawPeer::connected(default());
    let mut parameters = Vec::new();
    Parameter::Ipv4Address([10, 0, 0, 1].into()).encode(&mut parameters);
    Parameter::Ipv4Address([10, 7, 7, 7].into()).encode(&mut parameters);
    peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init(RESTART_TAG, &parameters))]);
    let sent = peer.take();
    assert_eq!(sent[0].tag(), RESTART_TAG);
    let added = [0, 5, 0, 8, 10, 7, 7, 7];
    let cause = ErrorCause::RestartWithNewAddresses(&added);
    assert_eq!(causes_of(&sent[0].chunks()[0]), [cause]);
    assert!(peer.is_established());
}

/// Whoever knew an address of the peer could send INIT from an address of its own, got a cookie
/// that restarts the association, and took the peer's place.
#[test]
fn regression_an_association_was_handed_to_a_stranger_that_names_the_peers_address() {
    let mut peer = RawPeer::connected(default());
    let mut parameters = Vec::new();
    Parameter::Ipv4Address([10, 0, 0, 1].into()).encode(&mut parameters);
    let stranger = tuple("10.0.0.2:9899", "10.6.6.6:9899");
    let init = Chunk::Init(init(RESTART_TAG, &parameters));
    peer.deliver_as(stranger, VerificationTag(0), &[init]);
    let sent = peer.take();
    assert_eq!(sent[0].path, stranger);
    let added = [0, 5, 0, 8, 10, 6, 6, 6];
    let cause = ErrorCause::RestartWithNewAddresses(&added);
    assert_eq!(causes_of(&sent[0].chunks()[0]), [cause]);
}

/// A caller of two families lost its association when its INIT over IPv6, which its network had
/// held up, came after the handshake over IPv4: the listener had no address of its own to pair with
/// the one announced, and forgot it.
#[test]
fn regression_an_init_that_was_late_was_taken_for_a_restart_from_a_new_address() {
    let mut peer = RawPeer::facing_listener(default());
    let mut parameters = Vec::new();
    Parameter::Ipv4Address([10, 0, 0, 1].into()).encode(&mut parameters);
    Parameter::Ipv6Address("fd00::1".parse().unwrap()).encode(&mut parameters);
    peer.call(&parameters);
    peer.take();
    let late = tuple("[fd00::2]:9899", "[fd00::1]:9899");
    peer.deliver_as(late, VerificationTag(0), &[Chunk::Init(init(TAG, &parameters))]);
    assert_eq!(peer.take_types(), [[ChunkType::INIT_ACK]]);
    assert!(peer.is_established());
}

/// A peer that announced somebody else's address kept that one from calling.
#[test]
fn regression_an_announced_address_kept_its_owner_from_calling() {
    let mut peer = RawPeer::facing_listener(default());
    let mut parameters = Vec::new();
    Parameter::Ipv4Address([10, 0, 0, 1].into()).encode(&mut parameters);
    Parameter::Ipv4Address([10, 5, 5, 5].into()).encode(&mut parameters);
    peer.call(&parameters);
    peer.path = tuple("10.0.0.2:9899", "10.5.5.5:9899");
    let mut parameters = Vec::new();
    Parameter::Ipv4Address([10, 5, 5, 5].into()).encode(&mut parameters);
    Parameter::Ipv4Address([10, 5, 5, 6].into()).encode(&mut parameters);
    peer.take();
    let cookie = peer.fetch_cookie(RESTART_TAG, &parameters);
    peer.deliver(&[echo(&cookie)]);
    assert_eq!(peer.endpoint.associations().count(), 2, "the owner and the camper");
}

#[test]
fn an_init_ack_in_a_collision_goes_only_to_an_address_that_we_called() {
    let mut peer = waiting();
    let elsewhere = tuple("10.0.0.2:9899", "10.8.8.8:9899");
    let mut parameters = Vec::new();
    Parameter::Ipv4Address([10, 0, 0, 1].into()).encode(&mut parameters);
    let init = Chunk::Init(init(TAG, &parameters));
    peer.deliver_as(elsewhere, VerificationTag(0), &[init]);
    let sent = peer.take();
    assert_eq!((sent[0].path, sent[0].types()), (peer.path, vec![ChunkType::INIT_ACK]));
    let [Chunk::InitAck(init_ack)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
    assert!(cookie_of(&init_ack).is_some());
}

#[test]
fn a_shutdown_ack_in_the_handshake_is_answered_and_the_handshake_goes_on() {
    let mut peer = waiting();
    peer.deliver_as(peer.path, VerificationTag(99), &[Chunk::ShutdownAck]);
    let sent = peer.take();
    let [Chunk::ShutdownComplete(complete)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
    assert!(complete.tag_reflected && sent[0].tag() == VerificationTag(99));
    peer.deliver(&[Chunk::ShutdownAck]);
    assert!(matches!(peer.take()[0].chunks()[..], [Chunk::ShutdownComplete(_)]));
    peer.answer_init(&[]);
    peer.deliver(&[Chunk::CookieAck, sack(Tsn(0), 0)]);
    assert!(peer.is_established());
}

#[test]
fn a_second_call_over_the_same_path_is_refused() {
    let mut peer = waiting();
    let (path, ports) = (peer.path, (peer.ports.1, peer.ports.0));
    let again = peer.endpoint.connect(peer.now, &[path], ports, default());
    assert_eq!(again, Err(anabranch_sctp::ConnectError::Exists));
    peer.act(|association, _| association.abort("changed my mind"));
    assert_eq!(peer.close_reason(), Some(CloseReason::Aborted));
    assert!(peer.endpoint.connect(peer.now, &[path], ports, default()).is_ok());
}
