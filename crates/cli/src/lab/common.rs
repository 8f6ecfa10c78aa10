//! [`Common`]: what the papers' experiments are asked alike, and [`Paper`], which runs them.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;

use anabranch_lab::records::TableFile;
use anabranch_lab::{Parameters, RecordTo, Settings};
use clap::Args;

use super::folder::Folder;
use super::parameters::{Changes, Point};
use super::run::Shard;
use super::runs::{Runs, Tally};
use super::store::{Of, Plan, Store};
use super::tables::{check_table, lock, table};
use crate::failure::Failure;
use crate::output;

/// What the papers' experiments are asked alike.
#[derive(Debug, Clone, Args)]
pub(super) struct Common {
    /// Runs each cell with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(super) seeds: u64,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Writes into this folder: report.html, all of it on one page; figures as SVG; and tables,
    /// of which cells.csv has a line for each cell; runs/, a file for each run, which is not run
    /// again.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Runs again what the folder has.
    #[arg(long, requires = "out")]
    again: bool,
    /// Runs only every nth of all, as 3/16, for several machines; lab merge puts them together.
    #[arg(long, value_name = "I/N", requires = "out",
          conflicts_with_all = ["capture", "trace", "packets", "frames"])]
    pub(super) shard: Option<Shard>,
    /// Writes all packets of the cell too, each as it leaves its link, as pcapng.
    #[arg(long, requires = "cell", requires = "out")]
    capture: bool,
    /// Writes what both ends do and why, as qlog; `anabranch lab trace` explains a run by it.
    #[arg(long, requires = "cell", requires = "out")]
    trace: bool,
    /// Writes what became of every packet of the cell into this table, .parquet or .csv:
    /// docs/lab-records.md describes it.
    #[arg(long, value_name = "FILE", requires = "cell", conflicts_with = "sweep")]
    packets: Option<PathBuf>,
    /// The same of every picture, frame of sound or message that is sent.
    #[arg(long, value_name = "FILE", requires = "cell", conflicts_with = "sweep")]
    frames: Option<PathBuf>,
    /// Cells that run at once. The results are the same for any number.
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<NonZeroUsize>,
}

/// The tables of the one cell that is recorded.
pub(super) struct Tables(Mutex<(Option<TableFile>, Option<TableFile>)>);

impl Common {
    /// Refuses so many cells: none are a mistake, and a table is for one.
    pub(super) fn check_cells(&self, cells: usize) -> Result<(), Failure> {
        if cells == 0 {
            return Err(Failure::usage(
                "no cell is left: what is chosen comes together nowhere in the paper; choose less",
            ));
        }
        check_table("packets", self.packets.as_deref(), cells)?;
        check_table("frames", self.frames.as_deref(), cells)
    }

    /// The tables that are asked for.
    fn tables(&self) -> Result<Tables, Failure> {
        let [packets, frames] = [&self.packets, &self.frames].map(|file| table(file.as_deref()));
        Ok(Tables(Mutex::new((packets?, frames?))))
    }

    /// Whether it is of the shard that is asked for, by its number among all runs.
    pub(super) fn is_mine(&self, nth: usize) -> bool {
        self.shard.is_none_or(|shard| shard.has(nth))
    }

    /// Whether more than the result of a run is asked for.
    pub(super) const fn is_recorded(&self) -> bool {
        self.capture || self.trace || self.packets.is_some() || self.frames.is_some()
    }

    /// Whether packets, and what both ends do, are to be written into the folder.
    pub(super) const fn recorded_files(&self) -> (bool, bool) {
        (self.capture, self.trace)
    }

    /// Refuses a trace of what keeps no record of what it does.
    pub(super) fn check_trace(&self, has_records: bool) -> Result<(), Failure> {
        match self.trace && !has_records {
            true => Err(Failure::usage(
                "--trace: TCP keeps no record of what it does and why: leave it out",
            )),
            false => Ok(()),
        }
    }

    /// Files for what is recorded of a cell, as far as it is asked for.
    pub(super) fn record(
        &self,
        name: &str,
        folder: Option<&Folder>,
        tables: &Tables,
    ) -> Result<RecordTo, Failure> {
        let mut to = match folder {
            Some(folder) => folder.record(name, self.capture, self.trace)?,
            None => RecordTo::default(),
        };
        (to.packets, to.units) = std::mem::take(&mut *lock(&tables.0));
        Ok(to)
    }
}

/// A paper's experiment.
pub(super) trait Paper {
    type Values: Settings;

    fn common(&self) -> &Common;

    /// What gives the same cells: nothing that is set, neither the number of jobs nor the folder
    /// is part of it.
    fn command(&self) -> String;

    /// Refuses what cannot be run with these parameters, before anything is run or written.
    fn check(&self, parameters: &Parameters<Self::Values>) -> Result<(), Failure>;

    /// Runs what is asked for with these parameters, prints its tables, and writes all there is to
    /// the folder. Returns the table of the cells; none where only a shard was run.
    fn run_with(
        &self,
        parameters: Parameters<Self::Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<Vec<u8>>, Failure>;
}

/// Runs an experiment once, or at each point of a sweep, each of which has a folder of its own.
pub(super) fn run(paper: &impl Paper) -> Result<(), Failure> {
    let common = paper.common();
    let Some(points) = common.changes.points()? else { return Ok(()) };
    points.iter().try_for_each(|point| paper.check(&point.parameters))?;
    let tables = common.tables()?;
    let store = common.out.as_deref().map(|out| Store::create(out, common.again)).transpose()?;
    let mut joined = Joined::default();
    let mut tally = Tally::default();
    for point in points {
        let swept = point.swept.clone();
        let cells = run_point(paper, point, store.as_ref(), &tables, &mut tally)?;
        if let Some(cells) = cells {
            joined.add(&swept, &cells);
        }
    }
    if let Some(store) = &store {
        let of = Of::Paper { arguments: arguments(paper) };
        store.write_plan(&Plan::new(of, tally.planned.clone()))?;
    }
    match common.shard {
        Some(shard) => tally.print_shard(shard),
        None => {
            if let Some(store) = store.filter(|_| common.changes.is_sweep()) {
                store.folder().write("sweep.csv", joined.0.as_bytes())?;
            }
            tally.print()
        }
    }
}

fn run_point<P: Paper>(
    paper: &P,
    point: Point<P::Values>,
    store: Option<&Store>,
    tables: &Tables,
    tally: &mut Tally,
) -> Result<Option<Vec<u8>>, Failure> {
    let common = paper.common();
    let Point { swept, parameters } = point;
    let name: Vec<_> = swept.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let is_shard = common.shard.is_some();
    if !name.is_empty() && !is_shard {
        output::print(&format!("{}\n\n", name.join(", ")))?;
    }
    // What a file's name would take for folders.
    let name = name.join(",").replace('/', "_");
    let folder = common.out.as_ref().filter(|_| !is_shard).map(|out| out.join(&name));
    let folder = folder.map(|folder| Folder::create(&folder)).transpose()?;
    let digest = parameters.digest();
    let (folder, point) = (folder.as_ref(), swept.as_slice());
    paper.run_with(parameters, &mut Runs { common, folder, store, tables, point, digest, tally })
}

/// Those of `anabranch lab` that give the same.
fn arguments(paper: &impl Paper) -> Vec<String> {
    let command = paper.command();
    // Behind the names of the program and of its command.
    let chosen = command.split_whitespace().skip(2).map(str::to_owned);
    chosen.chain(paper.common().changes.arguments()).collect()
}

/// The cells of all points in one table, whose first columns are what was swept.
#[derive(Default)]
struct Joined(String);

impl Joined {
    fn add(&mut self, swept: &[(String, String)], cells: &[u8]) {
        let text = String::from_utf8_lossy(cells);
        let mut lines = text.lines();
        let names = swept.iter().map(|(name, _)| name.as_str());
        let values = swept.iter().map(|(_, value)| value.as_str());
        let header = lines.next().filter(|_| self.0.is_empty());
        let header = header.map(|header| names.chain([header]).collect::<Vec<_>>().join(","));
        let line = |line| values.clone().chain([line]).collect::<Vec<_>>().join(",");
        for line in header.into_iter().chain(lines.map(line)) {
            self.0.push_str(&line);
            self.0.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cells_of_a_sweep_are_one_table() {
        let mut joined = Joined::default();
        for rate in ["20M", "40M"] {
            joined.add(&[("rate".to_owned(), rate.to_owned())], b"seed,delay_s\n1,0.5\n2,0.6\n");
        }
        let expected = "rate,seed,delay_s\n20M,1,0.5\n20M,2,0.6\n40M,1,0.5\n40M,2,0.6\n";
        assert_eq!(joined.0, expected);
    }
}
