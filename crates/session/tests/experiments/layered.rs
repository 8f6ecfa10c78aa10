//! More than the network carries: 10 Mbit/s in two layers over 8, and back to enough.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use anabranch_media::clip::{Attribution, AudioFormat, ClipHeader, VideoFormat};
use anabranch_media::playout::Timeliness;
use anabranch_media::{Class, Layer, Track, Unit};
use anabranch_netsim::{LinkConfig, QueueLimit, Side};
use anabranch_sansio::Rate;
use anabranch_session::dropping::Notice;
use anabranch_session::treatment::{MediaClass, Preset};
use anabranch_session::{Event, SourceFormat};
use anabranch_transport::RateSignal;

use super::harness::{Setup, Stream, Studio, link};

const LATENCY: Duration = Duration::from_millis(200);
const ONE_WAY: Duration = Duration::from_millis(25);
const PICTURE: Duration = Duration::from_millis(40);
const PICTURES_PER_SECOND: u64 = 25;

/// Bytes of a picture's layers: 3 and 7 Mbit/s, and the pieces that they are cut into.
const LAYERS: [(usize, u64); 2] = [(15_000, 1), (35_000, 3)];
const BASE: u8 = 0;
const ENHANCEMENT: u8 = 1;

/// A key picture every two seconds.
const GROUP: u64 = 50;

/// A show of two layers over one link with a queue of a round trip.
struct Show {
    studio: Studio,
    frame: u64,
    /// Pieces that came in time, by frame and layer, and the longest that one took.
    arrived: BTreeMap<(u64, u8), (u64, Duration)>,
}

impl Show {
    fn over(rate: Rate, seed: u64) -> Self {
        let latency_ms = LATENCY.as_millis() as u64;
        let setup = Setup::new(&[narrow(rate)], Preset::Layered, latency_ms);
        let mut studio = Setup { stream: clip(), seed, ..setup }.build();
        studio.connect();
        Self { studio, frame: 0, arrived: BTreeMap::new() }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.studio.pair.reconfigure(0, narrow(rate));
    }

    fn go_on_for(&mut self, seconds: u64) {
        for _ in 0..seconds * PICTURES_PER_SECOND {
            self.push_picture();
            self.studio.run_for(PICTURE);
            self.take_arrivals();
        }
    }

    /// Lets arrive what is under way.
    fn end(&mut self) {
        self.studio.run_for(2 * LATENCY);
        self.take_arrivals();
    }

    fn push_picture(&mut self) {
        let frame = self.frame;
        self.frame += 1;
        let class = if frame.is_multiple_of(GROUP) { Class::KeyFrame } else { Class::Reference };
        self.studio.act_sender(|sender, now| {
            for (layer, (len, _)) in (0..).zip(LAYERS) {
                let bytes = vec![layer; len].into();
                let layer = Layer(layer);
                let unit = Unit {
                    track: Track(0),
                    class,
                    layer,
                    frame,
                    at: now,
                    pts_us: now.as_micros() as i64,
                    last_layer: layer == Layer(1),
                    discontinuity: false,
                    bytes,
                };
                sender.push_unit(now, &unit).expect("open");
            }
        });
    }

    fn take_arrivals(&mut self) {
        let arrivals = self.studio.act_receiver(|receiver, _| {
            std::iter::from_fn(|| receiver.poll_arrival()).collect::<Vec<_>>()
        });
        for arrival in arrivals.iter().filter(|it| it.timeliness == Timeliness::InTime) {
            let known = self.arrived.entry((arrival.frame, arrival.layer.0)).or_default();
            known.0 += 1;
            known.1 = known.1.max(arrival.at - arrival.sent);
        }
    }

    /// Pictures of each second of which the layer came whole and in time.
    fn whole(&self, layer: u8) -> Vec<usize> {
        let pieces = LAYERS[usize::from(layer)].1;
        let is_whole = |frame| self.arrived.get(&(frame, layer)).is_some_and(|it| it.0 == pieces);
        let seconds = self.frame / PICTURES_PER_SECOND;
        let second = |n| n * PICTURES_PER_SECOND..(n + 1) * PICTURES_PER_SECOND;
        (0..seconds).map(|n| second(n).filter(|frame| is_whole(*frame)).count()).collect()
    }

    fn longest_delay(&self, layer: u8) -> Duration {
        let of_layer = self.arrived.iter().filter(|((_, of), _)| *of == layer);
        of_layer.map(|(_, (_, delay))| *delay).max().unwrap_or_default()
    }

    fn rate(&self) -> RateSignal {
        let connection = self.studio.sender().stats().connection;
        connection.and_then(|connection| connection.rate).expect("measured")
    }

    /// What was told of the enhancement.
    fn told(&mut self) -> Vec<Event> {
        let events = self.studio.events(Side::Client).into_iter();
        let is_about = |event: &Event| {
            matches!(
                event,
                Event::Dropping(Notice::LeftOut { class: MediaClass::Enhancement, .. })
                    | Event::Dropping(Notice::WholeAgain { class: MediaClass::Enhancement })
            )
        };
        events.filter(is_about).collect()
    }
}

/// Units of the demo's format, which the test pushes.
fn clip() -> Stream {
    let video = VideoFormat {
        codec: "vp09.00.40.08".to_owned(),
        width: 1_280,
        height: 720,
        frame_rate_numerator: 25,
        frame_rate_denominator: 1,
        layers: 2,
    };
    let nobody = Attribution {
        text: String::new(),
        url: String::new(),
        license: String::new(),
        license_url: String::new(),
    };
    let header = ClipHeader {
        title: "two layers".to_owned(),
        video,
        audio: AudioFormat { codec: "opus".to_owned(), sample_rate: 48_000, channels: 2 },
        attribution: nobody,
        loop_duration_us: 10_000_000,
    };
    Stream { schedule: Vec::new(), format: SourceFormat::Clip(header) }
}

fn narrow(rate: Rate) -> LinkConfig {
    let queue = QueueLimit::lasting(2 * ONE_WAY, rate);
    LinkConfig { rate: Some(rate), queue, ..link(1, ONE_WAY.as_millis() as u64, 0.0) }
}

/// What holds of a show holds of it on the average: which second has how many pictures hangs on
/// when a queue was seen last.
const SEEDS: RangeInclusive<u64> = 1..=8;

/// 8 Mbit/s have room for the base and the enhancement of about 15 pictures of 25. Left to
/// lifetimes alone, not one of them was whole.
#[test]
fn ten_into_eight_leaves_the_base_whole_and_the_enhancement_thinner() {
    let (mut seconds, mut base) = (Vec::new(), 0);
    for seed in SEEDS {
        let mut show = Show::over(Rate::mbps(8), seed);
        show.go_on_for(20);
        let rate = show.rate();
        show.end();
        base += show.whole(BASE).iter().sum::<usize>();
        let longest = show.longest_delay(BASE);
        // The clock takes the shortest way of late for the least there is: a queue that never
        // empties is in it.
        assert!(longest <= LATENCY + 2 * ONE_WAY, "within the buffer and the queue: {longest:?}");
        seconds.extend(show.whole(ENHANCEMENT).split_off(2));
        let carries = rate.carries.as_mbps_f64();
        assert!((5.0..8.0).contains(&carries) && !rate.is_at_least, "{rate:?}");
        let told = show.told();
        assert!((2..=5).contains(&told.len()), "once in five seconds: {told:?}");
    }
    let (total, runs) = (seconds.iter().sum::<usize>(), SEEDS.count());
    assert!(base + 1 >= runs * 20 * PICTURES_PER_SECOND as usize, "{base}");
    assert!(total >= 11 * seconds.len(), "{total} in {seconds:?}");
    let poor = seconds.iter().filter(|n| **n < 5).count();
    assert!(poor * 8 <= seconds.len() && seconds.iter().all(|n| *n < 20), "{seconds:?}");
}

#[test]
fn all_layers_go_again_when_there_is_room_again() {
    let all = PICTURES_PER_SECOND as usize;
    let (mut thinner, mut lost) = (Vec::new(), 0);
    for seed in SEEDS {
        let mut show = Show::over(Rate::mbps(20), seed);
        show.go_on_for(5);
        assert_eq!(show.told(), []);
        show.set_rate(Rate::mbps(8));
        show.go_on_for(10);
        show.set_rate(Rate::mbps(20));
        show.go_on_for(10);
        show.end();
        let base = show.whole(BASE);
        // What was in the queue when it shrank is lost.
        lost +=
            base.iter().enumerate().filter(|(n, _)| *n != 5).map(|(_, n)| all - n).sum::<usize>();
        let enhancement = show.whole(ENHANCEMENT);
        let (before, after) = (&enhancement[1..5], &enhancement[18..]);
        assert!(before.iter().chain(after).all(|n| *n == all), "{enhancement:?}");
        thinner.extend_from_slice(&enhancement[8..15]);
        let told = show.told();
        let again = Event::Dropping(Notice::WholeAgain { class: MediaClass::Enhancement });
        assert!(told.len() >= 2 && told.last() == Some(&again), "{told:?}");
    }
    assert!(lost <= 1, "{lost} pictures of the base");
    let total: usize = thinner.iter().sum();
    assert!(total >= 9 * thinner.len() && thinner.iter().all(|n| *n < 20), "{thinner:?}");
}
