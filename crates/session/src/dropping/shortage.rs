//! [`Shortage`]: for how long a class has lacked room, and what that means for its next picture.

use std::time::Duration;

use anabranch_sansio::Time;

use super::{Prospect, RELIEF};
use crate::treatment::MediaClass;

/// How long room must lack before pictures are left out. Data that goes over to another path, since
/// the one it took died, lacks it for less.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long it must lack for reference pictures: what can be spared goes first.
const PATIENCE_WITH_REFERENCES: Duration = Duration::from_secs(1);

/// The share of its lifetime that a disposable picture may wait while such are left out: a short
/// queue is what keeps references in time.
const THINNED_SHARE: u32 = 5;

/// How long a class has lacked room.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shortage {
    /// Since when, without a unit that found room.
    since: Option<Time>,
    /// Since when, without a unit that found a short queue.
    queued: Option<Time>,
    /// When one last had to be left out, if that is not long ago.
    thinned: Option<Time>,
}

impl Shortage {
    /// Whether a unit goes. A reference picture does unless it would come too late, or hold up the
    /// next key frame; of what can be spared a third of its time is for repetitions.
    pub(super) fn admits(
        &mut self,
        now: Time,
        class: MediaClass,
        prospect: Prospect,
        next_key: Option<Duration>,
    ) -> bool {
        let Prospect { wait, lifetime } = prospect;
        let (most, patience) = if class == MediaClass::Reference {
            if self.holds_up_key_frame(now, prospect, next_key) {
                return false;
            }
            (lifetime, PATIENCE_WITH_REFERENCES)
        } else {
            (lifetime * 2 / 3, PATIENCE)
        };
        self.thinned = self.thinned.filter(|last| now - *last < RELIEF);
        let most = match self.thinned {
            Some(_) if class == MediaClass::Disposable => lifetime / THINNED_SHARE,
            Some(_) | None => most,
        };
        if wait <= most {
            self.since = None;
            return true;
        }
        let since = *self.since.get_or_insert(now);
        if self.thinned.is_none() && now - since < patience {
            return true;
        }
        self.thinned = Some(now);
        false
    }

    /// Whether the next key frame is near, what waits would still be waiting then, and has been for
    /// long. Left out a moment before it, references cost that moment; left waiting, they make
    /// those late that follow it, and of these the first one costs all to the next key frame.
    fn holds_up_key_frame(
        &mut self,
        now: Time,
        prospect: Prospect,
        next_key: Option<Duration>,
    ) -> bool {
        let Prospect { wait, lifetime } = prospect;
        if wait <= lifetime / THINNED_SHARE {
            self.queued = None;
            return false;
        }
        let since = *self.queued.get_or_insert(now);
        now - since >= PATIENCE && next_key.is_some_and(|left| left < wait.min(lifetime))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_millis(100);

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn admits(shortage: &mut Shortage, at: u64, class: MediaClass, wait_ms: u64) -> bool {
        let wait = Duration::from_millis(wait_ms);
        let prospect = Prospect { wait, lifetime: LIFETIME };
        shortage.admits(ms(at), class, prospect, None)
    }

    #[test]
    fn a_short_lack_leaves_nothing_out() {
        let mut shortage = Shortage::default();
        let mut goes = |at, wait| admits(&mut shortage, at, MediaClass::Enhancement, wait);
        assert!(goes(0, 90) && goes(100, 90) && goes(240, 90), "not for long");
        assert!(goes(260, 66), "there is room");
        assert!(goes(270, 67) && !goes(520, 67), "it begins anew");
        assert!(goes(560, 60) && !goes(600, 70), "at once now");
        assert!(goes(700, 60) && goes(2_700, 70), "two seconds later");
    }

    #[test]
    fn disposable_pictures_wait_for_a_short_queue_once_some_were_left_out() {
        let mut shortage = Shortage::default();
        let mut goes = |at, wait| admits(&mut shortage, at, MediaClass::Disposable, wait);
        assert!(goes(0, 60) && goes(10, 70) && !goes(300, 70));
        assert!(!goes(400, 60), "references would wait behind it");
        assert!(goes(500, 20));
        assert!(goes(2_500, 60), "two seconds later");
    }

    #[test]
    fn references_go_last_and_only_where_they_would_be_late() {
        let first_left_out = |class, wait_ms| {
            let mut shortage = Shortage::default();
            let mut at = (0..20).map(|n| 100 * n);
            at.find(|at| !admits(&mut shortage, *at, class, wait_ms))
        };
        assert_eq!(first_left_out(MediaClass::Disposable, 101), Some(300));
        assert_eq!(first_left_out(MediaClass::Reference, 101), Some(1_000));
        assert_eq!(first_left_out(MediaClass::Reference, 100), None, "just in time");
    }

    #[test]
    fn references_that_would_hold_up_the_next_key_frame_are_left_out_before_it() {
        let mut shortage = Shortage::default();
        let mut goes = |at, wait_ms, until_key_ms| {
            let (wait, next_key) =
                (Duration::from_millis(wait_ms), Duration::from_millis(until_key_ms));
            let prospect = Prospect { wait, lifetime: LIFETIME };
            shortage.admits(ms(at), MediaClass::Reference, prospect, Some(next_key))
        };
        assert!(goes(0, 60, 50), "not for long");
        assert!(goes(300, 60, 70), "gone before it comes");
        assert!(!goes(320, 60, 50));
        assert!(goes(360, 20, 10), "a short queue is no harm");
        assert!(goes(400, 60, 50), "it begins anew");
    }
}
