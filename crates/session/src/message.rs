//! [`Message`]: what the ends say to each other on stream 0, as JSON.

use anabranch_transport::PayloadId;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Measures, Refusal, Report, Role, Source};

/// The version of the session protocol.
pub const PROTOCOL_VERSION: u32 = 2;

/// The longest message on stream 0.
pub const CONTROL_LEN_MAX: usize = 16 << 10;

/// The payload protocol identifier of messages on stream 0: "ana" and 0.
pub const CONTROL: PayloadId = PayloadId(0x616e_6100);

/// That of media: "ana" and 1.
pub const MEDIA: PayloadId = PayloadId(0x616e_6101);

/// The longest text of a peer's that is shown to people.
const TEXT_CHARS_MAX: usize = 300;

/// What the ends say to each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Message {
    /// The caller's first words.
    Hello(Greeting),
    /// The listener's answer.
    Accept(Greeting),
    /// The listener's other answer; it shuts the association down then.
    Refuse(Refusal),
    /// The sender's media changed: it goes on from here, so.
    Source(Source),
    /// The sender's last words: how many items there were in all.
    End { items: u64 },
    /// The receiver's answer to the end, where nothing was to be given up: it is written.
    Kept,
    /// The receiver's experience, every second.
    Report(Report),
    /// The sender's measurements, every second.
    Measures(Measures),
    /// Something of a later version.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// Who one is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) version: u32,
    /// Name and version of the program, for people.
    pub(super) program: String,
    pub(super) role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stream_id: Option<String>,
    pub(super) latency_ms: u32,
    /// The sender's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Source>,
    /// The receiver's: whether it says when all is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) confirms: bool,
}

/// A message on stream 0 that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Too long.
    #[error("a control message has {len} bytes, at most {CONTROL_LEN_MAX} are allowed")]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// Not ours.
    #[error("a control message is not what this version of the session protocol says: {reason}")]
    Syntax {
        /// What the parser says.
        reason: String,
    },
}

impl Message {
    pub(super) fn encode(&self) -> Bytes {
        // Numbers, texts and lists, with texts as keys: nothing that JSON cannot hold.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.len() > CONTROL_LEN_MAX {
            return Err(MessageError::TooLong { len: bytes.len() });
        }
        let message = serde_json::from_slice::<Self>(bytes)
            .map_err(|error| MessageError::Syntax { reason: printable(&error.to_string()) })?;
        Ok(message.made_printable())
    }

    fn made_printable(mut self) -> Self {
        if let Self::Hello(greeting) | Self::Accept(greeting) = &mut self {
            greeting.program = printable(&greeting.program);
        }
        if let Self::Refuse(refusal) = &mut self {
            refusal.text = printable(&refusal.text);
        }
        self
    }

    /// The version that a greeting speaks, though the rest of it may be of that version only.
    pub(super) fn version_of_hello(bytes: &[u8]) -> Option<u32> {
        #[derive(Deserialize)]
        struct Any {
            r#type: String,
            version: u32,
        }
        let any: Any =
            serde_json::from_slice(bytes.get(..CONTROL_LEN_MAX).unwrap_or(bytes)).ok()?;
        (any.r#type == "hello").then_some(any.version)
    }
}

/// A peer's text without what a terminal would act on, and not longer than people read.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{LinkMeasure, OutputReport, RefusalCode, SourceFormat};
    use super::*;
    use anabranch_media::clip::Clip;

    fn greeting() -> Greeting {
        Greeting {
            version: PROTOCOL_VERSION,
            program: "anabranch 0.1.0".to_owned(),
            role: Role::Sender,
            stream_id: Some("camera 1".to_owned()),
            latency_ms: 200,
            source: Some(Source {
                session: 7,
                position: 12,
                complete: true,
                format: SourceFormat::MpegTs,
            }),
            confirms: true,
        }
    }

    #[test]
    fn every_message_survives_the_way() {
        let clip = include_bytes!("../../../assets/clip/big-buck-bunny.anaclip");
        let header = Clip::decode(&Bytes::from_static(clip)).unwrap().header().clone();
        let clip =
            Source { session: 1, position: 0, complete: false, format: SourceFormat::Clip(header) };
        let link = LinkMeasure { rtt_us: 21_000, rtt_variation_us: 800, loss: 0.0125 };
        let output = OutputReport { takes_bps: Some(4_200_000), behind_ms: 80 };
        let messages = [
            Message::Hello(greeting()),
            Message::Accept(Greeting { stream_id: None, source: None, ..greeting() }),
            Message::Refuse(Refusal::new(RefusalCode::Busy, "busy".to_owned())),
            Message::Source(clip),
            Message::End { items: 9 },
            Message::Kept,
            Message::Report(Report { pieces: 3, output: Some(output), ..Report::default() }),
            Message::Measures(Measures { links: vec![link], left_out_for_output: 4 }),
        ];
        for message in messages {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn what_a_later_version_adds_is_overlooked() {
        let unknown = br#"{"type": "seek", "to": 5}"#;
        assert_eq!(Message::decode(unknown), Ok(Message::Unknown));
        let more = br#"{"type": "end", "items": 5, "mood": "good"}"#;
        assert_eq!(Message::decode(more), Ok(Message::End { items: 5 }));
        let refuse = br#"{"type": "refuse", "code": "weather", "text": "rain"}"#;
        let refusal = Refusal::new(RefusalCode::Other, "rain".to_owned());
        assert_eq!(Message::decode(refuse), Ok(Message::Refuse(refusal)));
    }

    #[test]
    fn the_version_of_a_hello_is_known_whatever_else_it_says() {
        let hello = br#"{"type": "hello", "version": 9, "role": 3}"#;
        assert_eq!(Message::version_of_hello(hello), Some(9));
        assert!(Message::decode(hello).is_err());
        assert_eq!(Message::version_of_hello(br#"{"type": "end", "version": 9}"#), None);
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let long = vec![b' '; CONTROL_LEN_MAX + 1];
        assert_eq!(Message::decode(&long), Err(MessageError::TooLong { len: long.len() }));
        for bytes in [&b""[..], b"\xff\xfe", b"[]", b"{\"type\": \"end\"}", &[b'['; 5_000]] {
            assert!(matches!(Message::decode(bytes), Err(MessageError::Syntax { .. })));
        }
    }

    #[test]
    fn a_terminal_is_safe_from_a_peers_words() {
        let text = format!("\x1b[2Jno\n{}", "x".repeat(1_000));
        let refuse = Message::Refuse(Refusal::new(RefusalCode::Busy, text));
        let Ok(Message::Refuse(refusal)) = Message::decode(&refuse.encode()) else { panic!() };
        assert_eq!(refusal.text.len(), TEXT_CHARS_MAX);
        assert!(refusal.text.starts_with("[2Jnoxxx"));
    }
}
