//! `anabranch lab ortiz2013`: layered video over SCTP with several streams and paths.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use anabranch_lab::ortiz2013::{
    self as experiment, Cell, CellError, LOSSES, Outcome, RATES_MBPS, Source, Strategy, Video,
};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::failure::Failure;
use crate::output;

/// Layered video over SCTP and RTP on two links (Ortiz and others, 2013): tables 2 to 5 beside the
/// paper's.
#[derive(Debug, Args)]
pub(crate) struct Ortiz2013 {
    /// Runs each cell with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,
    /// Writes cells.csv, a line for each cell, into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only these strategies, by the names in the tables.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    strategy: Vec<Strategy>,
    /// Only links of this rate, in Mbit/s: 30, 45 or 60.
    #[arg(long, value_parser = rate)]
    mbps: Option<u32>,
    /// Only links with this packet error rate: 0, 0.0001, 0.001 or 0.01.
    #[arg(long, value_parser = loss)]
    loss: Option<f64>,
    /// The rates of the video.
    #[arg(long, value_enum, default_value_t = Rates::Congested)]
    source: Rates,
    /// Cells that run at once. The results are the same for any number.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rates {
    /// Those of the paper's video: for 13 s more than 30 Mbit/s.
    Congested,
    /// Its own: never more than the links carry.
    Plain,
}

impl Ortiz2013 {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(out) = &self.out {
            fs::create_dir_all(out).map_err(|error| cannot_write(out, &error))?;
        }
        let video = Video::new(match self.source {
            Rates::Congested => Source::Congested,
            Rates::Plain => Source::Plain,
        });
        let results = self.run_cells(&video)?;
        output::print(&experiment::tables(&experiment::rows(&results)))?;
        let Some(out) = &self.out else { return Ok(()) };
        let path = out.join("cells.csv");
        let table = experiment::csv(&results).map_err(Failure::failed)?;
        fs::write(&path, table).map_err(|error| cannot_write(&path, &error))
    }

    fn run_cells(&self, video: &Video) -> Result<Vec<(Cell, Outcome)>, Failure> {
        let cells = self.cells();
        let jobs = self.jobs.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
        let pool = pool.map_err(Failure::failed)?;
        // Hidden where stderr is no terminal.
        let progress = ProgressBar::new(cells.len() as u64).with_style(
            ProgressStyle::with_template("{pos} of {len} cells {wide_bar} {eta} left")
                .map_err(Failure::failed)?,
        );
        let run = |cell: &Cell| {
            let outcome = cell.run(video)?;
            progress.inc(1);
            Ok((*cell, outcome))
        };
        let results: Result<_, CellError> = pool.install(|| cells.par_iter().map(run).collect());
        progress.finish_and_clear();
        results.map_err(Failure::failed)
    }

    fn cells(&self) -> Vec<Cell> {
        let all = Strategy::ALL.to_vec();
        let strategies = if self.strategy.is_empty() { &all } else { &self.strategy };
        let mut cells = experiment::cells(strategies, self.seeds);
        cells.retain(|cell| self.mbps.is_none_or(|mbps| mbps == cell.mbps));
        cells.retain(|cell| self.loss.is_none_or(|loss| loss.total_cmp(&cell.loss).is_eq()));
        cells
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot write {}: {error}", path.display()))
}

fn rate(text: &str) -> Result<u32, String> {
    let known = RATES_MBPS.into_iter().find(|mbps| mbps.to_string() == text);
    known.ok_or_else(|| format!("the tables have {RATES_MBPS:?}"))
}

fn loss(text: &str) -> Result<f64, String> {
    let asked: Option<f64> = text.parse().ok();
    let known = LOSSES.into_iter().find(|loss| asked == Some(*loss));
    known.ok_or_else(|| format!("the tables have {LOSSES:?}"))
}

#[cfg(test)]
mod tests {
    use anabranch_lab::ortiz2013::RtpStrategy;
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        experiment: Ortiz2013,
    }

    fn cells(line: &str) -> Vec<Cell> {
        let line = format!("lab {line}");
        Line::try_parse_from(line.split_whitespace()).unwrap().experiment.cells()
    }

    #[test]
    fn without_a_choice_every_cell_is_run_with_every_seed() {
        assert_eq!(cells("").len(), Strategy::ALL.len() * 12 * 10);
    }

    #[test]
    fn choices_leave_what_was_asked_for() {
        let cells = cells("--strategy RTP,RTPMulti --mbps 45 --loss 0.001 --seeds 2");
        let seen: Vec<_> = cells.iter().map(|cell| (cell.strategy, cell.seed)).collect();
        let [rtp, multi] = [RtpStrategy::Single, RtpStrategy::Multi].map(Strategy::Rtp);
        assert_eq!(seen, [(rtp, 1), (rtp, 2), (multi, 1), (multi, 2)]);
    }

    #[test]
    fn what_no_table_has_is_refused_in_words() {
        for (line, words) in [
            ("--mbps 31", "the tables have [30, 45, 60]"),
            ("--loss 0.02", "the tables have [0.0, 0.0001, 0.001, 0.01]"),
            ("--strategy UDP", "there is no strategy 'UDP'"),
        ] {
            let parsed = Line::try_parse_from(format!("lab {line}").split_whitespace());
            let error = parsed.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
