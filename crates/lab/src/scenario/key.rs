//! [`Key`]: a key of a section, with what its documentation and its schema say.

use std::time::Duration;

use anabranch_netsim::settings::{self, Speed};
use anabranch_sansio::Rate;

/// A key that a section can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// Its name.
    pub(super) name: &'static str,
    /// A value that it can have; of a choice, all.
    pub(super) values: &'static [&'static str],
    /// What it says, with what holds where it is left out.
    pub(super) about: &'static str,
}

impl Key {
    pub(super) const fn new(
        name: &'static str,
        values: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self { name, values, about }
    }

    /// Whether its value is one of several words: of numbers, files and what may be either, the
    /// values are examples.
    pub(super) fn is_choice(&self) -> bool {
        let is_word = |value: &&str| value.starts_with(|c: char| c.is_ascii_lowercase());
        self.values.len() > 1
            && self.values.iter().all(|value| is_word(value) && !value.contains(':'))
    }
}

/// The value that belongs to one of these names.
pub(super) fn choice<T: Copy>(text: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        format!("\"{text}\" is none of those there are: give {}", names.join(", "))
    })
}

/// `true` or `false`.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    choice(text, &[("true", true), ("false", false)])
}

/// A whole number in this range.
pub(super) fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("\"{text}\" is no number here: give {least} to {most}"))
}

/// `1200`, `64K`, `4M`: bytes, by 1,024.
pub(super) fn bytes(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let (number, unit) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1 << 10),
        None => text.strip_suffix('M').map_or((text, 1), |number| (number, 1 << 20)),
    };
    let bytes = number.parse().ok().and_then(|number: usize| number.checked_mul(unit));
    bytes.filter(|bytes| (least..=most).contains(bytes)).ok_or_else(|| {
        format!("\"{text}\" is no size here: give {least} to {most} bytes, such as 64K or 1200")
    })
}

/// A rate that is limited.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    match settings::speed(text, &|_| Err("a source has a rate, no trace".to_owned())) {
        Ok(Speed::Limited(rate)) => Ok(rate),
        Ok(Speed::Unlimited | Speed::Trace(_)) => {
            Err(format!("\"{text}\" is no rate of a source: give one such as 2M"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// A time above zero.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let span = settings::time(text).map_err(|error| error.to_string())?;
    if span.is_zero() { Err(format!("\"{text}\" is no time: give more than 0")) } else { Ok(span) }
}
