//! [`AccessPolicy`]: who may watch what.

use std::collections::BTreeSet;
use std::fmt;

use anabranch_sansio::Time;

/// Decides who may watch. Tokens need a wall clock and keys, which are not here.
pub trait AccessPolicy: fmt::Debug + Send {
    /// Looks at what a viewer brought.
    ///
    /// # Errors
    /// Why it is not let in, in words.
    fn admit(&mut self, now: Time, token: Option<&str>) -> Result<Admission, String>;
}

/// What one viewer may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admission {
    /// Who it is, for the operator.
    pub name: Option<String>,
    /// Channels beside those that are open to all.
    pub channels: Permission,
    /// When the permission for these ends.
    pub until: Option<Time>,
}

/// Channels that are not open to all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Permission {
    /// None of them.
    #[default]
    Nothing,
    /// Those of these numbers, whether they are there yet or not.
    Numbers(BTreeSet<u32>),
    /// All.
    Everything,
}

impl Permission {
    /// Whether a channel of this number is among them.
    #[must_use]
    pub fn includes(&self, number: u32) -> bool {
        match self {
            Self::Nothing => false,
            Self::Numbers(numbers) => numbers.contains(&number),
            Self::Everything => true,
        }
    }
}

/// Lets everyone in, to all channels that are open.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenToAll;

impl AccessPolicy for OpenToAll {
    fn admit(&mut self, _now: Time, _token: Option<&str>) -> Result<Admission, String> {
        Ok(Admission::default())
    }
}
