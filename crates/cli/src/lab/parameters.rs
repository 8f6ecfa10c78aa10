//! [`Changes`]: `--set` and `--parameters`, the same for every experiment.

use anabranch_lab::{Parameters, Settings, parameters_table};
use clap::Args;

use crate::failure::Failure;
use crate::output;

/// What an experiment's parameters are to be.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Changes {
    /// Changes parameters, such as rate=20M,delay=40ms; --parameters lists them. What is compared
    /// with the paper's numbers is left out then, and so is what varies single parameters.
    #[arg(long, value_name = "NAME=VALUE,...")]
    set: Vec<String>,
    /// Prints all parameters, with the paper's values, and runs nothing.
    #[arg(long)]
    parameters: bool,
}

impl Changes {
    /// The parameters with what is set; `None` where they were only to be listed, which is done.
    pub(super) fn parameters<S: Settings>(&self) -> Result<Option<Parameters<S>>, Failure> {
        if self.parameters {
            output::print(&parameters_table::<S>())?;
            return Ok(None);
        }
        self.read().map(Some)
    }

    /// The parameters with what is set.
    pub(super) fn read<S: Settings>(&self) -> Result<Parameters<S>, Failure> {
        let set = self.set.iter().map(String::as_str);
        Parameters::read(set).map_err(|error| Failure::usage(format!("--set: {error}")))
    }
}

/// Values as they are said in a refusal.
pub(super) fn listed<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
