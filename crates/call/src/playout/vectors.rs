//! Holds the playout to `tests/playout-vectors`, to which the page of a room is held, too
//! (`web/src/room/playout/vectors.test.ts`): what arrives, and what is to be heard and seen when.
//!
//! Where the rules change on purpose, `ANABRANCH_UPDATE_VECTORS=1 cargo test -p anabranch-call
//! vectors` writes the files anew.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use anabranch_media::cutter::UnitCutter;
use anabranch_media::{Layer, Unit};
use anabranch_sansio::Rng;

use super::*;
use crate::Played;

const UPDATE: &str = "ANABRANCH_UPDATE_VECTORS";

/// How often the playout is asked.
const POLL: Duration = Duration::from_millis(10);

/// The sender's clock is ahead of the receiver's by this.
const AHEAD: Duration = Duration::from_secs(7_000);

/// One way, without waiting anywhere.
const WAY: Duration = Duration::from_millis(30);

/// Longest picture in one piece.
const PIECE_LEN: usize = 2_200;

/// Something that was captured, before it is sent.
struct Captured {
    at: Duration,
    class: Class,
    frame: u64,
    len: usize,
}

/// An arrival, in the order of time.
struct Arrival {
    at: Time,
    piece: Piece,
}

struct Scenario {
    name: &'static str,
    about: &'static str,
    arrivals: Vec<Arrival>,
    /// From when on voice is muted, and behind which frame.
    muted: Option<(Time, u64)>,
    until: Time,
}

/// 25 pictures and 50 frames of voice a second: a key picture each second, between them every
/// second one disposable.
fn captured(span: Duration) -> Vec<Captured> {
    let voice = (0..).map(|frame| (FRAME * frame as u32, Class::Audio, frame, 3));
    let picture = |frame: u64| {
        let class = match frame {
            frame if frame.is_multiple_of(25) => Class::KeyFrame,
            frame if frame.is_multiple_of(2) => Class::Reference,
            _ => Class::Disposable,
        };
        let len = if class == Class::KeyFrame { 5_000 } else { 900 };
        (Duration::from_millis(40) * frame as u32, class, frame, len)
    };
    let within = |&(at, ..): &(Duration, Class, u64, usize)| at < span;
    let voice = voice.take_while(within);
    let mut all: Vec<_> = (0..).map(picture).take_while(within).chain(voice).collect();
    all.sort_by_key(|(at, ..)| *at);
    let named = |(at, class, frame, len)| Captured { at, class, frame, len };
    all.into_iter().map(named).collect()
}

const FRAME: Duration = crate::config::FRAME;

/// What arrives of all that was captured: `way` says how long each takes, or that it is lost.
fn arrivals(
    session: u16,
    all: &[Captured],
    mut way: impl FnMut(&Captured, u64) -> Option<Duration>,
) -> Vec<Arrival> {
    let mut cutter = UnitCutter::with_pieces_of(session, PIECE_LEN);
    let mut arrivals = Vec::new();
    for unit in all {
        let sent = Unit {
            track: if unit.class == Class::Audio { VOICE } else { PICTURE },
            class: unit.class,
            layer: Layer::BASE,
            frame: unit.frame,
            at: Time::ZERO + AHEAD + unit.at,
            pts_us: 0,
            last_layer: true,
            discontinuity: false,
            bytes: vec![0; unit.len].into(),
        };
        for piece in cutter.cut(&sent) {
            if let Some(way) = way(unit, piece.header.index) {
                arrivals.push(Arrival { at: Time::ZERO + unit.at + way, piece });
            }
        }
    }
    arrivals.sort_by_key(|arrival| arrival.at);
    arrivals
}

fn scenario(
    name: &'static str,
    about: &'static str,
    way: impl FnMut(&Captured, u64) -> Option<Duration>,
) -> Scenario {
    let all = captured(Duration::from_secs(3));
    let arrivals = arrivals(1, &all, way);
    Scenario { name, about, arrivals, muted: None, until: Time::from_millis(4_500) }
}

fn scenarios() -> Vec<Scenario> {
    let mut rng = Rng::from_u64(1);
    let mut jitter = move |most_us: u64| Duration::from_micros(rng.range(0..most_us));
    let mut later = Rng::from_u64(2);
    let ms = Duration::from_millis;
    let mut all = vec![
        scenario("steady", "nothing waits anywhere", |_, _| Some(WAY)),
        scenario("jitter", "up to 40 ms", |_, _| Some(WAY + jitter(40_000))),
        scenario("loss", "each tenth comes 90 ms late, each thirtieth not at all", move |_, _| {
            match later.range(0..30) {
                0 => None,
                1..=3 => Some(WAY + ms(90)),
                _ => Some(WAY),
            }
        }),
        scenario("standstill", "nothing comes for 400 ms", |unit, _| {
            let at = unit.at;
            let over = ms(1_400);
            Some(if (ms(1_000)..over).contains(&at) { WAY + (over - at) } else { WAY })
        }),
        scenario("outage", "nothing of 400 ms comes at all", |unit, _| {
            (!(ms(1_000)..ms(1_400)).contains(&unit.at)).then_some(WAY)
        }),
        scenario("reference-lost", "a picture that others need does not come", |unit, _| {
            (unit.class == Class::Audio || unit.frame != 20).then_some(WAY)
        }),
        scenario("part-late", "a part of the first picture comes 150 ms late", |unit, index| {
            let is_late = unit.class == Class::KeyFrame && unit.frame == 0 && index == 1;
            Some(if is_late { WAY + ms(150) } else { WAY })
        }),
    ];
    let mut muted = scenario("muted", "voice is muted for a second", |unit, _| {
        let silent = unit.class == Class::Audio && (ms(1_000)..ms(2_000)).contains(&unit.at);
        (!silent).then_some(WAY)
    });
    // Muted voice goes on with the next number.
    muted.arrivals.iter_mut().for_each(|arrival| {
        let header = &mut arrival.piece.header;
        if header.track == VOICE && header.frame >= 100 {
            header.frame -= 50;
        }
    });
    muted.muted = Some((Time::from_millis(1_030), 50));
    all.push(muted);
    let mut again =
        scenario("anew", "the sender begins anew", |unit, _| (unit.at < ms(1_500)).then_some(WAY));
    let second = arrivals(2, &captured(Duration::from_secs(1)), |_, _| Some(WAY));
    again.arrivals.extend(
        second
            .into_iter()
            .map(|Arrival { at, piece }| Arrival { at: at + Duration::from_secs(2), piece }),
    );
    all.push(again);
    all
}

/// What is to be heard and seen, a row for each: when it was handed out, what, its number, when it
/// is to be played.
fn play(scenario: &Scenario) -> (Vec<String>, VoiceCounts, PictureCounts) {
    let mut playout = Playout::new();
    let mut rows = Vec::new();
    let mut polled = Time::ZERO;
    let mut poll_until = |playout: &mut Playout, until: Time| {
        loop {
            let now = polled.min(until);
            while let Some(playback) = playout.poll(now) {
                rows.push(row(now, &playback));
            }
            if now == until {
                return;
            }
            polled += POLL;
        }
    };
    let mut muted = scenario.muted;
    for Arrival { at, piece } in &scenario.arrivals {
        if let Some((from, frame)) = muted.filter(|(from, _)| from <= at) {
            poll_until(&mut playout, from);
            playout.mute_from(frame);
            muted = None;
        }
        poll_until(&mut playout, *at);
        playout.push(*at, piece.encode().into());
        poll_until(&mut playout, *at);
    }
    poll_until(&mut playout, scenario.until);
    (rows, playout.voice_counts(), playout.picture_counts())
}

fn row(now: Time, playback: &Playback) -> String {
    let what = match &playback.what {
        Played::Voice(_) => "voice",
        Played::Concealed => "concealed",
        Played::Picture { discontinuity: false, .. } => "picture",
        Played::Picture { discontinuity: true, .. } => "gap",
    };
    let (now, at) = (now.as_micros(), playback.play_at.as_micros());
    format!("[{now},\"{what}\",{},{at}]", playback.frame)
}

fn to_json(scenario: &Scenario) -> String {
    let (rows, voice, pictures) = play(scenario);
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        out.write_fmt(text).expect("a string takes all");
        out.push('\n');
    };
    line(format_args!("{{\n  \"about\": \"{}\",", scenario.about));
    line(format_args!("  \"poll_us\": {},", POLL.as_micros()));
    line(format_args!("  \"until_us\": {},", scenario.until.as_micros()));
    let muted = scenario.muted.map(|(at, frame)| format!("[{},{frame}]", at.as_micros()));
    line(format_args!("  \"muted\": {},", muted.unwrap_or_else(|| "null".to_owned())));
    line(format_args!(
        "  \"counts\": {{\"heard\":{},\"concealed\":{},\"late\":{},\"shown\":{},\"lost\":{}}},",
        voice.heard, voice.concealed, voice.late, pictures.shown, pictures.lost
    ));
    let arrivals = scenario.arrivals.iter().map(|Arrival { at, piece }| {
        let header = &piece.header;
        let class = match header.class {
            Class::Audio => "voice",
            Class::KeyFrame => "key",
            Class::Reference => "reference",
            Class::Disposable => "disposable",
            Class::Tables | Class::Data | Class::Padding => panic!("nothing of a call"),
        };
        let references = header.presentation.unwrap_or_default().references.0;
        format!(
            "[{},{},\"{class}\",{},{},{},{references},{}]",
            at.as_micros(),
            header.session,
            header.frame,
            header.index,
            header.last,
            header.first_at().as_micros()
        )
    });
    let joined = |rows: Vec<String>| rows.join(",\n    ");
    line(format_args!("  \"in\": [\n    {}\n  ],", joined(arrivals.collect())));
    line(format_args!("  \"out\": [\n    {}\n  ]\n}}", joined(rows)));
    out
}

#[test]
fn what_is_heard_and_seen_when_is_what_the_vectors_say() {
    let scenarios = scenarios();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/playout-vectors");
    for scenario in &scenarios {
        let path = folder.join(format!("{}.json", scenario.name));
        let made = to_json(scenario);
        if env::var_os(UPDATE).is_some() {
            fs::write(&path, &made).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap();
        let differs = made.lines().zip(kept.lines()).position(|(made, kept)| made != kept);
        assert!(made == kept, "{}: line {differs:?} and what follows differ", scenario.name);
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), scenarios.len(), "nothing makes a vector");
}

#[test]
fn each_vector_shows_what_it_is_about() {
    for scenario in scenarios() {
        let (_, voice, pictures) = play(&scenario);
        let (heard, shown) = match scenario.name {
            "steady" | "jitter" | "part-late" => (150..=150, 75..=75),
            "loss" => (135..=145, 40..=60),
            // What waited comes at once, most of it too late.
            "standstill" => (135..=145, 75..=75),
            // 20 frames of voice are missing, and the pictures up to the next key picture.
            "outage" => (130..=130, 50..=50),
            "reference-lost" => (150..=150, 70..=70),
            "muted" => (100..=100, 75..=75),
            "anew" => (125..=125, 63..=63),
            other => panic!("{other}"),
        };
        assert!(heard.contains(&voice.heard), "{}: {voice:?}", scenario.name);
        assert!(shown.contains(&pictures.shown), "{}: {pictures:?}", scenario.name);
    }
}
