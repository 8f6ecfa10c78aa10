//! `anabranch lab kim2007`: IPTV over SCTP, PR-SCTP, UDP and TCP.

mod live;

use std::num::NonZeroU64;
use std::str::FromStr;

use anabranch_lab::kim2007::{
    self as experiment, Carrier, Cell, Experiment, GROUPS, LiveSwitch, Outcome, Scenario, Values,
    Variation,
};
use anabranch_lab::{Parameters, statements_table};
use clap::Args;

use super::common::{Common, Paper, run};
use super::folder::Folder;
use super::parameters::listed;
use super::runs::{Given, Runs};
use crate::failure::Failure;
use crate::output;

/// IPTV over SCTP, PR-SCTP, UDP and TCP (Kim and others, 2007): figures 8 to 12 beside what the
/// paper says of them, and a report.
#[derive(Debug, Args)]
pub(crate) struct Kim2007 {
    #[command(flatten)]
    common: Common,
    /// Only these figures: 8 to 12. Figures 8 and 9 are one test.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = figure)]
    figure: Vec<Scenario>,
    /// Only these carriers, by the names in the tables.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    carrier: Vec<Carrier>,
    /// Only this point of a figure (its loss in %, number of streams or delay in ms) with this
    /// seed: what any run of them gives, again to the last digit.
    #[arg(long, value_name = "FIGURE,POINT,SEED", conflicts_with_all = ["seeds", "figure"])]
    cell: Option<Place>,
    /// Presses so many keys at each delay of figure 12 for real, too: `anabranch serve`, native
    /// viewers and emulated links between them, in real time. On an idle machine.
    #[arg(long, value_name = "KEYS", num_args = 0..=1, default_missing_value = "10",
          conflicts_with_all = ["sweep", "shard"])]
    live: Option<NonZeroU64>,
}

type Results = Vec<(Cell, Outcome)>;
type Varied = Vec<(Variation, Cell, Outcome)>;

/// A point of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    scenario: Scenario,
    point: u32,
    seed: u64,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let [number, point, seed] = text.split(',').collect::<Vec<_>>()[..] else {
            return Err("write figure, point and seed with commas, as in 8,10,1".to_owned());
        };
        let scenario = figure(number)?;
        Ok(Self {
            scenario,
            point: point.parse().map_err(|_| format!("'{point}' is no point of a figure"))?,
            seed: seed.parse().map_err(|_| format!("'{seed}' is no seed: give a whole number"))?,
        })
    }
}

impl Kim2007 {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        // Before keys are pressed for minutes.
        self.common.changes.read::<Values>()?;
        let live = match self.live {
            Some(keys) if !self.common.changes.are_listed() => live::run(keys).await?,
            _ => Vec::new(),
        };
        run(&WithLive { asked: &self, live })
    }

    /// As [`Paper::command`].
    fn command(&self) -> String {
        let mut command = "anabranch lab kim2007".to_owned();
        let mut add = |name: &str, value: Option<String>| {
            let value = value.map(|value| format!(" --{name} {value}"));
            command.push_str(&value.unwrap_or_default());
        };
        let figures: Vec<_> = self.figure.iter().map(|it| it.figure().to_string()).collect();
        let carriers: Vec<_> = self.carrier.iter().map(ToString::to_string).collect();
        let cell =
            |Place { scenario, point, seed }| format!("{},{point},{seed}", scenario.figure());
        add("cell", self.cell.map(cell));
        add("seeds", self.cell.is_none().then(|| self.common.seeds.to_string()));
        add("figure", (!figures.is_empty()).then(|| figures.join(",")));
        add("carrier", (!carriers.is_empty()).then(|| carriers.join(",")));
        add("live", self.live.map(|keys| keys.to_string()));
        command
    }

    /// Whether the point that is asked for is in its figure.
    fn check_point(&self, values: &Values) -> Result<(), Failure> {
        let Some(Place { scenario, point, .. }) = self.cell else { return Ok(()) };
        let points = values.points(scenario);
        if points.contains(&point) {
            return Ok(());
        }
        let number = scenario.figure();
        Err(Failure::usage(format!("figure {number} has no {point}: it has {}", listed(points))))
    }

    fn run_cells(
        &self,
        parameters: &Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<(Results, Varied)>, Failure> {
        let cells = self.cells(parameters.values());
        let is_whole = self.cell.is_none() && self.figure.is_empty() && self.carrier.is_empty();
        let varied: Vec<_> = match is_whole && parameters.are_papers() {
            true => GROUPS.iter().flat_map(|group| group.cells(self.common.seeds)).collect(),
            false => Vec::new(),
        };
        let mut runs = runs.begin("kim2007".to_owned(), cells.len(), varied.len())?;
        let results = runs.run(&cells, Cell::name, |cell, to| cell.run_recorded(parameters, to))?;
        let varied = runs.vary(&varied, |variation, cell| variation.run(cell))?;
        Ok(results.zip(varied))
    }

    fn cells(&self, values: &Values) -> Vec<Cell> {
        let is_chosen =
            |cell: &Cell| self.carrier.is_empty() || self.carrier.contains(&cell.carrier);
        if let Some(Place { scenario, point, seed }) = self.cell {
            let cells = values.cells_of_seed(scenario, seed).into_iter();
            return cells.filter(|cell| cell.point() == point).filter(is_chosen).collect();
        }
        let is_asked =
            |scenario: &Scenario| self.figure.is_empty() || self.figure.contains(scenario);
        let scenarios = Scenario::ALL.into_iter().filter(is_asked);
        let cells = scenarios.flat_map(|scenario| values.cells(scenario, self.common.seeds));
        cells.filter(is_chosen).collect()
    }
}

/// What is asked for, and what came of keys that were pressed for real.
struct WithLive<'a> {
    asked: &'a Kim2007,
    live: Vec<LiveSwitch>,
}

impl Paper for WithLive<'_> {
    type Values = Values;

    fn common(&self) -> &Common {
        &self.asked.common
    }

    fn command(&self) -> String {
        self.asked.command()
    }

    fn check(&self, parameters: &Parameters<Values>) -> Result<(), Failure> {
        self.asked.check_point(parameters.values())?;
        self.common().check_cells(self.asked.cells(parameters.values()).len())
    }

    fn run_with(
        &self,
        parameters: Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let ran = self.asked.run_cells(&parameters, runs)?;
        let Some((results, varied)) = ran else { return Ok(None) };
        let rows = experiment::rows(&results);
        if let Some(said) = parameters.said() {
            output::print(&format!("{said}\n\n"))?;
        }
        output::print(&experiment::tables(&rows))?;
        if parameters.are_papers() {
            let statements = experiment::statements(&rows);
            output::print(&statements_table(&statements))?;
        }
        if !self.live.is_empty() {
            output::print(&experiment::live_table(&self.live))?;
        }
        let cells = experiment::cells_csv(&parameters, &results).map_err(Failure::failed)?;
        if let Some(folder) = runs.folder {
            let command = self.command() + &parameters.flag();
            let live = self.live.clone();
            let experiment = Experiment { command, parameters, results, varied, live };
            write(folder, &experiment, &cells)?;
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
    if !experiment.varied.is_empty() {
        let table = experiment::variations_csv(&experiment.varied);
        folder.write("variations.csv", &table.map_err(Failure::failed)?)?;
    }
    let rows = experiment::rows(&experiment.results);
    if !experiment.live.is_empty() {
        let keys = experiment::live_csv(&experiment.live).map_err(Failure::failed)?;
        folder.write("live.csv", &keys)?;
        let (name, svg) =
            experiment::live_figure(&experiment.live, &rows).map_err(Failure::failed)?;
        folder.write(&format!("{name}.svg"), svg.as_bytes())?;
    }
    let figures = experiment::figures(&rows).map_err(Failure::failed)?;
    for (name, svg) in figures.iter().flat_map(|figure| &figure.graphs) {
        folder.write(&format!("{name}.svg"), svg.as_bytes())?;
    }
    let page = experiment.report(crate::VERSION).map_err(Failure::failed)?;
    folder.write("report.html", page.as_bytes())
}

fn figure(text: &str) -> Result<Scenario, String> {
    let asked = text.parse().ok().and_then(Scenario::of_figure);
    asked.ok_or_else(|| "the experiments are in figures 8 to 12".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        experiment: Kim2007,
    }

    fn parsed(line: &str) -> Kim2007 {
        let line = format!("lab {line}");
        Line::try_parse_from(line.split_whitespace()).unwrap().experiment
    }

    fn cells(line: &str) -> Vec<Cell> {
        let experiment = parsed(line);
        let parameters = experiment.common.changes.read::<Values>().unwrap();
        experiment.cells(parameters.values())
    }

    #[test]
    fn points_are_those_of_the_figure_or_what_is_set() {
        let check = |line: &str| {
            let experiment = parsed(line);
            let parameters = experiment.common.changes.read::<Values>().unwrap();
            experiment.check_point(parameters.values()).map_err(|error| format!("{error:?}"))
        };
        let error = check("--cell 11,2,1").unwrap_err();
        assert!(error.contains("figure 11 has no 2: it has 0, 1, 3, 5, 10"), "{error}");
        assert_eq!(check("--cell 11,2,1 --set channels-loss=2%"), Ok(()));
        assert_eq!(cells("--figure 8 --carrier UDP --seeds 1 --set loss=20%,30%").len(), 2);
    }

    #[test]
    fn without_a_choice_every_figure_is_run_with_every_seed() {
        let points = 6 * 11 + 4 * 4 * 10 + 3 * 5 + 3 * 10;
        assert_eq!(cells("").len(), points * 10);
    }

    #[test]
    fn choices_leave_what_was_asked_for() {
        let cells = cells("--figure 12,11,9 --carrier SCTP --seeds 2");
        let count = |scenario| cells.iter().filter(|cell| cell.scenario == scenario).count();
        assert_eq!(Scenario::ALL.map(count), [22, 0, 10, 20]);
        assert!(cells.iter().all(|cell| cell.carrier == Carrier::Sctp));
    }

    #[test]
    fn one_cell_is_chosen_by_figure_point_and_seed() {
        let cells = cells("--cell 10,3,7 --carrier SCTP");
        let seen: Vec<_> =
            cells.iter().map(|cell| (cell.streams, cell.loss_percent, cell.seed)).collect();
        assert_eq!(seen, [1, 3, 5, 10].map(|loss| (3, loss, 7)), "a line for each loss");
    }

    #[test]
    fn the_report_names_the_command_that_gives_the_same_again() {
        for line in ["--figure 8,12 --carrier TCP,UDP --seeds 2", "--cell 9,10,3", ""] {
            let command = parsed(&format!("{line} --jobs 3")).command();
            let again = command.strip_prefix("anabranch lab kim2007").unwrap();
            assert_eq!(cells(again), cells(line));
            assert!(!command.contains("jobs"), "{command}");
        }
    }

    #[test]
    fn what_no_figure_has_is_refused_in_words() {
        for (line, words) in [
            ("--figure 7", "the experiments are in figures 8 to 12"),
            ("--carrier DCCP", "there is no carrier 'DCCP'"),
            ("--cell 8,10", "write figure, point and seed with commas, as in 8,10,1"),
            ("--cell 11,many,1", "'many' is no point of a figure"),
            ("--cell 8,10,x", "'x' is no seed: give a whole number"),
            ("--cell 8,10,1 --seeds 3", "cannot be used with '--seeds <N>'"),
            ("--capture --out somewhere", "--cell <FIGURE,POINT,SEED>"),
        ] {
            let parsed = Line::try_parse_from(format!("lab {line}").split_whitespace());
            let error = parsed.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
