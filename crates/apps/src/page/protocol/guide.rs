//! [`Tuned`]: what became of the channel that is watched.

use serde::{Deserialize, Serialize};

/// What became of the channel that is watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuned {
    /// The number of the channel.
    pub number: u32,
    /// What became of it.
    pub state: TunedState,
    /// Why there is nothing to see, in words.
    pub text: Option<String>,
}

/// What became of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TunedState {
    /// It was asked for.
    Asked,
    /// What it shows is described by the last hello.
    OnAir,
    /// Its source has nothing.
    OffAir,
}
