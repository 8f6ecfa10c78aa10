//! Where our values differ from the paper's, and what runs show about why.

use super::super::cell::Carrier;
use super::super::paper::{COLUMNS, Column, Measure};
use super::super::table::Row;
use super::super::variation::{BESIDE, Variation};

/// A value that differs.
pub(super) struct Difference {
    pub(super) column: Column,
    pub(super) carrier: Carrier,
    pub(super) ours: String,
    pub(super) paper: String,
    pub(super) cause: String,
}

/// All that differs, in the order of the tables.
pub(super) fn differences(rows: &[Row], varied: &[(Variation, Row)]) -> Vec<Difference> {
    let of_column = |column: &'static Column| {
        let cause = cause(column, varied);
        column.values.iter().filter_map(move |(connections, paper)| {
            let carrier = Carrier::Dccp(*connections);
            let row =
                rows.iter().find(|row| row.is_at(column.scenario, column.frame_us, carrier))?;
            let ours = row.measure(column.measure)?;
            if column.measure.is_close(ours.mean, *paper) {
                return None;
            }
            let digits = column.measure.digits();
            let (ours, paper) = (format!("{ours:.digits$}"), format!("{paper:.digits$}"));
            Some(Difference { column: *column, carrier, ours, paper, cause: cause.clone() })
        })
    };
    compared().flat_map(of_column).collect()
}

/// What depends on more than the size of a video: sending times, and those between arrivals, follow
/// from throughputs.
pub(super) fn compared() -> impl Iterator<Item = &'static Column> {
    let is_of_size = |measure| matches!(measure, Measure::Period | Measure::Interval);
    COLUMNS.iter().filter(move |column| !is_of_size(column.measure))
}

/// The choice that meets all values of a column with which it was run, two at least. A TCP beside
/// the video is none: the paper has no such.
fn cause(column: &Column, varied: &[(Variation, Row)]) -> String {
    let meets = |run: &[(Variation, Row)]| {
        let values = run.iter().filter_map(|(_, row)| {
            let paper = column.values.iter().find(|(connections, _)| {
                row.is_at(column.scenario, column.frame_us, Carrier::Dccp(*connections))
            });
            let ours = row.measure(column.measure)?.mean;
            paper.map(|(_, paper)| column.measure.is_close(ours, *paper))
        });
        let values: Vec<bool> = values.collect();
        values.len() >= 2 && values.iter().all(|is_met| *is_met)
    };
    let choice = varied.chunk_by(|a, b| a.0 == b.0);
    let choice = choice.filter(|run| run[0].0.set != BESIDE).find(|run| meets(run));
    match choice {
        Some(run) => format!("Met with: {}.", run[0].0),
        None => "unexplained".to_owned(),
    }
}
