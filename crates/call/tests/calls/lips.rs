//! Lips move with the voice: pictures are shown when the voice of the same moment is heard.

use std::time::Duration;

use anabranch_netsim::{DuplexConfig, LinkConfig};
use anabranch_sansio::{Rate, Time};

use crate::harness::{Person, Talk, link};

/// The goal, which all pictures reach that are here in time: others are seen when they are.
const APART_MAX: Duration = Duration::from_millis(40);

/// Half of what lies between two frames of voice.
const SAME_MOMENT: Duration = Duration::from_millis(10);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// How far each picture was from the voice that was captured with it, either way.
fn apart(person: &Person, since: Time) -> Vec<Duration> {
    let pictures = person.seen.iter().filter(|(_, shown)| *shown >= since);
    let distances = pictures.filter_map(|(captured, shown)| {
        let with = |at: &Time| between(*captured, *at) <= SAME_MOMENT;
        let (_, spoken, heard) = person.heard.iter().find(|(_, spoken, _)| with(spoken))?;
        Some((*shown - *captured).abs_diff(*heard - *spoken))
    });
    distances.collect()
}

fn between(one: Time, other: Time) -> Duration {
    one.max(other) - one.min(other)
}

/// Of ten seconds of both ends: pictures, and those that were farther apart than is allowed.
fn pictures_and_apart(seed: u64, links: &[DuplexConfig]) -> (usize, usize) {
    let mut talk = Talk::begun(seed, links);
    let since = talk.pair.now();
    talk.run_for(ms(10_000));
    let both = [&talk.client, &talk.server].map(|person| apart(person, since)).concat();
    (both.len(), both.iter().filter(|distance| **distance > APART_MAX).count())
}

#[test]
fn lips_move_with_the_voice_within_40_ms_for_199_pictures_of_200_over_equal_and_unequal_paths() {
    for seed in 0..3 {
        for delays in [&[10][..], &[50], &[10, 60]] {
            let links: Vec<_> =
                delays.iter().map(|delay| link(Rate::mbps(8), *delay, 0.0)).collect();
            let (pictures, apart) = pictures_and_apart(seed, &links);
            assert!(pictures >= 480, "{delays:?}: {pictures} pictures");
            assert!(apart * 200 <= pictures, "{delays:?}, seed {seed}: {apart} of {pictures}");
        }
    }
}

#[test]
fn lips_move_with_the_voice_within_40_ms_for_99_of_100_where_the_delay_varies_by_20_ms() {
    let link = LinkConfig {
        rate: Some(Rate::mbps(8)),
        delay: ms(20),
        jitter: ms(20),
        ..LinkConfig::default()
    };
    let calls = (3..13).map(|seed| pictures_and_apart(seed, &[DuplexConfig::from(link.clone())]));
    let (pictures, apart) = calls.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert!(pictures >= 4_800, "{pictures} pictures");
    assert!(apart * 100 <= pictures, "{apart} of {pictures}");
}

#[test]
fn lips_move_with_the_voice_within_40_ms_for_99_of_100_at_1_percent_loss() {
    let links = [link(Rate::mbps(8), 10, 0.01), link(Rate::mbps(8), 10, 0.01)];
    let (pictures, apart) = pictures_and_apart(6, &links);
    assert!(pictures >= 480, "{pictures} pictures");
    assert!(apart * 100 <= pictures, "{apart} of {pictures}");
}
