//! [`Timer`]: wakes a task at a [`Time`], to a few microseconds.
//!
//! tokio's own timers count whole milliseconds, which is more than the gap between two paced
//! packets. The kernel's timerfd counts nanoseconds and wakes through the same epoll as sockets.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anabranch_sansio::Time;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::readiness::register;

#[derive(Debug)]
pub(crate) struct Timer {
    fd: AsyncFd<OwnedFd>,
    armed: Option<Time>,
}

impl Timer {
    /// Must be called within a tokio runtime.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { fd: register(fd, Interest::READABLE)?, armed: None })
    }

    /// Makes the timer expire at `at` or before.
    ///
    /// A timer that is armed for an earlier time is left as it is: the early expiry costs one idle
    /// turn, while retransmission timers move into the future with every packet.
    pub(crate) fn arm(&mut self, at: Time, now: Time) -> io::Result<()> {
        if self.armed.is_some_and(|armed| armed <= at) {
            return Ok(());
        }
        // Zero would disarm it.
        let delay = (at - now).max(Duration::from_nanos(1));
        let spec = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: i64::try_from(delay.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(delay.subsec_nanos()),
            },
        };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &spec)?;
        self.armed = Some(at);
        Ok(())
    }

    /// Ready once after each expiry; otherwise the task is woken by the next one.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.fd.poll_read_ready(cx))?;
            let mut expirations = [0; 8];
            let read = guard.try_io(|fd| Ok(rustix::io::read(fd, &mut expirations)?));
            let Ok(read) = read else { continue };
            // One read takes all expirations, and no other comes before it is armed again.
            guard.clear_ready();
            self.armed = None;
            return Poll::Ready(read.map(|_| ()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::Clock;

    #[tokio::test]
    async fn a_timer_never_expires_early_and_can_be_moved_forward() {
        let clock = Clock::start();
        let mut timer = Timer::new().unwrap();
        let at = clock.now() + Duration::from_millis(5);
        timer.arm(clock.now() + Duration::from_secs(600), clock.now()).unwrap();
        timer.arm(at, clock.now()).unwrap();
        poll_fn(|cx| timer.poll_expired(cx)).await.unwrap();
        assert!(clock.now() >= at);
    }

    #[tokio::test]
    async fn a_time_in_the_past_expires_at_once() {
        let mut timer = Timer::new().unwrap();
        timer.arm(Time::ZERO, Time::from_secs(1)).unwrap();
        poll_fn(|cx| timer.poll_expired(cx)).await.unwrap();
    }
}
