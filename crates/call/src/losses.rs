//! [`Losses`]: whether a path loses so much that voice is worth sending again before it is missed.

use std::collections::VecDeque;

use anabranch_transport::{PathReport, PathState};

/// Seconds that are looked back at.
const SECONDS: usize = 4;

/// The share of chunks that were lost from which on frames are sent again, and up to which losses
/// are those of a link: a path that stood still, or whose rate fell, loses more for a moment.
const SHARE: std::ops::RangeInclusive<f64> = 0.01..=0.2;

/// What was sent and lost in the last seconds.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// Chunks sent and lost up to the end of each second, oldest first.
    totals: VecDeque<(u64, u64)>,
}

impl Losses {
    /// A second is over. Whether each frame of voice is to go out once more with the one after it:
    /// a single path carries it and loses some.
    ///
    /// A frame that is lost, found lost and sent again takes two round trips and a half, and one of
    /// twenty is lost once more where one of twenty is. Over two paths voice goes twice anyway.
    pub(crate) fn call_for_repeats(&mut self, paths: &[PathReport]) -> bool {
        let carries = |path: &&PathReport| path.state != PathState::Inactive && !path.is_spared;
        let sent = paths.iter().map(|path| path.chunks_sent).sum();
        let lost = paths.iter().map(|path| path.chunks_lost).sum();
        if self.totals.len() > SECONDS {
            self.totals.pop_front();
        }
        self.totals.push_back((sent, lost));
        let (before_sent, before_lost) = self.totals.front().copied().unwrap_or_default();
        let sent = u64::saturating_sub(sent, before_sent).max(1);
        let lost = u64::saturating_sub(lost, before_lost);
        paths.iter().filter(carries).count() == 1 && SHARE.contains(&(lost as f64 / sent as f64))
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::{FourTuple, PathId};

    use super::*;

    fn path(id: u32, sent: u64, lost: u64) -> PathReport {
        let address = "192.0.2.1:9000".parse().expect("an address");
        let report = PathReport::new(PathId(id), FourTuple { local: address, remote: address });
        PathReport { chunks_sent: sent, chunks_lost: lost, state: PathState::Active, ..report }
    }

    /// Seconds of 100 chunks each, of which so many are lost.
    fn after(lost_in_seconds: &[u64]) -> bool {
        let (mut losses, mut lost, mut calls) = (Losses::default(), 0, false);
        for (second, lost_now) in (1..).zip(lost_in_seconds) {
            lost += lost_now;
            calls = losses.call_for_repeats(&[path(0, 100 * second, lost)]);
        }
        calls
    }

    #[test]
    fn a_single_path_that_loses_some_calls_for_repeats_until_it_lost_none_for_long() {
        assert!(!after(&[0, 0, 0, 0]));
        assert!(after(&[0, 0, 5, 5]));
        assert!(after(&[0, 5, 5, 0, 0, 0]));
        assert!(!after(&[0, 5, 5, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn a_path_that_stood_still_does_not() {
        assert!(!after(&[0, 0, 0, 90]));
    }

    #[test]
    fn where_two_paths_carry_data_voice_goes_twice_anyway() {
        let mut losses = Losses::default();
        let _begin = losses.call_for_repeats(&[path(0, 0, 0), path(1, 0, 0)]);
        assert!(!losses.call_for_repeats(&[path(0, 100, 5), path(1, 100, 5)]));
        let spared = PathReport { is_spared: true, ..path(1, 100, 5) };
        assert!(losses.call_for_repeats(&[path(0, 200, 10), spared]));
    }
}
