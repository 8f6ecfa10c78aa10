//! What happened to every packet and every unit of video, as tables for other programs.
//!
//! A [`TableFile`] takes rows while a run goes on, as CSV or Parquet; [`PacketRecords`] fills one
//! with all packets of a network. Rows of a scenario's run go to whatever takes [`Rows`].
//! `docs/lab-records.md` describes the columns.

mod decode;
mod file;
mod hybrid;
mod packets;
mod table;
mod texts;
mod units;

pub(crate) use decode::InUdp;
pub use file::{TableError, TableFile};
pub(crate) use packets::{Owner, Owners};
pub use packets::{PACKET_COLUMNS, PacketRecords};
pub use table::{Cell, Column, Kind, Rows, Table};
pub(crate) use units::{UnitRecord, write as write_units};
