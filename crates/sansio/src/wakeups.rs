//! [`Wakeups`]: which of many connections is to be woken next.

use std::collections::BTreeSet;

use crate::{Time, Wakeup};

/// Which of a machine's connections is to be woken next. Each keeps its own [`Wakeup`] beside its
/// other state; here they stand in order.
#[derive(Debug, Clone)]
pub struct Wakeups<Id> {
    by_time: BTreeSet<(Time, Id)>,
}

impl<Id> Default for Wakeups<Id> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new() }
    }
}

impl<Id: Copy + Ord> Wakeups<Id> {
    /// Replaces what a connection waits for. Returns whether the time is another one.
    pub fn set(&mut self, id: Id, held: &mut Option<Wakeup>, wakeup: Option<Wakeup>) -> bool {
        let before = std::mem::replace(held, wakeup).map(|wakeup| wakeup.at);
        let now = wakeup.map(|wakeup| wakeup.at);
        if now == before {
            return false;
        }
        if let Some(at) = before {
            self.by_time.remove(&(at, id));
        }
        self.by_time.extend(now.map(|at| (at, id)));
        true
    }

    /// The connection that is to be woken first; the lowest of several at one time.
    #[must_use]
    pub fn first(&self) -> Option<Id> {
        self.by_time.first().map(|&(_, id)| id)
    }

    /// The same, if its time has come.
    #[must_use]
    pub fn due(&self, now: Time) -> Option<Id> {
        self.by_time.first().filter(|(at, _)| *at <= now).map(|&(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Option<Wakeup> {
        Some(Wakeup { at: Time::from_millis(ms), why: "a test" })
    }

    #[test]
    fn the_earliest_comes_first_and_nothing_before_its_time() {
        let (mut wakeups, mut held) = (Wakeups::default(), [None; 3]);
        assert_eq!(wakeups.first(), None);
        for (id, ms) in [(0, 30), (1, 10), (2, 10)] {
            assert!(wakeups.set(id, &mut held[id], at(ms)));
        }
        assert_eq!(wakeups.first(), Some(1));
        assert_eq!(wakeups.due(Time::from_millis(9)), None);
        assert_eq!(wakeups.due(Time::from_millis(10)), Some(1));
        assert!(wakeups.set(1, &mut held[1], None));
        assert_eq!(wakeups.due(Time::from_millis(10)), Some(2));
        assert!(wakeups.set(2, &mut held[2], at(40)));
        assert_eq!(wakeups.first(), Some(0));
        assert_eq!(held, [at(30), None, at(40)]);
    }

    #[test]
    fn another_reason_at_the_same_time_is_no_other_time() {
        let (mut wakeups, mut held) = (Wakeups::default(), None);
        assert!(wakeups.set(7, &mut held, at(5)));
        let reason = Some(Wakeup { at: Time::from_millis(5), why: "another" });
        assert!(!wakeups.set(7, &mut held, reason));
        assert_eq!(held, reason);
        assert!(wakeups.set(7, &mut held, None));
        assert!(!wakeups.set(7, &mut held, None));
        assert_eq!(wakeups.first(), None);
    }
}
