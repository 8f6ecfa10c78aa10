//! [`Retry`]: when to try again, visibly.

use std::time::Duration;

use tokio::time::Instant;

/// The longest wait between two attempts.
pub const RETRY_DELAY_MAX: Duration = Duration::from_secs(5);

/// How often to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retries {
    /// Until it works.
    #[default]
    Unlimited,
    /// At most so often in a row.
    AtMost(u32),
}

/// Waits 1, 2, 4 and then [`RETRY_DELAY_MAX`] seconds between attempts.
#[derive(Debug)]
pub struct Retry {
    limit: Retries,
    failures: u32,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    until: Instant,
    reason: String,
    /// How many seconds were left when that was told last.
    told: u64,
}

/// What a wait brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Wait {
    /// So many seconds are left, because of this.
    Left(u64, String),
    /// It is time to try.
    Over,
}

impl Retry {
    /// Nothing has failed yet.
    #[must_use]
    pub const fn new(limit: Retries) -> Self {
        Self { limit, failures: 0, waiting: None }
    }

    /// An attempt failed, or what had worked did not last. False if there is to be no other one.
    pub fn on_failure(&mut self, reason: String) -> bool {
        if self.limit == Retries::AtMost(self.failures) {
            return false;
        }
        let delay = Duration::from_secs(1 << self.failures.min(3)).min(RETRY_DELAY_MAX);
        self.failures += 1;
        self.waiting =
            Some(Waiting { until: Instant::now() + delay, reason, told: delay.as_secs() });
        true
    }

    /// It worked.
    pub fn on_success(&mut self) {
        self.failures = 0;
        self.waiting = None;
    }

    /// Whether it is worth waiting for one who calls.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.limit != Retries::AtMost(0)
    }

    /// Waits until a second less is left than was told; for ever if nothing is to be tried again.
    /// May be dropped and called again at any time: no second is passed over.
    pub async fn wait(&mut self) -> Wait {
        let Some(waiting) = &mut self.waiting else { return std::future::pending().await };
        let next = waiting.told.saturating_sub(1);
        tokio::time::sleep_until(waiting.until - Duration::from_secs(next)).await;
        if next == 0 {
            self.waiting = None;
            return Wait::Over;
        }
        waiting.told = next;
        Wait::Left(next, waiting.reason.clone())
    }

    /// What the wait is for and how many seconds are left of it.
    #[must_use]
    pub fn announcement(&self) -> Option<(u64, &str)> {
        let waiting = self.waiting.as_ref()?;
        Some((waiting.told, &waiting.reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_to_a_bound_and_count_down_by_seconds() {
        let mut retry = Retry::new(Retries::Unlimited);
        let mut waits = Vec::new();
        for _ in 0..5 {
            assert!(retry.on_failure("no".to_owned()));
            let start = Instant::now();
            let mut counted = vec![retry.announcement().unwrap().0];
            while let Wait::Left(seconds, reason) = retry.wait().await {
                assert_eq!(reason, "no");
                counted.push(seconds);
            }
            assert!(counted.is_sorted_by(|a, b| *a == b + 1), "{counted:?}");
            waits.push(start.elapsed().as_millis().div_ceil(1_000));
        }
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        retry.on_success();
        assert!(retry.on_failure("no".to_owned()));
        assert_eq!(retry.announcement(), Some((1, "no")), "from the beginning");
    }

    #[tokio::test(start_paused = true)]
    async fn regression_a_second_that_ended_while_nobody_waited_was_not_told() {
        let mut retry = Retry::new(Retries::Unlimited);
        assert!(retry.on_failure(String::new()) && retry.on_failure("no".to_owned()));
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        assert_eq!(retry.wait().await, Wait::Left(1, "no".to_owned()));
        assert_eq!(retry.wait().await, Wait::Over);
    }

    #[test]
    fn attempts_end_at_their_limit() {
        assert!(!Retry::new(Retries::AtMost(0)).is_allowed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_counts_failures_in_a_row() {
        let mut retry = Retry::new(Retries::AtMost(2));
        assert!(retry.on_failure(String::new()) && retry.on_failure(String::new()));
        assert!(!retry.on_failure(String::new()));
        retry.on_success();
        assert!(retry.on_failure(String::new()));
    }
}
