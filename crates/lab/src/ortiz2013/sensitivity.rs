//! How much the results hang on what the paper leaves open: single parameters chosen otherwise.

use std::fmt;

use anabranch_sctp::{AssociationConfig, CongestionControl, RetransmissionPolicy};

use super::cell::{Cell, Video};
use super::measure::Measured;
use super::strategy::{SctpStrategy, Strategy, Treatment};
use crate::CellError;

/// A parameter of the eleven strategies that is chosen otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variation {
    /// None.
    AsRun,
    /// What three reports found lost goes out where it was lost, as RFC 9260 has it.
    RetransmitWhereLost,
    /// What was lost goes out on the link with the largest congestion window (RTX-CWND), the
    /// paper's other choice for CMT.
    RetransmitOnLargestWindow,
    /// One timeout keeps new data off a path until it answers (RFC 7829).
    PotentiallyFailed,
    /// The initial window of RFC 9260.
    InitialWindow,
    /// A receive window of 1 MiB.
    ReceiveWindow,
    /// No limit to what an acknowledgement may release.
    NoBurstLimit,
}

impl Variation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AsRun,
        Self::RetransmitWhereLost,
        Self::RetransmitOnLargestWindow,
        Self::PotentiallyFailed,
        Self::InitialWindow,
        Self::ReceiveWindow,
        Self::NoBurstLimit,
    ];

    /// The strategies that are varied, each where the paper's values scatter most.
    pub const STRATEGIES: [Strategy; 2] = [
        Strategy::Sctp(SctpStrategy::CmtMulti(Treatment::Reliable)),
        Strategy::Sctp(SctpStrategy::Multi(Treatment::Reliable)),
    ];

    /// The cells that are varied, with the seeds 1 to `seeds`.
    pub fn cells(seeds: u64) -> impl Iterator<Item = (Self, Cell)> {
        let strategies = Self::STRATEGIES.into_iter();
        let varied = strategies.flat_map(|strategy| Self::ALL.map(|it| (it, strategy)));
        varied.flat_map(move |(variation, strategy)| {
            (1..=seeds).map(move |seed| (variation, Cell { strategy, mbps: 30, loss: 1e-2, seed }))
        })
    }

    /// Runs a cell with it.
    ///
    /// # Errors
    /// As [`Cell::run`].
    pub fn run(self, cell: &Cell, video: &Video) -> Result<Measured, CellError> {
        cell.run_varied(self, video)
    }

    pub(super) fn apply(self, config: AssociationConfig) -> AssociationConfig {
        match self {
            Self::AsRun => config,
            Self::RetransmitWhereLost => {
                AssociationConfig { retransmission_policy: RetransmissionPolicy::Rfc9260, ..config }
            }
            Self::RetransmitOnLargestWindow => {
                AssociationConfig { retransmission_policy: RetransmissionPolicy::Cwnd, ..config }
            }
            Self::PotentiallyFailed => {
                AssociationConfig { potentially_failed_max_retrans: 0, ..config }
            }
            Self::InitialWindow => {
                AssociationConfig { congestion_control: CongestionControl::Rfc9260, ..config }
            }
            Self::ReceiveWindow => AssociationConfig { receive_buffer: 1 << 20, ..config },
            Self::NoBurstLimit => AssociationConfig { max_burst: None, ..config },
        }
    }
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsRun => "as in the tables",
            Self::RetransmitWhereLost => "fast retransmissions on the link of the loss (RFC 9260)",
            Self::RetransmitOnLargestWindow => "retransmissions on the largest window (RTX-CWND)",
            Self::PotentiallyFailed => "potentially failed paths (RFC 7829)",
            Self::InitialWindow => "initial window of RFC 9260",
            Self::ReceiveWindow => "receive window of 1 MiB",
            Self::NoBurstLimit => "no burst limit",
        })
    }
}
