//! The service behind `anabranch send`: a file, a pipe or a UDP stream into a session.

pub(crate) mod demuxer;
pub(crate) mod feed;
mod film;
mod input;
mod matroska;
mod mp4;
mod mux;
mod packing;
mod run;
mod sound;
mod udp;

pub use feed::Timing;
pub use film::{Again, Film};
pub use input::{Input, InputError, InputOptions, Pace};
pub use run::{SendOptions, send};
