//! [`Variation`]: what decides whether a handoff succeeds, chosen otherwise.

use std::fmt;

use super::cell::{Cell, Handoff, Method, Place};
use super::measure::Outcome;
use super::values::Values;
use crate::recording::RecordTo;
use crate::{CellError, Parameters};

/// A parameter chosen otherwise, where the first handoff is at stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variation {
    /// As `--set` has it.
    pub set: &'static str,
    words: &'static str,
}

/// Thresholds with which it is run, in milliseconds.
pub(super) const THRESHOLDS_MS: [u32; 7] = [2_000, 1_500, 1_200, 1_000, 800, 500, 300];

/// The least timeout, halved.
pub(super) const SHORT_RTO: &str = "rto-min=500ms";
/// The least timeout, 1.4 s.
pub(super) const LONG_RTO: &str = "rto-min=1400ms";
/// A monitor that takes SCTP's word.
pub(super) const BY_STATE: &str = "by-state=yes";
/// Nothing lives long enough to be sent again.
pub(super) const SHORT_LIFE: &str = "lifetime=500ms";

impl Variation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self { set: SHORT_RTO, words: "half the least retransmission timeout" },
        Self { set: LONG_RTO, words: "a least retransmission timeout of 1.4 s" },
        Self { set: BY_STATE, words: "a monitor that takes any path that SCTP calls active" },
        Self { set: SHORT_LIFE, words: "messages that end before they would be sent again" },
        Self { set: "lifetime=0", words: "reliable messages" },
        Self { set: "heartbeat=0", words: "heartbeats as often as RFC 9260 lets them be" },
        Self { set: "cell=no", words: "a wireless path that is a link of 54 Mbit/s" },
    ];

    /// The cells that are varied, with the seeds 1 to `seeds`.
    pub fn cells(seeds: u64) -> impl Iterator<Item = (Self, Cell)> {
        let place = Place::Handoff(Handoff::WiredToWireless);
        Self::ALL.into_iter().flat_map(move |it| {
            THRESHOLDS_MS.into_iter().flat_map(move |ms| {
                let method = Method::Timed(ms);
                (1..=seeds).map(move |seed| (it, Cell { place, method, seed }))
            })
        })
    }

    /// The parameters with it.
    #[must_use]
    pub fn parameters(self) -> Parameters<Values> {
        Parameters::read([self.set]).expect("a test reads all of them")
    }

    /// Runs a cell with it.
    ///
    /// # Errors
    /// As [`Cell::run`].
    pub fn run(self, cell: &Cell) -> Result<Outcome, CellError> {
        cell.run_recorded(&self.parameters(), RecordTo::default())
    }
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variation_changes_something() {
        for it in Variation::ALL {
            assert!(Parameters::<Values>::read([it.set]).is_ok(), "{}", it.set);
            assert!(!it.parameters().are_papers(), "{}", it.set);
        }
    }
}
