//! [`Looped`]: a clip without an end.

use super::{Clip, ClipUnit};
use crate::Track;

/// The units of a clip for ever. Frame numbers and presentation times go on growing, so that a
/// receiver cannot tell the seam from any other key frame.
#[derive(Debug, Clone)]
pub struct Looped<'a> {
    clip: &'a Clip,
    next: usize,
    round: u64,
}

impl<'a> Looped<'a> {
    pub(super) const fn new(clip: &'a Clip) -> Self {
        Self { clip, next: 0, round: 0 }
    }

    /// How often the clip has ended so far.
    #[must_use]
    pub const fn round(&self) -> u64 {
        self.round
    }

    fn frames_before(&self, track: Track) -> u64 {
        self.round.saturating_mul(self.clip.frames(track))
    }
}

impl Iterator for Looped<'_> {
    type Item = ClipUnit;

    fn next(&mut self) -> Option<ClipUnit> {
        if self.next == self.clip.units.len() {
            self.next = 0;
            self.round = self.round.saturating_add(1);
        }
        // A clip has at least one unit: this is never the end.
        let mut unit = self.clip.units.get(self.next)?.clone();
        self.next += 1;
        let time_before_us = self.round.saturating_mul(self.clip.header.loop_duration_us);
        unit.frame = unit.frame.saturating_add(self.frames_before(unit.track));
        unit.pts_us = unit.pts_us.saturating_add(time_before_us);
        Some(unit)
    }
}
