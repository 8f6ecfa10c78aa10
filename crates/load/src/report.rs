//! [`Report`]: what came of it.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::Serialize;

use crate::crowd::Member;
use crate::seat::Kind;
use crate::server::Usage;

/// Without media for so long a viewer is starved.
const STARVED: Duration = Duration::from_secs(2);

/// What came of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    seconds: f64,
    native: Share,
    browsers: Share,
    /// Of the server's process, where it is known.
    server: Option<Cost>,
    /// Milliseconds from telling until the last viewer had the urgent message; nothing if one has
    /// not.
    urgent_ms: Option<f64>,
}

/// What the viewers of one kind experienced.
#[derive(Debug, Serialize)]
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
    pub(crate) fn of(span: Duration, members: &[Member], usages: &[Usage]) -> Self {
        let native = Share::of(members.iter().filter(|member| member.kind == Kind::Native));
        let browsers = Share::of(members.iter().filter(|member| member.kind == Kind::Browser));
        let gigabytes = native.gigabytes + browsers.gigabytes;
        Self {
            seconds: span.as_secs_f64(),
            server: Cost::of(usages, gigabytes),
            native,
            browsers,
            urgent_ms: None,
        }
    }

    pub(crate) fn set_urgent(&mut self, took: Option<Duration>) {
        self.urgent_ms = took.map(milliseconds);
    }
}

impl Share {
    fn of<'a>(members: impl Iterator<Item = &'a Member>) -> Self {
        let mut share = Self {
            viewers: 0,
            out: Vec::new(),
            starved: 0,
            longest_gap_ms: 0.0,
            zaps: 0,
            zaps_failed: 0,
            zap_p50_ms: None,
            zap_p95_ms: None,
            zap_max_ms: None,
            units: 0,
            gigabytes: 0.0,
        };
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
        for reason in a.out.iter().chain(&b.out).take(3) {
            writeln!(f, "a viewer is out: {reason}")?;
        }
        if let Some(cost) = &self.server {
            let [begin, most, end] =
                [cost.resident_mib_at_start, cost.resident_mib_most, cost.resident_mib_at_end];
            let per_gigabyte = cost.cpu_seconds_per_gigabyte;
            write!(f, "server: {per_gigabyte:.2} CPU-s per GB; ")?;
            writeln!(f, "{begin:.1} MiB at the start, {most:.1} at most, {end:.1} at the end")?;
        }
        if let Some(took) = self.urgent_ms {
            writeln!(f, "an urgent message was at all of them within {took:.0} ms")?;
        }
        Ok(())
    }
}

fn shown(figure: Option<f64>) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.0}"))
}
