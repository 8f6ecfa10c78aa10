//! An output that does not take what comes: a pipe, a disk, a player that stalls.

use std::ops::Range;
use std::time::Duration;

use anabranch_netsim::Side;
use anabranch_sansio::{Rate, Time};
use anabranch_session::dropping::Notice;
use anabranch_session::treatment::{MediaClass, Preset};
use anabranch_session::{Event, LeftOut};

use super::film::{self, Film, Kind, PICTURE};
use super::harness::{Setup, Studio, link};

const SECONDS: u64 = 60;

/// What a reader got of a film.
#[derive(Debug)]
struct Seen {
    key_frames: u64,
    sound: u64,
    /// Pictures that decode, all they are predicted from included.
    decoded: u64,
    pictures: u64,
    /// The longest time on the screen of one that decodes until the next, or the end.
    freeze: Duration,
    /// From when the last of a picture came to the sender until it was written.
    oldest: Duration,
}

impl Seen {
    fn of(film: &Film, studio: &Studio) -> Self {
        Self::of_written(film, studio, &studio.written)
    }

    fn of_written(film: &Film, studio: &Studio, got: &[(Range<u64>, Time)]) -> Self {
        let mut written: Vec<Option<Time>> = vec![None; film.packets.len()];
        let mut last = 0;
        for (packets, at) in got {
            assert!(packets.start >= last, "out of order: {packets:?} after {last}");
            last = packets.end;
            packets.clone().for_each(|packet| written[packet as usize] = Some(*at));
        }
        let whole = |packets: &Range<u64>| {
            let times = &written[packets.start as usize..packets.end as usize];
            times.iter().copied().collect::<Option<Vec<_>>>()?.last().copied()
        };
        let mut seen = Self {
            key_frames: 0,
            sound: film.sound.iter().filter(|packets| whole(packets).is_some()).count() as u64,
            decoded: 0,
            pictures: film.pictures.len() as u64,
            freeze: Duration::ZERO,
            oldest: Duration::ZERO,
        };
        let (mut has_reference, mut shown) = (false, None);
        for (number, (kind, packets)) in film.pictures.iter().enumerate() {
            let at = whole(packets);
            let decodes = at.is_some() && (*kind == Kind::Key || has_reference);
            if *kind != Kind::B {
                has_reference = decodes;
            }
            seen.key_frames += u64::from(decodes && *kind == Kind::Key);
            if let Some(at) = at.filter(|_| decodes) {
                seen.decoded += 1;
                seen.oldest = seen.oldest.max(at - pushed_at(studio, packets.end - 1));
                let since = shown.replace(number).map_or(1, |before| number - before);
                seen.freeze = seen.freeze.max(PICTURE * since as u32);
            }
        }
        let still = film.pictures.len() - shown.unwrap_or(0);
        seen.freeze = seen.freeze.max(PICTURE * still as u32);
        seen
    }
}

/// When a packet was pushed.
fn pushed_at(studio: &Studio, packet: u64) -> Time {
    studio.start.expect("a stream that was started") + studio.schedule[packet as usize].0
}

/// After a film for a reader of this share of its rate.
fn watched(seed: u64, share: f64, latency_ms: u64, loss: f64) -> (Film, Studio) {
    let setup = Setup::new(&[link(30, 15, loss)], Preset::Layered, latency_ms);
    let mut studio = Setup { seed, stream: film::stream(SECONDS), ..setup }.build();
    let rate = film::RATE.as_bps() as f64 * share;
    studio.output_rate = share.is_finite().then_some(Rate::bps(rate as u64));
    studio.transfer();
    (Film::new(SECONDS), studio)
}

/// What the same reader got if no more waited for it than it takes in half a second, and what came
/// on top of that were lost.
fn in_order_of_arrival(studio: &Studio, rate: Rate) -> Vec<(Range<u64>, Time)> {
    let mut busy_until = Time::ZERO;
    let mut got = Vec::new();
    for (packets, at) in &studio.written {
        for packet in packets.clone() {
            let done = busy_until.max(*at) + rate.time_for(188);
            if done <= *at + Duration::from_millis(500) {
                busy_until = done;
                got.push((packet..packet + 1, done));
            }
        }
    }
    got
}

/// What the same reader had, if all were kept for it in order of arrival: how late its last was.
fn late_without_choice(studio: &Studio, rate: Rate) -> Duration {
    let mut busy_until = Time::ZERO;
    for (packets, at) in &studio.written {
        busy_until = busy_until.max(*at) + rate.time_for((packets.end - packets.start) * 188);
    }
    busy_until - studio.pair.now()
}

#[test]
fn a_slow_reader_costs_disposable_pictures_and_no_key_frame_or_sound() {
    for (seed, latency_ms, loss) in [(1, 200, 0.0), (2, 200, 0.01), (3, 1_500, 0.0)] {
        let (film, studio) = watched(seed, 0.7, latency_ms, loss);
        assert!(film.disposable_share() >= 0.4, "{}", film.disposable_share());
        let seen = Seen::of(&film, &studio);
        assert_eq!((seen.key_frames, seen.sound), (30, 1_500), "{seen:?}");
        assert!(100 * seen.decoded >= 55 * seen.pictures, "{seen:?}");
        assert!(seen.freeze <= Duration::from_millis(200), "{seen:?}");
        // The latency, what it may be behind, and as long again where it begins without notice.
        let latency = Duration::from_millis(latency_ms);
        assert!(seen.oldest < 2 * latency.max(Duration::from_millis(500)), "{seen:?}");
        // The sender knows in time: hardly anything is sent for nothing.
        let (sent, got) = (studio.sender().stats(), studio.receiver().stats());
        let for_output = sent.class(MediaClass::Disposable).left_out_for_output;
        let here = got.left_out.pictures[MediaClass::Disposable.index()];
        assert!(for_output > 500 && here < for_output / 20, "{for_output}, {here}");
        assert_eq!(got.measures.left_out_for_output, for_output);
        let pictures: u64 = got.left_out.pictures.iter().sum();
        assert_eq!(seen.pictures - seen.decoded, for_output + pictures, "nothing else is missing");
        assert!(sent.classes.iter().all(|class| class.left_out == 0), "the network carries all");
    }
}

#[test]
fn without_choice_a_slow_reader_falls_behind_or_loses_key_frames_and_sound() {
    let (film, studio) = watched(1, f64::INFINITY, 200, 0.0);
    let rate = Rate::bps(film::RATE.as_bps() * 7 / 10);
    let late = late_without_choice(&studio, rate);
    assert!(late > Duration::from_secs(20), "with room for all: {late:?}");
    // With little room.
    let seen = Seen::of_written(&film, &studio, &in_order_of_arrival(&studio, rate));
    assert!(seen.key_frames < 3 && seen.sound < 100, "{seen:?}");
    assert!(10 * seen.decoded < seen.pictures, "{seen:?}");
    assert!(seen.freeze > Duration::from_secs(10), "{seen:?}");
}

#[test]
fn a_reader_that_keeps_up_gets_everything() {
    let (film, studio) = watched(1, 1.2, 200, 0.0);
    let seen = Seen::of(&film, &studio);
    assert_eq!((seen.decoded, seen.sound), (1_500, 1_500));
    let got = studio.receiver().stats();
    assert_eq!((got.left_out, got.playout.skipped_items), (LeftOut::default(), 0));
}

/// What waits at the receiver, in its association and in its playout.
fn waiting(studio: &Studio) -> (usize, usize) {
    let stats = studio.receiver().stats();
    let levels = stats.connection.expect("a connection").levels;
    (levels.iter().map(|level| level.waiting_bytes).sum(), stats.playout.queued_bytes)
}

#[test]
fn nothing_is_read_while_the_output_stands_still_and_the_sender_learns_of_it() {
    let setup = Setup::new(&[link(30, 15, 0.0)], Preset::Layered, 200);
    let mut studio = Setup { stream: film::stream(20), ..setup }.build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_secs(5));
    assert_eq!(waiting(&studio).0, 0, "all is read while the output takes it");
    let left_out = |studio: &Studio| {
        let stats = studio.sender().stats();
        let of = |class| stats.class(class).left_out_for_output;
        (of(MediaClass::Reference), of(MediaClass::Disposable))
    };
    assert_eq!(left_out(&studio), (0, 0));
    studio.output_rate = Some(Rate::ZERO);
    studio.run_for(Duration::from_secs(4));
    let (in_association, in_playout) = waiting(&studio);
    assert!(in_association > 400_000, "{in_association} bytes wait to be read");
    assert!(in_playout < 400_000, "{in_playout} bytes were read");
    let (references, disposable) = left_out(&studio);
    assert!(references > 20 && disposable > 30, "{references}, {disposable}");
    let told = |event: &Event| {
        let class = MediaClass::Disposable;
        matches!(event, Event::OutputBehind(Notice::LeftOut { class: it, .. }) if *it == class)
    };
    assert!(studio.events(Side::Client).iter().any(told));

    studio.output_rate = Some(Rate::mbps(8));
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.finish();
    let seen = Seen::of(&Film::new(20), &studio);
    assert_eq!((seen.key_frames, seen.sound), (10, 500), "{seen:?}");
    let (_, last) = studio.written.last().expect("media");
    let pushed = pushed_at(&studio, Film::new(20).packets.len() as u64 - 1);
    assert!(*last - pushed < Duration::from_millis(300), "{:?}", *last - pushed);
}

#[test]
fn what_comes_again_while_the_output_waits_is_not_passed_over() {
    let setup = Setup::new(&[link(30, 15, 0.05)], Preset::Layered, 400);
    let mut studio = Setup { stream: film::stream(12), ..setup }.build();
    studio.connect();
    studio.start_stream();
    for _ in 0..20 {
        studio.output_rate = Some(Rate::ZERO);
        studio.run_for(Duration::from_millis(350));
        studio.output_rate = None;
        studio.run_for(Duration::from_millis(150));
    }
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.finish();
    let stats = studio.receiver().stats();
    assert_eq!((stats.left_out, stats.playout.skipped_items), (LeftOut::default(), 0));
}
