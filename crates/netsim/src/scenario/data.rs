//! A [`Scenario`] read from TOML and JSON.

use std::time::Duration;

use super::{Action, NamedLink, NamedNat, Scenario, ScenarioError};
use crate::DuplexConfig;
use crate::settings::{ReadFile, time};
use crate::written::{Document, Fault, Happening, Section, WrittenEvent, WrittenLink, WrittenNat};

impl Scenario {
    /// Reads a scenario file. `read` reads the files that it names, which are recorded links. What
    /// only `anabranch lab run` knows, as flows, is passed over: one file serves both.
    ///
    /// # Errors
    /// The text is no scenario, or its events do not fit its links.
    pub fn from_toml(text: &str, read: ReadFile<'_>) -> Result<Self, ScenarioError> {
        Self::checked(written(text, read).map_err(|fault| fault.to_string()))
    }

    /// Reads a scenario from JSON, as logs hold it: see [`RunHeader`](super::RunHeader).
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
            Self::Cut(name) | Self::Restore(name) | Self::Rebind(name) | Self::Address(name) => {
                Some(name)
            }
            Self::Run(_) | Self::Check(_) => None,
        }
    }
}

/// What the file says, its events as steps.
fn written(text: &str, read: ReadFile<'_>) -> Result<Scenario, Fault> {
    let mut document = Document::parse(text)?;
    document.take("flows");
    let links = WrittenLink::read_all(&mut document, read)?;
    let nats = document.take("nats").into_iter().map(nat).collect::<Result<_, _>>()?;
    let events = WrittenEvent::read_all(document.take("events"), &links, read)?;
    document.refuse_rest(&["[[links]]", "[[cells]]", "[[nats]]", "[[events]]", "[[flows]]"])?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| "give a whole number, such as 7");
    let top = &mut document.top;
    let seed = top.read("seed", number)?.unwrap_or(1);
    let duration = top.read("duration", time)?;
    for key in ["seeds", "steps_max"] {
        top.take(key);
    }
    top.refuse_rest(&["duration", "seed", "seeds", "steps_max"])?;
    let steps = steps(events, &links, duration)?;
    let links = links.into_iter().map(|link| named(&link.name, link.config)).collect();
    Ok(Scenario { seed, links, nats, steps })
}

fn named(name: &str, config: DuplexConfig) -> NamedLink {
    let DuplexConfig { forward, backward } = config;
    let backward = (backward != forward).then_some(backward);
    NamedLink { name: name.to_owned(), forward, backward }
}

fn nat(section: Section) -> Result<NamedNat, Fault> {
    let WrittenNat { link, config, .. } = WrittenNat::read(section)?;
    Ok(NamedNat { link, config })
}

/// What happens, with the times between as runs.
fn steps(
    events: Vec<WrittenEvent>,
    links: &[WrittenLink],
    duration: Option<Duration>,
) -> Result<Vec<Action>, Fault> {
    let mut steps = Vec::new();
    let mut now = Duration::ZERO;
    let mut run_to = |at: Duration, steps: &mut Vec<Action>| {
        if at > now {
            steps.push(Action::Run(at - now));
            now = at;
        }
    };
    let name = |link: usize| links[link].name.clone();
    for WrittenEvent { at, what, place } in events {
        if let Some(end) = duration.filter(|end| *end < at) {
            let reason = format!("this happens at {at:?}, and the run ends at {end:?}");
            return Err(Fault::new(place, reason));
        }
        run_to(at, &mut steps);
        steps.push(match what {
            Happening::Cut(link) => Action::Cut(name(link)),
            Happening::Restore(link) => Action::Restore(name(link)),
            Happening::Rebind(link) => Action::Rebind(name(link)),
            Happening::Address(link) => Action::Address(name(link)),
            Happening::Change(link, config) => Action::Link(named(&links[link].name, *config)),
            Happening::Check(words) => Action::Check(words),
        });
    }
    run_to(duration.unwrap_or_default(), &mut steps);
    Ok(steps)
}
