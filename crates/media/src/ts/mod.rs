//! MPEG transport streams (ISO/IEC 13818-1), as far as their transport needs it.
//!
//! A [`Reader`] finds the packets, of all programs or of one; [`Tables`] says what each PID is for;
//! a [`Pacer`] gives the packets of a file their times, and a [`PcrMeter`] says how well they are
//! kept.
//! The parsers here are ours because the crates that read transport streams demand whole, undamaged
//! ones, or hide the packets from one who must pass every byte on; tests compare them with one of
//! those.

mod framer;
mod pacer;
mod packet;
mod pcr_meter;
mod pes;
mod psi;
mod reader;
mod sniff;
mod tables;

pub use framer::{Framer, FramerStats, NotMpegTs, PROBE_LIMIT};
pub use pacer::{PaceError, Pacer};
pub use packet::{NULL_PACKET, PACKET_LEN, Packet, Pcr, Pid, SYNC_BYTE};
pub use pcr_meter::PcrMeter;
pub use pes::PesHeader;
pub use reader::{ReadError, Reader};
pub use sniff::Found;
pub use tables::{Role, Tables};

#[cfg(test)]
pub(crate) mod build {
    //! Streams for tests.

    pub(crate) use super::packet::build::*;
    pub(crate) use super::pes::build::*;
    pub(crate) use super::psi::build::*;
}
