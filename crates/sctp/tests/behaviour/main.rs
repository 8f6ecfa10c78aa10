//! What two endpoints do together, by theme, on virtual time.

mod harness;
mod multihoming;
mod random;
mod throughput;
mod transfer;
