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
use crate::rest::{Rest, Rester, rest_when_idle};
use crate::socket::{LocalSocket, ReceiveBuffers};
use crate::stats::{Counters, DriverStats};
use crate::timer::Timer;
use crate::trace::{Inbox, Trace};

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
    rester: Rester,
    /// How long the machine lets datagrams gather now.
    rest: Duration,
    trace: Option<Inbox>,
}

impl<M: Machine> Task<M> {
    /// Must be called within a tokio runtime.
    pub(crate) fn new(
        shared: Arc<Shared<M>>,
        sockets: Vec<LocalSocket>,
        rest: Rest,
        trace: Option<Trace>,
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
            rester: Rester::new(rest),
            rest: Duration::ZERO,
            trace: trace.map(Inbox::new),
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

/// When a machine is to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Now,
    At(Time),
    Never,
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
        let next = self.next_wakeup(is_idle)?;
        self.publish();
        if closing {
            return Ok(Turn::End);
        }
        let has_more = received == Amount::Bound || sent == Amount::Bound;
        if next == Next::Now || has_more {
            return Ok(Turn::Again);
        }
        let rest = self.rest(next);
        if self.rester.is_together() {
            rest_when_idle(rest);
        } else if let Some(rest) = rest {
            std::thread::sleep(rest);
            return Ok(Turn::Again);
        }
        self.sleep_until(cx, next)?;
        Ok(Turn::Sleep)
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
                self.rester.on_received(now, self.received.traffic().datagrams);
                for coalesced in self.received.coalesced(socket.bound()) {
                    for datagram in coalesced.datagrams() {
                        let len = datagram.bytes.len();
                        tracing::trace!(path = %datagram.path, bytes = len, "received");
                        driven.machine.handle_datagram(now, datagram);
                    }
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
            let (now, transmit) = {
                let mut driven = self.shared.machine()?;
                let now = self.shared.clock.now();
                (now, driven.machine.poll_transmit(now, &mut self.transmit))
            };
            let Some(transmit) = transmit else { return Ok(Amount::of(nth, sends)) };
            self.send(now, transmit);
        }
        Ok(Amount::Bound)
    }

    fn send(&mut self, now: Time, mut transmit: Transmit) {
        let path = &mut transmit.path;
        path.local = canonical(path.local);
        path.remote = canonical(path.remote);
        let segment = transmit.segment_size.unwrap_or(usize::MAX).max(1);
        let datagrams = self.transmit.len().div_ceil(segment).max(1) as u64;
        self.rester.on_sent(now, datagrams);
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

    /// Tells of events. Returns when the machine is to be woken.
    fn next_wakeup(&mut self, is_idle: bool) -> Result<Next, DriverError> {
        let mut driven = self.shared.machine()?;
        self.shared.announce_event(&mut driven);
        if let Some(trace) = &mut self.trace {
            trace.take(&mut driven.machine);
        }
        let wakeup = driven.machine.poll_timeout();
        self.rest = driven.machine.rest();
        drop(driven);
        let now = self.shared.clock.now();
        let Some(wakeup) = wakeup else { return Ok(Next::Never) };
        let is_due = wakeup.at <= now;
        self.idle_turns = if is_due && is_idle { self.idle_turns + 1 } else { 0 };
        if !is_due {
            return Ok(Next::At(wakeup.at));
        }
        if self.idle_turns < IDLE_TURNS_MAX {
            return Ok(Next::Now);
        }
        self.idle_turns = 0;
        Ok(Next::At(self.busy_loop(now, wakeup)))
    }

    /// Has the timer wake the task.
    fn sleep_until(&mut self, cx: &mut Context<'_>, next: Next) -> Result<(), DriverError> {
        let failed = |error: io::Error| DriverError::Timer { message: error.to_string() };
        // An expiry that is left over from an earlier arming is taken here, so that the next one
        // wakes the task.
        let clock = self.shared.clock;
        while self.timer.poll_expired(cx, clock).map_err(failed)?.is_ready() {}
        match next {
            Next::At(at) => self.timer.arm(at, self.shared.clock.now()).map_err(failed),
            Next::Now | Next::Never => Ok(()),
        }
    }

    /// Reports a timer that is due again and again; returns when to run it next.
    fn busy_loop(&mut self, now: Time, due: Wakeup) -> Time {
        if self.stats.busy_loops == 0 {
            tracing::warn!(why = due.why, at = %due.at, %now, "a timer is due again and again");
        }
        self.stats.busy_loops += 1;
        now + BUSY_LOOP_PAUSE
    }

    /// How long to rest now: no longer than until the machine is to be woken.
    fn rest(&mut self, next: Next) -> Option<Duration> {
        let now = self.shared.clock.now();
        let longest = self.rester.pause(now, self.rest)?;
        Some(match next {
            Next::At(at) => longest.min(at.saturating_since(now)),
            Next::Now | Next::Never => longest,
        })
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
        // Hands on what is left before anybody learns of the end.
        self.trace = None;
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
