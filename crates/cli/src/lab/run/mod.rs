//! `anabranch lab run`: a scenario of the user's own, once or many times.

mod given;

use std::fs;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_lab::RecordTo;
use anabranch_lab::records::{Column, PACKET_COLUMNS, Rows, Table, TableFile};
use anabranch_lab::scenario::{
    AFTER, Example, FRAME_COLUMNS, Files, Outcome, Run, Scenario, Watching, schema, tables,
};
use clap::Args;

use super::folder::Folder;
use super::runner::{Runner, speed};
use super::store::{Of, Plan, PlannedRun, Store, said};
use super::tables::lock;
use crate::failure::Failure;
use crate::output;
use given::given_twice;
pub(super) use given::{Shard, Sweep, one};

/// Runs a scenario in virtual time with the real stacks: hosts, links, events and flows, as a file
/// tells them. docs/scenarios.md has every key.
#[derive(Debug, Args)]
pub(crate) struct LabRun {
    /// The scenario, in TOML.
    #[arg(value_name = "FILE", required_unless_present_any = ["example", "schema"])]
    file: Option<PathBuf>,
    /// Gives a key another value than the file does: one of a link or flow by its name, as in
    /// bottleneck.loss=1%, or one of the file, as in duration=5s. May be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = one)]
    set: Vec<(String, String)>,
    /// Runs it with each of these values: bottleneck.loss=0,0.1%,1%, or from the first to the last
    /// by steps, bottleneck.delay=20ms..200ms:20ms. Of several sweeps, all combinations.
    #[arg(long, value_name = "KEY=VALUES")]
    sweep: Vec<Sweep>,
    /// Runs it with so many seeds, instead of what the file says.
    #[arg(long, value_name = "N")]
    seeds: Option<NonZeroU64>,
    /// The first of the seeds.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Writes into this folder: report.html, tables and figures; runs.csv, a line for each flow of
    /// each run; scenario.toml, what was run; runs/, a file for each run, which is not run again.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Runs again what the folder has.
    #[arg(long, requires = "out")]
    again: bool,
    /// Runs only every nth of all, as 3/16, for several machines; lab merge puts them together.
    #[arg(long, value_name = "I/N", requires = "out")]
    shard: Option<Shard>,
    /// Writes all packets of each run too, each as it leaves its link, as pcapng files.
    #[arg(long, requires = "out")]
    capture: bool,
    /// Writes what both ends of each flow do and why, as qlog; anabranch lab trace explains it.
    #[arg(long, requires = "out")]
    trace: bool,
    /// Writes what became of every packet of one run, as a table: a name that ends in .parquet or
    /// .csv. docs/lab-records.md describes the columns.
    #[arg(long, value_name = "FILE")]
    packets: Option<PathBuf>,
    /// Writes what became of every unit of the media sessions of one run, likewise.
    #[arg(long, value_name = "FILE")]
    frames: Option<PathBuf>,
    /// Prints a scenario to start from: dumbbell, two-paths, handoff, cellular or dccp.
    #[arg(long, value_name = "NAME", exclusive = true)]
    example: Option<Example>,
    /// Prints a JSON schema of scenarios, for editors.
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Runs at once. The results are the same for any number.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// What a shard says when it is done.
pub(super) fn done_of(done: usize, all: usize, shard: Shard) -> String {
    format!("{done} of {all} runs, as {shard}; anabranch lab merge joins them\n")
}

/// Tables for the one run that is recorded.
struct Records {
    packets: Mutex<Option<Box<dyn Rows>>>,
    frames: Mutex<Option<Box<dyn Rows>>>,
}

/// One run: what is given beside the file, and a seed.
struct Cell {
    point: Vec<(String, String)>,
    seed: u64,
    scenario: Arc<Scenario>,
}

impl LabRun {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(example) = self.example {
            return Ok(output::print(example.text())?);
        }
        let Some(file) = &self.file else { return Ok(output::print(&schema())?) };
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
        let cells = self.cells(&text)?;
        let records = self.records(&cells)?;
        let store = self.out.as_deref().map(|out| Store::create(out, self.again)).transpose()?;
        if let Some(store) = &store {
            store.write_plan(&self.plan(&cells))?;
            store.write_scenario(&text)?;
        }
        let mine: Vec<&Cell> = match self.shard {
            None => cells.iter().collect(),
            Some(shard) => shard.of(&cells).collect(),
        };
        let runner = Runner::new(self.jobs, mine.len())?;
        let outcomes = runner.run(&mine, |cell| self.outcome(cell, store.as_ref(), &records))?;
        drop(runner);
        let computed = outcomes.iter().zip(&mine).filter(|((_, is_new), _)| *is_new);
        let seconds = computed.clone().map(|(_, cell)| cell.scenario.duration() + AFTER);
        let simulated_s = seconds.sum::<Duration>().as_secs() as usize;
        let known = mine.len() - computed.count();
        let runs: Vec<Run> = outcomes
            .into_iter()
            .zip(&mine)
            .map(|((outcome, _), cell)| Run { point: cell.point.clone(), seed: cell.seed, outcome })
            .collect();
        if let Some(shard) = self.shard {
            return Ok(output::print(&done_of(runs.len(), cells.len(), shard))?);
        }
        output::print(&tables(&runs))?;
        if known > 0 {
            output::print(&format!("{known} of {} runs were known already\n", runs.len()))?;
        }
        if simulated_s > 0 {
            output::print(&speed(simulated_s, Duration::ZERO))?;
        }
        let Some(store) = store else { return Ok(()) };
        store.report(&text, &self.set, &runs)
    }

    /// All that is to be run, in order: point by point, seed by seed.
    fn cells(&self, text: &str) -> Result<Vec<Cell>, Failure> {
        let file = self.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let files = self.file.as_deref().map(Files::beside);
        let files = files.unwrap_or_else(|| Files::new(|_| Err("there is no scenario".to_owned())));
        if let Some(key) = given_twice(&self.set, &self.sweep) {
            let flags = "--set and --sweep";
            return Err(Failure::usage(format!("{flags}: {key} is given twice: give it once")));
        }
        let mut cells = Vec::new();
        for point in Sweep::points(&self.sweep) {
            let mut given = self.set.clone();
            given.extend(point.iter().cloned());
            let seeds = self.seeds.map(|seeds| ("seeds".to_owned(), seeds.to_string()));
            let seed = self.seed.map(|seed| ("seed".to_owned(), seed.to_string()));
            given.extend(seeds.into_iter().chain(seed));
            let scenario = Scenario::read(text, &given, &files)
                .map_err(|fault| Failure::usage(format!("{file}: {fault}")))?;
            let scenario = Arc::new(scenario);
            cells.extend(scenario.seeds().map(|seed| Cell {
                point: point.clone(),
                seed,
                scenario: Arc::clone(&scenario),
            }));
        }
        Ok(cells)
    }

    fn plan(&self, cells: &[Cell]) -> Plan {
        let run = |cell: &Cell| PlannedRun {
            point: cell.point.clone(),
            cell: format!("seed {}", cell.seed),
            name: cell.scenario.run_name(cell.seed, crate::VERSION),
        };
        let seeds = cells.iter().map(|cell| cell.seed).collect();
        let of = Of::Scenario { set: self.set.clone(), seeds };
        Plan::new(of, cells.iter().map(run).collect())
    }

    /// What a run gives, and whether it was computed for that.
    fn outcome(
        &self,
        cell: &Cell,
        store: Option<&Store>,
        records: &Records,
    ) -> Result<(Outcome, bool), Failure> {
        let name = cell.scenario.run_name(cell.seed, crate::VERSION);
        let (packets, frames) = (lock(&records.packets).take(), lock(&records.frames).take());
        let is_table = packets.is_some() || frames.is_some();
        let is_recorded = self.capture || self.trace || is_table;
        if let Some(store) = store
            && !is_recorded
            && let Some(outcome) = store.known(&name)
        {
            return Ok((outcome, false));
        }
        let watching = match store {
            Some(store) => self.watching(store.folder(), cell, &name)?,
            None => Watching::default(),
        };
        let watching = Watching { packets, frames, ..watching };
        let outcome = cell.scenario.run(cell.seed, watching).map_err(|error| {
            Failure::failed(format!("{}seed {}: {error}", said(&cell.point), cell.seed))
        })?;
        if let Some(store) = store {
            store.keep(&name, &outcome)?;
        }
        Ok((outcome, true))
    }

    fn watching(&self, folder: &Folder, cell: &Cell, name: &str) -> Result<Watching, Failure> {
        let name = match cell.point.is_empty() {
            true => format!("seed-{}", cell.seed),
            false => format!("{name}-seed-{}", cell.seed),
        };
        let record = folder.record(&name, self.capture, self.trace)?;
        let RecordTo { capture, trace, .. } = record;
        Ok(Watching { capture, trace, ..Watching::default() })
    }

    /// The tables that flags ask for.
    fn records(&self, cells: &[Cell]) -> Result<Records, Failure> {
        let has_media = cells.iter().any(|cell| cell.scenario.has_media());
        if self.frames.is_some() && !has_media {
            return Err(Failure::usage(
                "--frames: no flow has kind = \"media\" or \"television\", so there are none",
            ));
        }
        let table = |flag: &str, file: Option<&Path>, columns: &[Column]| -> Result<_, Failure> {
            let Some(file) = file else { return Ok(Mutex::new(None)) };
            if cells.len() != 1 {
                return Err(Failure::usage(format!(
                    "--{flag} is for one run, and there are {}: give --seeds 1, and no --sweep",
                    cells.len()
                )));
            }
            let file = TableFile::create(file)
                .map_err(|error| Failure::usage(format!("--{flag}: {error}")))?;
            let rows: Box<dyn Rows> = Box::new(Table::new(columns, file)?);
            Ok(Mutex::new(Some(rows)))
        };
        let packets = table("packets", self.packets.as_deref(), &PACKET_COLUMNS)?;
        let frames = table("frames", self.frames.as_deref(), &FRAME_COLUMNS)?;
        Ok(Records { packets, frames })
    }
}
