//! [`UnitRecord`]: what became of the units that a paper's experiment sends, as a table.

use std::io;

use anabranch_sansio::Time;

use super::{Cell, Column, Kind, Table, TableFile};

/// The columns of a row of units.
const COLUMNS: [Column; 9] = [
    Column::required("of", Kind::Text),
    Column::required("kind", Kind::Text),
    Column::required("number", Kind::Whole),
    Column::required("bytes", Kind::Whole),
    Column::required("ready_s", Kind::Real),
    Column::optional("deadline_s", Kind::Real),
    Column::optional("completed_s", Kind::Real),
    Column::optional("delay_s", Kind::Real),
    Column::required("outcome", Kind::Text),
];

/// A message, a picture or a frame of sound.
#[derive(Debug, Clone)]
pub(crate) struct UnitRecord {
    /// Whose it is: a channel's, an end's.
    pub(crate) of: String,
    pub(crate) kind: &'static str,
    /// Among those of its kind, from 0.
    pub(crate) number: u64,
    pub(crate) bytes: usize,
    /// When it was there to be sent.
    pub(crate) ready: Time,
    /// When it is of no use any more, where that is so.
    pub(crate) deadline: Option<Time>,
    /// When all of it was there.
    pub(crate) completed: Option<Time>,
}

impl UnitRecord {
    fn cells(&self) -> [Cell<'_>; COLUMNS.len()] {
        let at = |time: Time| Cell::Real(time.as_secs_f64());
        let delay = self.completed.map(|at| at.saturating_since(self.ready).as_secs_f64());
        let outcome = match (self.completed, self.deadline) {
            (None, _) => "missing",
            (Some(completed), Some(deadline)) if completed > deadline => "late",
            (Some(_), Some(_)) => "in time",
            (Some(_), None) => "arrived",
        };
        [
            Cell::Text(&self.of),
            Cell::Text(self.kind),
            Cell::Whole(self.number as i64),
            Cell::Whole(self.bytes as i64),
            at(self.ready),
            self.deadline.map_or(Cell::None, at),
            self.completed.map_or(Cell::None, at),
            delay.map_or(Cell::None, Cell::Real),
            Cell::Text(outcome),
        ]
    }
}

/// Writes a row for each.
pub(crate) fn write(
    units: impl IntoIterator<Item = UnitRecord>,
    file: TableFile,
) -> io::Result<()> {
    let mut table = Table::new(&COLUMNS, file)?;
    for unit in units {
        table.push(&unit.cells())?;
    }
    table.finish()
}
