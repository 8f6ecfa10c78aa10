//! What passes between a room and its members: `docs/meet.md`.

mod control;
mod enter;
mod media;

use anabranch_transport::PayloadId;

pub use anabranch_call::exchange::{
    BLOCK_LEN, BLOCKS_WANTED_MAX, BlockId, FILE_LEN_MAX, FILES_STREAM, FileEntry, FileMessage,
    FileMessageError, FileNumber, MemberNumber, PPID_BINARY, TEXT_CHARS_MAX, TextLine, block_len,
};
pub use control::{
    CANDIDATES_MAX, DecodeError, FromMember, FromRoom, Introduction, Listeners, MemberEntry,
    Reason, Role, RoomEntry,
};
pub use enter::Enter;
pub(crate) use media::member_of;
pub use media::{Forwarded, Kind, MediaError, PIECE_LEN_MAX, forwarded};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// RFC 8831 section 8: a text in UTF-8.
pub const PPID_TEXT: PayloadId = PayloadId(51);

/// Data channels of a connection: as in a call, each class has the one of its number; files have
/// the last one.
pub const STREAMS: u16 = FILES_STREAM + 1;
