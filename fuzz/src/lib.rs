//! What the fuzz targets check, one module for each crate under test.
//!
//! A target runs with `cargo +nightly fuzz run wire_packet`. What it finds is minimized into
//! `corpus/`, which the crate under test replays in its own tests.

#![forbid(unsafe_code)]

pub mod apps;
pub mod call;
pub mod clip;
pub mod codec;
pub mod dccp;
pub mod keys;
pub mod media;
pub mod multipath;
pub mod rooms;
pub mod rtc;
mod script;
pub mod sctp;
pub mod tcp;
pub mod television;
pub mod transport;
pub mod wire;
