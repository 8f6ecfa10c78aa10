//! [`LinkArgument`]: one `--link`, such as `name=wifi,listen=0.0.0.0:7000,target=host:9000`.

use std::net::SocketAddr;
use std::str::FromStr;

use anabranch_driver::emulator::EmulatedLink;
use anabranch_netsim::settings::{KEYS, LinkSettings, SettingsError, key_and_value};
use anabranch_netsim::{LinkConfig, NamedLink};
use thiserror::Error;

use crate::link::LinkFlags;
use crate::values::{self, AddressError};

/// One link, as given.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinkArgument {
    pub(super) name: String,
    listen: SocketAddr,
    target: SocketAddr,
    settings: LinkSettings,
}

/// A link that makes no sense.
#[derive(Debug, Clone, PartialEq, Error)]
pub(super) enum LinkError {
    #[error(
        "there is no key {key}: the keys are name, listen, target, {KEYS}, the last {count} also \
         with up. or down. in front", count = KEYS.split(',').count()
    )]
    UnknownKey { key: String },
    #[error("{key} is missing: give {key}={example}")]
    Missing { key: &'static str, example: &'static str },
    #[error(transparent)]
    Settings(SettingsError),
    #[error("{key}: {error}")]
    Address { key: String, error: AddressError },
    #[error("link {name} is set by the scenario: leave out all but name, listen and target")]
    SetTwice { name: String },
}

impl LinkArgument {
    /// The link that the flags outside of `--link` describe.
    pub(super) fn alone(listen: SocketAddr, target: SocketAddr, both: LinkFlags) -> Self {
        Self { name: "link".to_owned(), listen, target, settings: LinkSettings::alike(both.into()) }
    }

    /// The link as it is set here; a perfect one but for that.
    pub(super) fn link(self) -> Result<EmulatedLink, LinkError> {
        let Self { name, listen, target, settings } = self;
        let perfect = LinkConfig::default();
        let (up, down) = settings.directions(perfect.clone(), perfect)?;
        Ok(EmulatedLink { name, listen, target, up, down })
    }

    /// The link as a scenario sets it.
    pub(super) fn link_as(self, link: &NamedLink) -> Result<EmulatedLink, LinkError> {
        let Self { name, listen, target, settings } = self;
        if settings != LinkSettings::default() {
            return Err(LinkError::SetTwice { name });
        }
        let config = link.config();
        Ok(EmulatedLink { name, listen, target, up: config.forward, down: config.backward })
    }
}

impl FromStr for LinkArgument {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let (mut name, mut listen, mut target) = (None, None, None);
        let mut settings = LinkSettings::default();
        for part in text.split(',') {
            let (key, value) = key_and_value(part)?;
            match key {
                "name" if value.is_empty() => {
                    return Err(SettingsError::NoValue { part: part.to_owned() }.into());
                }
                "name" => once(&mut name, key, value.to_owned())?,
                "listen" => once(&mut listen, key, address(key, value)?)?,
                "target" => once(&mut target, key, address(key, value)?)?,
                _ => settings.set(key, value, &values::read)?,
            }
        }
        let missing = |key, example| LinkError::Missing { key, example };
        Ok(Self {
            name: name.ok_or_else(|| missing("name", "wifi"))?,
            listen: listen.ok_or_else(|| missing("listen", "127.0.0.1:7000"))?,
            target: target.ok_or_else(|| missing("target", "127.0.0.1:9000"))?,
            settings,
        })
    }
}

impl From<SettingsError> for LinkError {
    fn from(error: SettingsError) -> Self {
        // More keys are known here than those of the settings.
        if let SettingsError::UnknownKey { key } = error {
            return Self::UnknownKey { key };
        }
        Self::Settings(error)
    }
}

fn address(key: &str, value: &str) -> Result<SocketAddr, LinkError> {
    values::address(value).map_err(|error| LinkError::Address { key: key.to_owned(), error })
}

fn once<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), SettingsError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SettingsError::Repeated { key: key.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ENDS: &str = "name=wifi,listen=127.0.0.1:7000,target=127.0.0.1:9000";

    fn link(more: &str) -> Result<EmulatedLink, LinkError> {
        format!("{ENDS}{more}").parse::<LinkArgument>()?.link()
    }

    #[test]
    fn both_directions_are_alike_unless_one_is_named() {
        let link = link(",down.delay=5ms,preset=dsl,delay=9ms,up.mtu=1400").unwrap();
        let delay = Duration::from_millis;
        assert_eq!(link.up, LinkConfig { delay: delay(9), mtu: 1_400, ..LinkConfig::dsl() });
        assert_eq!(link.down, LinkConfig { delay: delay(5), ..LinkConfig::dsl() });
        assert_eq!(
            (link.name.as_str(), link.listen.port(), link.target.port()),
            ("wifi", 7000, 9000)
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        let refused = [
            (",rate", "\"rate\" says nothing"),
            (",speed=1M", "there is no key speed: the keys are name, listen, target, preset"),
            (",left.rate=1M", "there is no key left.rate"),
            (",rate=1M,rate=2M", "rate is given twice"),
            (",name=mobile", "name is given twice"),
            (",rate=fast", "rate: \"fast\" is no rate: write 500k"),
            (",queue=10ms", "needs a rate"),
        ];
        for (more, expected) in refused {
            let error = link(more).unwrap_err().to_string();
            assert!(error.contains(expected), "{more}: {error}");
        }
        let error = "name=wifi".parse::<LinkArgument>().unwrap_err();
        let missing = LinkError::Missing { key: "listen", example: "127.0.0.1:7000" };
        assert_eq!(error, missing);
    }

    #[test]
    fn a_scenario_sets_its_links_alone() {
        let forward = LinkConfig::wifi();
        let named = NamedLink { name: "wifi".to_owned(), forward: forward.clone(), backward: None };
        let argument: LinkArgument = ENDS.parse().unwrap();
        assert_eq!(argument.link_as(&named).unwrap().down, forward);
        let argument: LinkArgument = format!("{ENDS},down.rate=1M").parse().unwrap();
        let twice = LinkError::SetTwice { name: "wifi".to_owned() };
        assert_eq!(argument.link_as(&named), Err(twice));
    }
}
