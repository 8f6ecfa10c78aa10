//! [`Earliest`]: which of many timers expires first.

use anabranch_sansio::{Time, Wakeup};

/// The first of the timers offered so far; of several at one time, the one offered first.
#[derive(Debug, Default)]
pub(crate) struct Earliest(Option<Wakeup>);

impl Earliest {
    /// A timer by its name, if it runs.
    pub(crate) fn offer(&mut self, at: Option<Time>, why: &'static str) {
        if let Some(at) = at
            && self.0.is_none_or(|first| at < first.at)
        {
            self.0 = Some(Wakeup { at, why });
        }
    }

    pub(crate) const fn wakeup(self) -> Option<Wakeup> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_timers_is_told_with_its_name() {
        let at = |ms| Some(Time::from_millis(ms));
        let mut earliest = Earliest::default();
        for (at, why) in [(None, "off"), (at(20), "late"), (at(10), "soon"), (at(10), "too")] {
            earliest.offer(at, why);
        }
        assert_eq!(earliest.wakeup().map(|first| first.why), Some("soon"));
        assert_eq!(Earliest::default().wakeup(), None);
    }
}
