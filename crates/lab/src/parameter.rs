//! [`Parameters`]: what of an experiment can be changed, and what was.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anabranch_netsim::settings::{self, Queue, Speed, ValueError};
use anabranch_sansio::Rate;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// A list of values has at most this many.
const VALUES_MAX: usize = 100;

/// The values of an experiment's parameters; by default the paper's.
pub trait Settings: Clone + Default + PartialEq + 'static {
    /// All that can be changed.
    const PARAMETERS: &'static [Parameter<Self>];

    /// Whether they make sense together.
    ///
    /// # Errors
    /// Says which do not, and what would.
    fn check(&self) -> Result<(), String>;
}

/// Something that can be changed.
#[derive(Debug)]
pub struct Parameter<S: 'static> {
    /// As `--set` has it.
    pub name: &'static str,
    /// The paper's value.
    pub paper: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Another name for the same, in another measure.
    same_as: Option<&'static str>,
    kind: Kind<S>,
}

/// How a value is read, and where it goes.
#[derive(Debug)]
pub(crate) enum Kind<S> {
    /// One or several.
    Speeds(fn(&mut S, Vec<Speed>)),
    Speed(fn(&mut S, Speed)),
    /// Of what is sent: no recorded link, and not unlimited.
    Rate(fn(&mut S, Rate)),
    Time(Duration, Duration, fn(&mut S, Duration)),
    /// Exactly two.
    TwoTimes(Duration, Duration, fn(&mut S, [Duration; 2])),
    /// One or several, from 0 to 1.
    Shares(fn(&mut S, Vec<f64>)),
    /// One, from 0 to 1.
    Share(fn(&mut S, f64)),
    /// One or several, in whole per cents.
    Percents(fn(&mut S, Vec<u32>)),
    /// One or several, in whole milliseconds.
    Millis(u32, fn(&mut S, Vec<u32>)),
    /// Packets in a row, or `none`.
    Burst(fn(&mut S, Option<f64>)),
    Queue(fn(&mut S, Queue)),
    Bytes(u64, u64, fn(&mut S, u64)),
    Count(&'static str, u32, u32, fn(&mut S, u32)),
    /// One or several.
    Counts(&'static str, u32, u32, fn(&mut S, Vec<u32>)),
    Switch(fn(&mut S, bool)),
    /// One of these words: its place among them.
    Choice(&'static [&'static str], fn(&mut S, usize)),
    /// Refused in words.
    File(fn(&mut S, &str) -> Result<(), String>),
}

/// The parameters of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters<S> {
    values: S,
    changes: Vec<Change>,
}

/// A parameter that has another value than the paper's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    name: &'static str,
    value: String,
    paper: &'static str,
    /// Of the files that it names, what they hold.
    files: [u8; 32],
}

/// Why a parameter could not be set.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// No name, or no value.
    #[error("\"{part}\" says nothing: write name=value, with commas between")]
    NoValue {
        /// What was given.
        part: String,
    },
    /// No parameter's name.
    #[error("there is no parameter {name}: {hint}")]
    Unknown {
        /// What was given.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// Two values for one parameter.
    #[error("{name} is given twice: give it once")]
    Repeated {
        /// Which.
        name: &'static str,
    },
    /// The same in two measures.
    #[error("{name} and {other} set the same: give one of them")]
    Both {
        /// One.
        name: &'static str,
        /// The other.
        other: &'static str,
    },
    /// No value of this parameter.
    #[error("{name}: {error}")]
    Value {
        /// Which.
        name: &'static str,
        /// Why not.
        error: ValueError,
    },
    /// A value that cannot be.
    #[error("{name}: \"{value}\" cannot be: give {range}")]
    Range {
        /// Which.
        name: &'static str,
        /// What was given.
        value: String,
        /// What could be.
        range: String,
    },
    /// More values or fewer than it takes.
    #[error("{name} takes {takes}, not {given}")]
    HowMany {
        /// Which.
        name: &'static str,
        /// How many it takes.
        takes: String,
        /// How many were given.
        given: usize,
    },
    /// A file that is not what it should be.
    #[error("{name}: {reason}")]
    File {
        /// Which parameter.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Values that make no sense together.
    #[error("{0}")]
    Together(String),
}

impl<S: Settings> Parameters<S> {
    /// Reads `rate=20M,delay=40ms`; what has no name is one more value of the parameter before.
    ///
    /// # Errors
    /// Says what is wrong and what would be right.
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, ParameterError> {
        let mut parameters = Self::default();
        let mut given: Vec<(&Parameter<S>, Vec<&str>)> = Vec::new();
        for part in texts.into_iter().flat_map(|text| text.split(',')) {
            match (part.split_once('='), given.last_mut()) {
                (Some((name, value)), _) => {
                    let parameter = Parameter::named(name)?;
                    parameter.check_once(given.iter().map(|(other, _)| *other))?;
                    given.push((parameter, vec![value]));
                }
                (None, Some((_, values))) if !part.is_empty() => values.push(part),
                (None, _) => return Err(ParameterError::NoValue { part: part.to_owned() }),
            }
        }
        for (parameter, values) in given {
            parameters.set(parameter, &values)?;
        }
        parameters.values.check().map_err(ParameterError::Together)?;
        Ok(parameters)
    }

    /// The values.
    #[must_use]
    pub const fn values(&self) -> &S {
        &self.values
    }

    /// Whether none is changed: only then can results stand beside the paper's.
    #[must_use]
    pub const fn are_papers(&self) -> bool {
        self.changes.is_empty()
    }

    /// What is changed, as `--set` takes it; empty where nothing is.
    #[must_use]
    pub fn set_again(&self) -> String {
        let changes =
            self.changes.iter().map(|Change { name, value, .. }| format!("{name}={value}"));
        changes.collect::<Vec<_>>().join(",")
    }

    /// Of all that is changed, in whatever order, and of what the files hold that it names.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut changes: Vec<_> = self.changes.iter().collect();
        changes.sort_by_key(|change| change.name);
        let mut digest = Sha256::new();
        for Change { name, value, files, .. } in changes {
            digest.update(format!("{name}={value}\n"));
            digest.update(files);
        }
        digest.finalize().into()
    }

    /// What a command needs to change the same, with a blank in front; empty where nothing is.
    #[must_use]
    pub fn flag(&self) -> String {
        let set = self.set_again();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "=,.%/:_-".contains(c);
        match () {
            () if set.is_empty() => set,
            () if set.chars().all(is_plain) => format!(" --set {set}"),
            () => format!(" --set '{}'", set.replace('\'', r"'\''")),
        }
    }

    /// What is changed, in words; `None` where nothing is.
    #[must_use]
    pub fn said(&self) -> Option<String> {
        let change = |Change { name, value, paper, .. }: &Change| {
            format!("{name} {} ({paper})", value.replace(',', ", "))
        };
        let changes: Vec<_> = self.changes.iter().map(change).collect();
        (!changes.is_empty()).then(|| format!("Not the paper's: {}.", changes.join("; ")))
    }

    fn set(&mut self, parameter: &Parameter<S>, given: &[&str]) -> Result<(), ParameterError> {
        let before = self.values.clone();
        parameter.put(&mut self.values, given)?;
        if self.values != before {
            let Parameter { name, paper, .. } = *parameter;
            let files = parameter.files(given);
            self.changes.push(Change { name, value: given.join(","), paper, files });
        }
        Ok(())
    }
}

impl<S: Settings> Parameter<S> {
    pub(crate) const fn new(
        name: &'static str,
        paper: &'static str,
        meaning: &'static str,
        kind: Kind<S>,
    ) -> Self {
        Self { name, paper, meaning, same_as: None, kind }
    }

    /// Says in another measure what that one says.
    pub(crate) const fn same_as(self, other: &'static str) -> Self {
        let Self { name, paper, meaning, kind, .. } = self;
        Self { name, paper, meaning, same_as: Some(other), kind }
    }

    fn named(name: &str) -> Result<&'static Self, ParameterError> {
        let found = S::PARAMETERS.iter().find(|parameter| parameter.name == name);
        found.ok_or_else(|| {
            let names = S::PARAMETERS.iter().map(|parameter| parameter.name);
            ParameterError::Unknown { name: name.to_owned(), hint: hint(name, names) }
        })
    }

    fn check_once<'a>(
        &self,
        mut before: impl Iterator<Item = &'a Self>,
    ) -> Result<(), ParameterError> {
        let what = |it: &Self| it.same_as.unwrap_or(it.name);
        match before.find(|other| what(other) == what(self)) {
            None => Ok(()),
            Some(other) if other.name == self.name => {
                Err(ParameterError::Repeated { name: self.name })
            }
            Some(other) => Err(ParameterError::Both { name: self.name, other: other.name }),
        }
    }

    fn put(&self, values: &mut S, given: &[&str]) -> Result<(), ParameterError> {
        match &self.kind {
            Kind::Speeds(set) => set(values, self.each(given, speed)?),
            Kind::Speed(set) => set(values, self.one(given, speed)?),
            Kind::Rate(set) => {
                self.check_one(given)?;
                self.check_range(given[0], !given[0].starts_with(TRACE))?;
                let speed = self.one(given, speed)?;
                self.check_range(given[0], matches!(speed, Speed::Limited(_)))?;
                set(values, speed.mean().unwrap_or_default());
            }
            Kind::Time(least, most, set) => {
                let time = self.one(given, settings::time)?;
                self.check_range(given[0], *least <= time && time <= *most)?;
                set(values, time);
            }
            Kind::TwoTimes(least, most, set) => {
                let times = self.each(given, settings::time)?;
                let Ok(two) = <[Duration; 2]>::try_from(times) else {
                    return Err(self.how_many("two values", given));
                };
                for (text, time) in given.iter().zip(two) {
                    self.check_range(text, *least <= time && time <= *most)?;
                }
                set(values, two);
            }
            Kind::Shares(set) => set(values, self.each(given, settings::loss)?),
            Kind::Share(set) => set(values, self.one(given, settings::loss)?),
            Kind::Percents(set) => {
                let shares = self.each(given, settings::loss)?;
                let percents = shares.iter().map(|share| (share * 100.0, 100.0));
                set(values, self.whole(given, percents)?);
            }
            Kind::Millis(most, set) => {
                let times = self.each(given, settings::time)?;
                let most = f64::from(*most);
                let millis = times.iter().map(|time| (time.as_secs_f64() * 1e3, most));
                set(values, self.whole(given, millis)?);
            }
            Kind::Burst(set) if given == ["none"] => set(values, None),
            Kind::Burst(set) => set(values, Some(self.one(given, settings::burst)?)),
            Kind::Queue(set) => set(values, self.one(given, settings::queue)?),
            Kind::Bytes(least, most, set) => {
                let bytes = self.one(given, settings::size)?;
                self.check_range(given[0], (*least..=*most).contains(&bytes))?;
                set(values, bytes);
            }
            Kind::Count(_, least, most, set) => {
                self.check_one(given)?;
                set(values, self.count(given[0], *least, *most)?);
            }
            Kind::Counts(_, least, most, set) => {
                self.check_few(given)?;
                let counts = given.iter().map(|text| self.count(text, *least, *most));
                set(values, counts.collect::<Result<_, _>>()?);
            }
            Kind::Switch(set) => {
                self.check_one(given)?;
                self.check_range(given[0], ["yes", "no"].contains(&given[0]))?;
                set(values, given[0] == "yes");
            }
            Kind::Choice(words, set) => {
                self.check_one(given)?;
                let place = words.iter().position(|word| *word == given[0]);
                self.check_range(given[0], place.is_some())?;
                set(values, place.unwrap_or_default());
            }
            Kind::File(set) => {
                let read = set(values, &given.join(","));
                read.map_err(|reason| ParameterError::File { name: self.name, reason })?;
            }
        }
        Ok(())
    }

    /// What the files hold that these values name, which have been read before.
    fn files(&self, given: &[&str]) -> [u8; 32] {
        let link = |text: &&str| text.strip_prefix(TRACE).map(str::to_owned);
        let named: Vec<String> = match matches!(self.kind, Kind::File(_)) {
            true => vec![given.join(",")],
            false => given.iter().filter_map(link).collect(),
        };
        let mut digest = Sha256::new();
        named.iter().for_each(|file| digest.update(fs::read(file).unwrap_or_default()));
        digest.finalize().into()
    }

    fn one<T>(
        &self,
        given: &[&str],
        read: impl Fn(&str) -> Result<T, ValueError>,
    ) -> Result<T, ParameterError> {
        self.check_one(given)?;
        read(given[0]).map_err(|error| ParameterError::Value { name: self.name, error })
    }

    fn each<T>(
        &self,
        given: &[&str],
        read: impl Fn(&str) -> Result<T, ValueError>,
    ) -> Result<Vec<T>, ParameterError> {
        self.check_few(given)?;
        let values = given.iter().map(|text| read(text));
        let values: Result<_, _> = values.collect();
        values.map_err(|error| ParameterError::Value { name: self.name, error })
    }

    /// Whole numbers up to the one beside each.
    fn whole(
        &self,
        given: &[&str],
        numbers: impl Iterator<Item = (f64, f64)>,
    ) -> Result<Vec<u32>, ParameterError> {
        let whole = given.iter().zip(numbers).map(|(text, (number, most))| {
            let rounded = number.round();
            self.check_range(text, (number - rounded).abs() < 1e-9 && rounded <= most)?;
            Ok(rounded as u32)
        });
        whole.collect()
    }

    fn count(&self, text: &str, least: u32, most: u32) -> Result<u32, ParameterError> {
        let count = text.parse().ok().filter(|count| (least..=most).contains(count));
        self.check_range(text, count.is_some())?;
        Ok(count.unwrap_or(least))
    }

    fn check_one(&self, given: &[&str]) -> Result<(), ParameterError> {
        if given.len() == 1 { Ok(()) } else { Err(self.how_many("one value", given)) }
    }

    fn check_few(&self, given: &[&str]) -> Result<(), ParameterError> {
        let takes = format!("at most {VALUES_MAX} values");
        if given.len() <= VALUES_MAX { Ok(()) } else { Err(self.how_many(&takes, given)) }
    }

    fn how_many(&self, takes: &str, given: &[&str]) -> ParameterError {
        ParameterError::HowMany { name: self.name, takes: takes.to_owned(), given: given.len() }
    }

    fn check_range(&self, text: &str, is_in: bool) -> Result<(), ParameterError> {
        if is_in {
            return Ok(());
        }
        let (name, value) = (self.name, text.to_owned());
        Err(ParameterError::Range { name, value, range: self.range() })
    }

    fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Speeds(_) | Kind::Speed(_) | Kind::Rate(_) => "bit/s",
            Kind::Time(..) | Kind::TwoTimes(..) | Kind::Millis(..) => "us, ms, s",
            Kind::Shares(_) | Kind::Share(_) | Kind::Percents(_) => "%",
            Kind::Burst(_) => "packets",
            Kind::Queue(_) => "p, B, K, ms",
            Kind::Bytes(..) => "B, K, M",
            Kind::Count(unit, ..) | Kind::Counts(unit, ..) => unit,
            Kind::Switch(_) | Kind::Choice(..) | Kind::File(_) => "",
        }
    }

    fn range(&self) -> String {
        match &self.kind {
            Kind::Speeds(_) => "some of 1bit/s to 1000G, or trace:FILE".to_owned(),
            Kind::Speed(_) => "1bit/s to 1000G, or trace:FILE".to_owned(),
            Kind::Rate(_) => "1bit/s to 1000G".to_owned(),
            Kind::Time(least, most, _) => format!("{} to {}", in_words(*least), in_words(*most)),
            Kind::TwoTimes(least, most, _) => {
                format!("two of {} to {}", in_words(*least), in_words(*most))
            }
            Kind::Shares(_) => "some of 0% to 100%".to_owned(),
            Kind::Share(_) => "0% to 100%".to_owned(),
            Kind::Percents(_) => "some whole per cents, 0% to 100%".to_owned(),
            Kind::Millis(most, _) => format!("some whole milliseconds, 0ms to {most}ms"),
            Kind::Burst(_) => "none, or 1 or more".to_owned(),
            Kind::Queue(_) => "0p to 4294967295p, or to 64G".to_owned(),
            Kind::Bytes(least, most, _) => format!("{} to {}", size(*least), size(*most)),
            Kind::Count(_, least, most, _) => format!("{least} to {most}"),
            Kind::Counts(_, least, most, _) => format!("some of {least} to {most}"),
            Kind::Switch(_) => "yes or no".to_owned(),
            Kind::Choice(words, _) => words.join(" or "),
            Kind::File(_) => "a file".to_owned(),
        }
    }
}

/// All parameters of an experiment, for 80 columns.
#[must_use]
pub fn parameters_table<S: Settings>() -> String {
    const WIDTHS: [usize; 5] = [15, 9, 13, 17, 22];
    let mut text = String::new();
    let mut add = |cells: [&str; 5]| {
        let cells: [_; 5] = std::array::from_fn(|n| wrapped(cells[n], WIDTHS[n]));
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or_default() {
            let mut row = String::new();
            for (cell, width) in cells.iter().zip(WIDTHS) {
                let part = cell.get(line).map(String::as_str).unwrap_or_default();
                // Writing to a string does not fail.
                let _ = write!(row, "{part:width$} ");
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
    };
    add(["name", "unit", "the paper's", "range", "meaning"]);
    for parameter in S::PARAMETERS {
        let Parameter { name, paper, meaning, .. } = *parameter;
        add([name, parameter.unit(), paper, &parameter.range(), meaning]);
    }
    text
}

/// Broken at blanks.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// As [`settings::time`] reads it.
fn in_words(time: Duration) -> String {
    match time {
        Duration::ZERO => "0".to_owned(),
        time if time.subsec_nanos() == 0 => format!("{}s", time.as_secs()),
        time if time.subsec_nanos() % 1_000_000 == 0 => format!("{}ms", time.as_millis()),
        time => format!("{}us", time.as_micros()),
    }
}

/// As [`settings::size`] reads it.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 30) => format!("{}G", bytes >> 30),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        bytes => format!("{bytes}B"),
    }
}

/// The nearest name, or all.
fn hint(name: &str, names: impl Iterator<Item = &'static str> + Clone) -> String {
    let near = names.clone().map(|known| (distance(name, known), known)).min();
    match near {
        Some((distance, known)) if distance <= 2.max(known.len() / 3) && distance < known.len() => {
            format!("{known} is near; --parameters lists all")
        }
        _ => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
    }
}

/// What a recorded link's file stands behind.
const TRACE: &str = "trace:";

/// A rate, or a recorded link in a file.
fn speed(text: &str) -> Result<Speed, ValueError> {
    settings::speed(text, &|file| fs::read_to_string(file).map_err(|error| error.to_string()))
}

/// How many letters to change, add or leave out.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<_> = (0..=to.len()).collect();
    for (index, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Each parameter's own value of the paper, or what is chosen where it is open, changes
    /// nothing, and no name comes twice.
    pub(crate) fn check_declared<S: Settings + std::fmt::Debug>() {
        for (index, parameter) in S::PARAMETERS.iter().enumerate() {
            let name = parameter.name;
            assert!(!S::PARAMETERS[..index].iter().any(|other| other.name == name), "{name}");
            if matches!(parameter.kind, Kind::File(_)) {
                continue;
            }
            let paper = parameter.paper.trim_start_matches("open: ");
            let text = format!("{name}={}", paper.replace(", ", ","));
            let read = Parameters::<S>::read([text.as_str()]);
            assert_eq!(read, Ok(Parameters::default()), "{text}");
        }
        let table = parameters_table::<S>();
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Few {
        delay: Duration,
        losses: Vec<u32>,
        is_fair: bool,
    }

    impl Default for Few {
        fn default() -> Self {
            Self { delay: Duration::from_millis(5), losses: vec![0, 10], is_fair: true }
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    impl Settings for Few {
        const PARAMETERS: &'static [Parameter<Self>] = &[
            Parameter::new(
                "delay",
                "5ms",
                "one way",
                Kind::Time(Duration::ZERO, SECOND, |few, delay| few.delay = delay),
            ),
            Parameter::new(
                "rtt",
                "10ms",
                "both ways, and so twice as long as the delay of either of them",
                Kind::Time(Duration::ZERO, SECOND, |few: &mut Self, rtt| few.delay = rtt / 2),
            )
            .same_as("delay"),
            Parameter::new(
                "losses",
                "0%, 10%",
                "of packets",
                Kind::Percents(|few, losses| few.losses = losses),
            ),
            Parameter::new("fair", "yes", "or not", Kind::Switch(|few, it| few.is_fair = it)),
        ];

        fn check(&self) -> Result<(), String> {
            match self.losses.contains(&100) && self.is_fair {
                true => Err("a loss of 100% is not fair: give less, or fair=no".to_owned()),
                false => Ok(()),
            }
        }
    }

    fn read(texts: &[&str]) -> Result<Parameters<Few>, ParameterError> {
        Parameters::read(texts.iter().copied())
    }

    #[test]
    fn the_papers_own_values_change_nothing_and_the_table_has_80_columns() {
        testing::check_declared::<Few>();
    }

    #[test]
    fn what_is_set_is_said_and_can_be_set_again() {
        let changed = read(&["losses=5%,20%,rtt=80ms", "fair=yes"]).unwrap();
        assert_eq!(changed.values().delay, Duration::from_millis(40));
        assert_eq!(changed.values().losses, [5, 20]);
        assert_eq!(changed.set_again(), "losses=5%,20%,rtt=80ms", "fair is as in the paper");
        let said = "Not the paper's: losses 5%, 20% (0%, 10%); rtt 80ms (10ms).";
        assert_eq!(changed.said().as_deref(), Some(said));
        assert_eq!(read(&[&changed.set_again()]), Ok(changed.clone()));
        assert_eq!(changed.flag(), " --set losses=5%,20%,rtt=80ms");
        let papers = read(&[]).unwrap();
        assert!(papers.are_papers() && !changed.are_papers());
        assert_eq!((papers.said(), papers.flag()), (None, String::new()));
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        for (text, words) in [
            ("", "\"\" says nothing: write name=value"),
            ("fast", "\"fast\" says nothing"),
            ("dealy=5ms", "there is no parameter dealy: delay is near"),
            ("bandwidth=5M", "there are delay, rtt, losses, fair"),
            ("delay=5", "delay: \"5\" is no time: write 500us, 20ms or 1.5s"),
            ("delay=2s", "delay: \"2s\" cannot be: give 0 to 1s"),
            ("delay=1ms,2ms", "delay takes one value, not 2"),
            ("delay=1ms,delay=2ms", "delay is given twice: give it once"),
            ("delay=1ms,rtt=2ms", "rtt and delay set the same: give one of them"),
            ("losses=5", "losses: \"5\" is no loss: write 0% to 100%"),
            ("losses=0.5%", "losses: \"0.5%\" cannot be: give some whole per cents"),
            ("fair=maybe", "fair: \"maybe\" cannot be: give yes or no"),
            ("losses=100%", "a loss of 100% is not fair: give less, or fair=no"),
        ] {
            let error = read(&[text]).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn the_digest_is_of_what_is_set_in_any_order_and_of_what_files_hold() {
        let digest = |text: &str| read(&[text]).unwrap().digest();
        assert_eq!(digest("delay=9ms,losses=5%"), digest("losses=5%,delay=9ms"));
        assert_ne!(digest("delay=9ms"), digest("delay=8ms"));
        assert_eq!(digest("fair=yes"), Parameters::<Few>::default().digest(), "as in the paper");

        let file = std::env::temp_dir().join(format!("anabranch-{}-link", std::process::id()));
        let of_link = |trace: &str| {
            fs::write(&file, trace).unwrap();
            let set = format!("rate=trace:{}", file.display());
            Parameters::<crate::kim2007::Values>::read([set.as_str()]).unwrap().digest()
        };
        assert_eq!(of_link("1\n"), of_link("1\n"));
        assert_ne!(of_link("1\n"), of_link("2\n"));
        fs::remove_file(&file).unwrap();
    }
}
