//! `anabranch lab plot`: a figure of many runs.

use std::fs;
use std::path::PathBuf;

use anabranch_lab::scenario::{Axes, plot};
use clap::Args;

use super::run::one;
use crate::failure::Failure;
use crate::output;

/// What has a line for each run, of scenarios and of papers' experiments.
const TABLES: [&str; 3] = ["runs.csv", "sweep.csv", "cells.csv"];

/// Draws one value of many runs over another, with 95 % intervals, as SVG.
#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// The folder that lab run --out, lab merge or a paper's experiment wrote.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// From left to right: what was swept, as bottleneck.loss; its last part will do.
    #[arg(long, value_name = "COLUMN")]
    x: String,
    /// Upwards: a column of the folder's table (runs.csv, or a paper's sweep.csv or cells.csv), as
    /// goodput, delay.p95, share, lost or first.
    #[arg(long, value_name = "COLUMN")]
    y: String,
    /// A line for each value of this column.
    #[arg(long, value_name = "COLUMN", default_value = "flow")]
    by: String,
    /// Of this flow only, where lines are by something else.
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Only of what has this value in this column, as bottleneck.delay=20ms. May be given several
    /// times.
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = one)]
    only: Vec<(String, String)>,
    /// Writes there, instead of to standard output.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Plot {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let tables = TABLES.map(|name| self.folder.join(name));
        let [runs, ..] = &tables;
        let file = tables.iter().find(|file| file.is_file()).unwrap_or(runs).clone();
        let about = |file: &PathBuf, reason: String| {
            Failure::failed(format!("{}: {reason}", file.display()))
        };
        let table = fs::read(&file).map_err(|error| about(&file, error.to_string()))?;
        let axes = Axes { x: self.x, y: self.y, by: self.by, flow: self.flow, only: self.only };
        let svg = plot(&table, &axes).map_err(|error| about(&file, error.to_string()))?;
        match &self.svg {
            None => Ok(output::print(&svg)?),
            Some(file) => fs::write(file, svg).map_err(|error| about(file, error.to_string())),
        }
    }
}
