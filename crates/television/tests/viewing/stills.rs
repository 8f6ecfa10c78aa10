//! Single pictures of channels that are not watched.

use std::time::Duration;

use anabranch_media::decoding::MediaTrack;
use anabranch_sansio::Time;
use anabranch_television::ViewerEvent;
use anabranch_television::channel::ChannelId;

use crate::broadcast::THREE_MBPS;
use crate::harness::{MILLISECOND, SECOND, Studio, link};

/// The stills that came: of which channel, and how many bytes.
fn stills(studio: &Studio) -> Vec<(ChannelId, usize)> {
    let still = |event: &ViewerEvent| {
        let ViewerEvent::Still { still, bytes } = event else { return None };
        Some((still.channel, bytes.len()))
    };
    studio.told().filter_map(still).collect()
}

#[test]
fn a_picture_of_a_channel_that_is_not_watched_comes_while_another_one_plays() {
    let mut studio = Studio::new(1, link(20, 25, 0.01));
    let [watched, other] = [1, 2].map(|number| studio.add(number, THREE_MBPS));
    studio.run_for(2 * SECOND);
    studio.zap(watched, SECOND).expect("a picture");
    studio.run_for(4 * SECOND);
    studio.viewer(|viewer, _| viewer.ask_still(other));
    let patience = 4 * SECOND;
    assert!(studio.run_until(patience, |studio| stills(studio) == [(other, THREE_MBPS.key)]));
}

#[test]
fn where_there_is_no_picture_the_answer_says_so_at_once() {
    let mut studio = Studio::new(2, link(20, 25, 0.0));
    let lost = studio.add(1, THREE_MBPS);
    studio.run_for(SECOND);
    studio.broadcast(|broadcast, television| {
        broadcast.silence(lost);
        television.lose(lost, "it is cut".to_owned());
    });
    let nowhere = ChannelId(77);
    studio.viewer(|viewer, _| {
        viewer.ask_still(lost);
        viewer.ask_still(nowhere);
    });
    studio.run_for(100 * MILLISECOND);
    assert_eq!(stills(&studio), [(lost, 0), (nowhere, 0)]);
}

#[test]
fn no_viewer_gets_more_than_half_a_megabit_a_second_of_them() {
    let mut studio = Studio::new(3, link(50, 25, 0.0));
    let channel = studio.add(1, THREE_MBPS);
    studio.run_for(3 * SECOND);
    let from = studio.now();
    let mut asked = 0;
    while studio.now() < from + 20 * SECOND {
        if stills(&studio).len() == asked {
            studio.viewer(|viewer, _| viewer.ask_still(channel));
            asked += 1;
        }
        studio.run_for(20 * MILLISECOND);
    }
    let bytes: usize = stills(&studio).iter().map(|(_, bytes)| bytes).sum();
    assert!((900_000..=1_250_000).contains(&bytes), "{bytes} bytes in 20 seconds");
}

/// What a viewer of 3 Mbit/s sees over a network that carries little more: how many pictures, and
/// how long after they came to the server the last one of a hundred is there.
fn watched_beside(asks: bool) -> (usize, Duration) {
    let mut studio = Studio::new(4, link(4, 25, 0.0));
    let [watched, other] = [1, 2].map(|number| studio.add(number, THREE_MBPS));
    studio.run_for(2 * SECOND);
    studio.zap(watched, 4 * SECOND).expect("a picture");
    // By then it has caught up with what is live.
    studio.run_for(60 * SECOND);
    let from = studio.now();
    for _ in 0..10 {
        if asks {
            studio.viewer(|viewer, _| viewer.ask_still(other));
        }
        studio.run_for(3 * SECOND);
    }
    if asks {
        assert!(stills(&studio).contains(&(other, THREE_MBPS.key)), "{:?}", stills(&studio));
    }
    delays(&studio, from)
}

fn delays(studio: &Studio, from: Time) -> (usize, Duration) {
    let pictures =
        studio.units.iter().filter(|(at, unit)| *at >= from && unit.kind() == MediaTrack::Video);
    let mut delays: Vec<_> = pictures.map(|(at, unit)| *at - unit.unit.at).collect();
    delays.sort();
    (delays.len(), delays[delays.len() * 99 / 100])
}

#[test]
fn what_is_watched_is_not_disturbed_on_a_narrow_network() {
    let ((alone, alone_delay), (beside, beside_delay)) =
        (watched_beside(false), watched_beside(true));
    assert!(beside + 2 >= alone, "{beside} pictures beside stills, {alone} without");
    let more = beside_delay.saturating_sub(alone_delay);
    assert!(more <= 30 * MILLISECOND, "{beside_delay:?} instead of {alone_delay:?}");
}
