//! [`Cell`]: one strategy on one network with one seed.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use anabranch_netsim::{DuplexConfig, LinkConfig, Loss, QueueLimit};
use anabranch_sansio::{Rate, Time};

use super::measure::Measured;
use super::sensitivity::Variation;
use super::strategy::Strategy;
use super::watch::Watch;
use super::{rtp, sctp, tcp};
use crate::CellError;
use crate::recording::RecordTo;
use crate::svc::{Pictures, Trace, VideoPacket, packets};

/// The links' rates in Mbit/s.
pub const RATES_MBPS: [u32; 3] = [30, 45, 60];
/// The links' packet error rates.
pub const LOSSES: [f64; 4] = [0.0, 1e-4, 1e-3, 1e-2];

/// Seconds of video, the last one not whole.
pub(super) const VIDEO_S: usize = 85;

/// The paper's clock.
const FRAMES_PER_SECOND: usize = 25;
const FRAME_TIME: Duration = Duration::from_millis(40);
const DELAY: Duration = Duration::from_millis(5);
const QUEUE: QueueLimit = QueueLimit::Packets(50);

/// The video begins when connections stand.
pub(super) const START: Time = Time::from_millis(1_000);
/// When the first link and the second one begin to lose packets, from the beginning of the video.
pub(super) const LOSS_FROM: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(40)];
/// What is not there by then will not come.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// A cell of the tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// How the video is sent.
    pub strategy: Strategy,
    /// Rate of both links in Mbit/s.
    pub mbps: u32,
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
}

impl Source {
    /// As `--source` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congested => "congested",
            Self::Literal => "literal",
            Self::Plain => "plain",
        }
    }
}

/// The video, ready to be sent.
#[derive(Debug)]
pub struct Video {
    pub(super) source: Source,
    /// How many frames are left, if it was cut.
    pub(super) cut: Option<usize>,
    pub(super) trace: Trace,
    pub(super) packets: Vec<VideoPacket>,
}

impl Video {
    /// Reads it and cuts it into packets.
    #[must_use]
    pub fn new(source: Source) -> Self {
        let plain = Trace::jsvm_720p25();
        let trace = match source {
            Source::Congested => plain.with_congestion(FRAME_TIME),
            Source::Literal => {
                plain.with_congestion(FRAME_TIME).with_mean_rates(FRAME_TIME, 6.8, 23.5)
            }
            Source::Plain => plain,
        };
        Self { source, cut: None, packets: packets(&trace, FRAME_TIME), trace }
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
        let frames = self.cut.map(|frames| format!(" --frames {frames}")).unwrap_or_default();
        format!(
            "anabranch lab ortiz2013 --cell {mbps},{loss},{seed} --strategy {strategy} --source \
             {}{frames} --capture --out DIR",
            self.source.name()
        )
    }

    /// Seconds that it takes, begun ones included.
    pub(super) fn seconds(&self) -> usize {
        self.trace.frames.len().div_ceil(FRAMES_PER_SECOND)
    }

    /// The frames of a second.
    pub(super) fn frames_in(&self, second: usize) -> Range<usize> {
        let frames = self.trace.frames.len();
        let at = |second: usize| (second * FRAMES_PER_SECOND).min(frames);
        at(second)..at(second + 1)
    }

    /// Only its beginning.
    #[must_use]
    pub fn cut_after(mut self, frames: usize) -> Self {
        self.trace.frames.truncate(frames);
        self.cut = Some(frames);
        self.packets = packets(&self.trace, FRAME_TIME);
        self
    }
}

/// All cells of the tables, with the seeds 1 to `seeds`.
#[must_use]
pub fn cells(strategies: &[Strategy], seeds: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &loss in &LOSSES {
        for &strategy in strategies {
            for &mbps in &RATES_MBPS {
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
    pub fn run(&self, video: &Video) -> Result<Measured, CellError> {
        self.measure(video, Variation::AsRun, RecordTo::default())
    }

    pub(super) fn run_varied(
        &self,
        variation: Variation,
        video: &Video,
    ) -> Result<Measured, CellError> {
        self.measure(video, variation, RecordTo::default())
    }

    /// Runs it and records what goes by.
    ///
    /// # Errors
    /// As [`run`](Self::run), or a writer's.
    pub fn run_recorded(&self, video: &Video, to: RecordTo) -> Result<Measured, CellError> {
        self.measure(video, Variation::AsRun, to)
    }

    fn measure(
        &self,
        video: &Video,
        variation: Variation,
        to: RecordTo,
    ) -> Result<Measured, CellError> {
        let mut watch = Watch::new(to);
        let delivery = match self.strategy {
            Strategy::Sctp(strategy) => sctp::run(self, strategy, variation, video, &mut watch),
            Strategy::Rtp(strategy) => rtp::run(self, strategy, video, &mut watch),
            Strategy::Tcp => tcp::run(self, variation, video, &mut watch),
        };
        let delivery = delivery.map_err(|cause| CellError::simulation(self, cause))?;
        let links = watch.end().map_err(|cause| CellError::recording(self, cause))?;
        Ok(Measured::of(video, START, &delivery, &links))
    }

    /// Both links before they lose anything.
    pub(super) fn links(&self) -> [DuplexConfig; 2] {
        [self.link(0.0), self.link(0.0)]
    }

    /// When which link changes, and how it is then.
    pub(super) fn changes(&self) -> [(Time, usize, DuplexConfig); 2] {
        [0, 1].map(|path| (START + LOSS_FROM[path], path, self.link(self.loss)))
    }

    /// Losses hit the direction of the video alone.
    fn link(&self, loss: f64) -> DuplexConfig {
        let backward = LinkConfig {
            rate: Some(Rate::mbps(self.mbps.into())),
            delay: DELAY,
            queue: QUEUE,
            mtu: 1_500,
            ..LinkConfig::default()
        };
        let forward = LinkConfig { loss: Loss::uniform(loss), ..backward.clone() };
        DuplexConfig { forward, backward }
    }
}
