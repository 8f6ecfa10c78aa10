//! Control messages: JSON on stream 0. `docs/call.md` describes them.

use anabranch_session::{CONTROL_LEN_MAX, Refusal, printable};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::exchange::{FileNumber, Takes, file_name, readable};
use crate::{Media, PathUse};

/// The version of the call protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// What an end says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Message {
    /// The caller's first words.
    Call(Greeting),
    /// The listener takes the call.
    Answer(Greeting),
    /// It does not.
    Refuse(Refusal),
    /// What is sent from now on changed.
    Media {
        media: Media,
        /// Frames of voice sent so far: those before it are on their way.
        #[serde(default)]
        voice_frames: u64,
    },
    /// The picture cannot be decoded.
    WantKey,
    /// How a path is to be used.
    Path {
        r#use: PathUse,
        /// As who says this sees it.
        local: String,
        remote: String,
    },
    /// What was heard and seen.
    Report(Report),
    /// Somebody wrote this.
    Text { text: String },
    /// The speaker has a file of this number.
    OfferFile { file: FileNumber, name: String, size: u64, sha256: String },
    /// It has it no longer.
    WithdrawFile { file: FileNumber },
    /// The other end's file is not taken.
    FileRefused { file: FileNumber, text: String },
    /// The call is over.
    Bye { reason: String, text: String },
    /// Something of a later version.
    #[serde(other)]
    Unknown,
}

/// Who is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Greeting {
    pub(crate) version: u32,
    pub(crate) program: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) media: Media,
    /// What it takes beside that.
    #[serde(default, skip_serializing_if = "Takes::is_nothing")]
    pub(crate) takes: Takes,
}

/// What was heard and seen since the call began.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Frames of voice that were heard.
    pub voice_frames: u64,
    /// Frames that were not there at their time.
    pub concealed: u64,
    /// Of those, frames that came later.
    pub late: u64,
    /// Pictures that were shown.
    pub pictures: u64,
    /// Pictures that were not, or not in time for those that need them.
    pub pictures_lost: u64,
    /// How long voice waits at the receiver.
    pub delay_ms: f64,
}

/// A control message that cannot be used.
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
    #[error("a control message is not what this version of the call protocol says: {reason}")]
    Syntax {
        /// What the parser says.
        reason: String,
    },
}

impl Message {
    pub(crate) fn encode(&self) -> Bytes {
        // Numbers, texts and lists, with texts as keys: nothing that JSON cannot hold.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.len() > CONTROL_LEN_MAX {
            return Err(MessageError::TooLong { len: bytes.len() });
        }
        let message = serde_json::from_slice::<Self>(bytes)
            .map_err(|error| MessageError::Syntax { reason: printable(&error.to_string()) })?;
        Ok(message.made_printable())
    }

    /// Whether it is about words and files, which have a stream of their own.
    pub(crate) const fn is_exchange(&self) -> bool {
        match self {
            Self::Text { .. }
            | Self::OfferFile { .. }
            | Self::WithdrawFile { .. }
            | Self::FileRefused { .. } => true,
            Self::Call(_)
            | Self::Answer(_)
            | Self::Refuse(_)
            | Self::Media { .. }
            | Self::WantKey
            | Self::Path { .. }
            | Self::Report(_)
            | Self::Bye { .. }
            | Self::Unknown => false,
        }
    }

    fn made_printable(mut self) -> Self {
        match &mut self {
            Self::Call(greeting) | Self::Answer(greeting) => {
                greeting.program = printable(&greeting.program);
                greeting.name = greeting.name.as_deref().map(printable);
                greeting.media.make_printable();
            }
            Self::Media { media, .. } => media.make_printable(),
            Self::Refuse(refusal) => refusal.text = printable(&refusal.text),
            Self::Bye { reason, text } => (*reason, *text) = (printable(reason), printable(text)),
            Self::Text { text } => *text = readable(text),
            Self::OfferFile { name, .. } => *name = file_name(name),
            Self::FileRefused { text, .. } => *text = printable(text),
            Self::WithdrawFile { .. }
            | Self::WantKey
            | Self::Path { .. }
            | Self::Report(_)
            | Self::Unknown => {}
        }
        self
    }
}

impl Media {
    /// Takes from a peer's words what a terminal would act on.
    pub fn make_printable(&mut self) {
        self.voice.iter_mut().for_each(|voice| voice.codec = printable(&voice.codec));
        self.video.iter_mut().for_each(|video| video.codec = printable(&video.codec));
    }
}

#[cfg(test)]
mod tests {
    use anabranch_session::RefusalCode;

    use super::*;
    use crate::{Device, PictureFormat, VideoFormat, VoiceFormat};

    fn media() -> Media {
        let video = VideoFormat {
            codec: "vp09.00.31.08".to_owned(),
            format: PictureFormat::Vp9,
            width: Some(640),
            height: Some(360),
            fps: Some(25.0),
        };
        Media {
            voice: Some(VoiceFormat::opus()),
            video: Some(video),
            microphone: Device::On,
            camera: Device::Muted,
        }
    }

    #[test]
    fn every_message_survives_the_way() {
        let greeting = Greeting {
            version: PROTOCOL_VERSION,
            program: "anabranch 0.1.0".to_owned(),
            name: Some("Alice".to_owned()),
            media: media(),
            takes: Takes { text: true, files: false },
        };
        let refusal = Refusal { code: RefusalCode::Busy, text: "busy".to_owned() };
        let file = FileNumber(3);
        let (local, remote) = ("192.0.2.1:9".to_owned(), "192.0.2.2:9".to_owned());
        let messages = [
            Message::Call(greeting.clone()),
            Message::Answer(Greeting { name: None, ..greeting }),
            Message::Refuse(refusal),
            Message::Media { media: media(), voice_frames: 7 },
            Message::WantKey,
            Message::Path { r#use: PathUse::Spare, local, remote },
            Message::Report(Report { voice_frames: 3, delay_ms: 40.5, ..Report::default() }),
            Message::Text { text: "Two\nlines".to_owned() },
            Message::OfferFile { file, name: "a.txt".to_owned(), size: 7, sha256: "0".to_owned() },
            Message::WithdrawFile { file },
            Message::FileRefused { file, text: "Too many.".to_owned() },
            Message::Bye { reason: "hung_up".to_owned(), text: "Bob hung up.".to_owned() },
        ];
        for message in messages {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn what_a_later_version_adds_is_overlooked() {
        assert_eq!(Message::decode(br#"{"type": "wave"}"#), Ok(Message::Unknown));
        let more = br#"{"type": "want_key", "mood": "good"}"#;
        assert_eq!(Message::decode(more), Ok(Message::WantKey));
    }

    #[test]
    fn what_is_no_message_is_an_error_and_words_are_safe_to_print() {
        let long = vec![b' '; CONTROL_LEN_MAX + 1];
        assert_eq!(Message::decode(&long), Err(MessageError::TooLong { len: long.len() }));
        for bytes in [&b""[..], b"\xff\xfe", b"[]", b"{\"type\": \"call\"}", &[b'['; 5_000]] {
            assert!(matches!(Message::decode(bytes), Err(MessageError::Syntax { .. })));
        }
        let text = format!("\x1b[2Jno{}", "x".repeat(1_000));
        let bye = Message::Bye { reason: "hung_up".to_owned(), text };
        let Ok(Message::Bye { text, .. }) = Message::decode(&bye.encode()) else { panic!() };
        assert!(text.starts_with("[2Jnox") && text.len() == 300);
    }
}
