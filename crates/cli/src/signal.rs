//! Ctrl-C, and the polite kill.

use std::io;
use std::process;

use tokio::signal::unix::{SignalKind, signal};

/// The exit status of a program that a second Ctrl-C ended: 128 and the number of SIGINT.
const EXIT_INTERRUPTED: i32 = 130;

/// Waits until the user, or the system, wants the program to end. Whoever asks again gets it at
/// once.
pub(crate) async fn interrupted() {
    if let Err(error) = asked_to_end().await {
        // Without handlers, the system's own end the program.
        tracing::debug!(%error, "no signal handler");
        return std::future::pending().await;
    }
    tokio::spawn(async {
        if asked_to_end().await.is_ok() {
            process::exit(EXIT_INTERRUPTED);
        }
    });
}

async fn asked_to_end() -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
