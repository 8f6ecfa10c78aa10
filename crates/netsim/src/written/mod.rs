//! Scenario files as people write them: sections of keys and values, each with its line.
//!
//! A [`Document`] is the file as it stands; who reads it takes the values out of its sections one
//! by one, so that whatever is wrong is said with its line and its key.

mod cell;
mod event;
mod link;
mod nat;
mod section;
mod value;

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use cell::{CELL_KEYS, CellKey, WIFI_KEYS, WIMAX_KEYS, WrittenCell};
pub use event::{EVENT_KEYS, Happening, WrittenEvent};
pub use link::{WrittenLink, link_keys};
pub use nat::{NAT_KEYS, WrittenNat};
pub use section::Section;
pub use value::{Entry, Value};

/// A scenario file: its own keys, and its sections by what they describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The keys outside all sections.
    pub top: Section,
    /// The sections, as `links` for `[[links]]`, in the order of the file.
    pub sections: BTreeMap<String, Vec<Section>>,
}

/// Where something was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In this line of the file, counted from one.
    Line(usize),
    /// Not in the file: it was given instead of what stands there.
    Given,
}

/// What is wrong with a scenario, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {reason}")]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What, and what would be right.
    pub reason: String,
}

impl Fault {
    /// A fault at this place.
    #[must_use]
    pub fn new(place: Place, reason: impl Into<String>) -> Self {
        Self { place, reason: reason.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Given => f.write_str("in what is set"),
        }
    }
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// It is no TOML, or has other things than keys and sections.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Fault::new(line(text, at), error.message())
        })?;
        let mut document =
            Self { top: Section::new("the file", Place::Line(1)), sections: BTreeMap::new() };
        for (key, value) in table.get_ref() {
            let name = key.get_ref().as_ref();
            let items = value.get_ref().as_array();
            let is_table = |item: &Spanned<DeValue<'_>>| item.get_ref().is_table();
            let items = items.filter(|items| !items.is_empty() && items.iter().all(is_table));
            let Some(items) = items else {
                document.top.add(text, "", key, value)?;
                continue;
            };
            let sections = items.iter().map(|item| section(text, name, item));
            document.sections.insert(name.to_owned(), sections.collect::<Result<_, _>>()?);
        }
        Ok(document)
    }

    /// Gives a key another value than the file does. The key is one of the file's own, as
    /// `duration`, or one of the section that has a name: `bottleneck.loss`.
    ///
    /// # Errors
    /// There is no section of this name.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Fault> {
        let Some((name, rest)) = key.split_once('.') else {
            self.top.put(key, value);
            return Ok(());
        };
        let named = self.sections.values_mut().flatten();
        let mut named = named.filter(|section| section.name() == Some(name));
        let Some(section) = named.next() else {
            let reason = format!("nothing is called {name}; there is {}", self.names().join(", "));
            return Err(Fault::new(Place::Given, reason));
        };
        section.put(rest, value);
        Ok(())
    }

    /// What all is said, whatever the order of the keys and the way they are written: equal
    /// documents have equal texts.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut text = self.top.canonical();
        for (name, sections) in &self.sections {
            for section in sections {
                text.push_str(&format!("[[{name}]]\n{}", section.canonical()));
            }
        }
        text
    }

    /// The sections of one kind, taken out.
    pub fn take(&mut self, name: &str) -> Vec<Section> {
        // `events = []` is no events, and stands among the keys.
        self.top.entries.retain(|entry| entry.key != name || entry.value != Value::Many(vec![]));
        self.sections.remove(name).unwrap_or_default()
    }

    /// Refuses sections that nobody took.
    ///
    /// # Errors
    /// There is one; `known` are those that there can be.
    pub fn refuse_rest(&self, known: &[&str]) -> Result<(), Fault> {
        let Some((name, sections)) = self.sections.iter().find(|(_, rest)| !rest.is_empty()) else {
            return Ok(());
        };
        let place = sections.first().map_or(Place::Line(1), |section| section.place);
        let reason = format!("there is no section [[{name}]]; there is {}", known.join(", "));
        Err(Fault::new(place, reason))
    }

    fn names(&self) -> Vec<&str> {
        self.sections.values().flatten().filter_map(Section::name).collect()
    }
}

fn section(text: &str, name: &str, item: &Spanned<DeValue<'_>>) -> Result<Section, Fault> {
    let mut section = Section::new(&format!("[[{name}]]"), line(text, item.span().start));
    for (key, value) in item.get_ref().as_table().into_iter().flatten() {
        section.add(text, "", key, value)?;
    }
    Ok(section)
}

fn line(text: &str, at: usize) -> Place {
    Place::Line(text.get(..at).unwrap_or_default().matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"duration = "20s"

[[links]]
name = "wifi"
up.rate = "1M"
mtu = 1400

[[flows]]
name = "film"
paths = [["a", "b"], "c"]
"#;

    #[test]
    fn values_have_their_lines() {
        let mut document = Document::parse(FILE).unwrap();
        let link = document.take("links").remove(0);
        assert_eq!(link.place, Place::Line(3));
        let entry = |key: &str| link.entries.iter().find(|entry| entry.key == key).unwrap();
        assert_eq!(entry("up.rate").place, Place::Line(5));
        assert_eq!(entry("mtu").value, Value::One("1400".to_owned()));
        let flow = document.take("flows").remove(0);
        let one = |text: &str| Value::One(text.to_owned());
        let paths = Value::Many(vec![Value::Many(vec![one("a"), one("b")]), one("c")]);
        assert_eq!(flow.entries.iter().find(|entry| entry.key == "paths").unwrap().value, paths);
        assert_eq!(document.refuse_rest(&[]), Ok(()));
    }

    #[test]
    fn another_value_takes_the_place_of_the_files() {
        let mut document = Document::parse(FILE).unwrap();
        document.set("wifi.mtu", "1280").unwrap();
        document.set("wifi.delay", "5ms").unwrap();
        document.set("duration", "5s").unwrap();
        let with = FILE.replace("1400", "1280\ndelay = \"5ms\"").replace("20s", "5s");
        assert_eq!(document.canonical(), Document::parse(&with).unwrap().canonical());
        let error = document.set("lan.mtu", "1280").unwrap_err().to_string();
        assert_eq!(error, "in what is set: nothing is called lan; there is film, wifi");
    }

    #[test]
    fn what_is_no_scenario_is_refused_with_its_line() {
        for (text, words) in [
            ("a = 1\nb = \n", "line 2: "),
            ("a = 1\nb = 1979-05-27\n", "line 2: b: a date is no value here"),
            ("[[links]]\nname = \"a\"\n[[what]]\n", "line 3: there is no section [[what]]"),
            ("links = []\nlnks = []\n", "line 2: there is no key lnks in the file"),
        ] {
            let refuse = |mut document: Document| {
                document.take("links");
                document.top.refuse_rest(&["a"])?;
                document.refuse_rest(&["[[links]]"])
            };
            let error = Document::parse(text).and_then(refuse).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
