//! [`Clock`]: the one place where real time becomes [`Time`].

use std::time::Instant;

use anabranch_sansio::Time;

/// Counts nanoseconds from its start on the monotonic clock of the machine.
///
/// Copies share the start, so that several drivers of one program can share an axis.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock whose [`Time::ZERO`] is now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }

    /// The same point on the axis of the standard library.
    #[must_use]
    pub fn instant(&self, at: Time) -> Instant {
        self.start + (at - Time::ZERO)
    }
}
