//! Al-Majeed and Fleury, 2011: one video over several DCCP connections.
//!
//! A station of a WiMAX cell sends a stored video by n connections under CCID 3, as fast as these
//! allow: to its base station, through a core network to node C, or to a station of another cell.
//! Two more stations and the downlink are busy with traffic of their own.

mod beside;
mod cbr;
mod cell;
mod host;
mod measure;
mod network;
mod paper;
mod report;
mod run;
mod score;
mod slices;
mod statement;
mod table;
mod values;
mod variation;
mod watch;

pub use beside::{Beside, Part, beside, beside_table};
pub use cell::{Carrier, Cell, Scenario, Setup};
pub use measure::{Measured, Outcome, SliceRecord};
pub use paper::{COLUMNS, Column, Measure};
pub use report::{Experiment, Figure, figures, shown};
pub use score::Score;
pub use slices::Video;
pub use statement::{Statement, statements, statements_table};
pub use table::{Row, cells, cells_csv, rows, tables, variations_csv, varied_rows};
pub use values::Values;
pub use variation::Variation;
