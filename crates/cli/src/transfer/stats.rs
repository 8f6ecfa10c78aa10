//! [`StatsFile`]: what is measured, as JSON lines.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use anabranch_apps::service::Watching;
use anabranch_apps::service::{RateLine, Severity, Snapshot};
use serde::Serialize;

use crate::failure::Failure;

/// Where the JSON lines go.
#[derive(Debug)]
pub(crate) enum StatsFile {
    Stdout,
    File(BufWriter<File>),
}

/// A line.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    /// How things stand.
    Stats {
        last: bool,
        #[serde(flatten)]
        snapshot: &'a Snapshot,
    },
    /// How watching goes.
    Watch {
        last: bool,
        #[serde(flatten)]
        watching: &'a Watching,
    },
    /// What the network carries changed.
    Rate(RateLine),
    /// Something happened.
    Event { at_ms: u64, severity: &'static str, text: &'a str },
}

impl StatsFile {
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        if name == "-" {
            return Ok(Self::Stdout);
        }
        let file = File::create(name)
            .map_err(|error| Failure::usage(format!("cannot write {name}: {error}")))?;
        Ok(Self::File(BufWriter::new(file)))
    }

    /// Writes a line whole, so that whoever reads along never sees half of one.
    pub(crate) fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&text)?;
                stdout.flush()
            }
            Self::File(file) => {
                file.write_all(&text)?;
                file.flush()
            }
        }
    }
}

/// A severity as a word.
pub(super) const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
    }
}
