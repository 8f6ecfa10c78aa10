//! [`Task`]: gives a machine its sockets and its time.

use std::any::Any;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anabranch_sansio::{Machine, Time, Transmit, Wakeup};

use crate::address::{canonical, wildcard_like};
use crate::handle::{Command, DriverError, Shared};
use crate::socket::{LocalSocket, ReceiveBuffers};
use crate::stats::{Counters, DriverStats};
use crate::timer::Timer;

/// How many batches one turn reads from one socket.
pub const RECEIVES_PER_TURN_MAX: usize = 2;

/// How many times one turn asks the machine for something to send.
pub const TRANSMITS_PER_TURN_MAX: usize = 64;

/// After how many turns in a row that had a timer due and nothing to show for it the driver takes
/// that for a defect of the machine, reports it, and pauses.
const IDLE_TURNS_MAX: u32 = 16;

/// What keeps a machine with a timer that is always due from using up a processor.
const BUSY_LOOP_PAUSE: Duration = Duration::from_millis(1);

/// How many sends a closing driver makes at most, for a machine that never falls silent.
const CLOSING_TRANSMITS_MAX: usize = 4_096;

/// How many local addresses without a socket are reported; what follows is counted only.
const UNBOUND_REPORTED_MAX: usize = 64;

/// How long a busy driver on a thread of its own rests at most: far less than acknowledgements may
/// be delayed (RFC 9260 section 6.2). A timer ends a rest, so that paced packets are not late.
pub const REST: Duration = Duration::from_millis(2);

/// Whether a driver lets datagrams gather.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It shares its thread with others.
    None,
    /// It blocks its thread for [`REST`] while datagrams keep coming. A sleeping thread is not
    /// woken by what arrives, one that waits for its sockets is, for each datagram.
    WhileBusy,
}

/// The driver's task.
pub(crate) struct Task<M: Machine> {
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
    /// Turns in a row in which nothing came or went, though a timer was due after each.
    idle_turns: u32,
    rest: Rest,
    /// When something last arrived.
    heard: Option<Time>,
}

impl<M: Machine> Task<M> {
    /// Must be called within a tokio runtime.
    pub(crate) fn new(
        shared: Arc<Shared<M>>,
        sockets: Vec<LocalSocket>,
        rest: Rest,
    ) -> io::Result<Self> {
        Ok(Self {
            shared,
            sockets,
            timer: Timer::new()?,
            received: ReceiveBuffers::new(),
            transmit: Vec::new(),
            unbound: BTreeSet::new(),
            removed: Counters::default(),
            stats: DriverStats::default(),
            idle_turns: 0,
            rest,
            heard: None,
        })
    }
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

/// How much of something a turn did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Amount {
    Nothing,
    Some,
    /// All that a turn allows: there may be more.
    Bound,
}

impl Amount {
    fn of(count: usize, bound: usize) -> Self {
        match count {
            0 => Self::Nothing,
            _ if count < bound => Self::Some,
            _ => Self::Bound,
        }
    }
}

impl<M: Machine> Task<M> {
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<Turn, DriverError> {
        self.stats.turns += 1;
        let closing = self.take_commands(cx);
        let received = self.receive(cx)?;
        self.run_timers()?;
        let sends = if closing { CLOSING_TRANSMITS_MAX } else { TRANSMITS_PER_TURN_MAX };
        let sent = self.transmit(sends)?;
        for socket in &mut self.sockets {
            socket.poll_flush(cx);
        }
        let is_idle = received == Amount::Nothing && sent == Amount::Nothing;
        let timer_is_due = self.sleep_until_timeout(cx, is_idle)?;
        self.publish();
        let again = timer_is_due
            || received == Amount::Bound
            || sent == Amount::Bound
            || (received == Amount::Some && !closing && self.rest());
        Ok(match (closing, again) {
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

    /// Hands over what has arrived.
    fn receive(&mut self, cx: &mut Context<'_>) -> Result<Amount, DriverError> {
        let mut amount = Amount::Nothing;
        for socket in &mut self.sockets {
            let mut batches = 0;
            while batches < RECEIVES_PER_TURN_MAX
                && socket.poll_receive(cx, &mut self.received).is_ready()
            {
                batches += 1;
                let mut driven = self.shared.machine()?;
                let now = self.shared.clock.now();
                for datagram in self.received.datagrams(socket.bound()) {
                    let len = datagram.bytes.len();
                    tracing::trace!(path = %datagram.path, bytes = len, "received");
                    driven.machine.handle_datagram(now, datagram);
                }
            }
            amount = amount.max(Amount::of(batches, RECEIVES_PER_TURN_MAX));
        }
        Ok(amount)
    }

    /// Runs the timers that are due.
    fn run_timers(&mut self) -> Result<(), DriverError> {
        let mut driven = self.shared.machine()?;
        let now = self.shared.clock.now();
        if driven.machine.poll_timeout().is_some_and(|wakeup| wakeup.at <= now) {
            self.stats.timeouts += 1;
            driven.machine.handle_timeout(now);
        }
        Ok(())
    }

    /// Sends what the machine has to send, `sends` times at most.
    fn transmit(&mut self, sends: usize) -> Result<Amount, DriverError> {
        for nth in 0..sends {
            self.transmit.clear();
            let transmit = {
                let mut driven = self.shared.machine()?;
                let now = self.shared.clock.now();
                driven.machine.poll_transmit(now, &mut self.transmit)
            };
            let Some(transmit) = transmit else { return Ok(Amount::of(nth, sends)) };
            self.send(transmit);
        }
        Ok(Amount::Bound)
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
    fn sleep_until_timeout(
        &mut self,
        cx: &mut Context<'_>,
        is_idle: bool,
    ) -> Result<bool, DriverError> {
        let failed = |error: io::Error| DriverError::Timer { message: error.to_string() };
        let mut driven = self.shared.machine()?;
        self.shared.announce_event(&mut driven);
        let wakeup = driven.machine.poll_timeout();
        drop(driven);
        // An expiry that is left over from an earlier arming is taken here, so that the next one
        // wakes the task.
        while self.timer.poll_expired(cx).map_err(failed)?.is_ready() {}
        let now = self.shared.clock.now();
        let at = match wakeup {
            None => return Ok(false),
            Some(wakeup) if wakeup.at > now => wakeup.at,
            Some(_) if !is_idle => {
                self.idle_turns = 0;
                return Ok(true);
            }
            Some(wakeup) => {
                self.idle_turns += 1;
                if self.idle_turns < IDLE_TURNS_MAX {
                    return Ok(true);
                }
                self.busy_loop(now, wakeup)
            }
        };
        self.idle_turns = 0;
        self.timer.arm(at, now).map_err(failed)?;
        Ok(false)
    }

    /// Reports a timer that is due again and again; returns when to run it next.
    fn busy_loop(&mut self, now: Time, due: Wakeup) -> Time {
        if self.stats.busy_loops == 0 {
            tracing::warn!(why = due.why, at = %due.at, %now, "a timer is due again and again");
        }
        self.stats.busy_loops += 1;
        now + BUSY_LOOP_PAUSE
    }

    /// Lets more gather if something had arrived a moment before, too; true if it did. What comes
    /// alone is never kept waiting.
    fn rest(&mut self) -> bool {
        let now = self.shared.clock.now();
        let before = self.heard.replace(now);
        let is_busy = before.is_some_and(|heard| now.saturating_since(heard) < 2 * REST);
        if self.rest == Rest::None || !is_busy {
            return false;
        }
        let timer = self.timer.armed().map_or(REST, |at| at.saturating_since(now));
        std::thread::sleep(REST.min(timer));
        true
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
        published.busy_loops = self.stats.busy_loops;
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
