//! What two endpoints do together, by theme, on virtual time.

mod capture;
mod collision_restart;
mod cookies;
mod handshake;
mod harness;
mod multihoming;
mod packets;
mod random;
mod raw_peer;
mod retransmission;
mod sack_timing;
mod throughput;
mod transfer;
mod window;
