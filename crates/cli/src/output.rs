//! What commands print on stdout.

use std::io::{self, Write as _};

use crate::failure::Failure;

/// Prints the text as it is, at once. A reader that has gone away ends the command.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}
