//! `anabranch lab plot`: a figure of many runs.

use std::fs;
use std::path::PathBuf;

use anabranch_lab::scenario::{Axes, plot};
use clap::Args;

use crate::failure::Failure;
use crate::output;

/// Draws one value of many runs over another, with 95 % intervals, as SVG.
#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// The folder that lab run --out or lab merge wrote.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// From left to right: what was swept, as bottleneck.loss; its last part will do.
    #[arg(long, value_name = "COLUMN")]
    x: String,
    /// Upwards: a column of runs.csv, as goodput, delay.p95, share, lost or first.
    #[arg(long, value_name = "COLUMN")]
    y: String,
    /// A line for each value of this column.
    #[arg(long, value_name = "COLUMN", default_value = "flow")]
    by: String,
    /// Of this flow only, where lines are by something else.
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Writes there, instead of to standard output.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Plot {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = self.folder.join("runs.csv");
        let about = |file: &PathBuf, reason: String| {
            Failure::failed(format!("{}: {reason}", file.display()))
        };
        let table = fs::read(&file).map_err(|error| about(&file, error.to_string()))?;
        let axes = Axes { x: self.x, y: self.y, by: self.by, flow: self.flow };
        let svg = plot(&table, &axes).map_err(|error| about(&file, error.to_string()))?;
        match &self.svg {
            None => Ok(output::print(&svg)?),
            Some(file) => fs::write(file, svg).map_err(|error| about(file, error.to_string())),
        }
    }
}
