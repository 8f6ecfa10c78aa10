//! A file for what is recorded of a single cell.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_lab::records::TableFile;

use crate::failure::Failure;

/// Refuses a table of more than one cell.
pub(super) fn check_table(flag: &str, file: Option<&Path>, cells: usize) -> Result<(), Failure> {
    match file {
        Some(_) if cells != 1 => Err(Failure::usage(format!(
            "--{flag} is for one cell, and there are {cells}: choose with --cell and by name"
        ))),
        _ => Ok(()),
    }
}

/// The file that a flag names, if it does.
pub(super) fn table(file: Option<&Path>) -> Result<Option<TableFile>, Failure> {
    file.map(|file| TableFile::create(file).map_err(Failure::failed)).transpose()
}

/// The one cell takes it; a panic elsewhere does not matter to it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_for_one_cell() {
        assert!(check_table("packets", None, 17).is_ok() && table(None).unwrap().is_none());
        let error = check_table("packets", Some(Path::new("p.csv")), 17).unwrap_err();
        assert!(format!("{error:?}").contains("--packets is for one cell, and there are 17"));
        let error = table(Some(Path::new("p.txt"))).unwrap_err();
        assert!(format!("{error:?}").contains("p.txt"), "{error:?}");
    }
}
