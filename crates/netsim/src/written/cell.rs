//! [`WrittenCell`]: a cell as a file describes it.

use std::time::Duration;

use super::link::named;
use super::{Fault, Place, Section};
use crate::settings::{ValueError, size, time};
use crate::{
    CellConfig, LinkConfig, Medium, Scheduling, Service, WifiConfig, WifiStandard, WimaxConfig,
};

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
    ("kind", &["wifi", "wimax"], "what its stations share: a channel of IEEE 802.11 or 802.16"),
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

/// The keys of `kind = "wimax"`.
pub const WIMAX_KEYS: &[CellKey] = &[
    ("frame", &["5ms"], "downlink and uplink together: 2, 2.5, 4, 5, 8, 10, 12.5 or 20ms; 5ms"),
    ("split", &["1:3"], "parts of a frame for downlink and uplink; 1:3"),
    ("nrtps_poll", &["10"], "frames from one poll of an nrtPS link to the next; 10"),
    (
        "scheduling",
        &["max-min", "proportional", "in-turn"],
        "how links of a service share slots; max-min",
    ),
];

impl WrittenCell {
    /// Reads a cell.
    ///
    /// # Errors
    /// A key is missing, unknown, or has no value that it can have.
    pub(super) fn read(mut section: Section) -> Result<Self, Fault> {
        let place = section.place;
        let name = section.need("name", "\"home\"", named)?;
        let read: fn(Section) -> Result<Medium, Fault> =
            section.need("kind", "\"wifi\"", |kind| match kind {
                "wifi" => Ok(wifi as fn(Section) -> Result<Medium, Fault>),
                "wimax" => Ok(wimax),
                _ => Err(format!("\"{kind}\" is no kind of cell: give wifi or wimax")),
            })?;
        let config = CellConfig { name: Some(name.clone()), ..read(section)?.into() };
        Ok(Self { config, name, place })
    }

    /// A station's link, before its own keys.
    pub(super) fn link(&self, service: Option<Service>) -> Result<LinkConfig, String> {
        let Self { config, name, .. } = self;
        if service.is_some() && matches!(config.medium, Medium::Wifi(_)) {
            return Err(format!("{name} is a Wi-Fi cell, without services: leave service out"));
        }
        let cell = CellConfig { service: service.unwrap_or_default(), ..config.clone() };
        Ok(LinkConfig { cell: Some(cell), ..config.medium.link() })
    }
}

fn wifi(mut section: Section) -> Result<Medium, Fault> {
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
    Ok(Medium::Wifi(config))
}

fn wimax(mut section: Section) -> Result<Medium, Fault> {
    let WimaxConfig { frame_us, split, nrtps_poll, scheduling } = WimaxConfig::default();
    let config = WimaxConfig {
        frame_us: section.read("frame", frame)?.unwrap_or(frame_us),
        split: section.read("split", parts)?.unwrap_or(split),
        nrtps_poll: section.read("nrtps_poll", frames)?.unwrap_or(nrtps_poll),
        scheduling: section.read("scheduling", self::scheduling)?.unwrap_or(scheduling),
    };
    let known: Vec<&str> = CELL_KEYS.iter().chain(WIMAX_KEYS).map(|key| key.0).collect();
    section.refuse_rest(&known)?;
    Ok(Medium::Wimax(config))
}

fn scheduling(text: &str) -> Result<Scheduling, String> {
    match text {
        "max-min" => Ok(Scheduling::MaxMin),
        "proportional" => Ok(Scheduling::Proportional),
        "in-turn" => Ok(Scheduling::InTurn),
        _ => Err(format!("\"{text}\" is no scheduling: give max-min, proportional or in-turn")),
    }
}

fn frame(text: &str) -> Result<u32, String> {
    let known = |us: &u32| Ok(Duration::from_micros((*us).into())) == time(text);
    WimaxConfig::FRAMES_US.into_iter().find(known).ok_or_else(|| {
        format!("\"{text}\" is no frame: give 2ms, 2.5ms, 4ms, 5ms, 8ms, 10ms, 12.5ms or 20ms")
    })
}

fn parts(text: &str) -> Result<(u32, u32), String> {
    let part = |text: &str| text.parse().ok().filter(|part| (1..=100).contains(part));
    let parts = text.split_once(':').and_then(|(down, up)| Some((part(down)?, part(up)?)));
    parts.ok_or_else(|| format!("\"{text}\" is no split: give downlink and uplink, such as 1:3"))
}

fn frames(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000).contains(number));
    number.ok_or_else(|| format!("\"{text}\" is no number of frames: give 1 to 1000"))
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
        for (keys, values) in [
            (wifi, (|key| key.1[0]) as fn(&CellKey) -> &'static str),
            (wifi, |key| if key.0 == "kind" { "wifi" } else { key.1[key.1.len() - 1] }),
            (WIMAX_KEYS, |key| if key.0 == "kind" { "wimax" } else { key.1[0] }),
            (WIMAX_KEYS, |key| if key.0 == "kind" { "wimax" } else { key.1[key.1.len() - 1] }),
        ] {
            assert!(cell(keys, values).is_ok(), "{:?}", cell(keys, values));
        }
    }

    #[test]
    fn links_of_a_wimax_cell_have_services() {
        let text = "[[cells]]\nname = \"mast\"\nkind = \"wimax\"\n\
                    frame = \"12.5ms\"\nsplit = \"1:1\"\nscheduling = \"in-turn\"\n\
                    [[links]]\nname = \"a\"\ncell = \"mast\"\nservice = \"nrtps\"\n\
                    [[links]]\nname = \"b\"\ncell = \"mast\"\nrate = \"16M\"\n";
        let links = links(text).unwrap();
        let cells = links.iter().map(|link| link.config.forward.cell.clone().unwrap());
        let cells: Vec<CellConfig> = cells.collect();
        assert_eq!([cells[0].service, cells[1].service], [Service::Nrtps, Service::Rtps]);
        let scheduling = Scheduling::InTurn;
        let usual = WimaxConfig::default();
        let config = WimaxConfig { frame_us: 12_500, split: (1, 1), scheduling, ..usual };
        assert_eq!(cells[0].medium, Medium::Wimax(config));
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
            (home.to_owned(), "line 1: cell: no link is in the cell home"),
            (format!("{home}{link}service = \"rtps\"\n"), "line 4: home is a Wi-Fi cell"),
            (home.replace("wifi", "wimax") + "frame = \"6ms\"\n", "line 4: frame: \"6ms\" is no"),
            (home.replace("wifi", "wimax") + "split = \"1:0\"\n", "line 4: split: \"1:0\" is no"),
            (
                home.replace("wifi", "wimax") + "scheduling = \"fifo\"\n",
                "line 4: scheduling: \"fifo\" is no scheduling: give max-min, proportional or",
            ),
            (format!("{home}{link}rate = \"3M\"\n"), "line 7: 802.11n has no rate of 3.00 Mbit/s"),
            (format!("{home}{link}preset = \"dsl\"\n"), "line 4: preset and cell both say"),
            (
                format!("{home}{}", link.replace("\"a\"", "\"home\"")),
                "line 4: name: two are called home",
            ),
            (link.to_owned(), "line 3: cell: there is no cell home: give [[cells]] of that name"),
        ] {
            let error = links(&text).unwrap_err().to_string();
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }
}
