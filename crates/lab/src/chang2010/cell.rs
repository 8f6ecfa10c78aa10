//! [`Cell`]: one way of calling at one place with one seed.

use std::fmt;
use std::str::FromStr;

use super::measure::Outcome;
use super::network;
use super::paper::THRESHOLDS_MS;
use super::values::Values;
use crate::recording::{RecordTo, Recording};
use crate::{CellError, Parameters};

/// How it is noticed that a path died, and what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// SCTP counts unanswered retransmissions; the paper's threshold of 30 s.
    Sctp,
    /// The paper's monitor leaves a path that was silent for so many milliseconds.
    Timed(u32),
    /// A TCP that connects anew over the other path, in the place of USHA.
    Usha,
    /// Our stack, which is told nothing.
    Unplanned,
    /// Our stack, which is told before the path goes.
    Planned,
}

impl Method {
    /// One of each kind.
    pub const ALL: [Self; 5] =
        [Self::Sctp, Self::Timed(1_500), Self::Usha, Self::Unplanned, Self::Planned];
    /// Ours.
    pub const OURS: [Self; 2] = [Self::Unplanned, Self::Planned];

    /// Whether it is ours.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Unplanned | Self::Planned)
    }
}

/// From which network to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Handoff {
    /// Handoff_1.
    WiredToWireless,
    /// Handoff_2.
    WirelessToWired,
    /// Handoff_3.
    WirelessToWireless,
    /// Handoff_4.
    WiredToWired,
}

impl Handoff {
    /// All of them, in the order of Chang 2010, section 4.
    pub const ALL: [Self; 4] = [
        Self::WiredToWireless,
        Self::WirelessToWired,
        Self::WirelessToWireless,
        Self::WiredToWired,
    ];

    /// From 1, as in table 3.
    #[must_use]
    pub const fn number(self) -> usize {
        self as usize + 1
    }

    /// Whether each of the two paths is.
    pub(super) const fn are_wireless(self) -> [bool; 2] {
        match self {
            Self::WiredToWireless => [false, true],
            Self::WirelessToWired => [true, false],
            Self::WirelessToWireless => [true, true],
            Self::WiredToWired => [false, false],
        }
    }
}

/// Which network, and what is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// One of the paper's: the path in use is cut once.
    Handoff(Handoff),
    /// From wired to wireless with this round trip in milliseconds: whichever path is in use is
    /// cut, ten times.
    Rtt(u32),
}

/// One way of calling at one place with one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Where.
    pub place: Place,
    /// How.
    pub method: Method,
    /// Decides all that is random.
    pub seed: u64,
}

/// Round trips at which ours are looked at, in milliseconds.
pub(super) const RTTS_MS: [u32; 3] = [20, 50, 100];

/// All cells with the seeds 1 to `seeds`, those of table 3 first.
#[must_use]
pub fn cells(seeds: u64) -> Vec<Cell> {
    let timed = THRESHOLDS_MS.into_iter().map(Method::Timed);
    let methods = [Method::Sctp].into_iter().chain(timed).chain([Method::Usha]).chain(Method::OURS);
    let handoffs = methods.flat_map(|method| {
        Handoff::ALL.into_iter().map(move |handoff| (Place::Handoff(handoff), method))
    });
    let rtts = RTTS_MS
        .into_iter()
        .flat_map(|ms| Method::OURS.into_iter().map(move |method| (Place::Rtt(ms), method)));
    let all = handoffs.chain(rtts);
    all.flat_map(|(place, method)| (1..=seeds).map(move |seed| Cell { place, method, seed }))
        .collect()
}

impl Cell {
    /// A name for its files, and for `--cell`.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { place, method, seed } = self;
        format!("{place},{method},{seed}")
    }

    /// Runs it as the paper did.
    ///
    /// # Errors
    /// A machine misbehaved: it did not stop sending or did not come to rest.
    pub fn run(&self) -> Result<Outcome, CellError> {
        self.run_recorded(&Parameters::default(), RecordTo::default())
    }

    /// Runs it with these parameters and records what goes by.
    ///
    /// # Errors
    /// As [`run`](Self::run), or a writer's.
    pub fn run_recorded(
        &self,
        parameters: &Parameters<Values>,
        to: RecordTo,
    ) -> Result<Outcome, CellError> {
        let name = match parameters.set_again() {
            set if set.is_empty() => self.to_string(),
            set => format!("{self}, {set}"),
        };
        let mut recording = Recording::new(to);
        let outcome = network::run(self, parameters.values(), &name, &mut recording);
        let outcome = outcome.map_err(|cause| CellError::simulation(self, cause))?;
        recording.end().map_err(|cause| CellError::recording(self, cause))?;
        Ok(outcome)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, method, seed } = self;
        write!(f, "{place}, {method}, seed {seed}")
    }
}

impl fmt::Display for Handoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::WiredToWireless => "wired to wireless",
            Self::WirelessToWired => "wireless to wired",
            Self::WirelessToWireless => "wireless to wireless",
            Self::WiredToWired => "wired to wired",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handoff(handoff) => f.pad(&handoff.number().to_string()),
            Self::Rtt(ms) => f.pad(&format!("{ms}ms")),
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let handoffs = Handoff::ALL.map(Self::Handoff);
        let found = handoffs.into_iter().find(|place| place.to_string() == text);
        let rtt = || text.strip_suffix("ms")?.parse().ok().filter(|ms| (2..=1_000).contains(ms));
        found.or_else(|| rtt().map(Self::Rtt)).ok_or_else(|| {
            format!(
                "there is no place '{text}': give a handoff, 1 to 4, or a round trip, 2ms to 1000ms"
            )
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sctp => f.pad("SCTP"),
            Self::Timed(ms) => f.pad(&format!("{}s", f64::from(*ms) / 1e3)),
            Self::Usha => f.pad("TCP"),
            Self::Unplanned => f.pad("unplanned"),
            Self::Planned => f.pad("planned"),
        }
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let timed = || {
            let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
            (0.05..=60.0).contains(&seconds).then(|| Self::Timed((seconds * 1e3).round() as u32))
        };
        let found = Self::ALL.into_iter().find(|method| method.to_string() == text);
        found.or_else(timed).ok_or_else(|| {
            format!(
                "there is no method '{text}': give SCTP, a threshold such as 1.5s (0.05s to 60s), \
                 TCP, unplanned or planned"
            )
        })
    }
}

impl FromStr for Cell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let [place, method, seed] = text.split(',').collect::<Vec<_>>()[..] else {
            return Err("write place, method and seed with commas, as in 1,1.5s,1".to_owned());
        };
        let seed = seed.parse().map_err(|_| format!("'{seed}' is no seed: give a whole number"))?;
        Ok(Self { place: place.parse()?, method: method.parse()?, seed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footage::Footage;
    use crate::footage::testing::{FILM, MP4, with_source};

    #[test]
    fn a_name_names_its_cell_and_no_cell_comes_twice() {
        let cells = cells(2);
        for cell in &cells {
            assert_eq!(cell.name().parse(), Ok(*cell), "{cell}");
        }
        let mut once = cells.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), cells.len());
    }

    #[test]
    fn a_films_pictures_are_what_is_seen_at_both_ends() {
        for file in [FILM, MP4] {
            let parameters: Parameters<Values> = with_source(file, "").unwrap();
            for cell in ["4,1.5s,1", "4,TCP,1", "4,unplanned,1"] {
                let cell: Cell = cell.parse().unwrap();
                let outcome = cell.run_recorded(&parameters, RecordTo::default()).unwrap();
                let film = Footage::read(file).unwrap();
                let kbytes = film.picture_rate().as_bps() as f64 / 8e3;
                let ratio = outcome.kbytes_per_s[1] / kbytes;
                // What is lost when the path is cut, and what each message says of its frame.
                assert!((0.6..1.4).contains(&ratio), "{file}, {cell}: {outcome:?}");
                let per_second = outcome.video.taken as f64 / 2.0 / (outcome.simulated_s - 4.0);
                assert!((24.0..26.0).contains(&per_second), "{file}, {cell}: {per_second}");
            }
        }
    }

    #[test]
    fn what_names_no_cell_is_refused_in_words() {
        for (text, words) in [
            ("1,1.5s", "write place, method and seed"),
            ("5,1.5s,1", "there is no place '5'"),
            ("1ms,1.5s,1", "2ms to 1000ms"),
            ("1,soon,1", "there is no method 'soon'"),
            ("1,NaNs,1", "there is no method 'NaNs'"),
            ("1,1.5s,x", "'x' is no seed"),
        ] {
            let error = text.parse::<Cell>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
