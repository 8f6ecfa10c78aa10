//! TCP as a state machine, for experiments that set SCTP beside it.
//!
//! A [`Connection`] does no I/O, reads no clock and draws no randomness of its own: see
//! [`anabranch_sansio`]. Its segments are real ones, with options and checksum, straight on IP.
//!
//! It has what decides how fast TCP is and how it shares a link: the handshake with MSS, window
//! scale and SACK-permitted; loss recovery from selective acknowledgments (RFC 6675), or without
//! them NewReno's (RFC 6582); the retransmission timer of RFC 6298; slow start and congestion
//! avoidance of RFC 5681, CUBIC (RFC 9438), or BBR, which paces; delayed acknowledgments, Nagle's
//! algorithm, window probes. It leaves out what does not: urgent data, timestamps, simultaneous
//! open.
//!
//! ```
//! use anabranch_netsim::{Carrier, LinkConfig, Pair, Side};
//! use anabranch_tcp::{Config, Connection};
//! use bytes::Bytes;
//!
//! let links = [LinkConfig::wifi().into()];
//! let mut pair = Pair::new(7, &links, |side, paths, rng| match side {
//!     Side::Client => Connection::client(Config::default(), paths[0], rng),
//!     Side::Server => Connection::listener(Config::default(), paths[0], rng),
//! });
//! pair.set_carrier(Carrier::Tcp);
//! pair.act_client(|client, now| client.connect(now))?;
//! pair.run_until(|client, server| client.is_connected() && server.is_connected(), 1_000)?;
//! pair.act_client(|client, now| client.send(now, Bytes::from_static(b"hello")))?.unwrap();
//! pair.run_for(std::time::Duration::from_secs(1))?;
//! assert_eq!(pair.act_server(|server, now| server.receive(now))?, Some("hello".into()));
//! # Ok::<(), anabranch_netsim::SimulationError>(())
//! ```

mod config;
mod connection;
mod error;
mod receive;
mod reno;
mod segment;
mod send;
mod sequence;
mod stats;

pub use config::{Config, CongestionControl, FastRecovery};
pub use connection::{CloseReason, Connection, Event};
pub use error::SendError;
pub use reno::Reno;
pub use stats::Stats;

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
