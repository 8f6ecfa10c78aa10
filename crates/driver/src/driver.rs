//! [`Driver`]: the task that gives a machine its sockets and its time.

use std::any::Any;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anabranch_sansio::{Machine, Time, Transmit};

use crate::Clock;
use crate::address::{canonical, wildcard_like};
use crate::handle::{Command, DriverError, Handle, Shared};
use crate::socket::{LocalSocket, ReceiveBuffers, SocketSet};
use crate::stats::{Counters, DriverStats};
use crate::timer::Timer;

/// How many batches one turn reads from one socket.
pub const RECEIVES_PER_TURN_MAX: usize = 2;

/// How many times one turn asks the machine for something to send.
pub const TRANSMITS_PER_TURN_MAX: usize = 64;

/// How many times in a row one turn runs the timers of a machine that has another one due already.
pub const TIMEOUTS_PER_TURN_MAX: usize = 16;

/// How many sends a closing driver makes at most, for a machine that never falls silent.
const CLOSING_TRANSMITS_MAX: usize = 4_096;

/// How many local addresses without a socket are reported; what follows is counted only.
const UNBOUND_REPORTED_MAX: usize = 64;

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
        let task = Task {
            shared: Arc::clone(&shared),
            sockets: locals,
            timer: Timer::new()?,
            received: ReceiveBuffers::new(),
            transmit: Vec::new(),
            unbound: BTreeSet::new(),
            removed: Counters::default(),
            stats: DriverStats::default(),
        };
        runtime.spawn(task);
        Ok(Handle::new(shared))
    }
}

/// The driver's task.
struct Task<M: Machine> {
    shared: Arc<Shared<M>>,
    sockets: Vec<LocalSocket>,
    timer: Timer,
    received: ReceiveBuffers,
    /// One transmission of the machine.
    transmit: Vec<u8>,
    /// Local addresses without a socket that were reported.
    unbound: BTreeSet<SocketAddr>,
    /// What was counted on no socket, or on one that is gone.
    removed: Counters,
    stats: DriverStats,
}

impl<M: Machine> Unpin for Task<M> {}

impl<M: Machine> Future for Task<M> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let turn = catch_unwind(AssertUnwindSafe(|| self.turn(cx)));
        let result = match turn {
            Ok(Ok(Turn::Sleep)) => return Poll::Pending,
            Ok(Ok(Turn::Again)) => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Ok(Ok(Turn::End)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(panic) => Err(DriverError::MachinePanicked { message: words(&*panic) }),
        };
        self.end(result);
        Poll::Ready(())
    }
}

impl<M: Machine> Drop for Task<M> {
    /// Tasks are dropped unfinished when their runtime shuts down.
    fn drop(&mut self) {
        if self.shared.end.borrow().is_none() {
            self.end(Err(DriverError::RuntimeStopped));
        }
    }
}

/// What the task does after a turn.
enum Turn {
    /// Sleeps until a socket, the timer or a handle wakes it.
    Sleep,
    /// Lets others run, then goes on: there was more to do than a turn allows.
    Again,
    /// Ends.
    End,
}

impl<M: Machine> Task<M> {
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<Turn, DriverError> {
        self.stats.turns += 1;
        let closing = self.take_commands(cx);
        let mut more = self.receive(cx)?;
        more |= self.run_timers()?;
        let sends = if closing { CLOSING_TRANSMITS_MAX } else { TRANSMITS_PER_TURN_MAX };
        more |= self.transmit(sends)?;
        for socket in &mut self.sockets {
            socket.poll_flush(cx);
        }
        let now = self.sleep_until_timeout(cx)?;
        self.publish();
        Ok(match (closing, more || now) {
            (true, _) => Turn::End,
            (false, true) => Turn::Again,
            (false, false) => Turn::Sleep,
        })
    }

    /// True if the driver is to end.
    fn take_commands(&mut self, cx: &Context<'_>) -> bool {
        let mut control = self.shared.control();
        if !control.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            control.waker = Some(cx.waker().clone());
        }
        for command in control.commands.drain(..) {
            match command {
                Command::Add(socket) => {
                    self.unbound.clear();
                    self.sockets.push(*socket);
                }
                Command::Remove { bound, done } => {
                    let gone = self.sockets.extract_if(.., |socket| socket.bound() == bound);
                    for socket in gone {
                        self.removed.add(&socket.stats().counters);
                    }
                    // Nobody waits if the caller gave up.
                    let _gave_up = done.send(());
                }
            }
        }
        control.closing
    }

    /// Hands over what has arrived. True if a socket may have more.
    fn receive(&mut self, cx: &mut Context<'_>) -> Result<bool, DriverError> {
        let mut more = false;
        for socket in &mut self.sockets {
            let mut batches = 0;
            while batches < RECEIVES_PER_TURN_MAX
                && socket.poll_receive(cx, &mut self.received).is_ready()
            {
                batches += 1;
                let mut driven = self.shared.machine()?;
                let now = self.shared.clock.now();
                for datagram in self.received.datagrams(socket.bound()) {
                    tracing::trace!(path = %datagram.path, bytes = datagram.bytes.len(), "received");
                    driven.machine.handle_datagram(now, datagram);
                }
            }
            more |= batches == RECEIVES_PER_TURN_MAX;
        }
        Ok(more)
    }

    /// Runs the timers that are due. True if the machine always has another one.
    fn run_timers(&mut self) -> Result<bool, DriverError> {
        let mut driven = self.shared.machine()?;
        for _ in 0..TIMEOUTS_PER_TURN_MAX {
            let now = self.shared.clock.now();
            if driven.machine.poll_timeout().is_none_or(|wakeup| wakeup.at > now) {
                return Ok(false);
            }
            self.stats.timeouts += 1;
            driven.machine.handle_timeout(now);
        }
        let Some(wakeup) = driven.machine.poll_timeout() else { return Ok(false) };
        if wakeup.at > self.shared.clock.now() {
            return Ok(false);
        }
        self.stats.timeout_loops += 1;
        tracing::debug!(why = wakeup.why, at = %wakeup.at, "a timer is due again and again");
        Ok(true)
    }

    /// Sends what the machine has to send, `sends` times at most. True if there may be more.
    fn transmit(&mut self, sends: usize) -> Result<bool, DriverError> {
        for _ in 0..sends {
            self.transmit.clear();
            let transmit = {
                let mut driven = self.shared.machine()?;
                let now = self.shared.clock.now();
                driven.machine.poll_transmit(now, &mut self.transmit)
            };
            let Some(transmit) = transmit else { return Ok(false) };
            self.send(transmit);
        }
        Ok(true)
    }

    fn send(&mut self, mut transmit: Transmit) {
        let path = &mut transmit.path;
        path.local = canonical(path.local);
        path.remote = canonical(path.remote);
        let segment = transmit.segment_size.unwrap_or(usize::MAX).max(1);
        let datagrams = self.transmit.len().div_ceil(segment).max(1) as u64;
        if !makes_sense(transmit) {
            self.removed.lost.bad_path += datagrams;
            tracing::debug!(path = %transmit.path, "not a path that packets can travel");
            return;
        }
        let Some(socket) = socket_for(&mut self.sockets, transmit.path.local) else {
            self.removed.lost.no_socket += datagrams;
            return self.report_unbound(transmit.path.local);
        };
        socket.send(transmit, &self.transmit);
    }

    fn report_unbound(&mut self, local: SocketAddr) {
        if self.unbound.len() < UNBOUND_REPORTED_MAX && self.unbound.insert(local) {
            tracing::info!(%local, "no socket at this address: what is sent from it is lost");
        }
    }

    /// Arms the timer, tells of events. True if a timer is due already.
    fn sleep_until_timeout(&mut self, cx: &mut Context<'_>) -> Result<bool, DriverError> {
        let failed = |error: io::Error| DriverError::Timer { message: error.to_string() };
        let mut driven = self.shared.machine()?;
        self.shared.announce_event(&mut driven);
        let wakeup = driven.machine.poll_timeout();
        drop(driven);
        // An expiry that is left over from an earlier arming is taken here, so that the next one
        // wakes the task.
        while self.timer.poll_expired(cx).map_err(failed)?.is_ready() {}
        let Some(wakeup) = wakeup else { return Ok(false) };
        let now: Time = self.shared.clock.now();
        if wakeup.at <= now {
            return Ok(true);
        }
        self.timer.arm(wakeup.at, now).map_err(failed)?;
        Ok(false)
    }

    fn publish(&mut self) {
        self.stats.sockets.clear();
        self.stats.total = self.removed;
        for socket in &self.sockets {
            let stats = socket.stats();
            self.stats.total.add(&stats.counters);
            self.stats.sockets.push(stats);
        }
        let published = &mut self.shared.control().stats;
        published.sockets.clear();
        published.sockets.extend_from_slice(&self.stats.sockets);
        published.total = self.stats.total;
        published.turns = self.stats.turns;
        published.timeouts = self.stats.timeouts;
        published.timeout_loops = self.stats.timeout_loops;
    }

    /// Closes the sockets and tells everyone who waits.
    fn end(&mut self, result: Result<(), DriverError>) {
        if let Err(error) = &result {
            tracing::error!(%error, "driver ended");
        }
        self.sockets.clear();
        let mut control = self.shared.control();
        control.sockets.clear();
        // Their senders wake who waits for them.
        control.commands.clear();
        control.waker = None;
        drop(control);
        self.shared.end.send_replace(Some(result));
        self.shared.events.notify_waiters();
    }
}

/// Whether the kernel could send on this path. It says EINVAL to some that it cannot, which
/// [`LocalSocket`] could not tell from a device without offload; and port 0 comes from the network.
fn makes_sense(transmit: Transmit) -> bool {
    let path = transmit.path;
    path.remote.port() != 0
        && !path.local.ip().is_multicast()
        && path.local.is_ipv4() == path.remote.is_ipv4()
}

/// The socket bound to `local`, or else the wildcard of its port.
fn socket_for(sockets: &mut [LocalSocket], local: SocketAddr) -> Option<&mut LocalSocket> {
    let wildcard = wildcard_like(local);
    let exact = sockets.iter().position(|socket| socket.bound() == local);
    let found = exact.or_else(|| sockets.iter().position(|socket| socket.bound() == wildcard))?;
    sockets.get_mut(found)
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "without words".to_owned())
}
