//! [`Log`]: lines and a status on stderr, measures in a file.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use anabranch_apps::service::Watching;
use anabranch_apps::service::{Severity, Snapshot, Update, sanitized};
use anabranch_driver::Recording;

use super::recording::{RecordingArgs, RecordingFiles};
use super::stats::{Line, StatsFile, word};
use super::status::{status, watching_status};
use super::summary::summary;
use crate::failure::Failure;

/// Back to the start of the line, and clear it.
const CLEAR: &str = "\r\x1b[2K";

/// Tells how a transfer goes: lines on stderr, a status that stays in its place if that is a
/// terminal, and measures in a file. Stdout may be media.
#[derive(Debug)]
pub(crate) struct Log {
    start: Instant,
    stats: Option<StatsFile>,
    files: RecordingFiles,
    is_quiet: bool,
    in_place: bool,
    /// Whether a line stands that the next one replaces.
    stands: bool,
    /// Seconds of the last count-down.
    counted: Option<u64>,
    /// Whether a count-down stands, which no status is to replace.
    is_counting: bool,
}

impl Log {
    pub(crate) fn open(
        stats: Option<&str>,
        recording: &RecordingArgs,
        is_quiet: bool,
    ) -> Result<Self, Failure> {
        Ok(Self {
            start: Instant::now(),
            stats: stats.map(StatsFile::open).transpose()?,
            files: recording.open()?,
            is_quiet,
            in_place: !is_quiet && io::stderr().is_terminal(),
            stands: false,
            counted: None,
            is_counting: false,
        })
    }

    /// Where the run is recorded.
    pub(crate) fn recording(&self) -> Recording {
        self.files.recording()
    }

    /// Ends the record, when nothing is sent and received any more.
    pub(crate) fn end_recording(&mut self) {
        for (severity, text) in self.files.finish() {
            self.line(severity, &text);
        }
    }

    /// Takes what a service reports.
    pub(crate) fn tell(&mut self, update: Update<'_>) {
        if let Some(text) = self.files.trouble() {
            self.line(Severity::Warning, &text);
        }
        match update {
            Update::Line { severity, text } => self.line(severity, text),
            Update::Countdown { seconds, reason } => self.countdown(seconds, reason),
            Update::Stats { snapshot, last } => self.snapshot(snapshot, last),
            Update::Watching { watching, last } => self.watching(watching, last),
            Update::Rate(rate) => self.measure(&Line::Rate(rate)),
        }
    }

    fn line(&mut self, severity: Severity, text: &str) {
        let text = sanitized(text);
        self.is_counting = false;
        let at_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.measure(&Line::Event { at_ms, severity: word(severity), text: &text });
        if severity == Severity::Warning || !self.is_quiet {
            self.print(&text);
        }
    }

    fn countdown(&mut self, seconds: u64, reason: &str) {
        let is_first = self.counted.replace(seconds).is_none_or(|before| seconds >= before);
        self.is_counting = true;
        if self.in_place {
            self.replace(&format!("{}; trying again in {seconds} s", sanitized(reason)));
        } else if is_first && !self.is_quiet {
            self.print(&format!("trying again in {seconds} s"));
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot, last: bool) {
        self.measure(&Line::Stats { last, snapshot });
        if last {
            if !self.is_quiet {
                self.print(summary(snapshot).trim_end());
            }
        } else if self.in_place && !self.is_counting {
            self.replace(&status(snapshot));
        }
    }

    fn watching(&mut self, watching: &Watching, last: bool) {
        self.measure(&Line::Watch { last, watching });
        if self.in_place && !self.is_counting && !last {
            self.replace(&watching_status(watching));
        }
    }

    /// Measures that cannot be written any more do not end the transfer.
    fn measure(&mut self, line: &Line<'_>) {
        let Some(stats) = &mut self.stats else { return };
        if let Err(error) = stats.write(line) {
            self.stats = None;
            self.print(&format!("the measures cannot be written any more: {error}"));
        }
    }

    fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let clear = if std::mem::take(&mut self.stands) { CLEAR } else { "" };
        write(&format!("{clear}{text}\n"));
    }

    /// Without wrapping (DECAWM), a narrow window cuts the line instead of leaving its head behind.
    fn replace(&mut self, text: &str) {
        self.stands = true;
        write(&format!("{CLEAR}\x1b[?7l{text}\x1b[?7h"));
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.stands {
            write("\n");
        }
    }
}

/// A terminal that has gone away does not end the transfer.
fn write(text: &str) {
    let _unheard = io::stderr().write_all(text.as_bytes());
}
