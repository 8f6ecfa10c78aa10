//! `anabranch man`: the manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use crate::Arguments;
use crate::failure::Failure;

/// Writes the manual pages, anabranch.1 and one for each command
///
/// Example:
///   anabranch man ~/.local/share/man/man1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Man {
    /// The folder; it is made if it is not there.
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let failed =
            |error| Failure::usage(format!("cannot write to {}: {error}", self.folder.display()));
        fs::create_dir_all(&self.folder).map_err(failed)?;
        clap_mangen::generate_to(Arguments::command(), &self.folder).map_err(failed)
    }
}
