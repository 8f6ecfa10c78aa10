//! [`Cell`]: one strategy on one network with one seed.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use anabranch_netsim::DuplexConfig;
use anabranch_sansio::Time;

use super::measure::Measured;
use super::paper::{Value, published};
use super::sensitivity::Variation;
use super::strategy::Strategy;
use super::values::Values;
use super::watch::Watch;
use super::{rtp, sctp, tcp, units};
use crate::recording::RecordTo;
use crate::svc::{Pictures, Trace, VideoPacket, packets};
use crate::{CellError, Parameters};

/// The links' rates in Mbit/s.
pub const RATES_MBPS: [u32; 3] = [30, 45, 60];
/// The links' packet error rates.
pub const LOSSES: [f64; 4] = [0.0, 1e-4, 1e-3, 1e-2];

/// A cell of the tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// How the video is sent.
    pub strategy: Strategy,
    /// Rate of both links in Mbit/s.
    pub mbps: f64,
    /// Probability that a packet is lost, once losses have begun.
    pub loss: f64,
    /// Decides all that is random.
    pub seed: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strategy, mbps, loss, seed } = self;
        write!(f, "{strategy}, {mbps} Mbit/s, loss {loss}, seed {seed}")
    }
}

/// Which video is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The real pictures at the rates of the paper's video, which exceed the links for some time.
    Congested,
    /// The same with the paper's rates read as those of base layer and enhancement, 6.8 and 23.5
    /// Mbit/s, instead of base layer and total: 30.3 Mbit/s in all.
    Literal,
    /// The real pictures at their own rates, which no link is too slow for.
    Plain,
    /// The video of a file, as it is: [`Values`] have it.
    File,
}

impl Source {
    /// As `--source` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congested => "congested",
            Self::Literal => "literal",
            Self::Plain => "plain",
            Self::File => "file",
        }
    }
}

/// All that decides a cell beside itself: the video, ready to be sent, and the parameters.
#[derive(Debug)]
pub struct Setup {
    pub(super) parameters: Parameters<Values>,
    pub(super) source: Source,
    /// How many frames are left, if it was cut.
    pub(super) cut: Option<usize>,
    /// Seconds of the whole video, begun ones included.
    pub(super) whole_s: usize,
    pub(super) trace: Trace,
    pub(super) packets: Vec<VideoPacket>,
}

impl Setup {
    /// The paper's, with this video.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self::with(source, Parameters::default())
    }

    /// With these parameters. A video of theirs is sent as it is, whatever the source.
    #[must_use]
    pub fn with(source: Source, parameters: Parameters<Values>) -> Self {
        let values = parameters.values();
        let frame_time = values.frame_time();
        let (source, trace) = match &values.source {
            Some(trace) => (Source::File, trace.clone()),
            None => (source, Trace::jsvm_720p25()),
        };
        let trace = match source {
            Source::Congested => trace.with_congestion(frame_time),
            Source::Literal => {
                trace.with_congestion(frame_time).with_mean_rates(frame_time, 6.8, 23.5)
            }
            Source::Plain | Source::File => trace,
        };
        let packets = packets(&trace, frame_time, values.payload_max());
        let whole_s = seconds_of(trace.frames.len(), frame_time);
        Self { parameters, source, cut: None, whole_s, trace, packets }
    }

    /// The parameters' values.
    #[must_use]
    pub const fn values(&self) -> &Values {
        self.parameters.values()
    }

    /// Whether no parameter is changed.
    #[must_use]
    pub const fn are_papers(&self) -> bool {
        self.parameters.are_papers()
    }

    /// What a command needs to change the same, with a blank in front.
    #[must_use]
    pub fn flag(&self) -> String {
        self.parameters.flag()
    }

    /// What the paper reports for a cell; nothing if a parameter is not the paper's.
    pub(super) fn published(&self, strategy: Strategy, mbps: f64, loss: f64) -> Option<Value> {
        let is_papers = self.parameters.are_papers();
        is_papers.then(|| published(strategy, mbps, loss)).flatten()
    }

    /// A cell, and what is not the paper's.
    pub(super) fn title(&self, cell: &Cell) -> String {
        match self.parameters.set_again() {
            set if set.is_empty() => cell.to_string(),
            set => format!("{cell}, {set}"),
        }
    }

    /// Its mean PSNR-Y with every packet there, in dB.
    #[must_use]
    pub fn full_psnr_y_db(&self) -> f64 {
        Pictures::score(&self.trace, &self.packets, |_| true).psnr_y()
    }

    /// The command that runs a cell with this video again, and captures it.
    #[must_use]
    pub fn again(&self, cell: &Cell) -> String {
        let Cell { strategy, mbps, loss, seed } = cell;
        let frames = self.cut.map(|frames| format!(" --pictures {frames}")).unwrap_or_default();
        let source = match self.source {
            Source::Congested | Source::Literal | Source::Plain => {
                format!(" --source {}", self.source.name())
            }
            // The parameters name it.
            Source::File => String::new(),
        };
        let set = self.parameters.flag();
        format!(
            "anabranch lab ortiz2013 --cell {mbps},{loss},{seed} --strategy {strategy}{source}\
             {frames}{set} --capture --out DIR"
        )
    }

    /// Seconds that it takes, begun ones included.
    pub(super) fn seconds(&self) -> usize {
        seconds_of(self.trace.frames.len(), self.values().frame_time())
    }

    /// The frames of a second.
    pub(super) fn frames_in(&self, second: usize) -> Range<usize> {
        let frame_time = self.values().frame_time().as_nanos();
        let frames = self.trace.frames.len();
        let at = |second: usize| {
            let first = (second as u128 * 1_000_000_000).div_ceil(frame_time);
            (first as usize).min(frames)
        };
        at(second)..at(second + 1)
    }

    /// Only its beginning.
    #[must_use]
    pub fn cut_after(mut self, frames: usize) -> Self {
        self.trace.frames.truncate(frames);
        self.cut = Some(frames);
        let values = self.values();
        self.packets = packets(&self.trace, values.frame_time(), values.payload_max());
        self
    }
}

fn seconds_of(frames: usize, frame_time: Duration) -> usize {
    (frames as u128 * frame_time.as_nanos()).div_ceil(1_000_000_000) as usize
}

/// All cells of the tables, with the seeds 1 to `seeds`.
#[must_use]
pub fn cells(values: &Values, strategies: &[Strategy], seeds: u64) -> Vec<Cell> {
    let rates = values.rates_mbps();
    let mut cells = Vec::new();
    for &loss in values.losses() {
        for &strategy in strategies {
            for &mbps in &rates {
                cells.extend((1..=seeds).map(|seed| Cell { strategy, mbps, loss, seed }));
            }
        }
    }
    cells
}

impl Cell {
    /// Runs it.
    ///
    /// # Errors
    /// A machine misbehaved: it did not stop sending or did not come to rest.
    pub fn run(&self, setup: &Setup) -> Result<Measured, CellError> {
        self.measure(setup, Variation::AsRun, RecordTo::default())
    }

    pub(super) fn run_varied(
        &self,
        variation: Variation,
        setup: &Setup,
    ) -> Result<Measured, CellError> {
        self.measure(setup, variation, RecordTo::default())
    }

    /// Runs it and records what goes by.
    ///
    /// # Errors
    /// As [`run`](Self::run), or a writer's.
    pub fn run_recorded(&self, setup: &Setup, to: RecordTo) -> Result<Measured, CellError> {
        self.measure(setup, Variation::AsRun, to)
    }

    fn measure(
        &self,
        setup: &Setup,
        variation: Variation,
        mut to: RecordTo,
    ) -> Result<Measured, CellError> {
        let units = to.units.take();
        let mut watch = Watch::new(to);
        let delivery = match self.strategy {
            Strategy::Sctp(strategy) => sctp::run(self, strategy, variation, setup, &mut watch),
            Strategy::Rtp(strategy) => rtp::run(self, strategy, setup, &mut watch),
            Strategy::Tcp => tcp::run(self, variation, setup, &mut watch),
        };
        let delivery = delivery.map_err(|cause| CellError::simulation(self, cause))?;
        let links = watch.end().map_err(|cause| CellError::recording(self, cause))?;
        if let Some(file) = units {
            let written = units::write(self, setup, &delivery.arrivals, file);
            written.map_err(|cause| CellError::recording(self, cause))?;
        }
        Ok(Measured::of(setup, &delivery, &links))
    }

    /// Both links before they lose anything.
    pub(super) fn links(&self, values: &Values) -> [DuplexConfig; 2] {
        [0.0; 2].map(|loss| values.link(self.mbps, loss))
    }

    /// When which link changes, and how it is then.
    pub(super) fn changes(&self, values: &Values) -> Vec<(Time, usize, DuplexConfig)> {
        let begin = |from| values.start() + from;
        let lossy = || values.link(self.mbps, self.loss);
        let onsets = values.loss_from.into_iter().enumerate();
        let mut changes: Vec<_> = onsets.map(|(path, from)| (begin(from), path, lossy())).collect();
        changes.sort_by_key(|(at, ..)| *at);
        changes
    }
}
