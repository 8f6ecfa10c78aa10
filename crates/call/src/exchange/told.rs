//! What the user of a call is told of words and files.

use bytes::Bytes;
use thiserror::Error;

use super::{FileEntry, FileNumber, MemberNumber, Takes, TextLine};

/// Something was written, or is to be done about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exchanged {
    /// Somebody wrote this.
    Text(TextLine),
    /// Somebody has this file.
    File(FileEntry),
    /// A file of ours is not taken.
    FileRefused {
        /// What it is called.
        name: String,
        /// Why, in a sentence.
        text: String,
    },
    /// Who had a file has it no longer.
    FileGone(FileNumber),
    /// A block is wanted or here: a [`FileMessage`](super::FileMessage), as a page of a room gets
    /// it.
    Block(Bytes),
}

/// How words and files stand, for a page that comes later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerView {
    /// Which of the two this end is.
    pub you: MemberNumber,
    /// What the peer takes.
    pub takes: Takes,
    /// What was written.
    pub texts: Vec<TextLine>,
    /// Files of both.
    pub files: Vec<FileEntry>,
}

/// Why something is not said to the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WordsError {
    /// There is no call.
    #[error("there is no call: nobody reads this")]
    NoCall,
    /// An older program, or one without anybody who reads.
    #[error("the other end's program takes no texts: it is older, or has nobody who reads them")]
    NotTaken,
    /// The association does not get rid of what it has.
    #[error("too much waits to be said: try again when a network is there")]
    Full,
}
