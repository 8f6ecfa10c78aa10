//! What server and viewers say to each other: `docs/television.md`, version 2, as Rust types.

mod control;
mod media;
mod streams;

use anabranch_transport::PayloadId;
use serde::{Deserialize, Serialize};

pub use control::{
    ChannelEntry, Description, FromServer, FromViewer, Playable, Programme, Report, Still,
    TEXT_CHARS_MAX, Urgent, UrgentLevel,
};
pub use media::{MediaError, decode_media};
pub use streams::{SLOTS, STREAMS, Slot, StreamRole};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u32 = 2;

/// The longest text message.
pub const TEXT_BYTES_MAX: usize = 256 << 10;

/// RFC 8831 section 8: a text in UTF-8, whoever the viewer is.
pub const PPID_TEXT: PayloadId = PayloadId(51);

/// RFC 8831 section 8: bytes.
pub const PPID_BINARY: PayloadId = PayloadId(53);

/// What requests and media call a channel; not the key to press.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ChannelId(pub u32);
