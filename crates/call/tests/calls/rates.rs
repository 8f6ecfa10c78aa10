//! Links become slower.

use std::time::Duration;

use anabranch_call::{VIDEO_RATE_MAX, VIDEO_RATE_MIN};
use anabranch_netsim::{DuplexConfig, LinkConfig, Side};
use anabranch_sansio::{Machine as _, Rate, Time};
use anabranch_transport::RateSignal;

use crate::harness::{Person, Talk, link};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Frames of voice that were not heard in their place, of those that came from `since` on.
fn hurt_since(person: &Person, since: Time) -> usize {
    person.concealed.iter().filter(|at| **at >= since).count()
}

/// The goal is no frame of voice, and half a second at each end: what is in flight when the rate
/// falls takes four times as long.
#[test]
fn a_rate_that_falls_from_4_to_1_mbps_costs_little_voice_and_pictures_follow_in_half_a_second() {
    let mut later = 0;
    for seed in 0..7 {
        let mut talk = Talk::begun(seed, &[link(Rate::mbps(4), 10, 0.0)]);
        talk.run_for(ms(15_000 + 17 * seed));
        let before = talk.client.rate;
        let at = talk.pair.now();
        talk.pair.reconfigure(0, link(Rate::mbps(1), 10, 0.0));
        talk.run_for(ms(500));
        let follows = |rate: &Rate| *rate < Rate::kbps(900);
        later += [talk.client.rate, talk.server.rate].iter().filter(|rate| !follows(rate)).count();
        talk.run_for(ms(100));
        let after = [talk.client.rate, talk.server.rate];
        talk.run_for(ms(5_400));
        assert!(before >= Rate::mbps(2), "{before}");
        assert!(after.iter().all(follows), "seed {seed}: {after:?}");
        for person in [&talk.client, &talk.server] {
            let hurt = hurt_since(person, at);
            assert!(hurt <= 4, "seed {seed}: {hurt} frames of voice");
            let freeze = person.longest_freeze(at, at + ms(6_000));
            assert!(freeze <= ms(500), "seed {seed}: {freeze:?}");
        }
    }
    assert!(later <= 1, "{later} ends of 14");
}

/// What the signal leaves to pictures: all but voice. No limit, where it says that there may be
/// more.
fn room(signal: Option<RateSignal>) -> Rate {
    let limit = signal.filter(|signal| !signal.is_at_least);
    limit.map_or(VIDEO_RATE_MAX, |signal| {
        Rate::bps(signal.carries.as_bps().saturating_sub(64_000))
            .clamp(VIDEO_RATE_MIN, VIDEO_RATE_MAX)
    })
}

#[test]
fn an_encoder_is_asked_for_no_more_than_the_signal_said_in_the_last_half_second() {
    for (seed, kbps) in [(0, 1_000), (1, 600), (2, 300)] {
        let mut talk = Talk::begun(seed, &[link(Rate::mbps(4), 25, 0.0)]);
        talk.run_for(ms(10_000 + 17 * seed));
        talk.pair.reconfigure(0, link(Rate::kbps(kbps), 25, 0.0));
        let mut said: Vec<(Time, Rate)> = Vec::new();
        while said.len() < 300 {
            talk.run_for(ms(10));
            let now = talk.pair.now();
            said.push((now, room(talk.stats(Side::Client).rate)));
            let recent = said.iter().filter(|(at, _)| now - *at <= ms(500));
            let most = recent.map(|(_, room)| *room).max().expect("that of now");
            let asked = talk.client.rate;
            let (asked, most) = (asked.as_mbps_f64(), most.as_mbps_f64());
            // A twentieth more or less is not told.
            assert!(asked <= most * 1.05, "{kbps} kbit/s: {asked} asked for, {most} said");
        }
        let least = said.iter().map(|(_, room)| *room).min().expect("many");
        assert!(least <= Rate::kbps(kbps), "the signal fell: {least}");
    }
}

/// The goal is that voice is whole again after a second at each end. What is in flight when the
/// rate falls takes nearly as long.
#[test]
fn at_300_kbps_voice_is_whole_again_after_a_second_or_one_frame_later() {
    let mut hurt_later = 0;
    for seed in 0..6 {
        let mut talk = Talk::begun(seed, &[link(Rate::mbps(4), 25, 0.0)]);
        talk.run_for(ms(10_000 + 17 * seed));
        let at = talk.pair.now();
        talk.pair.reconfigure(0, link(Rate::kbps(300), 25, 0.0));
        talk.run_for(ms(10_000));
        for person in [&talk.client, &talk.server] {
            let (hurt, later) = (hurt_since(person, at), hurt_since(person, at + ms(1_000)));
            assert!(hurt <= 30 && later <= 2, "seed {seed}: {hurt} frames of voice, {later}");
            hurt_later += usize::from(later > 0);
        }
    }
    assert!(hurt_later <= 1, "{hurt_later} ends of 12");
}

#[test]
fn pictures_that_are_left_out_are_recorded_with_the_reason() {
    let mut talk = Talk::begun(1, &[link(Rate::mbps(4), 25, 0.0)]);
    talk.act_client(|client, _| client.set_tracing(true));
    talk.run_for(ms(10_000));
    talk.pair.reconfigure(0, link(Rate::kbps(300), 25, 0.0));
    talk.run_for(ms(5_000));
    let records = talk.act_client(|client, _| {
        let all = std::iter::from_fn(|| client.poll_trace());
        all.filter(|record| record.name == "media:picture_left_out").collect::<Vec<_>>()
    });
    assert!(!records.is_empty());
    for record in &records {
        assert!(record.at > Time::from_secs(10), "{record:?}");
        for field in ["class", "frame", "lifetime_ms", "carries_bps", "ahead_bytes"] {
            assert!(record.field(field).is_some(), "{field}: {record:?}");
        }
    }
}

#[test]
fn pictures_use_what_there_is() {
    let mut talk = Talk::begun(1, &[link(Rate::mbps(10), 20, 0.0)]);
    talk.run_for(ms(8_000));
    assert!(talk.client.rate >= Rate::mbps(2), "{}", talk.client.rate);
    let seconds = talk.server.seen.len() as f64 / 25.0;
    assert!(seconds > 9.0, "{seconds} s of pictures");
}

/// Radio links vary by as much. What varies more than the queue that a call may have looks like
/// one.
#[test]
fn pictures_are_not_starved_where_the_delay_varies_by_40_ms_each_way() {
    let link = LinkConfig {
        rate: Some(Rate::mbps(10)),
        delay: ms(20),
        jitter: ms(40),
        ..LinkConfig::default()
    };
    let mut talk = Talk::begun(1, &[DuplexConfig::from(link)]);
    talk.run_for(ms(20_000));
    assert!(talk.client.rate >= Rate::mbps(1), "{}", talk.client.rate);
}
