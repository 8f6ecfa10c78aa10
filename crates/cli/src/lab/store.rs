//! [`Store`]: the runs that are known already, and what is to be run in all.

use std::fs;
use std::path::{Path, PathBuf};

use anabranch_lab::scenario::{About, Run, csv, report};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use crate::failure::Failure;

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
pub(super) struct Plan {
    /// With the commit: see `build.rs`.
    version: String,
    pub(super) of: Of,
    pub(super) runs: Vec<PlannedRun>,
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Of {
    /// The one beside the plan.
    Scenario {
        set: Vec<(String, String)>,
        /// Of each run.
        seeds: Vec<u64>,
    },
    Paper {
        /// Of `anabranch lab`, without the folder and the shard.
        arguments: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PlannedRun {
    /// What of it is swept.
    pub(super) point: Vec<(String, String)>,
    /// Which it is beside that, in words.
    pub(super) cell: String,
    /// What it is kept under.
    pub(super) name: String,
}

impl Store {
    /// Makes the folder where it is not. With `again`, nothing in it counts as known.
    pub(super) fn create(path: &Path, again: bool) -> Result<Self, Failure> {
        let folder = Folder::create(path)?;
        Folder::create(&path.join("runs"))?;
        Ok(Self { folder, path: path.to_owned(), again })
    }

    /// A folder that is there.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        match path.join("runs").is_dir() {
            true => Self::create(path, false),
            false => Err(Failure::failed(format!(
                "{} is no folder that lab wrote with --out: it has no runs",
                path.display()
            ))),
        }
    }

    pub(super) const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What a run of this name gave. A file that cannot be read is no outcome: it is run again.
    pub(super) fn known<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let text = fs::read(self.file(name)).ok().filter(|_| !self.again)?;
        serde_json::from_slice(&text).ok()
    }

    /// Whether it is known what a run of this name gave.
    pub(super) fn has(&self, name: &str) -> bool {
        self.known::<IgnoredAny>(name).is_some()
    }

    /// Keeps what a run gave. Whoever reads at the same time sees all of it or nothing.
    pub(super) fn keep<T: Serialize>(&self, name: &str, outcome: &T) -> Result<(), Failure> {
        let text = serde_json::to_vec(outcome).map_err(Failure::failed)?;
        self.replace(&self.file(name), &text)
    }

    /// Keeps what another folder has of a run.
    pub(super) fn copy(&self, name: &str, from: &Self) -> Result<(), Failure> {
        let file = from.file(name);
        let text = fs::read(&file).map_err(|error| cannot_read(&file, &error.to_string()))?;
        self.replace(&self.file(name), &text)
    }

    /// Writes what is to be run in all.
    pub(super) fn write_plan(&self, plan: &Plan) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(plan).map_err(Failure::failed)?;
        self.replace(&self.path.join(PLAN), &text)
    }

    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        let plan = serde_json::from_str(&self.read(PLAN)?);
        plan.map_err(|error| cannot_read(&self.path.join(PLAN), &error.to_string()))
    }

    pub(super) fn write_scenario(&self, text: &str) -> Result<(), Failure> {
        self.replace(&self.path.join(SCENARIO), text.as_bytes())
    }

    pub(super) fn scenario(&self) -> Result<String, Failure> {
        self.read(SCENARIO)
    }

    /// Writes what all runs of a scenario gave, as a table and as a page.
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

    fn read(&self, name: &str) -> Result<String, Failure> {
        let file = self.path.join(name);
        fs::read_to_string(&file).map_err(|error| cannot_read(&file, &error.to_string()))
    }

    /// Shards may share a folder: each writes beside the file and renames.
    fn replace(&self, file: &Path, content: &[u8]) -> Result<(), Failure> {
        let beside = file.with_extension(format!("{}.part", std::process::id()));
        let written = fs::write(&beside, content).and_then(|()| fs::rename(&beside, file));
        written.map_err(|error| {
            // What a full disk took is no use to anybody.
            let _gone = fs::remove_file(&beside);
            Failure::failed(format!("cannot write {}: {error}", file.display()))
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join("runs").join(format!("{name}.json"))
    }
}

impl Plan {
    pub(super) fn new(of: Of, runs: Vec<PlannedRun>) -> Self {
        Self { version: crate::VERSION.to_owned(), of, runs }
    }

    /// Refuses to go on where one of these has no outcome.
    pub(super) fn check_known(&self, stores: &[Store]) -> Result<(), Failure> {
        let is_missing = |run: &&PlannedRun| !stores.iter().any(|store| store.has(&run.name));
        let missing: Vec<_> = self.runs.iter().filter(is_missing).collect();
        if missing.is_empty() { Ok(()) } else { Err(self.missing(&missing)) }
    }

    pub(super) fn missing(&self, missing: &[&PlannedRun]) -> Failure {
        let (count, all) = (missing.len(), self.runs.len());
        let first = missing.first().map(|run| said(&run.point) + &run.cell).unwrap_or_default();
        Failure::failed(format!(
            "{count} of {all} runs are missing, the first is {first}: run their shards too"
        ))
    }
}

/// What is swept, in words, with a blank behind it.
pub(super) fn said(point: &[(String, String)]) -> String {
    point.iter().map(|(key, value)| format!("{key}={value} ")).collect()
}

fn cannot_read(file: &Path, reason: &str) -> Failure {
    Failure::failed(format!("cannot read {}: {reason}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_a_kept_number_came_back_with_another_last_digit() {
        let path = std::env::temp_dir().join(format!("anabranch-{}-store", std::process::id()));
        let store = Store::create(&path, false).unwrap();
        let numbers: Vec<f64> = (1..=1_000).map(|n| f64::from(n) / 91.0).collect();
        store.keep("numbers", &numbers).unwrap();
        let known = store.known::<Vec<f64>>("numbers");
        fs::remove_dir_all(&path).unwrap();
        assert!(known.is_some_and(|known| known.iter().eq(&numbers)));
    }
}
