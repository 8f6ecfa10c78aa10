//! Tables of cells: means over the seeds, and one line for each cell.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;

use super::carrier::Carrier;
use super::cell::Cell;
use super::measure::Outcome;
use super::scenario::Scenario;
use super::sensitivity::Variation;
use super::values::Values;
use crate::{Estimate, Origin, Parameters, csv_lines};

/// A point of a line, over all seeds. What a test does not measure is absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The point, with one of its seeds.
    pub cell: Cell,
    /// From the first message ready to the last one that arrived, in seconds.
    pub completion_s: Option<Estimate>,
    /// The share of messages that arrived.
    pub share_received: Option<Estimate>,
    /// Mean time from a message ready to its delivery, in seconds.
    pub delay_s: Option<Estimate>,
    /// What 95 of 100 of them took at most, in seconds.
    pub delay_p95_s: Option<Estimate>,
    /// From the key pressed to the first message of the new channel, in seconds.
    pub switching_s: Option<Estimate>,
    /// Packets of media that were sent again.
    pub retransmissions: f64,
    /// Retransmission timers that expired.
    pub timeouts: f64,
}

/// Takes the seeds of each point together. `results` are in the order of
/// [`Scenario::cells`]: all seeds of a point beside each other.
#[must_use]
pub fn rows(results: &[(Cell, Outcome)]) -> Vec<Row> {
    let same = |a: &(Cell, Outcome), b: &(Cell, Outcome)| Cell { seed: b.0.seed, ..a.0 } == b.0;
    results.chunk_by(same).filter_map(row).collect()
}

fn row(group: &[(Cell, Outcome)]) -> Option<Row> {
    let (cell, _) = *group.first()?;
    let over = |value: fn(&Outcome) -> Option<f64>| {
        let values: Vec<_> = group.iter().filter_map(|(_, outcome)| value(outcome)).collect();
        (!values.is_empty()).then(|| Estimate::of(&values))
    };
    let mean = |value: fn(&Outcome) -> Option<f64>| over(value).map_or(0.0, |it| it.mean);
    Some(Row {
        cell,
        completion_s: over(|outcome| outcome.completion_s),
        share_received: over(Outcome::share_received),
        delay_s: over(|outcome| outcome.delay_s),
        delay_p95_s: over(|outcome| outcome.delay_p95_s),
        switching_s: over(|outcome| outcome.switching_s),
        retransmissions: mean(|outcome| Some(outcome.retransmissions as f64)),
        timeouts: mean(|outcome| Some(outcome.timeouts as f64)),
    })
}

/// One of the paper's figures, or what stands beside it.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// The test that it is measured in.
    pub scenario: Scenario,
    /// What its files are called, without ending.
    pub(super) name: &'static str,
    /// Figure and quantity.
    pub title: &'static str,
    pub(super) of: fn(&Row) -> Option<Estimate>,
    pub(super) unit: &'static str,
    /// Digits behind the point.
    pub(super) digits: usize,
}

/// All tables.
pub const MEASURES: [Measure; 7] = [
    Measure {
        scenario: Scenario::Loss,
        name: "figure-08",
        title: "Figure 8: completion time",
        of: |row| row.completion_s,
        unit: "s",
        digits: 1,
    },
    Measure {
        scenario: Scenario::Loss,
        name: "figure-09",
        title: "Figure 9: share of the messages received",
        of: |row| row.share_received.map(|share| share.times(100.0)),
        unit: "%",
        digits: 1,
    },
    Measure {
        scenario: Scenario::Streams,
        name: "figure-10",
        title: "Figure 10: completion time",
        of: |row| row.completion_s,
        unit: "s",
        digits: 1,
    },
    Measure {
        scenario: Scenario::Streams,
        name: "delay-10",
        title: "Beside it: mean delivery delay",
        of: |row| row.delay_s.map(|delay| delay.times(1e3)),
        unit: "ms",
        digits: 0,
    },
    Measure {
        scenario: Scenario::Channels,
        name: "figure-11",
        title: "Figure 11: completion time",
        of: |row| row.completion_s,
        unit: "s",
        digits: 1,
    },
    Measure {
        scenario: Scenario::Channels,
        name: "delay-11",
        title: "Beside it: mean delivery delay",
        of: |row| row.delay_s.map(|delay| delay.times(1e3)),
        unit: "ms",
        digits: 1,
    },
    Measure {
        scenario: Scenario::Switching,
        name: "figure-12",
        title: "Figure 12: channel switching time",
        of: |row| row.switching_s.map(|after| after.times(1e3)),
        unit: "ms",
        digits: 1,
    },
];

impl Measure {
    /// The rows of each line of the figure.
    pub(super) fn lines<'a>(&self, rows: &'a [Row]) -> Vec<Vec<&'a Row>> {
        let of_figure = rows.iter().filter(|row| row.cell.scenario == self.scenario);
        let known: Vec<_> = of_figure.filter(|row| (self.of)(row).is_some()).collect();
        let is_same = |a: &&Row, b: &&Row| line_of(&a.cell) == line_of(&b.cell);
        known.chunk_by(is_same).map(<[_]>::to_vec).collect()
    }

    /// Where the lines have values.
    pub(super) fn points(&self, lines: &[Vec<&Row>]) -> Vec<u32> {
        let points: BTreeSet<_> = lines.iter().flatten().map(|row| row.cell.point()).collect();
        points.into_iter().collect()
    }

    pub(super) fn is_share(&self) -> bool {
        self.unit == "%"
    }

    pub(super) fn value(&self, row: &Row) -> String {
        let digits = self.digits;
        (self.of)(row).map(|value| format!("{value:.digits$}")).unwrap_or_default()
    }
}

/// What distinguishes one line of a figure from another.
fn line_of(cell: &Cell) -> (Carrier, Option<u32>) {
    let loss = match cell.scenario {
        Scenario::Streams => Some(cell.loss_percent),
        // The paper's loses nothing.
        Scenario::Switching => Some(cell.loss_percent).filter(|loss| *loss > 0),
        Scenario::Loss | Scenario::Channels => None,
    };
    (cell.carrier, loss)
}

/// How a line is called.
pub(super) fn line_name(cell: &Cell) -> String {
    match line_of(cell) {
        (carrier, Some(loss)) => format!("{carrier}, {loss} %"),
        (carrier, None) => carrier.to_string(),
    }
}

/// All figures as tables.
#[must_use]
pub fn tables(rows: &[Row]) -> String {
    let mut text = String::new();
    for measure in &MEASURES {
        table(measure, &measure.lines(rows), &mut text);
    }
    text
}

fn table(measure: &Measure, lines: &[Vec<&Row>], text: &mut String) {
    let points = measure.points(lines);
    if points.is_empty() {
        return;
    }
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}, in {}", measure.title, measure.unit);
    let _ = write!(text, "{:18}", measure.scenario.axis());
    for point in &points {
        let _ = write!(text, "{point:>13}");
    }
    text.push('\n');
    for line in lines {
        let Some(first) = line.first() else { continue };
        let _ = write!(text, "{:18}", line_name(&first.cell));
        for point in &points {
            let row = line.iter().find(|row| row.cell.point() == *point);
            let _ = write!(text, "{:>13}", row.map(|row| measure.value(row)).unwrap_or_default());
        }
        text.push('\n');
    }
    text.push('\n');
}

/// A line for each cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn cells_csv(
    parameters: &Parameters<Values>,
    results: &[(Cell, Outcome)],
) -> Result<Vec<u8>, csv::Error> {
    let set = parameters.set_again();
    csv_lines(results.iter().map(|(cell, outcome)| {
        let changed = Changed { set: set.clone() };
        (Place::from(cell), outcome, changed, Origin::new(again(parameters, cell)))
    }))
}

/// A line for each varied cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn variations_csv(varied: &[(Variation, Cell, Outcome)]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(varied.iter().map(|(variation, cell, outcome)| {
        (Varied { variation: variation.to_string() }, Place::from(cell), outcome)
    }))
}

/// What a varied cell's line begins with.
#[derive(Debug, Serialize)]
struct Varied {
    variation: String,
}

/// What is not the paper's, as `--set` takes it; empty if all is.
#[derive(Debug, Serialize)]
struct Changed {
    set: String,
}

/// The command that runs a cell again, and captures it.
pub(super) fn again(parameters: &Parameters<Values>, cell: &Cell) -> String {
    let (figure, point, seed) = (cell.scenario.figure(), cell.point(), cell.seed);
    let (carrier, set) = (cell.carrier, parameters.flag());
    format!(
        "anabranch lab kim2007 --cell {figure},{point},{seed} --carrier {carrier}{set} --capture \
         --out DIR"
    )
}

/// The first columns of a line.
#[derive(Debug, Serialize)]
struct Place {
    figure: u32,
    carrier: String,
    streams: u16,
    loss_percent: u32,
    delay_ms: u32,
    seed: u64,
}

impl From<&Cell> for Place {
    fn from(cell: &Cell) -> Self {
        let Cell { scenario, carrier, streams, loss_percent, delay_ms, seed } = *cell;
        let (figure, carrier) = (scenario.figure(), carrier.to_string());
        Self { figure, carrier, streams, loss_percent, delay_ms, seed }
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A point that completed after so long with both seeds, with nothing else told.
    pub(in super::super) fn row(
        scenario: Scenario,
        carrier: Carrier,
        loss: u32,
        point: u32,
        completion_s: f64,
    ) -> Row {
        let outcome = Outcome { completion_s: Some(completion_s), ..Outcome::default() };
        let values = Values::default();
        let seeds = [1, 2].map(|seed| values.cell(scenario, carrier, loss, point, seed));
        rows(&seeds.map(|cell| (cell, outcome)))[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(completion_s: f64) -> Outcome {
        Outcome {
            messages: 200,
            received: 150,
            completion_s: Some(completion_s),
            ..Outcome::default()
        }
    }

    fn two_seeds() -> [(Cell, Outcome); 2] {
        let values = Values::default();
        let cell = |seed| values.cell(Scenario::Loss, Carrier::Udp, 0, 3, seed);
        [(cell(1), outcome(16.0)), (cell(2), outcome(18.0))]
    }

    #[test]
    fn seeds_are_taken_together() {
        let rows = rows(&two_seeds());
        let [row] = rows[..] else { panic!("{rows:?}") };
        assert_eq!(row.completion_s.map(|it| format!("{it:.1}")), Some("17.0±12.7".to_owned()));
        assert_eq!(row.switching_s, None);
        let text = tables(&rows);
        assert!(text.contains("Figure 8: completion time, in s"), "{text}");
        assert!(text.contains("UDP                        75.0"), "{text}");
        assert!(!text.contains("Figure 10"), "nothing of it was run: {text}");
    }

    #[test]
    fn every_cell_is_a_line() {
        let text =
            String::from_utf8(cells_csv(&Parameters::default(), &two_seeds()).unwrap()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines[0].starts_with("figure,carrier,streams,loss_percent,delay_ms,seed,messages,")
        );
        let again = "anabranch lab kim2007 --cell 8,3,2 --carrier UDP --capture --out DIR";
        let measures = "8,UDP,1,3,10,2,200,150,18.0,,,,,0,0,0,0";
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(lines[2], format!("{measures},,{version},\"{again}\""));
        let changed = Parameters::read(["loss=3%"]).unwrap();
        let changed = String::from_utf8(cells_csv(&changed, &two_seeds()).unwrap()).unwrap();
        assert_eq!(changed.lines().next(), Some(lines[0]), "tables of a sweep are joined");
    }
}
