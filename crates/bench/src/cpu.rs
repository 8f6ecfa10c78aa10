//! CPU time, the kernel's included.

use std::fs;
use std::io;
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

/// What the processes used that this one started and has waited for, in steps of a hundredth of a
/// second.
///
/// # Errors
///
/// A kernel that does not say so in `/proc/self/stat`.
pub(crate) fn of_children() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    children_ticks(&stat)
        .map(|used| Duration::from_secs_f64(used as f64 / ticks))
        .ok_or_else(|| io::Error::other("/proc/self/stat does not say cutime and cstime"))
}

/// The sum of `cutime` and `cstime` of a line of `stat`: fields 16 and 17, counted from 1; the
/// second is the program's name in parentheses, which may hold anything (proc_pid_stat(5)).
fn children_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// CPU clocks start at zero and only grow.
fn duration(time: Timespec) -> Duration {
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_read_whatever_the_program_is_called() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 139 8412 0 2 1 2 30 4 20 0 1 0 99";
        assert_eq!(children_ticks(stat), Some(34));
        assert_eq!(children_ticks("7 (ns) S 1 7"), None);
    }
}
