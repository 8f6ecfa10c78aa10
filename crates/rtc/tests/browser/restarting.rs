//! A page whose network changes: ICE is restarted, and all above it goes on.

use std::time::Duration;

use anabranch_rtc::{ConnectionId, Event, MessageKind, RestartError};
use anabranch_sansio::FourTuple;
use anabranch_wire::StreamId;
use bytes::Bytes;

use crate::harness::{Visit, lossy};
use crate::page::{Page, STRING, Seen};

const MILLISECOND: Duration = Duration::from_millis(1);
const STREAM: u16 = 0;

fn second_path(visit: &Visit) -> FourTuple {
    visit.pair.paths()[1].addresses
}

/// The page restarts ICE over its second path, and has the answer.
fn restart(visit: &mut Visit) {
    let (path, id) = (second_path(visit), visit.id());
    let offer = visit.page(|page, _| page.restart(path));
    let answer = visit.server(|server, now| server.restart(now, id, &offer)).expect("a good offer");
    visit.page(|page, now| page.take_answer(now, &answer));
}

fn open_channel(visit: &mut Visit) {
    let id = visit.id();
    let options = anabranch_rtc::ChannelOptions::new("");
    visit
        .server(|server, now| server.open_negotiated_channel(now, id, StreamId(STREAM), options))
        .expect("a channel");
}

fn say(visit: &mut Visit, text: &'static str) {
    let (id, message) = (visit.id(), (MessageKind::Text, Bytes::from_static(text.as_bytes())));
    visit
        .server(|server, now| server.send(now, id, StreamId(STREAM), message, |_| ()))
        .expect("room");
}

fn heard(visit: &Visit) -> Vec<String> {
    let texts = visit.seen.iter().filter_map(|seen| {
        let Seen::Message { payload, .. } = seen else { return None };
        Some(String::from_utf8(payload.clone()).expect("text"))
    });
    texts.collect()
}

#[test]
fn what_was_said_while_the_network_was_gone_arrives_over_the_new_one() {
    for silence_ms in [100, 500, 3_000] {
        let mut visit = Visit::connected(1, lossy(0.0));
        open_channel(&mut visit);
        visit.pair.cut(0);
        say(&mut visit, "before");
        visit.page(|page, now| page.send(now, STREAM, STRING, b"from the page"));
        visit.run_for(silence_ms * MILLISECOND);
        assert_eq!(heard(&visit), [""; 0]);
        restart(&mut visit);
        let id = visit.id();
        assert_ne!(visit.server(|server, _| server.path(id)), Some(second_path(&visit).reversed()));
        // The check, and what was sent again.
        assert!(
            visit.run_until(300 * MILLISECOND, |visit| !heard(visit).is_empty()),
            "{silence_ms}"
        );
        let is_heard = |visit: &Visit| !visit.messages().is_empty();
        assert!(visit.run_until(Duration::from_secs(8), is_heard));
        assert_eq!(heard(&visit), ["before"]);
        assert!(!visit.told.iter().any(|event| matches!(event, Event::Closed { .. })));
        let path = visit.server(|server, _| server.path(id)).expect("there");
        assert_eq!(path, second_path(&visit).reversed());
    }
}

#[test]
fn a_page_may_restart_over_and_over_and_stays_one_connection() {
    let mut visit = Visit::connected(2, lossy(0.05));
    open_channel(&mut visit);
    for _ in 0..20 {
        restart(&mut visit);
        visit.run_for(700 * MILLISECOND);
    }
    say(&mut visit, "still here");
    visit.run_for(Duration::from_secs(2));
    assert_eq!(heard(&visit), ["still here"]);
    assert_eq!(visit.server(|server, _| server.connections().count()), 1);
}

#[test]
fn until_it_is_checked_the_new_way_nothing_leaves_by_it() {
    let mut visit = Visit::connected(3, lossy(0.0));
    open_channel(&mut visit);
    let (path, id) = (second_path(&visit), visit.id());
    let offer = visit.page(|page, _| page.restart(path));
    visit.server(|server, now| server.restart(now, id, &offer)).expect("a good offer");
    let before = visit.server(|server, _| server.path(id));
    say(&mut visit, "by the old way");
    visit.run_for(200 * MILLISECOND);
    assert_eq!(visit.server(|server, _| server.path(id)), before);
    assert_eq!(before, Some(visit.pair.paths()[0].addresses.reversed()));
}

#[test]
fn somebody_elses_certificate_and_what_restarts_nothing_are_refused() {
    let mut visit = Visit::connected(4, lossy(0.0));
    let (path, id) = (second_path(&visit), visit.id());
    let same = visit.page(|page, _| page.offer());
    let answer = visit.server(|server, now| server.restart(now, id, &same));
    assert_eq!(answer, Err(RestartError::SameCredentials));
    let foreign = Page::new(path).restart(path);
    let answer = visit.server(|server, now| server.restart(now, id, &foreign));
    assert_eq!(answer, Err(RestartError::OtherCertificate));
    let answer = visit.server(|server, now| server.restart(now, id, "v=0"));
    assert!(matches!(answer, Err(RestartError::Offer(_))), "{answer:?}");
    visit.server(|server, now| server.close(now, id));
    visit.run_for(200 * MILLISECOND);
    let offer = visit.page(|page, _| page.restart(path));
    let gone: ConnectionId = id;
    let answer = visit.server(|server, now| server.restart(now, gone, &offer));
    assert_eq!(answer, Err(RestartError::Gone));
}
