//! The contract between a protocol machine and the world that drives it.
//!
//! A [`Machine`] does no I/O, reads no clock and draws no randomness of its own: it is told the
//! [`Time`], given a seeded [`Rng`] and handed bytes. The same compiled code therefore runs in a
//! simulator under virtual time and on real sockets, and a seed reproduces a run exactly.
//!
//! # The run loop
//!
//! One rule: after every call that changes a machine, drain all its outputs. A driver that owns a
//! machine does, for as long as it lives:
//!
//! ```
//! use anabranch_sansio::{Datagram, Machine, Time, Transmit};
//!
//! /// Drains the machine's outputs; returns when to call `handle_timeout`, if ever.
//! fn drain<M: Machine>(
//!     machine: &mut M,
//!     now: Time,
//!     mut send: impl FnMut(Transmit, &[u8]),
//!     mut on_event: impl FnMut(M::Event),
//! ) -> Option<Time> {
//!     let mut buf = Vec::new();
//!     while let Some(transmit) = machine.poll_transmit(now, &mut buf) {
//!         send(transmit, &buf);
//!         buf.clear();
//!     }
//!     while let Some(event) = machine.poll_event() {
//!         on_event(event);
//!     }
//!     machine.poll_timeout().map(|wakeup| wakeup.at)
//! }
//! ```

mod machine;
mod rate;
mod replies;
mod rng;
mod time;
mod trace;
mod wakeups;

pub use machine::{Datagram, Ecn, FourTuple, Machine, PathId, Transmit, Wakeup};
pub use rate::Rate;
pub use replies::Replies;
pub use rng::Rng;
pub use time::Time;
pub use trace::{TraceLog, TraceRecord, TraceValue};
pub use wakeups::Wakeups;

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
