//! [`Rest`]: how a busy driver lets datagrams gather.

use std::time::Duration;

use anabranch_sansio::Time;

/// How long a busy driver on a thread of its own rests at most: far less than acknowledgements may
/// be delayed (RFC 9260 section 6.2).
pub const REST: Duration = Duration::from_millis(2);

/// How long after something came or left a driver counts as busy.
const BUSY: Duration = Duration::from_millis(10);

/// The most datagrams between two rests of a thread that is shared. Where more come, they come many
/// at a time without being waited for, and a rest would only slow down their acknowledgements.
const DATAGRAMS_MAX: u64 = 32;

/// Whether a driver blocks its thread while datagrams keep coming, and how long, so that they
/// gather. A sleeping thread is not woken by what arrives, one that waits for its sockets is, for
/// each datagram. A timer ends a rest, so that paced packets are not late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Never: others use the thread.
    Never,
    /// While datagrams keep coming, for [`REST`]: the thread is the driver's alone.
    Apart,
    /// While datagrams keep coming or leaving: others use the thread, each has its turn before a
    /// rest, and can wait for as long.
    Together(Duration),
}

/// What a driver does instead of waiting for its sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Lets the others of its thread have their turn.
    Yield,
    /// Blocks the thread for so long at most.
    Sleep(Duration),
}

/// Decides when a driver rests.
#[derive(Debug)]
pub(crate) struct Rester {
    rest: Rest,
    /// When something last came or left that counts.
    active: Option<Time>,
    /// Whether something had a moment before that, too: what comes alone is never kept waiting.
    is_busy: bool,
    /// Whether the others of the thread had their turn since the last rest.
    has_yielded: bool,
    /// Datagrams since the last rest.
    datagrams: u64,
}

impl Rester {
    pub(crate) const fn new(rest: Rest) -> Self {
        Self { rest, active: None, is_busy: false, has_yielded: false, datagrams: 0 }
    }

    /// So many datagrams came.
    pub(crate) const fn on_received(&mut self, now: Time, datagrams: u64) {
        self.on_active(now, datagrams);
    }

    /// So many datagrams left.
    pub(crate) const fn on_sent(&mut self, now: Time, datagrams: u64) {
        if matches!(self.rest, Rest::Together(_)) {
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

    /// What to do at the end of a turn; `None` to wait for the sockets.
    pub(crate) fn pause(&mut self, now: Time) -> Option<Pause> {
        let datagrams = std::mem::take(&mut self.datagrams);
        if !self.is_busy || !self.was_active(now) {
            return None;
        }
        match self.rest {
            Rest::Never => None,
            Rest::Apart => Some(Pause::Sleep(REST)),
            Rest::Together(_) if datagrams > DATAGRAMS_MAX => None,
            Rest::Together(longest) => {
                self.has_yielded = !self.has_yielded;
                Some(if self.has_yielded { Pause::Yield } else { Pause::Sleep(longest) })
            }
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
        let mut rester = Rester::new(Rest::Together(LONGEST));
        for at in [100, 200, 300] {
            rester.on_received(ms(at), 1);
            assert_eq!(rester.pause(ms(at)), None);
        }
    }

    #[test]
    fn while_datagrams_keep_coming_others_have_their_turn_before_each_rest() {
        let mut rester = Rester::new(Rest::Together(LONGEST));
        rester.on_received(ms(100), 1);
        assert_eq!(rester.pause(ms(100)), None);
        for at in [101, 104, 107] {
            rester.on_sent(ms(at), 3);
            assert_eq!(rester.pause(ms(at)), Some(Pause::Yield));
            assert_eq!(rester.pause(ms(at)), Some(Pause::Sleep(LONGEST)));
        }
        assert_eq!(rester.pause(ms(116)), Some(Pause::Yield));
        assert_eq!(rester.pause(ms(117)), None, "nothing came or left for 10 ms");
    }

    #[test]
    fn a_driver_apart_has_nobody_to_yield_to_and_counts_what_came() {
        let mut rester = Rester::new(Rest::Apart);
        rester.on_sent(ms(1), 1);
        rester.on_sent(ms(2), 1);
        assert_eq!(rester.pause(ms(2)), None);
        rester.on_received(ms(3), 1);
        rester.on_received(ms(4), 1);
        assert_eq!(rester.pause(ms(4)), Some(Pause::Sleep(REST)));
    }

    #[test]
    fn a_flood_is_taken_without_a_rest() {
        let mut rester = Rester::new(Rest::Together(LONGEST));
        for at in 1..10 {
            rester.on_received(ms(at), DATAGRAMS_MAX + 1);
            assert_eq!(rester.pause(ms(at)), None);
        }
    }
}
