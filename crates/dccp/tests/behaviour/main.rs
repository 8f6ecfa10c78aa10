//! What connections do together, by theme, on virtual time.

mod bundle;
mod capture;
mod closing;
mod fairness;
mod greedy;
mod handshake;
mod harness;
mod multipath;
mod packets;
mod random;
mod synchronization;
mod throughput;
mod trace;
mod transfer;
