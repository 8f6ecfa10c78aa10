//! [`Scenario`]: the paper's tests, and the cells of its figures.

use super::carrier::Carrier;
use super::cell::Cell;

/// One way, in figures 8 to 11.
const DELAY_MS: u32 = 10;

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

    /// Channels that there are.
    pub(super) const fn channels(self) -> u16 {
        match self {
            Self::Loss | Self::Streams => 1,
            Self::Channels => 3,
            Self::Switching => 2,
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

    /// The values on the figure's horizontal axis: loss in per cent, streams, or delay in ms.
    #[must_use]
    pub const fn points(self) -> &'static [u32] {
        match self {
            Self::Loss => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            Self::Streams => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            Self::Channels => &[0, 1, 3, 5, 10],
            Self::Switching => &[10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
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

    /// What is lost in per cent, where that is not on the horizontal axis: a line for each.
    #[must_use]
    pub const fn losses(self) -> &'static [u32] {
        match self {
            Self::Streams => &[1, 3, 5, 10],
            Self::Loss | Self::Channels | Self::Switching => &[0],
        }
    }

    /// The cells of a figure, line by line, with the seeds 1 to `seeds` of a point beside each
    /// other.
    pub fn cells(self, seeds: u64) -> impl Iterator<Item = Cell> {
        self.cells_of_seed(1)
            .flat_map(move |cell| (1..=seeds).map(move |seed| Cell { seed, ..cell }))
    }

    /// The cells of a figure with one seed, line by line.
    pub fn cells_of_seed(self, seed: u64) -> impl Iterator<Item = Cell> {
        let lines = self.carriers().iter().flat_map(move |carrier| {
            self.losses().iter().map(move |loss_percent| (*carrier, *loss_percent))
        });
        lines.flat_map(move |(carrier, loss)| {
            self.points().iter().map(move |point| self.cell(carrier, loss, *point, seed))
        })
    }

    pub(super) const fn cell(self, carrier: Carrier, loss: u32, point: u32, seed: u64) -> Cell {
        let cell = Cell {
            scenario: self,
            carrier,
            streams: 1,
            loss_percent: loss,
            delay_ms: DELAY_MS,
            seed,
        };
        match self {
            Self::Loss | Self::Channels => Cell { loss_percent: point, ..cell },
            Self::Streams => Cell { streams: point as u16, ..cell },
            Self::Switching => Cell { delay_ms: point, ..cell },
        }
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
