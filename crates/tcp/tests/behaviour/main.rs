//! What two connections do together, by theme, on virtual time.

mod calibration;
mod capture;
mod closing;
mod handshake;
mod harness;
mod recovery;
mod throughput;
mod transfer;
mod window;
