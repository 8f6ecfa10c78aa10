//! UDP encapsulation (RFC 6951): the peer's port is learned, and may change behind a NAT.

use std::time::Duration;

use anabranch_netsim::{Pair, PathConfig, Side};
use anabranch_sansio::FourTuple;
use anabranch_sctp::{
    Association, AssociationConfig, Endpoint, EndpointConfig, Event, PathId, PathState,
};
use anabranch_wire::{Chunk, ChunkType, Data, Heartbeat, HeartbeatAck};

use crate::harness::{PORTS, good_link, numbered};
use crate::packets::Sent;
use crate::raw_peer::{FIRST_TSN, RawPeer, data, tuple};

const SECOND: Duration = Duration::from_secs(1);

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

/// The peer's address with another UDP port.
fn rebound(port: u16) -> FourTuple {
    tuple("10.0.0.2:9899", &format!("10.0.0.1:{port}"))
}

fn number(number: u32) -> Chunk<'static> {
    Chunk::Data(Data { immediate: true, ..data(FIRST_TSN + number, number as u16) })
}

/// Lets time pass and answers the heartbeats that come to `path`; all else is lost.
fn run_at(peer: &mut RawPeer, path: FourTuple, span: Duration) -> Vec<Sent> {
    let end = peer.now + span;
    let mut all = Vec::new();
    while peer.now < end {
        peer.run_for(Duration::from_millis(10));
        let sent = peer.take();
        for sent in sent.iter().filter(|sent| sent.path == path) {
            for chunk in sent.chunks() {
                if let Chunk::Heartbeat(Heartbeat { info }) = chunk {
                    let ack = Chunk::HeartbeatAck(HeartbeatAck { info });
                    peer.deliver_as(path, peer.tag, &[ack]);
                }
            }
        }
        all.extend(sent);
    }
    all
}

#[test]
fn answers_go_to_the_port_that_packets_come_from() {
    let mut peer = RawPeer::facing_listener(default());
    peer.path = rebound(41_234);
    peer.call(&[]);
    peer.deliver(&[number(0)]);
    assert!(peer.take().iter().all(|sent| sent.path == rebound(41_234)));
    assert!(peer.is_established());
}

#[test]
fn a_port_that_a_nat_changes_is_where_the_path_leads_from_then_on() {
    let mut peer = RawPeer::connected(AssociationConfig::media());
    run_at(&mut peer, rebound(9_899), SECOND);
    // From now on the old port is dead.
    peer.deliver_as(rebound(50_000), peer.tag, &[number(0)]);
    run_at(&mut peer, rebound(50_000), SECOND);
    let (from, to) = (rebound(9_899), rebound(50_000));
    assert!(peer.events().contains(&&Event::PathMoved { path: PathId(0), from, to }));
    assert_eq!(peer.stats().paths.len(), 1);
    let stats = peer.stats();
    assert_eq!(stats.path_totals, stats.paths[0].counters, "what the candidate did counts once");
    peer.send(numbered(0, 0, 100));
    let sent = peer.take();
    let data = sent.iter().find(|sent| sent.has(ChunkType::DATA)).expect("sent");
    assert_eq!(data.path, rebound(50_000));
    assert_eq!(peer.read().len(), 1);
}

#[test]
fn a_new_port_gets_no_data_before_it_answered_a_heartbeat() {
    let mut peer = RawPeer::connected(default());
    peer.deliver_as(rebound(50_000), peer.tag, &[number(0)]);
    peer.send(numbered(0, 0, 10_000));
    peer.run_for(10 * SECOND);
    let sent = peer.take();
    let new = sent.iter().filter(|sent| sent.path == rebound(50_000));
    assert!(new.into_iter().all(|sent| sent.types() == [ChunkType::HEARTBEAT]));
    assert_eq!(peer.stats().paths[1].state, PathState::Unconfirmed);
}

#[test]
fn only_a_packet_with_the_right_tag_makes_a_path() {
    let mut peer = RawPeer::connected(default());
    let wrong = anabranch_wire::VerificationTag(peer.tag.0 ^ 1);
    peer.deliver_as(rebound(50_000), wrong, &[number(0)]);
    assert_eq!(peer.stats().paths.len(), 1);
}

#[test]
fn paths_learned_from_packets_are_limited_and_packets_beyond_are_used_all_the_same() {
    let mut peer = RawPeer::connected(default().with(|config| config.paths.paths_max = 4));
    for count in 0..200 {
        peer.deliver_as(rebound(20_000 + count), peer.tag, &[number(u32::from(count))]);
    }
    assert_eq!(peer.stats().paths.len(), 4);
    let sack = peer.take().iter().rev().find_map(Sent::sack).map(|s| s.cumulative_tsn_ack.0);
    assert_eq!(sack, Some(FIRST_TSN + 199));
    assert_eq!(peer.read().len(), 200);
}

/// Every new port took a path for good; after as many as there may be, all packets were dropped.
#[test]
fn regression_a_peer_whose_nat_changed_often_was_cut_off() {
    let mut peer =
        RawPeer::connected(AssociationConfig::media().with(|config| config.paths.paths_max = 3));
    for count in 0..10_u16 {
        let path = rebound(30_000 + count);
        peer.deliver_as(path, peer.tag, &[number(u32::from(count))]);
        let start = peer.now;
        run_at(&mut peer, path, 20 * SECOND);
        let paths = peer.stats().paths;
        let current = paths.iter().find(|path| path.is_current).expect("always one");
        assert_eq!((current.tuple, current.state), (path, PathState::Active), "port {count}");
        assert!(paths.len() <= 3 && peer.now - start <= 21 * SECOND);
        peer.send(numbered(0, u32::from(count), 100));
        let sent = peer.take();
        assert!(sent.iter().any(|sent| sent.path == path && sent.has(ChunkType::DATA)));
        peer.acknowledge(u32::from(count) + 1, &[], 100_000);
    }
    assert_eq!(peer.read().len(), 10);
}

#[test]
fn a_path_of_the_user_never_makes_way() {
    let mut peer = RawPeer::facing(EndpointConfig::default());
    let paths = [tuple("10.0.0.2:9899", "10.0.0.1:9899"), tuple("10.0.1.2:9899", "10.0.0.1:9899")];
    let config = AssociationConfig::media().with(|config| config.paths.paths_max = 2);
    peer.let_it_call(&paths, config);
    peer.answer_init(&[]);
    peer.deliver(&[Chunk::CookieAck]);
    run_at(&mut peer, paths[0], 30 * SECOND);
    assert_eq!(peer.stats().paths[1].state, PathState::Inactive);
    peer.deliver_as(rebound(30_000), peer.tag, &[number(0)]);
    let tuples: Vec<_> = peer.stats().paths.iter().map(|path| path.tuple).collect();
    assert_eq!(tuples, paths);
}

#[test]
fn a_path_that_the_user_opens_carries_data_after_it_was_confirmed() {
    let mut peer = RawPeer::connected(default());
    let other = tuple("10.0.1.2:9899", "10.0.0.1:9899");
    let path = peer.act(|association, now| association.open_path(now, other)).expect("room");
    assert!(!peer.act(|association, _| association.set_primary(path)), "not confirmed yet");
    run_at(&mut peer, other, SECOND);
    assert!(peer.act(|association, _| association.set_primary(path)));
    peer.send(numbered(0, 0, 100));
    assert_eq!(peer.take()[0].path, other);
    assert_eq!(peer.act(|association, now| association.open_path(now, other)), Some(path));
}

#[test]
fn ipv4_and_ipv6_paths_make_one_association() {
    let paths = ["[fd00::1]:9899 [fd00::2]:9899", "10.0.0.1:9899 10.0.0.2:9899"].map(|ends| {
        let (near, far) = ends.split_once(' ').expect("two ends");
        let addresses = tuple(near, far);
        PathConfig { name: ends.to_owned(), addresses, links: good_link().into() }
    });
    let mut pair = Pair::with_paths(1, &paths, |side, paths, rng| {
        let accept = side == Side::Server;
        let mut endpoint =
            Endpoint::new(EndpointConfig { accept, ..EndpointConfig::default() }, rng);
        endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
        endpoint
    })
    .expect("two paths");
    let tuples = paths.map(|path| path.addresses);
    let connect = |endpoint: &mut Endpoint, now| endpoint.connect(now, &tuples, PORTS, default());
    pair.act_client(connect).expect("quiet").expect("connects");
    pair.run_for(5 * SECOND).expect("comes to rest");
    for endpoint in [pair.client(), pair.server()] {
        let id = endpoint.associations().next().expect("one");
        let paths = endpoint.association(id).map(Association::stats).expect("alive").paths;
        let states: Vec<_> = paths.iter().map(|path| path.state).collect();
        assert_eq!(states, [PathState::Active; 2]);
    }
}
