//! The handoff of Chang 2010, by a threshold of silence.

use std::time::Duration;

use anabranch_call::{EndReason, Event, LogKind, LogLine};
use anabranch_netsim::Side;
use anabranch_sansio::{Rate, Time};

use crate::harness::{Person, Talk, link};

const THRESHOLD: Duration = Duration::from_millis(1_500);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A call that has lasted two seconds, by this threshold.
fn talk(seed: u64, threshold: Duration) -> Talk {
    let links = [link(Rate::mbps(8), 10, 0.0), link(Rate::mbps(8), 10, 0.0)];
    let mut talk = Talk::with(seed, &links, |config| config.with_threshold(threshold));
    talk.begin();
    talk
}

/// Warnings of a kind.
fn warnings(person: &Person, kind: LogKind) -> Vec<&LogLine> {
    let lines = person.events.iter().filter_map(|event| {
        let Event::Log(line) = event else { return None };
        Some(line).filter(|line| line.kind == kind)
    });
    lines.collect()
}

/// When the call ended, and why.
fn end(person: &Person) -> Option<EndReason> {
    person.events.iter().find_map(|event| {
        let Event::Ended(end) = event else { return None };
        Some(end.why)
    })
}

#[test]
fn all_goes_over_one_path_as_in_the_papers_calls() {
    let talk = talk(1, THRESHOLD);
    for side in [Side::Client, Side::Server] {
        assert_eq!(talk.path(side, 1).report.chunks_sent, 0, "{side:?}");
        assert!(talk.path(side, 0).report.chunks_sent > 100, "{side:?}");
    }
}

#[test]
fn a_silent_path_is_left_after_the_threshold_with_a_warning_and_not_before() {
    for (seed, millis) in [(2, 500), (3, 1_500), (4, 4_000)] {
        let mut talk = talk(seed, ms(millis));
        let at = talk.pair.now();
        talk.pair.cut(0);
        talk.run_for(ms(millis) + ms(500));
        for person in [&talk.client, &talk.server] {
            let [left] = warnings(person, LogKind::PathFailed)[..] else {
                panic!("{:?}", person.logged());
            };
            let seconds = ms(millis).as_secs_f64();
            let words = format!("Path 0 was silent for {seconds} s: went over to path ");
            assert!(left.text.starts_with(&words), "{}", left.text);
            // What was on its way is heard yet; a check comes each 200 ms.
            let waited = left.at - at;
            assert!(waited >= ms(millis) - ms(100), "{waited:?}");
            assert!(waited <= ms(millis) + ms(350), "{waited:?}");
        }
        talk.run_for(ms(1_000));
        let heard = talk.server.heard.len();
        talk.run_for(ms(2_000));
        assert!(talk.server.heard.len() > heard + 95, "voice goes on");
        assert_eq!((end(&talk.client), end(&talk.server)), (None, None));
    }
}

#[test]
fn a_path_that_came_back_is_gone_back_to() {
    let mut talk = talk(5, THRESHOLD);
    talk.pair.cut(0);
    talk.run_for(ms(4_000));
    talk.pair.restore(0);
    talk.run_for(ms(4_000));
    talk.pair.cut(1);
    talk.run_for(ms(4_000));
    let logged = talk.client.logged();
    let back = "Path 1 was silent for 1.5 s: went over to path 0.";
    assert!(logged.iter().any(|line| line == back), "{logged:#?}");
    let heard = talk.server.heard.len();
    talk.run_for(ms(1_000));
    assert!(talk.server.heard.len() > heard + 45, "voice goes on");
}

#[test]
fn with_no_path_left_the_call_ends_after_the_threshold_with_a_warning() {
    let mut talk = talk(6, THRESHOLD);
    // This one would have been the other path.
    talk.pair.cut(1);
    talk.run_for(ms(3_000));
    assert_eq!(warnings(&talk.client, LogKind::PathFailed), Vec::<&LogLine>::new());
    let at = talk.pair.now();
    talk.pair.cut(0);
    talk.run_for(ms(1_300));
    assert_eq!((end(&talk.client), end(&talk.server)), (None, None));
    talk.run_for(ms(700));
    for person in [&talk.client, &talk.server] {
        assert_eq!(end(person), Some(EndReason::NoPath));
        let [warning] = warnings(person, LogKind::NoPath)[..] else {
            panic!("{:?}", person.logged());
        };
        let words = "Path 0 was silent for 1.5 s, and no other path is available.";
        assert_eq!(warning.text, words);
        assert!(warning.at > at && warning.at < Time::MAX);
    }
}

#[test]
fn a_path_that_its_user_leaves_is_no_silent_one() {
    let mut talk = talk(7, THRESHOLD);
    let path = talk.path(Side::Client, 0).report.id;
    talk.act_client(|agent, now| agent.leave_path(now, path).expect("another one"));
    talk.run_for(ms(2_000));
    // Now the cable may be pulled.
    talk.pair.cut(0);
    talk.run_for(ms(5_000));
    for person in [&talk.client, &talk.server] {
        let failed = warnings(person, LogKind::PathFailed);
        assert_eq!(failed, Vec::<&LogLine>::new(), "{:?}", person.logged());
    }
    assert_eq!((end(&talk.client), end(&talk.server)), (None, None));
}

#[test]
fn a_path_whose_interface_is_gone_is_no_silent_one() {
    let mut talk = talk(8, THRESHOLD);
    let local = talk.path(Side::Client, 0).report.tuple.local;
    talk.pair.cut(0);
    talk.act_client(|agent, now| agent.close_paths_from(now, local));
    talk.run_for(ms(4_000));
    let logged = talk.client.logged();
    assert!(!logged.iter().any(|line| line.contains("was silent")), "{logged:#?}");
    assert!(logged.iter().any(|line| line.contains("lost; went on over")), "{logged:#?}");
    assert_eq!((end(&talk.client), end(&talk.server)), (None, None));
}
