//! Networks that carry less than the channel, or hardly more: what the viewer sees in time.

use std::time::Duration;

use anabranch_media::decoding::MediaTrack;
use anabranch_netsim::{LinkConfig, Loss};
use anabranch_sansio::{Rate, Time, TraceValue};
use anabranch_television::Playout;

use crate::broadcast::{LAYERED, Programming, THREE_MBPS};
use crate::harness::{MILLISECOND, SECOND, Studio, link};

/// As long as the channel is watched.
const WATCHED: Duration = Duration::from_secs(30);
const PICTURES: usize = 750;
const PICTURE: Duration = Duration::from_millis(40);
const BUDGET: Duration = Duration::from_millis(300);

/// 6.1 Mbit/s of pictures, every other one disposable, a key frame every two seconds.
const SIX_MBPS: Programming = Programming { key: 120_000, base: 30_500, enhancement: 0 };

/// What was seen, from five seconds after the channel was asked for.
#[derive(Debug, Default)]
struct Seen {
    /// Pictures that could be decoded when their time came.
    pictures: usize,
    /// Those with all their layers.
    refined: usize,
    /// Between two of them, the longest time.
    longest_freeze: Duration,
    /// Frames of sound that came.
    sounds: usize,
}

/// Watches a channel whose media, sound included, takes `media`, over a network that carries this
/// share of it.
fn watch(programming: Programming, media: Rate, share: f64, loss: Loss) -> Seen {
    watch_once(1, programming, media, share, loss)
}

fn watch_once(seed: u64, programming: Programming, media: Rate, share: f64, loss: Loss) -> Seen {
    let rate = Rate::bps((media.as_bps() as f64 * share) as u64);
    let network = LinkConfig { loss, rate: Some(rate), ..link(8, 25, 0.0) };
    let mut studio = Studio::new(seed, network);
    let channel = studio.add(1, programming);
    studio.run_for(2 * SECOND);
    studio.zap(channel, 4 * SECOND);
    studio.run_for(5 * SECOND);
    let from = studio.now();
    studio.run_for(WATCHED);
    seen(&studio, from)
}

fn seen(studio: &Studio, from: Time) -> Seen {
    let mut playout = Playout::new(BUDGET);
    playout.begin(true);
    let mut came = studio.units.iter().cloned().peekable();
    let (mut seen, mut last, mut is_whole) = (Seen::default(), from, false);
    let mut now = Time::ZERO;
    while now < studio.now() {
        now += 5 * MILLISECOND;
        while let Some((at, unit)) = came.next_if(|(at, _)| *at <= now) {
            seen.sounds += usize::from(at >= from && unit.kind() == MediaTrack::Audio);
            playout.push(at, unit);
        }
        let pictures = std::iter::from_fn(|| playout.poll(now));
        for picture in pictures.filter(|it| it.track == MediaTrack::Video) {
            is_whole = picture.is_key() || is_whole && !picture.discontinuity;
            let is_in_time = picture.play_at + PICTURE >= now;
            if is_whole && is_in_time && picture.play_at >= from {
                seen.pictures += 1;
                seen.refined += usize::from(picture.layers.len() > 1);
                seen.longest_freeze = seen.longest_freeze.max(picture.play_at - last);
                last = picture.play_at;
            }
        }
    }
    seen.longest_freeze = seen.longest_freeze.max(now - last);
    seen
}

#[test]
fn where_two_fifths_fit_each_key_frame_is_seen() {
    for loss in [Loss::uniform(0.0), Loss::uniform(0.03)] {
        let seen = watch(THREE_MBPS, Rate::kbps(3_200), 0.4, loss);
        assert!(seen.longest_freeze <= 2_100 * MILLISECOND, "{seen:?}");
        assert!(seen.sounds >= 1_490, "{seen:?}");
    }
}

#[test]
fn where_three_fifths_fit_half_the_pictures_are_seen_and_the_key_frames_come_whole() {
    for (programming, media) in [(THREE_MBPS, Rate::kbps(3_200)), (SIX_MBPS, Rate::kbps(6_600))] {
        let seen = watch(programming, media, 0.6, Loss::uniform(0.0));
        assert!(seen.pictures * 2 >= PICTURES * 9 / 10, "{seen:?}");
        assert!(seen.longest_freeze <= 2_100 * MILLISECOND, "{seen:?}");
        assert!(seen.sounds >= 1_490, "{seen:?}");
    }
}

/// Three pictures in a row are missing in one of forty such half minutes, more in none.
#[test]
fn where_four_fifths_fit_three_quarters_of_the_pictures_are_seen_and_none_stands_still() {
    for (programming, media) in [(THREE_MBPS, Rate::kbps(3_200)), (SIX_MBPS, Rate::kbps(6_600))] {
        let seen: Vec<_> = (1..=20)
            .map(|seed| watch_once(seed, programming, media, 0.8, Loss::uniform(0.0)))
            .collect();
        for seen in &seen {
            assert!(seen.pictures * 4 >= PICTURES * 3, "{seen:?}");
            assert!(seen.longest_freeze <= 4 * PICTURE, "{seen:?}");
        }
        let longer = seen.iter().filter(|seen| seen.longest_freeze > 3 * PICTURE).count();
        assert!(longer <= 2, "{seen:?}");
    }
}

#[test]
fn what_refines_the_picture_fills_the_room_that_the_base_leaves() {
    for (loss, least) in [(Loss::uniform(0.0), 250), (Loss::uniform(0.03), 200)] {
        let seen = watch(LAYERED, Rate::kbps(3_200), 0.6, loss);
        assert!(seen.refined >= least, "{seen:?}");
        assert!(seen.pictures * 10 >= PICTURES * 9, "{seen:?}");
    }
}

#[test]
fn where_all_fits_all_is_seen() {
    for programming in [THREE_MBPS, LAYERED] {
        let seen = watch(programming, Rate::kbps(3_200), 1.3, Loss::uniform(0.03));
        assert!(seen.pictures >= PICTURES && seen.longest_freeze <= 2 * PICTURE, "{seen:?}");
    }
}

#[test]
fn pictures_that_are_left_out_are_recorded_under_the_viewer() {
    let network = LinkConfig { rate: Some(Rate::mbps(4)), ..link(8, 25, 0.0) };
    let mut studio = Studio::new(1, network);
    studio.television(|television| television.set_tracing(true));
    let channel = studio.add(1, SIX_MBPS);
    studio.run_for(2 * SECOND);
    studio.zap(channel, 4 * SECOND);
    studio.run_for(10 * SECOND);
    let records = studio.television(|television| {
        let all = std::iter::from_fn(|| television.poll_trace());
        all.filter(|record| record.name == "media:picture_left_out").collect::<Vec<_>>()
    });
    assert!(records.len() > 50, "{}", records.len());
    for record in &records {
        assert_eq!(record.count("viewer"), Some(1), "{record:?}");
        assert_eq!(record.field("class"), Some(&TraceValue::Word("disposable")));
        assert!(record.field("wait_ms").is_some(), "{record:?}");
    }
}
