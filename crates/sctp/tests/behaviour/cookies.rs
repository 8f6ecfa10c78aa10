//! State Cookies: stale, forged, damaged, replayed; and that a listener keeps nothing before one.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, EndpointConfig, Event, PathState, Protection};
use anabranch_wire::{
    Chunk, ChunkType, CookieEcho, ErrorCause, ErrorCauses, ErrorChunk, Parameter, SALT_LEN,
    VerificationTag,
};

use crate::harness::{Duo, Side, good_link};
use crate::packets::Wiretap;
use crate::raw_peer::{FIRST_TSN, RawPeer, TAG, causes_of, data, init, sack, tuple};
use crate::signing::{SECRET, keyed};

fn listener() -> RawPeer {
    RawPeer::facing_listener(AssociationConfig::default())
}

fn echo(cookie: &[u8]) -> Chunk<'_> {
    Chunk::CookieEcho(CookieEcho { cookie })
}

#[test]
fn a_flood_of_inits_leaves_no_state_and_gets_a_bounded_number_of_answers() {
    let mut peer = RawPeer::facing(EndpointConfig {
        accept: true,
        stateless_replies_per_second: 50,
        short_inits_per_second: u32::MAX,
        ..EndpointConfig::default()
    });
    for number in 0..10_000_u32 {
        let path = tuple("10.0.0.2:9899", &format!("10.1.{}.{}:9", number / 250, 1 + number % 250));
        let init = Chunk::Init(init(VerificationTag(number + 1), &[]));
        peer.deliver_as(path, VerificationTag(0), &[init]);
    }
    assert_eq!(peer.take().len(), 50);
    let stats = peer.endpoint.stats();
    assert_eq!((stats.init_acks_sent, stats.replies_suppressed), (50, 9_950));
    assert_eq!(peer.endpoint.associations().count(), 0);
    peer.run_for(Duration::from_secs(1));
    peer.call(&[]);
    assert!(peer.is_established(), "a second later others are served");
}

/// Bytes of the packets with INIT and INIT ACK between two ends like these.
fn handshake_lengths(links: usize, config: &AssociationConfig) -> (usize, usize) {
    let links = vec![good_link(); links];
    let mut duo = Duo::new(1, &links, config.clone());
    let tap = Wiretap::on(&mut duo);
    duo.connect();
    duo.run_for(Duration::from_secs(1));
    assert!(duo.is_established(Side::Server));
    let len = |side, ty| tap.of(side, ty)[0].bytes.len();
    (len(Side::Client, ChunkType::INIT), len(Side::Server, ChunkType::INIT_ACK))
}

#[test]
fn regression_an_init_in_somebody_elses_name_was_answered_with_five_times_its_bytes() {
    let plain = AssociationConfig::media().with(|config| {
        config.extensions.message_interleaving = true;
        config.extensions.zero_checksum_over_dtls = true;
    });
    for config in [AssociationConfig::default(), plain.clone(), keyed_all(plain)] {
        for links in [1, 2, 4] {
            let (init, init_ack) = handshake_lengths(links, &config);
            assert!(init_ack <= init, "{init} bytes are answered with {init_ack}");
            assert!(init < 700, "{init}");
        }
    }
    // Who does not pad its INIT gets in, but not often in somebody else's name.
    let mut peer = listener();
    for number in 1..=1_000 {
        let init = Chunk::Init(init(VerificationTag(number), &[]));
        peer.deliver_as(peer.path, VerificationTag(0), &[init]);
    }
    assert_eq!(peer.take().len(), 10);
    let elsewhere = tuple("10.0.0.2:9899", "10.9.9.9:9");
    peer.deliver_as(elsewhere, VerificationTag(0), &[Chunk::Init(init(TAG, &[]))]);
    assert_eq!(peer.take().len(), 1, "others are served");
    peer.run_for(Duration::from_secs(1));
    peer.call(&[]);
    assert!(peer.is_established(), "and so is this one, a second later");
}

fn keyed_all(config: AssociationConfig) -> AssociationConfig {
    keyed(SECRET, Protection::Everything, config).with(|config| {
        let extensions = &mut config.extensions;
        extensions.authentication =
            extensions.authentication.take().map(|it| it.with_salt([1; SALT_LEN]));
    })
}

#[test]
fn a_stale_cookie_is_answered_with_its_staleness_and_makes_no_association() {
    let mut peer = listener();
    let cookie = peer.fetch_cookie(TAG, &[]);
    peer.run_for(Duration::from_micros(60_000_007));
    peer.deliver(&[echo(&cookie)]);
    let sent = peer.take();
    assert_eq!((sent.len(), sent[0].tag()), (1, TAG));
    assert_eq!(causes_of(&sent[0].chunks()[0]), [ErrorCause::StaleCookie { measure_us: 7 }]);
    assert_eq!(peer.endpoint.associations().count(), 0);
    assert_eq!(peer.endpoint.stats().cookies_stale, 1);
}

#[test]
fn a_cookie_lives_longer_by_what_a_preservative_asks_up_to_a_limit() {
    for (asked_ms, granted_ms) in [(1_500, 1_500), (u32::MAX, 5_000)] {
        let mut parameters = Vec::new();
        Parameter::CookiePreservative { increment_ms: asked_ms }.encode(&mut parameters);
        for (late_ms, works) in [(0, true), (1, false)] {
            let mut peer = listener();
            let cookie = peer.fetch_cookie(TAG, &parameters);
            peer.run_for(Duration::from_millis(60_000 + granted_ms + late_ms));
            peer.deliver(&[echo(&cookie)]);
            assert_eq!(peer.is_established(), works, "{asked_ms} ms asked, {late_ms} ms late");
        }
    }
}

#[test]
fn a_caller_whose_cookie_was_stale_asks_for_a_longer_one() {
    let mut peer = RawPeer::facing(EndpointConfig::default());
    let path = peer.path;
    let first = peer.let_it_call(&[path], AssociationConfig::default());
    peer.answer_init(&[]);
    peer.run_for(Duration::from_millis(300));
    peer.take();
    let causes = crate::raw_peer::cause(ErrorCause::StaleCookie { measure_us: 40_000_000 });
    let causes = ErrorCauses::from_bytes(&causes);
    peer.deliver(&[Chunk::Error(ErrorChunk { causes })]);
    let sent = peer.take();
    let [Chunk::Init(again)] = sent[0].chunks()[..] else { panic!("{sent:?}") };
    let [Chunk::Init(before)] = first.chunks()[..] else { panic!("{first:?}") };
    assert_eq!(again.initiate_tag, before.initiate_tag);
    let asked: Vec<_> = again.parameters.iter().filter_map(Result::ok).collect();
    let wanted = Parameter::CookiePreservative { increment_ms: 1_300 };
    assert!(asked.contains(&wanted), "the round trip and a second: {asked:?}");
    peer.answer_init(&[]);
    peer.deliver(&[Chunk::CookieAck]);
    assert!(peer.is_established());
}

#[test]
fn a_peer_whose_cookies_are_always_stale_is_given_up() {
    let mut peer = RawPeer::facing(EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], AssociationConfig::default());
    let causes = crate::raw_peer::cause(ErrorCause::StaleCookie { measure_us: 1 });
    let causes = ErrorCauses::from_bytes(&causes);
    for _ in 0..20 {
        peer.answer_init(&[]);
        peer.deliver(&[Chunk::Error(ErrorChunk { causes })]);
    }
    assert_eq!(peer.close_reason(), Some(anabranch_sctp::CloseReason::HandshakeTimeout));
}

#[test]
fn a_stale_cookie_error_for_an_association_that_stands_is_ignored() {
    let mut peer = RawPeer::connected(AssociationConfig::default());
    let causes = crate::raw_peer::cause(ErrorCause::StaleCookie { measure_us: 1 });
    let causes = ErrorCauses::from_bytes(&causes);
    peer.deliver(&[Chunk::Error(ErrorChunk { causes })]);
    assert!(peer.is_established() && peer.take().is_empty());
}

#[test]
fn forged_damaged_and_foreign_cookies_get_no_answer() {
    let mut peer = listener();
    let cookie = peer.fetch_cookie(TAG, &[]);
    let mut damaged = cookie.clone();
    damaged[40] ^= 1;
    let foreign = listener_with_another_key().fetch_cookie(TAG, &[]);
    for bad in [&damaged[..], &foreign, &cookie[..cookie.len() - 1], b"", b"made up"] {
        peer.deliver(&[echo(bad)]);
        assert!(peer.take().is_empty());
    }
    assert_eq!(peer.endpoint.stats().cookies_forged, 5);
    assert_eq!(peer.endpoint.associations().count(), 0);
    peer.deliver(&[echo(&cookie)]);
    assert!(peer.is_established(), "the true one works still");
}

fn listener_with_another_key() -> RawPeer {
    let mut peer = listener();
    let config = EndpointConfig { accept: true, ..EndpointConfig::default() };
    peer.endpoint = anabranch_sctp::Endpoint::new(config, anabranch_sansio::Rng::from_u64(2));
    peer
}

#[test]
fn a_cookie_under_another_tag_or_from_another_port_gets_no_answer() {
    let mut peer = listener();
    let cookie = peer.fetch_cookie(TAG, &[]);
    peer.deliver_as(peer.path, VerificationTag(peer.tag.0 ^ 1), &[echo(&cookie)]);
    peer.ports.0 += 1;
    peer.deliver(&[echo(&cookie)]);
    assert!(peer.take().is_empty());
    assert_eq!(peer.endpoint.associations().count(), 0);
}

#[test]
fn a_cookie_echo_that_comes_again_is_acknowledged_again_even_when_it_is_old() {
    let mut peer = listener();
    let cookie = peer.fetch_cookie(TAG, &[]);
    peer.deliver(&[echo(&cookie)]);
    peer.run_for(Duration::from_secs(120));
    peer.take();
    peer.deliver(&[echo(&cookie)]);
    assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ACK]]);
    let connected = peer.events().iter().filter(|e| matches!(e, Event::Connected { .. })).count();
    assert_eq!((connected, peer.endpoint.associations().count()), (1, 1));
}

#[test]
fn a_cookie_does_not_raise_an_association_that_ended() {
    let mut peer = listener();
    let cookie = peer.fetch_cookie(TAG, &[]);
    peer.deliver(&[echo(&cookie)]);
    peer.act(|association, _| association.abort("over"));
    peer.take();
    peer.deliver(&[echo(&cookie)]);
    assert!(peer.take().is_empty());
    assert_eq!(peer.endpoint.associations().count(), 0);
    assert_eq!(peer.endpoint.stats().cookies_replayed, 1);
}

/// Spent cookies were remembered for the usual life only, and not for what a preservative added.
#[test]
fn regression_a_cookie_with_a_preservative_raised_an_association_that_ended() {
    let mut parameters = Vec::new();
    Parameter::CookiePreservative { increment_ms: 5_000 }.encode(&mut parameters);
    let mut peer = listener();
    let cookie = peer.fetch_cookie(TAG, &parameters);
    peer.deliver(&[echo(&cookie)]);
    peer.act(|association, _| association.abort("over"));
    peer.run_for(Duration::from_secs(62));
    // Another association ends, and what is no longer needed is forgotten.
    let tag = peer.tag;
    peer.take();
    peer.path = tuple("10.0.0.2:9899", "10.0.0.9:9899");
    peer.call(&[]);
    peer.act(|association, _| association.abort("over"));
    peer.take();
    peer.path = tuple("10.0.0.2:9899", "10.0.0.1:9899");
    peer.tag = tag;
    peer.deliver(&[echo(&cookie)]);
    assert_eq!(peer.endpoint.associations().count(), 0);
}

/// An association that had ended, but whose messages were not all read, answered its cookie, and a
/// peer that called anew brought it back to life after its last event.
#[test]
fn regression_an_ended_association_that_is_still_read_came_back_to_life() {
    let mut peer = listener();
    let cookie = peer.fetch_cookie(TAG, &[]);
    peer.deliver(&[echo(&cookie), Chunk::Data(data(FIRST_TSN, 0))]);
    let restart = peer.fetch_restart_cookie();
    peer.act(|association, _| association.abort("over"));
    peer.take();
    assert!(peer.association().is_some_and(|association| association.has_message()));
    peer.deliver(&[echo(&cookie)]);
    assert!(peer.take().is_empty(), "to the network it is gone");
    let (restart_tag, restart_cookie) = restart;
    peer.deliver_as(peer.path, restart_tag, &[echo(&restart_cookie)]);
    assert_eq!(peer.endpoint.associations().count(), 2, "a new one beside it");
    assert!(!peer.events().contains(&&Event::Restarted) && !peer.is_established());
    assert_eq!(peer.read().len(), 1);
    assert_eq!(peer.endpoint.associations().count(), 1);
}

/// Whoever could send INIT from an address of its own and COOKIE ECHO in a victim's name made us
/// send data to the victim.
#[test]
fn regression_the_source_of_a_cookie_echo_was_trusted_instead_of_that_of_the_init() {
    let mut peer = listener();
    let cookie = peer.fetch_cookie(TAG, &[]);
    let victim = tuple("10.0.0.2:9899", "10.9.9.9:9899");
    peer.deliver_as(victim, peer.tag, &[echo(&cookie)]);
    let sent = peer.take();
    assert_eq!((sent.len(), sent[0].path), (1, victim));
    assert_eq!(sent[0].types(), [ChunkType::COOKIE_ACK, ChunkType::HEARTBEAT]);
    peer.act(|association, now| association.send(now, crate::harness::numbered(0, 0, 5_000)))
        .expect("taken");
    let sent = peer.take();
    assert!(sent.iter().all(|packet| packet.path == peer.path), "data goes to the caller");
    let paths = peer.stats().paths;
    assert_eq!((paths[0].tuple, paths[0].state), (peer.path, PathState::Active));
    assert_eq!((paths[1].tuple, paths[1].state), (victim, PathState::Unconfirmed));
    peer.deliver(&[sack(peer.their_first_tsn, 100_000)]);
}
