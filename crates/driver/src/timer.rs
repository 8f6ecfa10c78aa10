//! [`Timer`]: wakes a task at a [`Time`], to a few microseconds.
//!
//! tokio's own timers count whole milliseconds, which is more than the gap between two paced
//! packets. The kernel's timerfd counts nanoseconds and wakes through the same epoll as sockets.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use std::time::Duration;

use anabranch_sansio::Time;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::Clock;
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
    ///
    /// The expirations are not read: epoll is told of each by its edge (epoll(7), EPOLLET), and to
    /// arm the timer anew takes them away. One that was armed for later meanwhile may leave the
    /// edge of the time before, which is too early and passed over.
    pub(crate) fn poll_expired(
        &mut self,
        cx: &mut Context<'_>,
        clock: Clock,
    ) -> Poll<io::Result<()>> {
        while let Poll::Ready(guard) = self.fd.poll_read_ready(cx) {
            guard?.clear_ready();
            // Asked behind the edge: one that is not left over is never before its time.
            let now = clock.now();
            if self.armed.is_some_and(|armed| armed <= now) {
                self.armed = None;
                return Poll::Ready(Ok(()));
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn a_timer_never_expires_early_and_can_be_moved_forward() {
        let clock = Clock::start();
        let mut timer = Timer::new().unwrap();
        let at = clock.now() + Duration::from_millis(5);
        timer.arm(clock.now() + Duration::from_secs(600), clock.now()).unwrap();
        timer.arm(at, clock.now()).unwrap();
        poll_fn(|cx| timer.poll_expired(cx, clock)).await.unwrap();
        assert!(clock.now() >= at);
    }

    #[tokio::test]
    async fn each_of_many_expiries_wakes_the_task_though_none_is_read() {
        let clock = Clock::start();
        let mut timer = Timer::new().unwrap();
        for delay in [1, 3, 1, 2, 1, 1] {
            let at = clock.now() + Duration::from_millis(delay);
            timer.arm(at, clock.now()).unwrap();
            poll_fn(|cx| timer.poll_expired(cx, clock)).await.unwrap();
            assert!(clock.now() >= at);
            assert_eq!(timer.armed, None);
        }
    }

    #[tokio::test]
    async fn a_time_in_the_past_expires_at_once() {
        let mut timer = Timer::new().unwrap();
        timer.arm(Time::ZERO, Time::from_secs(1)).unwrap();
        poll_fn(|cx| timer.poll_expired(cx, Clock::start())).await.unwrap();
    }
}
