//! Films and sound in foreign containers, read as the MPEG transport stream that they would be.
//!
//! MP4 and QuickTime, in fragments or not, Matroska and WebM, MP3 and AAC without a container.
//! What is coded is not touched: pictures and frames of sound change their container, in the order
//! in which they are decoded, with a clock by which the stream can be sent in real time. Whatever
//! a file says of itself, memory stays within named bounds.

mod again;
mod demuxer;
mod film;
mod matroska;
mod mp4;
mod mux;
mod packing;
mod sound;

pub use again::Again;
pub use demuxer::{Demuxer, MATROSKA_MAGIC};
pub use film::{Film, is_foreign};

/// A panic of a reader, in words: a file that finds a defect must not look as if it had ended.
pub const READER_FAILED: &str = "reading it failed by a defect of this program";

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
