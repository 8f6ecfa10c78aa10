//! [`ServiceLog`]: what a server says while it runs.

use std::io::{self, IsTerminal as _, Write as _};

use anabranch_apps::service::{Severity, sanitized};
use anabranch_driver::Recording;
use serde::Serialize;

use crate::transfer::{RecordingFiles, StatsFile};

/// Back to the start of the line, and clear it.
const CLEAR: &str = "\r\x1b[2K";

/// Lines on stderr, a status that stays in its place if that is a terminal, measures in a file.
pub(crate) struct ServiceLog {
    stats: Option<StatsFile>,
    files: RecordingFiles,
    is_quiet: bool,
    in_place: bool,
    /// Whether a line stands that the next one replaces.
    stands: bool,
}

impl ServiceLog {
    pub(crate) fn new(stats: Option<StatsFile>, files: RecordingFiles, is_quiet: bool) -> Self {
        let in_place = !is_quiet && io::stderr().is_terminal();
        Self { stats, files, is_quiet, in_place, stands: false }
    }

    /// Where packets and events are recorded.
    pub(crate) fn recording(&self) -> Recording {
        self.files.recording()
    }

    pub(crate) fn end_recording(&mut self) {
        for (severity, text) in self.files.finish() {
            match severity {
                Severity::Warning => self.warn(&text),
                Severity::Info => self.line(&text),
            }
        }
    }

    pub(crate) fn line(&mut self, text: &str) {
        if !self.is_quiet {
            self.warn(text);
        }
    }

    /// A line that is said in any case.
    pub(crate) fn warn(&mut self, text: &str) {
        self.put_line(&sanitized(text));
    }

    /// A line with a link, whose token is for who reads it: said in any case, as it is.
    pub(crate) fn link(&mut self, text: &str) {
        self.put_line(text);
    }

    fn put_line(&mut self, text: &str) {
        let clear = if std::mem::take(&mut self.stands) { CLEAR } else { "" };
        put(&format!("{clear}{text}\n"));
    }

    /// How things stand: for programs, and in words.
    pub(crate) fn second(&mut self, standing: &impl Serialize, words: &str) {
        if let Some(stats) = &mut self.stats
            && let Err(error) = stats.write(standing)
        {
            self.stats = None;
            self.line(&format!("the measures cannot be written any more: {error}"));
        }
        if self.in_place {
            self.stands = true;
            put(&format!("{CLEAR}\x1b[?7l{words}\x1b[?7h"));
        }
        if let Some(text) = self.files.trouble() {
            self.warn(&text);
        }
    }
}

impl Drop for ServiceLog {
    fn drop(&mut self) {
        if self.stands {
            put("\n");
        }
    }
}

/// A terminal that has gone away does not end the server.
fn put(text: &str) {
    let _unheard = io::stderr().write_all(text.as_bytes());
}
