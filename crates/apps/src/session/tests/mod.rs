//! Sessions over simulated networks, in virtual time.

mod harness;
mod media;
mod peers;
