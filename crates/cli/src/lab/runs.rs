//! [`Runs`]: the runs of a paper's experiment, each made once.

use std::fmt::{Debug, Display};
use std::time::Duration;

use anabranch_lab::{CellError, RecordTo, run_name};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::common::{Common, Tables};
use super::folder::Folder;
use super::run::{Shard, done_of};
use super::runner::{Runner, speed};
use super::store::{PlannedRun, Store};
use crate::failure::Failure;
use crate::output;

/// What a run gives.
pub(super) trait Given: Serialize + DeserializeOwned + Send {
    /// How many seconds were simulated for it.
    fn simulated_s(&self) -> f64;
}

/// What comes of cells with something that is chosen otherwise.
type Varied<V, C, T> = Vec<(V, C, T)>;

/// What has been run so far, of all points together.
#[derive(Default)]
pub(super) struct Tally {
    /// All runs, whoever makes them.
    pub(super) planned: Vec<PlannedRun>,
    /// Those of this shard.
    done: usize,
    /// Those of them that were known already.
    known: usize,
    simulated_s: f64,
    /// CPU time of what is done to the results of a simulation, which is no part of its speed.
    pub(super) scoring: Duration,
}

/// A point of an experiment, of which a shard may be run.
pub(super) struct Runs<'a> {
    pub(super) common: &'a Common,
    /// For what becomes of this point; a shard writes nothing but what it ran.
    pub(super) folder: Option<&'a Folder>,
    pub(super) store: Option<&'a Store>,
    pub(super) tables: &'a Tables,
    pub(super) point: &'a [(String, String)],
    /// Of the parameters.
    pub(super) digest: [u8; 32],
    pub(super) tally: &'a mut Tally,
}

/// Cells of a point that are run together.
pub(super) struct Cells<'a, 'b> {
    runs: &'b mut Runs<'a>,
    /// The experiment, and what decides its cells beside the parameters.
    setup: String,
    runner: Runner,
}

impl<'a> Runs<'a> {
    /// Begins with so many cells, and so many that vary one.
    pub(super) fn begin(
        &mut self,
        setup: String,
        cells: usize,
        varied: usize,
    ) -> Result<Cells<'a, '_>, Failure> {
        let first = self.tally.planned.len();
        let mine = (first..first + cells + varied).filter(|nth| self.common.is_mine(*nth));
        let runner = Runner::new(self.common.jobs, mine.count())?;
        Ok(Cells { runs: self, setup, runner })
    }
}

impl Cells<'_, '_> {
    /// What comes of each cell, in their order; nothing where only a shard of them is run. `file`
    /// names what is recorded of one.
    pub(super) fn run<C: Copy + Debug + Display + Sync, T: Given>(
        &mut self,
        cells: &[C],
        file: impl Fn(&C) -> String + Sync,
        run: impl Fn(&C, RecordTo) -> Result<T, CellError> + Sync,
    ) -> Result<Option<Vec<(C, T)>>, Failure> {
        let planned = cells.iter().map(|cell| self.planned("", &format!("{cell:?}"), cell));
        let planned: Vec<_> = planned.collect();
        let Runs { common, folder, tables, .. } = *self.runs;
        let record = |cell: &C| common.record(&file(cell), folder, tables);
        let run = |cell: &C| run(cell, record(cell)?).map_err(Failure::failed);
        let given = each(self.runs, &self.runner, planned, cells, run)?;
        Ok(given.map(|given| cells.iter().copied().zip(given).collect()))
    }

    /// The same of cells with something that is chosen otherwise.
    pub(super) fn vary<V, C, T: Given>(
        &mut self,
        varied: &[(V, C)],
        run: impl Fn(V, &C) -> Result<T, CellError> + Sync,
    ) -> Result<Option<Varied<V, C, T>>, Failure>
    where
        V: Copy + Debug + Display + Sync,
        C: Copy + Debug + Display + Sync,
    {
        let said = |(variation, cell): &(V, C)| format!("{cell}, {variation}");
        let planned = varied.iter().map(|it @ (variation, cell)| {
            self.planned(&format!("{variation:?}"), &format!("{cell:?}"), &said(it))
        });
        let planned: Vec<_> = planned.collect();
        let run = |(variation, cell): &(V, C)| run(*variation, cell).map_err(Failure::failed);
        let given = each(self.runs, &self.runner, planned, varied, run)?;
        let joined = |given: Vec<T>| {
            varied.iter().zip(given).map(|((variation, cell), it)| (*variation, *cell, it))
        };
        Ok(given.map(|given| joined(given).collect()))
    }

    fn planned(&self, variation: &str, cell: &str, said: &impl Display) -> PlannedRun {
        let Runs { point, digest, .. } = &self.runs;
        let setup = self.setup.as_bytes();
        let parts = [crate::VERSION.as_bytes(), setup, digest, variation.as_bytes()];
        let name = run_name(&[&parts[..], &[cell.as_bytes()]].concat());
        PlannedRun { point: point.to_vec(), cell: said.to_string(), name }
    }
}

/// Makes those runs of the shard that are not known.
fn each<C: Sync, T: Given>(
    runs: &mut Runs<'_>,
    runner: &Runner,
    planned: Vec<PlannedRun>,
    cells: &[C],
    run: impl Fn(&C) -> Result<T, Failure> + Sync,
) -> Result<Option<Vec<T>>, Failure> {
    let Runs { common, store, .. } = *runs;
    let first = runs.tally.planned.len();
    let all = (first..).zip(planned.iter().zip(cells));
    let mine: Vec<_> = all.filter(|(nth, _)| common.is_mine(*nth)).map(|(_, it)| it).collect();
    let given = runner.run(&mine, |(planned, cell)| {
        // What is recorded must happen again.
        let known_in = store.filter(|_| !common.is_recorded());
        if let Some(known) = known_in.and_then(|store| store.known(&planned.name)) {
            return Ok((known, false));
        }
        let given = run(cell)?;
        if let Some(store) = store {
            store.keep(&planned.name, &given)?;
        }
        Ok((given, true))
    })?;
    runs.tally.planned.extend(planned);
    runs.tally.count(&given);
    let is_all = common.shard.is_none();
    Ok(is_all.then(|| given.into_iter().map(|(given, _)| given).collect()))
}

impl Tally {
    fn count<T: Given>(&mut self, given: &[(T, bool)]) {
        let computed = given.iter().filter(|(_, is_new)| *is_new);
        self.done += given.len();
        self.known += given.len() - computed.clone().count();
        self.simulated_s += computed.map(|(given, _)| given.simulated_s()).sum::<f64>();
    }

    /// Says how much was known, and how long the rest took.
    pub(super) fn print(&self) -> Result<(), Failure> {
        if self.known > 0 {
            let Self { known, done, .. } = self;
            output::print(&format!("{known} of {done} runs were known already\n"))?;
        }
        if self.simulated_s > 0.0 {
            output::print(&speed(self.simulated_s as usize, self.scoring))?;
        }
        Ok(())
    }

    /// Says how much of all was a shard's.
    pub(super) fn print_shard(&self, shard: Shard) -> Result<(), Failure> {
        let (done, all) = (self.done, self.planned.len());
        Ok(output::print(&done_of(done, all, shard))?)
    }
}
