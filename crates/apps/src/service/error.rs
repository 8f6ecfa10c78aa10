//! [`ServiceError`]: why a service did not do what it was asked to.

use anabranch_session::{CallError, Refusal};
use thiserror::Error;

use anabranch_driver::{DriverError, SpawnError};

use crate::input::InputError;
use crate::net::NetError;
use crate::output::OutputError;

use super::SecurityError;

/// To `send` and `recv`, whose peers know no tokens.
pub(crate) const TOKEN_OF_VIEWER: &str =
    "token= is for anabranch watch: leave it out; passphrase= keeps strangers from taking part";

/// Why a service did not do what it was asked to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The media cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The media cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The addresses cannot be used.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The session cannot be encrypted.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// Options that do not go together.
    #[error("{0}")]
    Senseless(&'static str),
    /// The peer does not serve us.
    #[error("the other end refuses: {0}")]
    Refused(Refusal),
    /// There is no session for want of the right key.
    #[error("{what}")]
    NoKeys {
        /// What is wrong, and what would be right.
        what: String,
    },
    /// The peer is gone, and was not to be waited for any longer.
    #[error("{reason}")]
    Lost {
        /// Why, in words.
        reason: String,
    },
    /// The input ended, and nobody had been there to get it.
    #[error("the input ended before a receiver was there")]
    NobodyCame,
    /// The call cannot be made.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The system refuses.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A defect.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

impl ServiceError {
    /// Whether an argument, a file or a URL was wrong, so that nothing was begun.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::Input(error) => error.is_usage(),
            Self::Output(error) => error.is_usage(),
            Self::Net(_) | Self::Security(_) | Self::Senseless(_) => true,
            Self::Refused(_)
            | Self::NoKeys { .. }
            | Self::Lost { .. }
            | Self::NobodyCame
            | Self::Call(_)
            | Self::Spawn(_)
            | Self::Driver(_) => false,
        }
    }
}
