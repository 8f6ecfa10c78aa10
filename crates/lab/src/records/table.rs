//! [`Table`]: rows on their way into a file, some thousands at a time.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::file::{Format, TableFile};

/// What is kept in memory before it is written: as much as a processor's cache holds.
const ROWS: usize = 1 << 14;

/// Texts of a column that are looked for when one comes again.
const TEXTS_KNOWN_MAX: usize = 64;
/// Texts that are written at once.
const TEXTS_AT_ONCE: usize = 1 << 10;

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// What it is called.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether each row has a value there.
    pub is_required: bool,
}

impl Column {
    /// One in which each row has a value.
    #[must_use]
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_required: true }
    }

    /// One whose value may be missing.
    #[must_use]
    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_required: false }
    }
}

/// What a column holds.
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// It is missing.
    None,
    /// A whole number.
    Whole(i64),
    /// A real one.
    Real(f64),
    /// Text.
    Text(&'a str),
    /// Whether something is so.
    Truth(bool),
}

/// Takes the rows of a table, one after the other.
pub trait Rows: Send {
    /// A row, with a cell for each column.
    ///
    /// # Errors
    /// It cannot be kept.
    fn push(&mut self, row: &[Cell<'_>]) -> io::Result<()>;

    /// That was the last.
    ///
    /// # Errors
    /// They cannot be kept.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Rows for Table {
    fn push(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
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

/// Values of a column that wait to be written.
struct Pending {
    values: Values,
    /// Which rows have one, where not all do.
    levels: Option<Vec<i16>>,
}

enum Values {
    Whole(Vec<i64>),
    Real(Vec<f64>),
    Text(Texts),
    Truth(Vec<bool>),
}

/// Texts of which there are few, many times: each once, and for each row which it is.
#[derive(Default)]
struct Texts {
    known: Vec<ByteArray>,
    rows: Vec<u32>,
    /// What was written last, and which each was: what comes in the same place again is not counted
    /// anew.
    written: Vec<ByteArray>,
    written_rows: Vec<u32>,
}

impl Cell<'_> {
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
                writer.write_record(columns.iter().map(|column| column.name))?;
                Ok(Self(Form::Csv { writer, field: String::new() }))
            }
            Format::Parquet => {
                let schema = schema(columns).map_err(io::Error::other)?;
                let writer = SerializedFileWriter::new(file, schema, properties(columns));
                let columns = columns.iter().map(Pending::new).collect();
                Ok(Self(Form::Parquet {
                    writer: writer.map_err(io::Error::other)?,
                    columns,
                    rows: 0,
                }))
            }
        }
    }

    /// A row, with a cell for each column.
    pub(crate) fn push(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
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
                        Cell::Text(value) => write!(field, "{value}"),
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
/// given up at last. Of text, which comes many times, nobody looks for the first in the alphabet.
fn properties(columns: &[Column]) -> Arc<WriterProperties> {
    let mut builder = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for Column { name, kind, .. } in columns {
        let column = ColumnPath::from(*name);
        builder = match kind {
            Kind::Text => builder
                .set_column_dictionary_enabled(column.clone(), true)
                .set_column_statistics_enabled(column, EnabledStatistics::None),
            Kind::Whole => builder.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
            Kind::Real | Kind::Truth => builder,
        };
    }
    Arc::new(builder.build())
}

fn schema(columns: &[Column]) -> Result<Arc<Type>, ParquetError> {
    let field = |Column { name, kind, is_required }: &Column| {
        let (physical, converted) = match kind {
            Kind::Whole => (Physical::INT64, ConvertedType::NONE),
            Kind::Real => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Kind::Truth => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(name, physical);
        let repetition = if *is_required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let field = field.with_converted_type(converted).with_repetition(repetition);
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

impl Texts {
    fn push(&mut self, text: &str) {
        let is_it = |known: &ByteArray| known.data() == text.as_bytes();
        let last =
            self.rows.last().filter(|last| self.known.get(**last as usize).is_some_and(is_it));
        let number = match last {
            Some(last) => *last,
            None => match self.known.iter().take(TEXTS_KNOWN_MAX).position(is_it) {
                Some(number) => number as u32,
                None => {
                    self.known.push(ByteArray::from(text));
                    (self.known.len() - 1) as u32
                }
            },
        };
        self.rows.push(number);
    }

    /// Writes all, some at a time, and forgets them.
    fn write(
        &mut self,
        writer: &mut ColumnWriterImpl<'_, ByteArrayType>,
        levels: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let mut numbers = self.rows.as_slice();
        let rows = levels.map_or(numbers.len(), <[_]>::len);
        for start in (0..rows).step_by(TEXTS_AT_ONCE) {
            let end = rows.min(start + TEXTS_AT_ONCE);
            let levels = levels.map(|levels| &levels[start..end]);
            let count = levels
                .map_or(end - start, |levels| levels.iter().filter(|level| **level != 0).count());
            let (these, rest) = numbers.split_at(count);
            numbers = rest;
            let known = |row: &u32| self.known[*row as usize].clone();
            for (row, (was, text)) in
                these.iter().zip(self.written_rows.iter_mut().zip(&mut self.written))
            {
                if row != was {
                    (*was, *text) = (*row, known(row));
                }
            }
            let more = these.get(self.written.len()..).unwrap_or_default();
            self.written_rows.extend_from_slice(more);
            self.written.extend(more.iter().map(known));
            writer.write_batch(&self.written[..count], levels, None)?;
        }
        self.rows.clear();
        if self.known.len() > TEXTS_KNOWN_MAX {
            *self = Self::default();
        }
        Ok(())
    }
}

impl Pending {
    fn new(column: &Column) -> Self {
        let values = match column.kind {
            Kind::Whole => Values::Whole(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Text => Values::Text(Texts::default()),
            Kind::Truth => Values::Truth(Vec::new()),
        };
        Self { values, levels: (!column.is_required).then(Vec::new) }
    }

    fn push(&mut self, cell: &Cell<'_>) {
        let is_there = match (&mut self.values, cell) {
            (Values::Whole(values), Cell::Whole(value)) => {
                values.push(*value);
                true
            }
            (Values::Real(values), Cell::Real(value)) => {
                values.push(*value);
                true
            }
            (Values::Text(texts), Cell::Text(value)) => {
                texts.push(value);
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
        match &mut self.levels {
            Some(levels) => levels.push(is_there.into()),
            None => debug_assert!(is_there, "each row has a value in this column"),
        }
    }

    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, TableFile>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else { return Ok(()) };
        let levels = self.levels.as_deref();
        match (column.untyped(), &mut self.values) {
            (ColumnWriter::Int64ColumnWriter(writer), Values::Whole(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (ColumnWriter::DoubleColumnWriter(writer), Values::Real(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(texts)) => {
                texts.write(writer, levels)?;
            }
            (ColumnWriter::BoolColumnWriter(writer), Values::Truth(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            _ => debug_assert!(false, "the schema has the columns' kinds"),
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        column.close()
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rng;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    use super::*;

    #[test]
    fn texts_come_back_however_many_there_are_and_where_some_are_missing() {
        for distinct in [1, 3, 10 * TEXTS_KNOWN_MAX as u64] {
            let columns =
                [Column::required("always", Kind::Text), Column::optional("some", Kind::Text)];
            let name = format!("anabranch-texts-{distinct}-{}.parquet", std::process::id());
            let path = std::env::temp_dir().join(name);
            let mut table = Table::new(&columns, TableFile::create(&path).unwrap()).unwrap();
            let mut rng = Rng::from_u64(distinct);
            let rows = (0..3 * ROWS + 7).map(|_| {
                let text = |rng: &mut Rng| format!("text {}", rng.range(0..distinct));
                (text(&mut rng), rng.chance(0.7).then(|| text(&mut rng)))
            });
            let rows: Vec<_> = rows.collect();
            for (always, some) in &rows {
                let some = some.as_deref().map_or(Cell::None, Cell::Text);
                table.push(&[Cell::Text(always), some]).unwrap();
            }
            table.finish().unwrap();
            let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
            let read = reader.get_row_iter(None).unwrap().map(Result::unwrap);
            let read = read
                .map(|row| (row.get_string(0).unwrap().clone(), row.get_string(1).ok().cloned()));
            assert!(read.eq(rows), "{distinct} texts");
            std::fs::remove_file(&path).unwrap();
        }
    }
}
