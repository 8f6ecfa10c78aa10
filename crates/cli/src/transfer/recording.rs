//! [`RecordingArgs`]: `--capture` and `--trace`, of each command that speaks to a network.

use std::io;
use std::path::{Path, PathBuf};

use anabranch_apps::service::Severity;
use anabranch_driver::{Capture, Captured, Recording, Trace, Traced};
use clap::Args;

use crate::failure::Failure;

/// What the files say of who wrote them.
const APPLICATION: &str = concat!("anabranch ", env!("CARGO_PKG_VERSION"));

/// What is recorded of a run.
#[derive(Debug, Args)]
pub(crate) struct RecordingArgs {
    /// Writes every packet that is sent and received, as pcapng; docs/capture.md shows how
    /// Wireshark and tshark read it.
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Writes what the transport and the session do and why, as qlog; docs/trace.md explains a
    /// run by one.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl RecordingArgs {
    /// Begins the files, before anything else is done.
    pub(crate) fn open(&self) -> Result<RecordingFiles, Failure> {
        let capture = begin(self.capture.as_deref(), "packets", "--capture", |path| {
            Capture::create(path, APPLICATION)
        })?;
        let trace = begin(self.trace.as_deref(), "records", "--trace", |path| {
            Trace::create(path, APPLICATION, &jiff::Timestamp::now().to_string())
        })?;
        Ok(RecordingFiles { capture, trace })
    }
}

fn begin<T>(
    path: Option<&Path>,
    what: &'static str,
    flag: &str,
    create: impl FnOnce(&Path) -> io::Result<T>,
) -> Result<Option<OpenFile<T>>, Failure> {
    let Some(path) = path else { return Ok(None) };
    if path == Path::new("-") {
        return Err(Failure::usage(format!("{what} cannot go to stdout: give {flag} a file")));
    }
    let name = path.display().to_string();
    let recorder =
        create(path).map_err(|error| Failure::usage(format!("cannot write {name}: {error}")))?;
    Ok(Some(OpenFile { name, what, recorder }))
}

/// The files that a run is recorded in, if any.
#[derive(Debug, Default)]
pub(crate) struct RecordingFiles {
    capture: Option<OpenFile<Capture>>,
    trace: Option<OpenFile<Trace>>,
}

/// A file that is being written.
#[derive(Debug)]
struct OpenFile<T> {
    name: String,
    /// What is in it.
    what: &'static str,
    recorder: T,
}

impl<T> OpenFile<T> {
    fn ends_early(&self, error: &str) -> String {
        format!("{} cannot be written to {} any more: {error}", self.what, self.name)
    }

    /// What is said of a file that has ended with so much written and missed.
    fn summary(&self, ended: io::Result<(u64, u64)>) -> Option<(Severity, String)> {
        let (name, what) = (&self.name, self.what);
        match ended {
            Err(error) => Some((Severity::Warning, self.ends_early(&error.to_string()))),
            Ok((0, 0)) => None,
            Ok((written, 0)) => Some((Severity::Info, format!("{name}: {written} {what}"))),
            Ok((written, missed)) => Some((
                Severity::Warning,
                format!(
                    "{name}: {written} {what}; {missed} are missing, because the disk did not \
                     keep up"
                ),
            )),
        }
    }
}

impl RecordingFiles {
    /// For who sends and receives.
    pub(crate) fn recording(&self) -> Recording {
        Recording {
            capture: self.capture.as_ref().map(|file| file.recorder.clone()),
            trace: self.trace.as_ref().map(|file| file.recorder.clone()),
        }
    }

    /// Says once of each file if it cannot be written any more, which ends nothing else.
    pub(crate) fn trouble(&mut self) -> Option<String> {
        let of_capture = |file: &OpenFile<Capture>| Some(file.ends_early(file.recorder.error()?));
        if let Some(text) = self.capture.as_ref().and_then(of_capture) {
            self.capture = None;
            return Some(text);
        }
        let of_trace = |file: &OpenFile<Trace>| Some(file.ends_early(file.recorder.error()?));
        let text = self.trace.as_ref().and_then(of_trace)?;
        self.trace = None;
        Some(text)
    }

    /// Ends the files; returns what to say of each.
    pub(crate) fn finish(&mut self) -> Vec<(Severity, String)> {
        let capture = self.capture.take().and_then(|file| {
            let ended = file.recorder.clone().finish();
            file.summary(ended.map(|Captured { written, missed }| (written, missed)))
        });
        let trace = self.trace.take().and_then(|file| {
            let ended = file.recorder.clone().finish();
            file.summary(ended.map(|Traced { written, missed }| (written, missed)))
        });
        capture.into_iter().chain(trace).collect()
    }
}
