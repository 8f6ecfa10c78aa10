//! [`Allowance`]: how often somebody may do something.

use std::time::Duration;

use anabranch_sansio::Time;

/// Requests that a member may make at once.
pub const REQUESTS_BURST: u32 = 50;

/// How much later it may make one more.
pub const REQUEST_EVERY: Duration = Duration::from_millis(50);

/// What a guest may do at once, and how often.
#[derive(Debug)]
pub struct Allowance {
    /// When it was last whole.
    paid: Time,
    every: Duration,
    burst: u32,
}

impl Allowance {
    /// All of it is left.
    #[must_use]
    pub const fn new(now: Time, every: Duration, burst: u32) -> Self {
        Self { paid: now, every, burst }
    }

    /// Counts one; false if there were too many.
    pub fn take(&mut self, now: Time) -> bool {
        let paid = self.paid.max(now) + self.every;
        let is_within = paid <= now + self.every * self.burst;
        if is_within {
            self.paid = paid;
        }
        is_within
    }
}
