//! CPU time, the kernel's included.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// What this thread used so far.
pub(crate) fn of_thread() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

/// What all threads of this process used so far.
pub(crate) fn of_process() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU clocks start at zero and only grow.
fn duration(time: Timespec) -> Duration {
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
