//! [`Monitor`]: the paper's rule of when a path is left.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_sctp::PathState;

/// Chang 2010, section 2: "An object called Confirm Timer is designed for generating a timer
/// interrupt to check the current situation about the connectivity in the primary path by every 200
/// milliseconds periodically."
#[derive(Debug, Clone)]
pub(super) struct Monitor {
    pub(super) threshold: Duration,
    every: Duration,
    next: Time,
    /// When data came last from each of the peer's addresses.
    heard: Vec<Time>,
    primary: usize,
    /// Whether another address is available by SCTP's word, heartbeats and all, and not by data
    /// that came from it.
    believes_sctp: bool,
}

/// What a check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All is well.
    Stay,
    /// The primary is dead, and this one is not.
    Switch(usize),
    /// Nothing else is available: the user is warned, and the call is over.
    End,
}

impl Monitor {
    pub(super) fn new(
        threshold: Duration,
        every: Duration,
        first: Time,
        believes_sctp: bool,
    ) -> Self {
        Self { threshold, every, next: first, heard: vec![first; 2], primary: 0, believes_sctp }
    }

    pub(super) const fn next_at(&self) -> Time {
        self.next
    }

    /// "When the host receives the data from a particular IP address, the system will update the
    /// receiving time of that particular IP address."
    pub(super) fn heard(&mut self, now: Time, path: usize) {
        if let Some(at) = self.heard.get_mut(path) {
            *at = now;
        }
    }

    /// "If the primary path fails to response any data receiving from the peer side within a
    /// specified duration, system will look for the alternative IP path to hand over from the
    /// original one. However, if alternative path is not available at the moment, system sends a
    /// warn message to users and then abort this association later on."
    pub(super) fn check(&mut self, now: Time, state: impl Fn(usize) -> PathState) -> Verdict {
        if now < self.next {
            return Verdict::Stay;
        }
        self.next += self.every;
        if !self.is_silent(now, self.primary) {
            return Verdict::Stay;
        }
        let is_available = |path: &usize| match self.believes_sctp {
            true => state(*path) == PathState::Active,
            false => !self.is_silent(now, *path),
        };
        let others = (0..self.heard.len()).filter(|path| *path != self.primary);
        let Some(other) = others.into_iter().find(is_available) else { return Verdict::End };
        self.primary = other;
        // What the new one has not said yet is not held against it.
        self.heard[other] = now;
        Verdict::Switch(other)
    }

    fn is_silent(&self, now: Time, path: usize) -> bool {
        now.saturating_since(self.heard[path]) >= self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIVE: fn(usize) -> PathState = |_| PathState::Active;

    fn monitor(believes_sctp: bool) -> Monitor {
        let (threshold, every) = (Duration::from_millis(500), Duration::from_millis(200));
        Monitor::new(threshold, every, Time::ZERO, believes_sctp)
    }

    #[test]
    fn a_silent_primary_is_left_at_the_next_check_for_a_path_that_was_heard() {
        let mut monitor = monitor(false);
        let at = Time::from_millis;
        monitor.heard(at(100), 0);
        monitor.heard(at(300), 1);
        for check in [0, 200, 400] {
            assert_eq!(monitor.check(at(check), ACTIVE), Verdict::Stay, "{check}");
        }
        assert_eq!(monitor.check(at(600), ACTIVE), Verdict::Switch(1));
        monitor.heard(at(700), 1);
        assert_eq!(monitor.check(at(800), ACTIVE), Verdict::Stay);
    }

    #[test]
    fn with_no_other_path_heard_the_call_ends_though_sctp_holds_one_active() {
        let at = Time::from_millis;
        let silent = |mut monitor: Monitor| {
            let checks = [0, 200, 400, 600].map(|check| monitor.check(at(check), ACTIVE));
            checks[3]
        };
        assert_eq!(silent(monitor(false)), Verdict::End);
        assert_eq!(silent(monitor(true)), Verdict::Switch(1));
    }
}
