//! [`Preset`]: treatment tables by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{MediaClass, Reliability, Treatment, TreatmentTable};

/// A treatment table by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Everything until it is delivered: for files. What comes late is waited for.
    Reliable,
    /// All that can still arrive in time, the important first; less time for what matters less.
    #[default]
    Layered,
    /// Half the latency at most for repairs, so that old media never delays new media.
    Live,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 3] = [Self::Reliable, Self::Layered, Self::Live];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::Layered => "layered",
            Self::Live => "live",
        }
    }

    /// What it is for, in words.
    #[must_use]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Reliable => "everything until it is delivered; what comes late is waited for",
            Self::Layered => "all that can arrive in time, and the important first",
            Self::Live => "old media never delays new media: repairs get half the latency",
        }
    }

    /// Its table.
    #[must_use]
    pub fn table(self) -> TreatmentTable {
        TreatmentTable::of(|class| self.treatment(class))
    }

    const fn treatment(self, class: MediaClass) -> Treatment {
        let (layered_percent, live_percent, priority) = match class {
            MediaClass::Control => return Treatment::CONTROL,
            MediaClass::Tables => (100, 100, 1),
            MediaClass::Audio | MediaClass::KeyFrame => (100, 75, 2),
            MediaClass::Reference => (100, 50, 3),
            MediaClass::Data => (100, 50, 4),
            MediaClass::Disposable => (75, 50, 5),
            MediaClass::Enhancement => (75, 50, 6),
            MediaClass::Padding => (50, 25, 7),
        };
        match self {
            // The receiver waits for the last of it: what overtakes only fills its memory.
            Self::Reliable => Treatment::new(Reliability::Reliable, 1),
            Self::Layered => Treatment::new(Reliability::LatencyPercent(layered_percent), priority),
            Self::Live => Treatment::new(Reliability::LatencyPercent(live_percent), priority),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no preset has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no treatment \"{name}\": give reliable, layered or live")]
pub struct UnknownPreset {
    /// What was given.
    pub name: String,
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == name);
        found.ok_or_else(|| UnknownPreset { name: name.to_owned() })
    }
}
