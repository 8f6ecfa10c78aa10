//! The result, for people and for programs.

use std::fmt;

use serde::Serialize;

use crate::Arguments;

/// CPU seconds per gigabyte: a row for each entrant, a column for each message size.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    medium: String,
    unit: &'static str,
    mtu: u16,
    window_kib: u32,
    ahead_kib: u64,
    loss_percent: f64,
    megabytes: u64,
    runs: u32,
    /// Bytes of the messages.
    sizes_bytes: Vec<usize>,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Cell {
    size_bytes: usize,
    cpu_seconds_per_gb: f64,
    /// To the first row.
    ratio: f64,
    /// The mean, where packets can be counted.
    packets_in_flight: Option<f64>,
}

impl Table {
    pub(crate) fn new(arguments: &Arguments) -> Self {
        Self {
            medium: format!("{:?}", arguments.medium).to_lowercase(),
            unit: "CPU seconds per GB of payload, both ends",
            mtu: arguments.mtu,
            window_kib: arguments.window,
            ahead_kib: arguments.ahead,
            loss_percent: arguments.loss,
            megabytes: arguments.megabytes,
            runs: arguments.runs,
            sizes_bytes: arguments.message_sizes(),
            rows: Vec::new(),
        }
    }

    /// Adds a figure to the row of that name.
    pub(crate) fn add(
        &mut self,
        name: &str,
        size_bytes: usize,
        cpu_seconds_per_gb: f64,
        packets_in_flight: Option<f64>,
    ) {
        let is_of_size = |cell: &&Cell| cell.size_bytes == size_bytes;
        let first = self.rows.first().and_then(|row| row.cells.iter().find(is_of_size));
        let ratio = first.map_or(1.0, |first| cpu_seconds_per_gb / first.cpu_seconds_per_gb);
        let cell = Cell { size_bytes, cpu_seconds_per_gb, ratio, packets_in_flight };
        match self.rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.cells.push(cell),
            None => self.rows.push(Row { name: name.to_owned(), cells: vec![cell] }),
        }
    }

    pub(crate) fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { medium, unit, mtu, window_kib, ahead_kib, .. } = self;
        let Self { loss_percent, megabytes, runs, .. } = self;
        writeln!(f, "{medium}: {unit} (ratio to the first row), mean packets in flight")?;
        writeln!(
            f,
            "{megabytes} MB, best of {runs}; packets of {mtu} bytes, window {window_kib} KiB, \
             {ahead_kib} KiB ahead, loss {loss_percent} %"
        )?;
        write!(f, "{:<26}", "")?;
        for size in &self.sizes_bytes {
            write!(f, "{:>20}", size_in_words(*size))?;
        }
        for row in &self.rows {
            write!(f, "\n{:<26}", row.name)?;
            for cell in &row.cells {
                write!(f, "{:>20}", cell.to_string())?;
            }
        }
        Ok(())
    }
}

fn size_in_words(bytes: usize) -> String {
    if bytes.is_multiple_of(1 << 10) {
        format!("{} KiB", bytes >> 10)
    } else {
        format!("{bytes} B")
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2})", self.cpu_seconds_per_gb, self.ratio)?;
        match self.packets_in_flight {
            Some(packets) => write!(f, " {packets:>5.0}"),
            None => Ok(()),
        }
    }
}
