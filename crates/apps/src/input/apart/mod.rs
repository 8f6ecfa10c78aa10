//! Foreign files in a process of their own: what one of them breaks, or makes grow, is that process
//! and not a server with all its channels.
//!
//! The program starts itself with [`READ_FILM`] and the file as standard input. What it reads
//! comes back on its standard output, as [`Frame`]s.

mod frame;
mod process;
mod read;

use std::str::FromStr;

pub(crate) use frame::Frame;
pub(crate) use process::ReaderProcess;
pub use read::read_film;

/// The argument by which the program reads a film for another process of its own. [`Wanted`] is
/// the next, and [`LOOPED`] may follow.
pub const READ_FILM: &str = "read-film";

/// Begin again at the end, for ever.
pub const LOOPED: &str = "--loop";

/// What the data of a process that reads may take: as much as the longest films need, and less
/// than a machine with channels on it has.
pub const READER_BYTES_MAX: u64 = 512 << 20;

/// Where films in foreign containers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Readers {
    /// Within this process.
    #[default]
    Within,
    /// Each in a process of its own, for which this program is started with [`READ_FILM`].
    Apart,
}

/// What a film is to be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The transport stream that it would be.
    Stream,
    /// Units that browsers decode.
    Units,
}

impl Wanted {
    const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Units => "units",
        }
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Stream, Self::Units].into_iter().find(|wanted| wanted.name() == text);
        known.ok_or_else(|| format!("{text:?} is neither stream nor units"))
    }
}
