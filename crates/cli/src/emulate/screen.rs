//! [`Screen`]: live lines that replace each other on a terminal, and follow each other elsewhere.

use std::io::{IsTerminal as _, stdout};
use std::time::Duration;

use anabranch_driver::emulator::EmulatedLinkStats;
use tokio::time::{self, Instant, Interval, MissedTickBehavior};

use super::report;
use crate::failure::Failure;
use crate::output;

/// How often lines are shown on a terminal.
const TERMINAL_PERIOD: Duration = Duration::from_secs(1);
/// How often lines are written elsewhere.
const PLAIN_PERIOD: Duration = Duration::from_secs(5);

/// Shows one line per link again and again.
#[derive(Debug)]
pub(super) struct Screen {
    is_terminal: bool,
    start: Instant,
    ticks: Interval,
    before: Vec<EmulatedLinkStats>,
    before_at: Instant,
    /// How many lines stand above the cursor that the next ones replace.
    replaceable: usize,
}

impl Screen {
    pub(super) fn new(before: Vec<EmulatedLinkStats>) -> Self {
        let is_terminal = stdout().is_terminal();
        let period = if is_terminal { TERMINAL_PERIOD } else { PLAIN_PERIOD };
        let start = Instant::now();
        let mut ticks = time::interval_at(start + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { is_terminal, start, ticks, before, before_at: start, replaceable: 0 }
    }

    /// Waits until it is time to show something. May be dropped while it waits.
    pub(super) async fn due(&mut self) {
        self.ticks.tick().await;
    }

    /// Shows what has happened since the last time.
    pub(super) fn show(&mut self, links: Vec<EmulatedLinkStats>) -> Result<(), Failure> {
        let now = Instant::now();
        let span = now - self.before_at;
        let pairs = links.iter().zip(&self.before);
        let lines: Vec<_> = pairs.map(|(link, before)| report::live(link, before, span)).collect();
        let mut text = lines.join("\n") + "\n";
        if self.is_terminal {
            // Without wrapping (DECAWM), a narrow window cuts lines and does not miscount them.
            text = format!("{}\x1b[?7l{text}\x1b[?7h", self.erase());
            self.replaceable = lines.len();
        }
        (self.before, self.before_at) = (links, now);
        Ok(output::print(&text)?)
    }

    /// Says what has happened; it stays above the lines.
    pub(super) fn tell(&mut self, event: &str) -> Result<(), Failure> {
        let at = self.start.elapsed().as_secs_f64();
        let text = format!("{}{at:.1} s: {event}\n", self.erase());
        self.replaceable = 0;
        Ok(output::print(&text)?)
    }

    /// Makes room for what comes after the last lines.
    pub(super) fn leave(&mut self) -> Result<(), Failure> {
        let text = format!("{}\n", self.erase());
        self.replaceable = 0;
        Ok(output::print(&text)?)
    }

    /// What takes the cursor back over the lines to replace and clears them: CSI n A (cursor up)
    /// and CSI J (erase below) of ECMA-48.
    fn erase(&self) -> String {
        match self.replaceable {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\r\x1b[J"),
        }
    }
}
