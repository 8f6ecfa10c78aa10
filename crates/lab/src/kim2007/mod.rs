//! Kim, Koh and Kim, 2007: IPTV over SCTP, beside TCP and UDP.
//!
//! A server, a link, a client. The server sends a file of 2 MB at 1024 kbit/s in messages of 1024
//! bytes: with each carrier at more and more loss, over more and more streams, as three channels at
//! once; and a viewer switches from one channel to another, in the simulator and for real.

mod carrier;
mod cell;
mod live;
mod measure;
mod message;
mod paper;
mod peer;
mod report;
mod scenario;
mod sensitivity;
mod setup;
mod switching;
mod table;
mod transfer;
mod values;

pub use carrier::Carrier;
pub use cell::{Cell, LINK_RATE};
pub use live::{LiveSwitch, live_csv, live_table};
pub use measure::Outcome;
pub use message::MESSAGES;
pub use paper::statements;
pub use report::{Experiment, Figure, figures, live_figure};
pub use scenario::Scenario;
pub use sensitivity::{GROUPS, Group, Variation};
pub use table::{MEASURES, Measure, Row, cells_csv, rows, tables, variations_csv};
pub use values::Values;
