//! `anabranch lab chang2010`: calls that go on when a path dies.

use anabranch_lab::chang2010::{
    self as experiment, Cell, Experiment, Method, Outcome, Values, Variation,
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
}

type Results = Vec<(Cell, Outcome)>;
type Varied = Vec<(Variation, Cell, Outcome)>;

impl Chang2010 {
    pub(crate) fn run(self) -> Result<(), Failure> {
        run(&self)
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

impl Paper for Chang2010 {
    type Values = Values;

    fn common(&self) -> &Common {
        &self.common
    }

    fn command(&self) -> String {
        let chosen = match (&self.cell, self.method.as_slice()) {
            (Some(cell), _) => format!("--cell {}", cell.name()),
            (None, []) => format!("--seeds {}", self.common.seeds),
            (None, methods) => {
                let methods: Vec<_> = methods.iter().map(ToString::to_string).collect();
                format!("--seeds {} --method {}", self.common.seeds, methods.join(","))
            }
        };
        format!("anabranch lab chang2010 {chosen}")
    }

    fn check(&self, _: &Parameters<Values>) -> Result<(), Failure> {
        self.common.check_trace(self.cell.is_some_and(|cell| cell.method != Method::Usha))?;
        self.common.check_cells(self.cells()?.len())
    }

    fn run_with(
        &self,
        parameters: Parameters<Values>,
        runs: &mut Runs<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let ran = self.run_cells(&parameters, runs)?;
        let Some((results, varied)) = ran else { return Ok(None) };
        let command = self.command() + &parameters.flag();
        let experiment = Experiment { parameters, command, results, varied };
        output::print(&experiment::tables(&experiment.parameters, &experiment.rows()))?;
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
    let Experiment { results, varied, .. } = experiment;
    folder.write("cells.csv", cells)?;
    folder.write("gaps.csv", &experiment::gaps_csv(results).map_err(Failure::failed)?)?;
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
