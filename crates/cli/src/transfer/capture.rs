//! [`Capturing`]: `--capture`, of each command that speaks to a network.

use std::path::{Path, PathBuf};

use anabranch_apps::service::Severity;
use anabranch_driver::{Capture, Captured};
use clap::Args;

use crate::failure::Failure;

/// What the file says of who wrote it.
const APPLICATION: &str = concat!("anabranch ", env!("CARGO_PKG_VERSION"));

/// Whether packets are recorded.
#[derive(Debug, Args)]
pub(crate) struct Capturing {
    /// Writes every packet that is sent and received, as pcapng; docs/capture.md shows how
    /// Wireshark and tshark read it.
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
}

impl Capturing {
    /// Begins the file, before anything else is done.
    pub(crate) fn open(&self) -> Result<CaptureFile, Failure> {
        let Some(path) = &self.capture else { return Ok(CaptureFile::default()) };
        if path == Path::new("-") {
            return Err(Failure::usage("packets cannot go to stdout: give --capture a file"));
        }
        let capture = Capture::create(path, APPLICATION)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
        Ok(CaptureFile { name: path.display().to_string(), capture: Some(capture) })
    }
}

/// The file that packets are recorded in, if there is one.
#[derive(Debug, Default)]
pub(crate) struct CaptureFile {
    name: String,
    capture: Option<Capture>,
}

impl CaptureFile {
    /// For who sends and receives.
    pub(crate) fn capture(&self) -> Option<Capture> {
        self.capture.clone()
    }

    /// Says once if the file cannot be written any more, which ends nothing else.
    pub(crate) fn trouble(&mut self) -> Option<String> {
        let error = self.capture.as_ref()?.error()?;
        let text = self.ends_early(error);
        self.capture = None;
        Some(text)
    }

    /// Ends the file; returns what to say of it.
    pub(crate) fn finish(&mut self) -> Option<(Severity, String)> {
        let captured = match self.capture.take()?.finish() {
            Ok(captured) => captured,
            Err(error) => return Some((Severity::Warning, self.ends_early(&error.to_string()))),
        };
        if captured == Captured::default() {
            return None;
        }
        let mut text = format!("{}: {} packets", self.name, captured.written);
        if captured.missed == 0 {
            return Some((Severity::Info, text));
        }
        text.push_str(&format!(
            "; {} are missing, because the disk did not keep up",
            captured.missed
        ));
        Some((Severity::Warning, text))
    }

    fn ends_early(&self, error: &str) -> String {
        format!("packets cannot be written to {} any more: {error}", self.name)
    }
}
