//! [`CellError`]: a cell that could not be run.

use std::fmt::Display;
use std::io;

use anabranch_netsim::SimulationError;
use anabranch_sansio::Time;
use thiserror::Error;

/// A cell that could not be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CellError {
    /// A machine misbehaved.
    #[error("{cell}: {cause}")]
    Simulation {
        /// Which.
        cell: String,
        /// How.
        #[source]
        cause: SimulationError,
    },
    /// It took more events than it may.
    #[error(
        "{cell}: the run was ended at {at}: it took {steps} events, its limit; give more \
         steps-max, or less to send"
    )]
    Endless {
        /// Which.
        cell: String,
        /// When.
        at: Time,
        /// How many.
        steps: u64,
    },
    /// What is recorded cannot be written.
    #[error("{cell}: what is recorded cannot be written: {cause}")]
    Recording {
        /// Which.
        cell: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// What arrived cannot be decoded.
    #[error("{cell}: {cause}")]
    Decoding {
        /// Which.
        cell: String,
        /// Why.
        #[source]
        cause: DecodeError,
    },
}

/// The decoder refused what it was given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("picture {picture} cannot be decoded: {reason}")]
pub struct DecodeError {
    pub(crate) picture: usize,
    pub(crate) reason: String,
}

impl CellError {
    pub(crate) fn decoding(cell: &impl Display, cause: DecodeError) -> Self {
        Self::Decoding { cell: cell.to_string(), cause }
    }

    pub(crate) fn simulation(cell: &impl Display, cause: SimulationError) -> Self {
        let cell = cell.to_string();
        if let SimulationError::Endless { at, steps } = cause {
            return Self::Endless { cell, at, steps };
        }
        Self::Simulation { cell, cause }
    }

    pub(crate) fn recording(cell: &impl Display, cause: io::Error) -> Self {
        Self::Recording { cell: cell.to_string(), cause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::TableFile;
    use crate::{Parameters, RecordTo, almajeed2011, chang2010, huseynli2023, kim2007, ortiz2013};

    const SET: [&str; 1] = ["steps-max=100"];

    /// What a cell says that has a table of packets to write, which does not come to be.
    fn said<T>(run: impl FnOnce(RecordTo) -> Result<T, CellError>) -> String {
        let path = std::env::temp_dir().join(format!("anabranch-limit-{}.csv", std::process::id()));
        let packets = Some(TableFile::create(&path).unwrap());
        let error = run(RecordTo { packets, ..RecordTo::default() }).err().unwrap();
        assert!(!path.exists() && !path.with_extension("csv.part").exists(), "{error}");
        error.to_string()
    }

    #[test]
    fn a_cell_of_each_experiment_is_ended_by_its_limit_and_leaves_nothing_half_written() {
        let end = ": it took 100 events, its limit; give more steps-max, or less to send";
        let kim = Parameters::read(SET).unwrap();
        let chang = Parameters::read(SET).unwrap();
        let huseynli = Parameters::read(SET).unwrap();
        let ortiz =
            ortiz2013::Setup::with(ortiz2013::Source::Plain, Parameters::read(SET).unwrap());
        let almajeed = almajeed2011::Setup::with(Parameters::read(SET).unwrap(), Some(1)).unwrap();
        let strategies = ortiz2013::Strategy::ALL;
        let mut said_by = Vec::new();
        for cell in ortiz2013::cells(ortiz.values(), &strategies, 1).iter().take(strategies.len()) {
            said_by.push((cell.to_string(), said(|to| cell.run_recorded(&ortiz, to))));
        }
        for cell in kim2007::Scenario::ALL.map(|scenario| scenario.cells(1)[0]) {
            said_by.push((cell.to_string(), said(|to| cell.run_recorded(&kim, to))));
        }
        for method in chang2010::Method::ALL {
            let cell: chang2010::Cell = format!("1,{method},1").parse().unwrap();
            said_by.push((cell.to_string(), said(|to| cell.run_recorded(&chang, to))));
        }
        let cell = huseynli2023::cells(1)[0];
        said_by.push((cell.to_string(), said(|to| cell.run_recorded(&huseynli, to))));
        let cell = almajeed2011::cells(1)[0];
        said_by.push((cell.to_string(), said(|to| cell.run_recorded(&almajeed, to))));
        for (cell, said) in said_by {
            assert!(said.starts_with(&format!("{cell}: the run was ended at ")), "{said}");
            assert!(said.ends_with(end), "{said}");
        }
    }
}
