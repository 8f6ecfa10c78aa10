//! Viewers whose network carries less than the channel.

use anabranch_media::decoding::MediaTrack;
use anabranch_sansio::Time;

use crate::broadcast::{LAYERED, THREE_MBPS};
use crate::harness::{SECOND, Studio, link};

/// Units of a track and layer that came between two points in time.
fn came(studio: &Studio, from: Time, track: MediaTrack, layer: u8) -> usize {
    let is_meant = |(at, unit): &&(Time, anabranch_television::ReceivedUnit)| {
        *at >= from && (unit.kind(), unit.unit.layer.0) == (track, layer)
    };
    studio.units.iter().filter(is_meant).count()
}

#[test]
fn enhancement_goes_first_and_the_base_stays_whole() {
    let mut studio = Studio::new(1, link(2, 25, 0.0));
    let channel = studio.add(1, LAYERED);
    studio.run_for(2 * SECOND);
    studio.zap(channel, 4 * SECOND).expect("a picture");
    studio.run_for(10 * SECOND);
    let from = studio.now();
    studio.run_for(20 * SECOND);
    let (base, sound) =
        (came(&studio, from, MediaTrack::Video, 0), came(&studio, from, MediaTrack::Audio, 0));
    assert!(base >= 490, "{base} of 500 pictures");
    assert!(sound >= 990, "{sound} of 1000 frames of sound");
    let report = studio.server().television().viewers().next().expect("a viewer");
    assert!(report.skipped > 300, "{report:?}");
}

#[test]
fn a_channel_of_one_layer_loses_pictures_not_sound() {
    let mut studio = Studio::new(2, link(2, 25, 0.0));
    let channel = studio.add(1, THREE_MBPS);
    studio.run_for(2 * SECOND);
    studio.zap(channel, 4 * SECOND).expect("a picture");
    studio.run_for(10 * SECOND);
    let from = studio.now();
    studio.run_for(30 * SECOND);
    let sound = came(&studio, from, MediaTrack::Audio, 0);
    assert!(sound >= 1_450, "{sound} of 1500 frames of sound");
    let pictures = came(&studio, from, MediaTrack::Video, 0);
    assert!(pictures > 150, "{pictures} of 750 pictures");
}
