//! [`Source`]: the clip as a camera would give it, in real time.

use std::iter::Peekable;
use std::time::Duration;

use anabranch_media::Unit;
use anabranch_media::clip::{Looped, VIDEO_TRACK};
use anabranch_sansio::Time;

use super::clip::DEMO_CLIP;

/// The clip in a loop, each unit at its time.
#[derive(Debug)]
pub(super) struct Source {
    units: Peekable<Looped<'static>>,
    start: Time,
    end: Option<Time>,
    last_picture: Option<Time>,
}

impl Source {
    /// Begins now, and ends after `length` if there is one.
    pub(super) fn start(now: Time, length: Option<Duration>) -> Self {
        let units = DEMO_CLIP.looped().peekable();
        Self { units, start: now, end: length.map(|length| now + length), last_picture: None }
    }

    /// When the next unit comes; none at the end.
    pub(super) fn next_at(&mut self) -> Option<Time> {
        let pts_us = self.units.peek()?.pts_us;
        let at = self.start + Duration::from_micros(pts_us);
        (self.end.is_none_or(|end| at < end)).then_some(at)
    }

    /// The next unit, if it has come.
    pub(super) fn pop(&mut self, now: Time) -> Option<Unit> {
        let at = self.next_at().filter(|at| *at <= now)?;
        let unit = self.units.next()?.into_unit(at, DEMO_CLIP.header().video.layers);
        if unit.track == VIDEO_TRACK {
            self.last_picture = Some(unit.at);
        }
        Some(unit)
    }

    /// Nothing more comes.
    pub(super) fn stop(&mut self, now: Time) {
        self.end = Some(self.end.map_or(now, |end| end.min(now)));
    }

    /// When it began.
    pub(super) const fn started(&self) -> Time {
        self.start
    }

    /// When the last picture came.
    pub(super) const fn last_picture(&self) -> Option<Time> {
        self.last_picture
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_at_their_time_for_as_long_as_wanted() {
        let start = Time::from_secs(3);
        let mut source = Source::start(start, Some(Duration::from_secs(11)));
        let mut now = start;
        let mut pictures = 0;
        while let Some(at) = source.next_at() {
            assert!(at >= now);
            now = at;
            assert_eq!(source.pop(at.saturating_sub(Duration::from_nanos(1))), None);
            let unit = source.pop(at).unwrap();
            assert_eq!(unit.at, at);
            pictures += u64::from(unit.track == VIDEO_TRACK && unit.layer.0 == 0);
        }
        assert_eq!(pictures, 11 * 25, "two rounds of the clip and a little");
        assert_eq!(source.last_picture(), Some(start + Duration::from_millis(10_960)));
        source.stop(start);
        assert_eq!(source.next_at(), None);
    }
}
