//! What passes between program and page: `docs/page-protocol.md`, version 1, as Rust types.
//!
//! A field of type `Option` is the document's "or null".

mod event;
mod guide;
mod hello;
mod media;
mod request;
mod stats;
mod treatments;

use anabranch_television::protocol::{ChannelEntry, Urgent};
use serde::{Deserialize, Serialize};

pub use event::{Event, EventKind, NewEvent, Severity};
pub use guide::{Tuned, TunedState};
pub use hello::{
    Attribution, Controls, Hello, LinkRanges, Mode, Named, PathInfo, Range, TreatmentRanges,
};
pub use media::{UNIT_HEADER_BYTES, encode_unit, encoded_len};
pub use request::{PageStats, Request, SetLink};
pub use stats::{
    AbandonedTally, DelayMs, FrameCounts, LayerStats, LevelStats, LinkSettings, PathState,
    PathStats, Stats, Tally,
};
pub use treatments::{Preset, Reliability, Treatment, Treatments};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// A text message to the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ProgramMessage {
    /// What there is to see and to control. A second one voids all that was before.
    Hello(Box<Hello>),
    /// Counters and states, some times a second.
    Stats(Box<Stats>),
    /// Something happened.
    Event(Event),
    /// The treatments in force.
    Treatments(Treatments),
    /// What the page may choose from.
    Channels {
        /// All channels.
        channels: Vec<ChannelEntry>,
    },
    /// Another channel is watched, or it fares otherwise.
    Tuned(Tuned),
    /// To be shown over the picture.
    Urgent(Urgent),
    /// An urgent message holds no more.
    Over {
        /// Which.
        id: u32,
    },
    /// A request was refused.
    Error {
        /// The request's type, if it could be read.
        request: Option<String>,
        /// Why, in words.
        text: String,
    },
    /// The program has lost its peer and waits to try again.
    Reconnecting {
        /// Seconds until the next attempt.
        in_s: f64,
        /// Why, in words.
        why: String,
    },
    /// The stream is over, and starts anew, with another hello, when a page asks for it.
    Finished {
        /// What is over, in words.
        text: String,
    },
    /// The stream is over. The last message.
    Ended {
        /// How it ended, in words.
        text: String,
    },
}

impl ProgramMessage {
    /// The message as it is sent.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Structs of numbers and texts, no maps: there is nothing that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;

    fn fixture(name: &str) -> String {
        let path = format!("{}/../../web/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    }

    /// JSON does not tell 10 from 10.0.
    fn with_plain_numbers(value: Value) -> Value {
        match value {
            Value::Number(number) => number.as_f64().unwrap().into(),
            Value::Array(items) => items.into_iter().map(with_plain_numbers).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(key, value)| (key, with_plain_numbers(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::String(_) => value,
        }
    }

    /// Every field of the example must be one of ours and the other way round.
    fn assert_round_trip<T: Serialize + DeserializeOwned>(name: &str) {
        let text = fixture(name);
        let message: T = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let ours = with_plain_numbers(serde_json::to_value(&message).unwrap());
        let theirs = with_plain_numbers(serde_json::from_str(&text).unwrap());
        assert_eq!(ours, theirs, "{name}");
    }

    #[test]
    fn messages_of_the_program_are_those_of_the_document() {
        let about_all = ["hello", "stats", "event", "treatments", "error"];
        let about_ends = ["reconnecting", "finished", "ended"];
        let about_channels = ["channels", "tuned", "urgent", "over"];
        for name in about_all.into_iter().chain(about_ends).chain(about_channels) {
            assert_round_trip::<ProgramMessage>(&format!("{name}.json"));
        }
    }

    #[test]
    fn requests_of_the_page_are_those_of_the_document() {
        let about_all = ["set_link", "set_treatment", "preset", "set_latency", "page_stats"];
        for name in about_all.into_iter().chain(["choose", "seen", "restart"]) {
            assert_round_trip::<Request>(&format!("{name}.json"));
        }
    }

    #[test]
    fn the_media_unit_is_that_of_the_document() {
        let hex = fixture("media-unit.hex");
        let bytes: Vec<_> =
            hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        assert_eq!(encode_unit(&media::tests::example(), false), [bytes]);
    }
}
