//! Clocks that drift, paths of different lengths, clocks that break.

use super::super::clock::{MAX_SLEW, TIME_CONSTANT, WINDOW};
use super::*;

/// Sends an item each 10 ms for `secs`, with jitter on the way; `local` maps true time to the
/// receiver's clock. Returns (sender's time, release on the true clock) of each release.
fn play(
    secs: u64,
    seed: u64,
    local: impl Fn(f64) -> f64,
    path: impl Fn(u64) -> (PathId, f64),
) -> (Playout, Vec<(f64, f64)>) {
    let mut rng = Rng::from_u64(seed);
    let mut playout = playout();
    let mut arrivals: Vec<(Time, u64, PathId)> = (0..secs * 100)
        .map(|i| {
            let (id, delay) = path(i);
            let jitter = 0.015 * rng.unit() * rng.unit();
            let arrival = i as f64 * 0.01 + delay + jitter;
            (Time::from_nanos((local(arrival) * 1e9) as u64), i, id)
        })
        .collect();
    arrivals.sort();
    let mut released = Vec::new();
    for (now, i, id) in arrivals {
        while let Some(wakeup) = playout.poll_timeout().filter(|wakeup| wakeup.at <= now) {
            for item in drain(&mut playout, wakeup.at) {
                released.push((item.sent.as_secs_f64(), wakeup.at.as_secs_f64()));
            }
        }
        playout.handle_piece(now, Some(id), &piece(i, 1, ms(10 * i)));
    }
    (playout, released)
}

fn one_path(_: u64) -> (PathId, f64) {
    (PathId(0), 0.030)
}

#[test]
fn drift_either_way_is_followed_without_a_jump() {
    // After ten minutes, 100 ppm are 60 ms: more than half of the latency.
    for (ppm, secs) in [(-200.0, 120), (0.0, 120), (200.0, 120), (-100.0, 600), (100.0, 600)] {
        let rate = 1.0 + ppm * 1e-6;
        let (playout, released) = play(secs, 1, |t| 5.0 + t * rate, one_path);
        let stats = playout.stats();
        assert_eq!((stats.late.total(), stats.skipped_items, stats.resyncs), (0, 0, 0));
        let bound = 0.2e-3 * (TIME_CONSTANT + WINDOW).as_secs_f64() + 1e-3;
        for (sent, at) in &released {
            // Where the release would be if both clocks were known.
            let error = at - (5.0 + (sent + 0.130) * rate);
            assert!(error.abs() < bound, "{ppm} ppm: {error} s off at {at} s");
        }
        for pair in released.windows(2) {
            let step = pair[1].1 - pair[0].1;
            assert!((step - 0.01).abs() < 20e-6, "{ppm} ppm: a step of {step} s");
        }
        let all = secs as usize * 100;
        assert!(released.len() > all - 20, "{ppm} ppm: {} of {all} released", released.len());
    }
}

#[test]
fn clocks_that_drift_for_eight_hours_leave_items_as_much_time_as_in_the_first_minute() {
    for (ppm, latency) in [(50.0, 200), (200.0, 200), (-200.0, 200), (200.0, 100)] {
        let mut playout = Playout::new(Config::with_latency(Duration::from_millis(latency)));
        let local = |seconds: f64| Time::from_nanos((seconds * (1e9 + ppm * 1e3)) as u64);
        let mut first = None;
        for i in 0..8 * 3_600 {
            let jitter = 0.001 * (i * 7 % 16) as f64;
            let fastest = local(5.03 + i as f64);
            playout.handle_piece(
                local(5.03 + i as f64 + jitter),
                PATH,
                &piece(i, 1, ms(1_000 * i)),
            );
            let mut released = None;
            while let Some(wakeup) = playout.poll_timeout() {
                released = drain(&mut playout, wakeup.at).first().map(|_| wakeup.at);
            }
            let spare = released.expect("an item") - fastest;
            let moved = spare.abs_diff(*first.get_or_insert(spare));
            assert!(moved < Duration::from_millis(20), "{ppm} ppm: {spare:?} after {i} s");
        }
        let stats = playout.stats();
        assert_eq!((stats.late.total(), stats.skipped_items, stats.resyncs), (0, 0, 0));
    }
}

#[test]
fn regression_a_start_on_a_link_that_stood_still_was_late_for_minutes() {
    // The link stands still for 1.8 s, and then brings four times what is sent, until 2.4 s.
    let waited = |i: u64| 0.030 + (1.8 - i as f64 * 0.0075).max(0.0);
    let (playout, released) = play(10, 5, |t| t, |i| (PathId(0), waited(i)));
    let is_late = |(sent, at): &(f64, f64)| at - sent > 0.130 + 0.05;
    let last_late = released.iter().rfind(|release| is_late(release)).expect("the first one is");
    assert!(last_late.1 < 2.7, "{last_late:?}");
    assert_eq!(playout.stats().resyncs, 0);
}

#[test]
fn a_path_that_brings_little_at_the_start_is_waited_for_all_the_same() {
    // The longer path is there first, then brings one in a hundred, and one in five from 10 s on.
    let over = |i: u64| {
        let is_used = match i {
            0..20 => true,
            20..1_000 => i.is_multiple_of(100),
            _ => i.is_multiple_of(5),
        };
        if is_used { (PathId(2), 0.180) } else { (PathId(1), 0.020) }
    };
    let (playout, _) = play(20, 7, |t| t, over);
    assert_eq!(playout.stats().late.total(), 0);
}

#[test]
fn what_was_waited_for_is_no_longer_once_the_path_is_short_again() {
    // Its queue grows to 0.4 s for half a minute.
    let queued = |i: u64| if (1_000..4_000).contains(&i) { 0.430 } else { 0.030 };
    let (_, released) = play(80, 6, |t| t, |i| (PathId(0), queued(i)));
    let delay = |i: usize| released[i].1 - released[i].0;
    let during = released.iter().position(|(sent, _)| *sent > 30.0).expect("a release");
    assert!((0.529..0.549).contains(&delay(during)), "{}", delay(during));
    let after = released.iter().position(|(sent, _)| *sent > 56.0).expect("a release");
    assert!(delay(after) < 0.24, "{}", delay(after));
}

#[test]
fn latency_counts_from_the_slowest_path_in_use() {
    let both = |i: u64| if i.is_multiple_of(2) { (PathId(1), 0.020) } else { (PathId(2), 0.090) };
    let (playout, released) = play(30, 2, |t| t, both);
    assert_eq!(playout.stats().late.total(), 0);
    let (sent, at) = released[2_000];
    assert!((at - sent - 0.190).abs() < 0.004, "{} s after it was sent", at - sent);
    let delays: Vec<_> = playout.clock().path_delays().collect();
    assert_eq!(delays[0], (PathId(1), Duration::ZERO));
    assert!(delays[1].1.abs_diff(Duration::from_millis(70)) < Duration::from_millis(2));
}

#[test]
fn a_path_that_only_repeats_does_not_count() {
    let rarely =
        |i: u64| if i.is_multiple_of(50) { (PathId(2), 0.120) } else { (PathId(1), 0.020) };
    let (_, released) = play(30, 3, |t| t, rarely);
    let (sent, at) = released[2_000];
    assert!((at - sent - 0.120).abs() < 0.004, "{} s after it was sent", at - sent);
}

#[test]
fn a_switch_to_a_longer_path_changes_the_speed_by_one_percent_at_most() {
    let switch = |i: u64| if i < 1_000 { (PathId(1), 0.020) } else { (PathId(2), 0.080) };
    let (playout, released) = play(60, 4, |t| t, switch);
    assert_eq!(playout.stats().late.total(), 0);
    for pair in released.windows(2) {
        let step = pair[1].1 - pair[0].1;
        assert!((step - 0.01).abs() <= 0.01 * MAX_SLEW * 1.1, "a step of {step} s");
    }
    let (sent, at) = *released.last().unwrap();
    assert!((at - sent - 0.180).abs() < 0.004, "{} s after it was sent", at - sent);
}

#[test]
fn a_sender_whose_clock_stood_still_is_followed_again() {
    let mut playout = playout();
    for i in 0..100 {
        playout.handle_piece(ms(20 + 10 * i), PATH, &piece(i, 1, ms(10 * i)));
        drain(&mut playout, ms(20 + 10 * i));
    }
    // Five seconds pass that the sender's clock does not know of.
    let mut last = 0;
    for i in 100..600 {
        let now = ms(5_020 + 10 * i);
        playout.handle_piece(now, PATH, &piece(i, 1, ms(10 * i)));
        last += drain(&mut playout, now).len();
    }
    let stats = playout.stats();
    assert_eq!(stats.resyncs, 1);
    assert!(last > 150, "{last} items after the clock was found again");
    assert_eq!(stats.late.total(), 301, "three seconds of them were late");
}

#[test]
fn a_receiver_whose_clock_stood_still_starts_anew_at_once() {
    let mut playout = playout();
    playout.handle_piece(ms(100_020), PATH, &piece(0, 1, ms(0)));
    drain(&mut playout, ms(100_120));
    playout.handle_piece(ms(100_200), PATH, &piece(500, 1, ms(5_000)));
    assert_eq!(run_until(&mut playout, ms(101_000)), [(500, 1, ms(100_300))]);
    assert_eq!(playout.stats().resyncs, 1);
}

#[test]
fn a_path_beyond_the_latency_is_waited_for_once_and_is_not_taken_for_another_clock() {
    let both = |i: u64| if i.is_multiple_of(3) { (PathId(1), 0.020) } else { (PathId(2), 2.5) };
    let (playout, released) = play(40, 5, |t| t, both);
    let stats = playout.stats();
    assert_eq!((stats.waits, stats.resyncs, stats.dropped_items.total()), (1, 0, 0), "{stats:?}");
    assert!(stats.skipped_items < 500, "{} of the first 5.5 s", stats.skipped_items);
    let (sent, at) = *released.last().unwrap();
    assert!((at - sent - 2.6).abs() < 0.01, "{} s after it was sent", at - sent);
}

#[test]
fn what_an_outage_held_back_does_not_delay_what_follows() {
    let mut playout = playout();
    let mut now = ms(0);
    let mut feed = |playout: &mut Playout, at: Time, i: u64| {
        now = now.max(at);
        run_until(playout, now);
        playout.handle_piece(now, PATH, &piece(i, 1, ms(10 * i)));
    };
    (0..200).for_each(|i| feed(&mut playout, ms(10 * i + 20), i));
    // Twelve seconds of silence, then what was kept for so long within one second.
    (200..1_400).for_each(|i| feed(&mut playout, ms(14_020 + (i - 200) * 5 / 6), i));
    (1_502..2_500).for_each(|i| feed(&mut playout, ms(10 * i + 20), i));
    let stats = playout.stats();
    assert_eq!((stats.waits, stats.resyncs), (0, 0));
    let delay = playout.clock().offset().unsigned_abs();
    assert!(delay < 60_000_000, "everything is {delay} ns late");
}
