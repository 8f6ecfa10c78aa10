//! Ctrl-C, and the polite kill.

use std::io;
use std::process;

use tokio::signal::unix::{SignalKind, signal};

/// The exit status of a program that a second Ctrl-C ended: 128 and the number of SIGINT.
const EXIT_INTERRUPTED: i32 = 130;

/// Listens from now on, and waits until the user, or the system, wants the program to end. Whoever
/// asks again gets it at once.
pub(crate) fn interrupted() -> impl Future<Output = ()> {
    let asked = asked_to_end();
    async move {
        match asked {
            Ok(asked) => asked.await,
            Err(error) => {
                // Without handlers, the system's own end the program.
                tracing::debug!(%error, "no signal handler");
                return std::future::pending().await;
            }
        }
        end_when_interrupted();
    }
}

/// From now on, whoever asks the program to end gets it at once: after [`interrupted`], the
/// system's own way to do so is gone for good.
pub(crate) fn end_when_interrupted() {
    if let Ok(asked) = asked_to_end() {
        tokio::spawn(async {
            asked.await;
            process::exit(EXIT_INTERRUPTED);
        });
    }
}

fn asked_to_end() -> io::Result<impl Future<Output = ()> + Send> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
