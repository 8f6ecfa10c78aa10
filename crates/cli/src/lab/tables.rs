//! A file for what is recorded of a single cell.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_lab::records::TableFile;

use crate::failure::Failure;

/// The file that a flag names, if it does; one is for one cell.
pub(super) fn table(
    flag: &str,
    file: Option<&Path>,
    cells: usize,
) -> Result<Option<TableFile>, Failure> {
    let Some(file) = file else { return Ok(None) };
    if cells != 1 {
        return Err(Failure::usage(format!(
            "--{flag} is for one cell, and there are {cells}: choose with --cell and by name"
        )));
    }
    TableFile::create(file).map(Some).map_err(Failure::failed)
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
        assert!(table("packets", None, 17).unwrap().is_none());
        let error = table("packets", Some(Path::new("p.csv")), 17).unwrap_err();
        assert!(format!("{error:?}").contains("--packets is for one cell, and there are 17"));
        let error = table("packets", Some(Path::new("p.txt")), 1).unwrap_err();
        assert!(format!("{error:?}").contains("p.txt"), "{error:?}");
    }
}
