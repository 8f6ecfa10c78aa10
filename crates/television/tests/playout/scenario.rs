//! [`Scenario`]: what comes to a viewer, run and written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anabranch_media::decoding::{AccessUnit, MediaTrack};
use anabranch_media::piece::References;
use anabranch_media::{Class, Layer, Track};
use anabranch_sansio::Time;
use anabranch_television::{Playout, PlayoutCounts, ReceivedUnit};
use bytes::Bytes;
use serde_json::json;

/// What happens to a viewer, in order.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// What it is, in a sentence.
    pub(super) about: &'static str,
    pub(super) has_pictures: bool,
    /// The playout is asked for what is due whenever something happens, and in between so often.
    pub(super) poll: Duration,
    pub(super) inputs: Vec<(Time, Input)>,
    pub(super) until: Time,
    /// Whether the outcome is worth to be kept.
    pub(super) check: fn(&Outcome),
}

/// Something that happens to the playout.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input {
    Connect { at: Time, budget: Duration },
    Begin { has_pictures: bool },
    Budget(Duration),
    Unit(Unit),
}

/// What came: a layer of a picture, or a frame of sound.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) track: MediaTrack,
    pub(super) layer: u8,
    pub(super) frame: u32,
    pub(super) key: bool,
    pub(super) reference: bool,
    pub(super) last_layer: bool,
    pub(super) discontinuity: bool,
    pub(super) references: u16,
    pub(super) pts_us: i64,
    pub(super) at: Time,
}

/// What left, and when.
pub(super) struct Outcome {
    pub(super) released: Vec<(Time, AccessUnit)>,
    pub(super) counts: PlayoutCounts,
    /// When pictures came.
    came: BTreeMap<u32, Time>,
}

impl Outcome {
    pub(super) fn of(&self, track: MediaTrack) -> Vec<u32> {
        let of_track = self.released.iter().filter(|(_, unit)| unit.track == track);
        of_track.map(|(_, unit)| unit.frame).collect()
    }

    pub(super) fn broken(&self) -> Vec<u32> {
        let broken = self.released.iter().filter(|(_, unit)| unit.discontinuity);
        broken.map(|(_, unit)| unit.frame).collect()
    }

    /// From the arrival of each picture to its time, in milliseconds.
    pub(super) fn spares(&self) -> Vec<i64> {
        let is_picture = |unit: &&AccessUnit| unit.track == MediaTrack::Video;
        let pictures = self.released.iter().map(|(_, unit)| unit).filter(is_picture);
        let millis = |time: Time| time.as_millis() as i64;
        pictures.map(|unit| millis(unit.play_at) - millis(self.came[&unit.frame])).collect()
    }
}

impl Scenario {
    pub(super) fn run(&self) -> Outcome {
        let mut playout = Playout::new(Duration::ZERO);
        let mut released = Vec::new();
        let mut polled = 0_u32;
        let mut poll_until = |playout: &mut Playout, until: Time, released: &mut Vec<_>| {
            loop {
                let now = (Time::ZERO + self.poll * polled).min(until);
                released.extend(std::iter::from_fn(|| Some((now, playout.poll(now)?))));
                if now == until {
                    return;
                }
                polled += 1;
            }
        };
        for (now, input) in &self.inputs {
            poll_until(&mut playout, *now, &mut released);
            input.apply(*now, &mut playout);
            poll_until(&mut playout, *now, &mut released);
        }
        poll_until(&mut playout, self.until, &mut released);
        let came = self.inputs.iter().filter_map(|(now, input)| match input {
            Input::Unit(unit) if unit.track == MediaTrack::Video => Some((unit.frame, *now)),
            Input::Unit(_) | Input::Connect { .. } | Input::Begin { .. } | Input::Budget(_) => None,
        });
        Outcome { released, counts: playout.counts(), came: came.collect() }
    }

    /// One line for each input and each release, so that a change shows what it changes.
    pub(super) fn to_json(&self) -> String {
        let outcome = self.run();
        let inputs = self.inputs.iter().map(|(now, input)| input.to_json(*now));
        let released = outcome.released.iter().map(|(now, unit)| {
            let AccessUnit { track, frame, play_at, discontinuity, ref layers, .. } = *unit;
            let layers = layers.len();
            let (now, play_at) = (now.as_micros(), play_at.as_micros());
            json!([now, track_name(track), frame, layers, play_at, discontinuity])
        });
        let PlayoutCounts { pictures, missing, late } = outcome.counts;
        let mut text = String::from("{\n");
        let mut field = |name: &str, value: serde_json::Value| {
            let _ = writeln!(text, "  \"{name}\": {value},");
        };
        field("about", json!(self.about));
        field("poll_us", json!(self.poll.as_micros() as u64));
        field("until_us", json!(self.until.as_micros()));
        field("counts", json!({ "pictures": pictures, "missing": missing, "late": late }));
        let rows = |rows: Vec<serde_json::Value>| {
            let rows = rows.iter().map(|row| format!("    {row}"));
            rows.collect::<Vec<_>>().join(",\n")
        };
        let _ = writeln!(text, "  \"in\": [\n{}\n  ],", rows(inputs.collect()));
        let _ = writeln!(text, "  \"out\": [\n{}\n  ]\n}}", rows(released.collect()));
        text
    }
}

impl Input {
    fn apply(self, now: Time, playout: &mut Playout) {
        match self {
            Self::Connect { at, budget } => playout.connect(now, at, budget),
            Self::Begin { has_pictures } => playout.begin(has_pictures),
            Self::Budget(budget) => playout.set_budget(budget),
            Self::Unit(unit) => playout.push(now, unit.received()),
        }
    }

    /// When, what, and the rest.
    fn to_json(self, now: Time) -> serde_json::Value {
        let now = now.as_micros();
        let micros = |span: Duration| span.as_micros() as u64;
        match self {
            Self::Connect { at, budget } => {
                json!([now, "connect", at.as_micros(), micros(budget)])
            }
            Self::Begin { has_pictures } => json!([now, "begin", has_pictures]),
            Self::Budget(budget) => json!([now, "budget", micros(budget)]),
            Self::Unit(Unit { track, layer, frame, references, pts_us, at, .. }) => {
                let (track, at, flags) = (track_name(track), at.as_micros(), self.flags());
                json!([now, track, frame, layer, flags, references, pts_us, at])
            }
        }
    }

    fn flags(self) -> String {
        let Self::Unit(unit) = self else { return String::new() };
        let flags = [
            ('k', unit.key),
            ('r', unit.reference),
            ('l', unit.last_layer),
            ('d', unit.discontinuity),
        ];
        flags.iter().filter(|(_, holds)| *holds).map(|(flag, _)| flag).collect()
    }
}

impl Unit {
    fn received(self) -> ReceivedUnit {
        let unit = anabranch_media::Unit {
            track: Track(0),
            class: self.class(),
            layer: Layer(self.layer),
            frame: self.frame.into(),
            at: self.at,
            pts_us: self.pts_us,
            last_layer: self.last_layer,
            discontinuity: self.discontinuity,
            bytes: Bytes::from_static(b"x"),
        };
        ReceivedUnit { session: 1, references: References(self.references.into()), unit }
    }

    const fn class(self) -> Class {
        match self.track {
            MediaTrack::Audio => Class::Audio,
            MediaTrack::Video if self.key => Class::KeyFrame,
            MediaTrack::Video if self.reference => Class::Reference,
            MediaTrack::Video => Class::Disposable,
        }
    }
}

const fn track_name(track: MediaTrack) -> &'static str {
    match track {
        MediaTrack::Video => "video",
        MediaTrack::Audio => "audio",
    }
}
