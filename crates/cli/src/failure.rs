//! [`Failure`]: why the program ends with another status than 0, said in one line.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anabranch_apps::service::sanitized;
use clap::error::ErrorKind;

use crate::output;

/// The exit status for arguments that make no sense.
const EXIT_USAGE: u8 = 2;

/// Why a command ends with another status than 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense together: status 2.
    Usage(String),
    /// It could not be done: status 1.
    Failed(Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// The arguments make no sense together.
    pub(crate) fn usage(reason: impl fmt::Display) -> Self {
        Self::Usage(reason.to_string())
    }

    /// It could not be done.
    pub(crate) fn failed(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(reason.into())
    }

    /// Says why on stderr.
    pub(crate) fn explain(&self) -> ExitCode {
        match self {
            Self::Usage(reason) => explain(reason, EXIT_USAGE.into()),
            Self::Failed(reason) => explain(&reason.to_string(), ExitCode::FAILURE),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::failed(error)
    }
}

/// Says on one line of stderr what is wrong with the arguments; help goes to stdout, as an answer
/// to `--help`, or to a command that lacks the next one.
pub(crate) fn explain_arguments(error: &clap::Error) -> ExitCode {
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return error.print().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // It is meant for a terminal, and clap would say it on stderr.
        let help = output::print(&error.render().to_string());
        return help.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    explain(&one_line(&error.render().to_string()), EXIT_USAGE.into())
}

fn explain(reason: &str, status: ExitCode) -> ExitCode {
    // Nobody is left to tell if stderr is gone; the status still says it.
    let _ = writeln!(io::stderr(), "anabranch: {}", sanitized(reason.trim_end()));
    status
}

/// The message of clap without the usage that follows it.
fn one_line(message: &str) -> String {
    let ends = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines = message.lines().take_while(ends).map(str::trim).filter(|line| !line.is_empty());
    let joined = lines.collect::<Vec<_>>().join(" ");
    joined.strip_prefix("error: ").unwrap_or(&joined).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clap_says_in_paragraphs_becomes_one_line() {
        let said = "error: the following arguments were not provided:\n  --target <ADDR>\n\n  \
                    tip: a tip\n\nUsage: anabranch emulate\n\nFor more information, \
                    try '--help'.\n";
        let line = "the following arguments were not provided: --target <ADDR> tip: a tip";
        assert_eq!(one_line(said), line);
    }
}
