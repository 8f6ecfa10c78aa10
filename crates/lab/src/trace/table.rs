//! The intervals of a run as lines of text.

use std::fmt;

use super::{Intervals, Tally};

/// Lines are at most so wide.
const SENDER: &str = " from s    sent   acked carries  window  flight    rtt  lost again   out";
const SENDER_UNITS: &str = "         Mbit/s  Mbit/s  Mbit/s      kB      kB     ms";
const RECEIVER: &str = " from s  received   spare    late  missing";
const RECEIVER_UNITS: &str = "           Mbit/s      ms  pieces    items";

impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.span.as_secs_f64();
        let is_of_receiver = self.is_of_receiver();
        let (head, units) =
            if is_of_receiver { (RECEIVER, RECEIVER_UNITS) } else { (SENDER, SENDER_UNITS) };
        writeln!(f, "{head}\n{units}")?;
        for (index, tally) in self.tallies.iter().enumerate() {
            write!(f, "{:>7.2} ", index as f64 * seconds)?;
            match is_of_receiver {
                true => tally.write_received(f, seconds)?,
                false => tally.write_sent(f, seconds)?,
            }
        }
        Ok(())
    }
}

impl Tally {
    fn write_sent(&self, f: &mut fmt::Formatter<'_>, seconds: f64) -> fmt::Result {
        let mbps = |bytes: f64| bytes * 8.0 / 1e6 / seconds;
        write!(f, "{:>7.2} {:>7.2} ", mbps(self.sent), mbps(self.acknowledged))?;
        known(f, 7, 2, self.carries.map(|bps| bps / 1e6))?;
        known(f, 7, 0, self.window.map(|bytes| bytes / 1e3))?;
        known(f, 7, 0, self.in_flight.map(|bytes| bytes / 1e3))?;
        known(f, 6, 1, self.srtt)?;
        write!(f, "{:>5} {:>5} {:>5}", self.lost, self.repeated, self.left_out)?;
        if self.timed_out > 0.0 {
            write!(f, "  {} by timeout", self.timed_out)?;
        }
        writeln!(f)
    }

    fn write_received(&self, f: &mut fmt::Formatter<'_>, seconds: f64) -> fmt::Result {
        write!(f, "{:>9.2} ", self.received * 8.0 / 1e6 / seconds)?;
        known(f, 7, 1, self.spare)?;
        writeln!(f, "{:>7} {:>8}", self.late, self.skipped)
    }
}

/// A number, or a dash where there is none yet, and a blank.
fn known(
    f: &mut fmt::Formatter<'_>,
    width: usize,
    decimals: usize,
    value: Option<f64>,
) -> fmt::Result {
    match value {
        Some(value) => write!(f, "{value:>width$.decimals$} "),
        None => write!(f, "{:>width$} ", "-"),
    }
}
