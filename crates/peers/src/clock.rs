//! [`Clock`]: our time on the axis of stacks that take `std::time::Instant`.

use std::time::{Duration, Instant};

use anabranch_sansio::Time;

/// Maps [`Time`] to `Instant` and back. Where the axis starts does not matter to a stack, as long
/// as it is asked and answered in the same one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }

    /// The clock on which `now` is `instant`.
    pub(crate) fn aligned(now: Time, instant: Instant) -> Option<Self> {
        Some(Self { start: instant.checked_sub(Duration::from_nanos(now.as_nanos()))? })
    }

    pub(crate) fn instant(self, time: Time) -> Instant {
        self.start + Duration::from_nanos(time.as_nanos())
    }

    pub(crate) fn time(self, instant: Instant) -> Time {
        Time::ZERO + instant.saturating_duration_since(self.start)
    }
}
