//! Tables for other programs.

use serde::Serialize;

/// A line for each of these, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub(crate) fn csv_lines(
    lines: impl Iterator<Item = impl Serialize>,
) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.serialize(line)?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// The last columns of a line: by which version its cell was run, and how it is run again.
#[derive(Debug, Serialize)]
pub(crate) struct Origin {
    version: &'static str,
    command: String,
}

impl Origin {
    pub(crate) const fn new(command: String) -> Self {
        Self { version: env!("CARGO_PKG_VERSION"), command }
    }
}
