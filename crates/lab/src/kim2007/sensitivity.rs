//! How much the results hang on what the paper leaves open: single parameters chosen otherwise.

use std::fmt;
use std::time::Duration;

use anabranch_netsim::settings::Speed;
use anabranch_sansio::Rate;

use super::carrier::Carrier;
use super::cell::Cell;
use super::measure::Outcome;
use super::scenario::Scenario;
use super::setup::{Pace, Setup};
use super::values::Values;
use crate::CellError;

/// A parameter that is chosen otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variation {
    /// None.
    AsRun,
    /// The link's delay one way, in milliseconds.
    Delay(u32),
    /// The link's rate in Mbit/s.
    Rate(u32),
    /// Packets that are lost, in per cent.
    Loss(u32),
    /// What the client sends is not lost.
    LossOfMediaOnly,
    /// The server never waits for its transport: the file keeps to its clock.
    OnTheClock,
    /// The shortest retransmission timeout in milliseconds.
    RtoMin(u32),
    /// TCP without Nagle's algorithm.
    NoNagle,
    /// A receive window of 1 MiB.
    ReceiveWindow,
    /// R of equation 1, in milliseconds.
    RateControl(u32),
    /// All channels on one stream, as in TCP.
    OneStream,
    /// Each of the three channels is a file of 2 MB at 1024 kbit/s.
    WholeChannels,
    /// The paper's carriers have buffers of 64 KiB to send and to receive.
    EqualBuffers,
}

/// Points of a figure, with what is varied there.
#[derive(Debug)]
pub struct Group {
    /// Which figure's.
    pub scenario: Scenario,
    /// Where on its horizontal axis.
    points: &'static [u32],
    /// Which of its lines, where a loss tells them apart.
    loss_percent: u32,
    variations: &'static [Variation],
}

/// What is varied.
pub const GROUPS: [Group; 4] = [
    Group {
        scenario: Scenario::Loss,
        points: &[10],
        loss_percent: 10,
        variations: &[
            Variation::AsRun,
            Variation::Delay(1),
            Variation::Delay(50),
            Variation::Delay(100),
            Variation::Rate(2),
            Variation::LossOfMediaOnly,
            Variation::OnTheClock,
            Variation::RtoMin(250),
            Variation::RtoMin(1_000),
            Variation::NoNagle,
            Variation::ReceiveWindow,
            Variation::EqualBuffers,
            Variation::RateControl(0),
            Variation::RateControl(50),
            Variation::RateControl(100),
            Variation::RateControl(200),
            Variation::RateControl(1_000),
            Variation::RateControl(2_000),
        ],
    },
    Group {
        scenario: Scenario::Streams,
        points: &[1, 3, 10],
        loss_percent: 10,
        variations: &[
            Variation::AsRun,
            Variation::ReceiveWindow,
            Variation::RtoMin(250),
            Variation::OnTheClock,
            Variation::Delay(50),
            Variation::LossOfMediaOnly,
        ],
    },
    Group {
        scenario: Scenario::Channels,
        points: &[10],
        loss_percent: 10,
        variations: &[
            Variation::AsRun,
            Variation::OneStream,
            Variation::RtoMin(250),
            Variation::RtoMin(1_000),
            Variation::Delay(50),
            Variation::OnTheClock,
            Variation::ReceiveWindow,
            Variation::EqualBuffers,
            Variation::LossOfMediaOnly,
            Variation::WholeChannels,
        ],
    },
    Group {
        scenario: Scenario::Switching,
        points: &[50],
        loss_percent: 0,
        variations: &[
            Variation::AsRun,
            Variation::Rate(2),
            Variation::Loss(1),
            Variation::Loss(3),
            Variation::Loss(10),
        ],
    },
];

impl Group {
    /// Its cells, with the seeds 1 to `seeds`: those of a variation beside each other.
    pub fn cells(&self, seeds: u64) -> impl Iterator<Item = (Variation, Cell)> {
        self.variations.iter().flat_map(move |variation| {
            let carriers = self.scenario.carriers().iter();
            let concerned = carriers.filter(move |carrier| variation.concerns(**carrier));
            concerned.flat_map(move |carrier| {
                self.points.iter().flat_map(move |point| {
                    (1..=seeds).map(move |seed| {
                        let cell = Values::default().cell(
                            self.scenario,
                            *carrier,
                            self.loss_percent,
                            *point,
                            seed,
                        );
                        (*variation, cell)
                    })
                })
            })
        })
    }
}

impl Variation {
    /// Runs a cell with it.
    ///
    /// # Errors
    /// As [`Cell::run`].
    pub fn run(self, cell: &Cell) -> Result<Outcome, CellError> {
        cell.run_varied(self)
    }

    /// Whether it changes anything for a carrier.
    const fn concerns(self, carrier: Carrier) -> bool {
        let is_lksctp = matches!(carrier, Carrier::Sctp | Carrier::PrSctp);
        match self {
            Self::AsRun
            | Self::Delay(_)
            | Self::Rate(_)
            | Self::Loss(_)
            | Self::LossOfMediaOnly => true,
            Self::OnTheClock => matches!(carrier, Carrier::Tcp | Carrier::Sctp),
            Self::RtoMin(ms) if ms < 1_000 => is_lksctp,
            Self::RtoMin(_) => matches!(carrier, Carrier::Tcp),
            Self::NoNagle => matches!(carrier, Carrier::Tcp),
            Self::ReceiveWindow => is_lksctp,
            Self::EqualBuffers => is_lksctp || matches!(carrier, Carrier::Tcp),
            Self::RateControl(_) => carrier.is_timed(),
            Self::OneStream => !matches!(carrier, Carrier::Tcp | Carrier::Udp),
            Self::WholeChannels => true,
        }
    }

    pub(super) fn apply(self, mut setup: Setup) -> Setup {
        let Setup { network, tcp, association, .. } = &mut setup;
        match self {
            Self::AsRun => {}
            Self::Delay(ms) => network.delay = Duration::from_millis(ms.into()),
            Self::Rate(mbps) => network.rate = Speed::Limited(Rate::mbps(mbps.into())),
            Self::Loss(percent) => network.loss = f64::from(percent) / 100.0,
            Self::LossOfMediaOnly => network.loses_both_ways = false,
            Self::OnTheClock => setup.send_buffer = usize::MAX,
            Self::RtoMin(ms) => {
                tcp.rto_min = Duration::from_millis(ms.into());
                association.timers.rto_min = Duration::from_millis(ms.into());
                association.timers.rto_variation_min = association.timers.sack_delay;
            }
            Self::NoNagle => tcp.nagle = false,
            Self::ReceiveWindow => association.buffers.receive_buffer = 1 << 20,
            Self::RateControl(ms) => setup.rate_control = Duration::from_millis(ms.into()),
            Self::OneStream => setup.is_on_one_stream = true,
            Self::WholeChannels => {
                setup.messages = setup.messages_of_file;
                setup.pace = Pace::Even(setup.own_time / u32::from(setup.channels));
            }
            Self::EqualBuffers => {
                tcp.receive_buffer = EQUAL;
                association.buffers.receive_buffer = EQUAL;
                setup.send_buffer = EQUAL;
            }
        }
        setup
    }
}

/// Bytes of equal buffers.
const EQUAL: usize = 64 << 10;

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsRun => write!(f, "as in the figures"),
            Self::Delay(ms) => write!(f, "delay {ms} ms"),
            Self::Rate(mbps) => write!(f, "link of {mbps} Mbit/s"),
            Self::Loss(percent) => write!(f, "loss {percent} %"),
            Self::LossOfMediaOnly => write!(f, "losses towards the client only"),
            Self::OnTheClock => write!(f, "a server that never waits"),
            Self::RtoMin(ms) => write!(f, "RTO of {ms} ms at least"),
            Self::NoNagle => write!(f, "without Nagle's algorithm"),
            Self::ReceiveWindow => write!(f, "receive window of 1 MiB"),
            Self::RateControl(ms) => write!(f, "R of {ms} ms"),
            Self::OneStream => write!(f, "all channels on one stream"),
            Self::WholeChannels => write!(f, "three whole channels"),
            Self::EqualBuffers => write!(f, "buffers of 64 KiB, to send and to receive"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_its_figure_as_run_and_no_cell_twice() {
        for group in &GROUPS {
            let cells: Vec<_> = group.cells(1).collect();
            let as_run = cells.iter().filter(|(variation, _)| *variation == Variation::AsRun);
            let carriers = group.scenario.carriers().len() * group.points.len();
            assert_eq!(as_run.count(), carriers, "{:?}", group.scenario);
            let mut once = cells.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), cells.len());
        }
    }

    #[test]
    fn a_variation_changes_what_it_says() {
        for (variation, cell) in GROUPS.iter().flat_map(|group| group.cells(1)) {
            let change = |variation: Variation| {
                format!("{:?}", variation.apply(cell.setup(&Values::default())))
            };
            let is_changed = change(variation) != change(Variation::AsRun);
            assert_eq!(is_changed, variation != Variation::AsRun, "{variation}: {cell}");
        }
    }
}
