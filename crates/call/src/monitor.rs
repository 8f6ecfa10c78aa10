//! [`Monitor`]: the rule by which a path that fell silent is left, of Chang 2010.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_sansio::Time;

/// Chang 2010, section 2: "An object called Confirm Timer is designed for generating a timer
/// interrupt to check the current situation about the connectivity in the primary path by every 200
/// milliseconds periodically."
///
/// `P` names a path.
#[derive(Debug, Clone)]
pub struct Monitor<P> {
    threshold: Duration,
    every: Duration,
    next: Time,
    /// When something came last over each path.
    heard: BTreeMap<P, Time>,
    primary: P,
}

/// What a check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<P> {
    /// All is well.
    Stay,
    /// The primary is silent, and this one is available.
    Switch(P),
    /// Nothing else is available: the user is warned, and the call is over.
    End,
}

impl<P: Copy + Ord> Monitor<P> {
    /// Watches this path, over which something counts as heard at `first`, and every other one
    /// that is [heard](Self::heard). Checks follow each other by `every`, from `first` on.
    #[must_use]
    pub fn new(threshold: Duration, every: Duration, first: Time, primary: P) -> Self {
        Self { threshold, every, next: first, heard: BTreeMap::from([(primary, first)]), primary }
    }

    /// When the next check is due.
    #[must_use]
    pub const fn next_at(&self) -> Time {
        self.next
    }

    /// The path that is left when it is silent.
    #[must_use]
    pub const fn primary(&self) -> P {
        self.primary
    }

    /// "When the host receives the data from a particular IP address, the system will update the
    /// receiving time of that particular IP address."
    pub fn heard(&mut self, now: Time, path: P) {
        self.heard.insert(path, now);
    }

    /// Another path is the primary from now on.
    pub const fn set_primary(&mut self, path: P) {
        self.primary = path;
    }

    /// Paths that are gone are not available.
    pub fn retain(&mut self, is_there: impl Fn(P) -> bool) {
        self.heard.retain(|path, _| is_there(*path));
    }

    /// "If the primary path fails to response any data receiving from the peer side within a
    /// specified duration, system will look for the alternative IP path to hand over from the
    /// original one. However, if alternative path is not available at the moment, system sends a
    /// warn message to users and then abort this association later on."
    ///
    /// `is_available` is asked of a path, and gets how long it has been silent.
    pub fn check(&mut self, now: Time, is_available: impl Fn(P, Duration) -> bool) -> Verdict<P> {
        if now < self.next {
            return Verdict::Stay;
        }
        self.next += self.every;
        let silence = |at: &Time| now.saturating_since(*at);
        if self.heard.get(&self.primary).is_some_and(|at| silence(at) < self.threshold) {
            return Verdict::Stay;
        }
        let mut others = self.heard.iter().filter(|(path, _)| **path != self.primary);
        let other = others.find(|(path, at)| is_available(**path, silence(at)));
        let Some(other) = other.map(|(path, _)| *path) else { return Verdict::End };
        self.primary = other;
        // What the new one has not said yet is not held against it.
        self.heard.insert(other, now);
        Verdict::Switch(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: Duration = Duration::from_millis(500);

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn monitor() -> Monitor<usize> {
        let mut monitor = Monitor::new(THRESHOLD, Duration::from_millis(200), Time::ZERO, 0);
        monitor.heard(Time::ZERO, 1);
        monitor
    }

    fn was_heard(_path: usize, silence: Duration) -> bool {
        silence < THRESHOLD
    }

    #[test]
    fn a_silent_primary_is_left_at_the_next_check_for_a_path_that_was_heard() {
        let mut monitor = monitor();
        monitor.heard(at(100), 0);
        monitor.heard(at(300), 1);
        for check in [0, 200, 400] {
            assert_eq!(monitor.check(at(check), was_heard), Verdict::Stay, "{check}");
        }
        assert_eq!(monitor.check(at(600), was_heard), Verdict::Switch(1));
        monitor.heard(at(700), 1);
        assert_eq!(monitor.check(at(800), was_heard), Verdict::Stay);
    }

    #[test]
    fn the_call_ends_when_no_other_path_is_available() {
        let silent = |is_available: fn(usize, Duration) -> bool| {
            let mut monitor = monitor();
            let checks = [0, 200, 400, 600].map(|check| monitor.check(at(check), is_available));
            checks[3]
        };
        assert_eq!(silent(was_heard), Verdict::End);
        assert_eq!(silent(|_, _| true), Verdict::Switch(1));
    }

    #[test]
    fn a_primary_that_is_gone_is_left_at_once_and_never_gone_to() {
        let mut monitor = monitor();
        monitor.heard(at(100), 1);
        monitor.retain(|path| path != 0);
        assert_eq!(monitor.check(at(200), was_heard), Verdict::Switch(1));
        monitor.retain(|_| false);
        assert_eq!(monitor.check(at(400), was_heard), Verdict::End);
    }
}
