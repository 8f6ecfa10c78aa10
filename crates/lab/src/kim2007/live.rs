//! [`LiveSwitch`]: figure 12 with the real server and client, in real time.

use std::fmt::Write as _;

use serde::Serialize;

use crate::{Estimate, csv_lines};

/// A key that was pressed at a real client of a real server, with an emulated link between them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LiveSwitch {
    /// The link's delay, one way, in milliseconds.
    pub delay_ms: u32,
    /// Which key, from 1 on.
    pub key: u64,
    /// Until the first message of the new channel was at the application, in seconds.
    pub answer_s: f64,
    /// Until its first picture was whole, in seconds.
    pub picture_s: f64,
}

/// What is timed from the key on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Milestone {
    pub(super) name: &'static str,
    of: fn(&LiveSwitch) -> f64,
}

/// In the order in which they come.
pub(super) const MILESTONES: [Milestone; 2] = [
    Milestone { name: "first message", of: |switch| switch.answer_s },
    Milestone { name: "first picture", of: |switch| switch.picture_s },
];

impl Milestone {
    /// At each delay, in milliseconds. `switches` are in the order of their delays.
    pub(super) fn points(&self, switches: &[LiveSwitch]) -> Vec<(u32, Estimate)> {
        let of_delay = switches.chunk_by(|a, b| a.delay_ms == b.delay_ms);
        let point = |keys: &[LiveSwitch]| {
            let values: Vec<_> = keys.iter().map(|key| (self.of)(key) * 1e3).collect();
            Some((keys.first()?.delay_ms, Estimate::of(&values)))
        };
        of_delay.filter_map(point).collect()
    }
}

/// Figure 12 for real, as a table. `switches` are in the order of their delays.
#[must_use]
pub fn live_table(switches: &[LiveSwitch]) -> String {
    let mut text = "Figure 12, live: anabranch serve and a native viewer, in ms\n".to_owned();
    // Writing to a string does not fail.
    let _ = write!(text, "{:18}", "link delay in ms");
    for (delay, _) in MILESTONES[0].points(switches) {
        let _ = write!(text, "{delay:>13}");
    }
    text.push('\n');
    for milestone in &MILESTONES {
        let _ = write!(text, "{:18}", milestone.name);
        for (_, value) in milestone.points(switches) {
            let _ = write!(text, "{:>13}", format!("{value:.1}"));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// A line for each key, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn live_csv(switches: &[LiveSwitch]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(switches.iter())
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    pub(in super::super) fn switches() -> Vec<LiveSwitch> {
        let switch = |delay_ms: u32, key| {
            let answer_s = f64::from(delay_ms) * 2e-3 + key as f64 * 1e-3;
            LiveSwitch { delay_ms, key, answer_s, picture_s: answer_s + 0.01 }
        };
        [(10, 1), (10, 2), (20, 1)].map(|(delay, key)| switch(delay, key)).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_at_one_delay_are_taken_together() {
        let text = live_table(&testing::switches());
        let lines: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["link", "delay", "in", "ms", "10", "20"]);
        assert_eq!(lines[2], ["first", "message", "21.5±6.4", "41.0"]);
        assert_eq!(lines[3], ["first", "picture", "31.5±6.4", "51.0"]);
    }

    #[test]
    fn every_key_is_a_line() {
        let text = String::from_utf8(live_csv(&testing::switches()).unwrap()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "delay_ms,key,answer_s,picture_s");
        assert_eq!(lines.len(), 4);
    }
}
