//! Media for a transport that knows nothing of it: bytes in, units out.
//!
//! At the sender a [`ts::Reader`] finds the packets of a transport stream, and a [`Packetizer`]
//! cuts them into [`Piece`]s, each of one access unit of one track, with its [`Class`]. At the
//! receiver a [`Playout`] puts them in order again and releases each packet when it is due. How a
//! piece is sent is up to a table from class to treatment that is not here; nothing here does I/O,
//! reads a clock or knows the transport. Media that is no transport stream comes as [`Unit`]s, which
//! a [`cutter::UnitCutter`] makes pieces of.

pub mod advice;
pub mod clip;
pub mod codec;
pub mod cutter;
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
