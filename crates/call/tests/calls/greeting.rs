//! Calls begin, are refused and end.

use std::time::Duration;

use anabranch_call::{Device, EndReason, Event, Media};
use anabranch_sansio::Rate;

use crate::harness::{Person, Talk, link};

fn links() -> [anabranch_netsim::DuplexConfig; 1] {
    [link(Rate::mbps(8), 10, 0.0)]
}

fn ended(person: &Person) -> Option<(EndReason, String)> {
    person.events.iter().find_map(|event| {
        let Event::Ended(end) = event else { return None };
        Some((end.why, end.text.clone()))
    })
}

#[test]
fn both_ends_learn_who_is_there_and_what_comes() {
    let talk = Talk::begun(1, &links());
    for (person, name, incoming) in [(&talk.client, "Bob", false), (&talk.server, "Alice", true)] {
        let peer = person.events.iter().find_map(|event| {
            let Event::Began(peer) = event else { return None };
            Some(peer.clone())
        });
        let peer = peer.unwrap();
        assert_eq!((peer.name.as_deref(), peer.incoming), (Some(name), incoming));
        assert_eq!(peer.media.video.as_ref().map(|video| video.width), Some(Some(640)));
    }
}

#[test]
fn who_hangs_up_ends_the_call_at_both_ends_in_words() {
    let mut talk = Talk::begun(2, &links());
    talk.act_server(|agent, now| agent.hang_up(now, "Bob hung up."));
    talk.run_for(Duration::from_millis(500));
    assert_eq!(ended(&talk.server).map(|(why, _)| why), Some(EndReason::HungUp));
    let bob = (EndReason::PeerHungUp, "Bob hung up.".to_owned());
    assert_eq!(ended(&talk.client), Some(bob));
    // The listener takes the next call.
    talk.call();
    talk.run_for(Duration::from_secs(1));
    assert!(talk.pair.client().is_in_call() && talk.pair.server().is_in_call());
}

#[test]
fn a_caller_that_nobody_answers_is_told_so() {
    let mut talk = Talk::new(3, &links());
    talk.pair.cut(0);
    talk.call();
    talk.run_for(Duration::from_secs(8));
    let (why, text) = ended(&talk.client).unwrap();
    assert_eq!(why, EndReason::NoAnswer);
    assert!(text.contains("Nobody answers there"), "{text}");
}

#[test]
fn regression_devices_that_were_known_after_the_greeting_were_never_told() {
    let mut talk = Talk::new(1, &links());
    talk.call();
    let muted = Media { microphone: Device::Muted, ..talk.pair.client().media().clone() };
    talk.act_client(|agent, now| agent.set_media(now, muted.clone()));
    talk.run_for(Duration::from_secs(2));
    let told = talk
        .server
        .events
        .iter()
        .any(|event| matches!(event, Event::PeerMedia(media) if *media == muted));
    assert!(told, "{:?}", talk.server.events);
}
