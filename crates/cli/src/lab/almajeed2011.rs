//! `anabranch lab almajeed2011`: one video over several DCCP connections.

use std::num::NonZeroUsize;
use std::str::FromStr;

use anabranch_lab::Parameters;
use anabranch_lab::almajeed2011::{
    self as experiment, Carrier, Cell, Experiment, Measured, Outcome, Scenario, Setup, Values,
    Variation,
};
use clap::Args;

use super::common::{Common, Paper, run};
use super::folder::Folder;
use super::runner::thread_time;
use super::runs::{Given, Runs};
use crate::failure::Failure;
use crate::output;

/// One video over one to eight DCCP connections from a WiMAX cell (Al-Majeed and Fleury, 2011):
/// tables 3 to 10 and figures 2 to 5 beside the paper's, SCTP in the same cells, and a report.
#[derive(Debug, Args)]
pub(crate) struct Almajeed2011 {
    #[command(flatten)]
    common: Common,
    /// Only where the video goes to the base station, through the core network, or from user to
    /// user: station, core or user.
    #[arg(long, value_name = "NAME")]
    scenario: Option<Scenario>,
    /// Only this cell: scenario, connections (or auto, sctp, or over two cells multipath or
    /// sctp-two), length of a frame in milliseconds, losses in the bad state in per cent, and seed.
    /// It gives the same to the last digit.
    #[arg(long, value_name = "SCENARIO,N,MS,PERCENT,SEED",
          conflicts_with_all = ["seeds", "scenario"])]
    cell: Option<Place>,
    /// Only the first N pictures of the video.
    #[arg(long, value_name = "N")]
    pictures: Option<NonZeroUsize>,
}

type Results = Vec<(Cell, Measured)>;
type Varied = Vec<(Variation, Cell, Outcome)>;

/// A cell as it is named in a command.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place(Cell);

/// The lengths of a frame that the paper has, in microseconds.
const FRAMES_US: [u32; 4] = [5_000, 8_000, 12_500, 20_000];

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let [scenario, carrier, frame, loss, seed] = text.split(',').collect::<Vec<_>>()[..] else {
            return Err("write five values with commas, as in core,4,20,5,1".to_owned());
        };
        let ours = Carrier::OURS.into_iter().find(|it| it.name() == carrier);
        let carrier = match (ours, carrier.parse()) {
            (Some(ours), _) => ours,
            (None, Ok(connections @ 1..=64)) => Carrier::Dccp(connections),
            (None, _) => {
                let names = "1 to 64, auto, sctp, multipath or sctp-two";
                return Err(format!("'{carrier}' carries nothing: give {names}"));
            }
        };
        let frame_us = FRAMES_US.into_iter().find(|us| frame.parse() == Ok(f64::from(*us) / 1e3));
        let frame_us =
            frame_us.ok_or_else(|| format!("no frame has {frame} ms: there are 5, 8, 12.5, 20"))?;
        let loss = loss.parse().ok().filter(|percent| *percent <= 100);
        let bad_loss_percent = loss.ok_or("the losses are per cent: give 0 to 100")?;
        let seed = seed.parse().map_err(|_| format!("'{seed}' is no seed: give a whole number"))?;
        Ok(Self(Cell { scenario: scenario.parse()?, carrier, frame_us, bad_loss_percent, seed }))
    }
}

impl Almajeed2011 {
    pub(crate) fn run(self) -> Result<(), Failure> {
        run(&self)
    }

    fn run_cells(
        &self,
        setup: &Setup,
        runs: &mut Runs<'_>,
    ) -> Result<Option<(Results, Varied)>, Failure> {
        let cells = self.cells();
        let is_whole = self.cell.is_none() && self.scenario.is_none() && setup.are_papers();
        let varied: Vec<_> = match is_whole {
            true => Variation::cells(self.common.seeds).collect(),
            false => Vec::new(),
        };
        let video = format!("almajeed2011 {:?}", self.pictures);
        let mut runs = runs.begin(video, cells.len(), varied.len())?;
        let file = |_: &Cell| "cell".to_owned();
        let results = runs.run(&cells, file, |cell, to| cell.run_recorded(setup, to))?;
        let varied = runs.vary(&varied, |variation, cell| variation.run(cell, setup))?;
        let without_time = |varied: Vec<(Variation, Cell, (Outcome, f64))>| {
            varied.into_iter().map(|(variation, cell, (outcome, _))| (variation, cell, outcome))
        };
        Ok(results.zip(varied.map(|varied| without_time(varied).collect())))
    }

    fn cells(&self) -> Vec<Cell> {
        if let Some(Place(cell)) = self.cell {
            return vec![cell];
        }
        let is_chosen = |cell: &Cell| self.scenario.is_none_or(|it| it == cell.scenario);
        experiment::cells(self.common.seeds).into_iter().filter(is_chosen).collect()
    }
}

impl Paper for Almajeed2011 {
    type Values = Values;

    fn common(&self) -> &Common {
        &self.common
    }

    fn command(&self) -> String {
        let chosen = match (self.cell, self.scenario) {
            (Some(Place(cell)), _) => format!("--cell {}", cell.place()),
            (None, None) => format!("--seeds {}", self.common.seeds),
            (None, Some(it)) => format!("--seeds {} --scenario {}", self.common.seeds, it.name()),
        };
        let pictures = self.pictures.map(|count| format!(" --pictures {count}"));
        format!("anabranch lab almajeed2011 {chosen}{}", pictures.unwrap_or_default())
    }

    fn check(&self, _: &Parameters<Values>) -> Result<(), Failure> {
        self.common.check_cells(self.cells().len())
    }

    fn run_with(
        &self,
        parameters: Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let pictures = self.pictures.map(NonZeroUsize::get);
        let begun = thread_time();
        let setup = Setup::with(parameters, pictures).map_err(Failure::failed)?;
        let setup = setup.clocked(thread_time);
        let decoding = thread_time().saturating_sub(begun);
        let given = self.run_cells(&setup, runs)?;
        runs.tally.scoring += decoding + setup.scoring_time();
        let Some((results, varied)) = given else { return Ok(None) };
        let command = self.command() + &setup.flag();
        let experiment = Experiment { command, setup: &setup, results, varied };
        output::print(&experiment::tables(&setup, &experiment.rows()))?;
        output::print(&experiment::beside_table(&experiment.beside()))?;
        output::print(&experiment::statements_table(&experiment.statements()))?;
        let cells = experiment::cells_csv(&setup, &experiment.results).map_err(Failure::failed)?;
        if let Some(folder) = runs.folder {
            write(folder, &experiment, &cells)?;
        }
        Ok(Some(cells))
    }
}

impl Given for Measured {
    fn simulated_s(&self) -> f64 {
        self.simulated_s
    }
}

/// Of a cell that is varied, the outcome and the simulated seconds.
impl Given for (Outcome, f64) {
    fn simulated_s(&self) -> f64 {
        self.1
    }
}

fn write(folder: &Folder, experiment: &Experiment<'_>, cells: &[u8]) -> Result<(), Failure> {
    let Experiment { varied, .. } = experiment;
    folder.write("cells.csv", cells)?;
    if !varied.is_empty() {
        let table = experiment::variations_csv(varied).map_err(Failure::failed)?;
        folder.write("variations.csv", &table)?;
    }
    for figure in experiment.figures().map_err(Failure::failed)? {
        folder.write(&format!("{}.svg", figure.name), figure.svg.as_bytes())?;
    }
    let page = experiment.report(crate::VERSION).map_err(Failure::failed)?;
    folder.write("report.html", page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_named_by_five_values() {
        let expected = Cell {
            scenario: Scenario::UserToUser,
            carrier: Carrier::Dccp(6),
            frame_us: 12_500,
            bad_loss_percent: 5,
            seed: 3,
        };
        assert_eq!("user,6,12.5,5,3".parse(), Ok(Place(expected)));
        for carrier in Carrier::OURS {
            let cell = Cell { carrier, ..expected };
            assert_eq!(cell.place().parse(), Ok(Place(cell)));
        }
        for (text, words) in [
            ("user,6,12.5,5", "write five values with commas, as in core,4,20,5,1"),
            ("home,6,12.5,5,3", "there is no scenario 'home': there are station, core, user"),
            (
                "user,0,12.5,5,3",
                "'0' carries nothing: give 1 to 64, auto, sctp, multipath or sctp-two",
            ),
            ("user,6,10,5,3", "no frame has 10 ms: there are 5, 8, 12.5, 20"),
            ("user,6,20,500,3", "the losses are per cent: give 0 to 100"),
            ("user,6,20,5,x", "'x' is no seed: give a whole number"),
        ] {
            assert_eq!(text.parse::<Place>(), Err(words.to_owned()), "{text}");
        }
    }
}
