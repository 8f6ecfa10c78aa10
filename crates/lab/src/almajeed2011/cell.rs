//! [`Cell`]: one way of sending through one network with one seed.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::measure::{Measured, units};
use super::run;
use super::score::Reference;
use super::slices::Video;
use super::values::Values;
use crate::error::DecodeError;
use crate::recording::{RecordTo, Recording};
use crate::{CellError, Parameters};

/// A cell of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Where the video goes.
    pub scenario: Scenario,
    /// How it is sent.
    pub carrier: Carrier,
    /// How long a frame of the radio is, in microseconds.
    pub frame_us: u32,
    /// Losses in the channel's bad state, in per cent.
    pub bad_loss_percent: u32,
    /// Decides all that is random.
    pub seed: u64,
}

/// Where the video goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// To the base station of the cell.
    BaseStation,
    /// Through the core network to node C.
    NodeC,
    /// Through the core network to a station of another cell.
    UserToUser,
}

/// How the video is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// By so many DCCP connections.
    Dccp(u32),
    /// By as many as are right at the time.
    Auto,
    /// By one association of ours.
    Sctp,
    /// By one Multipath DCCP connection (RFC 9897) over two cells.
    Multipath,
    /// By one association of ours over two cells.
    SctpOverTwo,
}

impl Cell {
    /// The length of a frame in milliseconds.
    #[must_use]
    pub fn frame_ms(&self) -> f64 {
        f64::from(self.frame_us) / 1e3
    }

    /// As `--cell` has it.
    #[must_use]
    pub fn place(&self) -> String {
        let Self { scenario, carrier, bad_loss_percent, seed, .. } = self;
        let carrier = carrier.name();
        format!("{},{carrier},{},{bad_loss_percent},{seed}", scenario.name(), self.frame_ms())
    }

    /// Runs it.
    ///
    /// # Errors
    /// A machine misbehaved, or what arrived cannot be decoded.
    pub fn run(&self, setup: &Setup) -> Result<Measured, CellError> {
        self.run_recorded(setup, RecordTo::default())
    }

    /// Runs it and records what goes by.
    ///
    /// # Errors
    /// As [`run`](Self::run), or a writer's.
    pub fn run_recorded(&self, setup: &Setup, to: RecordTo) -> Result<Measured, CellError> {
        self.measure(setup, setup.values(), to)
    }

    /// Runs it with other parameters than the setup's.
    pub(super) fn run_with(
        &self,
        setup: &Setup,
        parameters: &Parameters<Values>,
    ) -> Result<Measured, CellError> {
        self.measure(setup, parameters.values(), RecordTo::default())
    }

    fn measure(&self, setup: &Setup, values: &Values, to: RecordTo) -> Result<Measured, CellError> {
        let mut recording = Recording::new(to);
        let delivery = run::run(self, values, &setup.video, &mut recording)?;
        recording.units(|| units(setup, values.start_up, &delivery));
        recording.end().map_err(|cause| CellError::recording(self, cause))?;
        let measured = setup.scoring.of(|| Measured::of(setup, values, &delivery));
        measured.map_err(|cause| CellError::decoding(self, cause))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, carrier, bad_loss_percent, seed, .. } = self;
        let frame_ms = self.frame_ms();
        write!(f, "{scenario}, {carrier}, frames of {frame_ms} ms")?;
        write!(f, ", {bad_loss_percent} % lost in the bad state, seed {seed}")
    }
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::BaseStation, Self::NodeC, Self::UserToUser];

    /// As `--scenario` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BaseStation => "station",
            Self::NodeC => "core",
            Self::UserToUser => "user",
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BaseStation => "to the base station",
            Self::NodeC => "to node C",
            Self::UserToUser => "user to user",
        })
    }
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|scenario| scenario.name() == text);
        found.ok_or_else(|| format!("there is no scenario '{text}': there are station, core, user"))
    }
}

impl Carrier {
    /// Those that the paper does not have.
    pub const OURS: [Self; 4] = [Self::Auto, Self::Sctp, Self::Multipath, Self::SctpOverTwo];

    /// As `--cell` has it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Dccp(connections) => connections.to_string(),
            Self::Auto => "auto".to_owned(),
            Self::Sctp => "sctp".to_owned(),
            Self::Multipath => "multipath".to_owned(),
            Self::SctpOverTwo => "sctp-two".to_owned(),
        }
    }

    /// Whether the sender has a second cell to send by.
    pub(super) const fn has_two_cells(self) -> bool {
        match self {
            Self::Multipath | Self::SctpOverTwo => true,
            Self::Dccp(_) | Self::Auto | Self::Sctp => false,
        }
    }

    pub(super) fn is_ours(self) -> bool {
        Self::OURS.contains(&self)
    }

    /// As a line of text has it.
    pub(super) fn label(self) -> String {
        match self {
            Self::Dccp(_) | Self::Auto => self.short_name(),
            Self::Sctp | Self::Multipath | Self::SctpOverTwo => self.to_string(),
        }
    }

    /// What stands for it below a figure.
    pub(super) fn short_name(self) -> String {
        match self {
            Self::Dccp(connections) => connections.to_string(),
            Self::Auto => "auto".to_owned(),
            Self::Sctp => "SCTP".to_owned(),
            Self::Multipath => "MP".to_owned(),
            Self::SctpOverTwo => "SCTP2".to_owned(),
        }
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dccp(1) => f.write_str("1 connection"),
            Self::Dccp(connections) => write!(f, "{connections} connections"),
            Self::Auto => f.write_str("connections=auto"),
            Self::Sctp => f.write_str("SCTP"),
            Self::Multipath => f.write_str("MP-DCCP over two cells"),
            Self::SctpOverTwo => f.write_str("SCTP over two cells"),
        }
    }
}

/// Said of a film of the user's.
const UNSCORED: &str = "The film is not decoded and scored, so there is no PSNR-Y and no SSIM: a \
     score needs what the film was encoded from, and slices that repeat what is missing, which are \
     there for the video that comes with this experiment alone.";

/// All that decides a cell beside itself: the video, ready to be sent, and the parameters.
#[derive(Debug)]
pub struct Setup {
    pub(super) parameters: Parameters<Values>,
    pub(super) video: Video,
    /// None of a film of the user's, which is not scored.
    pub(super) reference: Option<Reference>,
    /// How many pictures are left, if it was cut.
    pub(super) cut: Option<usize>,
    scoring: Scoring,
}

/// What decoding and scoring cost beside the network, all cells together.
#[derive(Debug, Default)]
struct Scoring {
    clock: Option<fn() -> Duration>,
    nanos: AtomicU64,
}

impl Scoring {
    fn of<T>(&self, score: impl FnOnce() -> T) -> T {
        let Some(clock) = self.clock else { return score() };
        let begun = clock();
        let scored = score();
        let nanos = u64::try_from(clock().saturating_sub(begun).as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        scored
    }
}

impl Setup {
    /// With these parameters, and with the first pictures alone if a number is given.
    ///
    /// # Errors
    /// The video cannot be decoded.
    pub fn with(
        parameters: Parameters<Values>,
        pictures: Option<usize>,
    ) -> Result<Self, DecodeError> {
        let film = parameters.values().film.as_ref();
        let mut video = film.map_or_else(Video::bunny, Video::of_film);
        if let Some(pictures) = pictures {
            video.truncate(pictures);
        }
        let reference = film.is_none().then(|| Reference::of(&video)).transpose()?;
        Ok(Self { parameters, video, reference, cut: pictures, scoring: Scoring::default() })
    }

    /// The parameters' values.
    #[must_use]
    pub const fn values(&self) -> &Values {
        self.parameters.values()
    }

    /// Has a clock of the calling thread's CPU time tell what decoding and scoring cost.
    #[must_use]
    pub fn clocked(mut self, clock: fn() -> Duration) -> Self {
        self.scoring.clock = Some(clock);
        self
    }

    /// The CPU time that decoding and scoring took, of all cells that were run so far; zero
    /// without a clock.
    #[must_use]
    pub fn scoring_time(&self) -> Duration {
        Duration::from_nanos(self.scoring.nanos.load(Ordering::Relaxed))
    }

    /// Why there is no score, where there is none.
    pub(super) fn unscored(&self) -> Option<&'static str> {
        self.reference.is_none().then_some(UNSCORED)
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

    /// The video that is sent.
    #[must_use]
    pub const fn video(&self) -> &Video {
        &self.video
    }

    /// The command that runs a cell again, and captures it.
    #[must_use]
    pub fn again(&self, cell: &Cell) -> String {
        let pictures = self.cut.map(|pictures| format!(" --pictures {pictures}"));
        format!(
            "anabranch lab almajeed2011 --cell {}{}{} --capture --out DIR",
            cell.place(),
            pictures.unwrap_or_default(),
            self.flag(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Experiment;
    use super::super::{cells_csv, tables};
    use super::*;
    use crate::footage::testing::{FILM, MP4, with_source};

    #[test]
    fn scoring_is_timed_by_the_clock_that_is_given() {
        static NOW: AtomicU64 = AtomicU64::new(0);
        let clock = || Duration::from_secs(NOW.fetch_add(3, Ordering::Relaxed));
        let setup = Setup::with(Parameters::default(), Some(3)).unwrap();
        let (scenario, carrier) = (Scenario::BaseStation, Carrier::Dccp(1));
        let cell = Cell { scenario, carrier, frame_us: 20_000, bad_loss_percent: 5, seed: 1 };
        let untimed = cell.run(&setup).unwrap();
        assert_eq!(setup.scoring_time(), Duration::ZERO);
        let setup = setup.clocked(clock);
        let timed = [(); 2].map(|()| cell.run(&setup).unwrap());
        assert_eq!(setup.scoring_time(), Duration::from_secs(6), "twice");
        assert!(timed.iter().all(|it| *it == untimed), "nothing else changes");
    }

    #[test]
    fn a_film_is_sent_and_its_report_says_why_it_has_no_score() {
        for file in [FILM, MP4] {
            let setup = Setup::with(with_source(file, "").unwrap(), None).unwrap();
            for carrier in [Carrier::Dccp(4), Carrier::Sctp] {
                let (scenario, seed) = (Scenario::BaseStation, 1);
                let cell = Cell { scenario, carrier, frame_us: 20_000, bad_loss_percent: 5, seed };
                let measured = cell.run(&setup).unwrap();
                let outcome = measured.outcome;
                assert_eq!(outcome.slices, setup.video().len(), "{cell}");
                assert!(outcome.lost * 2 < outcome.slices, "{cell}: {outcome:?}");
                assert_eq!((outcome.psnr_y_db, outcome.ssim), (None, None), "{cell}");
                let results = vec![(cell, measured)];
                let table = String::from_utf8(cells_csv(&setup, &results).unwrap()).unwrap();
                assert!(table.lines().nth(1).is_some_and(|line| line.contains(",,,")), "{table}");
                let command = "anabranch lab almajeed2011".to_owned();
                let experiment = Experiment { command, setup: &setup, results, varied: Vec::new() };
                for text in [tables(&setup, &experiment.rows()), experiment.report("1").unwrap()] {
                    assert!(text.contains("The film is not decoded and scored"), "{text}");
                    assert!(text.contains("Not the paper's: source "), "{text}");
                }
            }
        }
    }
}
