//! [`Parts`]: what a channel keeps of the last seconds, and [`Rate`], which measures it.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_media::{Class, Layer};
use anabranch_sansio::Time;
use bytes::Bytes;

/// A group of pictures is kept so long after the next one began, for viewers who are behind.
const HISTORY: Duration = Duration::from_secs(2);

/// Kept at most: ten seconds of 12 Mbit/s. Of a longer group of pictures the oldest go, and a new
/// viewer waits for the next key frame.
const BYTES_MAX: usize = 16 << 20;

/// Time over which the rate is averaged.
const RATE_WINDOW: Duration = Duration::from_secs(4);

/// A layer of a picture, or a frame of sound, ready to be sent.
#[derive(Debug, Clone)]
pub struct Part {
    /// When it came.
    pub at: Time,
    /// What it is worth.
    pub class: Class,
    /// Of the picture.
    pub layer: Layer,
    /// Number of the picture, or of the frame of sound.
    pub frame: u64,
    /// A viewer can begin here.
    pub(super) is_entry: bool,
    /// Of all messages.
    pub(crate) bytes: usize,
    /// What to send.
    pub messages: Vec<Bytes>,
}

#[cfg(test)]
impl Part {
    pub(crate) fn for_tests(class: Class, layer: Layer, frame: u64) -> Self {
        let messages = vec![Bytes::from_static(b"media")];
        let is_entry = class == Class::KeyFrame;
        Self { at: Time::ZERO, class, layer, frame, is_entry, bytes: 5, messages }
    }
}

/// The last group of pictures, and the last seconds, by number.
#[derive(Debug, Default)]
pub(super) struct Parts {
    parts: VecDeque<Part>,
    /// The number of the first one.
    start: u64,
    /// The numbers of those that are entries, and when they came.
    entries: VecDeque<(u64, Time)>,
    bytes: usize,
}

impl Parts {
    pub(super) fn push(&mut self, part: Part) {
        let now = part.at;
        if part.is_entry {
            self.entries.push_back((self.end(), now));
        }
        self.bytes += part.bytes;
        self.parts.push_back(part);
        self.trim(now);
    }

    /// Numbers go on: who had reached one finds nothing behind it that was before.
    pub(super) fn clear(&mut self) {
        self.start = self.end();
        self.parts.clear();
        self.entries.clear();
        self.bytes = 0;
    }

    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.parts.len() as u64
    }

    pub(super) fn entry_point(&self) -> u64 {
        self.entries.back().map_or(self.end(), |(number, _)| *number)
    }

    pub(super) fn get(&self, number: u64) -> Option<&Part> {
        self.parts.get(usize::try_from(number.checked_sub(self.start)?).ok()?)
    }

    fn trim(&mut self, now: Time) {
        let is_past = |(_, at): &&(u64, Time)| now.saturating_since(*at) > HISTORY;
        let keep = self.entries.iter().rev().find(is_past).or(self.entries.front());
        let keep = keep.map_or(0, |(number, _)| *number);
        while self.start < keep || self.bytes > BYTES_MAX {
            let Some(first) = self.parts.pop_front() else { break };
            self.bytes -= first.bytes;
            self.start += 1;
        }
        while self.entries.front().is_some_and(|(number, _)| *number < self.start) {
            self.entries.pop_front();
        }
    }
}

/// The average rate of the last seconds.
#[derive(Debug, Default)]
pub(super) struct Rate {
    window: Option<(Time, u64)>,
    bits_per_second: Option<u64>,
}

impl Rate {
    pub(super) fn count(&mut self, at: Time, bytes: usize) {
        let (since, before) = self.window.unwrap_or((at, 0));
        let counted = before + bytes as u64;
        let span = at.saturating_since(since);
        let is_full = span >= RATE_WINDOW;
        self.window = Some(if is_full { (at, 0) } else { (since, counted) });
        // Better than nothing until a window is full.
        let is_first = self.bits_per_second.is_none() && span >= RATE_WINDOW / 4;
        if is_full || is_first {
            self.bits_per_second = Some(rate(counted, span));
        }
    }

    pub(super) fn bits_per_second(&self) -> u64 {
        self.bits_per_second.unwrap_or_default()
    }
}

fn rate(bytes: u64, span: Duration) -> u64 {
    let span_us = u64::try_from(span.as_micros()).unwrap_or(u64::MAX).max(1);
    bytes.saturating_mul(8_000_000) / span_us
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(at_ms: u64, is_entry: bool) -> Part {
        let at = Time::from_millis(at_ms);
        let class = if is_entry { Class::KeyFrame } else { Class::Reference };
        Part { at, bytes: 1_000, ..Part::for_tests(class, Layer::BASE, 0) }
    }

    #[test]
    fn the_last_group_of_pictures_is_kept_however_long_it_is() {
        let mut parts = Parts::default();
        for n in 0..1_000 {
            parts.push(part(40 * n, n == 100));
        }
        assert_eq!((parts.start(), parts.entry_point(), parts.end()), (100, 100, 1_000));
    }

    #[test]
    fn a_group_outlives_the_beginning_of_the_next_for_viewers_who_are_in_it() {
        let stays = HISTORY.as_millis() as u64 / 40;
        let mut parts = Parts::default();
        for n in 0..=200 + stays {
            parts.push(part(40 * n, n % 100 == 0));
            let start = if n <= 100 + stays { 0 } else { 100 };
            assert_eq!((parts.start(), parts.entry_point()), (start, n / 100 * 100), "{n}");
        }
        assert!(parts.get(parts.start()).is_some() && parts.get(parts.end()).is_none());
    }

    #[test]
    fn memory_is_bounded_and_a_viewer_then_waits_for_the_next_key_frame() {
        let mut parts = Parts::default();
        for n in 0..2 * BYTES_MAX as u64 / 1_000 {
            parts.push(part(n, n == 0));
        }
        assert!(parts.bytes <= BYTES_MAX);
        assert_eq!(parts.entry_point(), parts.end());
        parts.push(part(1_000_000, true));
        assert_eq!(parts.entry_point() + 1, parts.end());
    }

    #[test]
    fn numbers_go_on_when_the_source_begins_anew() {
        let mut parts = Parts::default();
        parts.push(part(0, true));
        parts.clear();
        assert_eq!((parts.start(), parts.end(), parts.entry_point()), (1, 1, 1));
        assert!(parts.get(0).is_none());
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut rate = Rate::default();
        for n in 0..=400 {
            rate.count(Time::from_millis(10 * n), 1_250);
        }
        assert!(rate.bits_per_second().abs_diff(1_000_000) < 10_000, "{}", rate.bits_per_second());
        for n in 401..=2_000 {
            rate.count(Time::from_millis(10 * n), 2_500);
        }
        assert!(rate.bits_per_second().abs_diff(2_000_000) < 20_000, "{}", rate.bits_per_second());
    }
}
