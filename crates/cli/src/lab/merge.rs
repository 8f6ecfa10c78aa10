//! `anabranch lab merge`: what several machines ran becomes one.

use std::ffi::OsString;
use std::path::PathBuf;

use anabranch_lab::scenario::{Run, tables};
use clap::{Args, Parser};

use super::Lab;
use super::store::{Of, Plan, Store};
use crate::failure::Failure;
use crate::output;

/// Joins what several machines ran of one scenario or experiment: prints its tables, and writes
/// what one machine would have written.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The folders that --shard wrote; one may be given that all wrote to.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Writes into this folder.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// A command of the lab by itself.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    lab: Lab,
}

impl Merge {
    /// Puts all runs into one folder. Of an experiment, returns the command that makes its tables
    /// of them.
    pub(super) fn run(self) -> Result<Option<Lab>, Failure> {
        let stores: Vec<Store> =
            self.folders.iter().map(|path| Store::open(path)).collect::<Result<_, _>>()?;
        let plan = self.plan(&stores)?;
        plan.check_known(&stores)?;
        match &plan.of {
            Of::Scenario { set, seeds } => {
                self.merge_scenario(&plan, &stores, set, seeds)?;
                Ok(None)
            }
            Of::Paper { arguments } => self.merge_paper(&plan, &stores, arguments).map(Some),
        }
    }

    /// What all of the folders are parts of.
    fn plan(&self, stores: &[Store]) -> Result<Plan, Failure> {
        let mut plans = stores.iter().map(Store::plan);
        let Some(first) = plans.next() else { return Err(Failure::usage("no folder: give one")) };
        let plan = first?;
        for (other, path) in plans.zip(self.folders.iter().skip(1)) {
            if other? != plan {
                let (first, path) = (self.folders[0].display(), path.display());
                return Err(Failure::failed(format!(
                    "{path} is of another scenario, sweep or build than {first}: merge those \
                     of one"
                )));
            }
        }
        Ok(plan)
    }

    fn merge_scenario(
        &self,
        plan: &Plan,
        stores: &[Store],
        set: &[(String, String)],
        seeds: &[u64],
    ) -> Result<(), Failure> {
        let text = stores[0].scenario()?;
        let out = self.take(plan, stores)?;
        out.write_scenario(&text)?;
        let mut runs = Vec::new();
        for (planned, seed) in plan.runs.iter().zip(seeds) {
            let outcome = out.known(&planned.name).ok_or_else(|| plan.missing(&[planned]))?;
            runs.push(Run { point: planned.point.clone(), seed: *seed, outcome });
        }
        output::print(&tables(&runs))?;
        out.report(&text, set, &runs)
    }

    fn merge_paper(
        &self,
        plan: &Plan,
        stores: &[Store],
        arguments: &[String],
    ) -> Result<Lab, Failure> {
        let words = ["lab".to_owned()].into_iter().chain(arguments.iter().cloned());
        let words = words.map(OsString::from);
        let out = ["--out".into(), self.out.clone().into_os_string()];
        let line = Line::try_parse_from(words.chain(out)).map_err(Failure::failed)?;
        self.take(plan, stores)?;
        Ok(line.lab)
    }

    /// Copies all runs into the folder that is asked for.
    fn take(&self, plan: &Plan, stores: &[Store]) -> Result<Store, Failure> {
        let out = Store::create(&self.out, false)?;
        for run in &plan.runs {
            if let Some(from) = stores.iter().find(|store| store.has(&run.name)) {
                out.copy(&run.name, from)?;
            }
        }
        out.write_plan(plan)?;
        Ok(out)
    }
}
