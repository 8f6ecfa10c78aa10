//! Authenticated chunks (RFC 4895): who is let in, what is signed, what a forger achieves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anabranch_netsim::NatConfig;
use anabranch_sctp::{
    AssociationConfig, Authentication, CloseReason, Event, Protection, RefusedCall,
    RefusedCallReason, SharedKey,
};
use anabranch_wire::{
    Abort, Chunk, ChunkType, CookieEcho, EncodeChunk, ErrorCause, ErrorCauses, Heartbeat,
    HmacIdentifier, Parameter, SALT_LEN,
};

use crate::harness::{Duo, Side, good_link, link, numbered};
use crate::packets::{Wiretap, packet_of_bytes};
use crate::raw_peer::{FIRST_TSN, RESTART_TAG, RawPeer, TAG, cause, causes_of, data, init, tuple};
use crate::signing::{
    Call, KEY, SECRET, Signer, connected, deliver_signed, deliver_signed_from, keyed, offer,
    strict, usual_offer,
};

const MS: Duration = Duration::from_millis(1);

/// Two ends, of which each has its own idea of authentication.
fn ends(client: AssociationConfig, server: AssociationConfig) -> Duo {
    let mut duo = Duo::of_two(1, &[good_link()], client, server);
    duo.connect();
    duo
}

fn refused_calls(duo: &mut Duo) -> Vec<RefusedCall> {
    let poll = |endpoint: &mut anabranch_sctp::Endpoint, _| endpoint.poll_refused_call();
    std::iter::from_fn(|| duo.pair.act_server(poll).expect("quiet")).collect()
}

/// A secret that the other end does not have.
fn other_secret() -> AssociationConfig {
    keyed(b"another secret", Protection::Everything, AssociationConfig::default())
}

#[test]
fn with_the_same_key_all_is_signed_but_what_cannot_be() {
    let mut duo = Duo::new(2, &[good_link()], strict());
    let tap = Wiretap::on(&mut duo);
    duo.connect();
    duo.send(Side::Client, numbered(0, 7, 5_000));
    duo.run_for(500 * MS);
    assert_eq!(duo.numbers(Side::Server), [7]);
    duo.act(Side::Client, |association, now| association.shutdown(now));
    assert_eq!(duo.run_until_closed(Side::Server), CloseReason::Shutdown);
    let unsigned = [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::SHUTDOWN_COMPLETE];
    let mut signed = 0;
    for (side, types) in tap.exchange() {
        if unsigned.contains(types.last().unwrap()) {
            continue;
        }
        assert_eq!(types[0], ChunkType::AUTH, "{side:?} sent {types:?}");
        signed += 1;
    }
    assert!(signed >= 8);
}

#[test]
fn a_wrong_key_is_told_to_both_ends_within_two_round_trips() {
    let mut duo = ends(other_secret(), strict());
    assert_eq!(duo.run_until_closed(Side::Client), CloseReason::KeyRefused);
    assert!(duo.now().as_millis() <= 2 * 20 + 2, "at {:?}", duo.now());
    let calls = refused_calls(&mut duo);
    assert_eq!(
        calls.iter().map(|call| call.why).collect::<Vec<_>>(),
        [RefusedCallReason::OtherKey]
    );
    assert!(duo.events(Side::Server).is_empty(), "no association came to be");
    assert_eq!(duo.pair.server().stats().calls_unauthenticated, 1);
}

#[test]
fn a_caller_without_a_key_is_refused_and_told_so() {
    let mut duo = ends(AssociationConfig::default(), strict());
    assert_eq!(duo.run_until_closed(Side::Client), CloseReason::KeyRefused);
    assert!(duo.now().as_millis() <= 21, "at {:?}", duo.now());
    assert_eq!(refused_calls(&mut duo)[0].why, RefusedCallReason::NotAuthenticated);
}

#[test]
fn a_listener_without_a_key_is_not_spoken_to() {
    let mut duo = ends(strict(), AssociationConfig::default());
    assert_eq!(duo.run_until_closed(Side::Client), CloseReason::PeerNotAuthenticated);
    duo.run_for(1_000 * MS);
    assert!(duo.events(Side::Server).is_empty());
}

/// A salt of a listener's, as any other.
const SALT: [u8; SALT_LEN] = [3; SALT_LEN];

/// A listener with a key made of this salt, and what a caller makes its own with; how often is
/// counted.
fn salted() -> (AssociationConfig, AssociationConfig, Arc<AtomicU32>) {
    let key = |salt: &[u8; SALT_LEN]| SharedKey::new(KEY, &[SECRET, salt].concat());
    let listener = Authentication::new(vec![key(&SALT)], Protection::Everything).expect("one key");
    let made = Arc::new(AtomicU32::new(0));
    let count = made.clone();
    let caller = Authentication::derived(move |salt| {
        count.fetch_add(1, Ordering::Relaxed);
        key(salt)
    });
    let config = |authentication| {
        AssociationConfig::default()
            .with(|config| config.extensions.authentication = Some(authentication))
    };
    (config(caller), config(listener.with_salt(SALT)), made)
}

#[test]
fn a_caller_makes_its_key_of_the_salt_that_the_listener_tells() {
    let (caller, listener, made) = salted();
    let mut duo = ends(caller, listener);
    duo.send(Side::Client, numbered(0, 7, 5_000));
    duo.run_for(500 * MS);
    assert_eq!(duo.numbers(Side::Server), [7]);
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn a_caller_makes_a_key_once_whatever_answers_come_to_its_init() {
    let (caller, _, made) = salted();
    let mut peer = RawPeer::facing_listener(strict());
    let path = peer.path;
    peer.let_it_call(&[path], caller);
    for salt in 0..100 {
        let mut parameters = usual_offer();
        Parameter::KeySalt([salt; SALT_LEN]).encode(&mut parameters);
        peer.answer_init(&parameters);
    }
    assert_eq!(made.load(Ordering::Relaxed), 1, "for the first of them");
}

#[test]
fn who_tells_no_salt_is_told_that_one_is_needed_and_makes_nobody_work() {
    let (caller, _, made) = salted();
    let mut duo = ends(caller, strict());
    let CloseReason::PeerMisbehaved { what } = duo.run_until_closed(Side::Client) else {
        panic!("it has no key that is the same")
    };
    assert!(what.contains("it does not tell the salt"), "{what}");
    assert_eq!(made.load(Ordering::Relaxed), 0);
}

#[test]
fn where_only_addresses_are_protected_plain_peers_are_served() {
    let lenient = keyed(SECRET, Protection::Addresses, AssociationConfig::default());
    for (client, server) in [
        (lenient.clone(), AssociationConfig::default()),
        (AssociationConfig::default(), lenient.clone()),
        (lenient.clone(), lenient.clone()),
    ] {
        let mut duo = Duo::of_two(3, &[good_link()], client, server);
        let tap = Wiretap::on(&mut duo);
        duo.connect();
        duo.send(Side::Client, numbered(0, 7, 5_000));
        duo.run_for(500 * MS);
        assert_eq!(duo.numbers(Side::Server), [7]);
        assert!(tap.of(Side::Client, ChunkType::AUTH).is_empty(), "data needs no signature");
    }
    // Both demand everything of the other only if both are so configured.
    let mut duo = ends(lenient, strict());
    duo.send(Side::Client, numbered(0, 7, 5_000));
    duo.run_for(500 * MS);
    assert_eq!(duo.numbers(Side::Server), [7]);
}

/// A message that fits into a packet without a signature and not with one was once never sent.
#[test]
fn messages_of_every_length_cross_in_packets_that_are_not_too_long() {
    let mut duo = Duo::new(4, &[good_link()], strict());
    let tap = Wiretap::on(&mut duo);
    duo.connect();
    let lengths = (1_260..1_360).step_by(4).chain([10_000]);
    for (number, len) in lengths.clone().enumerate() {
        duo.send(Side::Client, numbered(0, number as u32, len));
        duo.run_for(200 * MS);
    }
    assert_eq!(duo.numbers(Side::Server).len(), lengths.count());
    let packets = tap.of_all(Side::Client);
    let longest = packets.iter().map(|sent| sent.bytes.len()).max().unwrap();
    // 1400 bytes of path MTU without 48 of headers.
    assert_eq!(longest, 1_352);
    assert_eq!(duo.path(Side::Client, 0).counters.chunks_retransmitted, 0);
}

#[test]
fn both_ends_calling_each_other_get_one_association() {
    let (mut peer, signer) = {
        let mut peer = RawPeer::facing_listener(strict());
        let path = peer.path;
        let sent = peer.let_it_call(&[path], strict());
        // The INIT's parameters stand behind 12 bytes of common header and 20 of the chunk.
        let parameters = usual_offer();
        let signer = Signer::new(SECRET, &parameters, &sent.bytes[32..]);
        let first = (peer.tag, peer.their_first_tsn);
        let call = Call::again(peer, SECRET, init(TAG, &parameters));
        assert_eq!((call.peer.tag, call.peer.their_first_tsn), first);
        let echo = Chunk::CookieEcho(CookieEcho { cookie: &call.cookie });
        let mut peer = call.peer;
        deliver_signed(&mut peer, &signer, &[echo]);
        (peer, signer)
    };
    assert!(peer.is_established(), "our random number is the same in INIT and INIT ACK");
    deliver_signed(&mut peer, &signer, &[Chunk::Data(data(FIRST_TSN, 0))]);
    assert_eq!(peer.read().len(), 1);
}

#[test]
fn a_peer_that_restarts_with_the_key_is_let_in_and_one_without_is_not() {
    let offer = offer(&[ChunkType::COOKIE_ACK], &[HmacIdentifier::SHA_256]);
    let (mut peer, old) = connected(strict(), &offer);
    deliver_signed(&mut peer, &old, &[Chunk::Data(data(FIRST_TSN, 0))]);
    let before = peer.tag;
    for (secret, is_let_in) in [(&b"a guess"[..], false), (SECRET, true)] {
        let mut call = Call::again(peer, secret, init(RESTART_TAG, &offer));
        let echo = Chunk::CookieEcho(CookieEcho { cookie: &call.cookie });
        deliver_signed(&mut call.peer, &call.signer, &[echo]);
        let restarted = call.peer.events().contains(&&Event::Restarted);
        assert_eq!(restarted, is_let_in);
        peer = call.peer;
        if !is_let_in {
            assert!(peer.take().is_empty(), "silently");
            peer.tag = before;
            continue;
        }
        let sent = peer.take();
        assert!(call.signer.has_signed(&sent[0]), "COOKIE ACK by the new key: {sent:?}");
        deliver_signed(&mut peer, &call.signer, &[Chunk::Data(data(FIRST_TSN, 0))]);
        assert_eq!(peer.read().len(), 2, "the message of before, and this one");
        deliver_signed(&mut peer, &old, &[Chunk::Data(data(FIRST_TSN + 1, 1))]);
        assert!(peer.read().is_empty(), "the old key holds no more");
    }
}

#[test]
fn what_is_not_signed_or_by_another_key_has_no_effect() {
    let (mut peer, signer) = connected(strict(), &usual_offer());
    let causes = ErrorCauses::from_bytes(&[]);
    let chunks = [
        Chunk::Data(data(FIRST_TSN, 0)),
        Chunk::Abort(Abort { tag_reflected: false, causes }),
        Chunk::Heartbeat(Heartbeat { info: b"nonce" }),
        Chunk::ShutdownAck,
    ];
    let mut dropped = 0;
    let stranger = Signer::new(b"a guess", &usual_offer(), &[]);
    let unknown_key = Signer { id: KEY + 1, ..signer.clone() };
    for chunk in chunks {
        peer.deliver(&[chunk]);
        deliver_signed(&mut peer, &stranger, &[chunk]);
        deliver_signed(&mut peer, &unknown_key, &[chunk]);
        dropped += 3;
        assert_eq!(peer.stats().unauthenticated, dropped, "{}", chunk.ty());
        assert!(peer.take().is_empty() && peer.is_established() && peer.read().is_empty());
    }
    deliver_signed(&mut peer, &signer, &chunks[..1]);
    assert_eq!(peer.read().len(), 1);
    deliver_signed(&mut peer, &signer, &chunks[1..2]);
    assert!(matches!(peer.close_reason(), Some(CloseReason::AbortedByPeer { .. })));
}

#[test]
fn an_abort_that_reflects_the_tag_proves_nothing() {
    let (mut peer, _) = connected(strict(), &usual_offer());
    let abort = Abort { tag_reflected: true, causes: ErrorCauses::from_bytes(&[]) };
    let path = peer.path;
    peer.deliver_as(path, TAG, &[Chunk::Abort(abort)]);
    assert!(peer.is_established());
}

#[test]
fn what_stands_before_the_auth_chunk_is_not_authenticated() {
    let (mut peer, signer) = connected(strict(), &usual_offer());
    let mut bytes = Vec::new();
    Chunk::Data(data(FIRST_TSN, 0)).encode(&mut bytes);
    bytes.extend(signer.sign(&[Chunk::Data(data(FIRST_TSN + 1, 0))]));
    let path = peer.path;
    peer.deliver_bytes(path, &packet_of_bytes(peer.ports, peer.tag, &bytes));
    let sack = peer.take_sack().expect("of the second");
    assert_eq!((sack.cumulative, sack.blocks), (FIRST_TSN - 1, vec![(2, 2)]));
    assert_eq!(peer.stats().unauthenticated, 1);
}

#[test]
fn a_second_auth_chunk_ends_the_packet() {
    let (mut peer, signer) = connected(strict(), &usual_offer());
    let second = signer.sign(&[Chunk::Data(data(FIRST_TSN + 1, 1))]);
    let first = Chunk::Data(data(FIRST_TSN, 0));
    let (auth, rest) = second.split_at(40);
    let packet = packet_of_bytes(peer.ports, peer.tag, auth);
    let auth = anabranch_wire::Packet::decode(&packet, anabranch_wire::ChecksumMode::Verify);
    let auth = auth.unwrap().chunks().next().unwrap().unwrap();
    assert_eq!(rest.len(), second.len() - 40);
    let last = Chunk::Data(data(FIRST_TSN + 1, 1));
    deliver_signed(&mut peer, &signer, &[first, auth, last]);
    assert_eq!(peer.read().len(), 1);
}

#[test]
fn an_algorithm_that_was_not_offered_is_reported() {
    let (mut peer, signer) = connected(strict(), &usual_offer());
    let md5 = HmacIdentifier(2);
    let signer = Signer { algorithm: md5, ..signer };
    deliver_signed(&mut peer, &signer, &[Chunk::Data(data(FIRST_TSN, 0))]);
    let sent = peer.take();
    let chunks = sent[0].chunks();
    let unsupported = ErrorCause::UnsupportedHmacIdentifier { hmac_identifier: md5 };
    assert_eq!(causes_of(chunks.last().unwrap()), [unsupported]);
    assert!(peer.read().is_empty());
}

#[test]
fn a_peer_that_prefers_sha_1_gets_it_and_may_use_either() {
    let sha_1 = HmacIdentifier::SHA_1;
    let list = offer(&[ChunkType::DATA], &[sha_1]);
    let (mut peer, signer) = connected(strict(), &list);
    peer.send(numbered(0, 1, 100));
    let sent = peer.take();
    let data = sent.iter().find(|sent| sent.has(ChunkType::DATA)).expect("sent");
    let Chunk::Auth(auth) = data.chunks()[0] else { panic!("an AUTH chunk first: {data:?}") };
    assert_eq!((auth.hmac_identifier, auth.hmac.len()), (sha_1, 20));
    assert!(signer.has_signed(data));
    for (nth, algorithm) in [HmacIdentifier::SHA_256, sha_1].into_iter().enumerate() {
        let signer = Signer { algorithm, ..signer.clone() };
        let data = crate::raw_peer::data(FIRST_TSN + nth as u32, nth as u16);
        deliver_signed(&mut peer, &signer, &[Chunk::Data(data)]);
    }
    assert_eq!(peer.read().len(), 2);
}

#[test]
fn a_random_number_of_another_length_ends_the_call() {
    let mut parameters = Vec::new();
    anabranch_wire::Parameter::Random(&[1; 31]).encode(&mut parameters);
    let algorithms = [HmacIdentifier::SHA_1];
    let list = anabranch_wire::Items::from_slice(&algorithms);
    anabranch_wire::Parameter::HmacAlgorithms(list).encode(&mut parameters);
    let mut peer = RawPeer::facing_listener(strict());
    let (path, tag) = (peer.path, anabranch_wire::VerificationTag(0));
    peer.deliver_as(path, tag, &[Chunk::Init(init(TAG, &parameters))]);
    let sent = peer.take();
    let causes = causes_of(&sent[0].chunks()[0]);
    let [ErrorCause::ProtocolViolation(words)] = causes[..] else { panic!("{causes:?}") };
    assert!(String::from_utf8_lossy(words).contains("31 bytes"), "{causes:?}");
}

#[test]
fn either_of_two_keys_opens() {
    let key = |id: u16| SharedKey::new(id, &[id as u8; 20]);
    let with = |keys: Vec<SharedKey>| {
        AssociationConfig::default().with(|config| {
            config.extensions.authentication =
                Some(Authentication::new(keys, Protection::Everything).unwrap())
        })
    };
    let mut duo = ends(with(vec![key(1), key(2)]), with(vec![key(2), key(1)]));
    duo.send(Side::Client, numbered(0, 7, 5_000));
    duo.run_for(500 * MS);
    duo.send(Side::Server, numbered(0, 8, 5_000));
    duo.run_for(500 * MS);
    assert_eq!((duo.numbers(Side::Server), duo.numbers(Side::Client)), (vec![7], vec![8]));
}

#[test]
fn a_stranger_elsewhere_who_repeats_what_was_signed_gets_nothing() {
    let (mut peer, signer) = connected(strict(), &usual_offer());
    let elsewhere = tuple("10.0.0.2:9899", "10.66.0.1:666");
    peer.deliver_as(elsewhere, peer.tag, &[Chunk::Data(data(FIRST_TSN, 0))]);
    assert!(peer.take().is_empty(), "who has no key is not even asked");
    assert_eq!(peer.stats().paths.len(), 1);
    let mut error = Vec::new();
    error.extend(cause(ErrorCause::OutOfResource));
    let causes = ErrorCauses::from_bytes(&error);
    let error = Chunk::Error(anabranch_wire::ErrorChunk { causes });
    peer.deliver_as(elsewhere, peer.tag, &[error]);
    assert_eq!(peer.stats().paths.len(), 1, "nor by a chunk that needs no signature");
    // Who repeats a packet is asked whether it is the peer, and cannot sign an answer.
    let replay = [Chunk::Data(data(FIRST_TSN, 0))];
    deliver_signed(&mut peer, &signer, &replay);
    deliver_signed_from(&mut peer, elsewhere, &signer, &replay);
    peer.run_for(10 * MS);
    let sent = peer.take();
    let asked: Vec<_> = sent.iter().filter(|sent| sent.path == elsewhere).collect();
    let info = asked.iter().flat_map(|sent| sent.chunks()).find_map(|chunk| {
        let Chunk::Heartbeat(heartbeat) = chunk else { return None };
        Some(heartbeat.info.to_vec())
    });
    let ack = Chunk::HeartbeatAck(anabranch_wire::HeartbeatAck { info: &info.expect("asked") });
    peer.deliver_as(elsewhere, peer.tag, &[ack]);
    let moved = |event: &&Event| matches!(event, Event::PathMoved { .. } | Event::PathAdded { .. });
    assert_eq!(peer.events().into_iter().filter(moved).count(), 0);
    deliver_signed_from(&mut peer, elsewhere, &signer, &[ack]);
    assert_eq!(peer.events().into_iter().filter(moved).count(), 1, "the peer itself can");
}

/// The longest time without an arrival at the client when a NAT rebinds.
fn gap_of_a_rebinding(seed: u64, config: AssociationConfig) -> Duration {
    let mut duo = Duo::new(seed, &[link(20, 15, 0.0)], config);
    duo.pair.add_nat(0, NatConfig::default());
    duo.connect();
    assert!(duo.run_until(5_000 * MS, |duo| duo.is_established(Side::Server)));
    let (mut longest, mut last) = (Duration::ZERO, duo.now());
    for number in 0..200 {
        if number == 100 {
            assert!(duo.pair.sim.rebind("path 0"));
        }
        duo.send(Side::Server, numbered(0, number, 1_000));
        for _ in 0..10 {
            let before = duo.messages(Side::Client).len();
            duo.run_for(MS);
            if duo.messages(Side::Client).len() > before {
                longest = longest.max(duo.now() - last);
                last = duo.now();
            }
        }
    }
    duo.run_for(1_000 * MS);
    assert_eq!(duo.numbers(Side::Client), (0..200).collect::<Vec<_>>());
    longest
}

/// How long it takes depends on when the last heartbeat went: the shortest time of several says
/// what a signature costs.
#[test]
fn a_nat_that_rebinds_costs_no_more_than_without_a_key() {
    let shortest = |config: AssociationConfig| {
        (1..=5).map(|seed| gap_of_a_rebinding(seed, config.clone())).min().expect("five")
    };
    let plain = shortest(AssociationConfig::media());
    let signed = shortest(keyed(SECRET, Protection::Everything, AssociationConfig::media()));
    assert!(signed <= plain + 2 * MS, "{signed:?} and {plain:?}");
}

/// A caller that came back signed its COOKIE ECHO, by a key that a peer which knew it from before
/// did not have yet, though that peer had not asked for it.
#[test]
fn regression_a_cookie_echo_was_signed_that_nobody_wanted_signed() {
    let all = [ChunkType::DATA, ChunkType::SACK, ChunkType::ERROR, ChunkType::COOKIE_ECHO];
    let cases = [
        (&all[..1], vec![ChunkType::COOKIE_ECHO]),
        (&all[1..2], vec![ChunkType::COOKIE_ECHO, ChunkType::DATA]),
        (&all[..], vec![ChunkType::AUTH, ChunkType::COOKIE_ECHO, ChunkType::DATA]),
    ];
    for (chunks, expected) in cases {
        let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
        let path = peer.path;
        let sent = peer.let_it_call(&[path], strict());
        peer.send(numbered(0, 7, 100));
        let offer = offer(chunks, &[HmacIdentifier::SHA_256]);
        let signer = Signer::new(SECRET, &offer, &sent.bytes[32..]);
        peer.answer_init(&offer);
        assert_eq!(peer.take_types(), std::slice::from_ref(&expected));
        deliver_signed(&mut peer, &signer, &[Chunk::CookieAck]);
        assert!(peer.is_established());
        let later = peer.take_types().concat();
        let is_sent = expected.contains(&ChunkType::DATA);
        let rest = [ChunkType::AUTH, ChunkType::DATA];
        assert_eq!(later, if is_sent { &[][..] } else { &rest[..] }, "{chunks:?}");
    }
}
