//! How much the results hang on what the paper leaves open: single parameters chosen otherwise.

use std::fmt;
use std::time::Duration;

use anabranch_netsim::settings::Speed;
use anabranch_sansio::Rate;

use super::cell::{Cell, LastHop};
use super::method::Method;
use super::source::Source;
use super::values::Values;

/// A parameter that is chosen otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variation {
    /// None.
    AsRun,
    /// Time that the reader takes, in per cent of that between two messages.
    Load(u32),
    /// The receive buffer in KiB.
    Buffer(u32),
    /// Packets that are lost, in tenths of a per cent.
    Loss(u32),
    /// The same, and no message is bound to an order.
    LossUnordered(u32),
    /// The reader takes the same time for each message.
    EqualTimes,
    /// The reader takes all that waits, once in so many milliseconds.
    ReadsEvery(u32),
    /// SCTP and the list have our defaults for media, but for their order.
    OurTransport,
    /// Pictures are sent at a constant rate.
    Even,
    /// The bottleneck's rate in Mbit/s.
    Rate(u32),
    /// The constant stream's rate in Mbit/s.
    StreamRate(u32),
}

/// What is varied together.
#[derive(Debug)]
pub struct Group {
    /// What it is about.
    pub title: &'static str,
    /// What is lost, waits or takes its time; nothing where variations have no order.
    pub axis: Option<&'static str>,
    sources: &'static [Source],
    /// The value that the tables have, on the axis.
    as_run: f64,
    variations: &'static [Variation],
}

const BOTH: &[Source] = &Source::ALL;

/// What is varied.
pub const GROUPS: [Group; 5] = [
    Group {
        title: "Load of the reader",
        axis: Some("load in %"),
        sources: BOTH,
        as_run: 95.0,
        variations: &[
            Variation::Load(80),
            Variation::Load(90),
            Variation::AsRun,
            Variation::Load(99),
            Variation::Load(105),
        ],
    },
    Group {
        title: "Receive buffer",
        axis: Some("buffer in KiB"),
        sources: BOTH,
        as_run: 1_024.0,
        variations: &[
            Variation::Buffer(16),
            Variation::Buffer(64),
            Variation::Buffer(256),
            Variation::AsRun,
        ],
    },
    Group {
        title: "Loss",
        axis: Some("loss in %"),
        sources: BOTH,
        as_run: 0.0,
        variations: &[
            Variation::AsRun,
            Variation::Loss(1),
            Variation::Loss(10),
            Variation::Loss(50),
        ],
    },
    Group {
        title: "Loss without order",
        axis: None,
        sources: &[Source::Constant],
        as_run: 0.0,
        variations: &[Variation::Loss(1), Variation::LossUnordered(1)],
    },
    Group {
        title: "Reader, source and transport",
        axis: None,
        sources: BOTH,
        as_run: 0.0,
        variations: &[
            Variation::AsRun,
            Variation::EqualTimes,
            Variation::ReadsEvery(25),
            Variation::ReadsEvery(500),
            Variation::OurTransport,
            Variation::Even,
            Variation::Rate(15),
            Variation::StreamRate(4),
        ],
    },
];

impl Group {
    /// Its variations for a source, and where they are on its axis.
    pub fn points(&self, source: Source) -> impl Iterator<Item = (Variation, f64)> {
        let of_source = if self.sources.contains(&source) { self.variations } else { &[] };
        let concerned = of_source.iter().filter(move |variation| variation.concerns(source));
        concerned.map(|variation| (*variation, variation.value().unwrap_or(self.as_run)))
    }
}

/// All cells with something varied, with the seeds 1 to `seeds`, each once.
#[must_use]
pub fn variations(seeds: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for source in Source::ALL {
        let of_source =
            |group: &'static Group| group.points(source).map(|(variation, _)| variation);
        let mut varied: Vec<_> = GROUPS.iter().flat_map(of_source).collect();
        varied.retain(|variation| *variation != Variation::AsRun);
        varied.sort_unstable();
        varied.dedup();
        for variation in varied {
            for method in Method::ALL {
                let last_hop = LastHop::Wired;
                let cell = |seed| Cell { source, last_hop, variation, method, seed };
                cells.extend((1..=seeds).map(cell));
            }
        }
    }
    cells
}

impl Variation {
    const fn concerns(self, source: Source) -> bool {
        match self {
            Self::Even => matches!(source, Source::Pictures),
            Self::Rate(_) | Self::StreamRate(_) => matches!(source, Source::Constant),
            Self::AsRun
            | Self::Load(_)
            | Self::Buffer(_)
            | Self::Loss(_)
            | Self::LossUnordered(_)
            | Self::EqualTimes
            | Self::ReadsEvery(_)
            | Self::OurTransport => true,
        }
    }

    fn value(self) -> Option<f64> {
        match self {
            Self::Load(value) | Self::Buffer(value) => Some(value.into()),
            Self::Loss(tenths) => Some(f64::from(tenths) / 10.0),
            Self::AsRun
            | Self::LossUnordered(_)
            | Self::EqualTimes
            | Self::ReadsEvery(_)
            | Self::OurTransport
            | Self::Even
            | Self::Rate(_)
            | Self::StreamRate(_) => None,
        }
    }

    pub(super) fn apply(self, mut values: Values) -> Values {
        match self {
            Self::AsRun => {}
            Self::Load(percent) => values.load = percent,
            Self::Buffer(kib) => values.buffer = (kib as usize) << 10,
            Self::Loss(tenths) => values.loss = f64::from(tenths) / 1e3,
            Self::LossUnordered(tenths) => {
                values.loss = f64::from(tenths) / 1e3;
                values.ordered = false;
            }
            Self::EqualTimes => values.random_times = false,
            Self::ReadsEvery(ms) => values.read_every = Duration::from_millis(ms.into()),
            Self::OurTransport => values.our_transport = true,
            Self::Even => values.even = true,
            Self::Rate(mbps) => values.rate = Speed::Limited(Rate::mbps(mbps.into())),
            Self::StreamRate(mbps) => values.stream_rate = u64::from(mbps) * 1_000_000,
        }
        values
    }
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |tenths: u32| f64::from(tenths) / 10.0;
        match self {
            Self::AsRun => write!(f, "as in the tables"),
            Self::Load(load) => write!(f, "load {load} %"),
            Self::Buffer(kib) => write!(f, "buffer {kib} KiB"),
            Self::Loss(tenths) => write!(f, "loss {} %", percent(*tenths)),
            Self::LossUnordered(tenths) => write!(f, "loss {} %, unordered", percent(*tenths)),
            Self::EqualTimes => write!(f, "the same time for each chunk"),
            Self::ReadsEvery(ms) => write!(f, "all that waits, every {ms} ms"),
            Self::OurTransport => write!(f, "our transport for all"),
            Self::Even => write!(f, "pictures at a constant rate"),
            Self::Rate(mbps) => write!(f, "bottleneck of {mbps} Mbit/s"),
            Self::StreamRate(mbps) => write!(f, "stream of {mbps} Mbit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_comes_twice_and_each_variation_changes_something() {
        let mut cells = variations(2);
        let count = cells.len();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), count);
        for Cell { variation, .. } in cells {
            assert_ne!(variation.apply(Values::default()), Values::default(), "{variation}");
        }
    }

    #[test]
    fn an_axis_rises() {
        for group in GROUPS.iter().filter(|group| group.axis.is_some()) {
            let points: Vec<_> = group.points(Source::Constant).map(|(_, value)| value).collect();
            assert!(points.is_sorted(), "{}: {points:?}", group.title);
        }
    }
}
