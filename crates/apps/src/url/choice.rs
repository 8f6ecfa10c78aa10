//! [`Choice`]: a channel as people name it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use anabranch_television::protocol::{ChannelEntry, Playable};
use thiserror::Error;

/// Channels that a refusal names.
const NAMED_MAX: usize = 12;

/// A channel as people name it: by its number, or by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The key to press.
    Number(u32),
    /// Its name, or how it begins; upper and lower case are the same.
    Name(String),
}

/// No channel is meant by a choice, or several are.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{wanted} is not a channel of this server; there are {known}")]
pub struct NoSuchChannel {
    wanted: String,
    known: String,
}

impl FromStr for Choice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let text = text.trim();
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Number))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "`{name}`"),
        }
    }
}

impl Choice {
    /// The channel that is meant.
    ///
    /// # Errors
    /// None is, or several are.
    pub fn find<'a>(
        &self,
        channels: &'a [ChannelEntry],
    ) -> Result<&'a ChannelEntry, NoSuchChannel> {
        let found = match self {
            Self::Number(number) => channels.iter().find(|entry| entry.number == *number),
            Self::Name(name) => by_name(&name.to_lowercase(), channels),
        };
        found.ok_or_else(|| NoSuchChannel { wanted: self.to_string(), known: known(channels) })
    }

    /// What to watch where nothing was chosen: the first channel that can be watched now.
    #[must_use]
    pub fn first(channels: &[ChannelEntry]) -> Option<&ChannelEntry> {
        let is_good = |entry: &&ChannelEntry| entry.on_air && entry.playable == Playable::Yes;
        channels.iter().find(is_good).or(channels.first())
    }
}

/// The one of this name, or the only one that begins so.
fn by_name<'a>(name: &str, channels: &'a [ChannelEntry]) -> Option<&'a ChannelEntry> {
    if let Some(entry) = channels.iter().find(|entry| entry.name.to_lowercase() == name) {
        return Some(entry);
    }
    let mut begin = channels.iter().filter(|entry| entry.name.to_lowercase().starts_with(name));
    let first = begin.next().filter(|_| !name.is_empty())?;
    begin.next().is_none().then_some(first)
}

fn known(channels: &[ChannelEntry]) -> String {
    if channels.is_empty() {
        return "none".to_owned();
    }
    let names = channels.iter().take(NAMED_MAX);
    let mut names: Vec<_> = names.map(|it| format!("{} {}", it.number, it.name)).collect();
    if channels.len() > NAMED_MAX {
        names.push(format!("and {} more", channels.len() - NAMED_MAX));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use anabranch_television::channel::ChannelId;
    use anabranch_television::protocol::Programme;

    use super::*;

    fn channels() -> Vec<ChannelEntry> {
        let entry = |(id, number, name): (u32, u32, &str)| ChannelEntry {
            id: ChannelId(id),
            number,
            name: name.to_owned(),
            group: None,
            on_air: id != 1,
            playable: Playable::Yes,
            programme: Programme::default(),
            through: Vec::new(),
        };
        [(1, 10, "News"), (2, 20, "News at Night"), (3, 30, "Sport")].map(entry).to_vec()
    }

    fn found(text: &str) -> Option<u32> {
        let Ok(choice) = text.parse::<Choice>();
        choice.find(&channels()).ok().map(|entry| entry.id.0)
    }

    #[test]
    fn a_channel_is_found_by_its_number_its_name_or_how_it_begins() {
        let texts = ["20", " 30 ", "news", "NEWS AT", "s", "new", "", "40"];
        let expected = [Some(2), Some(3), Some(1), Some(2), Some(3), None, None, None];
        assert_eq!(texts.map(found), expected);
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let error = Choice::Number(4).find(&channels()).unwrap_err().to_string();
        let expected =
            "4 is not a channel of this server; there are 10 News, 20 News at Night, 30 Sport";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_refusal_does_not_name_hundreds() {
        let many: Vec<_> = channels().into_iter().cycle().take(500).collect();
        let error = Choice::Number(4).find(&many).unwrap_err().to_string();
        assert!(error.len() < 300 && error.ends_with(", and 488 more"), "{error}");
    }

    #[test]
    fn without_a_choice_the_first_that_is_on_air_is_watched() {
        assert_eq!(Choice::first(&channels()).map(|entry| entry.number), Some(20));
        assert_eq!(Choice::first(&[]), None);
    }
}
