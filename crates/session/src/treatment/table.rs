//! [`TreatmentTable`]: one treatment per class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{MediaClass, Preset, Reliability, Treatment, TreatmentError};

/// One treatment per class. As data, a map from the class's name to its treatment; classes left out
/// are treated as in the preset `layered`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TableData", into = "TableData")]
pub struct TreatmentTable {
    rows: [Treatment; MediaClass::ALL.len()],
}

type TableData = BTreeMap<MediaClass, Treatment>;

impl TreatmentTable {
    pub(super) fn of(treatment: impl Fn(MediaClass) -> Treatment) -> Self {
        Self { rows: MediaClass::ALL.map(treatment) }
    }

    /// Reads a table as TOML.
    ///
    /// # Errors
    /// The text is no table, or a treatment makes no sense.
    pub fn from_toml(text: &str) -> Result<Self, TableError> {
        let data: TableData = toml::from_str(text)
            .map_err(|error| TableError::Syntax { reason: error.message().to_owned() })?;
        Ok(data.try_into()?)
    }

    /// The table as TOML, which [`from_toml`](Self::from_toml) reads. Control is left out.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut data = TableData::from(*self);
        data.remove(&MediaClass::Control);
        toml::to_string(&data).unwrap_or_default()
    }

    /// The treatment of a class.
    #[must_use]
    pub const fn treatment(&self, class: MediaClass) -> &Treatment {
        &self.rows[class.index()]
    }

    /// Changes the treatment of a class.
    ///
    /// # Errors
    /// It makes no sense; nothing changed then.
    pub fn set(&mut self, class: MediaClass, treatment: Treatment) -> Result<(), TreatmentError> {
        treatment.check(class)?;
        self.rows[class.index()] = treatment;
        Ok(())
    }

    /// Each class with its treatment, the most important first.
    pub fn iter(&self) -> impl Iterator<Item = (MediaClass, &Treatment)> {
        MediaClass::ALL.into_iter().zip(&self.rows)
    }

    /// Whether nothing is ever given up, so that a receiver may wait for what is late.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.rows.iter().all(|treatment| treatment.reliability == Reliability::Reliable)
    }

    /// The preset that this is, if it is one.
    #[must_use]
    pub fn preset(&self) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.table() == *self)
    }
}

impl Default for TreatmentTable {
    fn default() -> Self {
        Preset::default().table()
    }
}

impl TryFrom<TableData> for TreatmentTable {
    type Error = TreatmentError;

    fn try_from(data: TableData) -> Result<Self, TreatmentError> {
        let mut table = Self::default();
        for (class, treatment) in data {
            table.set(class, treatment)?;
        }
        Ok(table)
    }
}

impl From<TreatmentTable> for TableData {
    fn from(table: TreatmentTable) -> Self {
        table.iter().map(|(class, treatment)| (class, *treatment)).collect()
    }
}

/// A text that is no treatment table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// It cannot be read.
    #[error("not a treatment table: {reason}")]
    Syntax {
        /// What the parser says.
        reason: String,
    },
    /// It can, but makes no sense.
    #[error(transparent)]
    Treatment(#[from] TreatmentError),
}

#[cfg(test)]
mod tests {
    use anabranch_transport::{Level, PathPreference};

    use super::*;

    #[test]
    fn nothing_overtakes_what_is_waited_for_in_any_case() {
        let table = Preset::Reliable.table();
        let media = table.iter().filter(|(class, _)| *class != MediaClass::Control);
        assert!(media.map(|(_, treatment)| treatment.priority).all(|priority| priority == 1));
        assert_eq!(table.treatment(MediaClass::Control).priority, 0);
    }

    #[test]
    fn every_preset_survives_being_written_down() {
        for preset in Preset::ALL {
            let table = preset.table();
            assert_eq!(TreatmentTable::from_toml(&table.to_toml()), Ok(table));
            let json = serde_json::to_string(&table).unwrap();
            assert_eq!(serde_json::from_str::<TreatmentTable>(&json).unwrap(), table);
            assert_eq!(table.preset(), Some(preset));
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        assert!(Preset::Reliable.table().is_complete());
        assert!(!Preset::Layered.table().is_complete());
    }

    #[test]
    fn classes_left_out_are_those_of_layered() {
        let text = "[audio]\nreliability = { lifetime_ms = 90 }\npriority = 0\nordered = true\n";
        let table = TreatmentTable::from_toml(text).unwrap();
        let audio = Treatment { ordered: true, ..Treatment::new(Reliability::LifetimeMs(90), 0) };
        assert_eq!(*table.treatment(MediaClass::Audio), audio);
        let layered = Preset::Layered.table();
        assert_eq!(table.treatment(MediaClass::Tables), layered.treatment(MediaClass::Tables));
        assert_eq!(table.preset(), None);
    }

    #[test]
    fn a_class_takes_two_paths_where_the_table_says_so() {
        let text = "[key-frame]\nreliability = 'reliable'\npriority = 1\ntwice = true\n";
        let table = TreatmentTable::from_toml(text).unwrap();
        let preference = |class| table.treatment(class).preference();
        assert_eq!(preference(MediaClass::KeyFrame), PathPreference::Two);
        assert_eq!(preference(MediaClass::Audio), PathPreference::Any);
        assert_eq!(TreatmentTable::from_toml(&table.to_toml()), Ok(table));
        assert!(table.to_string().lines().any(|row| row.ends_with("two")), "{table}");
    }

    #[test]
    fn levels_are_the_classes_own_unless_the_table_says_otherwise_or_gives_nothing_up() {
        let text = "[disposable]\nreliability = { lifetime_ms = 90 }\npriority = 5\nlevel = 2\n\
                    [audio]\nreliability = 'reliable'\npriority = 1\n";
        let table = TreatmentTable::from_toml(text).unwrap();
        let level = |class| table.treatment(class).level_of(class);
        assert_eq!(level(MediaClass::Disposable), Level::Normal);
        assert_eq!(level(MediaClass::Audio), Level::Normal);
        assert_eq!(level(MediaClass::KeyFrame), Level::High);
        assert_eq!(level(MediaClass::Enhancement), Level::Low);
        assert_eq!(level(MediaClass::Control), Level::Urgent);
        assert_eq!(TreatmentTable::from_toml(&table.to_toml()), Ok(table));
        let error = TreatmentTable::from_toml(&text.replace("level = 2", "level = 9"));
        assert!(error.unwrap_err().to_string().contains("level 9"));
    }

    #[test]
    fn unknown_classes_and_fields_are_refused_in_words() {
        let error = |text| TreatmentTable::from_toml(text).unwrap_err().to_string();
        assert!(error("[sound]\nreliability = 'reliable'\npriority = 0").contains("`sound`"));
        assert!(error("[audio]\nreliability = 'reliable'\nprio = 0").contains("`prio`"));
        assert!(error("[audio]\nreliability = 'reliable'\npriority = 9").contains("priority 9"));
    }

    #[test]
    fn less_important_classes_never_get_more_time() {
        for preset in [Preset::Layered, Preset::Live] {
            let table = preset.table();
            let order = MediaClass::ALL.into_iter().skip(1).filter(|c| *c != MediaClass::Audio);
            let percent = order.map(|class| {
                let reliability = table.treatment(class).reliability;
                let Reliability::LatencyPercent(percent) = reliability else {
                    panic!("{class}: {reliability}");
                };
                percent
            });
            let percent: Vec<_> = percent.collect();
            assert!(percent.is_sorted_by(|a, b| a >= b), "{preset}: {percent:?}");
        }
    }
}
