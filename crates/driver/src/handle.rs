//! [`Handle`]: an application's side of a running driver.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use anabranch_sansio::{Machine, Time};
use tokio::sync::{Notify, oneshot, watch};

use crate::address::canonical;
use crate::socket::{BoundSocket, LocalSocket, admit};
use crate::{BindConfig, BindError, Capture, Clock, DriverStats, SocketInfo};

/// Why a driver ended before it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The machine has a bug; its state can no longer be trusted.
    #[error("the protocol machine panicked: {message}")]
    MachinePanicked {
        /// What the panic said.
        message: String,
    },
    /// The system's timer failed.
    #[error("the system's timer failed: {message}")]
    Timer {
        /// The system's words.
        message: String,
    },
    /// The tokio runtime was shut down first.
    #[error("the runtime stopped while the driver was running: close the driver first")]
    RuntimeStopped,
}

/// Reaches a machine that a [`Driver`](crate::Driver) runs. Clones reach the same one; when the
/// last is dropped, the driver closes.
#[derive(Debug)]
pub struct Handle<M: Machine> {
    owner: Arc<Owner<M>>,
}

impl<M: Machine> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Self { owner: Arc::clone(&self.owner) }
    }
}

impl<M: Machine> Handle<M> {
    pub(crate) fn new(shared: Arc<Shared<M>>) -> Self {
        Self { owner: Arc::new(Owner(shared)) }
    }

    /// Runs `f` on the machine at the time `now`, then wakes the driver to send what there is to be
    /// sent.
    ///
    /// The machine is locked meanwhile, so `f` should be short. Works on a closed driver, too: its
    /// machine can still be asked, but sends no more.
    ///
    /// # Panics
    /// If the machine panicked before; [`try_with`](Self::try_with) returns that as an error.
    pub fn with<R>(&self, f: impl FnOnce(&mut M, Time) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`with`](Self::with).
    ///
    /// # Errors
    /// The machine panicked before.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut M, Time) -> R) -> Result<R, DriverError> {
        let shared = self.shared();
        // Dropped after the lock, and also if `f` panics, so that the driver learns of it.
        let _wake = WakeOnDrop(shared);
        let mut driven = shared.machine()?;
        Ok(f(&mut driven.machine, shared.clock.now()))
    }

    /// The machine's next event; `None` once the driver is closed and all events are taken.
    ///
    /// Events stay in the machine until they are asked for, so the machine bounds their number.
    /// Dropping the future loses none. If several tasks wait, each event goes to one of them.
    pub async fn next_event(&self) -> Option<M::Event> {
        let shared = self.shared();
        loop {
            let more = shared.events.notified();
            let ended = shared.end.borrow().is_some();
            if let Some(event) = shared.take_event() {
                return Some(event);
            }
            if ended {
                return None;
            }
            more.await;
        }
    }

    /// Binds one more socket while the driver runs.
    ///
    /// # Errors
    /// The address cannot be bound, or the driver has ended.
    pub fn bind(&self, config: impl Into<BindConfig>) -> Result<SocketAddr, BindError> {
        let shared = self.shared();
        let bound = BoundSocket::bind(&config.into())?;
        let info = bound.info().clone();
        let mut control = shared.control();
        if control.closing || shared.end.borrow().is_some() {
            return Err(BindError::Closed);
        }
        admit(control.sockets.iter().map(|other| other.bound), info.bound)?;
        let within_runtime = shared.runtime.enter();
        let socket = LocalSocket::new(bound, shared.capture.clone())
            .map_err(|error| BindError::Other { addr: info.bound, message: error.to_string() })?;
        drop(within_runtime);
        let addr = info.bound;
        control.sockets.push(info);
        control.commands.push(Command::Add(Box::new(socket)));
        drop(control);
        shared.wake();
        Ok(addr)
    }

    /// Closes the socket that was bound to `bound`, and returns when its port is free again; false
    /// if there is none. What the machine sends on paths from there is counted as lost.
    pub async fn remove(&self, bound: SocketAddr) -> bool {
        let shared = self.shared();
        let bound = canonical(bound);
        let (done, removed) = oneshot::channel();
        {
            let mut control = shared.control();
            let before = control.sockets.len();
            control.sockets.retain(|socket| socket.bound != bound);
            if control.sockets.len() == before {
                return false;
            }
            control.commands.push(Command::Remove { bound, done });
        }
        shared.wake();
        // An error means that the driver ended meanwhile: that closed the socket as well.
        let _ended = removed.await;
        true
    }

    /// The sockets that are bound.
    #[must_use]
    pub fn sockets(&self) -> Vec<SocketInfo> {
        self.shared().control().sockets.clone()
    }

    /// The driver's counters, as of its last turn.
    #[must_use]
    pub fn stats(&self) -> DriverStats {
        self.shared().control().stats.clone()
    }

    /// The clock that the machine's times are read from.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.shared().clock
    }

    /// Asks the driver to end: it sends what the machine still has to send now, and closes its
    /// sockets. [`closed`](Self::closed) waits for it.
    pub fn close(&self) {
        self.shared().close();
    }

    /// Waits until the driver has ended.
    ///
    /// # Errors
    /// It ended for another reason than being asked to.
    pub async fn closed(&self) -> Result<(), DriverError> {
        let mut end = self.shared().end.subscribe();
        match end.wait_for(Option::is_some).await {
            Ok(result) => result.clone().unwrap_or(Ok(())),
            // The sender lives in `Shared`, which this handle keeps.
            Err(_) => Err(DriverError::RuntimeStopped),
        }
    }

    fn shared(&self) -> &Shared<M> {
        &self.owner.0
    }
}

struct WakeOnDrop<'a, M: Machine>(&'a Shared<M>);

impl<M: Machine> Drop for WakeOnDrop<'_, M> {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// What all handles have in common: its drop is the drop of the last one.
#[derive(Debug)]
struct Owner<M: Machine>(Arc<Shared<M>>);

impl<M: Machine> Drop for Owner<M> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What handles and the driver's task share.
#[derive(Debug)]
pub(crate) struct Shared<M: Machine> {
    pub(crate) clock: Clock,
    pub(crate) events: Notify,
    /// How the driver ended, once it has.
    pub(crate) end: watch::Sender<Option<Result<(), DriverError>>>,
    runtime: tokio::runtime::Handle,
    /// For sockets that are bound later.
    capture: Option<Capture>,
    machine: Mutex<Driven<M>>,
    control: Mutex<Control>,
}

/// The machine, and its next event if the driver has seen one.
pub(crate) struct Driven<M: Machine> {
    pub(crate) machine: M,
    event: Option<M::Event>,
}

impl<M: Machine> std::fmt::Debug for Driven<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driven").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) waker: Option<Waker>,
    /// Bounded by the callers: each `Add` holds one of `SOCKETS_MAX`, each `Remove` frees one.
    pub(crate) commands: Vec<Command>,
    pub(crate) sockets: Vec<SocketInfo>,
    pub(crate) closing: bool,
    pub(crate) stats: DriverStats,
}

#[derive(Debug)]
pub(crate) enum Command {
    Add(Box<LocalSocket>),
    Remove { bound: SocketAddr, done: oneshot::Sender<()> },
}

impl<M: Machine> Shared<M> {
    /// Must be called within a tokio runtime.
    pub(crate) fn new(
        machine: M,
        clock: Clock,
        sockets: Vec<SocketInfo>,
        capture: Option<Capture>,
    ) -> Self {
        Self {
            clock,
            events: Notify::new(),
            end: watch::Sender::new(None),
            runtime: tokio::runtime::Handle::current(),
            capture,
            machine: Mutex::new(Driven { machine, event: None }),
            control: Mutex::new(Control { sockets, ..Control::default() }),
        }
    }

    /// The machine. Read the clock after this, so that it never sees time go back.
    pub(crate) fn machine(&self) -> Result<MutexGuard<'_, Driven<M>>, DriverError> {
        self.machine.lock().map_err(|_| match &*self.end.borrow() {
            Some(Err(error)) => error.clone(),
            Some(Ok(())) | None => {
                DriverError::MachinePanicked { message: "within Handle::with".to_owned() }
            }
        })
    }

    /// Holds no code of the machine, so that it stays consistent whatever panics.
    pub(crate) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next event, and passes the word on if there is another.
    fn take_event(&self) -> Option<M::Event> {
        let mut driven = self.machine().ok()?;
        let event = driven.event.take().or_else(|| driven.machine.poll_event())?;
        driven.event = driven.machine.poll_event();
        if driven.event.is_some() {
            self.events.notify_one();
        }
        Some(event)
    }

    /// Tells a waiting application if the machine has an event.
    pub(crate) fn announce_event(&self, driven: &mut Driven<M>) {
        if driven.event.is_none() {
            driven.event = driven.machine.poll_event();
        }
        if driven.event.is_some() {
            self.events.notify_one();
        }
    }

    fn wake(&self) {
        let waker = self.control().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn close(&self) {
        self.control().closing = true;
        self.wake();
    }
}
