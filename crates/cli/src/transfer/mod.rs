//! What `send` and `recv` have in common: their way to tell how it goes.

mod log;
mod recording;
mod stats;
mod status;
mod summary;

use anabranch_apps::service::{Retries, ServiceError, Stop, StopHandle};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::signal;
pub(crate) use log::Log;
pub(crate) use recording::{RecordingArgs, RecordingFiles};
pub(crate) use stats::StatsFile;

/// Which paths a call takes.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Paths {
    Auto,
}

/// What both ends of a transfer are told.
#[derive(Debug, Args)]
pub(crate) struct Telling {
    /// Writes what is measured, once a second, as JSON lines; - is stdout. docs/stats.md says what
    /// the fields mean.
    #[arg(long, value_name = "FILE")]
    stats: Option<String>,
    #[command(flatten)]
    recording: RecordingArgs,
    /// How often in a row to try again when the other end cannot be reached or is lost; 0 gives up
    /// at once. Without it, there is no end to trying.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Says nothing but what is wrong.
    #[arg(short, long)]
    quiet: bool,
}

impl Telling {
    pub(crate) fn log(&self) -> Result<Log, Failure> {
        Log::open(self.stats.as_deref(), &self.recording, self.quiet)
    }

    pub(crate) fn stats_go_to_stdout(&self) -> bool {
        self.stats.as_deref() == Some("-")
    }

    pub(crate) fn retries(&self) -> Retries {
        self.retries.map_or(Retries::Unlimited, Retries::AtMost)
    }
}

/// Ends a service in order when the user wants the program to end.
pub(crate) fn stop_when_interrupted() -> Stop {
    let (handle, stop) = StopHandle::new();
    let interrupted = signal::interrupted();
    tokio::spawn(async move {
        interrupted.await;
        handle.stop();
        // Whoever holds the other half may still listen.
        std::future::pending::<()>().await;
    });
    stop
}

/// The program's word for a service's error.
pub(crate) fn failure(error: ServiceError) -> Failure {
    if error.is_usage() { Failure::usage(error) } else { Failure::failed(error) }
}
