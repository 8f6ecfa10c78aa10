//! [`WrittenCell`]: a cell as a file describes it.

use super::link::named;
use super::{Fault, Place, Section};
use crate::settings::{ValueError, size};
use crate::{CellConfig, LinkConfig, Medium, WifiConfig, WifiStandard};

/// A cell as a file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCell {
    /// The name by which links join it, and what it is like.
    pub config: CellConfig,
    /// Its name again.
    pub name: String,
    /// Where it is written.
    pub place: Place,
}

/// A key of `[[cells]]`: its name, values that it can have, and what it says, with what holds where
/// it is left out.
pub type CellKey = (&'static str, &'static [&'static str], &'static str);

/// The keys of every kind of cell.
pub const CELL_KEYS: &[CellKey] = &[
    ("name", &["home"], "what its links call it, and --set"),
    ("kind", &["wifi"], "what its stations share: a channel of IEEE 802.11"),
];

/// The keys of `kind = "wifi"`.
pub const WIFI_KEYS: &[CellKey] = &[
    ("standard", &["a", "g", "n", "fhss"], "its physical layer: 802.11a, g, n; n"),
    ("cw_min", &["15"], "the smallest contention window, in slots; 15"),
    ("cw_max", &["1023"], "the largest; 1023"),
    ("attempts", &["7", "endless"], "how often a frame is sent before it is given up; 7"),
    ("rts_over", &["500B", "never"], "longer frames are announced by RTS and CTS; never"),
    ("aggregate", &["64K", "never"], "bytes that share a transmission of 802.11n; 65535B"),
];

impl WrittenCell {
    /// Reads a cell.
    ///
    /// # Errors
    /// A key is missing, unknown, or has no value that it can have.
    pub(super) fn read(mut section: Section) -> Result<Self, Fault> {
        let place = section.place;
        let name = section.need("name", "\"home\"", named)?;
        section.need("kind", "\"wifi\"", |kind| match kind {
            "wifi" => Ok(()),
            _ => Err(format!("\"{kind}\" is no kind of cell: give wifi")),
        })?;
        let medium = Medium::Wifi(wifi(section)?);
        Ok(Self { config: CellConfig { name: Some(name.clone()), medium }, name, place })
    }

    /// A station's link, before its own keys.
    pub(super) fn link(&self) -> LinkConfig {
        LinkConfig { cell: Some(self.config.clone()), ..self.config.medium.link() }
    }
}

fn wifi(mut section: Section) -> Result<WifiConfig, Fault> {
    let standard = section.read("standard", standard)?.unwrap_or(WifiStandard::N);
    let mut config = WifiConfig::new(standard);
    let (least, most) = config.contention_window;
    let least = section.read("cw_min", slots)?.unwrap_or(least);
    let most = section.read("cw_max", slots)?.unwrap_or(most);
    if least > most {
        let reason = format!("cw_min is {least} and cw_max {most}: give a cw_min that is less");
        return Err(section.fault(reason));
    }
    config.contention_window = (least, most);
    config.attempts_max = section.read("attempts", attempts)?.unwrap_or(config.attempts_max);
    config.rts_over = section.read("rts_over", bytes)?.unwrap_or(config.rts_over);
    if let Some(aggregate) = section.read("aggregate", bytes)? {
        if standard != WifiStandard::N {
            let reason = "only 802.11n aggregates: leave aggregate out, or give standard = \"n\"";
            return Err(section.fault(reason));
        }
        // 64K is one byte more than fits.
        config.aggregate_bytes = aggregate.unwrap_or(0).min(config.aggregate_bytes);
    }
    let known: Vec<&str> = CELL_KEYS.iter().chain(WIFI_KEYS).map(|key| key.0).collect();
    section.refuse_rest(&known)?;
    Ok(config)
}

fn standard(text: &str) -> Result<WifiStandard, String> {
    match text {
        "a" => Ok(WifiStandard::A),
        "g" => Ok(WifiStandard::G),
        "n" => Ok(WifiStandard::N),
        "fhss" => Ok(WifiStandard::Fhss),
        _ => Err(format!("\"{text}\" is no standard: give a, g, n or fhss")),
    }
}

/// A contention window.
fn slots(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=32_767).contains(number));
    number.ok_or_else(|| format!("\"{text}\" is no window: give 1 to 32767 slots"))
}

fn attempts(text: &str) -> Result<Option<u32>, String> {
    if text == "endless" {
        return Ok(None);
    }
    let number = text.parse().ok().filter(|number| (1..=1_000).contains(number)).map(Some);
    number.ok_or_else(|| format!("\"{text}\" is no number of attempts: give 1 to 1000, or endless"))
}

fn bytes(text: &str) -> Result<Option<u32>, ValueError> {
    if text == "never" {
        return Ok(None);
    }
    size(text).map(|bytes| Some(u32::try_from(bytes).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rate;

    use super::super::{Document, WrittenLink};
    use super::*;

    fn links(text: &str) -> Result<Vec<WrittenLink>, Fault> {
        let mut document = Document::parse(text)?;
        let links = WrittenLink::read_all(&mut document, &|_| Err("there is none".to_owned()))?;
        document.refuse_rest(&[])?;
        Ok(links)
    }

    #[test]
    fn links_join_a_cell_by_its_name() {
        let text = "[[cells]]\nname = \"home\"\nkind = \"wifi\"\nstandard = \"g\"\nattempts = 4\n\
                    [[links]]\nname = \"a\"\ncell = \"home\"\nup.rate = \"6M\"\n\
                    [[links]]\nname = \"b\"\ncell = \"home\"\nloss = \"2%\"\n";
        let links = links(text).unwrap();
        let [a, b] = links.as_slice() else { panic!("{links:?}") };
        assert_eq!(a.config.forward.rate, Some(Rate::mbps(6)));
        assert_eq!(a.config.backward.rate, Some(Rate::mbps(54)));
        assert_eq!(a.config.forward.cell, b.config.backward.cell);
        let cell = a.config.forward.cell.clone().unwrap();
        assert_eq!(cell.name.as_deref(), Some("home"));
        let expected = WifiConfig { attempts_max: Some(4), ..WifiConfig::new(WifiStandard::G) };
        assert_eq!(cell.medium, Medium::Wifi(expected));
    }

    #[test]
    fn every_key_of_a_cell_can_be_set_and_some_values_are_words() {
        let cell = |keys: &[CellKey], values: fn(&CellKey) -> &'static str| {
            let said = |key: &CellKey| format!("{} = \"{}\"\n", key.0, values(key));
            let said: String = CELL_KEYS.iter().chain(keys).map(said).collect();
            links(&format!("[[cells]]\n{said}[[links]]\nname = \"a\"\ncell = \"home\"\n"))
        };
        let wifi = &WIFI_KEYS[1..];
        for values in [|key: &CellKey| key.1[0], |key: &CellKey| key.1[key.1.len() - 1]] {
            assert!(cell(wifi, values).is_ok(), "{:?}", cell(wifi, values));
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let home = "[[cells]]\nname = \"home\"\nkind = \"wifi\"\n";
        let link = "[[links]]\nname = \"a\"\ncell = \"home\"\n";
        for (text, words) in [
            (format!("[[cells]]\nname = \"home\"\n{link}"), "line 1: [[cells]] lacks kind"),
            (home.replace("wifi", "lifi"), "line 3: kind: \"lifi\" is no kind of cell"),
            (format!("{home}speed = 1\n{link}"), "line 4: there is no key speed in [[cells]]"),
            (format!("{home}standard = \"z\"\n"), "line 4: standard: \"z\" is no standard"),
            (format!("{home}attempts = 0\n"), "line 4: attempts: \"0\" is no number of attempts"),
            (format!("{home}cw_max = 7\n"), "line 1: cw_min is 15 and cw_max 7"),
            (format!("{home}standard = \"g\"\naggregate = \"4K\"\n"), "line 1: only 802.11n"),
            (home.to_owned(), "line 1: no link is in the cell home"),
            (format!("{home}{link}rate = \"3M\"\n"), "line 7: 802.11n has no rate of 3.00 Mbit/s"),
            (format!("{home}{link}preset = \"dsl\"\n"), "line 4: preset and cell both say"),
            (format!("{home}{}", link.replace("\"a\"", "\"home\"")), "line 4: two are called home"),
            (link.to_owned(), "line 3: cell: there is no cell home: give [[cells]] of that name"),
        ] {
            let error = links(&text).unwrap_err().to_string();
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }
}
