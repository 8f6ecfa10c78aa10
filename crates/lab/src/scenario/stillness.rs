//! [`Stillness`]: when the picture stands still.

use std::time::Duration;

use anabranch_sansio::Time;

/// W3C, Identifiers for WebRTC's Statistics API, freezeCount: a freeze is an interval between two
/// pictures of at least three times the usual one, and of 150 ms more than that.
const FREEZE_FACTOR: u32 = 3;
const FREEZE_MORE: Duration = Duration::from_millis(150);

/// Follows the pictures that are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stillness {
    /// Between two pictures.
    usual: Duration,
    last_shown: Option<Time>,
    /// Times that the picture stood still.
    pub(super) freezes: u64,
    /// For how long in all, beyond the usual intervals.
    pub(super) frozen: Duration,
}

impl Stillness {
    pub(super) const fn new(usual: Duration) -> Self {
        Self { usual, last_shown: None, freezes: 0, frozen: Duration::ZERO }
    }

    /// A picture is shown.
    pub(super) fn on_shown(&mut self, now: Time) {
        self.look(now);
        self.last_shown = Some(now);
    }

    /// The film has ended: what was to be shown last was to be shown at `end`.
    pub(super) fn on_end(&mut self, end: Time) {
        if self.last_shown.is_some_and(|last| last < end) {
            self.on_shown(end);
        }
    }

    fn look(&mut self, now: Time) {
        let Some(last) = self.last_shown else { return };
        let interval = now.saturating_since(last);
        if interval >= (self.usual * FREEZE_FACTOR).max(self.usual + FREEZE_MORE) {
            self.freezes += 1;
            self.frozen += interval - self.usual;
        }
    }
}
