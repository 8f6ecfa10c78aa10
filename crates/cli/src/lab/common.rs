//! [`Common`]: what the papers' experiments are asked alike.

use std::num::NonZeroUsize;

use clap::Args;

use super::folder::Folder;
use super::parameters::Changes;
use crate::failure::Failure;
use anabranch_lab::RecordTo;

/// What the papers' experiments are asked alike.
#[derive(Debug, Clone, Args)]
pub(super) struct Common {
    /// Runs each cell with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(super) seeds: u64,
    #[command(flatten)]
    pub(super) changes: Changes,
    /// Cells that run at once. The results are the same for any number.
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<NonZeroUsize>,
}

/// Files for what is recorded of a cell, as far as there is a folder and it is asked for.
pub(super) fn record(
    folder: Option<&Folder>,
    name: &str,
    capture: bool,
    trace: bool,
) -> Result<RecordTo, Failure> {
    match folder {
        Some(folder) => folder.record(name, capture, trace),
        None => Ok(RecordTo::default()),
    }
}
