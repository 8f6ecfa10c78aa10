//! Packets without a checksum (RFC 9653), where DTLS finds errors.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, EndpointConfig};
use anabranch_wire::{
    Chunk, ChunkType, CookieEcho, ErrorDetectionMethod, Packet, Parameter, VerificationTag,
};

use crate::harness::{Duo, Side, good_link, numbered};
use crate::packets::{Sent, Wiretap, packet};
use crate::raw_peer::{FIRST_TSN, RawPeer, TAG, data};

const SECOND: Duration = Duration::from_secs(1);

fn over_dtls() -> AssociationConfig {
    AssociationConfig::default().with(|config| config.extensions.zero_checksum_over_dtls = true)
}

fn acceptable(method: ErrorDetectionMethod) -> Vec<u8> {
    let mut bytes = Vec::new();
    Parameter::ZeroChecksumAcceptable(method).encode(&mut bytes);
    bytes
}

/// A peer that takes packets without a checksum.
fn connected(config: AssociationConfig) -> RawPeer {
    let mut peer = RawPeer::facing_listener(config);
    peer.call(&acceptable(ErrorDetectionMethod::DTLS));
    peer.take();
    peer
}

/// A packet with these bytes in its checksum field.
fn with_checksum(
    peer: &RawPeer,
    tag: VerificationTag,
    chunk: Chunk<'_>,
    field: [u8; 4],
) -> Vec<u8> {
    let mut bytes = packet(peer.ports, tag, &[chunk]);
    bytes[8..12].copy_from_slice(&field);
    bytes
}

fn deliver_without(peer: &mut RawPeer, tag: VerificationTag, chunk: Chunk<'_>) {
    let bytes = with_checksum(peer, tag, chunk, [0; 4]);
    peer.deliver_bytes(peer.path, &bytes);
}

fn has_checksum(sent: &Sent) -> bool {
    !Packet::has_zero_checksum(&sent.bytes)
}

/// Section 5.2 has a correct checksum in packets with INIT and COOKIE ECHO, whatever was agreed on.
#[test]
fn checksums_are_left_out_where_both_ends_accept_that_and_the_handshake_is_over() {
    for (client, server) in [(false, false), (true, false), (false, true), (true, true)] {
        let [config, association] = [client, server].map(|zero_checksum_over_dtls| {
            AssociationConfig::default()
                .with(|config| config.extensions.zero_checksum_over_dtls = zero_checksum_over_dtls)
        });
        let mut duo = Duo::of_two(1, &[good_link()], config, association);
        let tap = Wiretap::on(&mut duo);
        duo.connect();
        duo.send(Side::Client, numbered(0, 0, 10_000));
        duo.run_for(SECOND);
        duo.send(Side::Server, numbered(0, 1, 10_000));
        duo.run_for(SECOND);
        assert_eq!((duo.numbers(Side::Server), duo.numbers(Side::Client)), (vec![0], vec![1]));
        let both = client && server;
        let begins = [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::COOKIE_ECHO];
        for side in [Side::Client, Side::Server] {
            let omits = duo.association(side).expect("alive").omits_checksums();
            assert_eq!(omits, both, "{client} and {server}");
            for sent in tap.of_all(side) {
                let is_first = begins.iter().any(|ty| sent.types().contains(ty));
                assert_eq!(has_checksum(&sent), is_first || !both, "{:?}", sent.types());
            }
        }
    }
}

#[test]
fn a_peer_that_names_another_method_gets_checksums() {
    let mut peer = RawPeer::facing_listener(over_dtls());
    peer.call(&acceptable(ErrorDetectionMethod(2)));
    peer.take();
    peer.send(numbered(0, 0, 100));
    assert!(peer.take().iter().all(has_checksum));
}

/// Section 5.3: "Otherwise, the endpoint MUST drop all SCTP packets with an incorrect CRC32c
/// checksum."
#[test]
fn packets_without_a_checksum_are_taken_only_where_that_was_announced() {
    for announced in [true, false] {
        let config =
            over_dtls().with(|config| config.extensions.zero_checksum_over_dtls = announced);
        let mut peer = connected(config);
        let tag = peer.tag;
        deliver_without(&mut peer, tag, Chunk::Data(data(FIRST_TSN, 0)));
        assert_eq!(peer.read().len(), usize::from(announced));
        let wrong = with_checksum(&peer, tag, Chunk::Data(data(FIRST_TSN + 1, 1)), [0, 0, 0, 1]);
        peer.deliver_bytes(peer.path, &wrong);
        assert!(peer.read().is_empty(), "a wrong one is wrong");
        assert_eq!(peer.endpoint.stats().malformed, 2 - u64::from(announced));
    }
}

#[test]
fn what_comes_to_no_association_needs_its_checksum() {
    let config = EndpointConfig { accept: true, association: over_dtls(), ..Default::default() };
    let mut peer = RawPeer::facing(config);
    let parameters = acceptable(ErrorDetectionMethod::DTLS);
    let init = Chunk::Init(crate::raw_peer::init(TAG, &parameters));
    deliver_without(&mut peer, VerificationTag(0), init);
    deliver_without(&mut peer, VerificationTag(5), Chunk::Data(data(FIRST_TSN, 0)));
    assert!(peer.take().is_empty(), "neither INIT ACK nor ABORT");
    let cookie = peer.fetch_cookie(TAG, &parameters);
    let echo = Chunk::CookieEcho(CookieEcho { cookie: &cookie });
    let tag = peer.tag;
    deliver_without(&mut peer, tag, echo);
    assert!(!peer.is_established());
    peer.deliver(&[echo]);
    assert!(peer.is_established());
    peer.take();
    deliver_without(&mut peer, tag, echo);
    assert!(peer.take().is_empty(), "nor that of an association that exists");
}
