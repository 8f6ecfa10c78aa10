//! [`Section`]: some keys that belong together.

use std::fmt::Display;

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::{Entry, Fault, Place, Value, line};

/// Keys that belong together. Reading takes them out; what is left in the end is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is called in messages: `[[links]]`.
    pub title: String,
    /// Where it begins.
    pub place: Place,
    /// What it says, in the order of the file.
    pub entries: Vec<Entry>,
}

impl Section {
    pub(super) fn new(title: &str, place: Place) -> Self {
        Self { title: title.to_owned(), place, entries: Vec::new() }
    }

    /// The value of `name`, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.key == "name")?;
        match &entry.value {
            Value::One(name) => Some(name),
            Value::Many(_) => None,
        }
    }

    /// Takes a key out.
    pub fn take(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    /// Takes a key out and reads its value.
    ///
    /// # Errors
    /// It has several values, or `read` does not take it.
    pub fn read<T, E: Display>(
        &mut self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Fault> {
        self.take(key).map(|entry| entry.read(read)).transpose()
    }

    /// The same for a key that must be there.
    ///
    /// # Errors
    /// It is not there; or as [`read`](Self::read). `example` is what could stand there.
    pub fn need<T, E: Display>(
        &mut self,
        key: &str,
        example: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Fault> {
        let lacks = || format!("{} lacks {key}: give {key} = {example}", self.title);
        let missing = Fault::new(self.place, lacks());
        self.read(key, read)?.ok_or(missing)
    }

    /// Refuses keys that nobody took.
    ///
    /// # Errors
    /// There is one; `known` are those that there can be.
    pub fn refuse_rest(&self, known: &[&str]) -> Result<(), Fault> {
        let Some(Entry { key, place, .. }) = self.entries.first() else { return Ok(()) };
        let title = &self.title;
        let reason = format!("there is no key {key} in {title}; the keys are {}", known.join(", "));
        Err(Fault::new(*place, reason))
    }

    /// A fault of the whole section.
    #[must_use]
    pub fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::new(self.place, reason)
    }

    /// Gives a key this value, whether or not it has one.
    pub(super) fn put(&mut self, key: &str, value: &str) {
        self.take(key);
        let (key, value) = (key.to_owned(), Value::One(value.to_owned()));
        self.entries.push(Entry { key, value, place: Place::Given });
    }

    pub(super) fn canonical(&self) -> String {
        let said = |entry: &Entry| format!("{} = {}\n", entry.key, entry.value.canonical());
        let mut lines: Vec<String> = self.entries.iter().map(said).collect();
        lines.sort();
        lines.concat()
    }

    pub(super) fn add(
        &mut self,
        text: &str,
        outer: &str,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Fault> {
        let place = line(text, key.span().start);
        let key = format!("{outer}{}", key.get_ref());
        if let Some(table) = value.get_ref().as_table() {
            let outer = format!("{key}.");
            return table.iter().try_for_each(|(key, value)| self.add(text, &outer, key, value));
        }
        let value = plain(value.get_ref()).ok_or_else(|| {
            Fault::new(place, format!("{key}: a date is no value here: give a text or a number"))
        })?;
        self.entries.push(Entry { key, value, place });
        Ok(())
    }
}

impl Entry {
    /// Reads the value.
    ///
    /// # Errors
    /// There are several, or `read` does not take it.
    pub fn read<T, E: Display>(self, read: impl FnOnce(&str) -> Result<T, E>) -> Result<T, Fault> {
        let Self { key, value, place } = self;
        match value {
            Value::One(text) => {
                read(&text).map_err(|error| Fault::new(place, format!("{key}: {error}")))
            }
            Value::Many(_) => Err(Fault::new(place, format!("{key}: give one value, no list"))),
        }
    }
}

fn plain(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::One(text.to_string()),
        DeValue::Integer(number) => Value::One(number.to_string()),
        DeValue::Float(number) => Value::One(number.to_string()),
        DeValue::Boolean(is_true) => Value::One(is_true.to_string()),
        DeValue::Array(values) => {
            let values = values.iter().map(|value| plain(value.get_ref()));
            Value::Many(values.collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}
