//! Ortiz, Martínez Graciá and Skarmeta, 2013: layered video over SCTP with several streams and
//! paths.
//!
//! Two hosts with two independent links, all alike: 30, 45 or 60 Mbit/s, 5 ms, a drop-tail queue of
//! 50 packets. From 20 s on the first link loses packets towards the receiver, from 40 s on the
//! second one too. The video goes out at its own pace, whatever the network does.

mod bar;
mod cell;
mod measure;
mod paper;
mod report;
mod rtp;
mod sctp;
mod sensitivity;
mod strategy;
mod table;
mod tcp;
mod units;
mod values;
mod video;
mod watch;

pub use bar::{DELAY_MARGIN_S, PSNR_Y_MARGIN_DB, Standing, standings, standings_table};
pub use cell::{Cell, LOSSES, RATES_MBPS, Setup, Source, cells};
pub use measure::{Measured, Outcome, Second};
pub use paper::published;
pub use report::{Experiment, figure, figure_name};
pub use sensitivity::Variation;
pub use strategy::{RtpStrategy, SctpStrategy, Strategy, Treatment};
pub use table::{Row, cells_csv, rows, seconds_csv, tables, variations_csv};
pub use values::Values;
