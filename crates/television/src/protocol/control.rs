//! The texts: JSON objects with a `type`. An unknown type and an unknown field are ignored.

use anabranch_media::decoding::{AudioInfo, VideoInfo};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};

use super::ChannelId;
use super::TEXT_BYTES_MAX;

/// The longest text that is shown to people.
pub const TEXT_CHARS_MAX: usize = 500;

/// From the server, on the control stream, the urgent stream and a slot's data stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromServer {
    /// Control: the session begins.
    Welcome {
        /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
        protocol: u32,
        /// The program's name and version.
        #[serde(deserialize_with = "printable")]
        program: String,
        /// The latency budget in force.
        latency_ms: u32,
        /// Microseconds of the server's clock.
        now_us: u64,
        /// What there is to watch.
        channels: Vec<ChannelEntry>,
    },
    /// Control: the list of channels changed; this is the whole new one.
    Channels {
        /// What there is to watch.
        channels: Vec<ChannelEntry>,
    },
    /// Control: something to show to the viewer.
    Guidance {
        /// In words.
        #[serde(deserialize_with = "printable")]
        text: String,
    },
    /// Control or data: a request cannot be met.
    Error {
        /// Why, in words.
        #[serde(deserialize_with = "printable")]
        text: String,
    },
    /// Control: the last message; the association is shut down then.
    Bye {
        /// Why, in words.
        #[serde(deserialize_with = "printable")]
        text: String,
    },
    /// Urgent: to be shown over the picture at once, and answered with
    /// [`Seen`](FromViewer::Seen).
    Urgent(Urgent),
    /// Urgent: an urgent message holds no more.
    Over {
        /// Which.
        id: u32,
    },
    /// Data: what is sent on this slot's media streams, from the next key frame on. Another one
    /// follows if the source begins anew.
    Description(Box<Description>),
    /// Data: the source of the channel is lost; a description follows when it is back.
    OffAir {
        /// The channel.
        channel: ChannelId,
        /// Why, in words.
        #[serde(deserialize_with = "printable")]
        text: String,
    },
    /// Data: another programme began.
    Programme {
        /// The channel.
        channel: ChannelId,
        /// Now and next.
        programme: Programme,
    },
    /// Still: the last key picture of a channel follows on this stream.
    Still(Still),
    /// Of a later version.
    #[serde(other)]
    Unknown,
}

/// From the viewer, on the control stream, the urgent stream and a slot's data stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromViewer {
    /// Control: the first message.
    Hello {
        /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
        protocol: u32,
        /// The program's name and version.
        #[serde(deserialize_with = "printable")]
        program: String,
        /// What entitles to channels that are not open to all.
        #[serde(default)]
        token: Option<String>,
        /// How long media may take from the server's hand to the screen.
        latency_ms: u32,
    },
    /// Control: another latency budget.
    Latency {
        /// In milliseconds.
        latency_ms: u32,
    },
    /// Control: what the viewer experiences, every second.
    Report(Report),
    /// Urgent: an urgent message is on the screen.
    Seen {
        /// Which.
        id: u32,
    },
    /// Data: send this channel on this slot, and nothing on the others.
    Tune {
        /// Which.
        channel: ChannelId,
    },
    /// Data: send no channel.
    Stop,
    /// Still: send the last key picture of this channel, when nothing else is to be sent.
    Still {
        /// Which.
        channel: ChannelId,
    },
    /// Of a later version.
    #[serde(other)]
    Unknown,
}

/// A channel in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelEntry {
    /// What requests and media call it.
    pub id: ChannelId,
    /// The key to press.
    pub number: u32,
    /// Its name.
    #[serde(deserialize_with = "printable")]
    pub name: String,
    /// Channels of one group are shown together.
    #[serde(default, deserialize_with = "printable_if_any")]
    pub group: Option<String>,
    /// Whether its source is there.
    pub on_air: bool,
    /// Whether viewers can decode it.
    pub playable: Playable,
    /// Now and next.
    #[serde(default)]
    pub programme: Programme,
    /// The servers that its media passes, each by the name that it drew when it began, this one
    /// last. A server takes no channel that passed it before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<String>,
}

/// Whether viewers can decode a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Playable {
    /// Not known before something came.
    Unknown,
    /// They can.
    Yes,
    /// They cannot.
    No {
        /// What stands against it, in words.
        #[serde(deserialize_with = "printable")]
        text: String,
    },
}

/// What is on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programme {
    /// Now.
    #[serde(default, deserialize_with = "printable_if_any")]
    pub now: Option<String>,
    /// After that.
    #[serde(default, deserialize_with = "printable_if_any")]
    pub next: Option<String>,
}

/// What a decoder must know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The channel.
    pub channel: ChannelId,
    /// Media of this session is meant: the server's number of this start of the source.
    pub session: u16,
    /// The picture.
    pub video: Option<VideoInfo>,
    /// The sound.
    pub audio: Option<AudioInfo>,
    /// The average rate, as far as it is known.
    pub bits_per_second: u64,
}

/// Which picture of a channel follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Still {
    /// The channel.
    pub channel: ChannelId,
    /// That of its media.
    pub session: u16,
    /// That of its media.
    pub frame: u64,
    /// How to decode it; none where there is no picture to send.
    pub video: Option<VideoInfo>,
}

/// For all viewers, or for those of one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Urgent {
    /// Its number.
    pub id: u32,
    /// How loud.
    pub level: UrgentLevel,
    /// At most [`TEXT_CHARS_MAX`].
    #[serde(deserialize_with = "printable")]
    pub text: String,
}

/// How loud an urgent message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UrgentLevel {
    /// A service interruption.
    Notice,
    /// Fire.
    Alarm,
}

/// What a viewer experiences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Pictures shown in time, since the session began.
    pub shown: u64,
    /// Pictures that came too late.
    pub late: u64,
    /// Pictures that never came, or not whole.
    pub lost: u64,
    /// From the last key press to the first new picture.
    #[serde(default)]
    pub zap_ms: Option<f64>,
}

impl FromServer {
    /// Its text.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        encode(self)
    }

    /// Reads one.
    ///
    /// # Errors
    /// The text is too long or no such message.
    pub fn decode(text: &[u8]) -> Result<Self, String> {
        decode(text)
    }
}

impl FromViewer {
    /// Its text.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        encode(self)
    }

    /// Reads one.
    ///
    /// # Errors
    /// The text is too long or no such message.
    pub fn decode(text: &[u8]) -> Result<Self, String> {
        decode(text)
    }
}

fn encode(message: &impl Serialize) -> Bytes {
    // Only a map with keys that are no strings, or a failing writer, would not serialize.
    serde_json::to_vec(message).map(Bytes::from).unwrap_or_default()
}

fn decode<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("a text of {} bytes; at most {TEXT_BYTES_MAX} are read", text.len()));
    }
    serde_json::from_slice(text).map_err(|error| format!("not a message of the protocol: {error}"))
}

/// A foreign text without what a terminal would act on.
fn printable<'a, D: Deserializer<'a>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.chars().filter(|c| !c.is_control()).collect())
}

fn printable_if_any<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| text.chars().filter(|c| !c.is_control()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_safe_from_names_and_words_of_others() {
        let nasty = || "\u{1b}]0;x\u{7}A\nB".to_owned();
        let entry = ChannelEntry {
            id: ChannelId(1),
            number: 1,
            name: nasty(),
            group: Some(nasty()),
            on_air: true,
            playable: Playable::No { text: nasty() },
            programme: Programme { now: Some(nasty()), next: Some(nasty()) },
            through: Vec::new(),
        };
        let off_air = FromServer::OffAir { channel: ChannelId(1), text: nasty() };
        let channels = FromServer::Channels { channels: vec![entry] };
        for sent in [channels, off_air, FromServer::Bye { text: nasty() }] {
            let read = FromServer::decode(&sent.encode()).unwrap().encode();
            let text = std::str::from_utf8(&read).unwrap();
            assert!(text.contains("]0;xAB") && !text.contains("\\u") && !text.contains("\\n"));
        }
    }

    #[test]
    fn texts_survive_the_way_and_look_as_the_document_says() {
        let tune = FromViewer::Tune { channel: ChannelId(3) };
        assert_eq!(tune.encode().as_ref(), br#"{"type":"tune","channel":3}"#);
        let urgent = Urgent { id: 7, level: UrgentLevel::Alarm, text: "Leave the house.".into() };
        let urgent = FromServer::Urgent(urgent);
        let text = urgent.encode();
        assert_eq!(
            text.as_ref(),
            br#"{"type":"urgent","id":7,"level":"alarm","text":"Leave the house."}"#
        );
        assert_eq!(FromServer::decode(&text), Ok(urgent));
    }

    #[test]
    fn what_a_later_version_says_is_known_to_be_unknown() {
        assert_eq!(FromViewer::decode(br#"{"type":"dance","to":1}"#), Ok(FromViewer::Unknown));
        let hello = br#"{"type":"hello","protocol":1,"program":"x","latency_ms":300,"new":1}"#;
        assert!(matches!(FromViewer::decode(hello), Ok(FromViewer::Hello { token: None, .. })));
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        let error = FromViewer::decode(b"{").unwrap_err();
        assert!(error.starts_with("not a message of the protocol"), "{error}");
        let long = vec![b' '; TEXT_BYTES_MAX + 1];
        assert!(FromServer::decode(&long).unwrap_err().contains("at most"));
    }
}
