//! Sources of `anabranch serve` as whoever runs it meets them: files, networks, programs, other
//! servers, on real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod films;
mod greedy;
mod media;
mod others;
#[path = "../ports/mod.rs"]
mod ports;
mod program;
mod streams;
