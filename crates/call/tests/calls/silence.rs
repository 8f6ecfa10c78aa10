//! No network at all, and people who are silent.

use std::time::Duration;

use anabranch_call::{Device, EndReason, Event, Media};
use anabranch_netsim::Side;
use anabranch_sansio::Rate;

use crate::harness::{Talk, link};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn talk(seed: u64) -> Talk {
    Talk::begun(seed, &[link(Rate::mbps(8), 10, 0.0), link(Rate::mbps(8), 10, 0.0)])
}

#[test]
fn a_call_waits_20_s_for_a_network_and_goes_on() {
    let mut talk = talk(1);
    (0..2).for_each(|path| talk.pair.cut(path));
    talk.run_for(ms(20_000));
    assert!(talk.client.events.contains(&Event::NoPath));
    talk.pair.restore(1);
    let heard = talk.server.heard.len();
    talk.run_for(ms(3_000));
    assert!(talk.server.heard.len() > heard + 60, "voice goes on");
    let is_back = |event: &Event| matches!(event, Event::PathsBack { .. });
    assert!(talk.client.events.iter().any(is_back) && talk.server.events.iter().any(is_back));
    assert!(talk.pair.client().is_in_call());
}

#[test]
fn without_a_network_for_30_s_the_call_ends_and_says_why() {
    let mut talk = talk(2);
    (0..2).for_each(|path| talk.pair.cut(path));
    talk.run_for(ms(29_000));
    assert!(talk.pair.client().is_in_call());
    talk.run_for(ms(3_000));
    for person in [&talk.client, &talk.server] {
        let end = person.events.iter().find_map(|event| {
            let Event::Ended(end) = event else { return None };
            Some(end.clone())
        });
        assert_eq!(end.map(|end| end.why), Some(EndReason::NoPath));
    }
}

#[test]
fn who_is_muted_says_nothing_and_nothing_is_concealed() {
    let mut talk = talk(3);
    let media = talk.pair.client().media().clone();
    let muted = Media { microphone: Device::Muted, ..media.clone() };
    talk.act_client(|agent, now| agent.set_media(now, muted.clone()));
    talk.run_for(ms(3_000));
    let heard = talk.server.heard.len();
    talk.run_for(ms(3_000));
    assert_eq!(talk.server.heard.len(), heard);
    assert!(talk.server.events.contains(&Event::PeerMedia(muted)));
    talk.act_client(|agent, now| agent.set_media(now, media));
    talk.run_for(ms(3_000));
    assert!(talk.server.heard.len() > heard + 140);
    assert_eq!((talk.server.concealed.len(), talk.server.unheard()), (0, 0));
    assert_eq!(talk.stats(Side::Server).voice.concealed, 0);
}
