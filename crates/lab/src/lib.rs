//! The papers' experiments: every packet made and read by the code that runs on real sockets, in
//! the simulator's time.
//!
//! An experiment is a module with its network, its source, its strategies and its tables. A cell
//! of a table is one strategy on one network with one seed, and the same seed gives the same
//! result to the last digit. [`scenario`] is experiments of a user's own, from a file.

pub mod almajeed2011;
pub mod chang2010;
mod csv_lines;
mod drawing;
mod error;
mod estimate;
mod footage;
mod graph;
mod host;
pub mod huseynli2023;
pub mod kim2007;
pub mod ortiz2013;
mod page;
mod parameter;
mod recording;
pub mod records;
mod run_name;
pub mod scenario;
mod statement;
pub mod svc;
pub mod trace;

use csv_lines::{Origin, csv_lines};
pub use drawing::FigureError;
pub use error::{CellError, DecodeError};
pub use estimate::Estimate;
pub use parameter::{Parameter, ParameterError, Parameters, Settings, parameters_table};
pub use recording::RecordTo;
pub use run_name::run_name;
pub use statement::{Statement, Verdict, statements_table};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
