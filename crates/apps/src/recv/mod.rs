//! The service behind `anabranch recv`: a session into a file, a pipe or UDP.

mod run;

pub use run::{RecvOptions, Tap, recv};
