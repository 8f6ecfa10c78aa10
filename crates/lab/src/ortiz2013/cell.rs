//! [`Cell`]: one strategy on one network with one seed.

use std::fmt;
use std::ops::Range;

use anabranch_netsim::DuplexConfig;
use anabranch_sansio::Time;

use super::measure::Measured;
use super::paper::{Value, published};
use super::sensitivity::Variation;
use super::strategy::Strategy;
use super::values::Values;
use super::video::{Video, end_of};
use super::watch::Watch;
use super::{rtp, sctp, tcp, units};
use crate::recording::RecordTo;
use crate::svc::{Layer, Trace, VideoPacket};
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
    /// The video or the film of a file, as it is: [`Values`] have it.
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

/// Said of a film.
const UNSCORED: &str = "The film is not decoded and scored, so there is no PSNR-Y: a score needs \
     what the film was encoded from. A picture is missing where any of its packets never came; \
     whether those that it refers to came is not asked.";
/// Said of a film that is shorter than what goes before the losses.
const LOSSLESS: &str = "No link loses anything: the film ends before the losses begin. With \
     onset=0,0 they begin with it.";

/// All that decides a cell beside itself: the video, ready to be sent, and the parameters.
#[derive(Debug)]
pub struct Setup {
    pub(super) parameters: Parameters<Values>,
    pub(super) source: Source,
    /// How many frames are left, if it was cut.
    pub(super) cut: Option<usize>,
    /// Seconds of the whole video, begun ones included.
    pub(super) whole_s: usize,
    pub(super) video: Video,
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
        let own = || Trace::jsvm_720p25();
        let (source, video) = match (&values.source, source) {
            (Some(video), _) => (Source::File, video.clone()),
            (None, Source::Congested) => {
                (source, Video::Layered(own().with_congestion(frame_time)))
            }
            (None, Source::Literal) => {
                let congested = own().with_congestion(frame_time);
                (source, Video::Layered(congested.with_mean_rates(frame_time, 6.8, 23.5)))
            }
            (None, Source::Plain | Source::File) => (source, Video::Layered(own())),
        };
        let packets = video.packets(values);
        let whole_s = video.seconds(frame_time);
        Self { parameters, source, cut: None, whole_s, video, packets }
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

    /// Its mean PSNR-Y with every packet there, in dB; none of a film, which is not scored.
    #[must_use]
    pub fn full_psnr_y_db(&self) -> Option<f64> {
        let all = vec![Some(Time::ZERO); self.packets.len()];
        let is_scored = self.video.film().is_none();
        is_scored.then(|| self.video.seen(&self.packets, &all).psnr_y())
    }

    /// What tables have beside the delay.
    pub(super) const fn seen_as(&self) -> &'static str {
        match self.video {
            Video::Layered(_) => "PSNR-Y in dB",
            Video::Film(_) => "pictures missing (of the base layer)",
        }
    }

    /// What is said of a film: what its layers are, and what is not measured.
    pub(super) fn said_of_film(&self) -> Vec<String> {
        let Some(pictures) = self.video.film() else { return Vec::new() };
        let seconds = end_of(pictures).as_secs_f64();
        let layer = |layer: Layer| {
            let of_layer = pictures.iter().filter(|picture| picture.layer == layer);
            let (count, bytes) = of_layer.fold((0, 0), |(n, sum), it| (n + 1, sum + it.bytes));
            format!("{count} pictures, {:.2} Mbit/s", bytes as f64 * 8.0 / seconds / 1e6)
        };
        let layers = format!(
            "The film takes {seconds:.1} s. Its base layer is the pictures that others refer to, \
             or may: {}. Its enhancement is those that none refers to: {}. Sound is left out.",
            layer(Layer::Base),
            layer(Layer::Enhancement)
        );
        let is_lossy = self.values().losses().iter().any(|loss| *loss > 0.0);
        let ends_early = self.values().loss_from.iter().all(|from| from.as_secs_f64() >= seconds);
        let lossless = (is_lossy && ends_early).then(|| LOSSLESS.to_owned());
        [layers, UNSCORED.to_owned()].into_iter().chain(lossless).collect()
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
        self.video.seconds(self.values().frame_time())
    }

    /// The frames of a second, if all take the same time.
    pub(super) fn frames_in(&self, second: usize) -> Range<usize> {
        let frame_time = self.values().frame_time().as_nanos();
        let frames = self.video.frames();
        let at = |second: usize| {
            let first = (second as u128 * 1_000_000_000).div_ceil(frame_time);
            (first as usize).min(frames)
        };
        at(second)..at(second + 1)
    }

    /// Only its beginning.
    #[must_use]
    pub fn cut_after(mut self, frames: usize) -> Self {
        self.video.truncate(frames);
        self.cut = Some(frames);
        self.packets = self.video.packets(self.values());
        self
    }
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

#[cfg(test)]
mod tests {
    use super::super::strategy::RtpStrategy;
    use super::super::{Experiment, cells_csv, rows, standings, standings_table, tables};
    use super::*;
    use crate::footage::testing::{FILM, MP4, with_source};

    fn run(setup: &Setup, loss: f64) -> Vec<(Cell, Measured)> {
        let strategies = [Strategy::Rtp(RtpStrategy::Multi), Strategy::OURS];
        let cells = strategies.map(|strategy| Cell { strategy, mbps: 30.0, loss, seed: 1 });
        cells.map(|cell| (cell, cell.run(setup).unwrap())).to_vec()
    }

    #[test]
    fn a_film_is_sent_and_nothing_says_that_it_was_scored() {
        for file in [FILM, MP4] {
            let set = ",loss=20%,onset=0,0";
            let setup = Setup::with(Source::Congested, with_source(file, set).unwrap());
            let results = run(&setup, 0.2);
            for (cell, Measured { outcome, seconds }) in &results {
                assert_eq!(outcome.frames_full + outcome.frames_repeated, 75, "{cell}");
                assert_eq!((outcome.psnr_y_db, outcome.frames_base), (None, 0), "{cell}");
                assert!(seconds.iter().all(|second| second.psnr_y_db.is_none()), "{cell}");
            }
            let missing = |n: usize| results[n].1.outcome.base_missing.unwrap();
            assert!(missing(0) > 0 && missing(1) == 0, "RTP sends nothing again, ours the base");
            let csv = String::from_utf8(cells_csv(&setup, &results).unwrap()).unwrap();
            let column = csv.split(',').position(|name| name == "psnr_y_db").unwrap();
            let line = csv.lines().nth(1).unwrap();
            assert_eq!(line.split(',').nth(column), Some(""), "{csv}");
            let rows = rows(&results);
            let standings = standings(&rows, setup.full_psnr_y_db());
            let terminal = tables(&setup, &rows) + &standings_table(&standings, &setup);
            let command = "anabranch lab ortiz2013".to_owned();
            let experiment = Experiment { command, setup: &setup, results, varied: Vec::new() };
            let report = experiment.report("1").unwrap();
            for text in [&terminal, &report] {
                assert!(text.contains("is not decoded and scored"), "{text}");
                for wrong in ["NaN", "-0.0", " dB", "MISSED", "missed", "2116", "No link loses"] {
                    assert!(!text.contains(wrong), "{wrong}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_film_that_ends_before_the_losses_begin_says_so() {
        let said = |set| {
            let setup = Setup::with(Source::Plain, with_source(FILM, set).unwrap());
            setup.said_of_film().join(" ")
        };
        assert!(said("").contains("the film ends before the losses begin. With onset=0,0"));
        assert!(!said(",onset=1s,40s").contains("No link loses"));
        assert!(!said(",loss=0").contains("No link loses"));
        assert!(Setup::new(Source::Plain).said_of_film().is_empty());
    }
}
