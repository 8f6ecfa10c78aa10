//! [`RunHeader`]: the first line of a log.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Scenario, ScenarioError};

/// The first line of a log: what is needed to run again what the log records.
///
/// It prints as one line of JSON, which [`from_json`](Self::from_json) reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHeader {
    /// The simulator's version; another may run differently.
    pub version: String,
    /// Seed, links and steps.
    pub scenario: Scenario,
}

impl RunHeader {
    /// The header of a run of this version.
    #[must_use]
    pub fn new(scenario: Scenario) -> Self {
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), scenario }
    }

    /// Reads a header.
    ///
    /// # Errors
    /// The line is no header, or its scenario makes no sense.
    pub fn from_json(line: &str) -> Result<Self, ScenarioError> {
        let header: Self = serde_json::from_str(line)
            .map_err(|error| ScenarioError::Syntax { reason: error.to_string() })?;
        let scenario = Scenario::checked(Ok(header.scenario))?;
        Ok(Self { scenario, ..header })
    }
}

impl fmt::Display for RunHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&line)
    }
}
