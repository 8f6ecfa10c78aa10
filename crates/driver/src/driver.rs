//! [`Driver`]: starts to run a machine.

use std::io;
use std::sync::Arc;
use std::thread;

use anabranch_sansio::Machine;

use crate::handle::{Handle, Shared};
use crate::rest::Rest;
use crate::socket::{LocalSocket, SocketSet};
use crate::task::Task;
use crate::{Clock, Recording};

/// Why a driver cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no runtime to spawn on.
    #[error("no tokio runtime: call this from within one, with I/O enabled")]
    NoRuntime,
    /// The system gives no timer or no thread, or does not take a socket into its polling.
    #[error("the system refuses a timer, a thread or the polling of a socket: {0}")]
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
        let (task, handle) = prepare(machine, sockets, clock, Rest::Never)?;
        runtime.spawn(task);
        Ok(handle)
    }

    /// As [`spawn_with_clock`](Self::spawn_with_clock), for a runtime of one thread where nothing
    /// runs that cannot wait as long as the machine [allows](Machine::rest): while datagrams keep
    /// coming or leaving, the thread sleeps that long at most whenever none of its tasks has
    /// anything to do, and takes what has gathered meanwhile at once. To be woken for each would
    /// cost a stream of media more than all that is done for it.
    ///
    /// It rests in [`rest_before_park`](crate::rest_before_park), which the runtime has to call
    /// before it parks a thread (tokio's `on_thread_park`); without that, there are no rests. A
    /// thread has one such driver: of two, the one that had the last turn would say how long.
    ///
    /// # Errors
    /// There is no tokio runtime, or the system refuses.
    pub fn spawn_resting<M>(
        machine: M,
        sockets: SocketSet,
        clock: Clock,
    ) -> Result<Handle<M>, SpawnError>
    where
        M: Machine<Event: Send> + Send + 'static,
    {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| SpawnError::NoRuntime)?;
        let (task, handle) = prepare(machine, sockets, clock, Rest::Together)?;
        runtime.spawn(task);
        Ok(handle)
    }

    /// As [`spawn`](Self::spawn), for a machine with many peers: on a thread of its own, which
    /// rests for [`REST`](crate::REST) between two looks at its sockets while datagrams keep
    /// coming. To wake up for each of them would cost more than all that is done for it. Needs no
    /// tokio runtime.
    ///
    /// # Errors
    /// The system refuses.
    pub fn spawn_apart<M>(machine: M, sockets: SocketSet) -> Result<Handle<M>, SpawnError>
    where
        M: Machine<Event: Send> + Send + 'static,
    {
        // One task is all that there is: what has arrived is looked at after each of its turns.
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_io().event_interval(1).build()?;
        let within_runtime = runtime.enter();
        let (task, handle) = prepare(machine, sockets, Clock::start(), Rest::Apart)?;
        drop(within_runtime);
        // Spawned, it wakes itself without a system call.
        let run = move || runtime.block_on(runtime.spawn(task));
        thread::Builder::new().name("driver".to_owned()).spawn(run)?;
        Ok(handle)
    }
}

/// Must be called within a tokio runtime.
fn prepare<M: Machine>(
    mut machine: M,
    sockets: SocketSet,
    clock: Clock,
    rest: Rest,
) -> Result<(Task<M>, Handle<M>), SpawnError> {
    let infos = sockets.iter().cloned().collect();
    let SocketSet { sockets, recording: Recording { capture, trace } } = sockets;
    machine.set_tracing(trace.is_some());
    let local = |bound| LocalSocket::new(bound, capture.clone());
    let locals = sockets.into_iter().map(local).collect::<io::Result<Vec<_>>>()?;
    let shared = Arc::new(Shared::new(machine, clock, infos, capture));
    let task = Task::new(Arc::clone(&shared), locals, rest, trace)?;
    Ok((task, Handle::new(shared)))
}
