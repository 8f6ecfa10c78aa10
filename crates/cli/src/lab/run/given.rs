//! What is given beside a scenario: single values, sweeps, shards.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

/// A sweep has at most so many values.
const VALUES_MAX: usize = 100_000;

/// A key and its value: `bottleneck.loss=1%`.
pub(in crate::lab) fn one(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' gives nothing a value: write NAME=VALUE")),
    }
}

/// A key and its values, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lab) struct Sweep {
    key: String,
    values: Vec<String>,
}

impl Sweep {
    /// All combinations; the last sweep changes fastest. Without sweeps, one point of no values.
    pub(in crate::lab) fn points(sweeps: &[Self]) -> Vec<Vec<(String, String)>> {
        let mut points = vec![Vec::new()];
        for Self { key, values } in sweeps {
            let with = |point: &Vec<(String, String)>| {
                let with = |value: &String| {
                    point.iter().cloned().chain([(key.clone(), value.clone())]).collect()
                };
                values.iter().map(with).collect::<Vec<Vec<_>>>()
            };
            points = points.iter().flat_map(with).collect();
        }
        points
    }
}

/// As it is given.
impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.values.join(","))
    }
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, values) = one(text)?;
        // A file's name may have two dots, too.
        let is_range = values.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let values: Vec<String> = match values.split_once("..").filter(|_| is_range) {
            Some((first, rest)) => range(first, rest)?,
            None => values.split(',').map(str::to_owned).collect(),
        };
        if values.iter().any(String::is_empty) {
            return Err(format!("'{text}' has an empty value: write {key}=0,0.1%,1%"));
        }
        Ok(Self { key, values })
    }
}

/// A key that is given more than one value, or more than one range of them.
pub(super) fn given_twice<'a>(set: &'a [(String, String)], sweeps: &'a [Sweep]) -> Option<&'a str> {
    let set = set.iter().map(|(key, _)| key.as_str());
    let mut keys = HashSet::new();
    set.chain(sweeps.iter().map(|sweep| sweep.key.as_str())).find(|key| !keys.insert(*key))
}

/// `20ms..200ms:20ms`: from the first to the last, step by step.
fn range(first_text: &str, rest: &str) -> Result<Vec<String>, String> {
    let wrong =
        || format!("'{first_text}..{rest}' is no range: write 20ms..200ms:20ms, with one unit");
    let (last, step) = rest.split_once(':').ok_or_else(wrong)?;
    let parts = [first_text, last, step].map(|text| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let digits = number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        Some((number.parse::<f64>().ok()?, unit, digits))
    });
    let [Some((first, ..)), Some((last, unit, _)), Some((step, ..))] = parts else {
        return Err(wrong());
    };
    // A zero needs no unit.
    let is_alike = |part: &(f64, &str, usize)| part.1 == unit || part.0 == 0.0;
    let digits = parts.iter().flatten().map(|part| part.2).max().unwrap_or(0);
    let of = |what: &str| format!("'{first_text}..{rest}' {what}, as 20ms..200ms:20ms has");
    if !parts.iter().flatten().all(is_alike) {
        return Err(of("has several units: give one to all three"));
    }
    if step <= 0.0 {
        return Err(of("has a step of 0 and no end: give one above 0"));
    }
    if last < first {
        return Err(of("goes down: give the lowest value first"));
    }
    let steps = ((last - first) / step + 1e-9).floor();
    if steps >= VALUES_MAX as f64 {
        return Err(format!("a sweep of {steps} values: give {VALUES_MAX} at most"));
    }
    let value = |n: usize| format!("{:.digits$}{unit}", first + n as f64 * step);
    Ok((0..=steps as usize).map(value).collect())
}

/// Every nth of all runs: `3/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lab) struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Its part of all.
    pub(super) fn of<T>(self, all: &[T]) -> impl Iterator<Item = &T> {
        (0..).zip(all).filter_map(move |(nth, it)| self.has(nth).then_some(it))
    }

    /// Whether the nth of all, counted from 0, is in it.
    pub(in crate::lab) const fn has(self, nth: usize) -> bool {
        nth % self.count == self.index - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').and_then(|(index, count)| {
            Some((index.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        });
        match parts {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(format!("'{text}' is no shard: write 3/16, from 1/16 to 16/16")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        text.parse::<Sweep>().unwrap().values
    }

    #[test]
    fn values_are_listed_or_a_range() {
        assert_eq!(values("a.loss=0,0.1%,1%"), ["0", "0.1%", "1%"]);
        assert_eq!(values("a.delay=20ms..60ms:20ms"), ["20ms", "40ms", "60ms"]);
        assert_eq!(values("a.loss=0..0.3%:0.1%"), ["0.0%", "0.1%", "0.2%", "0.3%"]);
        assert_eq!(values("a.streams=1..5:3"), ["1", "4"]);
        assert_eq!(values("a.rate=trace:../up.txt,1M"), ["trace:../up.txt", "1M"]);
        for text in ["a", "=1", "a=1,,2", "a=1ms..2s:1ms", "a=1..2", "a=3..1:1", "a=1..2:0"] {
            text.parse::<Sweep>().unwrap_err();
        }
    }

    #[test]
    fn what_is_wrong_with_a_range_is_said() {
        for (text, words) in [
            ("a=1us..60s:1us", "has several units"),
            ("a=1s..2s:0", "has a step of 0"),
            ("a=3..1:1", "goes down"),
            ("a=1..2", "is no range"),
        ] {
            let error = text.parse::<Sweep>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn nothing_is_given_twice() {
        let sweeps = ["b=3,4"].map(|text| text.parse::<Sweep>().unwrap());
        let set = |key: &str| vec![one(&format!("{key}=1")).unwrap()];
        assert_eq!(given_twice(&set("a"), &sweeps), None);
        assert_eq!(given_twice(&set("b"), &sweeps), Some("b"));
        assert_eq!(given_twice(&[], &[sweeps[0].clone(), sweeps[0].clone()]), Some("b"));
        assert_eq!(given_twice(&[set("a"), set("a")].concat(), &[]), Some("a"));
    }

    #[test]
    fn sweeps_give_all_combinations() {
        let sweeps = ["a=1,2", "b=3,4"].map(|text| text.parse::<Sweep>().unwrap());
        let points = Sweep::points(&sweeps);
        let said: Vec<_> = points.iter().map(|point| crate::lab::store::said(point)).collect();
        assert_eq!(said, ["a=1 b=3 ", "a=1 b=4 ", "a=2 b=3 ", "a=2 b=4 "]);
        assert_eq!(Sweep::points(&[]), [Vec::new()]);
    }

    #[test]
    fn shards_together_are_all() {
        let all: Vec<u32> = (0..10).collect();
        let shard = |text: &str| text.parse::<Shard>().unwrap().of(&all).copied();
        let mut joined: Vec<u32> = shard("1/3").chain(shard("2/3")).chain(shard("3/3")).collect();
        joined.sort_unstable();
        assert_eq!(joined, all);
        for text in ["0/3", "4/3", "1", "a/b", "1/0"] {
            text.parse::<Shard>().unwrap_err();
        }
    }
}
