//! `anabranch lab ortiz2013`: layered video over SCTP with several streams and paths.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use anabranch_lab::ortiz2013::{
    self as experiment, Cell, Experiment, LOSSES, Measured, RATES_MBPS, Source, Strategy,
    Variation, Video,
};
use clap::{Args, ValueEnum};

use super::folder::Folder;
use super::runner::{Runner, speed};
use crate::failure::Failure;
use crate::output;

/// Layered video over SCTP, RTP and TCP on two links (Ortiz and others, 2013): tables 2 to 5 beside
/// the paper's, its figures, and a report.
#[derive(Debug, Args)]
pub(crate) struct Ortiz2013 {
    /// Runs each cell with the seeds 1 to N.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,
    /// Writes into this folder: report.html, all of it on one page; figures as SVG; cells.csv, a
    /// line for each cell; seconds.csv, a line for each second of each cell; variations.csv, if the
    /// tables are run whole, a line for each cell with a parameter chosen otherwise.
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
    /// Only this rate, loss and seed: what any run of them gives, again to the last digit.
    #[arg(long, value_name = "MBPS,LOSS,SEED", conflicts_with_all = ["seeds", "mbps", "loss"])]
    cell: Option<Place>,
    /// Writes all packets of the cell too, each as it leaves its link, as STRATEGY.pcapng.
    #[arg(long, requires = "cell", requires = "out")]
    capture: bool,
    /// Writes what both ends of each strategy do and why, as qlog; `anabranch lab trace` explains a
    /// run by it.
    #[arg(long, requires = "cell", requires = "out")]
    trace: bool,
    /// The rates of the video.
    #[arg(long, value_enum, default_value_t = Rates::Congested)]
    source: Rates,
    /// Only the first N frames of the video: losses begin after 500.
    #[arg(long, value_name = "N")]
    frames: Option<NonZeroUsize>,
    /// Cells that run at once. The results are the same for any number.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

type Results = Vec<(Cell, Measured)>;
type Varied = Vec<(Variation, Cell, Measured)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rates {
    /// Those of the paper's video: for 13 s more than 30 Mbit/s.
    Congested,
    /// The same with 6.8 and 23.5 Mbit/s read as base layer and enhancement: 30.3 in all.
    Literal,
    /// Its own: never more than the links carry.
    Plain,
}

/// A cell of every strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    mbps: u32,
    loss: f64,
    seed: u64,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let [mbps, loss_text, seed] = text.split(',').collect::<Vec<_>>()[..] else {
            return Err("write rate, loss and seed with commas, as in 30,0.01,1".to_owned());
        };
        let seed = seed.parse().map_err(|_| format!("'{seed}' is no seed: give a whole number"))?;
        Ok(Self { mbps: rate(mbps)?, loss: loss(loss_text)?, seed })
    }
}

impl Ortiz2013 {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let folder = self.out.as_deref().map(Folder::create).transpose()?;
        let video = self.video();
        let (results, varied) = self.run_cells(&video, folder.as_ref())?;
        let rows = experiment::rows(&results);
        output::print(&experiment::tables(&rows))?;
        let standings = experiment::standings(&rows, video.full_psnr_y_db());
        output::print(&experiment::standings_table(&standings))?;
        let simulated = results.iter().map(|(_, measured)| measured);
        let simulated = simulated.chain(varied.iter().map(|(_, _, measured)| measured));
        output::print(&speed(simulated.map(|measured| measured.outcome.duration_s).sum()))?;
        let Some(folder) = folder else { return Ok(()) };
        write(&folder, &Experiment { command: self.command(), video: &video, results, varied })
    }

    /// What gives the same results: neither the number of jobs nor the folder is part of it.
    fn command(&self) -> String {
        let mut command = "anabranch lab ortiz2013".to_owned();
        let mut add = |name: &str, value: Option<String>| {
            let value = value.map(|value| format!(" --{name} {value}"));
            command.push_str(&value.unwrap_or_default());
        };
        let names: Vec<_> = self.strategy.iter().map(ToString::to_string).collect();
        add("cell", self.cell.map(|Place { mbps, loss, seed }| format!("{mbps},{loss},{seed}")));
        add("seeds", self.cell.is_none().then(|| self.seeds.to_string()));
        add("strategy", (!names.is_empty()).then(|| names.join(",")));
        add("mbps", self.mbps.map(|mbps| mbps.to_string()));
        add("loss", self.loss.map(|loss| loss.to_string()));
        add("source", self.source.to_possible_value().map(|value| value.get_name().to_owned()));
        add("frames", self.frames.map(|frames| frames.to_string()));
        command
    }

    fn video(&self) -> Video {
        let video = Video::new(match self.source {
            Rates::Congested => Source::Congested,
            Rates::Literal => Source::Literal,
            Rates::Plain => Source::Plain,
        });
        match self.frames {
            Some(frames) => video.cut_after(frames.get()),
            None => video,
        }
    }

    fn run_cells(
        &self,
        video: &Video,
        folder: Option<&Folder>,
    ) -> Result<(Results, Varied), Failure> {
        let cells = self.cells();
        let varied: Vec<_> = match self.is_whole() {
            true => Variation::cells(self.seeds).collect(),
            false => Vec::new(),
        };
        let runner = Runner::new(self.jobs, cells.len() + varied.len())?;
        let run = |cell: &Cell| Ok((*cell, self.run_cell(cell, video, folder)?));
        let vary = |(variation, cell): &(Variation, Cell)| {
            let measured = variation.run(cell, video).map_err(Failure::failed)?;
            Ok((*variation, *cell, measured))
        };
        Ok((runner.run(&cells, run)?, runner.run(&varied, vary)?))
    }

    /// Whether all of the tables is run.
    fn is_whole(&self) -> bool {
        let is_narrowed = self.cell.is_some() || self.mbps.is_some() || self.loss.is_some();
        self.strategy.is_empty() && !is_narrowed
    }

    fn run_cell(
        &self,
        cell: &Cell,
        video: &Video,
        folder: Option<&Folder>,
    ) -> Result<Measured, Failure> {
        let measured = match folder {
            Some(folder) => {
                let name = cell.strategy.to_string();
                let to = folder.record(&name, self.capture, self.trace)?;
                cell.run_recorded(video, to)
            }
            None => cell.run(video),
        };
        measured.map_err(Failure::failed)
    }

    fn cells(&self) -> Vec<Cell> {
        let is_chosen =
            |strategy: &Strategy| self.strategy.is_empty() || self.strategy.contains(strategy);
        let strategies: Vec<_> = Strategy::ALL.into_iter().filter(is_chosen).collect();
        if let Some(Place { mbps, loss, seed }) = self.cell {
            let cell = |strategy: &Strategy| Cell { strategy: *strategy, mbps, loss, seed };
            return strategies.iter().map(cell).collect();
        }
        let mut cells = experiment::cells(&strategies, self.seeds);
        cells.retain(|cell| self.mbps.is_none_or(|mbps| mbps == cell.mbps));
        cells.retain(|cell| self.loss.is_none_or(|loss| loss.total_cmp(&cell.loss).is_eq()));
        cells
    }
}

fn write(folder: &Folder, experiment: &Experiment<'_>) -> Result<(), Failure> {
    let results = &experiment.results;
    let cells = experiment::cells_csv(experiment.video, results);
    folder.write("cells.csv", &cells.map_err(Failure::failed)?)?;
    folder.write("seconds.csv", &experiment::seconds_csv(results).map_err(Failure::failed)?)?;
    if !experiment.varied.is_empty() {
        let table = experiment::variations_csv(&experiment.varied);
        folder.write("variations.csv", &table.map_err(Failure::failed)?)?;
    }
    for (cell, measured) in experiment.drawn() {
        let svg = experiment::figure(cell, measured).map_err(Failure::failed)?;
        let name = format!("{}.svg", experiment::figure_name(cell.strategy));
        folder.write(&name, svg.as_bytes())?;
    }
    folder.write("report.html", experiment.report().map_err(Failure::failed)?.as_bytes())
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
        let cells = cells("--strategy RTP,RTPMulti,RTP --mbps 45 --loss 0.001 --seeds 2");
        let seen: Vec<_> = cells.iter().map(|cell| (cell.strategy, cell.seed)).collect();
        let [rtp, multi] = [RtpStrategy::Single, RtpStrategy::Multi].map(Strategy::Rtp);
        assert_eq!(seen, [(multi, 1), (multi, 2), (rtp, 1), (rtp, 2)], "in the tables' order");
    }

    #[test]
    fn one_cell_is_chosen_by_rate_loss_and_seed() {
        let cells = cells("--cell 30,0.01,7 --strategy RTP");
        let strategy = Strategy::Rtp(RtpStrategy::Single);
        assert_eq!(cells, [Cell { strategy, mbps: 30, loss: 0.01, seed: 7 }]);
    }

    #[test]
    fn the_report_names_the_command_that_gives_the_same_again() {
        let line = "--strategy RTP --loss 0.01 --source plain --seeds 2";
        let parsed = Line::try_parse_from(format!("lab {line} --jobs 3").split_whitespace());
        let command = parsed.unwrap().experiment.command();
        let again = command.strip_prefix("anabranch lab ortiz2013 ").unwrap();
        assert_eq!(cells(again), cells(line));
        assert!(!command.contains("jobs") && command.contains("--source plain"), "{command}");
    }

    #[test]
    fn what_no_table_has_is_refused_in_words() {
        for (line, words) in [
            ("--mbps 31", "the tables have [30, 45, 60]"),
            ("--loss 0.02", "the tables have [0.0, 0.0001, 0.001, 0.01]"),
            ("--strategy UDP", "there is no strategy 'UDP'"),
            ("--cell 30,0.01", "write rate, loss and seed with commas, as in 30,0.01,1"),
            ("--cell 30,0.01,x", "'x' is no seed: give a whole number"),
            ("--cell 30,0.01,1 --seeds 3", "cannot be used with '--seeds <N>'"),
            ("--capture --out somewhere", "--cell <MBPS,LOSS,SEED>"),
        ] {
            let parsed = Line::try_parse_from(format!("lab {line}").split_whitespace());
            let error = parsed.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
