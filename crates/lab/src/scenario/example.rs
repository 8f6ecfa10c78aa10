//! [`Example`]: scenarios to start from.

use std::fmt;
use std::str::FromStr;

/// A scenario to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Example {
    /// Flows of several kinds over one bottleneck.
    Dumbbell,
    /// One association over two paths at once.
    TwoPaths,
    /// A path that goes, and another that takes over.
    Handoff,
    /// A mobile network whose rate changes all the time.
    Cellular,
    /// Films and bulk over DCCP, beside SCTP and TCP.
    Dccp,
}

impl Example {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Dumbbell, Self::TwoPaths, Self::Handoff, Self::Cellular, Self::Dccp];

    /// The file.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Dumbbell => include_str!("../../data/dumbbell.toml"),
            Self::TwoPaths => include_str!("../../data/two-paths.toml"),
            Self::Handoff => include_str!("../../data/handoff.toml"),
            Self::Cellular => include_str!("../../data/cellular.toml"),
            Self::Dccp => include_str!("../../data/dccp.toml"),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Dumbbell => "dumbbell",
            Self::TwoPaths => "two-paths",
            Self::Handoff => "handoff",
            Self::Cellular => "cellular",
            Self::Dccp => "dccp",
        }
    }
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Example {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|example| example.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no example {text}: give one of {names}")
        })
    }
}
