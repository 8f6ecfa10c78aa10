//! [`WrittenEvent`]: what a file says happens to a link, or is to be checked.

use std::time::Duration;

use super::link::changed;
use super::{Fault, Place, Section, WrittenLink};
use crate::settings::{ReadFile, time};
use crate::{CellConfig, DuplexConfig, LinkConfig};

/// The keys of `[[events]]`, but for those of a link that changes.
pub const EVENT_KEYS: [&str; 7] = ["at", "cut", "restore", "rebind", "address", "change", "check"];

/// Something that happens.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenEvent {
    /// When, from the beginning.
    pub at: Duration,
    /// What.
    pub what: Happening,
    /// Where it is written.
    pub place: Place,
}

/// What happens. A link is told by its number in the file, from zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// A link goes down, both directions.
    Cut(usize),
    /// It is up again.
    Restore(usize),
    /// The NAT at a link forgets its mappings.
    Rebind(usize),
    /// The NAT at a link gets another public address.
    Address(usize),
    /// A link changes: this is all of it from now on.
    Change(usize, Box<DuplexConfig>),
    /// Whoever plays the file knows what the words mean.
    Check(String),
}

impl WrittenEvent {
    /// Reads all events of a file, and puts them in order; those of one time stay as they are
    /// written.
    ///
    /// # Errors
    /// A key is missing, unknown or has no value that it can have; a link does not exist.
    pub fn read_all(
        sections: Vec<Section>,
        links: &[WrittenLink],
        read: ReadFile<'_>,
    ) -> Result<Vec<Self>, Fault> {
        let at = |mut section: Section| Ok((section.need("at", "\"8s\"", time)?, section));
        let mut timed: Vec<(Duration, Section)> =
            sections.into_iter().map(at).collect::<Result<_, Fault>>()?;
        timed.sort_by_key(|(at, _)| *at);
        let mut configs: Vec<DuplexConfig> = links.iter().map(|link| link.config.clone()).collect();
        let one = |(at, section): (Duration, Section)| {
            let place = section.place;
            Ok(Self { at, what: happening(section, links, &mut configs, read)?, place })
        };
        timed.into_iter().map(one).collect()
    }
}

fn happening(
    mut section: Section,
    links: &[WrittenLink],
    configs: &mut [DuplexConfig],
    read: ReadFile<'_>,
) -> Result<Happening, Fault> {
    let find = |name: &str| {
        let found = links.iter().position(|link| link.name == name);
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        found.ok_or_else(|| format!("there is no link {name}; there is {}", names.join(", ")))
    };
    let what = if let Some(link) = section.read("cut", find)? {
        Happening::Cut(link)
    } else if let Some(link) = section.read("restore", find)? {
        Happening::Restore(link)
    } else if let Some(link) = section.read("rebind", find)? {
        Happening::Rebind(link)
    } else if let Some(link) = section.read("address", find)? {
        Happening::Address(link)
    } else if let Some(link) = section.read("change", find)? {
        if section.entries.is_empty() {
            return Err(section.fault("nothing changes: give a link's key too, as rate = \"2M\""));
        }
        let (place, before) = (section.place, configs[link].clone());
        let config = changed(section, before.clone(), read)?;
        let cells = |config: &DuplexConfig| [&config.forward, &config.backward].map(cell);
        if cells(&config) != cells(&before) {
            let reason = "a link stays in its cell, or in none: give other keys than preset";
            return Err(Fault::new(place, reason));
        }
        configs[link] = config.clone();
        return Ok(Happening::Change(link, Box::new(config)));
    } else if let Some(words) = section.read("check", |words| Ok::<_, Fault>(words.to_owned()))? {
        Happening::Check(words)
    } else {
        let reason = "nothing happens: give cut, restore, rebind, address or change with a \
                      link, or check";
        return Err(section.fault(reason));
    };
    section.refuse_rest(&EVENT_KEYS)?;
    Ok(what)
}

fn cell(config: &LinkConfig) -> Option<CellConfig> {
    config.cell.clone()
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rate;

    use super::super::Document;
    use super::*;

    const LINKS: &str = "[[links]]\nname = \"a\"\nrate = \"9M\"\n[[links]]\nname = \"b\"\n";

    fn events(text: &str) -> Result<Vec<WrittenEvent>, Fault> {
        let mut document = Document::parse(&format!("{LINKS}{text}"))?;
        let read: ReadFile<'_> = &|_| Err("there is none".to_owned());
        let links = WrittenLink::read_all(&mut document, read)?;
        WrittenEvent::read_all(document.take("events"), &links, read)
    }

    #[test]
    fn events_are_in_order_and_changes_build_on_each_other() {
        let events = events(
            "[[events]]\nat = \"2s\"\nchange = \"a\"\ndelay = \"5ms\"\n\
             [[events]]\nat = \"1s\"\nchange = \"a\"\nrate = \"2M\"\n\
             [[events]]\nat = \"1s\"\ncut = \"b\"\n",
        );
        let events = events.unwrap();
        assert_eq!(events[1].what, Happening::Cut(1));
        let Happening::Change(0, config) = &events[2].what else { panic!("{events:?}") };
        assert_eq!(config.backward.delay, Duration::from_millis(5));
        assert_eq!(config.forward.rate, Some(Rate::mbps(2)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, words) in [
            ("cut = \"a\"", "line 6: [[events]] lacks at: give at = \"8s\""),
            ("at = \"1s\"", "line 6: nothing happens: give cut"),
            ("at = \"1s\"\ncut = \"c\"", "line 8: cut: there is no link c; there is a, b"),
            ("at = \"1s\"\ncut = \"a\"\nloss = \"1%\"", "line 9: there is no key loss"),
            ("at = \"1s\"\nchange = \"a\"", "line 6: nothing changes"),
            ("at = \"1s\"\nchange = \"a\"\nloss = \"1\"", "line 9: loss: \"1\" is no loss"),
            ("at = \"1s\"\nchange = \"a\"\npreset = \"wifi-cell\"", "line 6: a link stays in"),
        ] {
            let error = events(&format!("[[events]]\n{text}")).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
