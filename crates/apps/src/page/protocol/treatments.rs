//! [`Treatments`]: how each class of media is sent.

use serde::{Deserialize, Serialize};

/// How each class of media is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatments {
    /// The preset that the table equals.
    pub preset: Option<Preset>,
    /// Each class of the hello.
    pub treatments: Vec<Treatment>,
}

/// How one class is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// The class's id in the hello.
    pub class: String,
    /// How hard to try.
    pub reliability: Reliability,
    /// Whether its messages wait for each other.
    pub ordered: bool,
    /// 0 goes first.
    pub priority: u32,
    /// The preferred path.
    pub path: Option<u32>,
}

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reliability {
    /// Until it is delivered.
    Reliable,
    /// For so long from when the media came to the sender.
    LifetimeMs(u32),
    /// At most so often after the first time.
    MaxRetransmissions(u32),
}

/// A treatment table by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Everything until it is delivered.
    Reliable,
    /// All that can arrive in time, the important first.
    Layered,
    /// Old media never delays new media.
    Live,
}
