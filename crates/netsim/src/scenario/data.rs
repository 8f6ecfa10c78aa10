//! A [`Scenario`] read from TOML and JSON.

use super::{Action, Scenario, ScenarioError};

impl Scenario {
    /// Reads a scenario from TOML.
    ///
    /// # Errors
    /// The text is no scenario, or its steps do not fit its links.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        Self::checked(toml::from_str(text).map_err(|error| in_one_line(text, &error)))
    }

    /// Reads a scenario from JSON.
    ///
    /// # Errors
    /// The text is no scenario, or its steps do not fit its links.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        Self::checked(serde_json::from_str(text).map_err(|error| error.to_string()))
    }

    pub(super) fn checked(parsed: Result<Self, String>) -> Result<Self, ScenarioError> {
        let scenario = parsed.map_err(|reason| ScenarioError::Syntax { reason })?;
        if scenario.links.is_empty() {
            return Err(ScenarioError::NoLinks);
        }
        for (n, link) in scenario.links.iter().enumerate() {
            if scenario.links.iter().take(n).any(|earlier| earlier.name == link.name) {
                return Err(ScenarioError::RepeatedLink { name: link.name.clone() });
            }
        }
        let has_link = |name: &str| scenario.links.iter().any(|link| link.name == name);
        if let Some(nat) = scenario.nats.iter().find(|nat| !has_link(&nat.link)) {
            return Err(nat.without_link());
        }
        for (step, action) in (1..).zip(&scenario.steps) {
            let Some(name) = action.link_name() else { continue };
            if !has_link(name) {
                return Err(scenario.unknown_link(step, name));
            }
        }
        Ok(scenario)
    }
}

impl Action {
    fn link_name(&self) -> Option<&str> {
        match self {
            Self::Link(link) => Some(&link.name),
            Self::Cut(name) | Self::Restore(name) | Self::Rebind(name) => Some(name),
            Self::Run(_) | Self::Check(_) => None,
        }
    }
}

/// What is wrong and where, without the excerpt that the parser would show.
fn in_one_line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}
