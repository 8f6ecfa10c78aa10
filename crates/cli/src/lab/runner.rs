//! [`Runner`]: many cells at once, with a progress bar.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use crate::failure::Failure;

/// Runs cells at once, and shows how many are done.
pub(super) struct Runner {
    pool: rayon::ThreadPool,
    progress: ProgressBar,
}

impl Runner {
    /// For so many cells in all, so many at once; as many as there are cores where that is not
    /// said.
    pub(super) fn new(jobs: Option<NonZeroUsize>, cells: usize) -> Result<Self, Failure> {
        let jobs = jobs.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
        // Hidden where stderr is no terminal.
        let progress = ProgressBar::new(cells as u64).with_style(
            ProgressStyle::with_template("{pos} of {len} cells {wide_bar} {eta} left")
                .map_err(Failure::failed)?,
        );
        Ok(Self { pool: pool.map_err(Failure::failed)?, progress })
    }

    /// What comes of each cell, in the order of the cells.
    pub(super) fn run<C: Sync, T: Send>(
        &self,
        cells: &[C],
        run: impl Fn(&C) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let run = |cell: &C| {
            let result = run(cell)?;
            self.progress.inc(1);
            Ok(result)
        };
        self.pool.install(|| cells.par_iter().map(run).collect())
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.progress.finish_and_clear();
    }
}

/// CPU time of this thread.
pub(super) fn thread_time() -> Duration {
    time(ClockId::ThreadCPUTime)
}

fn time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let nanos = time.tv_nsec.try_into().unwrap_or_default();
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), nanos)
}

/// The whole process is counted, but what is not the network's: it has done nothing else.
pub(super) fn speed(simulated_s: usize, scoring: Duration) -> String {
    let cpu_s = time(ClockId::ProcessCPUTime).saturating_sub(scoring).as_secs_f64();
    let per_second = simulated_s as f64 / cpu_s;
    let scoring = match scoring.is_zero() {
        true => String::new(),
        false => format!("; decoding and scoring took {:.1} more", scoring.as_secs_f64()),
    };
    format!(
        "{simulated_s} simulated seconds in {cpu_s:.1} CPU seconds: {per_second:.0} per \
         second{scoring}\n"
    )
}
