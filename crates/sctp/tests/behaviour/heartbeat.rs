//! Heartbeats and the states of paths (RFC 9260 sections 5.4 and 8, RFC 7829).

use std::time::Duration;

use anabranch_sansio::FourTuple;
use anabranch_sctp::{AssociationConfig, CloseReason, Event, PathId, PathSchedulerKind, PathState};
use anabranch_wire::{Chunk, ChunkType, Heartbeat, HeartbeatAck, Parameter};

use crate::harness::{Duo, Side, good_link, link, numbered};
use crate::packets::{Sent, Wiretap};
use crate::raw_peer::{RawPeer, data, tuple};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

/// The second path of [`dual`], as the endpoint sees it.
fn second_path() -> FourTuple {
    tuple("10.0.0.2:9899", "10.0.0.3:9899")
}

/// A peer that announced two addresses.
fn dual(config: AssociationConfig) -> RawPeer {
    let mut peer = RawPeer::facing_listener(config);
    let mut parameters = Vec::new();
    Parameter::ForwardTsnSupported.encode(&mut parameters);
    Parameter::Ipv4Address([10, 0, 0, 1].into()).encode(&mut parameters);
    Parameter::Ipv4Address([10, 0, 0, 3].into()).encode(&mut parameters);
    peer.call(&parameters);
    peer
}

/// The heartbeats among packets.
fn heartbeats(sent: &[Sent]) -> Vec<&Sent> {
    sent.iter().filter(|sent| sent.has(ChunkType::HEARTBEAT)).collect()
}

/// Echoes the heartbeats of a packet.
fn answer(peer: &mut RawPeer, sent: &Sent) {
    for chunk in sent.chunks() {
        if let Chunk::Heartbeat(Heartbeat { info }) = chunk {
            let ack = Chunk::HeartbeatAck(HeartbeatAck { info });
            peer.deliver_as(sent.path, peer.tag, &[ack]);
        }
    }
}

/// Lets time pass in small steps and answers heartbeats on the paths that `answers` picks.
fn run_answering(
    peer: &mut RawPeer,
    span: Duration,
    answers: impl Fn(FourTuple) -> bool,
) -> Vec<Sent> {
    let end = peer.now + span;
    let mut all = Vec::new();
    while peer.now < end {
        peer.run_for(MILLISECOND * 5);
        let sent = peer.take();
        for sent in heartbeats(&sent).into_iter().filter(|sent| answers(sent.path)) {
            answer(peer, sent);
        }
        all.extend(sent);
    }
    all
}

fn states(peer: &RawPeer) -> Vec<PathState> {
    peer.stats().paths.iter().map(|path| path.state).collect()
}

#[test]
fn an_idle_path_gets_a_heartbeat_every_interval_and_rto_with_jitter() {
    let mut peer = RawPeer::connected(default());
    let sent = run_answering(&mut peer, 3_300 * SECOND, |_| true);
    let beats = heartbeats(&sent);
    let gaps: Vec<_> = beats.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    // HB.interval of 30 s, and an RTO of 1 s, give or take a half.
    let bounds = Duration::from_millis(30_500)..Duration::from_millis(31_510);
    assert!(gaps.len() > 95 && gaps.iter().all(|gap| bounds.contains(gap)), "{gaps:?}");
    let spread = gaps.iter().max().unwrap().saturating_sub(*gaps.iter().min().unwrap());
    assert!(spread > 700 * MILLISECOND, "they differ: {spread:?}");
    let stats = peer.stats().paths[0].counters;
    assert_eq!(stats.heartbeats_sent, stats.heartbeats_acked);
}

#[test]
fn a_path_with_data_gets_no_heartbeats() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    let tap = Wiretap::on(&mut duo);
    for number in 0..200 {
        duo.send(Side::Client, numbered(0, number, 100));
        duo.run_for(SECOND);
    }
    assert_eq!(tap.of(Side::Client, ChunkType::HEARTBEAT).len(), 0);
}

/// SACKs counted as data that was sent, and a side that only received never probed its paths.
#[test]
fn regression_a_side_that_only_receives_sent_no_heartbeats() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    duo.send(Side::Server, numbered(0, 0, 100));
    let tap = Wiretap::on(&mut duo);
    for number in 0..200 {
        duo.send(Side::Client, numbered(0, number, 100));
        duo.run_for(SECOND);
    }
    let beats = tap.of(Side::Server, ChunkType::HEARTBEAT).len();
    assert!((5..=7).contains(&beats), "every 31 s: {beats}");
}

#[test]
fn a_heartbeat_is_answered_with_its_own_information_to_where_it_came_from() {
    let mut peer = RawPeer::connected(default());
    let elsewhere = tuple("10.0.0.2:9899", "10.4.4.4:7");
    let info = [9; 300];
    let heartbeat = Chunk::Heartbeat(Heartbeat { info: &info });
    peer.deliver_as(elsewhere, peer.tag, &[heartbeat]);
    let sent = peer.take();
    let answers =
        |sent: &&Sent| sent.chunks() == [Chunk::HeartbeatAck(HeartbeatAck { info: &info })];
    let ack = sent.iter().find(answers).expect("an answer");
    assert_eq!(ack.path, elsewhere);
}

#[test]
fn heartbeats_are_answered_from_cookie_echoed_until_shutdown() {
    let heartbeat = || Chunk::Heartbeat(Heartbeat { info: b"hello" });
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let path = peer.path;
    peer.let_it_call(&[path], default());
    peer.deliver(&[heartbeat()]);
    assert!(peer.take().is_empty(), "COOKIE-WAIT");
    peer.answer_init(&[]);
    peer.take();
    peer.deliver(&[heartbeat()]);
    assert_eq!(peer.take_types(), [[ChunkType::HEARTBEAT_ACK]], "COOKIE-ECHOED");
    peer.deliver(&[Chunk::CookieAck]);
    peer.act(anabranch_sctp::Association::shutdown);
    peer.take();
    peer.deliver(&[heartbeat()]);
    assert!(peer.take().is_empty(), "SHUTDOWN-SENT");
    peer.run_for(40 * SECOND);
    assert!(heartbeats(&peer.take()).is_empty(), "nor are any sent");
}

#[test]
fn an_announced_path_is_probed_at_once_and_carries_nothing_else_before_it_answers() {
    let mut peer = dual(default());
    peer.run_for(MILLISECOND);
    let sent = peer.take();
    let probes: Vec<_> = sent.iter().filter(|sent| sent.path == second_path()).collect();
    assert_eq!((probes.len(), probes[0].types()), (1, vec![ChunkType::HEARTBEAT]));
    // Data that is lost on the first path finds no other.
    peer.send(numbered(0, 0, 100));
    peer.deliver_as(second_path(), peer.tag, &[Chunk::Data(data(crate::raw_peer::FIRST_TSN, 0))]);
    let sent = run_answering(&mut peer, 20 * SECOND, |_| false);
    let other: Vec<_> = sent.iter().filter(|sent| sent.path == second_path()).collect();
    assert!(other.iter().all(|sent| sent.types() == [ChunkType::HEARTBEAT]), "{other:?}");
    assert_eq!(states(&peer)[1], PathState::Unconfirmed);
}

#[test]
fn an_answer_confirms_its_path() {
    let mut peer = dual(default());
    peer.run_for(MILLISECOND);
    let sent = peer.take();
    peer.run_for(70 * MILLISECOND);
    for probe in heartbeats(&sent) {
        answer(&mut peer, probe);
    }
    assert_eq!(states(&peer), [PathState::Active; 2]);
    let path = peer.stats().paths[1].clone();
    assert_eq!(path.latest_rtt, Some(71 * MILLISECOND), "and measures it");
    let change = Event::PathStateChanged {
        path: PathId(1),
        from: PathState::Unconfirmed,
        to: PathState::Active,
    };
    assert!(peer.events().contains(&&change));
}

#[test]
fn an_answer_with_another_nonce_path_or_length_confirms_nothing() {
    let mut peer = dual(default());
    peer.run_for(MILLISECOND);
    let sent = peer.take();
    let Chunk::Heartbeat(Heartbeat { info }) = heartbeats(&sent)[0].chunks()[0] else {
        panic!("{sent:?}")
    };
    let mut wrong_nonce = info.to_vec();
    *wrong_nonce.last_mut().unwrap() ^= 1;
    let mut wrong_path = info.to_vec();
    wrong_path[0] = 0;
    let mut no_path = info.to_vec();
    no_path[0] = 200;
    for bad in [&wrong_nonce[..], &wrong_path, &no_path, &info[1..], b""] {
        peer.deliver(&[Chunk::HeartbeatAck(HeartbeatAck { info: bad })]);
        assert_eq!(states(&peer)[1], PathState::Unconfirmed, "{bad:?}");
    }
    peer.deliver(&[Chunk::HeartbeatAck(HeartbeatAck { info })]);
    assert_eq!(states(&peer)[1], PathState::Active);
    let acked = peer.stats().paths[1].counters.heartbeats_acked;
    peer.deliver(&[Chunk::HeartbeatAck(HeartbeatAck { info })]);
    assert_eq!(peer.stats().paths[1].counters.heartbeats_acked, acked, "once");
}

#[test]
fn an_unanswered_path_is_probed_every_rto_then_every_interval() {
    let mut peer = dual(default());
    let first = peer.path;
    let start = peer.now;
    let sent = run_answering(&mut peer, 300 * SECOND, |path| path == first);
    let times: Vec<_> = heartbeats(&sent)
        .iter()
        .filter(|sent| sent.path == second_path())
        .map(|sent| (sent.at - start).as_secs())
        .collect();
    // The RTO doubles; after Path.Max.Retrans it is added to the interval, give or take a half.
    assert_eq!(times[..6], [0, 1, 3, 7, 15, 31]);
    let rest: Vec<_> = times[6..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(rest.iter().all(|gap| (60..=181).contains(gap)), "{times:?}");
    assert!(peer.is_established(), "it does not count for the association");
}

#[test]
fn a_path_fails_by_degrees_and_comes_back() {
    let mut peer = dual(default());
    run_answering(&mut peer, 5 * SECOND, |_| true);
    let first = peer.path;
    run_answering(&mut peer, 120 * SECOND, |path| path == first);
    assert_eq!(states(&peer), [PathState::Active, PathState::Inactive]);
    run_answering(&mut peer, 120 * SECOND, |_| true);
    assert_eq!(states(&peer), [PathState::Active; 2]);
    let states: Vec<_> = peer
        .events()
        .into_iter()
        .filter_map(|event| {
            let Event::PathStateChanged { path: PathId(1), to, .. } = event else { return None };
            Some(*to)
        })
        .collect();
    let expected =
        [PathState::Active, PathState::PotentiallyFailed, PathState::Inactive, PathState::Active];
    assert_eq!(states, expected);
}

#[test]
fn a_potentially_failed_path_is_probed_once_per_rto() {
    let mut peer = dual(default().with(|config| config.paths.path_max_retrans = 100));
    run_answering(&mut peer, 5 * SECOND, |_| true);
    let first = peer.path;
    let sent = run_answering(&mut peer, 60 * SECOND, |path| path == first);
    let times: Vec<_> = heartbeats(&sent)
        .iter()
        .filter(|sent| sent.path == second_path())
        .map(|sent| sent.at.as_millis())
        .collect();
    let gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000).collect();
    assert_eq!(gaps[..4], [1, 2, 4, 8], "RFC 7829 section 3.2, rule 6: with back-off: {times:?}");
}

#[test]
fn failures_of_the_path_in_use_end_the_association_and_those_of_others_do_not() {
    let config = default().with(|config| config.recovery.association_max_retrans = 3);
    let mut peer = dual(config);
    let first = peer.path;
    run_answering(&mut peer, 600 * SECOND, |path| path == first);
    assert!(peer.is_established());
    run_answering(&mut peer, 1_200 * SECOND, |_| false);
    assert_eq!(peer.close_reason(), Some(CloseReason::PeerUnreachable));
}

#[test]
fn with_several_dead_paths_the_one_with_fewest_errors_is_used() {
    let mut peer = dual(AssociationConfig::media());
    run_answering(&mut peer, SECOND, |_| true);
    let first = peer.path;
    peer.send(numbered(0, 0, 100));
    run_answering(&mut peer, 400 * MILLISECOND, |path| path != first);
    assert_eq!(states(&peer), [PathState::PotentiallyFailed, PathState::Active]);
    assert!(peer.stats().paths[1].is_current);
    assert_eq!(peer.take().len(), 0);
}

#[test]
fn two_interfaces_towards_one_address_are_two_paths() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let paths = [tuple("10.0.0.2:9899", "10.0.0.1:9899"), tuple("10.0.1.2:9899", "10.0.0.1:9899")];
    peer.let_it_call(&paths, default());
    peer.answer_init(&[]);
    peer.deliver(&[Chunk::CookieAck]);
    run_answering(&mut peer, SECOND, |_| true);
    assert_eq!(states(&peer), [PathState::Active; 2]);
    peer.take();
    peer.send(numbered(0, 0, 100));
    peer.run_for(1_100 * MILLISECOND);
    let sent = peer.take();
    let data: Vec<_> =
        sent.iter().filter(|sent| sent.has(ChunkType::DATA)).map(|sent| sent.path).collect();
    assert_eq!(data, paths, "what timed out on one goes out by the other");
}

#[test]
fn a_path_without_heartbeats_is_left_alone_until_they_are_switched_on_again() {
    let mut peer = dual(default());
    run_answering(&mut peer, 5 * SECOND, |_| true);
    assert_eq!(states(&peer), [PathState::Active; 2]);
    assert!(peer.act(|association, now| association.set_heartbeats(now, PathId(1), false)));
    assert!(!peer.act(|association, now| association.set_heartbeats(now, PathId(2), false)));
    let second =
        |sent: &[Sent]| heartbeats(sent).iter().filter(|sent| sent.path == second_path()).count();
    let sent = run_answering(&mut peer, 600 * SECOND, |_| true);
    assert_eq!((second(&sent), heartbeats(&sent).len()), (0, 19), "the first path has its own");
    // Asked for, and not answered: counted once.
    assert!(peer.act(|association, now| association.request_heartbeat(now, PathId(1))));
    let sent = run_answering(&mut peer, 600 * SECOND, |path| path != second_path());
    assert_eq!(second(&sent), 1);
    assert_eq!(states(&peer)[1], PathState::PotentiallyFailed);
    assert_eq!(peer.stats().paths[1].error_count, 1);
    peer.act(|association, now| association.set_heartbeats(now, PathId(1), true));
    run_answering(&mut peer, 5 * SECOND, |_| true);
    assert_eq!(states(&peer), [PathState::Active; 2]);
}

#[test]
fn a_new_path_is_verified_though_it_shall_have_no_heartbeats() {
    let mut peer = dual(default());
    peer.act(|association, now| association.set_heartbeats(now, PathId(1), false));
    peer.take();
    let sent = run_answering(&mut peer, 600 * SECOND, |_| true);
    let verifying = heartbeats(&sent).iter().filter(|sent| sent.path == second_path()).count();
    assert!(verifying <= 1, "{verifying}");
    assert_eq!(states(&peer), [PathState::Active; 2]);
}

/// An interval without end was added to another time.
#[test]
fn regression_endless_times_in_a_configuration_panicked() {
    let endless = [
        default().with(|config| config.timers.heartbeat_interval = Duration::MAX),
        default().with(|config| config.timers.rto_max = Duration::MAX),
        default().with(|config| {
            config.timers.rto_initial = Duration::MAX;
            config.timers.rto_max = Duration::MAX;
        }),
        default().with(|config| {
            config.timers.rto_min = Duration::MAX;
            config.timers.rto_max = Duration::MAX;
        }),
        default().with(|config| config.timers.t1_initial = Duration::MAX),
        default().with(|config| config.timers.sack_delay = Duration::MAX),
        default().with(|config| config.timers.slack = Duration::MAX),
        default().with(|config| config.timers.rto_variation_min = Duration::MAX),
        AssociationConfig::media()
            .with(|config| config.window.queuing_delay_max = Some(Duration::MAX)),
    ];
    for config in endless {
        assert_eq!(config.validate(), Ok(()));
        let mut duo = Duo::connected(1, &[good_link(), good_link()], config.clone());
        for number in 0..20 {
            duo.send(Side::Client, numbered(0, number, 5_000));
            duo.run_for(SECOND / 4);
        }
        assert_eq!(duo.numbers(Side::Server), (0..20).collect::<Vec<_>>(), "{config:?}");
        duo.pair.cut(0);
        duo.send(Side::Client, numbered(0, 20, 5_000));
        duo.run_for(600 * SECOND);
        duo.act(Side::Client, |association, now| association.shutdown(now));
        duo.run_for(600 * SECOND);
    }
}

#[test]
fn a_caller_is_refused_what_cannot_work() {
    let mut peer = RawPeer::facing(anabranch_sctp::EndpointConfig::default());
    let config = default().with(|config| config.paths.path_mtu = 100);
    let refused = peer.endpoint.connect(peer.now, &[peer.path], (1, 2), config);
    let error = refused.expect_err("no packet fits");
    let expected = "the configuration of the association cannot work: \
                    the path MTU is 100 bytes, but at least 576 are needed";
    assert_eq!(error.to_string(), expected);
    assert_eq!(peer.endpoint.associations().count(), 0);
}

/// Media over all paths, of which one end sends and the other only receives.
fn media(loss: f64, heartbeat_repeats: u32) -> Duo {
    let config = AssociationConfig::media().with(|config| {
        config.paths.path_scheduler = PathSchedulerKind::EarliestDelivery;
        config.timers.heartbeat_repeats = heartbeat_repeats;
    });
    Duo::connected(7, &[link(20, 10, loss), link(12, 25, loss)], config)
}

/// Sends 25 pictures of some 5 kB in each second.
fn send_pictures(duo: &mut Duo, span: Duration) {
    let end = duo.now() + span;
    let mut number = 0;
    while duo.now() < end {
        duo.send(Side::Client, numbered(0, number, 2_000 + 211 * (number as usize % 30)));
        number += 1;
        duo.run_for(MILLISECOND * 40);
    }
}

fn failures(duo: &Duo, side: Side) -> usize {
    let fails = |event: &&Event| {
        let Event::PathStateChanged { to, .. } = event else { return false };
        matches!(to, PathState::PotentiallyFailed | PathState::Inactive)
    };
    duo.events(side).iter().filter(fails).count()
}

#[test]
fn regression_who_only_receives_took_a_working_path_for_dead_with_each_heartbeat_that_was_lost() {
    let failures_with = |repeats| {
        let mut duo = media(0.01, repeats);
        send_pictures(&mut duo, SECOND * 120);
        failures(&duo, Side::Server)
    };
    assert!(failures_with(0) > 5, "one in fifty gets no answer");
    assert_eq!(failures_with(AssociationConfig::media().timers.heartbeat_repeats), 0);
}

#[test]
fn who_only_receives_still_notices_within_a_second_that_a_path_is_dead() {
    let mut duo = media(0.0, AssociationConfig::media().timers.heartbeat_repeats);
    send_pictures(&mut duo, SECOND * 2);
    duo.pair.cut(1);
    send_pictures(&mut duo, SECOND);
    assert_eq!(duo.path(Side::Server, 1).state, PathState::PotentiallyFailed);
    assert_eq!(duo.path(Side::Server, 0).state, PathState::Active);
}

#[test]
fn a_path_that_only_the_peer_announced_is_none_that_we_want() {
    let peer = dual(default());
    let paths = peer.stats().paths;
    let announced = paths.iter().find(|path| path.tuple == second_path()).unwrap();
    assert_eq!((announced.state, announced.is_wanted), (PathState::Unconfirmed, false));
    let duo = Duo::connected(1, &[good_link()], default());
    assert!(duo.path(Side::Client, 0).is_wanted);
}
