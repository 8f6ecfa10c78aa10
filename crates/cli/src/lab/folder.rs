//! [`Folder`]: where an experiment's results go.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anabranch_lab::RecordTo;

use crate::failure::Failure;

/// A folder that is there.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes it where it is not.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(path).map_err(|error| cannot_write(path, &error))?;
        Ok(Self(path.to_owned()))
    }

    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let path = self.0.join(name);
        fs::write(&path, content).map_err(|error| cannot_write(&path, &error))
    }

    /// Files for what is recorded of a cell, as far as it is asked for.
    pub(super) fn record(
        &self,
        name: &str,
        capture: bool,
        trace: bool,
    ) -> Result<RecordTo, Failure> {
        let file =
            |is_asked: bool, ending: &str| -> Result<Option<Box<dyn Write + Send>>, Failure> {
                if !is_asked {
                    return Ok(None);
                }
                Ok(Some(Box::new(self.file(&format!("{name}.{ending}"))?)))
            };
        let (capture, trace) = (file(capture, "pcapng")?, file(trace, "qlog")?);
        Ok(RecordTo { capture, trace, ..RecordTo::default() })
    }

    /// A file to be written bit by bit.
    pub(super) fn file(&self, name: &str) -> Result<BufWriter<File>, Failure> {
        let path = self.0.join(name);
        let file = File::create(&path).map_err(|error| cannot_write(&path, &error))?;
        Ok(BufWriter::new(file))
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot write {}: {error}", path.display()))
}
