//! Who gets whose voice and pictures, and what is left out for whom.

use std::time::Duration;

use anabranch_media::Track;
use anabranch_rooms::protocol::{FromMember, FromRoom, Kind};
use anabranch_sansio::Time;

use crate::harness::{Got, MILLISECOND, Meeting, SECOND, link};

/// A picture of 500 kbit/s at 25 a second.
const PICTURE: usize = 2_500;

/// Of numbers in order, whether none is missing between the first and the last.
fn is_whole(frames: &[u64]) -> bool {
    frames.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

/// The last rate of pictures that a page was told.
fn told(lab: &Meeting, page: usize) -> Option<u64> {
    let rates = lab.texts(page).filter_map(|text| {
        let FromRoom::Encode { video_bps, .. } = text else { return None };
        Some(*video_bps)
    });
    rates.last()
}

#[test]
fn everybody_gets_all_of_the_others_and_nothing_of_themselves() {
    let mut lab = Meeting::new(1, &vec![link(20_000, 25); 3]);
    let numbers = [(0, "a"), (1, "b"), (2, "c")].map(|(page, name)| lab.enter(page, name));
    (0..3).for_each(|page| lab.turn_on(page, PICTURE));
    let start = lab.now();
    lab.run_for(5 * SECOND);
    for page in 0..3 {
        for (other, number) in numbers.iter().enumerate() {
            let voice = lab.frames(page, Kind::Voice.of(*number), start);
            let pictures = lab.frames(page, Kind::Picture.of(*number), start);
            if other == page {
                assert_eq!((voice.len(), pictures.len()), (0, 0));
            } else {
                assert!(voice.len() >= 246 && is_whole(&voice), "{} frames", voice.len());
                assert!(pictures.len() >= 123 && is_whole(&pictures), "{}", pictures.len());
            }
        }
    }
}

#[test]
fn a_narrow_network_gets_all_voice_and_fewer_pictures_and_the_others_all() {
    let mut lab = Meeting::new(2, &[link(20_000, 25), link(20_000, 25), link(700, 25)]);
    let [a, b, _] = [(0, "a"), (1, "b"), (2, "c")].map(|(page, name)| lab.enter(page, name));
    (0..2).for_each(|page| lab.turn_on(page, PICTURE));
    lab.run_for(5 * SECOND);
    let start = lab.now();
    lab.run_for(10 * SECOND);
    for number in [a, b] {
        let voice = lab.frames(2, Kind::Voice.of(number), start);
        assert!(voice.len() >= 490 && is_whole(&voice), "{} frames of voice", voice.len());
        let pictures = lab.frames(2, Kind::Picture.of(number), start);
        assert!((40..200).contains(&pictures.len()), "{} pictures", pictures.len());
    }
    let pictures = lab.frames(1, Kind::Picture.of(a), start);
    assert!(pictures.len() >= 247 && is_whole(&pictures), "{} pictures", pictures.len());
    let reports: Vec<_> = lab.server().rooms().rooms().flat_map(|(_, it)| it.members).collect();
    assert!(reports[2].left_out > 0 && reports[1].left_out == 0, "{reports:?}");
}

/// The longest time without a whole picture of a member.
fn longest_freeze(lab: &Meeting, page: usize, track: Track, since: Time) -> Duration {
    let pictures = lab.got[page].iter().filter_map(|(at, got)| match got {
        Got::Media(piece) if piece.header.track == track && piece.header.last => Some(*at),
        Got::Media(_) | Got::Text(_) | Got::File(_) => None,
    });
    let times: Vec<_> = pictures.filter(|at| *at >= since).chain([lab.now()]).collect();
    let begins = std::iter::once(&since).chain(&times);
    times.iter().zip(begins).map(|(end, begin)| *end - *begin).max().unwrap_or_default()
}

#[test]
fn regression_pictures_stood_still_until_a_key_picture_came_by_itself() {
    // More than there is room for, all the time: a key picture comes by itself in 10 s.
    for seed in 20..30 {
        let mut lab = Meeting::new(seed, &[link(20_000, 25), link(20_000, 25), link(400, 25)]);
        let [a, b, _] = [(0, "a"), (1, "b"), (2, "c")].map(|(page, name)| lab.enter(page, name));
        (0..2).for_each(|page| lab.turn_on(page, PICTURE));
        lab.run_for(5 * SECOND);
        let start = lab.now();
        lab.run_for(30 * SECOND);
        for number in [a, b] {
            let freeze = longest_freeze(&lab, 2, Kind::Picture.of(number), start);
            assert!(freeze < 2_500 * MILLISECOND, "seed {seed}: {freeze:?}");
        }
        // Those whose networks take all pay for the key pictures.
        assert!(lab.keys_wanted(0) <= 22, "{}", lab.keys_wanted(0));
    }
}

#[test]
fn pictures_stand_still_for_half_a_second_at_most_when_a_network_falls_to_a_quarter() {
    for seed in 30..33 {
        let mut lab = Meeting::new(seed, &[link(20_000, 10), link(4_000, 10)]);
        let a = lab.enter(0, "a");
        lab.enter(1, "b");
        lab.turn_on(0, 5_000);
        let follow = |lab: &mut Meeting| {
            for _ in 0..100 {
                lab.run_for(100 * MILLISECOND);
                let bytes = told(lab, 0).expect("told") / 8 / 25;
                lab.set_picture(0, bytes as usize);
            }
        };
        follow(&mut lab);
        let fell = lab.now();
        lab.pair.reconfigure(1, link(1_000, 10));
        follow(&mut lab);
        let freeze = longest_freeze(&lab, 1, Kind::Picture.of(a), fell);
        assert!(freeze <= 500 * MILLISECOND, "seed {seed}: {freeze:?}");
        let voice = lab.frames(1, Kind::Voice.of(a), fell).len();
        assert!(voice >= 495, "seed {seed}: {voice} frames of voice of 500");
    }
}

#[test]
fn voice_is_not_held_up_by_pictures_that_wait() {
    let mut lab = Meeting::new(3, &[link(20_000, 25), link(600, 25)]);
    let a = lab.enter(0, "a");
    lab.enter(1, "b");
    lab.turn_on(0, PICTURE);
    lab.run_for(3 * SECOND);
    let start = lab.now();
    lab.run_for(10 * SECOND);
    let track = Kind::Voice.of(a);
    let mut delays: Vec<Duration> = lab.got[1]
        .iter()
        .filter(|(at, _)| *at >= start)
        .filter_map(|(at, got)| {
            let Got::Media(piece) = got else { return None };
            (piece.header.track == track).then(|| *at - piece.header.first_at())
        })
        .collect();
    delays.sort_unstable();
    let p95 = delays[delays.len() * 95 / 100];
    assert!(p95 <= 150 * MILLISECOND, "{p95:?}");
}

#[test]
fn an_encoder_is_told_what_the_networks_of_the_others_take() {
    let mut lab = Meeting::new(4, &[link(20_000, 25), link(1_000, 25)]);
    lab.enter(0, "a");
    assert_eq!(told(&lab, 0), Some(0), "nobody else is there");
    lab.enter(1, "b");
    lab.run_for(200 * MILLISECOND);
    assert!(told(&lab, 0) > Some(0));
    // Twice as much as the network of the other takes, until its encoder follows.
    lab.turn_on(0, 10_000);
    for _ in 0..100 {
        lab.run_for(100 * MILLISECOND);
        let bytes = told(&lab, 0).expect("told") / 8 / 25;
        lab.set_picture(0, bytes as usize);
    }
    let rate = told(&lab, 0).expect("told");
    assert!((500_000..900_000).contains(&rate), "{rate}");
    lab.say(1, &FromMember::Bye);
    lab.run_for(300 * MILLISECOND);
    assert_eq!(told(&lab, 0), Some(0));
}

#[test]
fn who_enters_makes_the_others_send_key_pictures() {
    let mut lab = Meeting::new(5, &vec![link(20_000, 25); 2]);
    let a = lab.enter(0, "a");
    lab.run_for(SECOND);
    let asked = |lab: &Meeting| lab.texts(0).filter(|it| **it == FromRoom::WantKey).count();
    assert_eq!(asked(&lab), 0);
    lab.enter(1, "b");
    lab.run_for(400 * MILLISECOND);
    assert_eq!(asked(&lab), 1);
    // Asked for over and over, it is wanted once in 300 ms.
    for _ in 0..10 {
        lab.say(1, &FromMember::WantKey { member: a });
        lab.run_for(60 * MILLISECOND);
    }
    assert!((2..=4).contains(&asked(&lab)), "{}", asked(&lab));
}

#[test]
fn regression_who_entered_right_behind_somebody_else_saw_nobody_for_long() {
    let mut lab = Meeting::new(8, &vec![link(20_000, 5); 3]);
    lab.enter(0, "a");
    lab.run_for(SECOND);
    lab.enter(1, "b");
    let asked = |lab: &Meeting| lab.texts(0).filter(|it| **it == FromRoom::WantKey).count();
    lab.run_for(20 * MILLISECOND);
    assert_eq!(asked(&lab), 1);
    lab.enter(2, "c");
    lab.run_for(450 * MILLISECOND);
    assert_eq!(asked(&lab), 2, "once for each of them");
    lab.run_for(SECOND);
    assert_eq!(asked(&lab), 2);
}

#[test]
fn nothing_is_kept_for_who_vanished() {
    let mut lab = Meeting::new(6, &vec![link(20_000, 25); 2]);
    lab.enter(0, "a");
    lab.enter(1, "b");
    lab.turn_on(0, PICTURE);
    lab.run_for(SECOND);
    lab.page(1, |page, _| page.vanish());
    lab.run_for(12 * SECOND);
    let before = lab.got[1].len();
    lab.run_for(SECOND);
    assert_eq!(lab.got[1].len(), before);
}

#[test]
fn who_goes_over_to_another_network_hears_and_is_heard_again_at_once() {
    let mut lab = Meeting::new(7, &vec![link(20_000, 25); 3]);
    let [a, b] = [(0, "a"), (1, "b")].map(|(page, name)| lab.enter(page, name));
    (0..2).for_each(|page| lab.turn_on(page, PICTURE));
    lab.run_for(SECOND);
    lab.move_to(0, 2);
    let moved = lab.now();
    // A check each way, and what the browser's own timers take.
    let hears = |lab: &Meeting| !lab.frames(0, Kind::Voice.of(b), moved).is_empty();
    assert!(lab.run_until(200 * MILLISECOND, hears), "hears");
    let is_heard = |lab: &Meeting| !lab.frames(1, Kind::Voice.of(a), moved).is_empty();
    assert!(lab.run_until(SECOND, is_heard), "is heard");
    lab.run_for(SECOND);
    let start = lab.now();
    lab.run_for(SECOND);
    assert!(lab.frames(1, Kind::Voice.of(a), start).len() >= 48);
    assert!(lab.frames(0, Kind::Voice.of(b), start).len() >= 48);
    assert!(!lab.texts(1).any(|text| matches!(text, FromRoom::Away { .. })));
}
