//! [`Running`]: a tool's program while it runs, and what it cost.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::failure::Failure;

/// A program that ends with this value.
#[derive(Debug)]
pub(super) struct Running(Child);

/// What a program used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) cpu: Duration,
    /// Bytes of memory at most.
    pub(super) peak_memory: u64,
}

impl Running {
    /// Starts it, with all that it says thrown away.
    pub(super) fn start(mut command: Command) -> Result<Self, Failure> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let name = command.as_std().get_program().to_string_lossy().into_owned();
        let started = command.spawn();
        let child = started
            .map_err(|error| Failure::failed(format!("{name} cannot be started: {error}")))?;
        Ok(Self(child))
    }

    /// What it used so far; nothing once it has ended.
    pub(super) fn cost(&self) -> Cost {
        let read = |file: &str| {
            let id = self.0.id()?;
            fs::read_to_string(format!("/proc/{id}/{file}")).ok()
        };
        Cost {
            cpu: read("stat").and_then(|stat| cpu_time(&stat)).unwrap_or_default(),
            peak_memory: read("status").and_then(|it| peak_memory(&it)).unwrap_or_default(),
        }
    }

    /// Ends it, and waits until its ports are free.
    pub(super) async fn stop(mut self) -> Result<(), Failure> {
        Ok(self.0.kill().await?)
    }
}

impl Cost {
    /// Of two programs: the time of both, and the larger one's memory.
    pub(super) fn with(self, other: Self) -> Self {
        Self { cpu: self.cpu + other.cpu, peak_memory: self.peak_memory.max(other.peak_memory) }
    }
}

/// Fields 14 and 15 of /proc/PID/stat, in ticks; the second field may have spaces and parentheses.
fn cpu_time(stat: &str) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let ticks = rustix::param::clock_ticks_per_second();
    Some(Duration::from_secs_f64((user + system) as f64 / ticks as f64))
}

/// VmHWM of /proc/PID/status, in bytes.
fn peak_memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_tells_is_read() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100 0 0";
        let expected = 300.0 / rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(cpu_time(stat), Some(Duration::from_secs_f64(expected)));
        assert_eq!(peak_memory("VmPeak:\t 9 kB\nVmHWM:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!((cpu_time("42 (x"), peak_memory("")), (None, None));
    }
}
