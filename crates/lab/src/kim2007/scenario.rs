//! [`Scenario`]: the paper's tests, and the cells of its figures.

use super::carrier::Carrier;
use super::cell::Cell;
use super::values::Values;

/// A test of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// Figures 8 and 9: one file, each carrier, more and more loss.
    Loss,
    /// Figure 10: one file, spread over more and more streams.
    Streams,
    /// Figure 11: three channels at once, over one TCP connection or one association.
    Channels,
    /// Figure 12: the viewer switches to another channel.
    Switching,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Loss, Self::Streams, Self::Channels, Self::Switching];

    /// The number of its figure, the first one where there are two.
    #[must_use]
    pub const fn figure(self) -> u32 {
        match self {
            Self::Loss => 8,
            Self::Streams => 10,
            Self::Channels => 11,
            Self::Switching => 12,
        }
    }

    /// What the test is about.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Loss => "Figures 8 and 9: the carriers at more and more loss",
            Self::Streams => "Figure 10: more and more streams",
            Self::Channels => "Figure 11: three channels over one connection",
            Self::Switching => "Figure 12: switching channels",
        }
    }

    /// The test that a figure of the paper shows.
    #[must_use]
    pub const fn of_figure(figure: u32) -> Option<Self> {
        match figure {
            8 | 9 => Some(Self::Loss),
            10 => Some(Self::Streams),
            11 => Some(Self::Channels),
            12 => Some(Self::Switching),
            _ => None,
        }
    }

    /// Who takes part, in the order of the tables.
    #[must_use]
    pub const fn carriers(self) -> &'static [Carrier] {
        match self {
            Self::Loss => &Carrier::ALL,
            Self::Streams => {
                &[Carrier::Sctp, Carrier::PrSctp, Carrier::Anabranch, Carrier::AnabranchPr]
            }
            Self::Channels | Self::Switching => &[Carrier::Tcp, Carrier::Sctp, Carrier::Anabranch],
        }
    }

    /// What the figure's horizontal axis shows.
    pub(super) const fn axis(self) -> &'static str {
        match self {
            Self::Loss | Self::Channels => "loss in %",
            Self::Streams => "streams",
            Self::Switching => "link delay in ms",
        }
    }

    /// The cells of the paper's figure, with the seeds 1 to `seeds`: see [`Values::cells`].
    #[must_use]
    pub fn cells(self, seeds: u64) -> Vec<Cell> {
        Values::default().cells(self, seeds)
    }
}

impl Cell {
    /// A name for its files.
    #[must_use]
    pub fn name(&self) -> String {
        let (figure, carrier, point) = (self.scenario.figure(), self.carrier, self.point());
        match self.scenario {
            Scenario::Streams => {
                format!("figure-{figure}-{carrier}-{point}-streams-{}-percent", self.loss_percent)
            }
            Scenario::Loss | Scenario::Channels => {
                format!("figure-{figure:02}-{carrier}-{point}-percent")
            }
            Scenario::Switching => format!("figure-{figure}-{carrier}-{point}-ms"),
        }
    }

    /// Where it is on the figure's horizontal axis.
    #[must_use]
    pub const fn point(&self) -> u32 {
        match self.scenario {
            Scenario::Loss | Scenario::Channels => self.loss_percent,
            Scenario::Streams => self.streams as u32,
            Scenario::Switching => self.delay_ms,
        }
    }
}
