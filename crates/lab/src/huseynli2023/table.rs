//! Tables of cells: means over the seeds, and lines for other programs.

use std::fmt::Write as _;

use anabranch_sctp::Level;
use serde::Serialize;

use super::cell::{Cell, LastHop};
use super::measure::{LevelOutcome, Outcome};
use super::sensitivity::Variation;
use super::source::Source;
use super::values::Values;
use crate::{Estimate, Origin, Parameters, csv_lines};

/// What the reader's levels are, in the paper's words.
pub(super) const NAMES: [&str; Level::ALL.len()] = ["sent again", "I", "P", "B"];

/// A cell, over all seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The cell, with one of its seeds.
    pub cell: Cell,
    /// By level; none of which nothing was read.
    pub levels: [Option<LevelRow>; Level::ALL.len()],
    /// The paper's equation 3, in seconds.
    pub total_queue_s: Estimate,
    /// Chunks that were read.
    pub received: Estimate,
    /// Chunks that were not read when the run was over.
    pub missing: Estimate,
    /// Chunks that were read after one of their kind that was sent later.
    pub out_of_order: Estimate,
    /// Chunks that one goes past on its way into the queue, on average.
    pub passed: Estimate,
    /// The most of them.
    pub passed_max: Estimate,
}

/// A level, over all seeds: see [`LevelOutcome`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "LevelOutcome has the words")]
pub struct LevelRow {
    pub chunks: Estimate,
    pub queue_ms: Estimate,
    pub queue_p99_ms: Estimate,
    pub queue_max_ms: Estimate,
    pub strict_ms: Estimate,
    pub delay_ms: Estimate,
    pub ipdv_ms: Estimate,
    pub jitter_ms: Estimate,
    pub passed: Estimate,
}

/// Takes the seeds of each cell together. All seeds of a cell are beside each other in `results`.
#[must_use]
pub fn rows(results: &[(Cell, Outcome)]) -> Vec<Row> {
    let same = |a: &(Cell, Outcome), b: &(Cell, Outcome)| Cell { seed: b.0.seed, ..a.0 } == b.0;
    results.chunk_by(same).filter_map(row).collect()
}

fn row(group: &[(Cell, Outcome)]) -> Option<Row> {
    let (cell, _) = *group.first()?;
    let over = |value: fn(&Outcome) -> f64| {
        Estimate::of(&group.iter().map(|(_, outcome)| value(outcome)).collect::<Vec<_>>())
    };
    Some(Row {
        cell,
        levels: Level::ALL.map(|level| level_row(group, level)),
        total_queue_s: over(|outcome| outcome.total_queue_s),
        received: over(|outcome| outcome.received as f64),
        missing: over(|outcome| outcome.sent as f64 - outcome.received as f64),
        out_of_order: over(|outcome| outcome.out_of_order as f64),
        passed: over(Outcome::passed),
        passed_max: over(Outcome::passed_max),
    })
}

fn level_row(group: &[(Cell, Outcome)], level: Level) -> Option<LevelRow> {
    let all = group.iter().map(|(_, outcome)| outcome.levels[level.index()]);
    let read: Vec<_> = all.filter(|it| it.chunks > 0).collect();
    if read.is_empty() {
        return None;
    }
    let over =
        |value: fn(&LevelOutcome) -> f64| Estimate::of(&read.iter().map(value).collect::<Vec<_>>());
    Some(LevelRow {
        chunks: over(|it| it.chunks as f64),
        queue_ms: over(|it| it.queue_ms),
        queue_p99_ms: over(|it| it.queue_p99_ms),
        queue_max_ms: over(|it| it.queue_max_ms),
        strict_ms: over(|it| it.strict_ms),
        delay_ms: over(|it| it.delay_ms),
        ipdv_ms: over(|it| it.ipdv_ms),
        jitter_ms: over(|it| it.jitter_ms),
        passed: over(|it| it.passed),
    })
}

/// A column of the tables.
pub(super) struct Column {
    pub(super) title: &'static str,
    of: fn(&LevelRow) -> Estimate,
    digits: usize,
}

pub(super) const COLUMNS: [Column; 6] = [
    Column { title: "chunks", of: |it| it.chunks, digits: 0 },
    Column { title: "queue", of: |it| it.queue_ms, digits: 1 },
    Column { title: "longest", of: |it| it.queue_max_ms, digits: 0 },
    Column { title: "delay", of: |it| it.delay_ms, digits: 1 },
    Column { title: "IPDV", of: |it| it.ipdv_ms, digits: 1 },
    Column { title: "jitter", of: |it| it.jitter_ms, digits: 1 },
];

impl Column {
    pub(super) fn value(&self, row: &LevelRow) -> String {
        let digits = self.digits;
        format!("{:.digits$}", (self.of)(row))
    }
}

/// The rows as run of a source over a network.
pub(super) fn as_run(rows: &[Row], source: Source, last_hop: LastHop) -> Vec<&Row> {
    let place = (source, last_hop, Variation::AsRun);
    let is_it = |row: &&Row| (row.cell.source, row.cell.last_hop, row.cell.variation) == place;
    rows.iter().filter(is_it).collect()
}

/// The rows as run, for 80 columns.
#[must_use]
pub fn tables(rows: &[Row]) -> String {
    let mut text = String::new();
    for source in Source::ALL {
        for last_hop in LastHop::ALL {
            let rows = as_run(rows, source, last_hop);
            if !rows.is_empty() {
                table(source, last_hop, &rows, &mut text);
            }
        }
    }
    text
}

fn table(source: Source, last_hop: LastHop, rows: &[&Row], text: &mut String) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}, {last_hop}: delays in ms", source.title());
    let _ = write!(text, "{:22}", "level");
    for column in &COLUMNS {
        let _ = write!(text, "{:>9}", column.title);
    }
    text.push('\n');
    for level in Level::ALL {
        for row in rows {
            let Some(of_level) = &row.levels[level.index()] else { continue };
            let name = NAMES[level.index()];
            let _ = write!(text, "{name:11}{:11}", row.cell.method);
            for column in &COLUMNS {
                let _ = write!(text, "{:>9}", mean_of(column, of_level));
            }
            text.push('\n');
        }
    }
    for row in rows {
        let (total, received) = (row.total_queue_s, row.received.mean);
        let _ = writeln!(
            text,
            "{:11}{:11}{total:.1} s of waiting, {received:.0} chunks read, {:.0} out of order",
            "all", row.cell.method, row.out_of_order.mean,
        );
    }
    for row in rows {
        let (passed, most) = (row.passed.mean, row.passed_max.mean);
        let _ = writeln!(
            text,
            "{:11}{:11}an insertion goes past {passed:.2} chunks, {most:.0} at most",
            "all", row.cell.method,
        );
    }
    text.push('\n');
}

/// The report has the intervals.
fn mean_of(column: &Column, row: &LevelRow) -> String {
    let digits = column.digits;
    format!("{:.digits$}", (column.of)(row).mean)
}

/// A line for each level of each cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn cells_csv(
    parameters: &Parameters<Values>,
    results: &[(Cell, Outcome)],
) -> Result<Vec<u8>, csv::Error> {
    let set = parameters.set_again();
    let lines = results.iter().flat_map(|(cell, outcome)| {
        let set = &set;
        Level::ALL.into_iter().map(move |level| {
            let changed = Changed { set: set.clone() };
            let of_level = outcome.levels[level.index()];
            let origin = Origin::new(again(parameters, cell));
            (Place::new(cell, level), of_level, (Whole::from(outcome), changed, origin))
        })
    });
    csv_lines(lines)
}

/// A line for each second and level of each cell as run, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn seconds_csv(results: &[(Cell, Outcome)]) -> Result<Vec<u8>, csv::Error> {
    let as_run = results.iter().filter(|(cell, _)| cell.variation == Variation::AsRun);
    let lines = as_run.flat_map(|(cell, outcome)| {
        outcome.seconds.iter().enumerate().flat_map(move |(number, second)| {
            Level::ALL.into_iter().filter_map(move |level| {
                let means = second.levels[level.index()]?;
                let line = SecondLine {
                    second: number,
                    queue_ms: means.queue_ms,
                    ipdv_ms: means.ipdv_ms,
                    jitter_ms: means.jitter_ms,
                    total_queue_s: second.total_queue_s,
                    received: second.received,
                };
                Some((Place::new(cell, level), line))
            })
        })
    });
    csv_lines(lines)
}

/// The first columns of a line.
#[derive(Debug, Serialize)]
struct Place {
    source: String,
    network: String,
    variation: String,
    method: String,
    seed: u64,
    level: &'static str,
}

impl Place {
    fn new(cell: &Cell, level: Level) -> Self {
        Self {
            source: cell.source.to_string(),
            network: cell.last_hop.to_string(),
            variation: cell.variation.to_string(),
            method: cell.method.to_string(),
            seed: cell.seed,
            level: NAMES[level.index()],
        }
    }
}

/// What all levels of a cell share.
#[derive(Debug, Serialize)]
struct Whole {
    total_queue_s: f64,
    sent: usize,
    received: usize,
    out_of_order: usize,
    lost_on_links: u64,
    retransmissions: u64,
}

impl From<&Outcome> for Whole {
    fn from(outcome: &Outcome) -> Self {
        Self {
            total_queue_s: outcome.total_queue_s,
            sent: outcome.sent,
            received: outcome.received,
            out_of_order: outcome.out_of_order,
            lost_on_links: outcome.lost_on_links,
            retransmissions: outcome.retransmissions,
        }
    }
}

/// What is not the paper's, as `--set` takes it; empty if all is.
#[derive(Debug, Serialize)]
struct Changed {
    set: String,
}

/// The command that runs a cell again, and captures it; of a varied one, all of its seed.
pub(super) fn again(parameters: &Parameters<Values>, cell: &Cell) -> String {
    let Cell { source, last_hop, method, seed, variation } = cell;
    let set = parameters.flag();
    if *variation != Variation::AsRun {
        return format!("anabranch lab huseynli2023 --seeds {seed}{set} --out DIR");
    }
    format!(
        "anabranch lab huseynli2023 --cell {source},{last_hop},{seed} --method {method}{set} \
         --capture --out DIR"
    )
}

#[derive(Debug, Serialize)]
struct SecondLine {
    second: usize,
    queue_ms: f64,
    ipdv_ms: f64,
    jitter_ms: f64,
    total_queue_s: f64,
    received: usize,
}

#[cfg(test)]
pub(super) mod testing {
    use super::super::measure::{Means, Second};
    use super::super::method::Method;
    use super::*;

    /// A cell in which chunks of I, P and B waited so long with both seeds.
    pub(in super::super) fn row(method: Method, variation: Variation, queues_ms: [f64; 3]) -> Row {
        let (cell, outcome) = outcome(method, variation, queues_ms);
        rows(&[1, 2].map(|seed| (Cell { seed, ..cell }, outcome.clone())))[0]
    }

    pub(in super::super) fn outcome(
        method: Method,
        variation: Variation,
        queues_ms: [f64; 3],
    ) -> (Cell, Outcome) {
        let (source, last_hop) = (Source::Constant, LastHop::Wired);
        let cell = Cell { source, last_hop, variation, method, seed: 1 };
        let mut outcome = Outcome { sent: 300, received: 300, ..Outcome::default() };
        for (level, ms) in outcome.levels[1..].iter_mut().zip(queues_ms) {
            *level = LevelOutcome {
                chunks: 100,
                queue_ms: ms,
                queue_max_ms: ms * 10.0,
                ipdv_ms: ms,
                jitter_ms: ms,
                ..LevelOutcome::default()
            };
        }
        outcome.total_queue_s = queues_ms.iter().sum::<f64>() / 10.0;
        let second = Second { levels: [Some(Means::default()); 4], ..Second::default() };
        outcome.seconds = vec![second; 2];
        (cell, outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::super::method::Method;
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_level_that_was_read() {
        let text = tables(&[testing::row(Method::Sctp, Variation::AsRun, [10.0, 10.0, 10.0])]);
        assert!(text.starts_with("Constant rate, random levels, wired: delays in ms"), "{text}");
        assert!(text.contains("I          SCTP             100     10.0      100"), "{text}");
        assert!(text.contains("all        SCTP       3.0 s of waiting, 300 chunks read"), "{text}");
        assert!(!text.contains("sent again"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
