//! [`Progress`]: how a demo goes, on a terminal or in a log.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use anabranch_apps::demo::Snapshot;
use anabranch_apps::page::protocol::{PathState, PathStats};

use crate::failure::Failure;

/// Columns of the narrowest terminal that people use.
const COLUMNS: usize = 80;

/// Where the text of an event begins.
const EVENT_INDENT: usize = 11;

/// Back to the start of the line, and clear it.
const CLEAR: &str = "\r\x1b[2K";

/// How a demo goes: one line that stays in its place on a terminal, one line a second elsewhere.
#[derive(Debug)]
pub(super) struct Progress {
    /// Stdout is for the measures.
    to_stderr: bool,
    in_place: bool,
    /// Whether a line stands that the next one replaces.
    stands: bool,
    /// When, and bytes sent on each path by then.
    before: (Duration, Vec<u64>),
}

impl Progress {
    pub(super) fn new(to_stderr: bool) -> Self {
        let in_place =
            if to_stderr { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
        Self { to_stderr, in_place, stands: false, before: (Duration::ZERO, Vec::new()) }
    }

    /// A line of its own.
    pub(super) fn line(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.write(&format!("{text}\n"))?)
    }

    /// Something happened.
    pub(super) fn event(&mut self, elapsed: Duration, text: &str) {
        let clear = if std::mem::take(&mut self.stands) { CLEAR } else { "" };
        // A reader that has gone away does not end the demo, which may have a page.
        let text = wrapped(text, COLUMNS - 1 - EVENT_INDENT, EVENT_INDENT);
        let _unheard = self.write(&format!("{clear}{:>7.1} s  {text}\n", elapsed.as_secs_f64()));
    }

    /// Another second has passed.
    pub(super) fn second(&mut self, snapshot: &Snapshot<'_>) {
        let line = self.describe(snapshot);
        // A line that goes round could not be replaced.
        let short: String = line.chars().take(COLUMNS - 1).collect();
        let text = if self.in_place { format!("{CLEAR}{short}") } else { format!("{line}\n") };
        self.stands = self.in_place;
        let _unheard = self.write(&text);
    }

    /// A run is over: nothing of it is replaced, and the next begins from zero.
    pub(super) fn end(&mut self) {
        self.before = (Duration::ZERO, Vec::new());
        if std::mem::take(&mut self.stands) {
            let _unheard = self.write("\n");
        }
    }

    fn describe(&mut self, snapshot: &Snapshot<'_>) -> String {
        let stats = snapshot.stats;
        let (then, sent) = std::mem::replace(
            &mut self.before,
            (
                snapshot.elapsed,
                stats.paths.iter().map(|path| path.sent_bytes.unwrap_or_default()).collect(),
            ),
        );
        let span = snapshot.elapsed.saturating_sub(then).as_secs_f64().max(1e-3);
        let before = sent.into_iter().chain(std::iter::repeat(0));
        let paths = stats.paths.iter().zip(before);
        let paths: Vec<_> = paths.map(|(path, before)| describe_path(path, before, span)).collect();
        let frames = stats.frames;
        let delay = stats.delay_ms.unwrap_or_default();
        let quality = snapshot.psnr_y_db.unwrap_or_default();
        format!(
            "{:>7.1} s  {} shown, {} lost  {:.0} ms  {quality:.1} dB  {}",
            snapshot.elapsed.as_secs_f64(),
            frames.shown,
            frames.lost,
            delay.p50,
            paths.join(", "),
        )
    }

    fn write(&self, text: &str) -> io::Result<()> {
        if self.to_stderr { put(io::stderr().lock(), text) } else { put(io::stdout().lock(), text) }
    }
}

fn put(mut to: impl io::Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// Words of a text in lines of `width` characters, the later ones behind so many spaces.
fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// `wifi 6.4M`, the bits per second that it sends, with a mark for the one that carries the data.
fn describe_path(path: &PathStats, sent_before: u64, span_s: f64) -> String {
    let name = path.info.name.as_deref().unwrap_or("path");
    let sent = path.sent_bytes.unwrap_or_default().saturating_sub(sent_before);
    let mbps = sent as f64 * 8e-6 / span_s;
    let mark = if path.primary { "*" } else { "" };
    match path.state {
        PathState::Active => format!("{name}{mark} {mbps:.1}M"),
        PathState::PotentiallyFailed => format!("{name}{mark} silent"),
        PathState::Inactive => format!("{name}{mark} failed"),
        PathState::Unconfirmed => format!("{name}{mark} tried"),
    }
}

#[cfg(test)]
mod tests {
    use anabranch_apps::page::protocol::{DelayMs, FrameCounts, PathInfo, Stats};

    use super::*;

    fn path(name: &str, sent_bytes: u64, state: PathState, primary: bool) -> PathStats {
        let address = String::new;
        PathStats {
            info: PathInfo { id: 1, name: Some(name.into()), local: address(), remote: address() },
            state,
            primary,
            rtt_ms: Some(20.6),
            cwnd_bytes: None,
            flight_bytes: None,
            sent_packets: None,
            lost_packets: None,
            sent_bytes: Some(sent_bytes),
            delivered_bytes: None,
            link: None,
        }
    }

    fn stats(wifi: PathStats, mobile: PathStats) -> Stats {
        Stats {
            now_us: 0,
            paths: vec![wifi, mobile],
            layers: vec![],
            levels: Vec::new(),
            frames: FrameCounts { shown: 50, late: 0, lost: 1 },
            delay_ms: Some(DelayMs { now: 30.0, p50: 31.4, p95: 60.6 }),
            buffer_ms: None,
            latency_ms: 200.0,
            advised_latency_ms: None,
        }
    }

    #[test]
    fn a_line_says_how_it_goes() {
        let mut progress = Progress::new(false);
        let at = |elapsed, stats| {
            let elapsed = Duration::from_secs(elapsed);
            progress.describe(&Snapshot { elapsed, stats, psnr_y_db: Some(38.911), pages: 0 })
        };
        let mut at = at;
        let first = stats(
            path("wifi", 800_000, PathState::Active, true),
            path("mobile", 0, PathState::Unconfirmed, false),
        );
        assert_eq!(
            at(1, &first),
            "    1.0 s  50 shown, 1 lost  31 ms  38.9 dB  wifi* 6.4M, mobile tried"
        );
        let second = stats(
            path("wifi", 800_000, PathState::Inactive, false),
            path("mobile", 250_000, PathState::Active, true),
        );
        assert!(at(2, &second).ends_with("  wifi failed, mobile* 2.0M"));
    }

    #[test]
    fn a_line_of_an_hour_fits_a_terminal() {
        let mut progress = Progress::new(false);
        let mut stats = stats(
            path("wifi", 4_500_000_000, PathState::Active, true),
            path("mobile", 4_500_000_000, PathState::Active, false),
        );
        stats.frames = FrameCounts { shown: 90_000, late: 100, lost: 1_000 };
        let elapsed = Duration::from_secs(3_600);
        let line = progress.describe(&Snapshot {
            elapsed,
            stats: &stats,
            psnr_y_db: Some(38.911),
            pages: 0,
        });
        assert!(line.len() < COLUMNS, "{}: {line}", line.len());
    }

    #[test]
    fn long_events_go_on_below_their_beginning() {
        let text = "4 messages abandoned: enhancement (4 expired).";
        let lines = "4 messages\n  abandoned:\n  enhancement\n  (4\n  expired).";
        assert_eq!(wrapped(text, 10, 2), lines);
        assert_eq!(wrapped(text, 80, 2), text);
    }
}
