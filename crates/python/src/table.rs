//! [`Table`]: rows in Arrow's memory layout, which other libraries read where they are.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_lab::records::{Cell, Column, Kind, Rows};
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, StringBuilder,
};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyImportError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 16;

/// Rows and columns in Arrow's layout, which other libraries read without a copy.
///
/// It has Arrow's PyCapsule interface: ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and
/// whatever else takes an Arrow stream. Columns of text are dictionaries.
#[pyclass(frozen, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// Takes rows.
pub(crate) struct Builder {
    schema: SchemaRef,
    columns: Vec<Values>,
    rows: usize,
    batches: Vec<RecordBatch>,
}

enum Values {
    Whole(Int64Builder),
    Real(Float64Builder),
    Text(Texts),
    Truth(BooleanBuilder),
}

/// Text of which there is little, many times.
#[derive(Default)]
struct Texts {
    keys: Int32Builder,
    /// Each text once, with its key.
    known: HashMap<String, i32>,
    values: StringBuilder,
    /// The one before, which most often comes again.
    last: Option<(String, i32)>,
}

/// What stands in front of each row of a run: what its labels say, and its seed.
pub(crate) struct Before {
    pub(crate) values: Vec<Option<String>>,
    pub(crate) seed: u64,
}

impl Before {
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let values = self.values.iter().map(|value| text_or_none(value.as_deref()));
        values.chain([whole(self.seed)])
    }
}

pub(crate) fn text_or_none(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::None, Cell::Text)
}

pub(crate) fn whole(value: u64) -> Cell<'static> {
    Cell::Whole(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Takes the rows of a run, each behind its seed, and leaves them in batches when they are whole.
pub(crate) struct Collector {
    builder: Builder,
    before: Before,
    into: Arc<Mutex<Vec<RecordBatch>>>,
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Arrow PyCapsule interface: who asks for another schema takes ours and casts.
        let _ = requested_schema;
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(broken)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// How many rows it has.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of its columns, in their order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<anabranch.Table of {} rows: {}>", self.num_rows(), self.column_names().join(", "))
    }

    /// As a frame of polars, which must be there.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let polars = needed(slf.py(), "polars", "to_polars needs polars: pip install polars")?;
        polars.call_method1("DataFrame", (slf,))
    }

    /// As a frame of pandas on Arrow's own memory; pandas and pyarrow must be there.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let words = "to_pandas needs pandas and pyarrow: pip install pandas pyarrow";
        let pandas = needed(slf.py(), "pandas", words)?;
        let pyarrow = needed(slf.py(), "pyarrow", words)?;
        let arguments = PyDict::new(slf.py());
        arguments.set_item("types_mapper", pandas.getattr("ArrowDtype")?)?;
        pyarrow.call_method1("table", (slf,))?.call_method("to_pandas", (), Some(&arguments))
    }
}

impl Table {
    pub(crate) const fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }
}

fn needed<'py>(py: Python<'py>, name: &str, words: &'static str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let told = PyImportError::new_err(words);
        told.set_cause(py, Some(error));
        told
    })
}

impl Builder {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        let columns = schema.fields().iter().map(|field| Values::of(field.data_type()));
        Self { columns: columns.collect(), schema, rows: 0, batches: Vec::new() }
    }

    /// A row, with a cell for each column.
    pub(crate) fn push<'a>(
        &mut self,
        row: impl IntoIterator<Item = Cell<'a>>,
    ) -> Result<(), ArrowError> {
        for (values, cell) in self.columns.iter_mut().zip(row) {
            values.push(cell)?;
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS { self.close_batch() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> Result<Table, ArrowError> {
        if self.rows > 0 {
            self.close_batch()?;
        }
        Ok(Table::new(self.schema, self.batches))
    }

    fn close_batch(&mut self) -> Result<(), ArrowError> {
        self.rows = 0;
        let columns = self.columns.iter_mut().map(Values::finish).collect::<Result<_, _>>()?;
        self.batches.push(RecordBatch::try_new(Arc::clone(&self.schema), columns)?);
        Ok(())
    }
}

impl Values {
    fn of(kind: &DataType) -> Self {
        if *kind == DataType::Int64 {
            Self::Whole(Int64Builder::new())
        } else if *kind == DataType::Float64 {
            Self::Real(Float64Builder::new())
        } else if *kind == DataType::Boolean {
            Self::Truth(BooleanBuilder::new())
        } else {
            Self::Text(Texts::default())
        }
    }

    fn push(&mut self, cell: Cell<'_>) -> Result<(), ArrowError> {
        match (self, cell) {
            (Self::Whole(values), Cell::Whole(value)) => values.append_value(value),
            (Self::Whole(values), _) => values.append_null(),
            (Self::Real(values), Cell::Real(value)) => values.append_value(value),
            (Self::Real(values), _) => values.append_null(),
            (Self::Truth(values), Cell::Truth(value)) => values.append_value(value),
            (Self::Truth(values), _) => values.append_null(),
            (Self::Text(values), Cell::Text(value)) => values.push(value)?,
            (Self::Text(values), _) => values.keys.append_null(),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Whole(values) => Arc::new(values.finish()),
            Self::Real(values) => Arc::new(values.finish()),
            Self::Text(values) => Arc::new(std::mem::take(values).finish()?),
            Self::Truth(values) => Arc::new(values.finish()),
        })
    }
}

impl Texts {
    fn push(&mut self, text: &str) -> Result<(), ArrowError> {
        let last = self.last.as_ref().filter(|(last, _)| last == text);
        let key = match last {
            Some((_, key)) => *key,
            None => self.key(text)?,
        };
        self.keys.append_value(key);
        Ok(())
    }

    fn key(&mut self, text: &str) -> Result<i32, ArrowError> {
        let key = match self.known.get(text) {
            Some(key) => *key,
            None => {
                let key = i32::try_from(self.known.len());
                let key = key.map_err(|_| ArrowError::DictionaryKeyOverflowError)?;
                self.values.append_value(text);
                self.known.insert(text.to_owned(), key);
                key
            }
        };
        self.last = Some((text.to_owned(), key));
        Ok(key)
    }

    fn finish(mut self) -> Result<DictionaryArray<Int32Type>, ArrowError> {
        DictionaryArray::try_new(self.keys.finish(), Arc::new(self.values.finish()))
    }
}

impl Collector {
    /// Puts `before` in front of each row of `schema`, and the batches into `into`.
    pub(crate) fn new(
        schema: SchemaRef,
        before: Before,
        into: Arc<Mutex<Vec<RecordBatch>>>,
    ) -> Self {
        Self { builder: Builder::new(schema), before, into }
    }
}

impl Rows for Collector {
    fn push(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        let row = row.iter().copied();
        self.builder.push(self.before.cells().chain(row)).map_err(io::Error::other)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let table = self.builder.finish().map_err(io::Error::other)?;
        self.into.lock().unwrap_or_else(PoisonError::into_inner).extend(table.batches);
        Ok(())
    }
}

/// Columns of text for `labels`, one for the seed, then these.
pub(crate) fn schema(labels: &[String], columns: &[Column]) -> SchemaRef {
    let labels = labels.iter().map(|label| field(label, Kind::Text));
    let rest = columns.iter().map(|column| field(column.name, column.kind));
    let fields = labels.chain([field("seed", Kind::Whole)]).chain(rest);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

pub(crate) fn field(name: &str, kind: Kind) -> Field {
    let kind = match kind {
        Kind::Whole => DataType::Int64,
        Kind::Real => DataType::Float64,
        Kind::Text => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Kind::Truth => DataType::Boolean,
    };
    Field::new(name, kind, true)
}

pub(crate) fn broken(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
