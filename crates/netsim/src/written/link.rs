//! [`WrittenLink`]: a link as a file describes it.

use super::{Document, Entry, Fault, Place, Section, Value, WrittenCell};
use crate::settings::{KEYS, LinkSettings, ReadFile, SettingsError};
use crate::{DuplexConfig, LinkConfig, Service};

/// A link as a file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenLink {
    /// Its name.
    pub name: String,
    /// Where it begins and ends: `client` and `server` unless said otherwise.
    pub between: (String, String),
    /// Both directions.
    pub config: DuplexConfig,
    /// Where it is written.
    pub place: Place,
}

/// The keys of a link's settings, without `up.` and `down.`.
pub fn link_keys() -> impl Iterator<Item = &'static str> {
    KEYS.split(", ")
}

impl WrittenLink {
    /// Reads all links of a file, and the cells that they are in. `read` reads the files that they
    /// name.
    ///
    /// # Errors
    /// A key is missing, unknown, or has no value that it can have; a cell has no link, or is
    /// called as one.
    pub fn read_all(document: &mut Document, read: ReadFile<'_>) -> Result<Vec<Self>, Fault> {
        let cells = document.take("cells").into_iter().map(WrittenCell::read);
        let cells: Vec<_> = cells.collect::<Result<_, _>>()?;
        let links = document.take("links").into_iter().map(|link| Self::read(link, &cells, read));
        let links: Vec<Self> = links.collect::<Result<_, _>>()?;
        for (number, WrittenCell { name, place, .. }) in cells.iter().enumerate() {
            let earlier = cells.iter().take(number).map(|cell| (&cell.name, *place));
            let mut names = links.iter().map(|link| (&link.name, link.place)).chain(earlier);
            if let Some((_, place)) = names.find(|(other, _)| *other == name) {
                let reason =
                    format!("name: two are called {name}: give each cell and link its own name");
                return Err(Fault::new(place, reason));
            }
            if !links.iter().any(|link| link.is_in(name)) {
                let reason =
                    format!("cell: no link is in the cell {name}: give one cell = \"{name}\"");
                return Err(Fault::new(*place, reason));
            }
        }
        Ok(links)
    }

    fn read(
        mut section: Section,
        cells: &[WrittenCell],
        read: ReadFile<'_>,
    ) -> Result<Self, Fault> {
        let place = section.place;
        let name = section.need("name", "\"wifi\"", named)?;
        let between = match section.take("between") {
            None => ("client".to_owned(), "server".to_owned()),
            Some(entry) => ends(&entry)?,
        };
        if between.0 == between.1 {
            let reason =
                format!("between: {name} leads from {0} to {0}: give two hosts", between.0);
            return Err(Fault::new(place, reason));
        }
        let cell = section.read("cell", |name| {
            let found = cells.iter().find(|cell| cell.name == name);
            found.ok_or_else(|| format!("there is no cell {name}: give [[cells]] of that name"))
        })?;
        if cell.is_some() && section.entries.iter().any(|entry| entry.key.ends_with("preset")) {
            let reason = "preset and cell both say what the link is like: give one of them";
            return Err(section.fault(reason));
        }
        let service = section.read("service", service)?;
        let base = match cell {
            Some(cell) => cell.link(service).map_err(|reason| section.fault(reason))?,
            None if service.is_some() => {
                return Err(section.fault("a service without a cell: give the link a cell, too"));
            }
            None => LinkConfig::default(),
        };
        let config = changed(section, base.into(), read)?;
        Ok(Self { name, between, config, place })
    }

    fn is_in(&self, cell: &str) -> bool {
        let config = self.config.forward.cell.as_ref();
        config.is_some_and(|config| config.name.as_deref() == Some(cell))
    }
}

/// A link with what the rest of a section says of it.
pub(crate) fn changed(
    section: Section,
    config: DuplexConfig,
    read: ReadFile<'_>,
) -> Result<DuplexConfig, Fault> {
    let (place, title) = (section.place, section.title);
    let mut settings = LinkSettings::default();
    let mut last = place;
    for Entry { key, value, place } in section.entries {
        last = place;
        let Value::One(value) = value else {
            return Err(Fault::new(place, format!("{key}: give one value, no list")));
        };
        settings.set(&key, &value, read).map_err(|error| {
            let SettingsError::UnknownKey { key } = &error else {
                return Fault::new(place, error.to_string());
            };
            let reason = format!(
                "there is no key {key} in {title}: a link's are {KEYS}, each also with up. or \
                 down. in front"
            );
            Fault::new(place, reason)
        })?;
    }
    let DuplexConfig { forward, backward } = config;
    let (forward, backward): (LinkConfig, LinkConfig) = settings
        .directions(forward, backward)
        .map_err(|error| Fault::new(last.max(place), error.to_string()))?;
    Ok(DuplexConfig { forward, backward })
}

pub(super) fn named(name: &str) -> Result<String, &'static str> {
    match name.is_empty() || name.contains(['.', '=', ',', ' ']) {
        true => Err("a name has at least one character, and no dot, comma, blank or ="),
        false => Ok(name.to_owned()),
    }
}

fn service(text: &str) -> Result<Service, String> {
    match text {
        "rtps" => Ok(Service::Rtps),
        "nrtps" => Ok(Service::Nrtps),
        _ => Err(format!("\"{text}\" is no service: give rtps or nrtps")),
    }
}

fn ends(entry: &Entry) -> Result<(String, String), Fault> {
    if let Value::Many(ends) = &entry.value
        && let [Value::One(first), Value::One(second)] = ends.as_slice()
    {
        return Ok((first.clone(), second.clone()));
    }
    Err(Fault::new(entry.place, "between: give two hosts, as [\"client\", \"server\"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(text: &str) -> Result<WrittenLink, Fault> {
        let mut document = Document::parse(&format!("[[links]]\n{text}"))?;
        let links = WrittenLink::read_all(&mut document, &|_| Err("there is none".to_owned()));
        links.map(|mut links| links.remove(0))
    }

    #[test]
    fn a_link_is_written_as_everywhere() {
        let text = "name = \"a\"\npreset = \"wifi\"\nup.rate = \"1M\"\nmtu = 1300\n";
        let link = link(text).unwrap();
        assert_eq!(link.between, ("client".to_owned(), "server".to_owned()));
        assert_eq!(link.config.backward, LinkConfig { mtu: 1_300, ..LinkConfig::wifi() });
        assert_eq!(link.config.forward.rate.unwrap().as_bps(), 1_000_000);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, words) in [
            ("rate = \"1M\"", "line 1: [[links]] lacks name: give name = \"wifi\""),
            ("name = \"a\"\nspeed = \"1M\"", "line 3: there is no key speed in [[links]]"),
            ("name = \"a\"\nrate = \"fast\"", "line 3: rate: \"fast\" is no rate"),
            ("name = \"a\"\nrate = [\"1M\"]", "line 3: rate: give one value"),
            ("name = \"a.b\"", "line 2: name: a name has"),
            ("name = \"a\"\nbetween = [\"x\"]", "line 3: between: give two hosts"),
            ("name = \"a\"\nbetween = [\"x\", \"x\"]", "line 1: between: a leads from x to x"),
            ("name = \"a\"\nqueue = \"10ms\"", "line 3: a queue of 10ms needs a rate"),
        ] {
            let error = link(text).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
