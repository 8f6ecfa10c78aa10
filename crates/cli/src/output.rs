//! What commands print on stdout.

use std::io::{self, Write as _};

/// Prints the text as it is, at once. A reader that has gone away ends the command.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
