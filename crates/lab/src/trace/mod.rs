//! A run explained by its trace: what `--trace` wrote, interval by interval, as a table and as a
//! figure.

mod figure;
mod intervals;
mod read;
mod table;

pub use intervals::{Intervals, Tally};
pub use read::{Event, ReadError, read};
