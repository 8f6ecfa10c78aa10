//! [`Playout`]: when what came is to be seen and heard.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_media::decoding::{AccessUnit, LayerUnit, MediaTrack};
use anabranch_media::playout::PathId;
use anabranch_media::playout::clock::{PlayoutClock, WINDOW};
use anabranch_media::{Layer, Unit};
use anabranch_sansio::Time;

use super::{PictureOrder, ReceivedUnit};

/// A decoder gets a picture so long before it is to be seen.
const LEAD: Duration = Duration::from_millis(40);

/// A viewer that began behind the live edge, or ahead of its budget, plays so much faster or slower
/// until it is where it belongs: a twentieth.
const CATCH_UP: i64 = 20;

/// Pictures and frames of sound that wait for their time; the oldest make way.
const WAITING_MAX: usize = 1_024;

/// What comes from the server has one way, whatever its packets took.
const SERVER: PathId = PathId(0);

/// What comes to the server from a channel's source.
const SOURCE: PathId = PathId(1);

/// Puts what came of one channel in order, and says when each picture is to be seen.
///
/// Three clocks run apart: the source's, which numbered the pictures, the server's, and ours. Two
/// [clocks](PlayoutClock) follow them: one carries the server's time over to ours, by the shortest
/// ways of late, the other the source's to the server's, by what can be entered.
#[derive(Debug)]
pub struct Playout {
    budget: Duration,
    /// What can be entered: pictures, or sound where there are none.
    entry: MediaTrack,
    server: PlayoutClock,
    source: PlayoutClock,
    start: Option<Start>,
    waiting: BTreeMap<(MediaTrack, u64), Waiting>,
    /// What comes next of pictures and sound.
    next: [Option<u64>; 2],
    /// The last picture that was handed out.
    last_picture: Option<PictureOrder>,
    due: VecDeque<AccessUnit>,
    counts: PlayoutCounts,
}

/// Counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlayoutCounts {
    /// Pictures handed to the decoder.
    pub pictures: u64,
    /// Pictures whose number was passed over.
    pub missing: u64,
}

/// The first picture, and where the clocks were.
#[derive(Debug, Clone, Copy)]
struct Start {
    pts_us: i64,
    shown: Time,
    /// How far it was behind the budget, or ahead of it if less than zero.
    behind_us: i64,
    server_us: i64,
    /// Where the source's clock was once it had been heard for long enough.
    source_us: Option<i64>,
    /// How much later than at the start all is to be shown, because a clock drifts or the network
    /// takes longer.
    drift_us: i64,
}

#[derive(Debug)]
struct Waiting {
    /// Never empty.
    layers: BTreeMap<Layer, ReceivedUnit>,
    play_at: Time,
}

impl Playout {
    /// Nothing to be seen yet.
    #[must_use]
    pub const fn new(budget: Duration) -> Self {
        Self {
            budget,
            entry: MediaTrack::Video,
            server: PlayoutClock::new(budget),
            source: PlayoutClock::new(budget),
            start: None,
            waiting: BTreeMap::new(),
            next: [None; 2],
            last_picture: None,
            due: VecDeque::new(),
            counts: PlayoutCounts { pictures: 0, missing: 0 },
        }
    }

    /// Another latency budget, for the next channel.
    pub fn set_budget(&mut self, budget: Duration) {
        self.budget = budget;
        self.server = PlayoutClock::new(budget);
    }

    /// Another channel, or another epoch of this one, with pictures or with sound alone.
    pub fn begin(&mut self, has_pictures: bool) {
        self.entry = if has_pictures { MediaTrack::Video } else { MediaTrack::Audio };
        self.start = None;
        self.source = PlayoutClock::new(self.budget);
        self.waiting.clear();
        self.next = [None; 2];
        self.last_picture = None;
        self.due.clear();
    }

    /// Takes what came whole.
    pub fn push(&mut self, now: Time, received: ReceivedUnit) {
        let unit = &received.unit;
        let kind = received.kind();
        let is_entry = received.is_key() && kind == self.entry && unit.layer == Layer::BASE;
        self.follow(now, unit, is_entry);
        if self.start.is_none() && is_entry {
            self.enter(now, unit);
        }
        let is_past = self.next[kind as usize].is_some_and(|next| unit.frame < next);
        if !is_past {
            let play_at = self.start.map_or(now, |start| start.play_at(unit.pts_us));
            self.keep(received, play_at);
        }
    }

    /// What is to be seen or heard next, in the order of decoding.
    pub fn poll(&mut self, now: Time) -> Option<AccessUnit> {
        if self.due.is_empty() && self.start.is_some() {
            self.release(now, MediaTrack::Video);
            self.release(now, MediaTrack::Audio);
        }
        self.due.pop_front()
    }

    /// When [`poll`](Self::poll) has something.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.start?;
        self.waiting.values().map(Waiting::due).min()
    }

    /// Counters.
    #[must_use]
    pub const fn counts(&self) -> PlayoutCounts {
        self.counts
    }

    /// Learns where the clocks are.
    fn follow(&mut self, now: Time, unit: &Unit, is_entry: bool) {
        if self.server.is_broken_by(now, unit.at) {
            self.server = PlayoutClock::new(self.budget);
            self.start = None;
        }
        self.server.sample(now, Some(SERVER), unit.at);
        let pts = u64::try_from(unit.pts_us).map(Time::from_micros);
        if let (true, Ok(pts)) = (is_entry, pts) {
            self.source.sample(unit.at, Some(SOURCE), pts);
        }
        let Some(start) = &mut self.start else { return };
        let source_us = self.source.offset() / 1_000;
        if start.source_us.is_none() && now.saturating_since(start.shown) >= WINDOW {
            self.source.settle();
            start.source_us = Some(source_us);
        }
        let of_server = self.server.offset() / 1_000 - start.server_us;
        let of_source = start.source_us.map_or(0, |first_us| source_us - first_us);
        start.drift_us = of_server.saturating_add(of_source);
    }

    /// Shows the first picture at once; what had come before it is of no use.
    fn enter(&mut self, now: Time, unit: &Unit) {
        self.server.settle();
        let server_us = self.server.offset() / 1_000;
        let transit_us = micros(now) - micros(unit.at);
        let start = Start {
            pts_us: unit.pts_us,
            shown: now,
            behind_us: transit_us - server_us - self.budget.as_micros() as i64,
            server_us,
            source_us: None,
            drift_us: 0,
        };
        self.start = Some(start);
        let kind = MediaTrack::of(unit.class);
        self.next[kind as usize] = Some(unit.frame);
        self.waiting.retain(|(track, frame), waiting| {
            let pts_us = waiting.pts_us();
            waiting.play_at = start.play_at(pts_us);
            let is_past = *track == kind && *frame < unit.frame;
            !is_past && pts_us >= unit.pts_us
        });
    }

    fn keep(&mut self, received: ReceivedUnit, play_at: Time) {
        let key = (received.kind(), received.unit.frame);
        let new = || Waiting { layers: BTreeMap::new(), play_at };
        let waiting = self.waiting.entry(key).or_insert_with(new);
        waiting.layers.insert(received.unit.layer, received);
        if self.waiting.len() > WAITING_MAX {
            self.waiting.pop_first();
        }
    }

    /// Hands out all up to the last one that is due: what is shown later may be decoded before.
    fn release(&mut self, now: Time, track: MediaTrack) {
        let of_track = (track, 0)..=(track, u64::MAX);
        let is_due = |(_, waiting): &(&(MediaTrack, u64), &Waiting)| waiting.due() <= now;
        let Some((&last, _)) = self.waiting.range(of_track.clone()).rfind(is_due) else { return };
        while let Some((&key, _)) = self.waiting.range(of_track.clone()).next()
            && key <= last
            && let Some(waiting) = self.waiting.remove(&key)
        {
            let next = self.next[track as usize].replace(key.1.saturating_add(1));
            let missing = next.map_or(0, |next| key.1.saturating_sub(next));
            let lacks = match track {
                MediaTrack::Video => self.lacks_reference(&waiting),
                MediaTrack::Audio => missing > 0,
            };
            let unit = waiting.into_unit(lacks);
            if track == MediaTrack::Video {
                self.counts.missing += missing;
                self.counts.pictures += u64::from(unit.is_some());
            }
            self.due.extend(unit);
        }
    }

    /// Whether a picture that this one may refer to was not handed out.
    fn lacks_reference(&mut self, waiting: &Waiting) -> bool {
        let Some(base) = waiting.layers.get(&Layer::BASE) else { return false };
        let last = self.last_picture.replace(base.order());
        last.is_some_and(|last| !last.is_enough_for(&base.order()))
    }
}

impl Start {
    fn play_at(&self, pts_us: i64) -> Time {
        let elapsed = pts_us - self.pts_us;
        let most = elapsed.max(0) / CATCH_UP;
        let caught_up = self.behind_us.clamp(-most, most);
        let after = (elapsed - caught_up).saturating_add(self.drift_us);
        let after = u64::try_from(after).unwrap_or_default();
        self.shown + Duration::from_micros(after)
    }
}

impl Waiting {
    fn due(&self) -> Time {
        self.play_at.saturating_sub(LEAD)
    }

    /// The layers from the base upwards; nothing without a base.
    fn into_unit(self, lacks_reference: bool) -> Option<AccessUnit> {
        let Unit { class, frame, pts_us, discontinuity, .. } =
            self.layers.get(&Layer::BASE)?.unit.clone();
        let is_next = |(place, (layer, _)): &(usize, (Layer, _))| usize::from(layer.0) == *place;
        let layers = self.layers.into_iter().enumerate().take_while(is_next);
        let layer = |(_, (_, it)): (usize, (Layer, ReceivedUnit))| LayerUnit {
            class: it.unit.class,
            delay: None,
            bytes: it.unit.bytes,
        };
        Some(AccessUnit {
            track: MediaTrack::of(class),
            frame: frame as u32,
            pts_us,
            play_at: self.play_at,
            discontinuity: discontinuity || lacks_reference,
            layers: layers.map(layer).collect(),
        })
    }

    fn pts_us(&self) -> i64 {
        self.layers.values().next().map_or(0, |it| it.unit.pts_us)
    }
}

fn micros(time: Time) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use anabranch_media::piece::References;
    use anabranch_media::{Class, Track};
    use bytes::Bytes;

    use super::*;

    const BUDGET: Duration = Duration::from_millis(200);

    /// A picture that came to the server when it was to be seen, 25 a second.
    fn picture(frame: u32, layer: u8) -> ReceivedUnit {
        let class = match (frame.is_multiple_of(50), layer) {
            (true, 0) => Class::KeyFrame,
            _ => Class::Reference,
        };
        let unit = Unit {
            track: Track(0),
            class,
            layer: Layer(layer),
            frame: frame.into(),
            at: Time::from_millis(u64::from(frame) * 40),
            pts_us: i64::from(frame) * 40_000,
            last_layer: layer == 1,
            discontinuity: false,
            bytes: Bytes::from_static(b"x"),
        };
        ReceivedUnit { session: 1, references: References::default(), unit }
    }

    fn all(playout: &mut Playout, now: Time) -> Vec<AccessUnit> {
        std::iter::from_fn(|| playout.poll(now)).collect()
    }

    #[test]
    fn the_first_picture_is_shown_at_once_and_the_rest_at_the_pace_of_the_media_and_faster() {
        let mut playout = Playout::new(BUDGET);
        // The way takes 30 ms, and the group of pictures is a second old.
        playout.push(Time::from_millis(30), picture(0, 0));
        playout.begin(true);
        let now = Time::from_millis(50 * 40 + 1_030);
        let mut shown = Vec::new();
        for frame in 50..1_050 {
            playout.push(now, picture(frame, 0));
            shown.extend(all(&mut playout, Time::from_millis(u64::MAX / 1_000_000)));
        }
        assert_eq!(shown[0].play_at, now);
        let step = |n: usize| shown[n].play_at - shown[n - 1].play_at;
        assert_eq!(step(1), Duration::from_millis(38));
        // 800 ms too much are caught up in 16 seconds.
        assert_eq!(step(399), Duration::from_millis(38));
        assert_eq!(step(402), Duration::from_millis(40));
        let end = shown[999].play_at - Time::from_millis(1_049 * 40 + 30);
        assert_eq!(end, BUDGET);
    }

    /// The time that pictures had to spare, the least and the most of an hour, for eight hours in
    /// which our clock and the source's run faster than the server's by so many millionths.
    fn spare_by_hour(ours_ppm: f64, source_ppm: f64) -> Vec<(Duration, Duration)> {
        let at = |seconds: f64, ppm: f64| Time::from_nanos((seconds * (1e9 + ppm * 1e3)) as u64);
        let mut playout = Playout::new(BUDGET);
        playout.begin(true);
        let mut came = Time::ZERO;
        let mut hours = vec![(Duration::MAX, Duration::ZERO); 8];
        for second in 0..8 * 3_600_u32 {
            let server = 100.0 + f64::from(second);
            // The way takes 30 to 45 ms.
            let jitter = 0.001 * f64::from(second * 7 % 16);
            let mut unit = picture(second, 0);
            unit.unit.class = Class::KeyFrame;
            unit.unit.at = at(server, 0.0);
            unit.unit.pts_us = at(server, source_ppm).as_micros() as i64;
            let now = at(server + 0.03 + jitter, ours_ppm);
            for shown in all(&mut playout, now) {
                // Until then it had caught up what the first picture lacked.
                if shown.frame >= 60 {
                    let spare = shown.play_at.saturating_since(came);
                    let (least, most) = &mut hours[shown.frame as usize / 3_600];
                    (*least, *most) = ((*least).min(spare), (*most).max(spare));
                }
            }
            playout.push(now, unit);
            came = now;
        }
        assert_eq!(playout.counts().missing, 0);
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
        let mut playout = Playout::new(BUDGET);
        playout.begin(true);
        let mut spare = Vec::new();
        let mut came = vec![];
        for frame in 0..3_000_u32 {
            let way = if frame < 500 { 30 } else { 130 };
            let now = Time::from_millis(u64::from(frame) * 40 + way);
            playout.push(now, picture(frame, 0));
            came.push(now);
            for shown in all(&mut playout, now) {
                let came = came[shown.frame as usize];
                spare.push((shown.frame, shown.play_at.saturating_since(came)));
            }
        }
        let last = spare.last().unwrap().1;
        assert!(last.abs_diff(BUDGET) < Duration::from_millis(10), "{last:?}");
        let just_after = spare.iter().find(|(frame, _)| *frame == 501).unwrap().1;
        assert!(just_after.abs_diff(BUDGET / 2) < Duration::from_millis(10), "{just_after:?}");
    }

    #[test]
    fn pictures_come_in_order_and_a_gap_is_told() {
        let mut playout = Playout::new(BUDGET);
        playout.begin(true);
        for frame in [0, 2, 1, 5, 4] {
            playout.push(Time::from_millis(10), picture(frame, 0));
        }
        let units = all(&mut playout, Time::from_millis(2_000));
        let told: Vec<_> = units.iter().map(|unit| (unit.frame, unit.discontinuity)).collect();
        assert_eq!(told, [(0, false), (1, false), (2, false), (4, true), (5, false)]);
        assert_eq!(playout.counts(), PlayoutCounts { pictures: 5, missing: 1 });
        playout.push(Time::from_millis(2_000), picture(3, 0));
        assert!(all(&mut playout, Time::from_millis(3_000)).is_empty(), "too late");
    }

    #[test]
    fn a_picture_that_no_other_needs_is_missed_by_itself() {
        let mut playout = Playout::new(BUDGET);
        playout.begin(true);
        // Every other picture is disposable; 3 and then 6 do not come.
        for frame in [0, 1, 2, 4, 5, 7] {
            let mut unit = picture(frame, 0);
            if frame % 2 == 1 {
                unit.unit.class = Class::Disposable;
            }
            unit.references = References(1 + u64::from(frame).div_ceil(2));
            playout.push(Time::from_millis(10), unit);
        }
        let units = all(&mut playout, Time::from_millis(2_000));
        let broken = units.iter().filter(|unit| unit.discontinuity).map(|unit| unit.frame);
        assert_eq!(broken.collect::<Vec<_>>(), [7]);
        assert_eq!(playout.counts(), PlayoutCounts { pictures: 6, missing: 2 });
    }

    #[test]
    fn layers_are_joined_and_none_is_shown_without_its_base() {
        let mut playout = Playout::new(BUDGET);
        playout.begin(true);
        for (frame, layer) in [(0, 0), (1, 1), (1, 0), (2, 1)] {
            playout.push(Time::from_millis(10), picture(frame, layer));
        }
        let layers: Vec<_> = all(&mut playout, Time::from_millis(2_000))
            .iter()
            .map(|unit| (unit.frame, unit.layers.len()))
            .collect();
        assert_eq!(layers, [(0, 1), (1, 2)]);
    }

    #[test]
    fn nothing_is_shown_before_a_key_frame_and_memory_is_bounded() {
        let mut playout = Playout::new(BUDGET);
        playout.begin(true);
        for frame in 1..10_000_u32 {
            let mut unit = picture(frame, 0);
            unit.unit.class = Class::Reference;
            playout.push(Time::from_millis(10), unit);
            assert!(playout.waiting.len() <= WAITING_MAX);
        }
        assert!(all(&mut playout, Time::from_millis(1_000_000)).is_empty());
        assert_eq!(playout.poll_timeout(), None);
        playout.push(Time::from_millis(20), picture(10_000, 0));
        let first = all(&mut playout, Time::from_millis(20));
        assert_eq!(first.iter().map(|unit| unit.frame).collect::<Vec<_>>(), [10_000]);
    }
}
