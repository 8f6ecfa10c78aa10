//! What is released when, and what is counted. What the page does likewise is in
//! `tests/playout-vectors`.

use anabranch_media::piece::References;
use anabranch_media::{Class, Track};
use bytes::Bytes;

use super::*;

const BUDGET: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(10);

/// A picture that came to the server when it was to be seen, 25 a second.
fn picture(frame: u32) -> ReceivedUnit {
    let unit = Unit {
        track: Track(0),
        class: if frame.is_multiple_of(50) { Class::KeyFrame } else { Class::Reference },
        layer: Layer::BASE,
        frame: frame.into(),
        at: ms(u64::from(frame) * 40),
        pts_us: i64::from(frame) * 40_000,
        last_layer: true,
        discontinuity: false,
        bytes: Bytes::from_static(b"x"),
    };
    ReceivedUnit { session: 1, references: References::default(), unit }
}

/// A frame of sound, 50 a second.
fn sound(frame: u32) -> ReceivedUnit {
    let mut received = picture(frame);
    received.unit.class = Class::Audio;
    received.unit.pts_us = i64::from(frame) * 20_000;
    received.unit.at = ms(u64::from(frame) * 20);
    received
}

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// A viewer whose time goes on.
struct Viewer {
    playout: Playout,
    now: Time,
    released: Vec<(Time, AccessUnit)>,
}

impl Viewer {
    fn new() -> Self {
        Self { playout: Playout::new(BUDGET), now: Time::ZERO, released: Vec::new() }
    }

    fn run_until(&mut self, until: Time) {
        while self.now < until {
            self.poll();
            self.now = (self.now + POLL).min(until);
        }
        self.poll();
    }

    fn receive(&mut self, now: Time, unit: ReceivedUnit) {
        self.run_until(now);
        self.playout.push(now, unit);
        self.poll();
    }

    fn poll(&mut self) {
        while let Some(unit) = self.playout.poll(self.now) {
            self.released.push((self.now, unit));
        }
    }

    fn frames(&self) -> Vec<u32> {
        self.released.iter().map(|(_, unit)| unit.frame).collect()
    }

    fn broken(&self) -> Vec<u32> {
        let broken = self.released.iter().filter(|(_, unit)| unit.discontinuity);
        broken.map(|(_, unit)| unit.frame).collect()
    }

    fn play_at(&self, frame: u32) -> Time {
        let found = self.released.iter().find(|(_, unit)| unit.frame == frame);
        found.map(|(_, unit)| unit.play_at).unwrap()
    }
}

#[test]
fn the_first_picture_is_shown_at_once_and_the_rest_at_the_pace_of_the_media_and_faster() {
    let mut viewer = Viewer::new();
    // The way takes 30 ms, and the group of pictures is a second old.
    let now = ms(75 * 40 + 30);
    viewer.playout.connect(ms(0) + POLL * 3, ms(0), BUDGET);
    viewer.run_until(now);
    (50..=75).for_each(|frame| viewer.receive(now, picture(frame)));
    assert_eq!(viewer.play_at(50), now);
    (76..=1_050).for_each(|frame| viewer.receive(ms(u64::from(frame) * 40 + 30), picture(frame)));
    let step = |frame: u32| viewer.play_at(frame) - viewer.play_at(frame - 1);
    assert_eq!(step(51), Duration::from_millis(38));
    // 800 ms too much are caught up in 16 seconds.
    assert_eq!(step(449), Duration::from_millis(38));
    assert_eq!(step(452), Duration::from_millis(40));
    assert_eq!(viewer.play_at(1_049), ms(1_049 * 40 + 30) + BUDGET);
    assert_eq!(viewer.playout.counts(), PlayoutCounts { pictures: 1_000, missing: 0, late: 0 });
}

/// The time that pictures had to spare, the least and the most of an hour, for eight hours in
/// which our clock and the source's run faster than the server's by so many millionths.
fn spare_by_hour(ours_ppm: f64, source_ppm: f64) -> Vec<(Duration, Duration)> {
    let at = |seconds: f64, ppm: f64| Time::from_nanos((seconds * (1e9 + ppm * 1e3)) as u64);
    let mut playout = Playout::new(BUDGET);
    let mut hours = vec![(Duration::MAX, Duration::ZERO); 8];
    for second in 0..8 * 3_600_u32 {
        let server = 100.0 + f64::from(second);
        // The way takes 30 to 45 ms.
        let jitter = 0.001 * f64::from(second * 7 % 16);
        let mut unit = picture(second);
        unit.unit.class = Class::KeyFrame;
        unit.unit.at = at(server, 0.0);
        unit.unit.pts_us = at(server, source_ppm).as_micros() as i64;
        let came = at(server + 0.03 + jitter, ours_ppm);
        playout.push(came, unit);
        let shown = playout.poll(came).or_else(|| playout.poll(playout.poll_timeout()?)).unwrap();
        // Until then it had caught up what the first picture lacked.
        if second >= 60 {
            let spare = shown.play_at.saturating_since(came);
            let (least, most) = &mut hours[second as usize / 3_600];
            (*least, *most) = ((*least).min(spare), (*most).max(spare));
        }
    }
    let counts = playout.counts();
    assert_eq!((counts.missing, counts.late), (0, 0));
    hours
}

#[test]
fn clocks_that_drift_leave_pictures_as_much_time_after_eight_hours() {
    for (ours, source) in
        [(50.0, 0.0), (200.0, 0.0), (-200.0, 0.0), (0.0, 200.0), (0.0, -200.0), (100.0, -100.0)]
    {
        let hours = spare_by_hour(ours, source);
        for (hour, (least, most)) in hours.iter().enumerate() {
            let (first_least, first_most) = hours[0];
            let moved = least.abs_diff(first_least).max(most.abs_diff(first_most));
            let bound = Duration::from_millis(20);
            assert!(moved < bound, "{ours}, {source} ppm: by {moved:?} in hour {hour}");
            let lowest = BUDGET - Duration::from_millis(40);
            assert!(*least > lowest, "{ours}, {source} ppm: {least:?} left in hour {hour}");
        }
    }
}

#[test]
fn a_longer_way_is_followed_until_pictures_come_in_time_again() {
    let mut viewer = Viewer::new();
    let way = |frame: u32| if frame < 500 { 30 } else { 130 };
    let comes = |frame: u32| ms(u64::from(frame) * 40 + way(frame));
    (0..3_000).for_each(|frame| viewer.receive(comes(frame), picture(frame)));
    let spare = |frame: u32| viewer.play_at(frame) - comes(frame);
    assert!(spare(2_900).abs_diff(BUDGET) < Duration::from_millis(10), "{:?}", spare(2_900));
    assert!(spare(501).abs_diff(BUDGET / 2) < Duration::from_millis(10), "{:?}", spare(501));
}

#[test]
fn another_budget_is_reached_without_a_jump() {
    let mut viewer = Viewer::new();
    let comes = |frame: u32| ms(u64::from(frame) * 40 + 30);
    for frame in 0..2_000 {
        match frame {
            500 => viewer.playout.set_budget(2 * BUDGET),
            1_000 => viewer.playout.set_budget(BUDGET / 2),
            _ => {}
        }
        viewer.receive(comes(frame), picture(frame));
    }
    let spare = |frame: u32| viewer.play_at(frame) - comes(frame);
    assert_eq!((spare(490), spare(990), spare(1_900)), (BUDGET, 2 * BUDGET, BUDGET / 2));
    for pair in viewer.released.windows(2) {
        let step = pair[1].1.play_at - pair[0].1.play_at;
        assert!(step.abs_diff(Duration::from_millis(40)) <= Duration::from_millis(2), "{step:?}");
    }
}

#[test]
fn pictures_come_in_order_and_a_gap_is_told() {
    let mut viewer = Viewer::new();
    for frame in [0, 2, 1, 5, 4] {
        viewer.receive(ms(10), picture(frame));
    }
    viewer.run_until(ms(2_000));
    assert_eq!(viewer.frames(), [0, 1, 2, 4, 5]);
    assert_eq!(viewer.broken(), [4]);
    let counts = PlayoutCounts { pictures: 5, missing: 1, late: 0 };
    assert_eq!(viewer.playout.counts(), counts);
    viewer.receive(ms(2_000), picture(3));
    viewer.run_until(ms(3_000));
    assert_eq!(viewer.released.len(), 5, "too late");
    let counts = PlayoutCounts { missing: 0, late: 1, ..counts };
    assert_eq!(viewer.playout.counts(), counts);
}

#[test]
fn what_is_whole_is_released_early_and_what_follows_a_gap_just_in_time() {
    let mut viewer = Viewer::new();
    for (now, frame) in [(0, 0), (0, 5), (0, 7), (0, 8), (180, 6)] {
        let mut unit = picture(frame);
        unit.unit.last_layer = frame != 8;
        unit.unit.at = Time::ZERO;
        viewer.receive(ms(now), unit);
    }
    viewer.run_until(ms(1_000));
    let leads = viewer.released.iter().map(|(now, unit)| (unit.frame, unit.play_at - *now));
    let leads: Vec<_> = leads.map(|(frame, lead)| (frame, lead.as_millis())).collect();
    // Until it is as far behind as the budget, five per cent slower: they are 42 ms apart.
    assert_eq!(leads, [(0, 0), (5, 40), (6, 72), (7, 114), (8, 36)]);
}

#[test]
fn a_picture_that_no_other_needs_is_missed_by_itself() {
    let mut viewer = Viewer::new();
    // Every other picture is disposable; 3 and then 6 do not come.
    for frame in [0, 1, 2, 4, 5, 7] {
        let mut unit = picture(frame);
        if frame % 2 == 1 {
            unit.unit.class = Class::Disposable;
        }
        unit.references = References(1 + u64::from(frame.div_ceil(2)));
        viewer.receive(ms(10), unit);
    }
    viewer.run_until(ms(2_000));
    assert_eq!(viewer.broken(), [7]);
    let counts = PlayoutCounts { pictures: 6, missing: 2, late: 0 };
    assert_eq!(viewer.playout.counts(), counts);
}

#[test]
fn layers_are_joined_and_none_is_shown_without_its_base() {
    let mut viewer = Viewer::new();
    for (frame, layer) in [(0, 0), (0, 1), (1, 1), (1, 0), (2, 1), (3, 0), (3, 2)] {
        let mut unit = picture(frame);
        (unit.unit.layer, unit.unit.last_layer) = (Layer(layer), layer == 1);
        viewer.receive(ms(10), unit);
    }
    viewer.run_until(ms(2_000));
    let layers = viewer.released.iter().map(|(_, unit)| (unit.frame, unit.layers.len()));
    assert_eq!(layers.collect::<Vec<_>>(), [(0, 2), (1, 2), (3, 1)]);
}

#[test]
fn the_first_picture_waits_a_moment_for_what_refines_it() {
    let mut viewer = Viewer::new();
    let mut base = picture(0);
    base.unit.last_layer = false;
    viewer.receive(ms(10), base);
    viewer.run_until(ms(1_000));
    assert_eq!(viewer.released[0].0, ms(10) + ENTRY_WAIT);
}

#[test]
fn what_an_open_group_shows_before_its_key_frame_is_left_out() {
    let mut viewer = Viewer::new();
    let mut before = picture(51);
    before.unit.pts_us -= 120_000;
    viewer.receive(ms(2_000), picture(50));
    viewer.receive(ms(2_000), before);
    viewer.receive(ms(2_000), picture(52));
    viewer.run_until(ms(3_000));
    assert_eq!(viewer.frames(), [50, 52]);
}

#[test]
fn sound_alone_begins_so_late_that_it_lasts_until_more_comes() {
    let mut viewer = Viewer::new();
    viewer.playout.begin(false);
    viewer.receive(ms(10_000), sound(500));
    for frame in 501..517 {
        viewer.receive(ms(10_330), sound(frame));
    }
    viewer.run_until(ms(12_000));
    assert_eq!(viewer.play_at(500), ms(10_400));
    assert_eq!(viewer.frames(), (500..517).collect::<Vec<_>>());
    assert!(viewer.broken().is_empty());
}

#[test]
fn when_all_comes_too_late_for_a_second_the_time_is_set_anew() {
    let mut viewer = Viewer::new();
    let way = |frame: u32| if frame < 100 { 30 } else { 730 };
    let comes = |frame: u32| ms(u64::from(frame) * 40 + way(frame));
    (0..600).for_each(|frame| viewer.receive(comes(frame), picture(frame)));
    viewer.run_until(ms(30_000));
    let is_late = |frame: &u32| viewer.play_at(*frame) < comes(*frame);
    assert_eq!((0..600).filter(is_late).collect::<Vec<_>>(), (100..126).collect::<Vec<_>>());
    assert_eq!(viewer.play_at(550) - comes(550), BUDGET);
}

#[test]
fn where_the_server_left_much_out_the_time_goes_on_there() {
    let mut viewer = Viewer::new();
    // The group is four seconds old; the rest of it, and what follows, never comes.
    (0..10).for_each(|frame| viewer.receive(ms(4_000), picture(frame)));
    viewer.receive(ms(4_100), picture(100));
    viewer.run_until(ms(6_000));
    let (now, unit) = viewer.released.last().unwrap();
    assert_eq!((unit.frame, unit.discontinuity), (100, true));
    assert!(*now < ms(4_500) && unit.play_at - *now <= RESTART_AHEAD, "{now}");
}

#[test]
fn a_server_whose_clock_jumps_is_followed_without_a_jump() {
    let mut viewer = Viewer::new();
    for frame in 0..500 {
        let mut unit = picture(frame);
        // By an hour, and back.
        if (100..300).contains(&frame) {
            unit.unit.at += Duration::from_secs(3_600);
        }
        viewer.receive(ms(u64::from(frame) * 40 + 30), unit);
    }
    viewer.run_until(ms(30_000));
    assert_eq!(viewer.frames(), (0..500).collect::<Vec<_>>());
    for pair in viewer.released.windows(2) {
        let step = pair[1].1.play_at - pair[0].1.play_at;
        assert!(step.abs_diff(Duration::from_millis(40)) <= Duration::from_millis(2), "{step:?}");
    }
}

#[test]
fn nothing_is_shown_before_a_key_frame_and_memory_is_bounded() {
    let mut viewer = Viewer::new();
    for frame in 1..10_000 {
        let mut unit = picture(frame);
        unit.unit.class = Class::Reference;
        viewer.receive(ms(10), unit);
        assert!(viewer.playout.waiting.len() <= WAITING_MAX);
    }
    viewer.run_until(ms(1_000));
    assert!(viewer.released.is_empty());
    assert_eq!(viewer.playout.poll_timeout(), None);
    viewer.receive(ms(1_000), picture(10_000));
    assert_eq!(viewer.frames(), [10_000]);
}
