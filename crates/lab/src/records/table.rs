//! [`Table`]: rows on their way into a file, some thousands at a time.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::file::{Format, TableFile};

/// What is kept in memory before it is written.
const ROWS: usize = 1 << 15;

/// A column's name and what it holds.
pub type Column = (&'static str, Kind);

/// What a column holds. Any value may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Whole,
    /// Real numbers.
    Real,
    /// Text in UTF-8, of which there is little in most columns, many times.
    Text,
    /// Whether something is so.
    Truth,
}

/// A value in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// It is missing.
    None,
    /// A whole number.
    Whole(i64),
    /// A real one.
    Real(f64),
    /// Text in UTF-8.
    Text(Bytes),
    /// Whether something is so.
    Truth(bool),
}

/// Takes the rows of a table, one after the other.
pub trait Rows: Send {
    /// A row, with a cell for each column.
    ///
    /// # Errors
    /// It cannot be kept.
    fn push(&mut self, row: &[Cell]) -> io::Result<()>;

    /// That was the last.
    ///
    /// # Errors
    /// They cannot be kept.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Rows for Table {
    fn push(&mut self, row: &[Cell]) -> io::Result<()> {
        Self::push(self, row)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Self::finish(*self)
    }
}

/// A table under way into a file.
pub struct Table(Form);

enum Form {
    Csv { writer: csv::Writer<TableFile>, field: String },
    Parquet { writer: SerializedFileWriter<TableFile>, columns: Vec<Pending>, rows: usize },
}

/// Values of a column that wait to be written, and which rows have one.
struct Pending {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Whole(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<ByteArray>),
    Truth(Vec<bool>),
}

impl Cell {
    pub(crate) fn whole(value: impl Into<i64>) -> Self {
        Self::Whole(value.into())
    }
}

impl Table {
    /// Begins, with the names of the columns.
    ///
    /// # Errors
    /// The file's.
    pub fn new(columns: &[Column], file: TableFile) -> io::Result<Self> {
        match file.format() {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(file);
                writer.write_record(columns.iter().map(|(name, _)| name))?;
                Ok(Self(Form::Csv { writer, field: String::new() }))
            }
            Format::Parquet => {
                let schema = schema(columns).map_err(io::Error::other)?;
                let writer = SerializedFileWriter::new(file, schema, properties(columns));
                let columns = columns.iter().map(|(_, kind)| Pending::new(*kind)).collect();
                Ok(Self(Form::Parquet {
                    writer: writer.map_err(io::Error::other)?,
                    columns,
                    rows: 0,
                }))
            }
        }
    }

    /// A row, with a cell for each column.
    pub(crate) fn push(&mut self, row: &[Cell]) -> io::Result<()> {
        match &mut self.0 {
            Form::Csv { writer, field } => {
                for cell in row {
                    field.clear();
                    // Writing to a string does not fail.
                    let _ = match cell {
                        Cell::None => Ok(()),
                        Cell::Whole(value) => write!(field, "{value}"),
                        Cell::Real(value) => write!(field, "{value}"),
                        Cell::Truth(value) => write!(field, "{value}"),
                        Cell::Text(value) => write!(field, "{}", String::from_utf8_lossy(value)),
                    };
                    writer.write_field(&*field)?;
                }
                Ok(writer.write_record(None::<&[u8]>)?)
            }
            Form::Parquet { writer, columns, rows } => {
                for (column, cell) in columns.iter_mut().zip(row) {
                    column.push(cell);
                }
                *rows += 1;
                if *rows < ROWS {
                    return Ok(());
                }
                *rows = 0;
                write_group(writer, columns).map_err(in_words)
            }
        }
    }

    /// Ends it, and gives the file its name.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.0 {
            Form::Csv { writer, .. } => {
                let file = writer.into_inner().map_err(|error| error.into_error())?;
                file.finish()
            }
            Form::Parquet { mut writer, mut columns, rows } => {
                if rows > 0 {
                    write_group(&mut writer, &mut columns).map_err(in_words)?;
                }
                writer.into_inner().map_err(in_words)?.finish()
            }
        }
    }
}

/// Times and numbers seldom come twice: a dictionary of them costs a third of the writing, and is
/// given up at last.
fn properties(columns: &[Column]) -> Arc<WriterProperties> {
    let mut builder = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for (name, kind) in columns {
        let column = ColumnPath::from(*name);
        builder = match kind {
            Kind::Text => builder.set_column_dictionary_enabled(column, true),
            Kind::Whole => builder.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
            Kind::Real | Kind::Truth => builder,
        };
    }
    Arc::new(builder.build())
}

fn schema(columns: &[Column]) -> Result<Arc<Type>, ParquetError> {
    let field = |(name, kind): &Column| {
        let (physical, converted) = match kind {
            Kind::Whole => (Physical::INT64, ConvertedType::NONE),
            Kind::Real => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Kind::Truth => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(name, physical);
        let field = field.with_converted_type(converted).with_repetition(Repetition::OPTIONAL);
        field.build().map(Arc::new)
    };
    let fields: Result<Vec<_>, _> = columns.iter().map(field).collect();
    Type::group_type_builder("records").with_fields(fields?).build().map(Arc::new)
}

fn write_group(
    writer: &mut SerializedFileWriter<TableFile>,
    columns: &mut [Pending],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        column.write(&mut group)?;
    }
    group.close().map(|_| ())
}

/// An error of the file is told as it is.
fn in_words(error: ParquetError) -> io::Error {
    if let ParquetError::External(cause) = error {
        return match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        };
    }
    io::Error::other(error)
}

impl Pending {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Whole => Values::Whole(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
            Kind::Truth => Values::Truth(Vec::new()),
        };
        Self { values, levels: Vec::new() }
    }

    fn push(&mut self, cell: &Cell) {
        let is_there = match (&mut self.values, cell) {
            (Values::Whole(values), Cell::Whole(value)) => {
                values.push(*value);
                true
            }
            (Values::Real(values), Cell::Real(value)) => {
                values.push(*value);
                true
            }
            (Values::Text(values), Cell::Text(value)) => {
                values.push(value.clone().into());
                true
            }
            (Values::Truth(values), Cell::Truth(value)) => {
                values.push(*value);
                true
            }
            (_, cell) => {
                debug_assert_eq!(*cell, Cell::None, "a value of another kind than its column's");
                false
            }
        };
        self.levels.push(is_there.into());
    }

    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, TableFile>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else { return Ok(()) };
        let levels = Some(&*self.levels);
        match (column.untyped(), &mut self.values) {
            (ColumnWriter::Int64ColumnWriter(writer), Values::Whole(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (ColumnWriter::DoubleColumnWriter(writer), Values::Real(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (ColumnWriter::BoolColumnWriter(writer), Values::Truth(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            _ => debug_assert!(false, "the schema has the columns' kinds"),
        }
        self.levels.clear();
        column.close()
    }
}
