//! [`Variation`]: what the paper leaves open, chosen otherwise.

use std::fmt;

use super::cell::{Carrier, Cell, Scenario, Setup};
use super::measure::{Measured, Outcome};
use crate::{CellError, Parameters};

/// A parameter chosen otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variation {
    /// As `--set` has it.
    pub set: &'static str,
    words: &'static str,
    places: &'static [Place],
}

/// Where it is run: scenario, length of a frame in microseconds, carriers.
type Place = (Scenario, u32, &'static [Carrier]);

const ONE_AND_FOUR: &[Carrier] = &[Carrier::Dccp(1), Carrier::Dccp(4)];
const ONE_TO_FOUR: &[Carrier] =
    &[Carrier::Dccp(1), Carrier::Dccp(2), Carrier::Dccp(3), Carrier::Dccp(4)];
/// All that a table has of one cell.
const UPLINK: &[Carrier] = &[
    Carrier::Dccp(1),
    Carrier::Dccp(2),
    Carrier::Dccp(3),
    Carrier::Dccp(4),
    Carrier::Auto,
    Carrier::Sctp,
    Carrier::Multipath,
    Carrier::SctpOverTwo,
];
/// The same of two.
const BETWEEN_USERS: &[Carrier] = &[
    Carrier::Dccp(1),
    Carrier::Dccp(4),
    Carrier::Dccp(6),
    Carrier::Dccp(8),
    Carrier::Auto,
    Carrier::Sctp,
    Carrier::Multipath,
    Carrier::SctpOverTwo,
];

const STATION: Place = (Scenario::BaseStation, 5_000, ONE_AND_FOUR);
const CORE: Place = (Scenario::NodeC, 20_000, ONE_AND_FOUR);
const USER: Place = (Scenario::UserToUser, 12_500, ONE_AND_FOUR);
const SHORT_FRAMES: Place = (Scenario::UserToUser, 8_000, ONE_AND_FOUR);

/// A TCP beside the video.
pub(super) const BESIDE: &str = "tcp-beside=yes";
/// A way beyond the base station, with which a connection has the round trip that the paper's rate
/// stands for.
pub(super) const BEYOND: &str = "beyond=75ms";

/// No losses on the air: what the cell carries.
pub(super) const LOSS_FREE: &str = "good-loss=0%,stay-good=100%";

const fn variation(set: &'static str, words: &'static str, places: &'static [Place]) -> Variation {
    Variation { set, words, places }
}

impl Variation {
    /// All of them.
    pub const ALL: [Self; 24] = [
        variation(
            BEYOND,
            "75 ms each way behind the base station",
            &[(Scenario::BaseStation, 5_000, ONE_TO_FOUR)],
        ),
        variation("cbr=267k", "constant rates as 1,000 bytes each 0.03 s", &[STATION, CORE, USER]),
        variation(
            "own-queue=no",
            "the video in the queue of its station's stream",
            &[STATION, CORE, SHORT_FRAMES],
        ),
        variation("own-feedback=no", "its feedback in the queue of the stream", &[STATION]),
        variation("lossy-downlink=no", "no losses on the downlink", &[STATION, CORE, USER]),
        variation("ftp=no", "no TCP transfers", &[CORE, USER]),
        variation("nrtps-poll=1", "nrtPS polled in each frame", &[STATION]),
        variation("scheduling=proportional", "slots in proportion to what waits", &[STATION, CORE]),
        variation("scheduling=in-turn", "slots for one flow after the other", &[STATION, CORE]),
        variation("loss-tick=5ms", "states that change every 5 ms", &[STATION, CORE, USER]),
        variation("loss-tick=100ms", "states that change every 100 ms", &[CORE]),
        variation("lossy-far-cell=no", "no losses in the cell of who receives", &[USER]),
        variation("core-on-radio=no", "node B's traffic ends at the base station", &[CORE, USER]),
        variation("swapped=yes", "the other interleaving", &[CORE, USER]),
        variation("actual-size=no", "the equation with the mean packet size", &[CORE, USER]),
        variation("give-way=no", "no giving way to delay", &[CORE, USER]),
        variation("packet-start=yes", "a packet a second at first", &[STATION, CORE, USER]),
        variation("tcp-start=2", "an initial window of two segments for TCP", &[CORE]),
        variation("tcp-window=20K", "no more than 20 KiB of a TCP under way", &[CORE]),
        variation("queue=20", "shorter queues", &[STATION, CORE]),
        variation("warm-up=5s", "other traffic for 5 s before the video", &[CORE]),
        variation("start-gap=0ms", "all connections begin at once", &[CORE]),
        variation(LOSS_FREE, "a channel without losses", &[STATION, CORE]),
        variation(
            BESIDE,
            "a TCP in the same queue",
            &[
                (Scenario::BaseStation, 5_000, UPLINK),
                (Scenario::BaseStation, 20_000, UPLINK),
                (Scenario::NodeC, 20_000, UPLINK),
                (Scenario::UserToUser, 8_000, BETWEEN_USERS),
                (Scenario::UserToUser, 12_500, BETWEEN_USERS),
                (Scenario::UserToUser, 20_000, BETWEEN_USERS),
            ],
        ),
    ];

    /// The cells that are varied, with the seeds 1 to `seeds`.
    pub fn cells(seeds: u64) -> impl Iterator<Item = (Self, Cell)> {
        Self::ALL.into_iter().flat_map(move |it| it.cells_of(seeds).map(move |cell| (it, cell)))
    }

    fn cells_of(self, seeds: u64) -> impl Iterator<Item = Cell> {
        self.places.iter().flat_map(move |(scenario, frame_us, carriers)| {
            carriers.iter().flat_map(move |carrier| {
                (1..=seeds).map(move |seed| Cell {
                    scenario: *scenario,
                    carrier: *carrier,
                    frame_us: *frame_us,
                    bad_loss_percent: 5,
                    seed,
                })
            })
        })
    }

    /// The parameters with it.
    #[must_use]
    pub fn parameters(self) -> Parameters<super::Values> {
        Parameters::read([self.set]).expect("a test reads all of them")
    }

    /// Runs a cell with it.
    ///
    /// # Errors
    /// As [`Cell::run`].
    pub fn run(self, cell: &Cell, setup: &Setup) -> Result<(Outcome, f64), CellError> {
        let Measured { outcome, simulated_s, .. } = cell.run_with(setup, &self.parameters())?;
        Ok((outcome, simulated_s))
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
            assert!(Parameters::<super::super::Values>::read([it.set]).is_ok(), "{}", it.set);
            assert!(!it.parameters().are_papers(), "{}", it.set);
        }
    }
}
