//! [`Report`]: the results of a run.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::Serialize;

use crate::crowd::Member;
use crate::seat::Kind;
use crate::server::Usage;

/// Without media for so long a viewer is starved.
const STARVED: Duration = Duration::from_secs(2);

/// The results of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    seconds: f64,
    native: Share,
    browsers: Share,
    /// Of the server's process, where it is known and both kinds watched together.
    server: Option<Cost>,
    /// Milliseconds from telling until the last viewer had the urgent message; nothing if one has
    /// not.
    urgent_ms: Option<f64>,
}

/// What the viewers of one kind experienced.
#[derive(Debug, Default, Serialize)]
struct Share {
    viewers: usize,
    /// Reasons of those that are out.
    out: Vec<String>,
    starved: usize,
    longest_gap_ms: f64,
    zaps: usize,
    zaps_failed: u64,
    zap_p50_ms: Option<f64>,
    zap_p95_ms: Option<f64>,
    zap_max_ms: Option<f64>,
    units: u64,
    gigabytes: f64,
    /// Of the server's process, where it is known and nobody else watched.
    server: Option<Cost>,
}

/// What the server used meanwhile.
#[derive(Debug, Serialize)]
struct Cost {
    cpu_seconds: f64,
    /// Per gigabyte of media that arrived.
    cpu_seconds_per_gigabyte: f64,
    resident_mib_at_start: f64,
    resident_mib_most: f64,
    resident_mib_at_end: f64,
}

impl Report {
    /// Of viewers who watch for `span`.
    pub(crate) fn new(span: Duration) -> Self {
        let (native, browsers) = (Share::default(), Share::default());
        Self { seconds: span.as_secs_f64(), native, browsers, server: None, urgent_ms: None }
    }

    /// What became of viewers who watched together, and of the server meanwhile.
    pub(crate) fn add(&mut self, members: &[Member], usages: &[Usage]) {
        let of = |kind: Kind| Share::of(members.iter().filter(|member| member.kind == kind));
        let shares = [of(Kind::Native), of(Kind::Browser)];
        let gigabytes = shares.iter().map(|share| share.gigabytes).sum();
        let mut cost = Cost::of(usages, gigabytes);
        for (share, mine) in shares.into_iter().zip([&mut self.native, &mut self.browsers]) {
            if share.viewers == members.len() {
                *mine = Share { server: cost.take(), ..share };
            } else if share.viewers > 0 {
                *mine = share;
            }
        }
        self.server = cost.or(self.server.take());
    }

    /// How long an urgent message took to the last of the viewers.
    pub(crate) fn add_urgent(&mut self, took: Duration) {
        let before = self.urgent_ms.unwrap_or_default();
        self.urgent_ms = Some(before.max(milliseconds(took)));
    }
}

impl Share {
    fn of<'a>(members: impl Iterator<Item = &'a Member>) -> Self {
        let mut share = Self::default();
        let mut zaps: Vec<Duration> = Vec::new();
        for member in members {
            let record = member.record();
            share.viewers += 1;
            share.out.extend(record.closed.clone());
            share.starved += usize::from(record.longest_gap > STARVED);
            share.longest_gap_ms = share.longest_gap_ms.max(milliseconds(record.longest_gap));
            share.zaps_failed += record.failed_zaps;
            share.units += record.units;
            share.gigabytes += record.bytes as f64 / 1e9;
            zaps.extend(&record.zaps);
        }
        zaps.sort();
        share.zaps = zaps.len();
        let at = |percent: usize| zaps.get(zaps.len() * percent / 100).copied().map(milliseconds);
        share.zap_p50_ms = at(50);
        share.zap_p95_ms = at(95);
        share.zap_max_ms = zaps.last().copied().map(milliseconds);
        share
    }
}

impl Cost {
    fn of(usages: &[Usage], gigabytes: f64) -> Option<Self> {
        let (first, last) = (usages.first()?, usages.last()?);
        let cpu_seconds = (last.cpu - first.cpu).as_secs_f64();
        let most = usages.iter().map(|usage| usage.resident_bytes).max()?;
        Some(Self {
            cpu_seconds,
            cpu_seconds_per_gigabyte: cpu_seconds / gigabytes,
            resident_mib_at_start: mebibytes(first.resident_bytes),
            resident_mib_most: mebibytes(most),
            resident_mib_at_end: mebibytes(last.resident_bytes),
        })
    }
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.0} s            native   browsers", self.seconds)?;
        let [a, b] = [&self.native, &self.browsers];
        let mut row = |name: &str, figure: &dyn Fn(&Share) -> String| {
            writeln!(f, "{name:<16}{:>9}{:>11}", figure(a), figure(b))
        };
        row("viewers", &|share| share.viewers.to_string())?;
        row("out", &|share| share.out.len().to_string())?;
        row("starved", &|share| share.starved.to_string())?;
        row("longest gap ms", &|share| format!("{:.0}", share.longest_gap_ms))?;
        row("keys answered", &|share| share.zaps.to_string())?;
        row("not answered", &|share| share.zaps_failed.to_string())?;
        row("median ms", &|share| shown(share.zap_p50_ms))?;
        row("95 % ms", &|share| shown(share.zap_p95_ms))?;
        row("slowest ms", &|share| shown(share.zap_max_ms))?;
        row("GB", &|share| format!("{:.3}", share.gigabytes))?;
        let cost = |share: &Share| share.server.as_ref().map(|cost| cost.cpu_seconds_per_gigabyte);
        if [a, b].iter().any(|share| share.server.is_some()) {
            row("CPU-s per GB", &|share| {
                cost(share).map_or("-".to_owned(), |cost| format!("{cost:.2}"))
            })?;
        }
        for reason in a.out.iter().chain(&b.out).take(3) {
            writeln!(f, "a viewer is out: {reason}")?;
        }
        for cost in [&a.server, &b.server, &self.server].into_iter().flatten() {
            writeln!(f, "{cost}")?;
        }
        if let Some(took) = self.urgent_ms {
            writeln!(f, "an urgent message was at all of them within {took:.0} ms")?;
        }
        Ok(())
    }
}

impl Display for Cost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [begin, most, end] =
            [self.resident_mib_at_start, self.resident_mib_most, self.resident_mib_at_end];
        write!(f, "server: {:.2} CPU-s per GB; ", self.cpu_seconds_per_gigabyte)?;
        write!(f, "{begin:.1} MiB at the start, {most:.1} at most, {end:.1} at the end")
    }
}

fn shown(figure: Option<f64>) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.0}"))
}
