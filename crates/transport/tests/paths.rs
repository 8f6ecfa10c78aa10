//! Paths of a session over DCCP as they are opened, closed and silent.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use anabranch_netsim::{CLIENT, LinkConfig, Pair, SERVER, Side};
use anabranch_sansio::{FourTuple, PathId};
use anabranch_transport::{
    Connection, ConnectionId, DccpConfig, DccpTransport, Event, PathEvent, PathState,
    Transport as _,
};

/// Both ends, of which the client has opened the first of three paths.
fn connected() -> (Pair<DccpTransport>, ConnectionId, Vec<FourTuple>) {
    let link = LinkConfig { delay: Duration::from_millis(10), ..LinkConfig::default() };
    let links: Vec<_> = (0..3).map(|_| link.clone().into()).collect();
    let mut pair = Pair::new(1, &links, |side, _, rng| {
        let config = DccpConfig { listen: side == Side::Server, ..DccpConfig::default() };
        DccpTransport::new(config, rng)
    });
    let paths: Vec<_> = pair.paths().iter().map(|path| path.addresses).collect();
    let id = pair.act_client(|client, now| client.connect(now, &paths[..1])).unwrap().unwrap();
    pair.run_for(Duration::from_secs(1)).unwrap();
    pair.sim.take_events(SERVER);
    (pair, id, paths)
}

fn open(pair: &mut Pair<DccpTransport>, id: ConnectionId, tuple: FourTuple) -> Option<PathId> {
    let open =
        |client: &mut DccpTransport, now| client.connection_mut(id).unwrap().open_path(now, tuple);
    pair.act_client(open).unwrap()
}

fn close(pair: &mut Pair<DccpTransport>, id: ConnectionId, tuple: FourTuple) {
    let close = |client: &mut DccpTransport, now| {
        client.connection_mut(id).unwrap().close_paths_from(now, tuple.local);
    };
    pair.act_client(close).unwrap();
}

/// Paths that the server was notified of since this was asked last: added ones, removed ones.
fn changes(pair: &mut Pair<DccpTransport>) -> (Vec<PathId>, Vec<PathId>) {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for (_, event) in pair.sim.take_events(SERVER) {
        if let Event::Path(PathEvent::Added { path, .. }) = event {
            added.push(path);
        } else if let Event::Path(PathEvent::Removed { path, last }) = event {
            assert_eq!(last.id, path);
            assert!(last.packets_received > 0, "the last statistics come with it");
            removed.push(path);
        }
    }
    (added, removed)
}

#[test]
fn regression_the_name_of_a_closed_path_was_used_again_for_another_one() {
    let (mut pair, id, paths) = connected();
    for round in 1..40 {
        let tuple = paths[1 + round % 2];
        let path = PathId(round as u32);
        assert_eq!(open(&mut pair, id, tuple), Some(path));
        assert_eq!(open(&mut pair, id, tuple), None, "this path is there");
        pair.run_for(Duration::from_secs(1)).unwrap();
        assert_eq!(changes(&mut pair), (vec![path], Vec::new()));
        close(&mut pair, id, tuple);
        pair.run_for(Duration::from_secs(1)).unwrap();
        assert_eq!(changes(&mut pair), (Vec::new(), vec![path]));
    }
    for side in [pair.client().connection(id), pair.server().connection(ConnectionId(1))] {
        let left: Vec<_> = side.unwrap().stats().paths.iter().map(|path| path.id).collect();
        assert_eq!(left, [PathId(0)]);
    }
}

#[test]
fn the_peer_learns_of_a_closed_path_whatever_is_lost() {
    let (mut pair, id, paths) = connected();
    open(&mut pair, id, paths[1]).unwrap();
    pair.run_for(Duration::from_secs(1)).unwrap();
    changes(&mut pair);
    pair.sim.drop_next(CLIENT, 3);
    close(&mut pair, id, paths[1]);
    pair.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(changes(&mut pair), (Vec::new(), vec![PathId(1)]));
}

#[test]
fn sixteen_paths_at_a_time_are_enough() {
    let (mut pair, id, paths) = connected();
    let tuple = |port: u16| {
        let mut tuple = paths[1];
        tuple.remote.set_port(port);
        tuple
    };
    for port in 1..16 {
        assert!(open(&mut pair, id, tuple(port)).is_some());
    }
    assert_eq!(open(&mut pair, id, tuple(16)), None);
}

#[test]
fn regression_a_session_ended_where_its_only_path_was_opened_anew() {
    for silent_ms in (500..7_000).step_by(250) {
        let (mut pair, id, _) = connected();
        pair.cut(0);
        pair.run_for(Duration::from_millis(silent_ms)).unwrap();
        pair.restore(0);
        pair.run_for(Duration::from_secs(10)).unwrap();
        let is_there = |state: Option<&dyn Connection>| {
            state.unwrap().stats().paths.iter().any(|path| path.state == PathState::Active)
        };
        assert!(is_there(pair.client().connection(id)), "after {silent_ms} ms");
        assert!(is_there(pair.server().connection(ConnectionId(1))), "after {silent_ms} ms");
    }
}
