//! The papers' cells, as tables.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anabranch_lab::records::{Cell as Value, Kind};
use anabranch_lab::{
    CellError, ParameterError, Parameters, RecordTo, Settings, almajeed2011, chang2010,
    huseynli2023, kim2007, ortiz2013,
};
use arrow_schema::Schema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::RunError;
use crate::scenario::given;
use crate::table::{Builder, Table, broken, field};

/// How often a signal, as Ctrl-C's, is looked for while cells go on.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);
const PAPERS: &str = "ortiz2013, kim2007, almajeed2011, huseynli2023 or chang2010";
const SEEDS_MAX: u64 = 1_000_000;

/// What is asked for of a paper.
struct Asked {
    paper: String,
    seeds: u64,
    set: Vec<String>,
    /// Parts that a cell's name must have.
    only: Vec<String>,
    /// Frames of the video that are sent.
    frames: Option<NonZeroUsize>,
    jobs: Option<NonZeroUsize>,
}

/// See ``anabranch.papers.cells``.
#[pyfunction]
#[pyo3(signature = (paper, *, seeds = 1, set = None, only = None, frames = None, jobs = None))]
pub(crate) fn cells(
    py: Python<'_>,
    paper: String,
    seeds: u64,
    set: Option<&Bound<'_, PyDict>>,
    only: Option<Vec<String>>,
    frames: Option<NonZeroUsize>,
    jobs: Option<NonZeroUsize>,
) -> PyResult<Table> {
    if !(1..=SEEDS_MAX).contains(&seeds) {
        return Err(PyValueError::new_err(format!("seeds is {seeds}: give 1 to {SEEDS_MAX}")));
    }
    let set = given(set)?.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    let asked = Asked { paper, seeds, set, only: only.unwrap_or_default(), frames, jobs };
    let csv = match asked.paper.as_str() {
        "ortiz2013" => asked.ortiz2013(py),
        "kim2007" => asked.kim2007(py),
        "almajeed2011" => asked.almajeed2011(py),
        "huseynli2023" => asked.huseynli2023(py),
        "chang2010" => asked.chang2010(py),
        other => Err(PyValueError::new_err(format!("there is no paper {other}: give {PAPERS}"))),
    };
    table(&csv?)
}

impl Asked {
    fn ortiz2013(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let setup = ortiz2013::Setup::with(ortiz2013::Source::Congested, self.parameters()?);
        let setup = match self.frames {
            Some(frames) => setup.cut_after(frames.get()),
            None => setup,
        };
        let cells = ortiz2013::cells(setup.values(), &ortiz2013::Strategy::ALL, self.seeds);
        let results = self.run(py, &cells, |cell| cell.run(&setup))?;
        ortiz2013::cells_csv(&setup, &results).map_err(unwritten)
    }

    fn kim2007(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.refuse_frames()?;
        let parameters: Parameters<kim2007::Values> = self.parameters()?;
        let figures = kim2007::Scenario::ALL.into_iter();
        let cells: Vec<_> =
            figures.flat_map(|figure| parameters.values().cells(figure, self.seeds)).collect();
        let run = |cell: &kim2007::Cell| cell.run_recorded(&parameters, RecordTo::default());
        kim2007::cells_csv(&parameters, &self.run(py, &cells, run)?).map_err(unwritten)
    }

    fn almajeed2011(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let pictures = self.frames.map(NonZeroUsize::get);
        let setup = almajeed2011::Setup::with(self.parameters()?, pictures)
            .map_err(|error| RunError::new_err(error.to_string()))?;
        let cells = almajeed2011::cells(self.seeds);
        let results = self.run(py, &cells, |cell| cell.run(&setup))?;
        almajeed2011::cells_csv(&setup, &results).map_err(unwritten)
    }

    fn huseynli2023(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.refuse_frames()?;
        let parameters: Parameters<huseynli2023::Values> = self.parameters()?;
        let cells = huseynli2023::cells(self.seeds);
        let run = |cell: &huseynli2023::Cell| cell.run_recorded(&parameters, RecordTo::default());
        huseynli2023::cells_csv(&parameters, &self.run(py, &cells, run)?).map_err(unwritten)
    }

    fn chang2010(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.refuse_frames()?;
        let parameters: Parameters<chang2010::Values> = self.parameters()?;
        let cells = chang2010::cells(self.seeds);
        let run = |cell: &chang2010::Cell| cell.run_recorded(&parameters, RecordTo::default());
        chang2010::cells_csv(&parameters, &self.run(py, &cells, run)?).map_err(unwritten)
    }

    fn parameters<S: Settings>(&self) -> PyResult<Parameters<S>> {
        let read = Parameters::read(self.set.iter().map(String::as_str));
        read.map_err(|error: ParameterError| {
            PyValueError::new_err(format!("{}: {error}", self.paper))
        })
    }

    fn refuse_frames(&self) -> PyResult<()> {
        let words = || format!("{} has no video to be cut: leave frames out", self.paper);
        self.frames.map_or(Ok(()), |_| Err(PyValueError::new_err(words())))
    }

    /// Those whose names have all that is asked for, and the results of each.
    fn run<C: Copy + Sync + Send + ToString, M: Send>(
        &self,
        py: Python<'_>,
        cells: &[C],
        run: impl Fn(&C) -> Result<M, CellError> + Sync,
    ) -> PyResult<Vec<(C, M)>> {
        let is_asked = |cell: &&C| {
            let name = cell.to_string();
            let parts: Vec<&str> = name.split(", ").collect();
            self.only.iter().all(|part| parts.contains(&part.as_str()))
        };
        let chosen: Vec<C> = cells.iter().filter(is_asked).copied().collect();
        if chosen.is_empty() {
            let example = cells.first().map(ToString::to_string).unwrap_or_default();
            return Err(PyValueError::new_err(format!(
                "{} has no cell with {}: its cells are called such as \"{example}\", and each \
                 part between commas can be given",
                self.paper,
                self.only.join(", ")
            )));
        }
        at_once(py, self.jobs, &chosen, run)
    }
}

/// Runs cells on several threads, none of which holds Python's lock.
fn at_once<C: Copy + Sync + Send, M: Send>(
    py: Python<'_>,
    jobs: Option<NonZeroUsize>,
    cells: &[C],
    run: impl Fn(&C) -> Result<M, CellError> + Sync,
) -> PyResult<Vec<(C, M)>> {
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    py.detach(|| share_out(jobs.min(cells.len()), cells, &run))
}

/// Has threads run all cells, and looks for signals meanwhile.
fn share_out<C: Copy + Sync + Send, M: Send>(
    jobs: usize,
    cells: &[C],
    run: &(impl Fn(&C) -> Result<M, CellError> + Sync),
) -> PyResult<Vec<(C, M)>> {
    let next = &AtomicUsize::new(0);
    let (sender, ends) = mpsc::channel();
    let mut results: Vec<Option<(C, M)>> = Vec::new();
    results.resize_with(cells.len(), || None);
    let mut failed = None;
    thread::scope(|scope| {
        for _ in 0..jobs {
            let sender = sender.clone();
            scope.spawn(move || {
                while let Some((number, cell)) = take(next, cells) {
                    // The other end lives until all threads are gone.
                    let _ = sender.send((number, *cell, run(cell)));
                }
            });
        }
        drop(sender);
        loop {
            let error = match ends.recv_timeout(SIGNALS_EVERY) {
                Ok((number, cell, Ok(measured))) => {
                    results[number] = Some((cell, measured));
                    None
                }
                Ok((_, _, Err(error))) => Some(RunError::new_err(error.to_string())),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()).err(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if error.is_some() {
                // The cells that are under way come to their end.
                next.store(cells.len(), Ordering::Relaxed);
                failed = failed.take().or(error);
            }
        }
    });
    failed.map_or_else(|| Ok(results.into_iter().flatten().collect()), Err)
}

/// The next cell, if there is one.
fn take<'a, C>(next: &AtomicUsize, cells: &'a [C]) -> Option<(usize, &'a C)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    cells.get(number).map(|cell| (number, cell))
}

/// The lines of a table in CSV, each column with the narrowest kind that fits all of it.
fn table(csv: &[u8]) -> PyResult<Table> {
    let mut reader = csv::Reader::from_reader(csv);
    let names = reader.headers().map_err(unwritten)?.clone();
    let records: Vec<csv::StringRecord> =
        reader.records().collect::<Result<_, _>>().map_err(unwritten)?;
    let kind = |column: usize| kind(records.iter().filter_map(|record| record.get(column)));
    let kinds: Vec<Kind> = (0..names.len()).map(kind).collect();
    let fields = names.iter().zip(&kinds).map(|(name, kind)| field(name, *kind));
    let mut builder = Builder::new(Schema::new(fields.collect::<Vec<_>>()).into());
    for record in &records {
        let row = record.iter().zip(&kinds).map(|(text, kind)| value(text, *kind));
        builder.push(row).map_err(broken)?;
    }
    builder.finish().map_err(broken)
}

fn kind<'a>(values: impl Iterator<Item = &'a str>) -> Kind {
    let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
    if values.iter().all(|value| value.parse::<i64>().is_ok()) {
        Kind::Whole
    } else if values.iter().all(|value| value.parse::<f64>().is_ok()) {
        Kind::Real
    } else if values.iter().all(|value| value.parse::<bool>().is_ok()) {
        Kind::Truth
    } else {
        Kind::Text
    }
}

fn value(text: &str, kind: Kind) -> Value<'_> {
    let value = match kind {
        _ if text.is_empty() => None,
        Kind::Whole => text.parse().ok().map(Value::Whole),
        Kind::Real => text.parse().ok().map(Value::Real),
        Kind::Truth => text.parse().ok().map(Value::Truth),
        Kind::Text => Some(Value::Text(text)),
    };
    value.unwrap_or(Value::None)
}

fn unwritten(error: csv::Error) -> PyErr {
    RunError::new_err(error.to_string())
}
