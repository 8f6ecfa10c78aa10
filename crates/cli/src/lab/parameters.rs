//! [`Changes`]: `--set` and `--parameters`, the same for every experiment.

use anabranch_lab::{Parameters, Settings, parameters_table};
use clap::Args;

use super::run::Sweep;
use crate::failure::Failure;
use crate::output;

/// What an experiment's parameters are to be.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Changes {
    /// Changes parameters, such as rate=20M,delay=40ms; --parameters lists them. What is compared
    /// with the paper's numbers is left out then, and so is what varies single parameters.
    #[arg(long, value_name = "NAME=VALUE,...")]
    set: Vec<String>,
    /// Runs all of it with each of these values: rate=20M,40M, or from the first to the last by
    /// steps, delay=20ms..100ms:20ms. Of several sweeps, all combinations. With --out, each has a
    /// folder of its own, and sweep.csv the cells of all.
    #[arg(long, value_name = "NAME=VALUES")]
    sweep: Vec<Sweep>,
    /// Prints all parameters, with the paper's values, and runs nothing.
    #[arg(long)]
    parameters: bool,
}

/// What is run at once: the parameters, and what of them was swept.
pub(super) struct Point<S> {
    pub(super) swept: Vec<(String, String)>,
    pub(super) parameters: Parameters<S>,
}

impl Changes {
    /// What is to be run, one after the other; `None` where parameters were only to be listed,
    /// which is done.
    pub(super) fn points<S: Settings>(&self) -> Result<Option<Vec<Point<S>>>, Failure> {
        if self.parameters {
            output::print(&parameters_table::<S>())?;
            return Ok(None);
        }
        let points = Sweep::points(&self.sweep).into_iter();
        points.map(|swept| self.point(swept)).collect::<Result<_, _>>().map(Some)
    }

    pub(super) const fn is_sweep(&self) -> bool {
        !self.sweep.is_empty()
    }

    /// As arguments of a command.
    pub(super) fn arguments(&self) -> impl Iterator<Item = String> {
        let set = self.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]);
        let sweep = self.sweep.iter().flat_map(|sweep| ["--sweep".to_owned(), sweep.to_string()]);
        set.chain(sweep)
    }

    /// Whether they are only to be listed.
    pub(super) const fn are_listed(&self) -> bool {
        self.parameters
    }

    /// The parameters with what is set.
    pub(super) fn read<S: Settings>(&self) -> Result<Parameters<S>, Failure> {
        Ok(self.point(Vec::new())?.parameters)
    }

    fn point<S: Settings>(&self, swept: Vec<(String, String)>) -> Result<Point<S>, Failure> {
        let more: Vec<String> =
            swept.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let set = self.set.iter().chain(&more).map(String::as_str);
        let flag = if swept.is_empty() { "--set" } else { "--sweep" };
        let parameters = Parameters::read(set);
        let parameters = parameters.map_err(|error| Failure::usage(format!("{flag}: {error}")))?;
        Ok(Point { swept, parameters })
    }
}

/// Values as they are said in a refusal.
pub(super) fn listed<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
