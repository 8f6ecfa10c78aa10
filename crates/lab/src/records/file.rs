//! [`TableFile`]: a file that is there under its name only when it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A file for a table, written beside its name and renamed when it is whole.
#[derive(Debug)]
pub struct TableFile {
    path: PathBuf,
    part: PathBuf,
    format: Format,
    /// None once it is finished.
    writer: Option<BufWriter<File>>,
}

/// What its name ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Parquet,
}

/// A file that cannot take a table.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// No name of a table.
    #[error("{} is no table: give a name that ends in .parquet or .csv", path.display())]
    Ending {
        /// What was given.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl TableFile {
    /// Begins a file; its ending says what it is: `.parquet` or `.csv`.
    ///
    /// # Errors
    /// Another ending, or it cannot be written.
    pub fn create(path: &Path) -> Result<Self, TableError> {
        let format = match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Format::Csv,
            Some("parquet") => Format::Parquet,
            _ => return Err(TableError::Ending { path: path.to_owned() }),
        };
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let (path, part) = (path.to_owned(), PathBuf::from(part));
        match File::create(&part) {
            Ok(file) => Ok(Self {
                path,
                part,
                format,
                writer: Some(BufWriter::with_capacity(1 << 18, file)),
            }),
            Err(cause) => Err(TableError::Write { path, cause }),
        }
    }

    pub(super) const fn format(&self) -> Format {
        self.format
    }

    /// Gives it its name.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        }
        fs::rename(&self.part, &self.path)
    }
}

impl Write for TableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.as_mut().map_or(Ok(0), |writer| writer.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// What is not whole goes.
impl Drop for TableFile {
    fn drop(&mut self) {
        // Once it has its name there is nothing to remove.
        let _ = fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let path = std::env::temp_dir().join(format!("anabranch-table-{}.csv", std::process::id()));
        let mut file = TableFile::create(&path).unwrap();
        file.write_all(b"a\n").unwrap();
        drop(file);
        assert!(!path.exists() && !path.with_extension("csv.part").exists());
        let mut file = TableFile::create(&path).unwrap();
        file.write_all(b"a\n").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"a\n");
        assert!(!path.with_extension("csv.part").exists());
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_no_table_is_refused_in_words() {
        let error = TableFile::create(Path::new("packets.xlsx")).unwrap_err().to_string();
        assert!(error.contains("give a name that ends in .parquet or .csv"), "{error}");
        let error = TableFile::create(Path::new("/nowhere/packets.csv")).unwrap_err().to_string();
        assert!(error.contains("cannot write /nowhere/packets.csv"), "{error}");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let path = std::env::temp_dir().join(format!("anabranch-full-{}.csv", std::process::id()));
        let mut file = TableFile::create(&path).unwrap();
        file.writer = Some(BufWriter::new(full));
        file.write_all(b"a\n").unwrap();
        assert_eq!(file.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(!path.exists());
    }
}
