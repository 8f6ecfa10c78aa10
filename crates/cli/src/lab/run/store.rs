//! [`Store`]: the runs that are known already, and what is to be run in all.

use std::fs;
use std::path::{Path, PathBuf};

use anabranch_lab::scenario::{About, Outcome, Run, csv, report, tables};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::{Cell, Folder, said};
use crate::failure::Failure;
use crate::output;

const PLAN: &str = "plan.json";
const SCENARIO: &str = "scenario.toml";

/// A folder with a file for each run that is known.
pub(super) struct Store {
    folder: Folder,
    path: PathBuf,
    again: bool,
}

/// All that is to be run, whoever runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    /// With the commit: see `build.rs`.
    version: String,
    set: Vec<(String, String)>,
    runs: Vec<PlannedRun>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PlannedRun {
    point: Vec<(String, String)>,
    seed: u64,
    name: String,
}

impl Store {
    /// Makes the folder where it is not. With `again`, nothing in it counts as known.
    pub(super) fn create(path: &Path, again: bool) -> Result<Self, Failure> {
        let folder = Folder::create(path)?;
        Folder::create(&path.join("runs"))?;
        Ok(Self { folder, path: path.to_owned(), again })
    }

    pub(super) const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What a run of this name gave. A file that cannot be read is no outcome: it is run again.
    pub(super) fn known(&self, name: &str) -> Option<Outcome> {
        let text = fs::read(self.file(name)).ok().filter(|_| !self.again)?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps what a run gave. Whoever reads at the same time sees all of it or nothing.
    pub(super) fn keep(&self, name: &str, outcome: &Outcome) -> Result<(), Failure> {
        let text = serde_json::to_vec(outcome).map_err(Failure::failed)?;
        self.replace(&self.file(name), &text)
    }

    /// Writes what is to be run in all.
    pub(super) fn write_plan(
        &self,
        text: &str,
        set: &[(String, String)],
        cells: &[Cell],
    ) -> Result<(), Failure> {
        let run = |cell: &Cell| PlannedRun {
            point: cell.point.clone(),
            seed: cell.seed,
            name: cell.scenario.run_name(cell.seed, crate::VERSION),
        };
        let plan = Plan {
            version: crate::VERSION.to_owned(),
            set: set.to_vec(),
            runs: cells.iter().map(run).collect(),
        };
        self.write(text, &plan)
    }

    /// Writes what all runs gave, as a table and as a page.
    pub(super) fn report(
        &self,
        text: &str,
        set: &[(String, String)],
        runs: &[Run],
    ) -> Result<(), Failure> {
        self.folder.write("runs.csv", &csv(runs).map_err(Failure::failed)?)?;
        let about = About { version: crate::VERSION, text, set };
        let page = report(&about, runs).map_err(Failure::failed)?;
        self.folder.write("report.html", page.as_bytes())
    }

    fn write(&self, text: &str, plan: &Plan) -> Result<(), Failure> {
        let plan = serde_json::to_vec_pretty(plan).map_err(Failure::failed)?;
        self.replace(&self.path.join(PLAN), &plan)?;
        self.replace(&self.path.join(SCENARIO), text.as_bytes())
    }

    /// Shards may share a folder: each writes beside the file and renames.
    fn replace(&self, file: &Path, content: &[u8]) -> Result<(), Failure> {
        let beside = file.with_extension(format!("{}.part", std::process::id()));
        let written = fs::write(&beside, content).and_then(|()| fs::rename(&beside, file));
        written
            .map_err(|error| Failure::failed(format!("cannot write {}: {error}", file.display())))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join("runs").join(format!("{name}.json"))
    }
}

/// Joins what several machines ran of one scenario: prints its tables, and writes runs.csv.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The folders that lab run --shard wrote; one may be given that all wrote to.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Writes into this folder.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Merge {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let stores: Vec<Store> =
            self.folders.iter().map(|path| Store::open(path)).collect::<Result<_, _>>()?;
        let (plan, text) = self.plan()?;
        let mut runs = Vec::new();
        let mut missing = Vec::new();
        for planned in &plan.runs {
            match stores.iter().find_map(|store| store.known(&planned.name)) {
                Some(outcome) => {
                    runs.push(Run { point: planned.point.clone(), seed: planned.seed, outcome });
                }
                None => missing.push(planned),
            }
        }
        if let Some(first) = missing.first() {
            let (count, all) = (missing.len(), plan.runs.len());
            return Err(Failure::failed(format!(
                "{count} of {all} runs are missing, the first is {}seed {}: run their shards too",
                said(&first.point),
                first.seed
            )));
        }
        let out = Store::create(&self.out, false)?;
        for (planned, run) in plan.runs.iter().zip(&runs) {
            out.keep(&planned.name, &run.outcome)?;
        }
        out.write(&text, &plan)?;
        output::print(&tables(&runs))?;
        out.report(&text, &plan.set, &runs)
    }

    /// What all of the folders are parts of.
    fn plan(&self) -> Result<(Plan, String), Failure> {
        let mut plans = self.folders.iter().map(|path| read_plan(path));
        let Some(first) = plans.next() else { return Err(Failure::usage("no folder: give one")) };
        let (plan, text) = first?;
        for (other, path) in plans.zip(self.folders.iter().skip(1)) {
            if other?.0 != plan {
                let (first, path) = (self.folders[0].display(), path.display());
                return Err(Failure::failed(format!(
                    "{path} is of another scenario, sweep or build than {first}: merge those \
                     of one"
                )));
            }
        }
        Ok((plan, text))
    }
}

impl Store {
    /// A folder that is there.
    fn open(path: &Path) -> Result<Self, Failure> {
        match path.join("runs").is_dir() {
            true => Self::create(path, false),
            false => Err(Failure::failed(format!(
                "{} is no folder of lab run --out: it has no runs",
                path.display()
            ))),
        }
    }
}

fn read_plan(path: &Path) -> Result<(Plan, String), Failure> {
    let about = |file: &str, reason: String| {
        Failure::failed(format!("cannot read {}: {reason}", path.join(file).display()))
    };
    let read = |file: &str| {
        fs::read_to_string(path.join(file)).map_err(|error| about(file, error.to_string()))
    };
    let plan =
        serde_json::from_str(&read(PLAN)?).map_err(|error| about(PLAN, error.to_string()))?;
    Ok((plan, read(SCENARIO)?))
}
