//! [`Heard`]: what became of the voice that comes, and when it came.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;

use crate::config::FRAME;

/// What became of the frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VoiceCounts {
    /// Frames that were heard.
    pub heard: u64,
    /// Frames that were not there at their time.
    pub concealed: u64,
    /// Frames that came after their time.
    pub late: u64,
}

/// What was heard meanwhile: what a change of paths cost.
pub trait Heard {
    /// What became of the others' voice.
    fn voice_counts(&self) -> VoiceCounts;

    /// The longest time without voice that ended after `since`, beyond what a frame lasts; `None`
    /// if hardly any came.
    fn longest_gap_since(&self, since: Time) -> Option<Duration>;
}

/// The longest time between two of these arrivals of voice that ended after `since`, beyond what a
/// frame lasts; `None` if hardly any came.
#[must_use]
pub fn longest_gap(arrivals: &VecDeque<Time>, since: Time) -> Option<Duration> {
    let later = arrivals.iter().zip(arrivals.iter().skip(1));
    let gaps = later.filter(|(_, end)| **end > since).map(|(start, end)| *end - *start);
    gaps.max().map(|gap| gap.saturating_sub(FRAME))
}
