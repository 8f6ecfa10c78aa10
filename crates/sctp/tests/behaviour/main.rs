//! What two endpoints do together, by theme, on virtual time.

mod bad_peer;
mod capture;
mod collision_restart;
mod concurrent;
mod cookies;
mod encapsulation;
mod handshake;
mod harness;
mod heartbeat;
mod limits;
mod multihoming;
mod packets;
mod rack;
mod random;
mod raw_peer;
mod reliability;
mod retransmission;
mod sack_timing;
mod shutdown;
mod spurious;
mod streams;
mod tail_loss;
mod throughput;
mod trace_stats;
mod transfer;
mod window;
