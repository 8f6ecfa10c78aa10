//! [`Voice`]: frames of voice in as they come, and out one each 20 ms, or what stands for them.
//!
//! Each frame is due when it was captured, carried over to the local clock, plus the delay in
//! force, which follows a target:
//!
//! - The target is what the latest of the last arrivals needed, and a little; where voice comes
//!   over two paths, at least what the slower one takes longer, so that the loss of the faster
//!   costs nothing.
//! - The delay grows to the target at once: a gap is stretched once, instead of one frame after
//!   the other being late. It falls by [`FALL`] of the time that passes, which nobody hears.
//! - A frame that is not there at its time is concealed, up to [`CONCEALED_MAX`] in a row; then
//!   there is silence until one comes. What comes after its time is dropped.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::playout::LATE_TOLERANCE;
use anabranch_sansio::Time;
use bytes::Bytes;

use super::spread::Spread;
use crate::config::FRAME;
use crate::heard::VoiceCounts;
use crate::{Playback, Played};

/// The least and the most that voice waits beside the way.
const DELAY_MIN: Duration = Duration::from_millis(20);
const DELAY_MAX: Duration = Duration::from_millis(240);

/// Before anything is known of the arrivals.
const DELAY_FIRST: Duration = Duration::from_millis(60);

/// Beside what the arrivals needed.
const MARGIN: Duration = Duration::from_millis(10);

/// By how much of the time that passes the delay falls.
const FALL: f64 = 0.02;

/// Frames in a row that are concealed: after so long, guessing sounds worse than silence.
const CONCEALED_MAX: u64 = 5;

/// Frames that may wait. More than a few seconds only wait for a clock that was set wrong.
const WAITING_MAX: usize = 512;

/// A frame so far ahead is no loss of that many: its numbers began anew.
const AHEAD_MAX: u64 = 3_000;

/// How the sender's times are carried over to the local clock.
pub(super) type Local<'a> = &'a dyn Fn(Time) -> Time;

#[derive(Debug)]
struct Frame {
    at: Time,
    bytes: Bytes,
}

/// Voice of one sender.
#[derive(Debug)]
pub(super) struct Voice {
    waiting: BTreeMap<u64, Frame>,
    /// The next frame to be heard, and when it was captured as far as its predecessor says.
    next: Option<(u64, Time)>,
    /// Frames in a row that were concealed.
    concealed: u64,
    /// Behind this number the sender fell silent on purpose.
    muted_from: Option<u64>,
    spread: Spread,
    /// What the slower of two paths takes longer.
    way_difference: Duration,
    target: Duration,
    delay: Duration,
    advanced: Time,
    counts: VoiceCounts,
}

impl Voice {
    pub(super) fn new() -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: None,
            concealed: 0,
            muted_from: None,
            spread: Spread::default(),
            way_difference: Duration::ZERO,
            target: DELAY_FIRST,
            delay: DELAY_FIRST,
            advanced: Time::ZERO,
            counts: VoiceCounts::default(),
        }
    }

    pub(super) const fn counts(&self) -> VoiceCounts {
        self.counts
    }

    /// How long voice waits beside the way, and how long it should.
    pub(super) const fn delay(&self) -> (Duration, Duration) {
        (self.delay, self.target)
    }

    pub(super) fn set_way_difference(&mut self, difference: Duration) {
        self.way_difference = difference;
        self.aim();
    }

    /// The sender muted itself after so many frames, until the next one comes.
    pub(super) const fn mute_from(&mut self, number: u64) {
        self.muted_from = Some(number);
    }

    /// The sender's clock or its numbers began anew.
    pub(super) fn restart(&mut self) {
        self.waiting.clear();
        self.next = None;
        self.spread.clear();
    }

    /// A frame came. `local` is when it was captured.
    pub(super) fn push(&mut self, now: Time, number: u64, at: Time, local: Time, bytes: Bytes) {
        let lateness = now - local;
        self.spread.note(now, lateness);
        self.aim();
        self.muted_from = self.muted_from.filter(|from| number < *from);
        let next = self.next.map_or(number, |(next, _)| next);
        if number > next.saturating_add(AHEAD_MAX) {
            self.restart();
        } else if number < next {
            self.on_late(lateness);
            return;
        }
        if self.waiting.len() < WAITING_MAX {
            self.waiting.insert(number, Frame { at, bytes });
        }
    }

    /// What is due next at `now`, if anything is.
    pub(super) fn poll(&mut self, now: Time, local: Local<'_>) -> Option<Playback> {
        self.follow(now);
        let (number, captured) = self.upcoming()?;
        let due = local(captured) + self.delay;
        if due > now {
            return None;
        }
        let found = self.waiting.remove(&number);
        if found.is_none() && (self.is_silent(number) || now < due + LATE_TOLERANCE) {
            return None;
        }
        self.count_skipped(number);
        self.next = Some((number.saturating_add(1), captured + FRAME));
        let what = match found {
            Some(frame) => {
                self.counts.heard += 1;
                self.concealed = 0;
                Played::Voice(frame.bytes)
            }
            None => {
                self.counts.concealed += 1;
                self.concealed += 1;
                Played::Concealed
            }
        };
        Some(Playback { play_at: due, captured_us: captured.as_micros(), frame: number, what })
    }

    /// When the next one is.
    pub(super) fn due(&self, local: Local<'_>) -> Option<Time> {
        let (number, captured) = self.upcoming()?;
        if self.waiting.contains_key(&number) {
            return Some(local(captured) + self.delay);
        }
        let is_over = self.is_silent(number);
        (!is_over).then(|| local(captured) + self.delay + LATE_TOLERANCE)
    }

    /// The frame that is to be heard next, and when it was captured.
    fn upcoming(&self) -> Option<(u64, Time)> {
        let first = self.waiting.first_key_value().map(|(number, frame)| (*number, frame.at));
        let Some((next, captured)) = self.next else { return first };
        match first {
            Some((number, at)) if number == next => Some((next, at)),
            // After a silence the next frame is the one that is there.
            Some((number, at)) if self.is_silent(next) => Some((number, at)),
            Some(_) | None => Some((next, captured)),
        }
    }

    /// Whether nothing stands for a frame that is not there.
    fn is_silent(&self, number: u64) -> bool {
        let is_muted = self.muted_from.is_some_and(|from| number >= from);
        is_muted || self.concealed >= CONCEALED_MAX
    }

    /// After a silence that the sender did not mean, what was not heard counts all the same.
    fn count_skipped(&mut self, number: u64) {
        let Some((next, _)) = self.next.filter(|_| self.muted_from.is_none()) else { return };
        self.counts.concealed += number.saturating_sub(next);
    }

    fn on_late(&mut self, lateness: Duration) {
        self.counts.late += 1;
        // Sooner than the spread would say so: what was lost once is lost again.
        let needed = (lateness + MARGIN).clamp(DELAY_MIN, DELAY_MAX);
        self.target = self.target.max(needed);
    }

    fn aim(&mut self) {
        let needed = (self.spread.needed() + MARGIN).max(self.way_difference);
        self.target = needed.clamp(DELAY_MIN, DELAY_MAX);
    }

    /// Lets the delay follow its target up to `now`.
    fn follow(&mut self, now: Time) {
        let elapsed = now - self.advanced;
        self.advanced = now;
        let fall = elapsed.mul_f64(FALL);
        self.delay = self.delay.saturating_sub(fall).max(self.target);
    }
}
