//! What people choose: paths to spare, a primary, voice once or twice.

use std::time::Duration;

use anabranch_call::{PathError, PathUse};
use anabranch_netsim::Side;
use anabranch_sansio::{PathId, Rate};

use crate::harness::{Talk, link};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn talk(seed: u64) -> Talk {
    Talk::begun(seed, &[link(Rate::mbps(8), 10, 0.0), link(Rate::mbps(8), 10, 0.0)])
}

/// Chunks that an end has sent over a path.
fn sent(talk: &Talk, side: Side, path: usize) -> u64 {
    talk.path(side, path).report.chunks_sent
}

#[test]
fn voice_takes_two_paths_unless_it_shall_not() {
    let mut talk = talk(1);
    talk.run_for(ms(1_000));
    let copied = talk.stats(Side::Client).sent_voice.chunks_copied;
    assert!(copied > 100, "{copied} copies in 3 s");
    talk.act_client(|agent, _| agent.set_voice_twice(false));
    let copied = talk.stats(Side::Client).sent_voice.chunks_copied;
    talk.run_for(ms(1_000));
    assert_eq!(talk.stats(Side::Client).sent_voice.chunks_copied, copied);
}

#[test]
fn a_spared_path_carries_nothing_of_either_end_until_it_is_the_last_one() {
    let mut talk = talk(2);
    talk.act_client(|agent, now| agent.set_path_use(now, PathId(1), PathUse::Spare)).unwrap();
    talk.run_for(ms(500));
    let before = (sent(&talk, Side::Client, 1), sent(&talk, Side::Server, 1));
    talk.run_for(ms(2_000));
    assert_eq!((sent(&talk, Side::Client, 1), sent(&talk, Side::Server, 1)), before);
    assert!(talk.path(Side::Server, 1).note.peer_spares);
    talk.pair.cut(0);
    talk.run_for(ms(2_000));
    assert!(sent(&talk, Side::Client, 1) > before.0 + 50, "the call goes on");
    let heard = talk.server.heard.len();
    talk.run_for(ms(1_000));
    assert!(talk.server.heard.len() > heard + 45);
}

#[test]
fn pictures_take_the_primary_alone() {
    let mut talk = talk(3);
    talk.act_client(|agent, _| {
        agent.set_voice_twice(false);
        agent.set_primary(Some(PathId(1)));
    });
    talk.run_for(ms(500));
    let before = [0, 1].map(|path| talk.path(Side::Client, path).report.bytes_sent);
    talk.run_for(ms(2_000));
    let after = [0, 1].map(|path| talk.path(Side::Client, path).report.bytes_sent);
    assert!(after[1] - before[1] > 4 * (after[0] - before[0]), "{before:?} {after:?}");
}

#[test]
fn pictures_follow_the_default_route_without_a_gap_and_the_log_says_so() {
    let mut talk = talk(5);
    let local = talk.path(Side::Client, 1).report.tuple.local;
    let at = talk.pair.now();
    talk.act_client(|agent, now| {
        agent.set_voice_twice(false);
        agent.name_address(local.ip(), "wlan0".to_owned());
        agent.follow_route(now, local);
    });
    talk.run_for(ms(500));
    let before = [0, 1].map(|path| talk.path(Side::Client, path).report.bytes_sent);
    talk.run_for(ms(2_000));
    let after = [0, 1].map(|path| talk.path(Side::Client, path).report.bytes_sent);
    assert!(after[1] - before[1] > 4 * (after[0] - before[0]), "{before:?} {after:?}");
    assert_eq!((talk.server.concealed.len(), talk.server.unheard()), (0, 0));
    let freeze = talk.server.longest_freeze(at, at + ms(2_000));
    assert!(freeze <= ms(100), "pictures stood still for {freeze:?}");
    let logged = talk.client.logged();
    let moved = "The default route moved to wlan0; went over to it.";
    assert_eq!(logged.iter().filter(|line| *line == moved).count(), 1, "{logged:#?}");
}

#[test]
fn a_route_that_no_path_takes_changes_nothing() {
    let mut talk = talk(6);
    let logged = talk.client.logged().len();
    talk.act_client(|agent, now| agent.follow_route(now, "192.0.2.77:9".parse().unwrap()));
    talk.run_for(ms(100));
    assert_eq!(talk.client.logged().len(), logged);
}

#[test]
fn the_last_path_cannot_be_left_and_an_unknown_one_is_named() {
    let mut talk = Talk::begun(4, &[link(Rate::mbps(8), 10, 0.0)]);
    let left = talk.act_client(|agent, now| agent.leave_path(now, PathId(0)));
    assert_eq!(left, Err(PathError::LastOne(PathId(0))));
    let never = talk.act_client(|agent, now| agent.set_path_use(now, PathId(0), PathUse::Never));
    assert_eq!(never, Err(PathError::LastOne(PathId(0))));
    let unknown = talk.act_client(|agent, now| agent.leave_path(now, PathId(7)));
    assert_eq!(unknown.unwrap_err().to_string(), "path 7 does not exist");
}
