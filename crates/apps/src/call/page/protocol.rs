//! Messages between an agent and its page; `docs/call.md` describes them, and its examples are in
//! `web/fixtures`.

use anabranch_call::exchange::{Exchanged, FileEntry, FileNumber, LedgerView, Takes, TextLine};
use anabranch_call::{Device, Media, PathUse, PictureKind, Playback, Played, Report};
use anabranch_call::{VideoFormat, VoiceFormat};
use anabranch_sansio::Time;
use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

/// The version of the page protocol.
pub(in crate::call) const PROTOCOL: u32 = 1;

/// Bytes of a media message's header.
const HEADER: usize = 32;

/// The longest media message of a page.
pub(in crate::call) const MEDIA_LEN_MAX: usize = 1 << 20;

const FROM_AGENT: u8 = 1;
const FROM_PAGE: u8 = 2;

/// What begins a message about a file, both ways.
const FILES: u8 = 3;

const KEY: u8 = 1;
const REFERENCE: u8 = 2;
const DISPOSABLE: u8 = 4;
const DISCONTINUITY: u8 = 8;
const LAST: u8 = 16;
const CONCEAL: u8 = 32;

const VIDEO: u8 = 0;
const VOICE: u8 = 1;

/// What the agent says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::call) enum ToPage {
    Hello(Hello),
    State(State),
    Encode { video_bps: u64, voice_bps: u64, why: String },
    KeyWanted,
    Stats(Stats),
    Event(Event),
    Exchange(Exchange),
    Text(TextLine),
    File(FileEntry),
    FileRefused { name: String, text: String },
    FileGone { file: FileNumber },
    Taken { text: String },
    Error { request: Option<String>, text: String },
    Bye { text: String },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct Hello {
    pub(in crate::call) protocol: u32,
    pub(in crate::call) program: String,
    pub(in crate::call) mode: String,
    pub(in crate::call) now_us: u64,
    pub(in crate::call) name: Option<String>,
    pub(in crate::call) link: Option<String>,
    pub(in crate::call) page_sends: PageSends,
    pub(in crate::call) page_plays: bool,
}

/// What was written, and which files there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct Exchange {
    pub(in crate::call) you: u16,
    pub(in crate::call) takes: Takes,
    pub(in crate::call) texts: Vec<TextLine>,
    pub(in crate::call) files: Vec<FileEntry>,
}

impl From<LedgerView> for Exchange {
    fn from(view: LedgerView) -> Self {
        let LedgerView { you, takes, texts, files } = view;
        Self { you: you.0, takes, texts, files }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct PageSends {
    pub(in crate::call) voice: bool,
    pub(in crate::call) video: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct State {
    pub(in crate::call) state: String,
    pub(in crate::call) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::call) why: Option<String>,
    pub(in crate::call) peer: Option<PeerInfo>,
    pub(in crate::call) since_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::call) listeners: Option<Listeners>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct PeerInfo {
    pub(in crate::call) name: Option<String>,
    pub(in crate::call) program: String,
    pub(in crate::call) key: Option<String>,
    pub(in crate::call) media: Media,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct Listeners {
    pub(in crate::call) is: String,
    pub(in crate::call) text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct Stats {
    pub(in crate::call) now_us: u64,
    pub(in crate::call) paths: Vec<PathInfo>,
    pub(in crate::call) voice: VoiceStats,
    pub(in crate::call) video: VideoStats,
    pub(in crate::call) carries_kbps: Option<f64>,
    pub(in crate::call) theirs: Option<Report>,
    pub(in crate::call) quality: Quality,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct PathInfo {
    pub(in crate::call) id: u32,
    pub(in crate::call) name: String,
    pub(in crate::call) local: String,
    pub(in crate::call) remote: String,
    pub(in crate::call) state: String,
    pub(in crate::call) r#use: PathUse,
    pub(in crate::call) primary: bool,
    pub(in crate::call) rtt_ms: Option<f64>,
    pub(in crate::call) loss_percent: Option<f64>,
    pub(in crate::call) sends_kbps: f64,
    pub(in crate::call) receives_kbps: f64,
    pub(in crate::call) carries: Vec<String>,
    pub(in crate::call) handoff_ms: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct VoiceStats {
    pub(in crate::call) heard: u64,
    pub(in crate::call) concealed: u64,
    pub(in crate::call) late: u64,
    pub(in crate::call) delay_ms: f64,
    pub(in crate::call) target_ms: f64,
    pub(in crate::call) twice: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct VideoStats {
    pub(in crate::call) shown: u64,
    pub(in crate::call) lost: u64,
    pub(in crate::call) left_out: u64,
    pub(in crate::call) kbps: f64,
    pub(in crate::call) fps: f64,
    pub(in crate::call) av_offset_ms: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct Quality {
    pub(in crate::call) is: String,
    pub(in crate::call) text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(Deserialize))]
pub(in crate::call) struct Event {
    pub(in crate::call) id: u64,
    pub(in crate::call) at_us: u64,
    pub(in crate::call) severity: String,
    pub(in crate::call) kind: String,
    pub(in crate::call) path: Option<u32>,
    pub(in crate::call) text: String,
}

/// What a page says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(Serialize))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::call) enum FromPage {
    Devices { microphone: Device, camera: Device, text: Option<String> },
    Sending { voice: Option<VoiceFormat>, video: Option<VideoFormat> },
    PathUse { path: u32, r#use: PathUse },
    Primary { path: u32 },
    Leave { path: u32 },
    VoiceTwice { on: bool },
    WantKey,
    Text { text: String },
    OfferFile { name: String, size: u64, sha256: String },
    WithdrawFile { file: FileNumber },
    HangUp,
    PageStats(PageStats),
}

impl FromPage {
    /// Its `type`.
    pub(in crate::call) const fn name(&self) -> &'static str {
        match self {
            Self::Devices { .. } => "devices",
            Self::Sending { .. } => "sending",
            Self::PathUse { .. } => "path_use",
            Self::Primary { .. } => "primary",
            Self::Leave { .. } => "leave",
            Self::VoiceTwice { .. } => "voice_twice",
            Self::WantKey => "want_key",
            Self::Text { .. } => "text",
            Self::OfferFile { .. } => "offer_file",
            Self::WithdrawFile { .. } => "withdraw_file",
            Self::HangUp => "hang_up",
            Self::PageStats(_) => "page_stats",
        }
    }
}

/// What a page measured.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(test, derive(Serialize))]
pub(in crate::call) struct PageStats {
    pub(in crate::call) heard: u64,
    pub(in crate::call) concealed: u64,
    pub(in crate::call) shown: u64,
    pub(in crate::call) decode_errors: u64,
    pub(in crate::call) encoder_queue: u64,
    pub(in crate::call) av_skew_ms: Option<f64>,
}

/// Media of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call) struct PageMedia {
    /// When it was captured, microseconds of the page's clock.
    pub(in crate::call) captured_us: i64,
    /// A picture of this kind, or a frame of voice.
    pub(in crate::call) picture: Option<PictureKind>,
    pub(in crate::call) bytes: Bytes,
}

/// The message for something that is to be heard or seen.
pub(in crate::call) fn media_message(playback: &Playback) -> Bytes {
    let Playback { play_at, captured_us, frame, what } = playback;
    let (track, flags, bytes) = match what {
        Played::Voice(bytes) => (VOICE, LAST, bytes.clone()),
        Played::Concealed => (VOICE, LAST | CONCEAL, Bytes::new()),
        Played::Picture { kind, discontinuity, bytes } => {
            let gap = if *discontinuity { DISCONTINUITY } else { 0 };
            (VIDEO, flag_of(*kind) | gap | LAST, bytes.clone())
        }
    };
    let mut message = BytesMut::with_capacity(HEADER + bytes.len());
    message.put_slice(&[FROM_AGENT, track, 0, flags]);
    message.put_u32(*frame as u32);
    message.put_i64(captured_us.cast_signed());
    message.put_u64(play_at.as_micros());
    message.put_u32(u32::MAX);
    message.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    message.put_slice(&bytes);
    message.freeze()
}

/// The message for something about a block of a file.
pub(in crate::call) fn block_message(block: &Bytes) -> Bytes {
    let mut message = BytesMut::with_capacity(1 + block.len());
    message.put_u8(FILES);
    message.put_slice(block);
    message.freeze()
}

/// What a page says about a block of a file, if that is what these bytes are.
pub(in crate::call) fn read_block(message: &Bytes) -> Option<Bytes> {
    (message.first() == Some(&FILES)).then(|| message.slice(1..))
}

/// What is told of words and files in words; none of blocks.
pub(in crate::call) fn exchange_message(exchanged: Exchanged) -> Result<ToPage, Bytes> {
    match exchanged {
        Exchanged::Text(line) => Ok(ToPage::Text(line)),
        Exchanged::File(entry) => Ok(ToPage::File(entry)),
        Exchanged::FileRefused { name, text } => Ok(ToPage::FileRefused { name, text }),
        Exchanged::FileGone(file) => Ok(ToPage::FileGone { file }),
        Exchanged::Block(block) => Err(block),
    }
}

/// Reads a page's media; in words what is wrong with it.
pub(in crate::call) fn read_media(message: &Bytes) -> Result<PageMedia, &'static str> {
    let Some((header, payload)) = message.split_first_chunk::<HEADER>() else {
        return Err("A media message has a header of 32 bytes.");
    };
    let [format, track, layer, flags, ..] = *header;
    if format != FROM_PAGE || layer != 0 {
        return Err("A page's media has the format 2 and the layer 0.");
    }
    let number = |at: usize| header.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    let captured_us = number(8).map_or(0, i64::from_be_bytes);
    let len =
        header.get(28..).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
    if len as usize != payload.len() || payload.is_empty() {
        return Err("Payload Length is the rest of the message, which is not empty.");
    }
    let picture = match (track, flags & (KEY | REFERENCE | DISPOSABLE)) {
        (VOICE, 0) => None,
        (VIDEO, KEY) => Some(PictureKind::Key),
        (VIDEO, REFERENCE) => Some(PictureKind::Reference),
        (VIDEO, DISPOSABLE) => Some(PictureKind::Disposable),
        _ => return Err("A picture is one of key, reference and disposable; voice is none."),
    };
    Ok(PageMedia { captured_us, picture, bytes: message.slice(HEADER..) })
}

const fn flag_of(kind: PictureKind) -> u8 {
    match kind {
        PictureKind::Key => KEY,
        PictureKind::Reference => REFERENCE,
        PictureKind::Disposable => DISPOSABLE,
    }
}

/// Microseconds of the program's clock.
pub(in crate::call) const fn micros(at: Time) -> u64 {
    at.as_micros()
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

    fn hex(name: &str) -> Bytes {
        let text = fixture(name);
        let bytes = text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap());
        bytes.collect::<Vec<u8>>().into()
    }

    fn survives<T: Serialize + DeserializeOwned>(names: &[&str]) {
        for name in names {
            let text = fixture(&format!("call-{name}.json"));
            let message: T = serde_json::from_str(&text).unwrap();
            let before: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_value(&message).unwrap(), before, "{name}");
        }
    }

    #[test]
    fn the_examples_of_the_protocol_are_read_and_written_without_a_change() {
        survives::<ToPage>(&[
            "hello",
            "state-waiting",
            "state-calling",
            "state-in-call",
            "state-no-path",
            "state-ended",
            "encode",
            "key-wanted",
            "stats",
            "event",
            "exchange",
            "text",
            "file",
            "file-refused",
            "file-gone",
            "taken",
            "error",
            "bye",
        ]);
        survives::<FromPage>(&[
            "devices",
            "sending",
            "path-use",
            "primary",
            "leave",
            "voice-twice",
            "want-key",
            "write",
            "offer-file",
            "withdraw-file",
            "hang-up",
            "page-stats",
        ]);
    }

    #[test]
    fn media_is_as_in_the_examples() {
        let voice = |frame, what| Playback {
            play_at: Time::from_micros(65_240_000 + 20_000 * (frame - 3_010)),
            captured_us: 65_180_000 + 20_000 * (frame - 3_010),
            frame,
            what,
        };
        let bytes = Bytes::from_static(&[0x48, 0x0b, 0xe4, 0xc1]);
        let heard = voice(3_010, Played::Voice(bytes.clone()));
        assert_eq!(media_message(&heard), hex("call-voice.hex"));
        assert_eq!(media_message(&voice(3_011, Played::Concealed)), hex("call-conceal.hex"));
        let frame = PageMedia { captured_us: 812_345, picture: None, bytes };
        assert_eq!(read_media(&hex("call-page-voice.hex")), Ok(frame));
        let key = read_media(&hex("call-page-picture.hex")).unwrap();
        assert_eq!((key.picture, key.captured_us), (Some(PictureKind::Key), 800_000));
    }

    #[test]
    fn what_is_said_of_blocks_begins_with_a_byte_of_its_own() {
        let want = hex("call-want-block.hex");
        let block = read_block(&want).expect("a message about a file");
        assert_eq!(block_message(&block), want);
        assert_eq!(read_block(&hex("call-page-voice.hex")), None);
        assert_eq!(read_block(&Bytes::new()), None);
    }

    #[test]
    fn media_that_is_none_is_refused_in_words() {
        let good = hex("call-page-picture.hex");
        for (at, value) in [(0, 1), (1, 2), (2, 1), (3, 3), (31, 9)] {
            let mut bad = good.to_vec();
            bad[at] = value;
            assert!(read_media(&bad.into()).is_err(), "byte {at}");
        }
        assert!(read_media(&good.slice(..20)).is_err());
        assert!(read_media(&good.slice(..32)).is_err());
    }
}
