//! `anabranch lab huseynli2023`: a receive queue of four levels.

use std::str::FromStr;

use anabranch_lab::huseynli2023::{
    self as experiment, Cell, Experiment, LastHop, Method, Outcome, Source, Values, Variation,
};
use anabranch_lab::{Parameters, statements_table};
use clap::Args;

use super::common::{Common, Paper, run};
use super::folder::Folder;
use super::runs::{Given, Runs};
use crate::failure::Failure;
use crate::output;

/// SCTP-PQ, a receive queue of four levels (Hüseynli and others, 2023): figures 7 to 11 for SCTP,
/// the paper's list and ours, beside what the paper says of them, and a report.
#[derive(Debug, Args)]
pub(crate) struct Huseynli2023 {
    #[command(flatten)]
    common: Common,
    /// Only these methods, by the names in the tables.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    method: Vec<Method>,
    /// Only this source (constant, pictures) over this network (wired, wireless) with this seed:
    /// what any run of them gives, again to the last digit.
    #[arg(long, value_name = "SOURCE,NETWORK,SEED", conflicts_with = "seeds")]
    cell: Option<Place>,
    /// Only the tables' cells, and none with a parameter chosen otherwise.
    #[arg(long)]
    tables: bool,
}

/// A source, a network and a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    source: Source,
    last_hop: LastHop,
    seed: u64,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let [source, last_hop, seed] = text.split(',').collect::<Vec<_>>()[..] else {
            return Err("write source, network and seed with commas, as in constant,wired,1".into());
        };
        Ok(Self {
            source: source.parse()?,
            last_hop: last_hop.parse()?,
            seed: seed.parse().map_err(|_| format!("'{seed}' is no seed: give a whole number"))?,
        })
    }
}

impl Huseynli2023 {
    pub(crate) fn run(self) -> Result<(), Failure> {
        run(&self)
    }

    fn run_cells(
        &self,
        parameters: &Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<Vec<(Cell, Outcome)>>, Failure> {
        let cells = self.cells(parameters.are_papers());
        let mut runs = runs.begin("huseynli2023".to_owned(), cells.len(), 0)?;
        runs.run(&cells, Cell::name, |cell, to| cell.run_recorded(parameters, to))
    }

    /// With what is varied, where all is asked for and nothing is set.
    fn cells(&self, are_papers: bool) -> Vec<Cell> {
        let is_chosen = |cell: &Cell| self.method.is_empty() || self.method.contains(&cell.method);
        if let Some(Place { source, last_hop, seed }) = self.cell {
            let variation = Variation::AsRun;
            let cell = |method| Cell { source, last_hop, variation, method, seed };
            return Method::ALL.map(cell).into_iter().filter(is_chosen).collect();
        }
        let mut cells = experiment::cells(self.common.seeds);
        if are_papers && !self.tables {
            cells.extend(experiment::variations(self.common.seeds));
        }
        cells.retain(is_chosen);
        cells
    }
}

impl Paper for Huseynli2023 {
    type Values = Values;

    fn common(&self) -> &Common {
        &self.common
    }

    fn command(&self) -> String {
        let mut command = "anabranch lab huseynli2023".to_owned();
        let methods: Vec<_> = self.method.iter().map(ToString::to_string).collect();
        match self.cell {
            Some(Place { source, last_hop, seed }) => {
                command.push_str(&format!(" --cell {source},{last_hop},{seed}"));
            }
            None => command.push_str(&format!(" --seeds {}", self.common.seeds)),
        }
        if !methods.is_empty() {
            command.push_str(&format!(" --method {}", methods.join(",")));
        }
        if self.tables {
            command.push_str(" --tables");
        }
        command
    }

    fn check(&self, parameters: &Parameters<Values>) -> Result<(), Failure> {
        self.common.check_cells(self.cells(parameters.are_papers()).len())
    }

    fn run_with(
        &self,
        parameters: Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let Some(results) = self.run_cells(&parameters, runs)? else { return Ok(None) };
        let rows = experiment::rows(&results);
        if let Some(said) = parameters.said() {
            output::print(&format!("{said}\n\n"))?;
        }
        output::print(&experiment::tables(&rows))?;
        if parameters.are_papers() {
            output::print(&statements_table(&experiment::statements(&rows)))?;
        }
        let cells = experiment::cells_csv(&parameters, &results).map_err(Failure::failed)?;
        if let Some(folder) = runs.folder {
            let command = self.command() + &parameters.flag();
            write(folder, &Experiment { command, parameters, results }, &cells)?;
        }
        Ok(Some(cells))
    }
}

impl Given for Outcome {
    fn simulated_s(&self) -> f64 {
        self.duration_s as f64
    }
}

fn write(folder: &Folder, experiment: &Experiment, cells: &[u8]) -> Result<(), Failure> {
    folder.write("cells.csv", cells)?;
    let seconds = experiment::seconds_csv(&experiment.results);
    folder.write("seconds.csv", &seconds.map_err(Failure::failed)?)?;
    let rows = experiment::rows(&experiment.results);
    let graphs = experiment::figures(&experiment.results, &rows).map_err(Failure::failed)?;
    for (name, svg) in &graphs {
        folder.write(&format!("{name}.svg"), svg.as_bytes())?;
    }
    let page = experiment.report(crate::VERSION).map_err(Failure::failed)?;
    folder.write("report.html", page.as_bytes())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        experiment: Huseynli2023,
    }

    fn parsed(line: &str) -> Huseynli2023 {
        let line = format!("lab {line}");
        Line::try_parse_from(line.split_whitespace()).unwrap().experiment
    }

    fn cells(line: &str) -> Vec<Cell> {
        parsed(line).cells(true)
    }

    #[test]
    fn choices_leave_what_was_asked_for() {
        assert_eq!(cells("--tables").len(), 2 * 2 * 3 * 10);
        let one = cells("--cell pictures,wireless,7 --method SCTP-PQ");
        let [Cell { source, last_hop, seed, .. }] = one[..] else { panic!("{one:?}") };
        assert_eq!((source, last_hop, seed), (Source::Pictures, LastHop::Wireless, 7));
        let varied = cells("--seeds 1").len();
        assert!(varied > 60, "{varied}");
        assert_eq!(parsed("--seeds 1").cells(false).len(), 12, "something is set");
    }

    #[test]
    fn the_report_names_the_command_that_gives_the_same_again() {
        for line in ["--method SCTP --seeds 2", "--cell constant,wired,3", "--tables"] {
            let command = parsed(&format!("{line} --jobs 3")).command();
            let again = command.strip_prefix("anabranch lab huseynli2023").unwrap();
            assert_eq!(cells(again), cells(line));
            assert!(!command.contains("jobs"), "{command}");
        }
    }

    #[test]
    fn what_there_is_not_is_refused_in_words() {
        for (line, words) in [
            ("--method PQ", "there is no method 'PQ': give one of SCTP, SCTP-PQ, Anabranch"),
            ("--cell constant,1", "write source, network and seed with commas"),
            ("--cell film,wired,1", "there is no source 'film': give pictures or constant"),
            ("--cell constant,air,1", "there is no network 'air': give wired or wireless"),
            ("--cell constant,wired,x", "'x' is no seed: give a whole number"),
            ("--cell constant,wired,1 --seeds 3", "cannot be used with '--seeds <N>'"),
            ("--capture --out somewhere", "--cell <SOURCE,NETWORK,SEED>"),
        ] {
            let parsed = Line::try_parse_from(format!("lab {line}").split_whitespace());
            let error = parsed.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
