//! Runs a sans-IO [`Machine`](anabranch_sansio::Machine) on real UDP sockets.
//!
//! ```
//! use anabranch_driver::{Driver, SocketSet};
//! # use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};
//! # #[derive(Default)]
//! # struct Echo(Option<(FourTuple, Vec<u8>)>, bool);
//! # impl Machine for Echo {
//! #     type Event = ();
//! #     fn handle_datagram(&mut self, _: Time, datagram: Datagram<'_>) {
//! #         self.0 = Some((datagram.path, datagram.bytes.to_vec()));
//! #         self.1 = true;
//! #     }
//! #     fn handle_timeout(&mut self, _: Time) {}
//! #     fn poll_transmit(&mut self, _: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
//! #         let (path, bytes) = self.0.take()?;
//! #         buf.extend(bytes);
//! #         Some(Transmit::datagram(path))
//! #     }
//! #     fn poll_timeout(&self) -> Option<Wakeup> { None }
//! #     fn poll_event(&mut self) -> Option<()> { std::mem::take(&mut self.1).then_some(()) }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut sockets = SocketSet::new();
//! let server = sockets.bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?)?;
//! let handle = Driver::spawn(Echo::default(), sockets)?;
//! # let peer = tokio::net::UdpSocket::bind("127.0.0.1:0").await?;
//! # peer.send_to(b"ping", server).await?;
//!
//! while let Some(_event) = handle.next_event().await {
//!     handle.with(|_machine, now| tracing::info!(%now, "something happened"));
//!     handle.close();
//! }
//! handle.closed().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # How a turn goes
//!
//! One task owns the sockets and a timer. Each turn reads what has arrived (in batches, split
//! where the kernel coalesced it), runs the timers that are due, sends all that the machine has to
//! send, and sleeps. The machine sits behind a lock that is held for single calls, never across a
//! system call, so that [`Handle::with`] is short from any thread; it wakes the task to send.
//!
//! A server with hundreds of peers runs apart ([`Driver::spawn_apart`]): while datagrams keep
//! coming, its thread sleeps between turns and takes what has gathered at once. A program that does
//! nothing but carry one stream rests as a whole ([`Driver::spawn_resting`]).
//!
//! Work per turn is bounded ([`RECEIVES_PER_TURN_MAX`], [`TRANSMITS_PER_TURN_MAX`]), so that a busy
//! socket starves neither the timers nor the other tasks of the runtime.
//!
//! # Time
//!
//! [`Clock`] counts nanoseconds on the monotonic clock. The machine's timers run on a Linux
//! timerfd, typically within 0.1 ms of their time and never before it; tokio's timers, at whole
//! milliseconds, would spoil pacing.
//!
//! # Captures
//!
//! A [`Capture`] in the [`SocketSet`] records every datagram in a pcapng file, for Wireshark.
//!
//! # Traces
//!
//! A [`Trace`] in the [`SocketSet`] records what the machine does and why, as qlog.
//!
//! # Errors
//!
//! Binding fails with a [`BindError`] that says what would be right. Once the driver runs, nothing
//! that the network does ends it: a send that fails is a loss, counted by reason in [`Losses`].

mod address;
mod capture;
mod clock;
mod driver;
pub mod emulator;
mod handle;
mod interfaces;
mod random;
mod readiness;
mod recording;
mod rest;
mod socket;
mod stats;
mod task;
mod timer;
mod trace;

pub use address::{InterfaceAddress, canonical, interface_addresses, local_towards};
pub use capture::{CAPTURE_QUEUE_BYTES_MAX, Capture, Captured};
pub use clock::Clock;
pub use driver::{Driver, SpawnError};
pub use handle::{DriverError, Handle};
pub use interfaces::{InterfaceWatch, Way, is_preferred, ways_to};
pub use random::unpredictable_rng;
pub use recording::Recording;
pub use rest::{REST, rest_before_park, rest_thread};
pub use socket::{
    BindConfig, BindError, DatagramReader, SEND_QUEUE_BYTES_MAX, SOCKETS_MAX, SocketInfo, SocketSet,
};
pub use stats::{Counters, DriverStats, Losses, SocketStats, Traffic};
pub use task::{RECEIVES_PER_TURN_MAX, TRANSMITS_PER_TURN_MAX};
pub use trace::{Trace, Traced};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
