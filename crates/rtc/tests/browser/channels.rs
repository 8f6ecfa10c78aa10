//! Data channels: opened, used and closed by either side.

use std::time::Duration;

use anabranch_rtc::{ChannelError, ChannelOptions, Event, MessageKind};
use anabranch_sansio::FourTuple;
use anabranch_sctp::{Association, Level, Reliability};
use anabranch_wire::StreamId;
use bytes::Bytes;
use dcsctp::api::{
    Options, SendOptions, ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS,
};

use crate::harness::{Visit, lossy};
use crate::page::{BINARY, DCEP, Page, STRING, Seen};

/// DATA_CHANNEL_OPEN of an ordered, reliable channel "chat".
const OPEN: &[u8] = &[3, 0, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, b'c', b'h', b'a', b't'];

const TEN_SECONDS: Duration = Duration::from_secs(10);

fn has_opened(visit: &Visit) -> bool {
    visit.told.iter().any(|event| matches!(event, Event::ChannelOpened { .. }))
}

fn message(stream: u16, ppid: u32, payload: &[u8]) -> Seen {
    Seen::Message { stream, ppid, payload: payload.to_vec() }
}

#[test]
fn a_page_opens_a_channel_and_both_sides_talk() {
    let mut visit = Visit::connected(1, lossy(0.0));
    visit.page(|page, now| page.send(now, 0, DCEP, OPEN));
    visit.page(|page, now| page.send(now, 0, STRING, b"hello"));
    assert!(visit.run_until(TEN_SECONDS, |visit| visit.messages().len() == 1));
    let options = ChannelOptions::new("chat");
    let opened = Event::ChannelOpened { stream: StreamId(0), options };
    assert_eq!(visit.told[1], opened, "before the message");
    assert_eq!(visit.messages(), [(StreamId(0), MessageKind::Text, b"hello".to_vec())]);
    let id = visit.id();
    let answer = (MessageKind::Binary, Bytes::from_static(&[7; 16_384]));
    visit.server(|server, now| server.send(now, id, StreamId(0), answer, |_| {})).unwrap();
    let nothing = (MessageKind::Text, Bytes::new());
    visit.server(|server, now| server.send(now, id, StreamId(0), nothing, |_| {})).unwrap();
    visit.run_for(TEN_SECONDS);
    let expected = [message(0, DCEP, &[2]), message(0, BINARY, &[7; 16_384]), message(0, 56, &[0])];
    assert_eq!(visit.seen[1..], expected);
}

/// A page that offers interleaving (RFC 8260) and packets without a checksum (RFC 9653).
fn offering_more(path: FourTuple) -> Page {
    let mut page = Page::new(path);
    let options = Options {
        local_port: 5_000,
        remote_port: 5_000,
        mtu: 1_191,
        enable_message_interleaving: true,
        zero_checksum_alternate_error_detection_method:
            ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS,
        ..Options::default()
    };
    page.sctp = dcsctp::new_socket("page that offers more", &options);
    page
}

#[test]
fn a_page_that_offers_it_gets_interleaved_messages_without_checksums() {
    for both in [false, true] {
        let page = if both { offering_more } else { Page::new };
        let mut visit = Visit::connected_by(5, lossy(0.0), page);
        let metrics = visit.page(|page, _| page.sctp.get_metrics()).expect("connected");
        assert_eq!((metrics.uses_message_interleaving, metrics.uses_zero_checksum), (both, both));
        for stream in [0, 2] {
            visit.page(|page, now| page.send(now, stream, DCEP, OPEN));
        }
        visit.run_for(TEN_SECONDS);
        let id = visit.id();
        for (stream, priority) in [(0, 9), (2, 1)] {
            visit.server(|server, now| {
                let set = |association: &mut Association| {
                    association.set_stream_priority(StreamId(stream), priority)
                };
                assert_eq!(server.with_association(now, id, set), Some(true));
            });
        }
        let long = (MessageKind::Binary, Bytes::from(vec![1; 200_000]));
        visit.server(|server, now| server.send(now, id, StreamId(0), long, |_| {})).unwrap();
        let urgent = (MessageKind::Binary, Bytes::from_static(b"urgent"));
        visit.server(|server, now| server.send(now, id, StreamId(2), urgent, |_| {})).unwrap();
        visit.run_for(TEN_SECONDS);
        let arrived = visit.seen.iter().filter_map(|seen| {
            let Seen::Message { stream, ppid: BINARY, .. } = seen else { return None };
            Some(*stream)
        });
        let order = if both { [2, 0] } else { [0, 2] };
        assert_eq!(arrived.collect::<Vec<_>>(), order, "interleaving: {both}");
    }
}

/// dcsctp, Chromium's stack, skips the parameter, answers without it, and sees none.
#[test]
fn a_page_that_is_offered_marks_of_importance_gets_messages_of_all_levels_as_ever() {
    for page in [Page::new, offering_more] {
        let mut visit = Visit::connected_by(7, lossy(0.02), page);
        visit.page(|page, now| page.send(now, 0, DCEP, OPEN));
        assert!(visit.run_until(TEN_SECONDS, has_opened));
        let id = visit.id();
        for number in 0..40_u8 {
            let payload = (MessageKind::Binary, Bytes::from(vec![number; 3_000]));
            let of_level = |message: &mut anabranch_sctp::OutgoingMessage| {
                message.level = Level::ALL[usize::from(number) % Level::ALL.len()];
            };
            visit
                .server(|server, now| server.send(now, id, StreamId(0), payload, of_level))
                .unwrap();
            visit.page(|page, now| page.send(now, 0, BINARY, &[number; 3_000]));
        }
        let is_done = |visit: &Visit| visit.messages().len() == 40 && visit.seen.len() == 42;
        assert!(visit.run_until(Duration::from_secs(60), is_done));
        for (number, (_, _, payload)) in visit.messages().iter().enumerate() {
            assert_eq!(*payload, vec![number as u8; 3_000]);
        }
        for (number, seen) in visit.seen[2..].iter().enumerate() {
            assert_eq!(*seen, message(0, BINARY, &vec![number as u8; 3_000]));
        }
        let levels = visit.server(|server, now| {
            server.with_association(now, id, |association: &mut Association| {
                association.stats().levels
            })
        });
        assert_eq!(levels, Some(Default::default()), "marks were not agreed upon");
    }
}

#[test]
fn messages_cross_a_lossy_network_whole_and_in_order_both_ways() {
    let mut visit = Visit::connected(3, lossy(0.05));
    visit.page(|page, now| page.send(now, 0, DCEP, OPEN));
    assert!(visit.run_until(Duration::from_secs(60), has_opened));
    let id = visit.id();
    for number in 0..40_u8 {
        let payload = vec![number; 16_384];
        visit.page(|page, now| page.send(now, 0, BINARY, &payload));
        let payload = (MessageKind::Binary, Bytes::from(payload));
        visit.server(|server, now| server.send(now, id, StreamId(0), payload, |_| {})).unwrap();
    }
    let is_done = |visit: &Visit| visit.messages().len() == 40 && visit.seen.len() == 42;
    assert!(visit.run_until(Duration::from_secs(300), is_done));
    for (number, (_, _, payload)) in visit.messages().iter().enumerate() {
        assert_eq!(*payload, vec![number as u8; 16_384]);
    }
    for (number, seen) in visit.seen[2..].iter().enumerate() {
        assert_eq!(*seen, message(0, BINARY, &vec![number as u8; 16_384]));
    }
}

#[test]
fn a_message_may_have_a_treatment_of_its_own() {
    let mut visit = Visit::connected(1, lossy(0.0));
    let id = visit.id();
    let options = ChannelOptions::new("media");
    let stream = visit.server(|server, now| server.open_channel(now, id, options)).unwrap();
    assert_eq!(stream, StreamId(1), "the DTLS server's streams are odd");
    visit.run_for(Duration::from_millis(200));
    visit.page(|page, now| page.send(now, 1, DCEP, &[2]));
    assert!(visit.run_until(TEN_SECONDS, has_opened));
    visit.pair.cut(0);
    let send = |visit: &mut Visit, text: &'static str, reliability| {
        let payload = (MessageKind::Text, Bytes::from_static(text.as_bytes()));
        let treat = |message: &mut anabranch_sctp::OutgoingMessage| {
            (message.ordered, message.reliability) = (false, reliability);
        };
        visit.server(|server, now| server.send(now, id, stream, payload, treat)).unwrap();
    };
    send(&mut visit, "late", Reliability::Lifetime(Duration::from_millis(100)));
    send(&mut visit, "kept", Reliability::Reliable);
    visit.run_for(Duration::from_secs(2));
    visit.pair.restore(0);
    visit.run_for(TEN_SECONDS);
    let texts: Vec<_> = visit
        .seen
        .iter()
        .filter(|seen| matches!(seen, Seen::Message { ppid: STRING, .. }))
        .collect();
    assert_eq!(texts, [&message(1, STRING, b"kept")]);
}

#[test]
fn a_channel_that_the_page_closes_is_reset_both_ways_and_its_stream_used_again() {
    let mut visit = Visit::connected(1, lossy(0.0));
    for _ in 0..2 {
        visit.told.clear();
        visit.seen.clear();
        visit.page(|page, now| page.send(now, 4, DCEP, OPEN));
        visit.page(|page, now| page.send(now, 4, STRING, b"bye"));
        assert!(visit.run_until(TEN_SECONDS, has_opened));
        visit.run_for(Duration::from_secs(1));
        visit.page(|page, now| page.reset(now, 4));
        let closed = Event::ChannelClosed { stream: StreamId(4) };
        assert!(visit.run_until(TEN_SECONDS, |visit| visit.told.contains(&closed)));
        assert_eq!(visit.messages().len(), 1);
        assert!(visit.seen.contains(&Seen::Reset(4)));
    }
}

#[test]
fn a_channel_that_the_server_closes_delivers_what_was_sent_before() {
    let mut visit = Visit::connected(1, lossy(0.02));
    visit.page(|page, now| page.send(now, 0, DCEP, OPEN));
    assert!(visit.run_until(TEN_SECONDS, has_opened));
    let id = visit.id();
    for _ in 0..20 {
        let payload = (MessageKind::Binary, Bytes::from_static(&[1; 16_384]));
        visit.server(|server, now| server.send(now, id, StreamId(0), payload, |_| {})).unwrap();
    }
    visit.server(|server, now| server.close_channel(now, id, StreamId(0)));
    let late = (MessageKind::Text, Bytes::from_static(b"late"));
    let refused = visit.server(|server, now| server.send(now, id, StreamId(0), late, |_| {}));
    assert_eq!(refused, Err(ChannelError::NotOpen { stream: 0 }));
    let reset = |visit: &Visit| visit.seen.contains(&Seen::Reset(0));
    assert!(visit.run_until(Duration::from_secs(60), reset));
    assert_eq!(visit.seen.len(), 1 + 1 + 20 + 1, "connected, acknowledged, 20 messages, reset");
    visit.page(|page, now| page.reset(now, 0));
    let closed = Event::ChannelClosed { stream: StreamId(0) };
    assert!(visit.run_until(TEN_SECONDS, |visit| visit.told.contains(&closed)));
}

#[test]
fn a_negotiated_channel_is_open_at_once() {
    let mut visit = Visit::connected(1, lossy(0.0));
    let id = visit.id();
    let open = |visit: &mut Visit| {
        let options = ChannelOptions::new("control");
        visit.server(|server, now| server.open_negotiated_channel(now, id, StreamId(8), options))
    };
    assert_eq!(open(&mut visit), Ok(()));
    assert_eq!(open(&mut visit), Err(ChannelError::InUse { stream: 8 }));
    visit.page(|page, now| page.send(now, 8, STRING, b"hi"));
    assert!(visit.run_until(TEN_SECONDS, |visit| visit.messages().len() == 1));
}

#[test]
fn what_breaks_the_rules_of_dcep_closes_the_channel() {
    // An odd stream, which is not the page's; data without DATA_CHANNEL_OPEN; nonsense; a PPID that
    // RFC 8831 does not know.
    let wrongs = [(3, DCEP, OPEN), (6, STRING, &b"data"[..]), (8, DCEP, &[9][..])];
    for (stream, ppid, payload) in wrongs {
        let mut visit = Visit::connected(1, lossy(0.0));
        visit.page(|page, now| page.send(now, stream, ppid, payload));
        let reset = |visit: &Visit| visit.seen.contains(&Seen::Reset(stream));
        assert!(visit.run_until(TEN_SECONDS, reset), "stream {stream}");
        assert!(!has_opened(&visit) && visit.messages().is_empty());
    }
    let mut visit = Visit::connected(1, lossy(0.0));
    visit.page(|page, now| page.send(now, 0, DCEP, OPEN));
    visit.page(|page, now| page.send(now, 0, 99, b"?"));
    let reset = |visit: &Visit| visit.seen.contains(&Seen::Reset(0));
    assert!(visit.run_until(TEN_SECONDS, reset), "an unknown PPID");
}

#[test]
fn unordered_messages_of_the_page_arrive_each_once() {
    let mut visit = Visit::connected(5, lossy(0.1));
    visit.page(|page, now| page.send(now, 0, DCEP, OPEN));
    assert!(visit.run_until(Duration::from_secs(60), has_opened));
    let unordered = SendOptions { unordered: true, ..SendOptions::default() };
    for number in 0..60_u8 {
        visit.page(|page, now| page.send_with(now, 0, BINARY, &[number; 3_000], &unordered));
    }
    let is_done = |visit: &Visit| visit.messages().len() == 60;
    assert!(visit.run_until(Duration::from_secs(300), is_done));
    let mut numbers: Vec<_> = visit.messages().iter().map(|(.., payload)| payload[0]).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..60).collect::<Vec<_>>());
}
