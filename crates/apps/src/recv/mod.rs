//! The service behind `anabranch recv`: a session into a file, a pipe or UDP.

mod clip;
mod output;
mod run;

pub use output::{Output, OutputError};
pub use run::{RecvOptions, Tap, recv};
