//! [`TraceRecord`]: what a machine did and why, for whoever explains a run.

use std::collections::VecDeque;

use crate::{Rate, Time};

/// Fields that most records have at most.
const FIELDS: usize = 6;

/// Something that a machine did, saw or decided, in the words of its protocol.
///
/// Names have the form `protocol:event`, and fields are named with their unit; the documentation of
/// a protocol lists both.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceRecord {
    /// When.
    pub at: Time,
    /// On which connection of the machine, if it has several.
    pub connection: Option<u64>,
    /// What, as `sctp:packet_sent`.
    pub name: &'static str,
    /// The rest, in the order in which it is shown.
    pub fields: Vec<(&'static str, TraceValue)>,
}

impl TraceRecord {
    /// A record without fields.
    #[must_use]
    pub fn new(at: Time, name: &'static str) -> Self {
        Self { at, connection: None, name, fields: Vec::with_capacity(FIELDS) }
    }

    /// The same with one field more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<TraceValue>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// The same with one field more, if there is something to say.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Into<TraceValue>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// What a field says, if the record has it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&TraceValue> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// What a field counts, if the record has it and it counts something.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        let Some(&TraceValue::Count(count)) = self.field(name) else { return None };
        Some(count)
    }
}

/// What a field of a [`TraceRecord`] says.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceValue {
    /// A number that counts.
    Count(u64),
    /// A measure.
    Number(f64),
    /// Whether.
    Flag(bool),
    /// One of the words that the protocol has for it.
    Word(&'static str),
    /// Anything else.
    Text(String),
}

impl From<u64> for TraceValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for TraceValue {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<u16> for TraceValue {
    fn from(count: u16) -> Self {
        Self::Count(count.into())
    }
}

impl From<u8> for TraceValue {
    fn from(count: u8) -> Self {
        Self::Count(count.into())
    }
}

impl From<usize> for TraceValue {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for TraceValue {
    fn from(measure: f64) -> Self {
        Self::Number(measure)
    }
}

impl From<bool> for TraceValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&'static str> for TraceValue {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl From<String> for TraceValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// In milliseconds.
impl From<std::time::Duration> for TraceValue {
    fn from(span: std::time::Duration) -> Self {
        Self::Number(span.as_nanos() as f64 / 1e6)
    }
}

/// In milliseconds since the machine's time began.
impl From<Time> for TraceValue {
    fn from(time: Time) -> Self {
        Self::Number(time.as_nanos() as f64 / 1e6)
    }
}

/// In bits per second.
impl From<Rate> for TraceValue {
    fn from(rate: Rate) -> Self {
        Self::Count(rate.as_bps())
    }
}

/// Records that wait to be polled, if there is anybody who polls them. The oldest make way.
#[derive(Debug, Clone, Default)]
pub struct TraceLog {
    is_on: bool,
    records: VecDeque<TraceRecord>,
}

impl TraceLog {
    /// Records that wait at most: those of a second at 100 Mbit/s.
    pub const LEN_MAX: usize = 65_536;

    /// Begins or ends to keep records.
    pub fn set(&mut self, on: bool) {
        self.is_on = on;
        if !on {
            self.records.clear();
        }
    }

    /// Whether records are kept.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Keeps a record, which is made only if somebody wants it.
    pub fn push(&mut self, record: impl FnOnce() -> TraceRecord) {
        if !self.is_on {
            return;
        }
        if self.records.len() >= Self::LEN_MAX {
            self.records.pop_front();
        }
        self.records.push_back(record());
    }

    /// The next record.
    pub fn pop(&mut self) -> Option<TraceRecord> {
        self.records.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_each_of_its_fields_has() {
        let record = TraceRecord::new(Time::ZERO, "test:event").with("n", 7_u64).with("lost", true);
        assert_eq!(record.field("lost"), Some(&TraceValue::Flag(true)));
        assert_eq!(
            (record.count("n"), record.count("lost"), record.count("m")),
            (Some(7), None, None)
        );
    }

    #[test]
    fn records_are_made_only_where_they_are_wanted_and_the_oldest_make_way() {
        let mut log = TraceLog::default();
        log.push(|| unreachable!("nobody asked"));
        log.set(true);
        for n in 0..=TraceLog::LEN_MAX as u64 {
            log.push(|| TraceRecord::new(Time::ZERO, "test:event").with("n", n));
        }
        assert_eq!(log.pop().map(|record| record.fields), Some(vec![("n", TraceValue::Count(1))]));
        log.set(false);
        assert_eq!(log.pop(), None);
    }
}
