//! Paths fail and come back.

use std::time::Duration;

use anabranch_sctp::{AssociationConfig, Event, PathId, PathState};

use crate::harness::{Duo, Side, good_link, link, numbered};

/// Sends a message every 10 ms for a span; returns the longest time without an arrival.
fn stream_for(duo: &mut Duo, first: u32, span: Duration) -> Duration {
    let period = Duration::from_millis(10);
    let mut longest = Duration::ZERO;
    let mut last = duo.now();
    for number in 0..(span.as_millis() / period.as_millis()) as u32 {
        let before = duo.messages(Side::Server).len();
        duo.send(Side::Client, numbered(0, first + number, 1_000));
        duo.run_for(period);
        if duo.messages(Side::Server).len() > before {
            longest = longest.max(duo.now() - last);
            last = duo.now();
        }
    }
    longest.max(duo.now() - last)
}

#[test]
fn both_sides_learn_of_both_paths_and_confirm_them() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], AssociationConfig::media());
    duo.run_for(Duration::from_secs(1));
    for side in [Side::Client, Side::Server] {
        let states: Vec<_> = duo.stats(side).paths.iter().map(|path| path.state).collect();
        assert_eq!(states, [PathState::Active, PathState::Active], "{side:?}");
    }
}

#[test]
fn a_cut_primary_costs_a_gap_of_one_timeout_and_no_message() {
    let mut duo = Duo::connected(2, &[good_link(), good_link()], AssociationConfig::media());
    stream_for(&mut duo, 0, Duration::from_secs(2));
    duo.pair.cut(0);
    let gap = stream_for(&mut duo, 200, Duration::from_secs(3));
    assert!(gap < Duration::from_millis(200), "a gap of {gap:?}");
    assert_eq!(duo.path(Side::Client, 0).state, PathState::Inactive);
    let moved = Event::DataPathChanged { from: PathId(0), to: PathId(1) };
    assert!(duo.events(Side::Client).contains(&moved));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.numbers(Side::Server), (0..500).collect::<Vec<_>>());
}

#[test]
fn a_key_frame_lost_with_the_primary_comes_over_the_other_path_within_200_ms() {
    let links = [link(20, 10, 0.0), link(12, 25, 0.0)];
    let mut duo = Duo::connected(5, &links, AssociationConfig::media());
    stream_for(&mut duo, 0, Duration::from_secs(2));
    let sent = duo.now();
    duo.send(Side::Client, numbered(0, 200, 15_000));
    duo.pair.cut(0);
    duo.run_until(Duration::from_secs(1), |duo| duo.numbers(Side::Server).contains(&200));
    let took = duo.now() - sent;
    assert!(took < Duration::from_millis(200), "it took {took:?}");
}

#[test]
fn data_returns_to_the_primary_when_it_is_back() {
    let mut duo = Duo::connected(3, &[good_link(), good_link()], AssociationConfig::media());
    duo.pair.cut(0);
    stream_for(&mut duo, 0, Duration::from_secs(4));
    duo.pair.restore(0);
    stream_for(&mut duo, 400, Duration::from_secs(3));
    assert!(duo.path(Side::Client, 0).is_current);
    assert_eq!(duo.path(Side::Client, 0).state, PathState::Active);
}

#[test]
fn with_all_paths_cut_the_peer_counts_as_lost_after_its_retransmissions() {
    let mut duo = Duo::connected(4, &[good_link(), good_link()], AssociationConfig::media());
    duo.send(Side::Client, numbered(0, 0, 100));
    duo.run_for(Duration::from_secs(1));
    duo.pair.cut(0);
    duo.pair.cut(1);
    duo.send(Side::Client, numbered(0, 1, 100));
    let reason = duo.run_until_closed(Side::Client);
    assert_eq!(reason, anabranch_sctp::CloseReason::PeerUnreachable);
}

#[test]
fn paths_from_an_address_that_is_gone_are_left_at_once_and_nothing_is_lost() {
    let mut duo = Duo::connected(6, &[good_link(), good_link()], AssociationConfig::media());
    stream_for(&mut duo, 0, Duration::from_secs(1));
    let gone = duo.path(Side::Client, 0).tuple;
    let before = duo.path(Side::Client, 1).window;
    duo.pair.cut(0);
    duo.act(Side::Client, |association, now| association.close_paths_from(now, gone.local));
    assert_eq!(duo.path(Side::Client, 0).state, PathState::Inactive);
    let gap = stream_for(&mut duo, 100, Duration::from_secs(1));
    assert!(gap <= Duration::from_millis(30), "a gap of {gap:?}");
    assert!(duo.path(Side::Client, 1).window >= before, "it says nothing about congestion");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.numbers(Side::Server), (0..200).collect::<Vec<_>>());
}

#[test]
fn a_path_from_an_address_that_is_back_is_used_after_a_round_trip() {
    let mut duo = Duo::connected(7, &[good_link(), good_link()], AssociationConfig::media());
    duo.run_for(Duration::from_secs(1));
    let gone = duo.path(Side::Client, 0).tuple;
    duo.act(Side::Client, |association, now| association.close_paths_from(now, gone.local));
    let opened = duo.act(Side::Client, |association, now| association.open_path(now, gone));
    assert_eq!(opened, Some(PathId(0)));
    duo.run_for(Duration::from_millis(25));
    assert_eq!(duo.path(Side::Client, 0).state, PathState::Active);
}

/// Whose interfaces change often would run out of paths.
#[test]
fn a_path_from_an_address_that_is_gone_makes_way_for_others() {
    let config = AssociationConfig::media().with(|config| config.paths.paths_max = 3);
    let mut duo = Duo::connected(8, &[good_link(), good_link()], config);
    let remote = duo.path(Side::Client, 0).tuple.remote;
    for number in 0..10 {
        let local = std::net::SocketAddr::from(([10, 9, 9, number], 9));
        let tuple = anabranch_sansio::FourTuple::new(local, remote);
        let path = duo.act(Side::Client, |association, now| association.open_path(now, tuple));
        assert_eq!(path, Some(PathId(2 + u32::from(number))), "a name is used once");
        duo.act(Side::Client, |association, now| association.close_paths_from(now, local));
    }
}

/// A client with room for three paths, two of which work, that opens and leaves ten more.
fn restless() -> Duo {
    let config = AssociationConfig::media().with(|config| config.paths.paths_max = 3);
    let mut duo = Duo::connected(9, &[good_link(), good_link()], config);
    let remote = duo.path(Side::Client, 0).tuple.remote;
    let before = duo.stats(Side::Client).path_totals;
    for number in 0..10 {
        let local = std::net::SocketAddr::from(([10, 9, 9, number], 9));
        let tuple = anabranch_sansio::FourTuple::new(local, remote);
        duo.act(Side::Client, |association, now| association.open_path(now, tuple));
        duo.run_for(Duration::from_millis(500));
        duo.act(Side::Client, |association, now| association.close_paths_from(now, local));
    }
    let sent = duo.stats(Side::Client).path_totals.heartbeats_sent;
    assert!(sent > before.heartbeats_sent + 10, "each was tried out");
    duo
}

#[test]
fn a_path_that_makes_way_is_told_with_its_last_statistics() {
    let duo = restless();
    let removed: Vec<_> = duo
        .events(Side::Client)
        .iter()
        .filter_map(|event| {
            let Event::PathRemoved { path, last } = event else { return None };
            Some((*path, last))
        })
        .collect();
    let names: Vec<_> = removed.iter().map(|(path, _)| path.0).collect();
    assert_eq!(names, (2..11).collect::<Vec<_>>(), "the last one still has its place");
    for (number, (path, last)) in removed.iter().enumerate() {
        assert_eq!((last.id, last.state), (*path, PathState::Unconfirmed));
        assert_eq!(last.tuple.local.ip().to_string(), format!("10.9.9.{number}"));
        assert!(last.counters.heartbeats_sent > 0);
    }
    let association = duo.association(Side::Client).expect("lives");
    assert!(association.stats().paths.iter().all(|path| !names.contains(&path.id.0)));
}

#[test]
fn the_totals_of_an_association_include_the_paths_that_are_gone() {
    let duo = restless();
    let stats = duo.stats(Side::Client);
    let mut total = anabranch_sctp::PathStats::default();
    stats.paths.iter().for_each(|path| total.add(&path.counters));
    assert!(total.heartbeats_sent < stats.path_totals.heartbeats_sent);
    for event in duo.events(Side::Client) {
        if let Event::PathRemoved { last, .. } = event {
            total.add(&last.counters);
        }
    }
    assert_eq!(total, stats.path_totals);
}

#[test]
fn a_name_of_a_path_that_is_gone_names_nothing() {
    let mut duo = restless();
    let gone = PathId(5);
    duo.act(Side::Client, |association, now| {
        assert!(!association.set_primary(gone));
        assert!(!association.set_heartbeats(now, gone, false));
        assert!(!association.request_heartbeat(now, gone));
    });
}
