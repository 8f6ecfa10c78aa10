//! Links become slower.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};

use crate::harness::{Person, Talk, link};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Frames of voice that were not heard in their place, of those that came from `since` on.
fn hurt_since(person: &Person, since: Time) -> usize {
    person.concealed.iter().filter(|at| **at >= since).count()
}

/// The goal is no frame of voice, and no freeze over half a second.
#[test]
fn a_rate_that_falls_from_4_to_1_mbps_costs_little_voice_and_pictures_follow_in_a_second() {
    for seed in 0..7 {
        let mut talk = Talk::begun(seed, &[link(Rate::mbps(4), 10, 0.0)]);
        talk.run_for(ms(15_000 + 17 * seed));
        let before = talk.client.rate;
        let at = talk.pair.now();
        talk.pair.reconfigure(0, link(Rate::mbps(1), 10, 0.0));
        talk.run_for(ms(1_000));
        let after = talk.client.rate;
        talk.run_for(ms(5_000));
        assert!(before >= Rate::mbps(2), "{before}");
        assert!(after < Rate::kbps(900), "{after}");
        for person in [&talk.client, &talk.server] {
            let hurt = hurt_since(person, at);
            assert!(hurt <= 6, "seed {seed}: {hurt} frames of voice");
            let freeze = person.longest_freeze(at, at + ms(6_000));
            assert!(freeze <= ms(530), "seed {seed}: {freeze:?}");
        }
    }
}

/// The goal is that voice is whole again after a second: it takes more than ten.
#[test]
fn at_300_kbps_the_call_goes_on_and_some_of_the_voice_is_heard() {
    for seed in 0..6 {
        let mut talk = Talk::begun(seed, &[link(Rate::mbps(4), 25, 0.0)]);
        talk.run_for(ms(10_000 + 17 * seed));
        let at = talk.pair.now();
        talk.pair.reconfigure(0, link(Rate::kbps(300), 25, 0.0));
        talk.run_for(ms(10_000));
        for person in [&talk.client, &talk.server] {
            let hurt = hurt_since(person, at);
            assert!(hurt <= 400, "seed {seed}: {hurt} of 500 frames of voice");
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
