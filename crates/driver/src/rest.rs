//! [`Rest`]: how a busy driver lets datagrams gather.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anabranch_sansio::Time;

/// How long a busy driver on a thread of its own rests at most: far less than acknowledgements may
/// be delayed (RFC 9260 section 6.2).
pub const REST: Duration = Duration::from_millis(2);

/// How long after something came or left a driver counts as busy.
const BUSY: Duration = Duration::from_millis(10);

/// The most datagrams between two rests of a thread that is shared. Where more come, they come many
/// at a time without being waited for, and a rest would only slow down their acknowledgements.
const DATAGRAMS_MAX: u64 = 32;

thread_local! {
    /// Until when this thread rests as soon as none of its tasks has anything to do.
    static REST_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Whether this thread's runtime calls [`rest_before_park`].
    static RESTS: Cell<bool> = const { Cell::new(false) };
}

/// Lets a thread rest whose driver was started by
/// [`spawn_resting`](crate::Driver::spawn_resting), once none of its tasks has anything to do: for
/// tokio's [`on_thread_park`](tokio::runtime::Builder::on_thread_park).
pub fn rest_before_park() {
    RESTS.set(true);
    if let Some(until) = REST_UNTIL.take() {
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}

/// Lets a thread that [rests](rest_before_park) rest for so long at most once none of its tasks has
/// anything to do; a driver that has a turn before that says how long instead. False if this thread
/// never rests: then whoever wants to let something gather has to sleep by itself.
#[must_use]
pub fn rest_thread(rest: Duration) -> bool {
    if RESTS.get() {
        rest_when_idle(Some(rest));
    }
    RESTS.get()
}

/// The thread rests for so long when all of its tasks are done, or not at all.
pub(crate) fn rest_when_idle(rest: Option<Duration>) {
    REST_UNTIL.set(rest.map(|rest| Instant::now() + rest));
}

/// Whether a driver's thread sleeps while datagrams keep coming, and how long, so that they
/// gather. A sleeping thread is not woken by what arrives, one that waits for its sockets is, for
/// each datagram. A timer ends a rest, so that paced packets are not late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Never: others use the thread.
    Never,
    /// While datagrams keep coming, for [`REST`]: the thread is the driver's alone.
    Apart,
    /// While datagrams keep coming or leaving, for as long as the machine
    /// [allows](anabranch_sansio::Machine::rest): others use the thread, and can wait for so long
    /// once none of them has anything to do.
    Together,
}

/// Decides when a driver rests.
#[derive(Debug)]
pub(crate) struct Rester {
    rest: Rest,
    /// When something last came or left that counts.
    active: Option<Time>,
    /// Whether something had a moment before that, too: what comes alone is never kept waiting.
    is_busy: bool,
    /// Datagrams since the last rest.
    datagrams: u64,
}

impl Rester {
    pub(crate) const fn new(rest: Rest) -> Self {
        Self { rest, active: None, is_busy: false, datagrams: 0 }
    }

    /// So many datagrams came.
    pub(crate) const fn on_received(&mut self, now: Time, datagrams: u64) {
        self.on_active(now, datagrams);
    }

    /// So many datagrams left.
    pub(crate) const fn on_sent(&mut self, now: Time, datagrams: u64) {
        if matches!(self.rest, Rest::Together) {
            self.on_active(now, datagrams);
        }
    }

    const fn on_active(&mut self, now: Time, datagrams: u64) {
        self.datagrams += datagrams;
        self.is_busy = self.was_active(now);
        self.active = Some(now);
    }

    const fn was_active(&self, now: Time) -> bool {
        match self.active {
            Some(active) => now.saturating_since(active).as_nanos() < BUSY.as_nanos(),
            None => false,
        }
    }

    /// Whether others use the thread of a driver that rests.
    pub(crate) const fn is_together(&self) -> bool {
        matches!(self.rest, Rest::Together)
    }

    /// How long to rest after a turn, where the machine allows `longest`; `None` to wait for the
    /// sockets.
    pub(crate) fn pause(&mut self, now: Time, longest: Duration) -> Option<Duration> {
        let datagrams = std::mem::take(&mut self.datagrams);
        if !self.is_busy || !self.was_active(now) {
            return None;
        }
        match self.rest {
            Rest::Never => None,
            Rest::Apart => Some(REST),
            Rest::Together if datagrams > DATAGRAMS_MAX || longest.is_zero() => None,
            Rest::Together => Some(longest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(3);

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn what_comes_alone_is_not_kept_waiting() {
        let mut rester = Rester::new(Rest::Together);
        for at in [100, 200, 300] {
            rester.on_received(ms(at), 1);
            assert_eq!(rester.pause(ms(at), LONGEST), None);
        }
    }

    #[test]
    fn while_datagrams_keep_coming_or_leaving_there_is_a_rest_after_each_turn() {
        let mut rester = Rester::new(Rest::Together);
        rester.on_received(ms(100), 1);
        assert_eq!(rester.pause(ms(100), LONGEST), None);
        for at in [101, 104, 107] {
            rester.on_sent(ms(at), 3);
            assert_eq!(rester.pause(ms(at), LONGEST), Some(LONGEST));
        }
        assert_eq!(rester.pause(ms(116), LONGEST), Some(LONGEST));
        assert_eq!(rester.pause(ms(117), LONGEST), None, "nothing came or left for 10 ms");
    }

    #[test]
    fn a_machine_that_allows_no_rest_gets_none() {
        let mut rester = Rester::new(Rest::Together);
        rester.on_received(ms(1), 1);
        rester.on_received(ms(2), 1);
        assert_eq!(rester.pause(ms(2), Duration::ZERO), None);
    }

    #[test]
    fn an_idle_thread_rests_once() {
        rest_when_idle(Some(LONGEST));
        let start = Instant::now();
        rest_before_park();
        assert!(start.elapsed() >= LONGEST);
        assert_eq!(REST_UNTIL.get(), None);
    }

    #[test]
    fn a_thread_that_never_rests_says_so() {
        assert!(!rest_thread(LONGEST));
        assert_eq!(REST_UNTIL.get(), None);
        rest_before_park();
        assert!(rest_thread(LONGEST));
        let start = Instant::now();
        rest_before_park();
        assert!(start.elapsed() >= LONGEST);
    }

    #[test]
    fn a_driver_apart_counts_what_came() {
        let mut rester = Rester::new(Rest::Apart);
        rester.on_sent(ms(1), 1);
        rester.on_sent(ms(2), 1);
        assert_eq!(rester.pause(ms(2), LONGEST), None);
        rester.on_received(ms(3), 1);
        rester.on_received(ms(4), 1);
        assert_eq!(rester.pause(ms(4), LONGEST), Some(REST));
    }

    #[test]
    fn a_flood_is_taken_without_a_rest() {
        let mut rester = Rester::new(Rest::Together);
        for at in 1..10 {
            rester.on_received(ms(at), DATAGRAMS_MAX + 1);
            assert_eq!(rester.pause(ms(at), LONGEST), None);
        }
    }
}
