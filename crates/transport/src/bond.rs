//! [`Bond`]: how several paths are used.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// How one end sends over several paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bond {
    /// Over all of them at once, each message where it arrives first.
    #[default]
    Balance,
    /// Over one, while the others stand by.
    Backup,
    /// Over two at once, each message over both.
    Dup,
}

impl Bond {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Balance, Self::Backup, Self::Dup];

    /// As it is written in a URL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Balance => "balance",
            Self::Backup => "backup",
            Self::Dup => "dup",
        }
    }
}

impl fmt::Display for Bond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Bond {
    type Err = UnknownBond;

    fn from_str(name: &str) -> Result<Self, UnknownBond> {
        Self::ALL.into_iter().find(|bond| bond.name() == name).ok_or(UnknownBond)
    }
}

/// No such way to use several paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("give balance, backup or dup")]
pub struct UnknownBond;
