//! [`Scenario`]: links and what happens to them, as data.

#[cfg(feature = "serde")]
mod data;
#[cfg(feature = "serde")]
mod header;

use std::time::Duration;

use anabranch_sansio::{FourTuple, Machine, Rng, Time};
use thiserror::Error;

#[cfg(feature = "serde")]
pub use header::RunHeader;

use crate::settings::{LinkSettings, SettingsError};
use crate::{
    Duplex, DuplexConfig, LinkConfig, NatConfig, Pair, PairError, PathConfig, Side, Simulation,
    SimulationError,
};

/// Links and what happens to them, as data: all that is needed to run something again.
///
/// ```
/// let text = r#"
///     duration = "22s"
///     seed = 7
///
///     [[links]]
///     name = "wifi"
///     preset = "wifi"
///     up.loss = "1%"
///
///     [[links]]
///     name = "mobile"
///     preset = "mobile"
///     down.rate = "4M"
///
///     [[events]]
///     at = "10s"
///     cut = "wifi"
///
///     [[events]]
///     at = "12s"
///     check = "handover under 1.5 s"
///
///     [[events]]
///     at = "12s"
///     change = "mobile"
///     rate = "2M"
/// "#;
/// let no_files = |file: &str| Err(format!("{file} is not needed"));
/// let scenario = anabranch_netsim::Scenario::from_toml(text, &no_files)?;
/// assert_eq!(scenario.span(), std::time::Duration::from_secs(22));
/// # Ok::<(), anabranch_netsim::ScenarioError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Scenario {
    /// Decides everything random.
    pub seed: u64,
    /// The links at the start. In a pair, each is a path.
    pub links: Vec<NamedLink>,
    /// NATs in front of the client. For simulations only: each link of the live emulator is one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub nats: Vec<NamedNat>,
    /// What happens, one after the other.
    pub steps: Vec<Action>,
}

/// Both directions of a link under a name.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct NamedLink {
    /// The name that steps call it by.
    pub name: String,
    /// From client to server.
    pub forward: LinkConfig,
    /// From server to client; the same as `forward` if left out.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub backward: Option<LinkConfig>,
}

/// A NAT in front of the client, at the beginning of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct NamedNat {
    /// The link's name, which is the NAT's as well.
    pub link: String,
    /// How it behaves.
    #[cfg_attr(feature = "serde", serde(default))]
    pub config: NatConfig,
}

/// One step of a scenario.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[expect(clippy::large_enum_variant, reason = "a scenario has few steps, and people write them")]
pub enum Action {
    /// Gives a link a new configuration, in whole: fields left out are the defaults, or those of
    /// the preset named, and not what they were before.
    Link(NamedLink),
    /// Takes a link down, both directions.
    Cut(String),
    /// Brings a link up again.
    Restore(String),
    /// Has the NAT at a link forget its mappings: what leaves comes from other ports then.
    Rebind(String),
    /// Has the NAT at a link get another public address, as after its provider assigned a new one.
    Address(String),
    /// Lets time pass. As data, `run_ms` in milliseconds.
    #[cfg_attr(feature = "serde", serde(rename = "run_ms", with = "crate::millis::duration"))]
    Run(Duration),
    /// Asks whether all is as expected; who plays the scenario knows what the words mean.
    Check(String),
}

/// Who plays a scenario: how time passes, and what checks mean.
///
/// A function `(&mut Simulation<M>, &str) -> Result<(), String>` is a stage that only checks.
pub trait Stage<M: Machine> {
    /// Lets `span` pass. By default events wait to be polled.
    ///
    /// # Errors
    /// The simulation's.
    fn run(&mut self, sim: &mut Simulation<M>, span: Duration) -> Result<(), SimulationError> {
        sim.run_for(span)
    }

    /// Whether all is as expected.
    ///
    /// # Errors
    /// What is not, in words.
    fn check(&mut self, sim: &mut Simulation<M>, expectation: &str) -> Result<(), String>;
}

impl<M, F> Stage<M> for F
where
    M: Machine,
    F: FnMut(&mut Simulation<M>, &str) -> Result<(), String>,
{
    fn check(&mut self, sim: &mut Simulation<M>, expectation: &str) -> Result<(), String> {
        self(sim, expectation)
    }
}

/// A scenario that makes no sense, or did not go as expected.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The text is no scenario.
    #[error("not a scenario: {reason}")]
    Syntax {
        /// What the parser says.
        reason: String,
    },
    /// There is no link.
    #[error("a scenario needs at least one link: give [[links]] with a name")]
    NoLinks,
    /// Two links have one name.
    #[error("two links are called \"{name}\": give each a name of its own")]
    RepeatedLink {
        /// The name.
        name: String,
    },
    /// A step names a link that does not exist.
    #[error("step {step} names the link \"{name}\", which does not exist; there is {known}")]
    UnknownLink {
        /// Which step, counted from one.
        step: usize,
        /// The name.
        name: String,
        /// The links that exist.
        known: String,
    },
    /// There is no NAT at a link.
    #[error("step {step} changes the NAT of \"{name}\", which has none: give [[nats]] with a link")]
    NoNat {
        /// Which step, counted from one.
        step: usize,
        /// The link's name.
        name: String,
    },
    /// A NAT stands at a link that does not exist.
    #[error(
        "a NAT stands at the link \"{name}\", which does not exist: give [[links]] of that name"
    )]
    NatWithoutLink {
        /// The link's name.
        name: String,
    },
    /// The links make no pair.
    #[error(transparent)]
    Pair(#[from] PairError),
    /// The simulation stopped.
    #[error("step {step}: {error}")]
    Simulation {
        /// Which step, counted from one.
        step: usize,
        /// Why.
        error: SimulationError,
    },
    /// A check failed.
    #[error("step {step}, {at}: expected {expectation}, but {reason}")]
    Check {
        /// Which step, counted from one.
        step: usize,
        /// When.
        at: Time,
        /// The step's words.
        expectation: String,
        /// What was found instead.
        reason: String,
    },
}

impl Scenario {
    /// How long it runs.
    #[must_use]
    pub fn span(&self) -> Duration {
        let runs = self.steps.iter().map(|step| match step {
            Action::Run(span) => *span,
            Action::Link(_)
            | Action::Cut(_)
            | Action::Restore(_)
            | Action::Rebind(_)
            | Action::Address(_)
            | Action::Check(_) => Duration::ZERO,
        });
        runs.fold(Duration::ZERO, Duration::saturating_add)
    }

    /// A pair whose paths are the links, with the addresses of [`PathConfig::nth`].
    ///
    /// # Errors
    /// There are more links than addresses for them.
    pub fn pair<M: Machine>(
        &self,
        make: impl FnMut(Side, &[FourTuple], Rng) -> M,
    ) -> Result<Pair<M>, ScenarioError> {
        let mut paths = Vec::new();
        for (n, link) in self.links.iter().enumerate() {
            paths
                .push(PathConfig { name: link.name.clone(), ..PathConfig::nth(n, link.config())? });
        }
        let mut pair = Pair::with_paths(self.seed, &paths, make)?;
        for nat in &self.nats {
            let place = self.links.iter().position(|link| link.name == nat.link);
            pair.add_nat(place.ok_or_else(|| nat.without_link())?, nat.config);
        }
        Ok(pair)
    }

    /// Plays all steps in a simulation whose network has duplex links of these names.
    ///
    /// # Errors
    /// A link is missing, the simulation stops, or a check fails.
    pub fn play<M: Machine>(
        &self,
        sim: &mut Simulation<M>,
        mut stage: impl Stage<M>,
    ) -> Result<(), ScenarioError> {
        for (step, action) in (1..).zip(&self.steps) {
            match action {
                Action::Link(link) => {
                    let duplex = self.find(sim, step, &link.name)?;
                    sim.reconfigure_both(duplex, link.config());
                }
                Action::Cut(name) => sim.cut_both(self.find(sim, step, name)?),
                Action::Restore(name) => sim.restore_both(self.find(sim, step, name)?),
                Action::Rebind(name) if sim.rebind(name) => {}
                Action::Address(name) if sim.readdress(name) => {}
                Action::Rebind(name) | Action::Address(name) => {
                    return Err(ScenarioError::NoNat { step, name: name.clone() });
                }
                Action::Run(span) => stage
                    .run(sim, *span)
                    .map_err(|error| ScenarioError::Simulation { step, error })?,
                Action::Check(expectation) => {
                    let at = sim.now();
                    stage.check(sim, expectation).map_err(|reason| ScenarioError::Check {
                        step,
                        at,
                        expectation: expectation.clone(),
                        reason,
                    })?;
                }
            }
        }
        Ok(())
    }

    fn find<M: Machine>(
        &self,
        sim: &Simulation<M>,
        step: usize,
        name: &str,
    ) -> Result<Duplex, ScenarioError> {
        sim.network().duplex(name).ok_or_else(|| self.unknown_link(step, name))
    }

    fn unknown_link(&self, step: usize, name: &str) -> ScenarioError {
        let names: Vec<_> = self.links.iter().map(|link| link.name.as_str()).collect();
        ScenarioError::UnknownLink { step, name: name.to_owned(), known: names.join(", ") }
    }
}

impl NamedLink {
    /// Both directions.
    #[must_use]
    pub fn config(&self) -> DuplexConfig {
        let backward = self.backward.as_ref().unwrap_or(&self.forward);
        DuplexConfig { forward: self.forward.clone(), backward: backward.clone() }
    }
}

impl LinkSettings {
    /// A link with these settings; what they leave out stays.
    ///
    /// # Errors
    /// The settings do not fit each other.
    pub fn change(&self, link: NamedLink) -> Result<NamedLink, SettingsError> {
        let backward = link.backward.clone().unwrap_or_else(|| link.forward.clone());
        let (forward, backward) = self.directions(link.forward.clone(), backward)?;
        let backward = (backward != forward).then_some(backward);
        Ok(NamedLink { forward, backward, ..link })
    }
}

impl NamedNat {
    fn without_link(&self) -> ScenarioError {
        ScenarioError::NatWithoutLink { name: self.link.clone() }
    }
}
