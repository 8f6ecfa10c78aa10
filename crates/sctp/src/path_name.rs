//! What paths are called, and how they stand.

use std::fmt;

pub use anabranch_sansio::PathId;

/// Where an association keeps a path: an index, which another path has when this one is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PathSlot(pub(crate) u8);

impl PathSlot {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Whether a path can carry data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathState {
    /// Answers.
    Active,
    /// RFC 7829: did not answer lately, and carries no data while another path can.
    PotentiallyFailed,
    /// Did not answer 'Path.Max.Retrans' times.
    Inactive,
    /// RFC 9260 section 5.4: not yet known to belong to the peer; gets heartbeats only.
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
