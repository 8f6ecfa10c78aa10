//! [`PresentationClock`]: when a unit is to be seen or heard, and [`PictureTimes`], for pictures
//! that do not say so.
//!
//! A transport stream says when to show what it carries on a clock of its own (PTS), and the
//! playout when the bytes are due on ours. All tracks share one distance between the two: the
//! smallest with which everything of the last [`WINDOW`] was complete by its time. Encoders put
//! more or less time between sending and showing; what of it is not needed here is not waited for.

use std::time::Duration;

use anabranch_sansio::Time;

/// How long the need of a late unit is remembered. Longer than the time between two key frames,
/// which need most.
const WINDOW: Duration = Duration::from_secs(10);

/// What is needed no more is given back so slowly: 2 % of the time that passes.
const GIVEN_BACK_PER_US: f64 = 0.02;

/// A need that differs so much from those before is another clock.
const BREAK_US: i64 = 10_000_000;

/// PTS count 33 bits of 90 kHz.
const PTS_BITS: u32 = 33;

const PTS_MASK: u64 = (1 << PTS_BITS) - 1;

/// Until it is known, a picture lasts a 25th of a second.
const PICTURE_TICKS: u64 = 3_600;

/// ISO/IEC 13818-1 section 2.7.4: the time between two PTS "does not exceed 0.7 seconds"; what
/// differs by more is another clock, and says nothing about how long a picture lasts.
const PTS_GAP_MAX: u64 = 63_000;

/// Times of pictures, of which not all have one of their own.
#[derive(Debug)]
pub(super) struct PictureTimes {
    /// When the last one was to be decoded.
    last: Option<u64>,
    /// Pictures since the last one that had a time.
    without: u64,
    /// How long a picture lasts.
    ticks: u64,
}

impl Default for PictureTimes {
    fn default() -> Self {
        Self { last: None, without: 0, ticks: PICTURE_TICKS }
    }
}

impl PictureTimes {
    /// When the next picture in order of decoding is to be shown: when it says so, else a picture's
    /// length after the one before was to be decoded. None before the first one that says it.
    pub(super) fn place(&mut self, pts: Option<u64>, dts: Option<u64>) -> Option<u64> {
        let Some(decoded) = dts.or(pts) else {
            self.without += 1;
            self.last = Some(self.last?.wrapping_add(self.ticks) & PTS_MASK);
            return self.last;
        };
        if let Some(last) = self.last {
            // The last one may have been placed by a length that was wrong.
            let first = last.wrapping_sub(self.without * self.ticks);
            let step = decoded.wrapping_sub(first) & PTS_MASK;
            if (1..=PTS_GAP_MAX).contains(&step) {
                self.ticks = (step / (self.without + 1)).max(1);
            }
        }
        (self.last, self.without) = (Some(decoded), 0);
        pts.or(dts)
    }
}

/// Carries presentation times over to our clock.
#[derive(Debug, Default)]
pub(super) struct PresentationClock {
    /// The last PTS, extended beyond 33 bits.
    last: Option<i64>,
    distance: Option<Distance>,
}

/// Our clock minus the media's, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Distance {
    in_force: f64,
    /// The largest need of this window and of the one before.
    needs: (i64, i64),
    window_since: Time,
    last: Time,
}

impl PresentationClock {
    /// When a unit is to be shown, in microseconds from the media and on our clock. It was complete
    /// at `due`.
    pub(super) fn place(&mut self, pts: u64, due: Time) -> (i64, Time) {
        let media_us = self.extend(pts) * 100 / 9;
        let need = i64::try_from(due.as_micros()).unwrap_or(i64::MAX).saturating_sub(media_us);
        let mut distance = match self.distance {
            Some(distance) if (need - distance.largest_need()).abs() < BREAK_US => distance,
            _ => Distance::new(need, due),
        };
        distance.follow(need, due);
        self.distance = Some(distance);
        let at_us = media_us.saturating_add(distance.in_force as i64);
        (media_us, Time::from_micros(u64::try_from(at_us).unwrap_or_default()))
    }

    /// The time nearest to the last one that has these 33 bits.
    fn extend(&mut self, pts: u64) -> i64 {
        let span = 1_i64 << PTS_BITS;
        let bits = i64::try_from(pts & (span as u64 - 1)).unwrap_or_default();
        let extended = match self.last {
            None => bits,
            Some(last) => {
                let ahead = (bits - last).rem_euclid(span);
                last + if ahead > span / 2 { ahead - span } else { ahead }
            }
        };
        self.last = Some(extended);
        extended
    }
}

impl Distance {
    const fn new(need: i64, now: Time) -> Self {
        Self { in_force: need as f64, needs: (need, need), window_since: now, last: now }
    }

    fn largest_need(&self) -> i64 {
        self.needs.0.max(self.needs.1)
    }

    fn follow(&mut self, need: i64, now: Time) {
        if now - self.window_since >= WINDOW {
            self.needs = (need, self.needs.0);
            self.window_since = now;
        }
        self.needs.0 = self.needs.0.max(need);
        let elapsed_us = (now - self.last).as_micros() as f64;
        self.last = self.last.max(now);
        let given_back = self.in_force - GIVEN_BACK_PER_US * elapsed_us;
        self.in_force = given_back.max(self.largest_need() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 90 kHz ticks of a picture at 25 pictures a second.
    const TICKS: u64 = 3_600;

    fn at(clock: &mut PresentationClock, frame: u64, due_ms: u64) -> u64 {
        clock.place(frame * TICKS, Time::from_millis(due_ms)).1.as_millis()
    }

    #[test]
    fn a_picture_without_a_time_follows_the_one_before() {
        let mut times = PictureTimes::default();
        assert_eq!(times.place(None, None), None, "nothing is known yet");
        assert_eq!(times.place(Some(90_000), None), Some(90_000));
        assert_eq!(times.place(None, None), Some(93_600));
        // 50 a second, of which every other one says when.
        let mut placed = |nth: u64| {
            let pts = nth.is_multiple_of(2).then_some(200_000 + nth * 1_800);
            times.place(pts, None).map(|ticks| ticks - 200_000)
        };
        let shown: Vec<_> = (0..8).map(&mut placed).collect();
        let expected = [0, 3_600, 3_600, 5_400, 7_200, 9_000, 10_800, 12_600];
        assert_eq!(shown, expected.map(Some));
    }

    #[test]
    fn a_picture_without_a_time_is_placed_where_the_one_before_was_decoded() {
        let mut times = PictureTimes::default();
        assert_eq!(times.place(Some(10_000), Some(2_800)), Some(10_000));
        assert_eq!(times.place(Some(20_800), Some(6_400)), Some(20_800));
        assert_eq!(times.place(None, None), Some(10_000));
        assert_eq!(times.place(Some(17_200), Some(13_600)), Some(17_200));
        let end = PictureTimes { last: Some(PTS_MASK), ..times }.place(None, None);
        assert_eq!(end, Some(3_599), "33 bits go round");
    }

    #[test]
    fn units_are_shown_as_evenly_as_they_were_taken() {
        let mut clock = PresentationClock::default();
        assert_eq!(at(&mut clock, 0, 5_000), 5_000);
        assert_eq!(at(&mut clock, 1, 5_030), 5_040);
        assert_eq!(at(&mut clock, 3, 5_070), 5_120, "a picture that others are predicted from");
        assert_eq!(at(&mut clock, 2, 5_110), 5_110, "30 ms more are needed, from now on");
        assert_eq!(at(&mut clock, 4, 5_150), 5_190);
    }

    #[test]
    fn what_is_needed_no_more_is_given_back_bit_by_bit() {
        let mut clock = PresentationClock::default();
        assert_eq!(at(&mut clock, 0, 5_300), 5_300);
        let shown: Vec<_> = (1..1_200).map(|n| at(&mut clock, n, 5_000 + 40 * n)).collect();
        assert_eq!((shown[0], shown[1_198]), (5_340, 5_000 + 40 * 1_199));
        assert!(shown.windows(2).all(|pair| (39..=40).contains(&(pair[1] - pair[0]))));
    }

    #[test]
    fn the_33_bits_go_round_and_another_clock_starts_anew() {
        let mut clock = PresentationClock::default();
        let end = (1 << PTS_BITS) - TICKS;
        assert_eq!(clock.place(end, Time::from_millis(1_000)).1.as_millis(), 1_000);
        assert_eq!(clock.place(0, Time::from_millis(1_040)).1.as_millis(), 1_040);
        assert_eq!(clock.place(1 << 32, Time::from_millis(1_080)).1.as_millis(), 1_080);
    }
}
