//! `anabranch lab chang2010`: calls that go on when a path dies.

mod live;

use std::num::NonZeroUsize;

use anabranch_lab::chang2010::{
    self as experiment, Cell, Experiment, Method, Outcome, Values, Variation, is_live, live_cells,
};
use anabranch_lab::{Parameters, statements_table};
use clap::Args;

use super::common::{Common, Paper, run};
use super::folder::Folder;
use super::runs::{Given, Runs};
use crate::failure::Failure;
use crate::output;

/// Calls over timed PR-SCTP that go on when a path dies (Chang and others, 2010): tables 3 and 4
/// and figure 13 beside the paper's, why its handoff fails with short thresholds, our stack
/// below them, and a report.
#[derive(Debug, Args)]
pub(crate) struct Chang2010 {
    #[command(flatten)]
    common: Common,
    /// Only these ways of calling: SCTP, a threshold of the monitor such as 1.5s, TCP, unplanned,
    /// planned.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    method: Vec<Method>,
    /// Only this cell: handoff 1 to 4 or a round trip, way of calling, and seed. It gives the same
    /// to the last digit.
    #[arg(long, value_name = "PLACE,METHOD,SEED", conflicts_with_all = ["seeds", "method"])]
    cell: Option<Cell>,
    /// Runs ours by round trip live, too, with so many cuts in each call: two agents on hosts of
    /// their own, in real time, with emulated links between them that are taken down. Needs root,
    /// and an idle machine; --jobs says how many calls go on at once, one unless given.
    #[arg(long, value_name = "CUTS", num_args = 0..=1, default_missing_value = LIVE_CUTS_WRITTEN,
          value_parser = clap::value_parser!(u32).range(1..=100),
          conflicts_with_all = ["sweep", "shard"])]
    live: Option<u32>,
}

/// [`LIVE_CUTS`](experiment::LIVE_CUTS), as a default is written.
const LIVE_CUTS_WRITTEN: &str = "10";

type Results = Vec<(Cell, Outcome)>;
type Varied = Vec<(Variation, Cell, Outcome)>;

impl Chang2010 {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        // Before calls go on for minutes.
        let parameters = self.common.changes.read::<Values>()?;
        let live = match self.live {
            Some(cuts) if !self.common.changes.are_listed() => {
                self.check(&parameters)?;
                live::run(self.asked(parameters, cuts)?).await?
            }
            _ => Vec::new(),
        };
        run(&WithLive { asked: &self, live })
    }

    /// The live calls that are asked for.
    fn asked(&self, parameters: Parameters<Values>, cuts: u32) -> Result<live::Asked, Failure> {
        let cells = self.live_cells()?;
        live::check()?;
        let recorded = match (&self.common.out, self.common.recorded_files()) {
            (Some(folder), (capture, trace)) if capture || trace => {
                Folder::create(folder)?;
                Some(live::Recorded { folder: folder.clone(), capture, trace })
            }
            _ => None,
        };
        let jobs = self.common.jobs.map_or(1, NonZeroUsize::get);
        Ok(live::Asked { parameters, cells, cuts, jobs, recorded })
    }

    fn live_cells(&self) -> Result<Vec<Cell>, Failure> {
        let cells = match self.cell {
            Some(cell) => vec![cell],
            None => live_cells(self.common.seeds),
        };
        let is_chosen = |cell: &Cell| self.method.is_empty() || self.method.contains(&cell.method);
        let cells: Vec<_> = cells.into_iter().filter(is_live).filter(is_chosen).collect();
        if cells.is_empty() {
            return Err(Failure::usage(
                "--live: only ours at a round trip are run live: give --method unplanned,planned, \
                 or a cell such as 20ms,planned,1",
            ));
        }
        Ok(cells)
    }

    /// As [`Paper::command`].
    fn command(&self) -> String {
        let chosen = match (&self.cell, self.method.as_slice()) {
            (Some(cell), _) => format!("--cell {}", cell.name()),
            (None, []) => format!("--seeds {}", self.common.seeds),
            (None, methods) => {
                let methods: Vec<_> = methods.iter().map(ToString::to_string).collect();
                format!("--seeds {} --method {}", self.common.seeds, methods.join(","))
            }
        };
        let live = self.live.map(|cuts| format!(" --live {cuts}")).unwrap_or_default();
        format!("anabranch lab chang2010 {chosen}{live}")
    }

    /// As [`Paper::check`].
    fn check(&self, _: &Parameters<Values>) -> Result<(), Failure> {
        self.common.check_trace(self.cell.is_some_and(|cell| cell.method != Method::Usha))?;
        self.common.check_cells(self.cells()?.len())
    }

    fn run_cells(
        &self,
        parameters: &Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<(Results, Varied)>, Failure> {
        let cells = self.cells()?;
        let is_whole = self.cell.is_none() && self.method.is_empty() && parameters.are_papers();
        let varied: Vec<_> = match is_whole {
            true => Variation::cells(self.common.seeds).collect(),
            false => Vec::new(),
        };
        let mut runs = runs.begin("chang2010".to_owned(), cells.len(), varied.len())?;
        let file = |_: &Cell| "cell".to_owned();
        let results = runs.run(&cells, file, |cell, to| cell.run_recorded(parameters, to))?;
        let varied = runs.vary(&varied, |variation, cell| variation.run(cell))?;
        Ok(results.zip(varied))
    }

    fn cells(&self) -> Result<Vec<Cell>, Failure> {
        if let Some(cell) = self.cell {
            return Ok(vec![cell]);
        }
        let mut cells = experiment::cells(self.common.seeds);
        let is_run = |method: &&Method| cells.iter().any(|cell| cell.method == **method);
        if let Some(method) = self.method.iter().find(|method| !is_run(method)) {
            return Err(Failure::usage(format!(
                "--method {method}: no table has it; one cell of it is run by --cell 1,{method},1"
            )));
        }
        cells.retain(|cell| self.method.is_empty() || self.method.contains(&cell.method));
        Ok(cells)
    }
}

/// What is asked for, and what came of calls that were run live.
struct WithLive<'a> {
    asked: &'a Chang2010,
    live: Vec<(Cell, Outcome)>,
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
        self.asked.check(parameters)
    }

    fn run_with(
        &self,
        parameters: Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let ran = self.asked.run_cells(&parameters, runs)?;
        let Some((results, varied)) = ran else { return Ok(None) };
        let command = self.command() + &parameters.flag();
        let live = self.live.clone();
        let experiment = Experiment { parameters, command, results, varied, live };
        let tables =
            experiment::tables(&experiment.parameters, &experiment.rows(), &experiment.live_rows());
        output::print(&tables)?;
        output::print(&statements_table(&experiment.statements()))?;
        let cells = experiment::cells_csv(&experiment.parameters, &experiment.results);
        let cells = cells.map_err(Failure::failed)?;
        if let Some(folder) = runs.folder {
            write(folder, &experiment, &cells)?;
        }
        Ok(Some(cells))
    }
}

impl Given for Outcome {
    fn simulated_s(&self) -> f64 {
        self.simulated_s
    }
}

fn write(folder: &Folder, experiment: &Experiment, cells: &[u8]) -> Result<(), Failure> {
    let Experiment { parameters, results, varied, live, .. } = experiment;
    folder.write("cells.csv", cells)?;
    folder.write("gaps.csv", &experiment::gaps_csv(results).map_err(Failure::failed)?)?;
    if !live.is_empty() {
        let calls = experiment::live_csv(parameters, live).map_err(Failure::failed)?;
        folder.write("live.csv", &calls)?;
        let gaps = experiment::gaps_csv(live).map_err(Failure::failed)?;
        folder.write("live-gaps.csv", &gaps)?;
    }
    if !varied.is_empty() {
        let table = experiment::variations_csv(varied).map_err(Failure::failed)?;
        folder.write("variations.csv", &table)?;
    }
    for (name, svg) in experiment.figures().map_err(Failure::failed)? {
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
        experiment: Chang2010,
    }

    fn parsed(line: &str) -> Chang2010 {
        let line = format!("lab {line}");
        Line::try_parse_from(line.split_whitespace()).unwrap().experiment
    }

    #[test]
    fn live_calls_have_as_many_cuts_as_simulated_ones_unless_told() {
        assert_eq!(parsed("--live").live, Some(experiment::LIVE_CUTS));
        assert_eq!(parsed("--live 30").live, Some(30));
        assert_eq!(parsed("").live, None);
    }

    #[test]
    fn what_is_chosen_is_what_is_run_live() {
        let live = |line: &str| parsed(line).live_cells().map(|cells| cells.len());
        assert!(matches!(live("--seeds 4 --live"), Ok(24)));
        assert!(matches!(live("--seeds 4 --live --method planned"), Ok(12)));
        assert!(matches!(live("--cell 20ms,unplanned,7 --live 2"), Ok(1)));
        for line in
            ["--cell 1,planned,1 --live", "--cell 20ms,1.5s,1 --live", "--method TCP --live"]
        {
            let Err(Failure::Usage(words)) = live(line) else { panic!("{line}") };
            assert!(words.contains("give --method unplanned,planned"), "{words}");
        }
    }

    #[test]
    fn the_command_names_its_live_calls() {
        for (line, command) in [
            ("--live --seeds 2", "anabranch lab chang2010 --seeds 2 --live 10"),
            (
                "--cell 20ms,planned,1 --live 3",
                "anabranch lab chang2010 --cell 20ms,planned,1 --live 3",
            ),
            ("--seeds 2", "anabranch lab chang2010 --seeds 2"),
        ] {
            assert_eq!(parsed(line).command(), command);
        }
    }

    #[test]
    fn a_sweep_or_a_shard_is_not_run_live() {
        for more in ["--sweep delay=1ms,2ms", "--shard 1/2 --out somewhere"] {
            let parsed = Line::try_parse_from(format!("lab --live {more}").split_whitespace());
            let error = parsed.unwrap_err().to_string();
            assert!(error.contains("cannot be used with"), "{error}");
        }
    }
}
