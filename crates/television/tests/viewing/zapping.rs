//! From the key to the picture.

use anabranch_media::decoding::MediaTrack;
use std::time::Duration;

use anabranch_television::ViewerEvent;

use crate::broadcast::THREE_MBPS;
use crate::harness::{MILLISECOND, SECOND, Studio, link};

/// Changes the channel again and again; how long each change took, sorted.
fn zap_often(studio: &mut Studio, times: u32) -> Vec<Duration> {
    let channels: Vec<_> = (1..=4).map(|number| studio.add(number, THREE_MBPS)).collect();
    studio.run_for(4 * SECOND);
    assert!(studio.is_welcome());
    let mut took = Vec::new();
    for time in 0..times {
        let id = channels[time as usize % channels.len()];
        took.push(studio.zap(id, 4 * SECOND).expect("a picture within four seconds"));
        studio.run_for((700 + 37 * time % 500) * MILLISECOND);
    }
    took.sort();
    took
}

#[test]
fn the_first_picture_comes_a_round_trip_after_the_key() {
    let mut studio = Studio::new(1, link(20, 25, 0.0));
    let took = zap_often(&mut studio, 40);
    let (median, p95) = (took[20], took[38]);
    assert!(median <= 120 * MILLISECOND, "median {median:?}");
    assert!(p95 <= 250 * MILLISECOND, "95 % {p95:?}");
}

#[test]
fn a_lossy_network_with_little_room_changes_channels_within_half_a_second() {
    let mut studio = Studio::new(2, link(8, 25, 0.03));
    let took = zap_often(&mut studio, 60);
    assert!(took[57] <= 500 * MILLISECOND, "95 % {:?}", took[57]);
}

#[test]
fn the_old_channel_stops_within_a_round_trip() {
    let mut studio = Studio::new(3, link(20, 25, 0.0));
    let [first, second] = [1, 2].map(|number| studio.add(number, THREE_MBPS));
    studio.run_for(2 * SECOND);
    studio.zap(first, SECOND).expect("a picture");
    studio.run_for(3 * SECOND);
    studio.viewer(|viewer, now| viewer.tune(now, second));
    // What is still in the network's queue comes, too.
    studio.run_for(60 * MILLISECOND);
    let stray = studio.watching().viewer().stats().stray;
    studio.run_for(5 * SECOND);
    assert_eq!(studio.watching().viewer().stats().stray, stray);
    assert!(stray < 20, "{stray} messages of the old channel");
}

#[test]
fn all_that_follows_the_key_frame_comes_in_time_and_whole() {
    let mut studio = Studio::new(4, link(20, 25, 0.01));
    let channel = studio.add(1, THREE_MBPS);
    studio.run_for(3_500 * MILLISECOND);
    studio.zap(channel, SECOND).expect("a picture");
    studio.run_for(20 * SECOND);
    let mut frames: Vec<u64> = studio
        .units
        .iter()
        .filter(|(_, unit)| unit.kind() == MediaTrack::Video)
        .map(|(_, unit)| unit.unit.frame)
        .collect();
    frames.sort_unstable();
    let (first, last) = (frames[0], frames[frames.len() - 1]);
    assert_eq!(frames.len() as u64, last - first + 1, "none is missing");
    let late =
        studio.units.iter().skip_while(|(at, _)| *at < studio.now().saturating_sub(10 * SECOND));
    let worst = late.map(|(at, unit)| *at - unit.unit.at).max().expect("media");
    assert!(worst < 300 * MILLISECOND, "{worst:?} after it came to the server");
}

#[test]
fn a_source_that_comes_back_is_described_anew() {
    let mut studio = Studio::new(5, link(20, 25, 0.0));
    let channel = studio.add(1, THREE_MBPS);
    studio.run_for(2 * SECOND);
    studio.zap(channel, SECOND).expect("a picture");
    studio.broadcast(|broadcast, television| {
        broadcast.silence(channel);
        television.lose(channel, "the cable is out".to_owned());
    });
    studio.run_for(SECOND);
    let text = "the cable is out".to_owned();
    let off_air = ViewerEvent::OffAir { channel, text };
    assert_eq!(studio.told().filter(|event| **event == off_air).count(), 1);
    let listed =
        |event: &&ViewerEvent| matches!(event, ViewerEvent::Channels(list) if !list[0].on_air);
    assert_eq!(studio.told().filter(listed).count(), 1);
    let again = studio.now();
    studio.broadcast(|broadcast, television| broadcast.begin(television, channel, THREE_MBPS));
    studio.run_for(3 * SECOND);
    let described = studio.told().filter(|it| matches!(it, ViewerEvent::Description(_))).count();
    assert_eq!(described, 2);
    let after: Vec<_> = studio.units.iter().filter(|(at, _)| *at > again).collect();
    assert!(!after.is_empty() && after.iter().all(|(_, unit)| unit.session == 2));
}
