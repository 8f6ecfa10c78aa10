//! Media for a transport that knows nothing of it: bytes in, units out.
//!
//! At the sender a [`ts::Reader`] finds the packets of a transport stream, and a [`Packetizer`]
//! cuts them into [`Piece`]s, each of one access unit of one track, with its [`Class`]. At the
//! receiver a [`Playout`] puts them in order again and releases each packet when it is due. How a
//! piece is sent is up to a table from class to treatment that is not here; nothing here does I/O,
//! reads a clock or knows the transport. Media that is no transport stream comes as [`Unit`]s,
//! which a [`cutter::UnitCutter`] makes pieces of.
//!
//! ```
//! use std::time::Duration;
//!
//! use anabranch_media::playout::{Config, PathId, Playout};
//! use anabranch_media::ts::{NULL_PACKET, Reader};
//! use anabranch_media::{Class, Packetizer};
//! use anabranch_sansio::Time;
//!
//! let latency = Duration::from_millis(200);
//! let mut network = Vec::new();
//!
//! // The sender: bytes came at this time; five null packets, for want of a camera.
//! let now = Time::from_millis(40);
//! let mut reader = Reader::new();
//! let mut packetizer = Packetizer::new(0x5eed);
//! reader.push(&NULL_PACKET.repeat(5))?;
//! while let Some(packet) = reader.poll_packet() {
//!     packetizer.handle_packet(now, &packet);
//! }
//! // ... and again when `packetizer.poll_timeout()` says so.
//! packetizer.handle_timeout(now + anabranch_media::packetizer::HOLD);
//! while let Some(piece) = packetizer.poll_piece() {
//!     assert_eq!(piece.header.class, Class::Padding); // decides the treatment
//!     assert_eq!(piece.header.expires_at(latency), now + latency); // the message's lifetime
//!     network.push(piece.encode());
//! }
//!
//! // The receiver, on a clock of its own.
//! let arrival = Time::from_secs(1_000);
//! let mut playout = Playout::new(Config::with_latency(latency));
//! for message in network {
//!     playout.handle_message(arrival, Some(PathId(0)), message.into());
//! }
//! let due = playout.poll_timeout().map(|wakeup| wakeup.at);
//! assert_eq!(due, Some(arrival + latency));
//! let mut output = Vec::new();
//! while let Some(released) = playout.poll_release(arrival + latency) {
//!     output.extend_from_slice(&released.bytes);
//! }
//! assert_eq!(output, NULL_PACKET.repeat(5));
//! # Ok::<(), anabranch_media::ts::ReadError>(())
//! ```

pub mod advice;
pub mod broadcast;
pub mod clip;
pub mod codec;
pub mod cutter;
pub mod decoding;
mod distribution;
pub mod packetizer;
pub mod piece;
pub mod playout;
pub mod psnr;
pub mod ts;
mod unit;

pub use distribution::{Distribution, Summary};
pub use packetizer::Packetizer;
pub use piece::Piece;
pub use playout::Playout;
pub use unit::{Class, Layer, PerClass, Track, Unit};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
