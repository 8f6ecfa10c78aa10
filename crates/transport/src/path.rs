//! Whether a path carries data.

use std::fmt;

/// Whether a path can carry data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathState {
    /// Answers.
    Active,
    /// Did not answer lately, and carries no data while another path can (RFC 7829).
    PotentiallyFailed,
    /// Has not answered for long.
    Inactive,
    /// Not yet known to belong to the peer.
    Unconfirmed,
}

impl PathState {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::PotentiallyFailed => "potentially failed",
            Self::Inactive => "inactive",
            Self::Unconfirmed => "unconfirmed",
        }
    }
}

impl fmt::Display for PathState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
