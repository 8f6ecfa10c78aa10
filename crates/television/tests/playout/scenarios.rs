//! What the vectors are made of.

use std::time::Duration;

use anabranch_media::decoding::MediaTrack;
use anabranch_sansio::{Rng, Time};

use crate::scenario::{Input, Outcome, Scenario, Unit};

const BUDGET: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(10);
/// What the server's clock and the source's show when ours begins.
const SERVER_AHEAD_US: i64 = 7_000_000_000;
const SOURCE_AHEAD_US: i64 = 90_000_000;
const PICTURE_US: i64 = 40_000;
/// AAC at 48 kHz, three frames at once.
const SOUND_US: i64 = 64_000;
const WAY_US: i64 = 30_000;
const HOUR_US: i64 = 3_600_000_000;

/// All of them.
pub(super) fn all() -> Vec<Scenario> {
    vec![
        steady(),
        drift("drift-fast", "our clock gains 50 millionths on the server's for an hour", 50, 0),
        drift("drift-slow", "our clock loses 200 millionths on the server's for an hour", -200, 0),
        drift("drift-source", "the source's clock gains 200 millionths for half an hour", 0, 200),
        server_clock_jumps(),
        way_becomes_longer(),
        latency_changes(),
        loss_and_reordering(),
        predicted_both_ways(),
        behind_the_live_edge(),
        only_key_frames(),
        sound_alone(),
        source_begins_anew(),
        everything_is_late(),
        much_was_left_out(),
    ]
}

fn steady() -> Scenario {
    let mut script = Script::new(1);
    for i in 0..60 {
        script.picture(i, i * PICTURE_US);
        let first_us = script.jitter(30_000);
        script.delay_us(first_us);
    }
    for i in 0..38 {
        script.sound(i, i * SOUND_US);
    }
    script.finish("steady", "three seconds of picture and sound, with jitter", |outcome| {
        assert_eq!(outcome.of(MediaTrack::Video), (0..60).collect::<Vec<_>>());
        assert!(outcome.broken().is_empty());
    })
}

/// A key frame each nine seconds, so that two are remembered at a time.
fn drift(name: &'static str, about: &'static str, ours_ppm: i64, source_ppm: i64) -> Scenario {
    let every_us = 9_000_000;
    let end_us = if source_ppm == 0 { HOUR_US } else { HOUR_US / 2 };
    let mut script = Script::new(2);
    script.ours_ppm = ours_ppm;
    for i in 0..end_us / every_us {
        script.key(i, i * every_us);
        let jitter_us = script.jitter(15_000);
        script.delay_us(jitter_us);
        script.last().pts_us += i * every_us / 1_000_000 * source_ppm;
    }
    let mut scenario = script.finish(name, about, |outcome| {
        // It began at once, and slows down until it is as far behind as the budget.
        let spares = &outcome.spares()[2..];
        assert!(spares.iter().all(|spare| (270..=310).contains(spare)), "{spares:?}");
        assert_eq!(outcome.counts.missing, 0);
    });
    scenario.poll = 10 * POLL;
    scenario
}

fn server_clock_jumps() -> Scenario {
    let mut script = Script::new(3);
    for i in 0..60 {
        script.picture(i, i * 2 * PICTURE_US);
        let is_other = (20..40).contains(&i);
        script.last().at_us += if is_other { HOUR_US } else { 0 };
    }
    script.finish("server-clock-jumps", "by an hour, and back", |outcome| {
        assert_eq!(outcome.of(MediaTrack::Video), (0..60).collect::<Vec<_>>());
    })
}

fn way_becomes_longer() -> Scenario {
    let mut script = Script::new(4);
    for i in 0..170 {
        script.picture(i, i * 5 * PICTURE_US);
        script.delay_us(if i < 40 { 0 } else { 80_000 });
    }
    script.finish("way-becomes-longer", "by 80 ms, as where a path is lost", |outcome| {
        let spares = outcome.spares();
        assert!((215..=225).contains(&spares[41]) && spares[169] > 290, "{spares:?}");
    })
}

fn latency_changes() -> Scenario {
    let mut script = Script::new(5);
    (0..200).for_each(|i| script.picture(i, i * 5 * PICTURE_US));
    script.input(10_001_000, Input::Budget(2 * BUDGET));
    script.input(25_003_000, Input::Budget(BUDGET / 3));
    script.finish("latency-changes", "while it runs: 300, 600, 100 ms", |outcome| {
        let spares = outcome.spares();
        assert_eq!((spares[49], spares[119], spares[199]), (300, 600, 100), "{spares:?}");
    })
}

/// Pictures of two layers; every other one is needed by no other.
fn loss_and_reordering() -> Scenario {
    let mut script = Script::new(6);
    for i in 0..100 {
        for layer in 0..2 {
            let time_us = i * PICTURE_US;
            let unit = script.draft(MediaTrack::Video, i, time_us);
            let last_layer = layer == 1;
            let (reference, references) = (i % 2 == 0, 1 + i as u16 / 2 + i as u16 % 2);
            let key = i % 50 == 0;
            let unit = Draft { layer, last_layer, reference, references, key, ..unit };
            if !script.rng.chance(0.08) {
                script.units.push(unit);
                let late = if script.rng.chance(0.1) { 400_000 } else { 60_000 };
                let jitter_us = script.jitter(late);
                script.delay_us(jitter_us);
            }
        }
        if i % 2 == 0 && !script.rng.chance(0.1) {
            script.sound(i / 2, i * PICTURE_US);
        }
    }
    script.finish("loss-and-reordering", "of layers, pictures and sound", |outcome| {
        let counts = outcome.counts;
        assert!(counts.missing > 2 && counts.late > 0, "{counts:?}");
        assert!(outcome.broken().len() > 2);
        let one_layer = outcome.released.iter().any(|(_, unit)| unit.layers.len() == 1);
        assert!(one_layer);
    })
}

/// In the order of decoding 0 3 1 2 6 4 5, and the first group is an open one.
fn predicted_both_ways() -> Scenario {
    let mut script = Script::new(7);
    for i in 0..60 {
        let shown = match (i, i % 3) {
            (0, _) => 0,
            (_, 1) => i + 2,
            _ => i - 1,
        };
        script.picture(i, i * PICTURE_US);
        let is_leading = i == 2 || i == 3;
        let shown = if is_leading { shown - 6 } else { shown };
        script.last().pts_us = SOURCE_AHEAD_US + shown * PICTURE_US;
    }
    script.finish("predicted-both-ways", "pictures that leave in another order", |outcome| {
        assert_eq!(outcome.of(MediaTrack::Video)[..3], [0, 1, 4]);
    })
}

fn behind_the_live_edge() -> Scenario {
    let mut script = Script::new(8);
    // The group of pictures is two seconds old, and comes four times as fast.
    for i in -50..100_i64 {
        script.picture(i + 50, i * PICTURE_US);
        script.last().key = i == -50;
        script.last().came_us = (i * PICTURE_US).max((i + 50) * PICTURE_US / 4);
    }
    for i in -31..62_i64 {
        script.sound(i + 31, i * SOUND_US);
        script.last().came_us = (i * SOUND_US).max((i + 31) * SOUND_US / 4);
    }
    script.finish("behind-the-live-edge", "tuned to a group two seconds old", |outcome| {
        let spares = outcome.spares();
        assert!(spares[67] > 1_800 && spares[149] < 1_750, "{spares:?}");
    })
}

fn only_key_frames() -> Scenario {
    let mut script = Script::new(9);
    for i in 0..15 {
        script.key(i * 25, i * 25 * PICTURE_US);
    }
    for i in 0..225 {
        script.sound(i, i * SOUND_US);
    }
    script.finish("only-key-frames", "all else was left out for want of room", |outcome| {
        assert_eq!(outcome.counts.missing, 14 * 24);
    })
}

fn sound_alone() -> Scenario {
    let mut script = Script::new(10);
    script.has_pictures = false;
    for i in 0..80 {
        script.sound(i, i * SOUND_US);
        // Five at once, which is a third of a second.
        script.last().came_us = (i / 5 + 1) * 5 * SOUND_US;
        script.last().at_us = SERVER_AHEAD_US + (i / 5 + 1) * 5 * SOUND_US;
    }
    script.finish("sound-alone", "a third of a second of it at once", |outcome| {
        assert_eq!(outcome.of(MediaTrack::Audio), (0..80).collect::<Vec<_>>());
    })
}

fn source_begins_anew() -> Scenario {
    let mut script = Script::new(11);
    for i in 0..100 {
        script.picture(i, i * PICTURE_US);
        if i >= 50 {
            script.last().frame = i as u32 - 50;
            script.last().key = i == 55;
            script.last().pts_us = (i - 50) * PICTURE_US;
        }
    }
    script.input(50 * PICTURE_US + WAY_US, Input::Begin { has_pictures: true });
    script.finish("source-begins-anew", "with other times, in the middle of a group", |outcome| {
        assert_eq!(outcome.of(MediaTrack::Video)[49..52], [49, 5, 6]);
    })
}

fn everything_is_late() -> Scenario {
    let mut script = Script::new(12);
    for i in 0..100 {
        script.picture(i, i * 2 * PICTURE_US);
        script.delay_us(if i < 30 { 0 } else { 900_000 });
    }
    script.finish("everything-is-late", "for a second: the time is set anew", |outcome| {
        let spares = outcome.spares();
        assert!(spares.iter().any(|spare| *spare < 0) && spares[60] > 0, "{spares:?}");
    })
}

fn much_was_left_out() -> Scenario {
    let mut script = Script::new(13);
    for i in 0..140 {
        // The group is four seconds old when it comes; most of it was left out.
        script.picture(i, (i - 100) * PICTURE_US);
        script.last().key = i % 100 == 0;
        script.last().came_us = ((i - 100) * PICTURE_US).max(0);
        if (10..100).contains(&i) {
            script.units.pop();
        }
    }
    script.finish("much-was-left-out", "by the server, to catch up", |outcome| {
        assert_eq!(outcome.of(MediaTrack::Video).len(), 50);
        assert_eq!(outcome.broken(), [100]);
    })
}

/// What a source makes, and how it comes.
struct Script {
    rng: Rng,
    has_pictures: bool,
    ours_ppm: i64,
    units: Vec<Draft>,
    inputs: Vec<(i64, Input)>,
}

/// Times as the source, the server and the viewer have them; the viewer's may begin below zero.
#[derive(Clone, Copy)]
struct Draft {
    track: MediaTrack,
    layer: u8,
    frame: u32,
    key: bool,
    reference: bool,
    last_layer: bool,
    references: u16,
    pts_us: i64,
    at_us: i64,
    came_us: i64,
}

impl Script {
    fn new(seed: u64) -> Self {
        let rng = Rng::from_u64(seed);
        Self { rng, has_pictures: true, ours_ppm: 0, units: Vec::new(), inputs: Vec::new() }
    }

    fn draft(&self, track: MediaTrack, frame: i64, time_us: i64) -> Draft {
        Draft {
            track,
            layer: 0,
            frame: frame as u32,
            key: track == MediaTrack::Audio || frame == 0,
            reference: true,
            last_layer: true,
            references: 0,
            pts_us: SOURCE_AHEAD_US + time_us,
            at_us: SERVER_AHEAD_US + time_us,
            came_us: time_us,
        }
    }

    fn picture(&mut self, frame: i64, time_us: i64) {
        self.units.push(self.draft(MediaTrack::Video, frame, time_us));
    }

    fn key(&mut self, frame: i64, time_us: i64) {
        self.picture(frame, time_us);
        self.last().key = true;
    }

    fn sound(&mut self, frame: i64, time_us: i64) {
        self.units.push(self.draft(MediaTrack::Audio, frame, time_us));
    }

    fn input(&mut self, now_us: i64, input: Input) {
        self.inputs.push((now_us, input));
    }

    fn last(&mut self) -> &mut Draft {
        self.units.last_mut().expect("something was made")
    }

    /// What was made last comes so much later.
    fn delay_us(&mut self, delay_us: i64) {
        self.last().came_us += delay_us;
    }

    /// Mostly little.
    fn jitter(&mut self, most_us: u64) -> i64 {
        (self.rng.unit() * self.rng.unit() * most_us as f64) as i64
    }

    fn finish(self, name: &'static str, about: &'static str, check: fn(&Outcome)) -> Scenario {
        let Self { has_pictures, ours_ppm, units, inputs, .. } = self;
        let ours = |true_us: i64| micros(true_us + true_us * ours_ppm / 1_000_000);
        let units = units
            .into_iter()
            .map(|draft| (ours(draft.came_us + WAY_US), Input::Unit(draft.unit())));
        let inputs = inputs.into_iter().map(|(now_us, input)| (ours(now_us), input));
        let at = micros(SERVER_AHEAD_US);
        let connect = [
            (ours(WAY_US), Input::Connect { at, budget: BUDGET }),
            (ours(WAY_US), Input::Begin { has_pictures }),
        ];
        let mut inputs: Vec<_> = connect.into_iter().chain(inputs).chain(units).collect();
        inputs.sort_by_key(|(now, _)| *now);
        let until = inputs.last().map_or(Time::ZERO, |(now, _)| *now + Duration::from_secs(4));
        Scenario { name, about, has_pictures, poll: POLL, inputs, until, check }
    }
}

impl Draft {
    fn unit(self) -> Unit {
        Unit {
            track: self.track,
            layer: self.layer,
            frame: self.frame,
            key: self.key,
            reference: self.reference,
            last_layer: self.last_layer,
            discontinuity: false,
            references: self.references,
            pts_us: self.pts_us,
            at: micros(self.at_us),
        }
    }
}

fn micros(micros: i64) -> Time {
    Time::from_micros(micros.unsigned_abs())
}
