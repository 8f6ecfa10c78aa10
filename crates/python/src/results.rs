//! [`Results`]: what runs gave, as tables.

use anabranch_lab::records::{Cell, Column, Kind};
use anabranch_lab::scenario::{FlowOutcome, LinkOutcome, Outcome, Run, tables};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::table::{Before, Builder, Table, broken, schema, text_or_none, whole};

const FLOW_COLUMNS: &[Column] = &[
    Column::optional("flow", Kind::Text),
    Column::optional("kind", Kind::Text),
    Column::optional("goodput_bps", Kind::Real),
    Column::optional("share", Kind::Real),
    Column::optional("delay_p50_ms", Kind::Real),
    Column::optional("delay_p95_ms", Kind::Real),
    Column::optional("delay_p99_ms", Kind::Real),
    Column::optional("delay_max_ms", Kind::Real),
    Column::optional("first_ms", Kind::Real),
    Column::optional("messages", Kind::Whole),
    Column::optional("lost", Kind::Whole),
    Column::optional("packets", Kind::Whole),
    Column::optional("retransmitted", Kind::Whole),
    Column::optional("late", Kind::Whole),
    Column::optional("freezes", Kind::Whole),
    Column::optional("frozen_ms", Kind::Real),
    Column::optional("ended", Kind::Text),
];

const LINK_COLUMNS: &[Column] = &[
    Column::optional("link", Kind::Text),
    Column::optional("utilisation", Kind::Real),
    Column::optional("lost", Kind::Whole),
    Column::optional("refused", Kind::Whole),
    Column::optional("cut", Kind::Whole),
    Column::optional("queue_mean_bytes", Kind::Real),
    Column::optional("queue_max_bytes", Kind::Whole),
];

/// Rows of one kind, in batches.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

/// What runs gave, in the order of their seeds. ``str()`` is the tables of ``lab run``.
#[pyclass(frozen, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) runs: Vec<Run>,
    pub(crate) packets: Option<Recorded>,
    pub(crate) frames: Option<Recorded>,
}

#[pymethods]
impl Results {
    /// A row for each flow of each run.
    ///
    /// Columns: the labels, ``seed``, ``flow``, ``kind``; ``goodput_bps``, payload that arrived
    /// while the flow sent; ``share`` of its busiest link, 0 to 1; ``delay_p50_ms``,
    /// ``delay_p95_ms``, ``delay_p99_ms`` and ``delay_max_ms`` of messages, from when they were
    /// ready to their arrival; ``first_ms`` from its start to the first message at the other end;
    /// ``messages``, and how many of them were ``lost``; ``packets`` that the sender sent;
    /// ``retransmitted`` packets' worth of data; of media, units that came ``late``, ``freezes``
    /// of the picture and ``frozen_ms`` in all; why its transport ``ended`` before the run did.
    #[getter]
    fn flows(&self) -> PyResult<Table> {
        self.rows(FLOW_COLUMNS, |outcome| outcome.flows.iter().map(flow_row).collect())
    }

    /// A row for each direction of each link of each run.
    ///
    /// Columns: the labels, ``seed``, ``link``; ``utilisation``, what it carried of what it could
    /// have, 0 to 1; packets that were ``lost``, ``refused`` by its queue, and lost to a ``cut``
    /// or too long for it; ``queue_mean_bytes`` and ``queue_max_bytes``. All of it until the
    /// scenario's ``duration`` is over: what drains afterwards is not counted.
    #[getter]
    fn links(&self) -> PyResult<Table> {
        self.rows(LINK_COLUMNS, |outcome| outcome.links.iter().map(link_row).collect())
    }

    /// A row for each chunk of data of each packet on each link: docs/lab-records.md.
    ///
    /// ValueError if ``run(packets=True)`` did not ask for it.
    #[getter]
    fn packets(&self) -> PyResult<Table> {
        recorded(self.packets.as_ref(), "packets")
    }

    /// A row for each layer of each picture, and for sound, of media and television.
    ///
    /// Columns: the labels, ``seed``, ``flow``, ``track``, ``frame`` (its number there),
    /// ``layer``, ``class``, ``bytes``; ``ready_s``, when it was made; ``deadline_s``, the
    /// latency later; ``completed_s``, when its last part came, none if one never did;
    /// ``delay_s`` from ``ready_s`` to then; ``outcome``, which is ``in time``, ``late`` or
    /// ``missing``: docs/lab-records.md. ValueError if ``run(frames=True)`` did not ask for it.
    #[getter]
    fn frames(&self) -> PyResult<Table> {
        recorded(self.frames.as_ref(), "frames")
    }

    /// The seed of each run.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.runs.iter().map(|run| run.seed).collect()
    }

    fn __len__(&self) -> usize {
        self.runs.len()
    }

    fn __repr__(&self) -> String {
        format!("<anabranch.Results of {} runs>", self.runs.len())
    }

    fn __str__(&self) -> String {
        tables(&self.runs)
    }

    /// The runs of all of them, in this order.
    #[staticmethod]
    fn join(parts: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        if parts.iter().any(|part| part.packets.is_some() || part.frames.is_some()) {
            return Err(PyTypeError::new_err(
                "packets and frames are not joined: take those of each part by itself",
            ));
        }
        let runs = parts.iter().flat_map(|part| part.runs.iter().cloned()).collect();
        Ok(Self { runs, packets: None, frames: None })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let this = slf.get();
        if this.packets.is_some() || this.frames.is_some() {
            return Err(PyTypeError::new_err(
                "results with packets or frames do not go to another process: reduce them to \
                 what is needed there first",
            ));
        }
        let runs: Vec<_> =
            this.runs.iter().map(|run| (&run.point, run.seed, &run.outcome)).collect();
        let text = serde_json::to_string(&runs).map_err(invalid)?;
        Ok((slf.get_type().getattr("_of_json")?, (text,)))
    }

    #[staticmethod]
    fn _of_json(text: &str) -> PyResult<Self> {
        let runs: Vec<(_, u64, Outcome)> = serde_json::from_str(text).map_err(invalid)?;
        let run = |(point, seed, outcome)| Run { point, seed, outcome };
        Ok(Self { runs: runs.into_iter().map(run).collect(), packets: None, frames: None })
    }
}

impl Results {
    /// A table of the rows that `rows` makes of each run.
    fn rows(
        &self,
        columns: &[Column],
        rows: fn(&Outcome) -> Vec<Vec<Cell<'_>>>,
    ) -> PyResult<Table> {
        self.build(columns, rows).map_err(broken)
    }

    fn build(
        &self,
        columns: &[Column],
        rows: fn(&Outcome) -> Vec<Vec<Cell<'_>>>,
    ) -> Result<Table, ArrowError> {
        let labels = self.labels();
        let mut builder = Builder::new(schema(&labels, columns));
        for run in &self.runs {
            let before = before(&labels, &run.point, run.seed);
            for row in rows(&run.outcome) {
                builder.push(before.cells().chain(row))?;
            }
        }
        builder.finish()
    }

    /// The names of all values that were swept, in the order in which they first occur.
    fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for (label, _) in self.runs.iter().flat_map(|run| &run.point) {
            if !labels.contains(label) {
                labels.push(label.clone());
            }
        }
        labels
    }
}

/// What stands in front of each row of a run.
pub(crate) fn before(labels: &[String], point: &[(String, String)], seed: u64) -> Before {
    let value = |label: &String| {
        let found = point.iter().find(|(known, _)| known == label);
        found.map(|(_, value)| value.clone())
    };
    Before { values: labels.iter().map(value).collect(), seed }
}

fn recorded(recorded: Option<&Recorded>, name: &str) -> PyResult<Table> {
    let Some(Recorded { schema, batches }) = recorded else {
        return Err(PyValueError::new_err(format!("{name} were not asked for: run({name}=True)")));
    };
    Ok(Table::new(schema.clone(), batches.clone()))
}

fn flow_row(flow: &FlowOutcome) -> Vec<Cell<'_>> {
    vec![
        Cell::Text(&flow.name),
        Cell::Text(&flow.kind),
        Cell::Real(flow.goodput_bps),
        Cell::Real(flow.share),
        real(flow.delay_p50_ms),
        real(flow.delay_p95_ms),
        real(flow.delay_p99_ms),
        real(flow.delay_max_ms),
        real(flow.first_ms),
        whole(flow.messages),
        whole(flow.lost),
        whole(flow.packets),
        whole(flow.retransmitted),
        flow.late.map_or(Cell::None, whole),
        flow.freezes.map_or(Cell::None, whole),
        real(flow.frozen_ms),
        text_or_none(flow.ended.as_deref()),
    ]
}

fn link_row(link: &LinkOutcome) -> Vec<Cell<'_>> {
    vec![
        Cell::Text(&link.name),
        real(link.utilisation),
        whole(link.lost),
        whole(link.refused),
        whole(link.cut),
        Cell::Real(link.queue_mean_bytes),
        whole(link.queue_max_bytes),
    ]
}

fn real(value: Option<f64>) -> Cell<'static> {
    value.map_or(Cell::None, Cell::Real)
}

fn invalid(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("these are no results: {error}"))
}
