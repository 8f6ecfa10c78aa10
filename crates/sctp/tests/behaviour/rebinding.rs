//! A NAT in front of the client changes ports or addresses, or would like to forget them; and what
//! those can do who only pretend that.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, NatConfig};
use anabranch_sctp::{AssociationConfig, Event, PathId, PathState};
use anabranch_wire::{Chunk, ChunkType, Heartbeat, HeartbeatAck};

use crate::harness::{Duo, Side, link, numbered};
use crate::raw_peer::{FIRST_TSN, RawPeer, data, tuple};

const MS: Duration = Duration::from_millis(1);

/// A media association through a NAT, over a link of 20 Mbit/s.
fn behind_nat(seed: u64, rtt_ms: u64, nat: NatConfig) -> Duo {
    let links: [LinkConfig; 1] = [link(20, rtt_ms / 2, 0.0)];
    let mut duo = Duo::new(seed, &links, AssociationConfig::media());
    duo.pair.add_nat(0, nat);
    duo.connect();
    assert!(duo.run_until(5_000 * MS, |duo| duo.is_established(Side::Server)));
    duo
}

fn rebind(duo: &mut Duo) {
    assert!(duo.pair.sim.rebind("path 0"));
}

/// The other side.
fn opposite(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

/// One side sends a message of 1,000 bytes every `period`, from `first` on. Returns the longest
/// time without an arrival, to the millisecond.
fn stream(duo: &mut Duo, side: Side, first: u32, count: u32, period: Duration) -> Duration {
    let (mut longest, mut last) = (Duration::ZERO, duo.now());
    for number in first..first + count {
        duo.send(side, numbered(0, number, 1_000));
        for _ in 0..period.as_millis() {
            let before = duo.messages(opposite(side)).len();
            duo.run_for(MS);
            if duo.messages(opposite(side)).len() > before {
                longest = longest.max(duo.now() - last);
                last = duo.now();
            }
        }
    }
    longest.max(duo.now() - last)
}

/// Streams, has something befall the NAT, and streams on. Returns the longest gap.
fn gap(duo: &mut Duo, side: Side, period: Duration, befalls: impl FnOnce(&mut Duo)) -> Duration {
    stream(duo, side, 0, 100, period);
    befalls(duo);
    let gap = stream(duo, side, 100, 100, period);
    duo.run_for(1_000 * MS);
    assert_eq!(duo.numbers(opposite(side)), (0..200).collect::<Vec<_>>(), "nothing is lost");
    gap
}

fn moves(duo: &Duo) -> usize {
    let events = duo.events(Side::Server).iter();
    events.filter(|event| matches!(event, Event::PathMoved { path: PathId(0), .. })).count()
}

#[test]
fn a_rebinding_while_the_client_sends_is_not_noticed_by_who_receives() {
    for rtt_ms in [20, 30, 50] {
        let mut duo = behind_nat(rtt_ms, rtt_ms, NatConfig::default());
        let gap = gap(&mut duo, Side::Client, 10 * MS, rebind);
        assert!(gap <= 12 * MS, "{gap:?} at {rtt_ms} ms");
        assert_eq!((moves(&duo), duo.stats(Side::Server).paths.len()), (1, 1));
        assert_eq!(duo.path(Side::Client, 0).counters.timeouts, 0, "at {rtt_ms} ms");
    }
}

/// Two round trips are needed, whatever is done: the receiver's packet shows the new port, a nonce
/// goes there and back, and then data goes. What comes on top is the receiver's patience.
#[test]
fn a_rebinding_while_the_server_sends_costs_two_round_trips_and_the_receivers_patience() {
    for (rtt_ms, most_ms) in [(20, 80), (30, 100), (50, 140)] {
        for offset_ms in 0..10 {
            let mut duo = behind_nat(rtt_ms, rtt_ms, NatConfig::default());
            duo.run_for(offset_ms * MS);
            let gap = gap(&mut duo, Side::Server, 10 * MS, |duo| {
                duo.run_for(offset_ms * MS);
                rebind(duo);
            });
            let most = most_ms * MS;
            assert!(gap <= most, "{gap:?} at {rtt_ms} ms, {offset_ms} ms after a message");
            assert_eq!((moves(&duo), duo.stats(Side::Server).paths.len()), (1, 1));
        }
    }
}

#[test]
fn a_stream_of_25_pictures_a_second_goes_on_within_100_ms_of_a_rebinding() {
    let mut duo = behind_nat(1, 20, NatConfig::default());
    let gap = gap(&mut duo, Side::Server, 40 * MS, rebind);
    assert!(gap <= 120 * MS, "{gap:?}, of which 40 ms are the pause between two pictures");
}

#[test]
fn what_was_measured_of_a_path_holds_when_only_its_port_changed() {
    let mut duo = behind_nat(2, 20, NatConfig::default());
    duo.saturate(Side::Server, 1_000, 1_000 * MS);
    let before = duo.path(Side::Server, 0);
    rebind(&mut duo);
    duo.run_until(500 * MS, |duo| moves(duo) == 1);
    let after = duo.path(Side::Server, 0);
    assert!(after.srtt.is_some() && after.window >= before.window / 2, "{before:?} {after:?}");
    assert_ne!(after.tuple.remote, before.tuple.remote);
    assert_eq!(after.tuple.remote.ip(), before.tuple.remote.ip());
}

#[test]
fn with_another_address_the_path_is_measured_anew() {
    let mut duo = behind_nat(3, 20, NatConfig::default());
    let gap = gap(&mut duo, Side::Server, 10 * MS, |duo| {
        let network = duo.pair.sim.network_mut();
        let nat = network.nat("path 0").unwrap();
        network.renumber(nat, [198, 18, 77, 1].into()).unwrap();
    });
    assert!(gap <= 100 * MS, "{gap:?}");
    let path = duo.path(Side::Server, 0);
    assert_eq!(path.tuple.remote.ip(), std::net::IpAddr::from([198, 18, 77, 1]));
    assert_eq!(moves(&duo), 1);
}

#[test]
fn rebindings_in_a_row_are_each_survived() {
    let mut duo = behind_nat(4, 30, NatConfig::default());
    for round in 0..10 {
        rebind(&mut duo);
        let side = if round % 2 == 0 { Side::Client } else { Side::Server };
        stream(&mut duo, side, round * 50, 50, 10 * MS);
    }
    duo.run_for(1_000 * MS);
    assert_eq!(duo.messages(Side::Server).len() + duo.messages(Side::Client).len(), 500);
    assert!(duo.stats(Side::Server).paths.len() <= 2);
}

#[test]
fn heartbeats_keep_the_port_of_an_idle_path_for_as_long_as_it_is_idle() {
    let nat = NatConfig { timeout: Duration::from_secs(15), ..NatConfig::default() };
    let mut duo = behind_nat(5, 50, nat);
    let before = duo.path(Side::Server, 0).tuple;
    duo.run_for(Duration::from_secs(600));
    assert_eq!(duo.path(Side::Server, 0).tuple, before);
    stream(&mut duo, Side::Server, 0, 10, 10 * MS);
    duo.run_for(100 * MS);
    assert_eq!(duo.numbers(Side::Client), (0..10).collect::<Vec<_>>());
}

#[test]
fn who_receives_in_the_usual_rhythm_sends_no_heartbeats_for_it() {
    let mut duo = behind_nat(6, 20, NatConfig::default());
    stream(&mut duo, Side::Server, 0, 50, 40 * MS);
    let before = duo.path(Side::Client, 0).counters.heartbeats_sent;
    stream(&mut duo, Side::Server, 50, 100, 40 * MS);
    let sent = duo.path(Side::Client, 0).counters.heartbeats_sent - before;
    assert!(sent <= 9, "{sent} in 4 s: two a second, as without media");
}

/// An endpoint that sends a lot, facing a script.
fn streaming(config: AssociationConfig) -> RawPeer {
    let mut peer = RawPeer::connected(config);
    for number in 0..20 {
        peer.send(numbered(0, number, 1_000));
    }
    peer.take();
    peer
}

#[test]
fn a_spoofed_source_gets_at_most_three_times_what_was_sent_in_its_name_and_never_data() {
    let mut peer = streaming(AssociationConfig::media());
    let victim = tuple("10.0.0.2:9899", "10.66.0.1:53");
    let mut reflected = 0;
    let packet = [Chunk::Heartbeat(Heartbeat { info: &[7; 100] })];
    for _ in 0..50 {
        peer.deliver_as(victim, peer.tag, &packet);
        peer.run_for(100 * MS);
        for sent in peer.take().iter().filter(|sent| sent.path == victim) {
            let harmless = [ChunkType::HEARTBEAT, ChunkType::HEARTBEAT_ACK];
            assert!(sent.types().iter().all(|ty| harmless.contains(ty)), "{:?}", sent.types());
            reflected += sent.bytes.len();
        }
    }
    let spoofed = 50 * (12 + 4 + 4 + 100);
    assert!(0 < reflected && reflected <= 3 * spoofed, "{reflected} for {spoofed}");
    assert!(
        peer.stats()
            .paths
            .iter()
            .all(|path| path.tuple != victim || path.state == PathState::Unconfirmed)
    );
}

#[test]
fn what_a_short_packet_earns_is_not_exceeded_however_long_its_source_is_probed() {
    let mut peer = streaming(AssociationConfig::media());
    let victim = tuple("10.0.0.2:9899", "10.66.0.1:53");
    peer.deliver_as(victim, peer.tag, &[Chunk::CookieAck]);
    peer.run_for(20_000 * MS);
    let sent = peer.take();
    let reflected: usize =
        sent.iter().filter(|sent| sent.path == victim).map(|sent| sent.bytes.len()).sum();
    assert!(0 < reflected && reflected <= 3 * 16, "{reflected} for 16");
}

#[test]
fn a_flood_of_sources_neither_fills_the_paths_nor_keeps_the_peer_from_moving() {
    let mut peer = RawPeer::connected(AssociationConfig::media());
    for port in 0..1_000 {
        let source = tuple("10.0.0.2:9899", &format!("10.66.0.1:{}", 2_000 + port));
        peer.deliver_as(source, peer.tag, &[Chunk::Heartbeat(Heartbeat { info: &[7; 8] })]);
    }
    assert_eq!(peer.stats().paths.len(), 5, "four candidates");
    peer.run_for(10_000 * MS);
    peer.take();
    assert_eq!(peer.stats().paths.len(), 1, "they did not answer");
    let moved = tuple("10.0.0.2:9899", "10.0.0.1:40000");
    peer.deliver_as(moved, peer.tag, &[Chunk::Data(data(FIRST_TSN, 0))]);
    peer.run_for(10 * MS);
    answer_heartbeats(&mut peer, moved);
    assert_eq!(peer.stats().paths[0].tuple, moved);
}

/// Answers what waits for an answer at `path`.
fn answer_heartbeats(peer: &mut RawPeer, path: anabranch_sansio::FourTuple) {
    for sent in peer.take().iter().filter(|sent| sent.path == path) {
        for chunk in sent.chunks() {
            if let Chunk::Heartbeat(Heartbeat { info }) = chunk {
                peer.deliver_as(path, peer.tag, &[Chunk::HeartbeatAck(HeartbeatAck { info })]);
            }
        }
    }
}

#[test]
fn a_wrong_nonce_confirms_nothing() {
    let mut peer = streaming(AssociationConfig::media());
    let stranger = tuple("10.0.0.2:9899", "10.66.0.1:53");
    peer.deliver_as(stranger, peer.tag, &[Chunk::Heartbeat(Heartbeat { info: &[7; 100] })]);
    peer.run_for(10 * MS);
    let guess = [1, 0, 1, 2, 3, 4, 5, 6, 7];
    peer.deliver_as(stranger, peer.tag, &[Chunk::HeartbeatAck(HeartbeatAck { info: &guess })]);
    assert_eq!(peer.stats().paths[1].state, PathState::Unconfirmed);
    assert!(peer.take().iter().all(|sent| sent.path != stranger || !sent.has(ChunkType::DATA)));
}

/// Two modems behind one NAT, or an interface more: the old path is heard of, and stays.
#[test]
fn a_new_source_beside_a_path_that_lives_is_a_path_of_its_own() {
    let mut peer = RawPeer::connected(AssociationConfig::media());
    let second = tuple("10.0.0.2:9899", "10.0.0.1:40000");
    peer.deliver_as(second, peer.tag, &[Chunk::Data(data(FIRST_TSN, 0))]);
    peer.run_for(20 * MS);
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 1, 1))]);
    answer_heartbeats(&mut peer, second);
    let tuples: Vec<_> = peer.stats().paths.iter().map(|path| path.tuple).collect();
    assert_eq!(tuples, [peer.path, second]);
    let added = Event::PathAdded { path: PathId(1), tuple: second };
    assert!(peer.events().contains(&&added));
}

#[test]
fn regression_a_candidate_from_an_address_that_went_away_became_a_path_of_which_no_event_told() {
    let mut peer = RawPeer::connected(AssociationConfig::media());
    let second = tuple("10.0.0.2:9899", "10.0.0.1:40000");
    peer.deliver_as(second, peer.tag, &[Chunk::Data(data(FIRST_TSN, 0))]);
    peer.run_for(20 * MS);
    peer.act(|association, now| association.close_paths_from(now, second.local));
    answer_heartbeats(&mut peer, second);
    assert!(peer.stats().paths.iter().any(|path| path.tuple == second));
    let added =
        |event: &&Event| matches!(event, Event::PathAdded { tuple, .. } if *tuple == second);
    let moved = |event: &&Event| matches!(event, Event::PathMoved { to, .. } if *to == second);
    let events = peer.events();
    assert_eq!(events.into_iter().filter(|event| added(event) || moved(event)).count(), 1);
}
