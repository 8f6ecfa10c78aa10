//! A browser watches: television over data channels.

use anabranch_television::Carrier;
use anabranch_television::protocol::{
    FromServer, FromViewer, PROTOCOL_VERSION, StreamRole, UrgentLevel,
};

use crate::broadcast::THREE_MBPS;
use crate::harness::{MILLISECOND, SECOND, link};
use crate::lounge::{Got, Lounge};
use crate::page::{DCEP, Seen};

/// Media of the last second, by the stream that it came on.
fn recent(lounge: &Lounge, role: StreamRole) -> usize {
    let since = lounge.now().saturating_sub(SECOND);
    let is_meant = |got: &Got| matches!(got, Got::Media(of, _) if *of == role);
    lounge.got.iter().filter(|(at, got)| *at > since && is_meant(got)).count()
}

#[test]
fn a_page_is_welcomed_and_gets_the_description_picture_and_sound_of_its_channel() {
    let mut lounge = Lounge::new(1, link(20, 25, 0.0));
    let channel = lounge.add(1, THREE_MBPS);
    lounge.run_for(2 * SECOND);
    assert!(matches!(
        lounge.texts().next(),
        Some(FromServer::Welcome { protocol: PROTOCOL_VERSION, .. })
    ));
    lounge.zap(channel, SECOND).expect("a picture");
    let described =
        lounge.texts().any(|text| matches!(text, FromServer::Description(it) if it.session == 1));
    assert!(described);
    lounge.run_for(5 * SECOND);
    assert_eq!(recent(&lounge, StreamRole::Audio(lounge.slot())), 50);
    assert!((25..=32).contains(&recent(&lounge, StreamRole::Base(lounge.slot()))));
}

#[test]
fn the_operator_sees_by_what_path_a_page_watches() {
    let mut lounge = Lounge::new(1, link(20, 25, 0.0));
    let channel = lounge.add(1, THREE_MBPS);
    lounge.run_for(2 * SECOND);
    lounge.zap(channel, SECOND).expect("a picture");
    lounge.run_for(2 * SECOND);
    let viewer = lounge.server().television().viewers().next().expect("a viewer");
    assert_eq!((viewer.carrier, &*viewer.program), (Carrier::Browser, "a page"));
    let network = lounge.server().network(viewer.id).expect("there");
    let path = &network.paths[0];
    assert_eq!(path.tuple.remote, lounge.pair.paths()[0].addresses.local);
    let srtt = path.srtt.expect("measured");
    assert!((50 * MILLISECOND..100 * MILLISECOND).contains(&srtt), "{srtt:?}");
    assert!(network.rate.is_some());
}

#[test]
fn the_first_picture_comes_a_round_trip_after_the_key() {
    let mut lounge = Lounge::new(2, link(20, 25, 0.0));
    let channels = [1, 2, 3, 4].map(|number| lounge.add(number, THREE_MBPS));
    lounge.run_for(4 * SECOND);
    let mut took = Vec::new();
    for time in 0..20 {
        took.push(lounge.zap(channels[time % 4], 4 * SECOND).expect("a picture"));
        lounge.run_for((700 + 37 * time as u32) * MILLISECOND);
    }
    took.sort();
    assert!(took[10] <= 120 * MILLISECOND, "median {:?}", took[10]);
    assert!(took[19] <= 250 * MILLISECOND, "worst {:?}", took[19]);
}

#[test]
fn a_lossy_network_with_little_room_changes_channels_within_half_a_second() {
    let mut took = Vec::new();
    // A request that is lost waits for the browser's retransmission timeout of 0.4 s: how many are
    // is left to chance.
    for seed in 1..=8 {
        let mut lounge = Lounge::new(seed, link(8, 25, 0.03));
        let channels = [1, 2, 3, 4].map(|number| lounge.add(number, THREE_MBPS));
        lounge.run_for(4 * SECOND);
        for time in 0..20 {
            took.push(lounge.zap(channels[time % 4], 4 * SECOND).expect("a picture"));
            lounge.run_for((700 + 37 * time as u32 % 500) * MILLISECOND);
        }
    }
    took.sort();
    assert!(took[152] <= 500 * MILLISECOND, "95 % {:?}", took[152]);
}

#[test]
fn the_old_channel_stops_within_a_round_trip_also_on_the_same_slot() {
    let mut lounge = Lounge::new(4, link(2, 25, 0.0));
    let [first, second] = [1, 2].map(|number| lounge.add(number, THREE_MBPS));
    lounge.run_for(2 * SECOND);
    // The network carries less than the channel: its media waits.
    lounge.zap(first, 4 * SECOND).expect("a picture");
    lounge.run_for(SECOND);
    lounge.say(StreamRole::Data(lounge.slot()), &FromViewer::Tune { channel: second });
    // The request, its answer, and what is in the network's queue.
    lounge.run_for(200 * MILLISECOND);
    let before = lounge.got.len();
    lounge.run_for(2 * SECOND);
    let is_old = |(_, got): &&(_, Got)| matches!(got, Got::Media(_, it) if it.header.session == 1);
    assert_eq!(lounge.got[before..].iter().filter(is_old).count(), 0);
    assert!(recent(&lounge, StreamRole::Base(lounge.slot())) > 0);
}

#[test]
fn an_urgent_message_overtakes_the_channel_and_is_acknowledged() {
    let mut lounge = Lounge::new(5, link(3, 25, 0.02));
    let channel = lounge.add(1, THREE_MBPS);
    lounge.run_for(2 * SECOND);
    lounge.zap(channel, 4 * SECOND).expect("a picture");
    lounge.run_for(5 * SECOND);
    let id = lounge.television(|it| it.urgent(UrgentLevel::Alarm, "Leave the house.", None));
    let is_shown = |lounge: &Lounge| {
        lounge.texts().any(|text| matches!(text, FromServer::Urgent(urgent) if urgent.id == id))
    };
    assert!(lounge.run_until(300 * MILLISECOND, is_shown));
    lounge.say(StreamRole::Urgent, &FromViewer::Seen { id });
    lounge.run_for(SECOND);
    assert_eq!(lounge.server().television().seen(id), 1);
}

#[test]
fn a_page_that_vanishes_costs_no_memory_and_is_gone_in_ten_seconds() {
    let mut lounge = Lounge::new(6, link(20, 25, 0.0));
    let channel = lounge.add(1, THREE_MBPS);
    lounge.run_for(2 * SECOND);
    lounge.zap(channel, SECOND).expect("a picture");
    let viewer = lounge.server().television().viewers().next().expect("a viewer").id;
    lounge.page(|page, _| page.vanish());
    for _ in 0..100 {
        lounge.run_for(100 * MILLISECOND);
        if let Some(network) = lounge.server().network(viewer) {
            assert!(network.queued <= 128 << 10, "{}", network.queued);
        }
    }
    lounge.run_for(MILLISECOND);
    assert_eq!(lounge.server().television().viewers().count(), 0);
    assert_eq!(lounge.server().stats().connections, 0);
}

#[test]
fn a_page_that_closes_a_channel_or_opens_one_of_its_own_disturbs_nothing() {
    let mut lounge = Lounge::new(7, link(20, 25, 0.01));
    let channels = [1, 2].map(|number| lounge.add(number, THREE_MBPS));
    lounge.run_for(2 * SECOND);
    lounge.zap(channels[0], SECOND).expect("a picture");
    let open = [&[3, 0, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0][..], b"chat"].concat();
    lounge.page(|page, now| page.send(now, 40, DCEP, &open));
    let slot = lounge.slot();
    for role in [StreamRole::Base(slot), StreamRole::Data(slot), StreamRole::Control] {
        lounge.page(|page, now| page.reset(now, role.stream().0));
        lounge.run_for(SECOND);
    }
    for time in 0..16 {
        assert!(lounge.zap(channels[time % 2], SECOND).is_some(), "{time}");
    }
    lounge.say(StreamRole::Control, &FromViewer::Latency { latency_ms: 500 });
    lounge.run_for(SECOND);
    let viewer = lounge.server().television().viewers().next().expect("still there");
    assert_eq!(viewer.budget, 500 * MILLISECOND);
}

#[test]
fn a_page_that_is_sent_away_is_told_why_and_its_connection_ends_at_once() {
    let mut lounge = Lounge::new(8, link(20, 25, 0.0));
    lounge.run_for(SECOND);
    let viewer = lounge.server().television().viewers().next().expect("a viewer").id;
    let text = "good night".to_owned();
    lounge.serve(|server, now| server.act(|it| it.dismiss(now, viewer, text.clone())));
    lounge.run_for(SECOND);
    assert!(lounge.texts().any(|said| *said == FromServer::Bye { text: text.clone() }));
    assert!(lounge.seen.contains(&Seen::Closed), "{:?}", lounge.seen);
    assert_eq!(lounge.server().television().viewers().count(), 0);
}
