//! [`Table`]: rows on their way into a file, some thousands at a time.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type};

use super::file::{Format, TableFile};
use super::texts::{self, Texts};

/// What is kept in memory before it is written: as much as a processor's cache holds.
const ROWS: usize = 1 << 14;
const _: () = assert!(ROWS <= texts::ROWS_MAX);

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
    /// Which rows have one, up to the last that does, where not all do.
    levels: Option<Vec<i16>>,
}

enum Values {
    Whole(Vec<i64>),
    Real(Vec<f64>),
    Text(Texts),
    Truth(Vec<bool>),
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
                let writer = writer.map_err(io::Error::other)?;
                let described = writer.schema_descr().columns();
                let columns = columns.iter().zip(described).map(Pending::new).collect();
                Ok(Self(Form::Parquet { writer, columns, rows: 0 }))
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
                    column.push(cell, *rows);
                }
                *rows += 1;
                if *rows < ROWS {
                    return Ok(());
                }
                write_group(writer, columns, std::mem::take(rows)).map_err(in_words)
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
                    write_group(&mut writer, &mut columns, rows).map_err(in_words)?;
                }
                writer.into_inner().map_err(in_words)?.finish()
            }
        }
    }
}

/// Times and numbers seldom come twice: a dictionary of them costs a third of the writing, and is
/// given up at last. Text is written by [`Texts`].
fn properties(columns: &[Column]) -> Arc<WriterProperties> {
    let mut builder = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for Column { name, kind, .. } in columns {
        if *kind == Kind::Whole {
            let column = ColumnPath::from(*name);
            builder = builder.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
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
    rows: usize,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        column.write(&mut group, rows)?;
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
    fn new((column, described): (&Column, &ColumnDescPtr)) -> Self {
        let values = match column.kind {
            Kind::Whole => Values::Whole(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Text => Values::Text(Texts::new(described.clone())),
            Kind::Truth => Values::Truth(Vec::new()),
        };
        Self { values, levels: (!column.is_required).then(Vec::new) }
    }

    /// `row`: how many came before it.
    fn push(&mut self, cell: &Cell<'_>, row: usize) {
        match (&mut self.values, cell) {
            (Values::Whole(values), Cell::Whole(value)) => values.push(*value),
            (Values::Real(values), Cell::Real(value)) => values.push(*value),
            (Values::Text(texts), Cell::Text(value)) => texts.push(value),
            (Values::Truth(values), Cell::Truth(value)) => values.push(*value),
            (_, cell) => {
                let is_missing = matches!(cell, Cell::None);
                debug_assert!(is_missing, "a value of another kind than its column's");
                debug_assert!(self.levels.is_some(), "each row has a value in this column");
                return;
            }
        }
        if let Some(levels) = &mut self.levels {
            if levels.len() < row {
                levels.resize(row, 0);
            }
            levels.push(1);
        }
    }

    /// `rows`: how many there are, missing ones among them.
    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, TableFile>,
        rows: usize,
    ) -> Result<(), ParquetError> {
        if let Some(levels) = &mut self.levels {
            levels.resize(rows, 0);
        }
        self.values.write(self.levels.as_deref(), group)?;
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}

impl Values {
    /// Writes all as the next column of a group, and forgets them.
    fn write(
        &mut self,
        levels: Option<&[i16]>,
        group: &mut SerializedRowGroupWriter<'_, TableFile>,
    ) -> Result<(), ParquetError> {
        if let Self::Text(texts) = self {
            return texts.write(levels, group);
        }
        let Some(mut column) = group.next_column()? else { return Ok(()) };
        match (column.untyped(), self) {
            (ColumnWriter::Int64ColumnWriter(writer), Self::Whole(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (ColumnWriter::DoubleColumnWriter(writer), Self::Real(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (ColumnWriter::BoolColumnWriter(writer), Self::Truth(values)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            _ => debug_assert!(false, "the schema has the columns' kinds"),
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

    /// Whether rows of texts, in a column that each row has and in one that not all do, are read
    /// as they were written.
    fn come_back(name: &str, rows: &[(String, Option<String>)]) -> bool {
        let columns =
            [Column::required("always", Kind::Text), Column::optional("some", Kind::Text)];
        let name = format!("anabranch-texts-{name}-{}.parquet", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut table = Table::new(&columns, TableFile::create(&path).unwrap()).unwrap();
        for (always, some) in rows {
            let some = some.as_deref().map_or(Cell::None, Cell::Text);
            table.push(&[Cell::Text(always), some]).unwrap();
        }
        table.finish().unwrap();
        let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
        let groups = reader.metadata().row_groups();
        assert_eq!(groups.len(), rows.len().div_ceil(ROWS));
        let read = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        let read =
            read.map(|row| (row.get_string(0).unwrap().clone(), row.get_string(1).ok().cloned()));
        let is_same = read.eq(rows.iter().cloned());
        std::fs::remove_file(&path).unwrap();
        is_same
    }

    #[test]
    fn texts_come_back_however_many_there_are_and_where_some_are_missing() {
        for distinct in (0..=ROWS.ilog2()).map(|bits| 1 << bits).chain([3, 33, 640]) {
            let mut rng = Rng::from_u64(distinct);
            let mut rows = Vec::new();
            while rows.len() < 2 * ROWS + 7 {
                let text = |rng: &mut Rng| format!("text {}", rng.range(0..distinct));
                let row = (text(&mut rng), rng.chance(0.7).then(|| text(&mut rng)));
                let run_max = if rng.chance(0.1) { 40 } else { 2 };
                rows.extend(std::iter::repeat_n(row, rng.range(1..run_max) as usize));
            }
            assert!(come_back(&distinct.to_string(), &rows), "{distinct} texts");
        }
    }

    #[test]
    fn texts_come_back_in_runs_and_by_turns_and_where_all_are_missing_or_different() {
        let texts = |text: &dyn Fn(usize) -> (String, Option<String>), count| {
            (0..count).map(text).collect::<Vec<_>>()
        };
        let name = |number: usize| ["", "a", "a longer one"][number % 3];
        let name = |number: usize| name(number).to_owned();
        let many = 2 * ROWS + 5;
        for (what, rows) in [
            ("none", texts(&|_| (String::new(), None), many)),
            ("turns", texts(&|row| (name(row), (row % 2 == 0).then(|| name(row / 2))), many)),
            ("runs", texts(&|row| (name(row / 999), Some(name(row / 77))), many)),
            ("gaps", texts(&|row| (name(row / 8), (row / 9 % 2 == 1).then(|| name(0))), many)),
            ("late", texts(&|row| (name(0), (row == many - 1).then(|| name(1))), many)),
            ("early", texts(&|row| (name(0), (row == 0).then(|| name(1))), many)),
            ("different", texts(&|row| (row.to_string(), Some((row / 2).to_string())), many)),
            ("after few", texts(&|row| (row.saturating_sub(ROWS - 32).to_string(), None), many)),
            ("group", texts(&|row| (name(row), None), ROWS)),
            ("one", texts(&|_| (name(1), Some(String::new())), 1)),
            ("empty", Vec::new()),
        ] {
            assert!(come_back(what, &rows), "{what}");
        }
    }

    #[test]
    fn a_text_at_the_place_of_another_is_told_from_it() {
        // As a caller may write each into the same memory.
        let mut text = String::from("text 0");
        let columns = [Column::required("text", Kind::Text)];
        let name = format!("anabranch-texts-place-{}.parquet", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut table = Table::new(&columns, TableFile::create(&path).unwrap()).unwrap();
        for number in 0..10 {
            text.replace_range(5.., &number.to_string());
            table.push(&[Cell::Text(&text)]).unwrap();
        }
        table.finish().unwrap();
        let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
        let read = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        let read = read.map(|row| row.get_string(0).unwrap().clone());
        assert!(read.eq((0..10).map(|number| format!("text {number}"))));
        std::fs::remove_file(&path).unwrap();
    }
}
