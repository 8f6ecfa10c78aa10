//! Many starts of a live stream on simulated links: how much comes in time from the first packet
//! on.
//!
//! A sender connects, rests, and is then given a transport stream in its own time. What counts is
//! the worst start, not the mean. On some links the stream goes on until they have changed.

mod best;
mod content;
mod studio;
mod terms;

use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anabranch_media::ts::{Packet, Reader};
use anabranch_sansio::Rate;

use best::Best;
use content::{Content, Shown};
use studio::Studio;
use terms::{Course, Recording, Terms};

/// Packets that programs put into one datagram.
const DATAGRAM: u64 = 7;

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    /// Seconds of stream in a start, where nothing happens to the links.
    pub(crate) seconds: u64,
    /// Starts of each row.
    pub(crate) starts: u64,
    /// The seed of the first one.
    pub(crate) first: u64,
    /// Only rows with this in their name.
    pub(crate) only: &'a str,
    /// The stream's rate.
    pub(crate) rate: Rate,
    /// Whether each start is told.
    pub(crate) each: bool,
    /// Whether the session is encrypted.
    pub(crate) encrypted: bool,
    /// Traces of links that are measured instead of the rows.
    pub(crate) traces: &'a [PathBuf],
}

/// Runs the rows, each told when it is done.
pub(crate) fn measure(
    stream: &Path,
    plan: Plan<'_>,
    mut tell: impl FnMut(String) -> io::Result<()>,
) -> io::Result<()> {
    let packets = schedule(stream, plan.rate)?;
    let recordings: Vec<_> =
        plan.traces.iter().map(|file| Recording::read(file)).collect::<io::Result<_>>()?;
    let rows = match recordings.as_slice() {
        [] => terms::rows(),
        recordings => terms::recorded(recordings),
    };
    for terms in rows.into_iter().filter(|terms| terms.to_string().contains(plan.only)) {
        let end = Duration::from_secs(terms.seconds().unwrap_or(plan.seconds));
        let packets = &packets[..packets.partition_point(|(at, _)| *at < end)];
        let content = Content::of(packets);
        let best = terms.carries().map(|carries| {
            Best::of(&content, packets, carries, Duration::from_millis(terms.latency_ms))
        });
        let mut row = Row { terms, best, starts: Vec::new() };
        for seed in plan.first..plan.first + plan.starts {
            let start =
                Studio::new(seed, &terms, plan.encrypted)?.run(packets, &content, plan.rate)?;
            if plan.each {
                tell(format!("  seed {seed}: {start}"))?;
            }
            row.starts.push(start);
        }
        tell(row.to_string())?;
    }
    Ok(())
}

/// The stream's packets and when each is due.
fn schedule(stream: &Path, rate: Rate) -> io::Result<Vec<(Duration, Packet)>> {
    let mut reader = Reader::new();
    reader.push(&std::fs::read(stream)?).map_err(io::Error::other)?;
    reader.finish().map_err(io::Error::other)?;
    let interval = rate.time_for(DATAGRAM * 188);
    let due = (0u64..).map(|n| interval * u32::try_from(n / DATAGRAM).unwrap_or(u32::MAX));
    let packets: Vec<_> = due.zip(std::iter::from_fn(|| reader.poll_packet())).collect();
    if packets.is_empty() {
        return Err(io::Error::other("the stream has no packets: give an MPEG transport stream"));
    }
    Ok(packets)
}

/// The starts on one link.
struct Row<'a> {
    terms: Terms<'a>,
    /// What could be shown, where that is known.
    best: Option<Best>,
    starts: Vec<Start>,
}

impl Display for Row<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sorted = |figure: fn(&Start) -> f64| {
            let mut figures: Vec<_> = self.starts.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures
        };
        let median = |figure| sorted(figure)[self.starts.len() / 2];
        let in_time = sorted(Start::in_time);
        write!(
            f,
            "{:<44} in time {:7.3} %, worst {:7.3}; hole {:6.1} ms; over {:5.1} %, back {:4.2} %",
            self.terms.to_string(),
            in_time[in_time.len() / 2],
            in_time[0],
            sorted(|start| start.hole.as_secs_f64() * 1e3)[self.starts.len() - 1],
            median(|start| start.over),
            median(|start| start.back),
        )?;
        if matches!(self.terms.course, Course::Steady) {
            return Ok(());
        }
        let of = self.starts.first().map_or(0, |start| start.shown.pictures.1);
        let intact = sorted(|start| start.shown.pictures.0 as f64);
        write!(
            f,
            "; intact {:.0}, fewest {:.0} of {of}; freeze {:.2} s, longest {:.2}; sound {:.3} %",
            intact[intact.len() / 2],
            intact[0],
            median(|start| start.shown.freeze.as_secs_f64()),
            sorted(|start| start.shown.freeze.as_secs_f64())[self.starts.len() - 1],
            sorted(Start::sound)[0],
        )?;
        let Some(best) = self.best else { return Ok(()) };
        write!(
            f,
            "; possible: intact {}, by who sees 1 s ahead {}; freeze {:.2} s",
            best.intact,
            best.intact_ahead,
            best.freeze.as_secs_f64()
        )
    }
}

/// What became of one start.
#[derive(Debug, Clone, Copy)]
struct Start {
    packets: u64,
    missing: u64,
    /// The longest stretch of the stream of which nothing came in time, and where it begins.
    hole: Duration,
    hole_at: Duration,
    /// Bytes sent beyond the stream's own, and sent back, in percent of the stream.
    over: f64,
    back: f64,
    /// Pictures left out, and what was given up.
    left_out: u64,
    abandoned: u64,
    shown: Shown,
}

impl Start {
    fn in_time(&self) -> f64 {
        100.0 * (1.0 - self.missing as f64 / self.packets as f64)
    }

    fn sound(&self) -> f64 {
        let (in_time, of) = self.shown.sound;
        100.0 * in_time as f64 / of.max(1) as f64
    }
}

impl Display for Start {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.3} %, missing {}, hole {:.0} ms at {:.2} s, over {:.1}, back {:.2}, \
             left out {}, given up {}, intact {} of {}, freeze {:.2} s, sound {:.3} %",
            self.in_time(),
            self.missing,
            self.hole.as_secs_f64() * 1e3,
            self.hole_at.as_secs_f64(),
            self.over,
            self.back,
            self.left_out,
            self.abandoned,
            self.shown.pictures.0,
            self.shown.pictures.1,
            self.shown.freeze.as_secs_f64(),
            self.sound(),
        )
    }
}
