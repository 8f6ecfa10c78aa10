//! [`Cell`]: one method on one network with one seed.

use std::fmt;
use std::str::FromStr;

use super::measure::Outcome;
use super::method::Method;
use super::network;
use super::sensitivity::Variation;
use super::source::Source;
use super::values::Values;
use crate::recording::{RecordTo, Recording};
use crate::{CellError, Parameters};

/// What leads to the receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LastHop {
    /// As in the authors' scripts: a link for each.
    Wired,
    /// As the text has it: all are in one Wi-Fi cell, 802.11g at 54 Mbit/s.
    Wireless,
}

impl LastHop {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Wired, Self::Wireless];
}

/// One method on one network with one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// What is sent.
    pub source: Source,
    /// Over what.
    pub last_hop: LastHop,
    /// What is chosen otherwise.
    pub variation: Variation,
    /// In which order it is read.
    pub method: Method,
    /// Decides all that is random.
    pub seed: u64,
}

/// The cells of the tables: each source over each network, with the seeds 1 to `seeds`.
#[must_use]
pub fn cells(seeds: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for source in Source::ALL {
        for last_hop in LastHop::ALL {
            for method in Method::ALL {
                let variation = Variation::AsRun;
                let cell = |seed| Cell { source, last_hop, variation, method, seed };
                cells.extend((1..=seeds).map(cell));
            }
        }
    }
    cells
}

impl Cell {
    /// A name for its files.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { source, last_hop, method, seed, .. } = self;
        format!("{source}-{last_hop}-{method}-{seed}")
    }

    /// Runs it as the paper did, but for its variation.
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
        let values = self.variation.apply(parameters.values().clone());
        let name = match parameters.set_again() {
            set if set.is_empty() => self.to_string(),
            set => format!("{self}, {set}"),
        };
        let mut recording = Recording::new(to);
        let outcome = network::run(self, &values, &name, &mut recording);
        let outcome = outcome.map_err(|cause| CellError::simulation(self, cause))?;
        recording.end().map_err(|cause| CellError::recording(self, cause))?;
        Ok(outcome)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, last_hop, variation, method, seed } = self;
        write!(f, "{source}, {last_hop}, {method}, ")?;
        if *variation != Variation::AsRun {
            write!(f, "{variation}, ")?;
        }
        write!(f, "seed {seed}")
    }
}

impl fmt::Display for LastHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Wired => "wired",
            Self::Wireless => "wireless",
        })
    }
}

impl FromStr for LastHop {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|last_hop| last_hop.to_string() == name);
        found.ok_or_else(|| format!("there is no network '{name}': give wired or wireless"))
    }
}
