//! The treatment table between the session and the page.

use std::time::Duration;

use anabranch_sansio::PathId;
use anabranch_session::treatment::{MediaClass, Preset, Reliability, Treatment, TreatmentTable};

use super::narrator::page_id;
use crate::page::protocol::{self as page, Named, Range, TreatmentRanges, Treatments};

/// What the page offers.
pub(super) const RANGES: TreatmentRanges = TreatmentRanges {
    priority: Range(0.0, 7.0),
    lifetime_ms: Range(10.0, 10_000.0),
    max_retransmissions: Range(0.0, 20.0),
};

/// What the clip consists of: the session's own messages are not to be changed.
const CLASSES: [(MediaClass, &str, &str); 4] = [
    (MediaClass::KeyFrame, "video_key", "Key frames"),
    (MediaClass::Reference, "video_base", "Base picture"),
    (MediaClass::Enhancement, "video_enhancement", "Enhancement"),
    (MediaClass::Audio, "audio", "Sound"),
];

/// The rows of the page's table.
pub(super) fn class_names() -> Vec<Named> {
    CLASSES.iter().map(|(_, id, name)| Named { id: (*id).into(), name: (*name).into() }).collect()
}

/// The name of a class as people know it.
pub(super) fn class_name(id: &str) -> Option<&'static str> {
    CLASSES.iter().find(|(_, known, _)| *known == id).map(|(_, _, name)| *name)
}

/// The table as the page shows it. A share of the latency is shown as the time that it is.
pub(super) fn to_page(table: &TreatmentTable, latency: Duration) -> Treatments {
    let rows = CLASSES.iter().map(|(class, id, _)| {
        let treatment = table.treatment(*class);
        page::Treatment {
            class: (*id).to_owned(),
            reliability: reliability_to_page(treatment.reliability, latency),
            ordered: treatment.ordered,
            priority: treatment.priority.into(),
            path: treatment.path.map(|path| page_id(PathId(path.into()))),
        }
    });
    Treatments { preset: table.preset().map(preset_to_page), treatments: rows.collect() }
}

/// A treatment as the page asks for it, if it names one of our classes.
pub(super) fn from_page(treatment: &page::Treatment) -> Option<(MediaClass, Treatment)> {
    let (class, _, _) = CLASSES.iter().find(|(_, id, _)| *id == treatment.class)?;
    let path = match treatment.path {
        None => None,
        Some(id) => Some(u8::try_from(id.checked_sub(1)?).ok()?),
    };
    let reliability = match treatment.reliability {
        page::Reliability::Reliable => Reliability::Reliable,
        page::Reliability::LifetimeMs(ms) => Reliability::LifetimeMs(ms),
        page::Reliability::MaxRetransmissions(most) => Reliability::MaxRetransmissions(most),
    };
    let priority = u8::try_from(treatment.priority).ok()?;
    let treatment =
        Treatment { ordered: treatment.ordered, path, ..Treatment::new(reliability, priority) };
    Some((*class, treatment))
}

/// A preset as the page asks for it.
pub(super) const fn preset_from_page(preset: page::Preset) -> Preset {
    match preset {
        page::Preset::Reliable => Preset::Reliable,
        page::Preset::Layered => Preset::Layered,
        page::Preset::Live => Preset::Live,
    }
}

const fn preset_to_page(preset: Preset) -> page::Preset {
    match preset {
        Preset::Reliable => page::Preset::Reliable,
        Preset::Layered => page::Preset::Layered,
        Preset::Live => page::Preset::Live,
    }
}

fn reliability_to_page(reliability: Reliability, latency: Duration) -> page::Reliability {
    match reliability {
        Reliability::Reliable => page::Reliability::Reliable,
        Reliability::LifetimeMs(ms) => page::Reliability::LifetimeMs(ms),
        Reliability::LatencyPercent(percent) => {
            let lifetime = latency * u32::from(percent) / 100;
            let ms = u32::try_from(lifetime.as_millis()).unwrap_or(u32::MAX);
            page::Reliability::LifetimeMs(ms)
        }
        Reliability::MaxRetransmissions(most) => page::Reliability::MaxRetransmissions(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: Duration = Duration::from_millis(200);

    #[test]
    fn presets_are_recognized_and_shares_of_the_latency_shown_as_time() {
        for preset in Preset::ALL {
            let page = to_page(&preset.table(), LATENCY);
            assert_eq!(page.preset.map(preset_from_page), Some(preset));
            assert_eq!(page.treatments.len(), class_names().len());
        }
        let layered = to_page(&Preset::Layered.table(), LATENCY);
        let enhancement = layered.treatments.iter().find(|row| row.class == "video_enhancement");
        let lifetime = enhancement.map(|row| row.reliability);
        assert_eq!(lifetime, Some(page::Reliability::LifetimeMs(150)));
    }

    #[test]
    fn what_the_page_asks_for_is_what_it_is_shown() {
        let mut table = TreatmentTable::default();
        let asked = page::Treatment {
            class: "video_base".into(),
            reliability: page::Reliability::MaxRetransmissions(3),
            ordered: true,
            priority: 5,
            path: Some(2),
        };
        let (class, treatment) = from_page(&asked).unwrap();
        assert_eq!((class, treatment.path), (MediaClass::Reference, Some(1)));
        table.set(class, treatment).unwrap();
        let shown = to_page(&table, LATENCY);
        assert!(shown.treatments.contains(&asked));
        assert_eq!(shown.preset, None);
        assert_eq!(class_name("video_base"), Some("Base picture"));
    }

    #[test]
    fn what_does_not_exist_is_not_taken() {
        let good = to_page(&TreatmentTable::default(), LATENCY).treatments.remove(0);
        for bad in [
            page::Treatment { class: "control".into(), ..good.clone() },
            page::Treatment { path: Some(0), ..good.clone() },
            page::Treatment { path: Some(900), ..good.clone() },
            page::Treatment { priority: 300, ..good.clone() },
        ] {
            assert_eq!(from_page(&bad), None);
        }
        assert!(from_page(&good).is_some());
    }
}
