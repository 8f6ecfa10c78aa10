//! [`Driver`]: starts to run a machine.

use std::io;
use std::sync::Arc;

use anabranch_sansio::Machine;

use crate::Clock;
use crate::handle::{Handle, Shared};
use crate::socket::{LocalSocket, SocketSet};
use crate::task::Task;

/// Why a driver cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no runtime to spawn on.
    #[error("no tokio runtime: call this from within one, with I/O enabled")]
    NoRuntime,
    /// The system gives no timer, or does not take a socket into its polling.
    #[error("the system refuses a timer or the polling of a socket: {0}")]
    System(#[from] io::Error),
}

/// Runs machines. See the crate's documentation.
#[derive(Debug)]
pub struct Driver;

impl Driver {
    /// Starts to run `machine` on `sockets`, its time counted from now. The driver ends when the
    /// last handle is dropped or closed.
    ///
    /// # Errors
    /// There is no tokio runtime, or the system refuses.
    pub fn spawn<M>(machine: M, sockets: SocketSet) -> Result<Handle<M>, SpawnError>
    where
        M: Machine<Event: Send> + Send + 'static,
    {
        Self::spawn_with_clock(machine, sockets, Clock::start())
    }

    /// As [`spawn`](Self::spawn), with the time of a clock that others read, too.
    ///
    /// # Errors
    /// There is no tokio runtime, or the system refuses.
    pub fn spawn_with_clock<M>(
        machine: M,
        sockets: SocketSet,
        clock: Clock,
    ) -> Result<Handle<M>, SpawnError>
    where
        M: Machine<Event: Send> + Send + 'static,
    {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| SpawnError::NoRuntime)?;
        let infos = sockets.iter().cloned().collect();
        let locals =
            sockets.sockets.into_iter().map(LocalSocket::new).collect::<io::Result<Vec<_>>>()?;
        let shared = Arc::new(Shared::new(machine, clock, infos));
        let task = Task::new(Arc::clone(&shared), locals)?;
        runtime.spawn(task);
        Ok(Handle::new(shared))
    }
}
