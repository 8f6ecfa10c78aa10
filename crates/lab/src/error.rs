//! [`CellError`]: a cell that could not be run.

use std::fmt::Display;
use std::io;

use anabranch_netsim::SimulationError;
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
        Self::Simulation { cell: cell.to_string(), cause }
    }

    pub(crate) fn recording(cell: &impl Display, cause: io::Error) -> Self {
        Self::Recording { cell: cell.to_string(), cause }
    }
}
