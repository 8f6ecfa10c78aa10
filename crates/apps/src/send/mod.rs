//! The service behind `anabranch send`: a file, a pipe or a UDP stream into a session.

mod run;

pub use run::{SendOptions, send};
