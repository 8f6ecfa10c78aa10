//! `anabranch lab ortiz2013`: layered video over SCTP with several streams and paths.

use std::num::NonZeroUsize;
use std::str::FromStr;

use anabranch_lab::Parameters;
use anabranch_lab::ortiz2013::{
    self as experiment, Cell, Experiment, Measured, Setup, Source, Strategy, Values, Variation,
};
use clap::{Args, ValueEnum};

use super::common::{Common, Paper, run};
use super::folder::Folder;
use super::parameters::listed;
use super::runs::{Given, Runs};
use crate::failure::Failure;
use crate::output;

/// Layered video over SCTP, RTP and TCP on two links (Ortiz and others, 2013): tables 2 to 5 beside
/// the paper's, its figures, and a report.
#[derive(Debug, Args)]
pub(crate) struct Ortiz2013 {
    #[command(flatten)]
    common: Common,
    /// Only these strategies, by the names in the tables.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    strategy: Vec<Strategy>,
    /// Only links of this rate, in Mbit/s: 30, 45 or 60.
    #[arg(long)]
    mbps: Option<f64>,
    /// Only links with this packet error rate: 0, 0.0001, 0.001 or 0.01.
    #[arg(long)]
    loss: Option<f64>,
    /// Only this rate, loss and seed: what any run of them gives, again to the last digit.
    #[arg(long, value_name = "MBPS,LOSS,SEED", conflicts_with_all = ["seeds", "mbps", "loss"])]
    cell: Option<Place>,
    /// The rates of the video.
    #[arg(long, value_enum, default_value_t = Rates::Congested)]
    source: Rates,
    /// Only the first N pictures of the video: losses begin after 500.
    #[arg(long, value_name = "N")]
    pictures: Option<NonZeroUsize>,
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
    mbps: f64,
    loss: f64,
    seed: u64,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let [mbps, loss, seed] = text.split(',').collect::<Vec<_>>()[..] else {
            return Err("write rate, loss and seed with commas, as in 30,0.01,1".to_owned());
        };
        let seed = seed.parse().map_err(|_| format!("'{seed}' is no seed: give a whole number"))?;
        let number = |text: &str, what| {
            text.parse().map_err(|_| format!("'{text}' is no {what}: give a number"))
        };
        Ok(Self { mbps: number(mbps, "rate")?, loss: number(loss, "loss")?, seed })
    }
}

impl Ortiz2013 {
    pub(crate) fn run(self) -> Result<(), Failure> {
        run(&self)
    }

    /// Whether the places that are asked for are in the tables, or in what is set instead.
    fn check_places(&self, values: &Values) -> Result<(), Failure> {
        let rates = values.rates_mbps();
        let mbps = self.mbps.or(self.cell.map(|place| place.mbps));
        if let Some(mbps) = mbps.filter(|mbps| !rates.contains(mbps)) {
            let known = listed(&rates);
            return Err(Failure::usage(format!("no links have {mbps} Mbit/s: there are {known}")));
        }
        let loss = self.loss.or(self.cell.map(|place| place.loss));
        if let Some(loss) = loss.filter(|loss| !values.losses().contains(loss)) {
            let known = listed(values.losses());
            return Err(Failure::usage(format!(
                "no links have a loss of {loss}: there are {known}"
            )));
        }
        Ok(())
    }

    fn setup(&self, parameters: Parameters<Values>) -> Setup {
        let source = match self.source {
            Rates::Congested => Source::Congested,
            Rates::Literal => Source::Literal,
            Rates::Plain => Source::Plain,
        };
        let setup = Setup::with(source, parameters);
        match self.pictures {
            Some(pictures) => setup.cut_after(pictures.get()),
            None => setup,
        }
    }

    fn run_cells(
        &self,
        setup: &Setup,
        runs: &mut Runs<'_>,
    ) -> Result<Option<(Results, Varied)>, Failure> {
        let cells = self.cells(setup.values());
        let varied: Vec<_> = match self.is_whole() && setup.are_papers() {
            true => Variation::cells(self.common.seeds).collect(),
            false => Vec::new(),
        };
        let video = format!("ortiz2013 {:?} {:?}", self.source, self.pictures);
        let mut runs = runs.begin(video, cells.len(), varied.len())?;
        let file = |cell: &Cell| cell.strategy.to_string();
        let results = runs.run(&cells, file, |cell, to| cell.run_recorded(setup, to))?;
        let varied = runs.vary(&varied, |variation, cell| variation.run(cell, setup))?;
        Ok(results.zip(varied))
    }

    /// Whether all of the tables is run.
    fn is_whole(&self) -> bool {
        let is_narrowed = self.cell.is_some() || self.mbps.is_some() || self.loss.is_some();
        self.strategy.is_empty() && !is_narrowed
    }

    fn cells(&self, values: &Values) -> Vec<Cell> {
        let is_chosen =
            |strategy: &Strategy| self.strategy.is_empty() || self.strategy.contains(strategy);
        let strategies: Vec<_> = Strategy::ALL.into_iter().filter(is_chosen).collect();
        if let Some(Place { mbps, loss, seed }) = self.cell {
            let cell = |strategy: &Strategy| Cell { strategy: *strategy, mbps, loss, seed };
            return strategies.iter().map(cell).collect();
        }
        let mut cells = experiment::cells(values, &strategies, self.common.seeds);
        cells.retain(|cell| self.mbps.is_none_or(|mbps| mbps.total_cmp(&cell.mbps).is_eq()));
        cells.retain(|cell| self.loss.is_none_or(|loss| loss.total_cmp(&cell.loss).is_eq()));
        cells
    }
}

impl Paper for Ortiz2013 {
    type Values = Values;

    fn common(&self) -> &Common {
        &self.common
    }

    fn command(&self) -> String {
        let mut command = "anabranch lab ortiz2013".to_owned();
        let mut add = |name: &str, value: Option<String>| {
            let value = value.map(|value| format!(" --{name} {value}"));
            command.push_str(&value.unwrap_or_default());
        };
        let names: Vec<_> = self.strategy.iter().map(ToString::to_string).collect();
        add("cell", self.cell.map(|Place { mbps, loss, seed }| format!("{mbps},{loss},{seed}")));
        add("seeds", self.cell.is_none().then(|| self.common.seeds.to_string()));
        add("strategy", (!names.is_empty()).then(|| names.join(",")));
        add("mbps", self.mbps.map(|mbps| mbps.to_string()));
        add("loss", self.loss.map(|loss| loss.to_string()));
        add("source", self.source.to_possible_value().map(|value| value.get_name().to_owned()));
        add("pictures", self.pictures.map(|pictures| pictures.to_string()));
        command
    }

    fn check(&self, parameters: &Parameters<Values>) -> Result<(), Failure> {
        self.check_places(parameters.values())?;
        self.common.check_cells(self.cells(parameters.values()).len())
    }

    fn run_with(
        &self,
        parameters: Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let setup = self.setup(parameters);
        let Some((results, varied)) = self.run_cells(&setup, runs)? else { return Ok(None) };
        let rows = experiment::rows(&results);
        output::print(&experiment::tables(&setup, &rows))?;
        let standings = experiment::standings(&rows, setup.full_psnr_y_db());
        output::print(&experiment::standings_table(&standings, &setup))?;
        let cells = experiment::cells_csv(&setup, &results).map_err(Failure::failed)?;
        if let Some(folder) = runs.folder {
            let command = self.command() + &setup.flag();
            let experiment = Experiment { command, setup: &setup, results, varied };
            write(folder, &experiment, &cells)?;
        }
        Ok(Some(cells))
    }
}

impl Given for Measured {
    fn simulated_s(&self) -> f64 {
        self.outcome.duration_s as f64
    }
}

fn write(folder: &Folder, experiment: &Experiment<'_>, cells: &[u8]) -> Result<(), Failure> {
    let results = &experiment.results;
    folder.write("cells.csv", cells)?;
    let seconds = experiment::seconds_csv(experiment.setup, results);
    folder.write("seconds.csv", &seconds.map_err(Failure::failed)?)?;
    if !experiment.varied.is_empty() {
        let table = experiment::variations_csv(&experiment.varied);
        folder.write("variations.csv", &table.map_err(Failure::failed)?)?;
    }
    for (cell, measured) in experiment.drawn() {
        let svg = experiment::figure(experiment.setup, cell, measured).map_err(Failure::failed)?;
        let name = format!("{}.svg", experiment::figure_name(cell.strategy));
        folder.write(&name, svg.as_bytes())?;
    }
    let page = experiment.report(crate::VERSION).map_err(Failure::failed)?;
    folder.write("report.html", page.as_bytes())
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

    fn parsed(line: &str) -> Ortiz2013 {
        let line = format!("lab {line}");
        Line::try_parse_from(line.split_whitespace()).unwrap().experiment
    }

    fn cells(line: &str) -> Vec<Cell> {
        let experiment = parsed(line);
        let parameters = experiment.common.changes.read::<Values>().unwrap();
        experiment.cells(parameters.values())
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
        assert_eq!(cells, [Cell { strategy, mbps: 30.0, loss: 0.01, seed: 7 }]);
    }

    #[test]
    fn the_report_names_the_command_that_gives_the_same_again() {
        for line in [
            "--strategy RTP --loss 0.01 --source plain --seeds 2",
            "--strategy RTP --source plain --set rate=20M,loss=2%,queue=200p",
        ] {
            let experiment = parsed(&format!("{line} --jobs 3"));
            let setup = experiment.setup(experiment.common.changes.read().unwrap());
            let command = experiment.command() + &setup.flag();
            let again = command.strip_prefix("anabranch lab ortiz2013 ").unwrap();
            assert_eq!(cells(again), cells(line));
            assert_eq!(
                parsed(again).common.changes.read::<Values>().ok(),
                experiment.common.changes.read().ok()
            );
            assert!(!command.contains("jobs") && command.contains("--source plain"), "{command}");
        }
    }

    #[test]
    fn places_that_are_not_there_are_refused_in_words() {
        for (line, words) in [
            ("--mbps 31", "no links have 31 Mbit/s: there are 30, 45, 60"),
            ("--loss 0.02", "no links have a loss of 0.02: there are 0, 0.0001, 0.001, 0.01"),
            ("--cell 30,0.01,1 --set rate=20M", "no links have 30 Mbit/s: there are 20"),
        ] {
            let experiment = parsed(line);
            let values = experiment.common.changes.read::<Values>().unwrap();
            let error = experiment.check_places(values.values()).unwrap_err();
            assert!(format!("{error:?}").contains(words), "{error:?}");
        }
        assert_eq!(cells("--set rate=20M,loss=2% --strategy RTP --seeds 1").len(), 1);
    }

    #[test]
    fn what_no_table_has_is_refused_in_words() {
        for (line, words) in [
            ("--strategy UDP", "there is no strategy 'UDP'"),
            ("--cell 30,0.01", "write rate, loss and seed with commas, as in 30,0.01,1"),
            ("--cell fast,0.01,1", "'fast' is no rate: give a number"),
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
