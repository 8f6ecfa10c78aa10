//! What runs gave, as tables for people and as lines for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::{FlowOutcome, LinkOutcome, Outcome};
use crate::{Estimate, csv_lines};

/// A run: what was given beside the file, its seed and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The values that were swept, as `bottleneck.loss` and `1%`.
    pub point: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
    /// What it gave.
    pub outcome: Outcome,
}

/// The runs of each point, as tables of their means with 95 % intervals.
#[must_use]
pub fn tables(runs: &[Run]) -> String {
    let mut text = String::new();
    for runs in runs.chunk_by(|a, b| a.point == b.point) {
        let point = runs.first().map(|run| run.point.as_slice()).unwrap_or_default();
        if !point.is_empty() {
            let said: Vec<_> = point.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let _ = writeln!(text, "{}", said.join(" "));
        }
        flow_table(&mut text, runs);
        link_table(&mut text, runs);
        ended(&mut text, runs);
    }
    text
}

fn flow_table(text: &mut String, runs: &[Run]) {
    let _ = writeln!(
        text,
        "{:<16} {:>14} {:>10} {:>14} {:>14} {:>14} {:>12} {:>12} {:>12}",
        "flow",
        "goodput Mbit/s",
        "share %",
        "delay p50 ms",
        "p95",
        "p99",
        "first ms",
        "lost %",
        "repeated %"
    );
    let Some(first) = runs.first() else { return };
    for (number, flow) in first.outcome.flows.iter().enumerate() {
        let of = |value: &dyn Fn(&FlowOutcome) -> Option<f64>| {
            let flows = runs.iter().filter_map(|run| run.outcome.flows.get(number));
            let values: Vec<f64> = flows.filter_map(value).collect();
            if values.is_empty() { None } else { Some(Estimate::of(&values)) }
        };
        let _ = writeln!(
            text,
            "{:<16} {:>14} {:>10} {:>14} {:>14} {:>14} {:>12} {:>12} {:>12}",
            flow.name,
            shown(of(&|flow| Some(flow.goodput_bps / 1e6)), 2),
            shown(of(&|flow| Some(flow.share * 100.0)), 1),
            shown(of(&|flow| flow.delay_p50_ms), 1),
            shown(of(&|flow| flow.delay_p95_ms), 1),
            shown(of(&|flow| flow.delay_p99_ms), 1),
            shown(of(&|flow| flow.first_ms), 1),
            shown(of(&|flow| Some(percent(flow.lost, flow.messages))), 2),
            shown(of(&|flow| Some(percent(flow.retransmitted, flow.packets))), 2),
        );
    }
}

fn link_table(text: &mut String, runs: &[Run]) {
    let _ = writeln!(
        text,
        "{:<16} {:>14} {:>12} {:>12} {:>12} {:>14} {:>14}",
        "link", "utilisation %", "lost", "refused", "cut", "queue mean kB", "queue max kB"
    );
    let Some(first) = runs.first() else { return };
    for (number, link) in first.outcome.links.iter().enumerate() {
        let of = |value: &dyn Fn(&LinkOutcome) -> Option<f64>| {
            let links = runs.iter().filter_map(|run| run.outcome.links.get(number));
            let values: Vec<f64> = links.filter_map(value).collect();
            if values.is_empty() { None } else { Some(Estimate::of(&values)) }
        };
        let _ = writeln!(
            text,
            "{:<16} {:>14} {:>12} {:>12} {:>12} {:>14} {:>14}",
            link.name,
            shown(of(&|link| link.utilisation.map(|share| share * 100.0)), 1),
            shown(of(&|link| Some(link.lost as f64)), 0),
            shown(of(&|link| Some(link.refused as f64)), 0),
            shown(of(&|link| Some(link.cut as f64)), 0),
            shown(of(&|link| Some(link.queue_mean_bytes / 1e3)), 1),
            shown(of(&|link| Some(link.queue_max_bytes as f64 / 1e3)), 1),
        );
    }
}

fn ended(text: &mut String, runs: &[Run]) {
    for run in runs {
        for flow in &run.outcome.flows {
            if let Some(reason) = &flow.ended {
                let _ = writeln!(text, "seed {}: {} ended: {reason}", run.seed, flow.name);
            }
        }
    }
    text.push('\n');
}

fn shown(estimate: Option<Estimate>, digits: usize) -> String {
    estimate.map_or_else(|| "-".to_owned(), |estimate| format!("{estimate:.digits$}"))
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// A line for each flow of each run, with a header; a column for each value that was swept.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn csv(runs: &[Run]) -> Result<Vec<u8>, csv::Error> {
    #[derive(Serialize)]
    struct Line<'a> {
        seed: u64,
        flow: &'a str,
        kind: &'a str,
        goodput_bps: f64,
        share: f64,
        delay_p50_ms: Option<f64>,
        delay_p95_ms: Option<f64>,
        delay_p99_ms: Option<f64>,
        delay_max_ms: Option<f64>,
        first_ms: Option<f64>,
        messages: u64,
        lost: u64,
        packets: u64,
        retransmitted: u64,
        ended: Option<&'a str>,
    }
    let lines = runs.iter().flat_map(|run| {
        run.outcome.flows.iter().map(|flow| Line {
            seed: run.seed,
            flow: &flow.name,
            kind: &flow.kind,
            goodput_bps: flow.goodput_bps,
            share: flow.share,
            delay_p50_ms: flow.delay_p50_ms,
            delay_p95_ms: flow.delay_p95_ms,
            delay_p99_ms: flow.delay_p99_ms,
            delay_max_ms: flow.delay_max_ms,
            first_ms: flow.first_ms,
            messages: flow.messages,
            lost: flow.lost,
            packets: flow.packets,
            retransmitted: flow.retransmitted,
            ended: flow.ended.as_deref(),
        })
    });
    let plain = csv_lines(lines)?;
    let keys: Vec<&str> = runs
        .first()
        .map(|run| run.point.iter().map(|(key, _)| key.as_str()).collect())
        .unwrap_or_default();
    let points = runs.iter().flat_map(|run| {
        run.outcome.flows.iter().map(|_| run.point.iter().map(|(_, value)| value.as_str()))
    });
    with_points(&plain, &keys, points)
}

/// Puts the swept values in front of each line.
fn with_points<'a>(
    plain: &[u8],
    keys: &[&str],
    points: impl Iterator<Item = impl Iterator<Item = &'a str>>,
) -> Result<Vec<u8>, csv::Error> {
    let mut reader = csv::Reader::from_reader(plain);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(keys.iter().copied().chain(reader.headers()?.iter()))?;
    for (record, point) in reader.records().zip(points) {
        let record = record?;
        let point: Vec<&str> = point.collect();
        writer.write_record(point.into_iter().chain(record.iter()))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}
