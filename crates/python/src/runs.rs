//! [`Plan`]: a scenario, run with several seeds.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anabranch_lab::records::{PACKET_COLUMNS, Rows};
use anabranch_lab::scenario::{FRAME_COLUMNS, Outcome, Run, RunError, Scenario, Watching};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::own::Parts;
use crate::results::{Recorded, Results, before};
use crate::table::{Collector, schema};

/// How often a signal, as Ctrl-C's, is looked for while runs go on.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);
/// The same where runs go on in Python's own thread, in events of the simulator.
const SIGNALS_EVERY_EVENTS: u32 = 1 << 12;

/// What is to be run.
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) written: Arc<Scenario>,
    pub(crate) seeds: Vec<u64>,
    /// What stands in front of each row.
    pub(crate) point: Vec<(String, String)>,
    pub(crate) packets: bool,
    pub(crate) frames: bool,
}

/// A run that is over.
struct Done {
    outcome: Outcome,
    packets: Vec<RecordBatch>,
    frames: Vec<RecordBatch>,
}

type Ended = Result<Done, RunError>;

impl Plan {
    /// Runs on several threads, none of which holds Python's lock.
    pub(crate) fn run_at_once(&self, py: Python<'_>, jobs: Option<usize>) -> PyResult<Results> {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let jobs = jobs.unwrap_or_else(cores).min(self.seeds.len());
        let failure = Arc::new(Failure::default());
        let runs = py.detach(|| self.share_out(jobs, &failure));
        self.results(py, runs, &failure)
    }

    /// Has threads run all seeds, and looks for signals meanwhile.
    fn share_out(&self, jobs: usize, failure: &Arc<Failure>) -> Vec<Option<Ended>> {
        let (sender, ends) = mpsc::channel();
        let next = &AtomicUsize::new(0);
        let mut runs = Vec::new();
        runs.resize_with(self.seeds.len(), || None);
        thread::scope(|scope| {
            for _ in 0..jobs {
                let sender = sender.clone();
                scope.spawn(move || self.work(next, failure, sender));
            }
            drop(sender);
            loop {
                match ends.recv_timeout(SIGNALS_EVERY) {
                    Ok((number, ended)) => runs[number] = Some(ended),
                    Err(RecvTimeoutError::Timeout) => look_for_signals(failure),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        runs
    }

    /// Runs one after the other in this thread, with parts that are written in Python.
    pub(crate) fn run_with(&self, py: Python<'_>, parts: &Parts) -> PyResult<Results> {
        let failure = Arc::new(Failure::default());
        let mut scenario = (*self.written).clone();
        parts.put_into(py, &mut scenario, &failure)?;
        let mut runs = Vec::new();
        for seed in &self.seeds {
            let mut events = 0_u32;
            let watched = Arc::clone(&failure);
            let stop = move || {
                events = events.wrapping_add(1);
                if events.is_multiple_of(SIGNALS_EVERY_EVENTS) {
                    look_for_signals(&watched);
                }
                watched.reason()
            };
            let ended = py.detach(|| self.run(&scenario, *seed, stop));
            let is_over = ended.is_err();
            runs.push(Some(ended));
            if is_over {
                break;
            }
        }
        self.results(py, runs, &failure)
    }

    /// Takes the next seed until there is none.
    fn work(&self, next: &AtomicUsize, failure: &Arc<Failure>, sender: Sender<(usize, Ended)>) {
        while !failure.is_there() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = self.seeds.get(number) else { return };
            let watched = Arc::clone(failure);
            let ended = self.run(&self.written, *seed, move || watched.reason());
            if ended.is_err() {
                failure.tell("another run failed".to_owned(), None);
            }
            // The other end lives until all workers are gone.
            let _ = sender.send((number, ended));
        }
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        stop: impl FnMut() -> Option<String> + Send + 'static,
    ) -> Ended {
        let collected = || Arc::new(Mutex::new(Vec::new()));
        let (packets, frames) = (collected(), collected());
        let before = || before(&self.labels(), &self.point, seed);
        let collector = |schema: SchemaRef, into: &Arc<Mutex<Vec<RecordBatch>>>| -> Box<dyn Rows> {
            Box::new(Collector::new(schema, before(), Arc::clone(into)))
        };
        let watching = Watching {
            packets: self.packets.then(|| collector(self.packet_schema(), &packets)),
            frames: self.frames.then(|| collector(self.frame_schema(), &frames)),
            stop: Some(Box::new(stop)),
            ..Watching::default()
        };
        let outcome = scenario.run(seed, watching)?;
        let taken = |from: &Mutex<Vec<RecordBatch>>| {
            std::mem::take(&mut *from.lock().unwrap_or_else(PoisonError::into_inner))
        };
        Ok(Done { outcome, packets: taken(&packets), frames: taken(&frames) })
    }

    /// All of them, or why there are not all.
    fn results(
        &self,
        py: Python<'_>,
        ended: Vec<Option<Ended>>,
        failure: &Failure,
    ) -> PyResult<Results> {
        let mut runs = Vec::new();
        let (mut packets, mut frames) = (Vec::new(), Vec::new());
        let mut stopped = None;
        for (seed, ended) in self.seeds.iter().zip(ended) {
            match ended {
                Some(Ok(done)) => {
                    let (point, seed) = (self.point.clone(), *seed);
                    runs.push(Run { point, seed, outcome: done.outcome });
                    packets.extend(done.packets);
                    frames.extend(done.frames);
                }
                Some(Err(error @ RunError::Stopped { .. })) => {
                    stopped.get_or_insert_with(|| self.said(*seed, &error));
                }
                Some(Err(error)) => {
                    return Err(crate::errors::RunError::new_err(self.said(*seed, &error)));
                }
                None => {}
            }
        }
        if runs.len() < self.seeds.len() {
            let text = stopped.unwrap_or_else(|| format!("{}: the runs were ended", self.name));
            return Err(failure.exception(py, text));
        }
        let recorded = |schema: SchemaRef, batches| Recorded { schema, batches };
        Ok(Results {
            runs,
            packets: self.packets.then(|| recorded(self.packet_schema(), packets)),
            frames: self.frames.then(|| recorded(self.frame_schema(), frames)),
        })
    }

    fn said(&self, seed: u64, error: &RunError) -> String {
        format!("{}: seed {seed}: {error}", self.name)
    }

    fn labels(&self) -> Vec<String> {
        self.point.iter().map(|(label, _)| label.clone()).collect()
    }

    fn packet_schema(&self) -> SchemaRef {
        schema(&self.labels(), &PACKET_COLUMNS)
    }

    fn frame_schema(&self) -> SchemaRef {
        schema(&self.labels(), &FRAME_COLUMNS)
    }
}

fn look_for_signals(failure: &Failure) {
    Python::attach(|py| {
        if let Err(error) = py.check_signals() {
            failure.raised(py, "a signal", error);
        }
    });
}
