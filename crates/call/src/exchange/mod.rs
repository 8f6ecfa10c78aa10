//! What people write to each other, and files: the same in a call of two and in rooms.
//!
//! A file stays where it is until somebody wants it. Then blocks of it are asked for, one by one,
//! and brought behind all else; what came is kept where an association was lost in between.

mod allowance;
mod blocks;
mod file_list;
mod file_queue;
mod told;
mod words;

use anabranch_transport::PayloadId;
use serde::{Deserialize, Serialize};

pub use allowance::{Allowance, REQUEST_EVERY, REQUESTS_BURST};
pub use blocks::{
    BLOCK_LEN, BLOCKS_WANTED_MAX, BlockId, FILE_LEN_MAX, FILES_STREAM, FileMessage,
    FileMessageError, FileNumber, PART_LEN, block_len,
};
pub use file_list::{FILES_MAX, FileEntry, FileList};
pub use file_queue::{ASKS_MAX, FileQueue, send_behind};
pub use told::{Exchanged, LedgerView, WordsError};
pub use words::{FILE_NAME_CHARS_MAX, TEXT_CHARS_MAX, TextLine, file_name, readable};

/// RFC 8831 section 8: bytes.
pub const PPID_BINARY: PayloadId = PayloadId(53);

/// A member of a room: a number that no other one gets as long as the room is in use. In a call of
/// two, who called is 1 and the other one 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberNumber(pub u16);

/// What an end takes of the other one beside voice and pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Takes {
    /// Texts: somebody reads them.
    #[serde(default)]
    pub text: bool,
    /// Files: there is a page that gets them.
    #[serde(default)]
    pub files: bool,
}

impl Takes {
    pub(crate) const fn is_nothing(&self) -> bool {
        !self.text && !self.files
    }
}
