//! The service behind `anabranch recv`: a session into a file, a pipe or UDP.

mod clip;
mod output;
mod run;
mod udp;

pub use output::{Output, OutputError};
pub use run::{RecvOptions, Tap, recv};
