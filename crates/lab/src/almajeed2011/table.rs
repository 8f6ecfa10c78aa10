//! Tables of cells: means over the seeds beside the paper's values, and one line for each cell.

use std::fmt::Write as _;

use serde::Serialize;

use super::cell::{Carrier, Cell, Scenario, Setup};
use super::measure::{Measured, Outcome};
use super::paper::{COLUMNS, Column, Measure, TITLES};
use super::variation::Variation;
use crate::{Estimate, csv_lines};

/// The channel's losses in the bad state, unless they are varied.
pub(super) const BAD_LOSS_PERCENT: u32 = 5;
/// Those of figure 2.
pub(super) const BAD_LOSSES_PERCENT: std::ops::RangeInclusive<u32> = 1..=10;

/// Cells that differ in their seed alone.
#[derive(Debug, Clone)]
pub struct Row {
    /// One of them.
    pub cell: Cell,
    outcomes: Vec<Outcome>,
}

impl Row {
    /// What the seeds say of a measure together; nothing where it was not observed.
    #[must_use]
    pub fn estimate(&self, of: impl Fn(&Outcome) -> Option<f64>) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.outcomes.iter().map(of).collect();
        values.map(|values| Estimate::of(&values))
    }

    /// The same of one that the paper has.
    #[must_use]
    pub fn measure(&self, measure: Measure) -> Option<Estimate> {
        self.estimate(|outcome| measure.of(outcome))
    }

    /// What sending times and rates of 0 mean, where nothing came of a seed.
    pub(super) fn in_vain_in_words(&self) -> Option<String> {
        let in_vain = self.outcomes.iter().filter(|it| it.lost == it.slices);
        match (in_vain.count(), self.outcomes.len()) {
            (0, _) => None,
            (count, all) if count == all => Some("nothing ever got through".to_owned()),
            (count, all) => Some(format!("nothing ever got through with {count} of {all} seeds")),
        }
    }

    pub(super) fn is_at(&self, scenario: Scenario, frame_us: u32, carrier: Carrier) -> bool {
        (self.cell.scenario, self.cell.frame_us, self.cell.carrier) == (scenario, frame_us, carrier)
            && self.is_as_usual()
    }

    /// Whether the channel is that of the tables.
    pub(super) fn is_as_usual(&self) -> bool {
        self.cell.bad_loss_percent == BAD_LOSS_PERCENT
    }
}

/// All cells of the tables and of figure 2, with the seeds 1 to `seeds`; ours behind the paper's.
#[must_use]
pub fn cells(seeds: u64) -> Vec<Cell> {
    let mut places = Vec::new();
    for Column { scenario, frame_us, values, .. } in COLUMNS {
        let carriers = values.iter().map(|(connections, _)| Carrier::Dccp(*connections));
        for carrier in carriers.chain(Carrier::OURS) {
            let place = (scenario, frame_us, carrier, BAD_LOSS_PERCENT);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    for bad_loss in BAD_LOSSES_PERCENT.filter(|percent| *percent != BAD_LOSS_PERCENT) {
        let carriers = (1..=4).map(Carrier::Dccp);
        places.extend(carriers.map(|it| (Scenario::BaseStation, 5_000, it, bad_loss)));
    }
    let of_place = |(scenario, frame_us, carrier, bad_loss_percent)| {
        (1..=seeds).map(move |seed| Cell { scenario, carrier, frame_us, bad_loss_percent, seed })
    };
    places.into_iter().flat_map(of_place).collect()
}

/// Takes the seeds of each cell together, which are beside each other.
#[must_use]
pub fn rows<'a>(results: impl IntoIterator<Item = (Cell, &'a Outcome)>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (cell, outcome) in results {
        match rows.last_mut().filter(|row| Cell { seed: cell.seed, ..row.cell } == cell) {
            Some(row) => row.outcomes.push(*outcome),
            None => rows.push(Row { cell, outcomes: vec![*outcome] }),
        }
    }
    rows
}

/// Rows of what was varied.
#[must_use]
pub fn varied_rows(varied: &[(Variation, Cell, Outcome)]) -> Vec<(Variation, Row)> {
    let runs = varied.chunk_by(|a, b| a.0 == b.0);
    let of_run = |run: &[(Variation, Cell, Outcome)]| {
        let variation = run[0].0;
        let rows = rows(run.iter().map(|(_, cell, outcome)| (*cell, outcome)));
        rows.into_iter().map(move |row| (variation, row)).collect::<Vec<_>>()
    };
    runs.flat_map(of_run).collect()
}

/// Tables 3 to 10 with the paper's values in brackets, for a terminal.
#[must_use]
pub fn tables(setup: &Setup, rows: &[Row]) -> String {
    let mut text = String::new();
    if let Some(said) = setup.parameters.said() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{said}\n");
    }
    if let Some(why) = setup.unscored() {
        let _ = writeln!(text, "{why}\n");
    }
    for (number, title) in TITLES {
        let columns: Vec<_> = COLUMNS.iter().filter(|column| column.table == number).collect();
        let lines = columns.iter().flat_map(|column| column_lines(setup, rows, column));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "Table {number}: {title}\n{}", lines.concat());
        }
    }
    text
}

/// A line for a column, with the values of each number of connections and of ours.
fn column_lines(setup: &Setup, rows: &[Row], column: &Column) -> Option<String> {
    let Column { scenario, frame_us, measure, values, .. } = *column;
    let digits = measure.digits();
    let mut cells = Vec::new();
    for (connections, paper) in values {
        let carrier = Carrier::Dccp(*connections);
        let Some(row) = rows.iter().find(|row| row.is_at(scenario, frame_us, carrier)) else {
            continue;
        };
        if let Some(words) = row.in_vain_in_words() {
            cells.push(format!("{connections}: {words}"));
            continue;
        }
        let Some(ours) = row.measure(measure) else { continue };
        let paper = match setup.are_papers() {
            true => format!(" ({paper:.digits$})"),
            false => String::new(),
        };
        cells.push(format!("{connections}: {ours:.digits$}{paper}"));
    }
    for carrier in Carrier::OURS {
        let row = rows.iter().find(|row| row.is_at(scenario, frame_us, carrier));
        if let Some(ours) = row.and_then(|row| row.measure(measure)) {
            cells.push(format!("{}: {ours:.digits$}", carrier.label()));
        }
    }
    let place = format!("{scenario}, {} ms", f64::from(frame_us) / 1e3);
    let line = format!("  {place}, {}\n    {}\n", measure.name(), cells.join("   "));
    (!cells.is_empty()).then_some(line)
}

/// Which cell it is.
#[derive(Serialize)]
struct Key {
    scenario: &'static str,
    carrier: String,
    frame_ms: f64,
    bad_loss_percent: u32,
    seed: u64,
}

impl Key {
    fn of(cell: &Cell) -> Self {
        let Cell { scenario, carrier, bad_loss_percent, seed, .. } = *cell;
        let (carrier, frame_ms) = (carrier.to_string(), cell.frame_ms());
        Self { scenario: scenario.name(), carrier, frame_ms, bad_loss_percent, seed }
    }
}

/// How it is run again.
#[derive(Serialize)]
struct Origin {
    version: &'static str,
    command: String,
}

#[derive(Serialize)]
struct Varied {
    varied: &'static str,
}

/// A line for each cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn cells_csv(setup: &Setup, results: &[(Cell, Measured)]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(results.iter().map(|(cell, measured)| {
        let origin = Origin { version: env!("CARGO_PKG_VERSION"), command: setup.again(cell) };
        (Key::of(cell), measured.outcome, origin)
    }))
}

/// A line for each cell with a parameter chosen otherwise, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn variations_csv(varied: &[(Variation, Cell, Outcome)]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(
        varied
            .iter()
            .map(|(it, cell, outcome)| (Varied { varied: it.set }, Key::of(cell), *outcome)),
    )
}
