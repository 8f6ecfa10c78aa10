//! [`Resequencer`]: what another server sent, in order and as evenly as it had it.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::decoding::MediaTrack;
use anabranch_media::{Layer, Unit};
use anabranch_sansio::Time;
use anabranch_television::{PictureOrder, ReceivedUnit};

/// How long the shortest way is remembered: clocks drift, and ways change.
const WINDOW: Duration = Duration::from_secs(10);

/// Layers of pictures and frames of sound that wait for their time; beyond it the oldest go on at
/// once. At ten seconds of latency, 60 pictures in two layers and 100 frames of sound a second.
const WAITING_MAX: usize = 4_096;

/// Holds each unit for as long after the other server had it as the latency says: what was lost on
/// the way is there again by then, and viewers here see no more of it.
#[derive(Debug)]
pub(super) struct Resequencer {
    latency: Duration,
    shortest: Shortest,
    /// By picture or sound, in order of decoding.
    waiting: [BTreeMap<(u64, Layer), ReceivedUnit>; 2],
    /// What went on last of each.
    last: [Option<(u64, Layer)>; 2],
    last_picture: Option<PictureOrder>,
    last_at: Time,
}

/// The shortest way lately: our clock minus the other one's, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Shortest {
    /// Of this window and of the one before.
    least: (i64, i64),
    since: Time,
}

impl Resequencer {
    /// The other server's clock showed `theirs` when it said so, which came now.
    pub(super) fn new(now: Time, theirs: Time, latency: Duration) -> Self {
        let way = micros(now) - micros(theirs);
        Self {
            latency,
            shortest: Shortest { least: (way, way), since: now },
            waiting: [BTreeMap::new(), BTreeMap::new()],
            last: [None; 2],
            last_picture: None,
            last_at: Time::ZERO,
        }
    }

    /// Another epoch: numbers begin anew, and what waits is void.
    pub(super) fn begin(&mut self) {
        self.waiting.iter_mut().for_each(BTreeMap::clear);
        self.last = [None; 2];
        self.last_picture = None;
    }

    /// A unit came; dropped if those behind it went on already.
    pub(super) fn push(&mut self, now: Time, received: ReceivedUnit) {
        let unit = &received.unit;
        self.shortest.observe(now, micros(now) - micros(unit.at));
        let (track, place) = (received.kind() as usize, (unit.frame, unit.layer));
        if self.last[track].is_none_or(|last| place > last) {
            self.waiting[track].insert(place, received);
        }
    }

    /// The next unit whose time has come.
    pub(super) fn poll(&mut self, now: Time) -> Option<Unit> {
        let (track, due) = self.next()?;
        let is_full = self.waiting.iter().map(BTreeMap::len).sum::<usize>() > WAITING_MAX;
        if due > now && !is_full {
            return None;
        }
        let (place, unit) = self.waiting[track].pop_first()?;
        self.last[track] = Some(place);
        // No viewer here is to take the time that passed on the way for a weakness of its network.
        self.last_at = self.last_at.max(due.min(now));
        Some(self.onward(unit))
    }

    /// When [`poll`](Self::poll) has something.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.next().map(|(_, due)| due)
    }

    fn next(&self) -> Option<(usize, Time)> {
        let first = |(track, waiting): (usize, &BTreeMap<_, ReceivedUnit>)| {
            let (_, first) = waiting.first_key_value()?;
            Some((track, self.due(first.unit.at)))
        };
        self.waiting.iter().enumerate().filter_map(first).min_by_key(|(_, due)| *due)
    }

    fn due(&self, at: Time) -> Time {
        let at_us = micros(at).saturating_add(self.shortest.in_force());
        Time::from_micros(u64::try_from(at_us).unwrap_or_default()) + self.latency
    }

    fn onward(&mut self, received: ReceivedUnit) -> Unit {
        let order = received.order();
        let is_picture = received.kind() == MediaTrack::Video;
        let Unit { layer, mut discontinuity, .. } = received.unit;
        if is_picture && layer == Layer::BASE {
            let last = self.last_picture.replace(order);
            discontinuity |= last.is_some_and(|last| !last.is_enough_for(&order));
        }
        Unit { discontinuity, at: self.last_at, ..received.unit }
    }
}

impl Shortest {
    fn observe(&mut self, now: Time, way_us: i64) {
        if now.saturating_since(self.since) >= WINDOW {
            *self = Self { least: (way_us, self.least.0), since: now };
        }
        self.least.0 = self.least.0.min(way_us);
    }

    fn in_force(&self) -> i64 {
        self.least.0.min(self.least.1)
    }
}

fn micros(time: Time) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use anabranch_media::piece::References;
    use anabranch_media::{Class, Track};

    use super::*;

    const LATENCY: Duration = Duration::from_millis(200);

    /// Our clock is a second ahead, and the way takes 20 ms.
    const WAY: Duration = Duration::from_millis(1_020);

    /// A picture that came to the other server when it was to be seen, 25 a second; every other
    /// one is disposable.
    fn picture(frame: u64) -> ReceivedUnit {
        let class = match frame {
            0 => Class::KeyFrame,
            _ if frame.is_multiple_of(2) => Class::Reference,
            _ => Class::Disposable,
        };
        let unit = Unit {
            track: Track(0),
            class,
            layer: Layer::BASE,
            frame,
            at: at(frame),
            pts_us: frame as i64 * 40_000,
            last_layer: true,
            discontinuity: false,
            bytes: vec![frame as u8].into(),
        };
        ReceivedUnit { session: 1, references: References(1 + frame.div_ceil(2)), unit }
    }

    fn at(frame: u64) -> Time {
        Time::from_millis(frame * 40)
    }

    /// The welcome came when picture 0 was a second old.
    fn resequencer() -> (Resequencer, Time) {
        let theirs = at(25);
        (Resequencer::new(theirs + WAY, theirs, LATENCY), theirs + WAY)
    }

    fn all(resequencer: &mut Resequencer, now: Time) -> Vec<(u64, Time, bool)> {
        let units = std::iter::from_fn(|| resequencer.poll(now));
        units.map(|unit| (unit.frame, unit.at, unit.discontinuity)).collect()
    }

    #[test]
    fn what_was_kept_goes_on_at_once_with_its_age_and_the_rest_at_its_pace() {
        let (mut resequencer, now) = resequencer();
        for frame in [1, 0, 2, 24] {
            resequencer.push(now, picture(frame));
        }
        let due = |frame| at(frame) + WAY + LATENCY;
        let whole = [0, 1, 2].map(|frame| (frame, due(frame), false));
        assert_eq!(all(&mut resequencer, now), whole);
        assert_eq!(resequencer.poll_timeout(), Some(due(24)));
        assert_eq!(all(&mut resequencer, due(24) + LATENCY), [(24, due(24), true)]);
    }

    #[test]
    fn what_is_repeated_on_the_way_is_waited_for_and_what_never_comes_is_told_if_it_matters() {
        let (mut resequencer, _) = resequencer();
        for frame in [0, 1, 2, 4, 5, 7] {
            resequencer.push(at(frame) + WAY, picture(frame));
        }
        let late = |frame| at(frame) + WAY + Duration::from_millis(150);
        resequencer.push(late(1), picture(1));
        let units = all(&mut resequencer, at(30) + WAY);
        let told: Vec<_> = units.iter().map(|(frame, _, broken)| (*frame, *broken)).collect();
        let expected = [(0, false), (1, false), (2, false), (4, false), (5, false), (7, true)];
        assert_eq!(told, expected, "3 was disposable, 6 was not");
        assert!(units.windows(2).all(|two| two[1].1 > two[0].1));
        resequencer.push(at(40) + WAY, picture(6));
        assert_eq!(resequencer.poll_timeout(), None, "too late");
    }

    #[test]
    fn memory_is_bounded_and_a_new_epoch_begins_with_nothing() {
        let (mut resequencer, now) = resequencer();
        let ahead = 1_000_000;
        for frame in ahead..ahead + 2 * WAITING_MAX as u64 {
            resequencer.push(now, picture(frame));
            while resequencer.poll(now).is_some() {}
            assert!(resequencer.waiting[0].len() <= WAITING_MAX);
        }
        resequencer.begin();
        assert_eq!(resequencer.poll_timeout(), None);
        resequencer.push(now, picture(0));
        assert_eq!(all(&mut resequencer, now + WAY).len(), 1);
    }
}
