//! [`Timeline`]: presentation times that go on where those of the media begin anew.

use std::time::Duration;

use anabranch_media::decoding::MediaTrack;
use anabranch_sansio::Time;

/// Media whose times run away from its arrival by more has another clock.
const JUMP_US: u64 = 3_000_000;

/// Packets and pictures of a file may differ in length by as much.
const LENGTH_TOLERANCE_US: u64 = 1_000_000;

/// Carries the media's times over to one line that never jumps, with both tracks in step.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// What was last added to a track's times.
    newest_us: i64,
    tracks: [TrackLine; 2],
    /// Times of the round before by track, and how long it took: the next one begins behind it.
    seam: Option<([Option<i64>; 2], i64)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct TrackLine {
    offset_us: i64,
    last: Option<Last>,
    round: Option<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    media_us: i64,
    line_us: i64,
    at: Time,
}

/// What arrived of a track since the round began, on the line.
#[derive(Debug, Clone, Copy)]
struct Span {
    first_us: i64,
    least_us: i64,
    most_us: i64,
    units: i64,
}

impl Timeline {
    /// Where a unit that came at `at` belongs.
    pub(super) fn place(&mut self, track: MediaTrack, media_us: i64, at: Time) -> i64 {
        let nth = track as usize;
        let before = self.tracks[nth];
        if let Some((firsts, length_us)) = self.seam.take() {
            let first_us = firsts[nth].or_else(|| firsts.into_iter().flatten().min());
            let begin_us = first_us.unwrap_or_default().saturating_add(length_us);
            self.newest_us = begin_us.saturating_sub(media_us);
        }
        let offset_us = match before.last {
            None => self.newest_us,
            Some(last) => self.offset_after(before.offset_us, last, media_us, at),
        };
        self.newest_us = offset_us;
        let line_us = media_us.saturating_add(offset_us);
        let round = before.round.map_or_else(|| Span::new(line_us), |round| round.with(line_us));
        let last = Some(Last { media_us, line_us, at });
        self.tracks[nth] = TrackLine { offset_us, last, round: Some(round) };
        line_us
    }

    /// The media ends, whose packets took `length`; what comes next begins right behind it. Answers
    /// with how long it was: what its pictures take, unless that is something else altogether.
    pub(super) fn end_round(&mut self, length: Duration) -> Duration {
        let length_us = micros(length);
        let [video, audio] = self.tracks.map(|track| track.round);
        let shown_us = video.or(audio).map_or(length_us, Span::length_us);
        let is_sound = shown_us.abs_diff(length_us) < LENGTH_TOLERANCE_US;
        let length_us = if is_sound { shown_us } else { length_us };
        self.seam = Some(([video, audio].map(|span| Some(span?.first_us)), length_us));
        for track in &mut self.tracks {
            (track.last, track.round) = (None, None);
        }
        Duration::from_micros(length_us.unsigned_abs())
    }

    fn offset_after(&self, offset_us: i64, last: Last, media_us: i64, at: Time) -> i64 {
        let expected_us = last.line_us.saturating_add(micros(at.saturating_since(last.at)));
        let strays = |line_us: i64| line_us.abs_diff(expected_us) > JUMP_US;
        if !strays(last.line_us.saturating_add(media_us.saturating_sub(last.media_us))) {
            return offset_us;
        }
        // The other track may have shown the new clock first.
        if !strays(media_us.saturating_add(self.newest_us)) {
            return self.newest_us;
        }
        expected_us.saturating_sub(media_us)
    }
}

impl Span {
    const fn new(line_us: i64) -> Self {
        Self { first_us: line_us, least_us: line_us, most_us: line_us, units: 1 }
    }

    fn with(self, line_us: i64) -> Self {
        Self {
            first_us: self.first_us,
            least_us: self.least_us.min(line_us),
            most_us: self.most_us.max(line_us),
            units: self.units + 1,
        }
    }

    /// The last unit lasts as long as the others do on average.
    fn length_us(self) -> i64 {
        let between = self.most_us.saturating_sub(self.least_us);
        between.saturating_add(between / (self.units - 1).max(1))
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_US: i64 = 40_000;

    fn at(us: i64) -> Time {
        Time::from_micros(us.unsigned_abs())
    }

    #[test]
    fn rounds_follow_each_other_without_a_gap_and_in_step() {
        let mut line = Timeline::default();
        let mut now = 0;
        for round in 0..3 {
            for frame in 0..50 {
                let media_us = 480_000 + frame * FRAME_US;
                let expected = media_us + round * 50 * FRAME_US;
                // Sound comes first in each round, and is 20 ms ahead.
                let sound = line.place(MediaTrack::Audio, media_us - 20_000, at(now));
                assert_eq!(sound, expected - 20_000);
                assert_eq!(line.place(MediaTrack::Video, media_us, at(now)), expected);
                now += FRAME_US;
            }
            assert_eq!(line.end_round(Duration::from_millis(1_970)), Duration::from_secs(2));
        }
    }

    #[test]
    fn a_clock_that_jumps_goes_on_in_both_tracks_whichever_shows_it_first() {
        let mut line = Timeline::default();
        let mut now = 0;
        let mut place = |track, media_us| {
            now += 10_000;
            line.place(track, media_us, at(now))
        };
        assert_eq!(place(MediaTrack::Video, 90_000_000), 90_000_000);
        assert_eq!(place(MediaTrack::Audio, 90_005_000), 90_005_000);
        let jumped = place(MediaTrack::Video, 1_000_000);
        assert_eq!(jumped, 90_020_000, "as much later as it came later");
        assert_eq!(place(MediaTrack::Audio, 90_025_000), 90_025_000, "still the old clock");
        assert_eq!(place(MediaTrack::Video, 1_040_000), 90_060_000);
        assert_eq!(place(MediaTrack::Audio, 1_005_000), 90_025_000, "the same new clock");
    }

    #[test]
    fn times_that_no_clock_shows_do_no_harm() {
        let wild = [0, i64::MAX, i64::MIN, 1, i64::MIN + 1, i64::MAX - 1];
        for first in wild {
            for second in wild {
                let mut line = Timeline::default();
                for (nth, media_us) in [first, second, 40_000].into_iter().enumerate() {
                    line.place(MediaTrack::Video, media_us, at(nth as i64));
                    line.place(MediaTrack::Audio, second, at(nth as i64));
                }
                line.end_round(Duration::MAX);
                line.place(MediaTrack::Video, first, at(9));
            }
        }
    }

    #[test]
    fn a_pause_of_media_and_arrival_alike_is_no_jump() {
        let mut line = Timeline::default();
        assert_eq!(line.place(MediaTrack::Video, 0, at(0)), 0);
        assert_eq!(line.place(MediaTrack::Video, 60_000_000, at(60_000_000)), 60_000_000);
    }
}
