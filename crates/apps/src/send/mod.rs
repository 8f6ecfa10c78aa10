//! The service behind `anabranch send`: a file, a pipe or a UDP stream into a session.

pub(crate) mod feed;
mod input;
mod mp4;
mod run;
mod udp;

pub use feed::Timing;
pub use input::{Input, InputError, InputOptions, Pace};
pub use run::{SendOptions, send};
