//! Hüseynli, Şimşek and Akcayol, 2023: SCTP-PQ, a receive queue of four levels.
//!
//! Seven senders, two routers, seven receivers. One sender's stream has pictures of three kinds,
//! and the program that reads it takes its time for each chunk: in order of arrival, by the paper's
//! list, and by our queue.

mod cause;
mod cell;
mod host;
mod measure;
mod method;
mod network;
mod paper;
mod passed;
mod report;
mod sensitivity;
mod source;
mod strict;
mod table;
mod values;

pub use cell::{Cell, LastHop, cells};
pub use measure::{LevelOutcome, Outcome, Second};
pub use method::Method;
pub use paper::statements;
pub use report::{Experiment, Graphs, figures};
pub use sensitivity::{GROUPS, Group, Variation, variations};
pub use source::Source;
pub use table::{LevelRow, Row, cells_csv, rows, seconds_csv, tables};
pub use values::Values;
