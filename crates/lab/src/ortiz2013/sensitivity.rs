//! How much the results hang on what the paper leaves open: single parameters chosen otherwise.

use std::fmt;

use anabranch_sctp::{AssociationConfig, CongestionControl, LossDetection, RetransmissionPolicy};
use anabranch_tcp::{Config as TcpConfig, FastRecovery};

use super::cell::{Cell, LOSSES, RATES_MBPS, Setup};
use super::measure::Measured;
use super::sctp::{RECEIVE_BUFFER, RTO_INITIAL, RTO_MAX, RTO_MIN};
use super::strategy::{SctpStrategy, Strategy, Treatment};
use crate::CellError;

/// A parameter of a strategy that is chosen otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variation {
    /// None.
    AsRun,
    /// One loss of a window is repaired without a timer, as in Reno; the next one waits for it.
    OneRepairPerWindow,
    /// The receiver takes so many full segments at once.
    Window {
        /// Of 1,460 bytes.
        segments: u16,
    },
    /// Both.
    OneRepairInWindow {
        /// Of 1,460 bytes.
        segments: u16,
    },
    /// A receive window of 1 MiB.
    ReceiveWindow,
    /// ns-2's segments of 536 bytes.
    ShortSegments,
    /// What three reports found lost goes out where it was lost, as RFC 9260 has it.
    RetransmitWhereLost,
    /// What was lost goes out on the link with the largest congestion window (RTX-CWND), the
    /// paper's other choice for CMT.
    RetransmitOnLargestWindow,
    /// Reordered data is acknowledged at once, without DAC.
    SacksInGaps,
    /// One timeout keeps new data off a path until it answers (RFC 7829).
    PotentiallyFailed,
    /// The initial window of RFC 9260.
    InitialWindow,
    /// No limit to what an acknowledgement may release.
    NoBurstLimit,
    /// Ours with what the others have: their receive window, their retransmission timers, and
    /// delivery in order.
    EqualTerms,
}

const CMT: Strategy = Strategy::Sctp(SctpStrategy::CmtMulti(Treatment::Reliable));
const MULTI: Strategy = Strategy::Sctp(SctpStrategy::Multi(Treatment::Reliable));

/// Where the paper's values scatter most.
const WORST: (&[u32], &[f64]) = (&[30], &[1e-2]);
/// Where losses decide.
const LOSSY: (&[u32], &[f64]) = (&RATES_MBPS, &[1e-3, 1e-2]);
const ALL: (&[u32], &[f64]) = (&RATES_MBPS, &LOSSES);

impl Variation {
    /// All of them, with the windows that come closest to the paper's delays of TCP without loss,
    /// at 45 and 60 Mbit/s.
    pub const ALL: [Self; 15] = [
        Self::AsRun,
        Self::OneRepairPerWindow,
        Self::Window { segments: 32 },
        Self::Window { segments: 37 },
        Self::OneRepairInWindow { segments: 32 },
        Self::OneRepairInWindow { segments: 37 },
        Self::ReceiveWindow,
        Self::ShortSegments,
        Self::RetransmitWhereLost,
        Self::RetransmitOnLargestWindow,
        Self::SacksInGaps,
        Self::PotentiallyFailed,
        Self::InitialWindow,
        Self::NoBurstLimit,
        Self::EqualTerms,
    ];

    /// The strategies that are varied, each where it makes a difference.
    pub const STRATEGIES: [Strategy; 4] = [CMT, MULTI, Strategy::Tcp, Strategy::OURS];

    /// The cells that are varied, with the seeds 1 to `seeds`.
    pub fn cells(seeds: u64) -> impl Iterator<Item = (Self, Cell)> {
        Self::STRATEGIES.into_iter().flat_map(move |strategy| {
            Self::ALL.into_iter().flat_map(move |it| it.cells_of(strategy, seeds))
        })
    }

    fn cells_of(self, strategy: Strategy, seeds: u64) -> impl Iterator<Item = (Self, Cell)> {
        let (rates, losses) = self.places(strategy);
        let places =
            losses.iter().flat_map(|loss| rates.iter().map(|mbps| (f64::from(*mbps), *loss)));
        places.flat_map(move |(mbps, loss)| {
            (1..=seeds).map(move |seed| (self, Cell { strategy, mbps, loss, seed }))
        })
    }

    /// The rates and losses at which a strategy is varied.
    fn places(self, strategy: Strategy) -> (&'static [u32], &'static [f64]) {
        match (strategy, self) {
            (CMT | MULTI | Strategy::Tcp, Self::OneRepairPerWindow) => LOSSY,
            (Strategy::Tcp, Self::Window { .. } | Self::ReceiveWindow | Self::ShortSegments) => ALL,
            (Strategy::Tcp, Self::OneRepairInWindow { .. }) => ALL,
            (Strategy::OURS, Self::EqualTerms) => ALL,
            (CMT, Self::RetransmitOnLargestWindow | Self::SacksInGaps) => WORST,
            (CMT | MULTI, Self::RetransmitWhereLost | Self::PotentiallyFailed) => WORST,
            (CMT | MULTI, Self::InitialWindow | Self::ReceiveWindow | Self::NoBurstLimit) => WORST,
            _ => (&[], &[]),
        }
    }

    /// Runs a cell with it.
    ///
    /// # Errors
    /// As [`Cell::run`].
    pub fn run(self, cell: &Cell, setup: &Setup) -> Result<Measured, CellError> {
        cell.run_varied(self, setup)
    }

    pub(super) fn apply(self, config: AssociationConfig) -> AssociationConfig {
        match self {
            Self::AsRun
            | Self::Window { .. }
            | Self::OneRepairInWindow { .. }
            | Self::ShortSegments => config,
            Self::OneRepairPerWindow => {
                config.with(|config| config.recovery.loss_detection = LossDetection::OncePerWindow)
            }
            Self::ReceiveWindow => config.with(|config| config.buffers.receive_buffer = 1 << 20),
            Self::RetransmitWhereLost => config.with(|config| {
                config.recovery.retransmission_policy = RetransmissionPolicy::Rfc9260
            }),
            Self::RetransmitOnLargestWindow => config
                .with(|config| config.recovery.retransmission_policy = RetransmissionPolicy::Cwnd),
            Self::SacksInGaps => config.with(|config| config.extensions.cmt_delayed_ack = false),
            Self::PotentiallyFailed => {
                config.with(|config| config.paths.potentially_failed_max_retrans = 0)
            }
            Self::InitialWindow => {
                config.with(|config| config.window.congestion_control = CongestionControl::Rfc9260)
            }
            Self::NoBurstLimit => config.with(|config| config.window.max_burst = None),
            Self::EqualTerms => config.with(|config| {
                config.buffers.receive_buffer = RECEIVE_BUFFER;
                config.timers.rto_initial = RTO_INITIAL;
                config.timers.rto_min = RTO_MIN;
                config.timers.rto_max = RTO_MAX;
            }),
        }
    }

    pub(super) fn apply_to_tcp(self, config: TcpConfig) -> TcpConfig {
        match self {
            Self::OneRepairPerWindow => TcpConfig { fast_recovery: FastRecovery::Reno, ..config },
            Self::Window { segments } => {
                TcpConfig { receive_buffer: usize::from(segments) * SEGMENT, ..config }
            }
            Self::OneRepairInWindow { segments } => Self::OneRepairPerWindow
                .apply_to_tcp(Self::Window { segments }.apply_to_tcp(config)),
            Self::ReceiveWindow => TcpConfig { receive_buffer: 1 << 20, ..config },
            Self::ShortSegments => TcpConfig { mtu: 536 + 40, ..config },
            Self::AsRun
            | Self::RetransmitWhereLost
            | Self::RetransmitOnLargestWindow
            | Self::SacksInGaps
            | Self::PotentiallyFailed
            | Self::InitialWindow
            | Self::NoBurstLimit
            | Self::EqualTerms => config,
        }
    }
}

/// Bytes of a segment that fills the MTU.
const SEGMENT: usize = 1_460;

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsRun => "as in the tables",
            Self::OneRepairPerWindow => "one loss of a window repaired without a timer (Reno)",
            Self::Window { segments } => return write!(f, "a window of {segments} segments"),
            Self::OneRepairInWindow { segments } => {
                return write!(f, "Reno in a window of {segments} segments");
            }
            Self::ReceiveWindow => "a receive window of 1 MiB",
            Self::ShortSegments => "segments of 536 bytes",
            Self::RetransmitWhereLost => "fast retransmissions on the link of the loss (RFC 9260)",
            Self::RetransmitOnLargestWindow => "retransmissions on the largest window (RTX-CWND)",
            Self::SacksInGaps => "SACKs in gaps at once (no DAC)",
            Self::PotentiallyFailed => "potentially failed paths (RFC 7829)",
            Self::InitialWindow => "the initial window of RFC 9260",
            Self::NoBurstLimit => "no burst limit",
            Self::EqualTerms => "the others' receive window, timers and order",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::Values;
    use super::*;

    #[test]
    fn each_variation_changes_the_strategies_that_it_is_run_with() {
        for (variation, cell) in Variation::cells(1) {
            let changed = match cell.strategy {
                Strategy::Tcp => {
                    variation.apply_to_tcp(TcpConfig::default()) != TcpConfig::default()
                }
                Strategy::Sctp(strategy) => {
                    let before = super::super::sctp::config(strategy, &Values::default());
                    format!("{:?}", variation.apply(before.clone())) != format!("{before:?}")
                }
                Strategy::Rtp(_) => false,
            };
            assert!(changed, "{variation} with {cell}");
        }
    }
}
