//! Whole calls between two agents on virtual time.

mod choices;
mod cuts;
mod exchange;
mod greeting;
mod harness;
mod lips;
mod losses;
mod rates;
mod silence;
mod thresholds;
