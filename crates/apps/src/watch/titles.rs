//! What happens, in words.

use anabranch_television::protocol::{ChannelEntry, Playable, Urgent, UrgentLevel};

/// A channel for a line of its own.
pub(super) fn title(entry: &ChannelEntry) -> String {
    format!("{} {}", entry.number, entry.name)
}

/// A line of the list.
pub(super) fn listed(entry: &ChannelEntry) -> String {
    let state = match (&entry.playable, entry.on_air) {
        (_, false) => " (off air)".to_owned(),
        (Playable::No { text }, true) => format!(" ({text})"),
        (Playable::Yes | Playable::Unknown, true) => String::new(),
    };
    let now = entry.programme.now.as_ref().map_or_else(String::new, |now| format!(": {now}"));
    format!("{:>4}  {}{now}{state}", entry.number, entry.name)
}

/// An urgent message.
pub(crate) fn urgent(urgent: &Urgent) -> String {
    let level = match urgent.level {
        UrgentLevel::Notice => "notice",
        UrgentLevel::Alarm => "alarm",
    };
    format!("{level}: {}", urgent.text)
}
