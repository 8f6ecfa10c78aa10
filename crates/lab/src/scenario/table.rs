//! What runs gave, as tables for people and as lines for programs.

use std::fmt::Write as _;

use maud::{Markup, html};
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

/// A column of a table: its title, digits behind the point, and where it comes from.
struct Column<T>(&'static str, usize, fn(&T) -> Option<f64>);

/// The names in front of all columns.
const NAME_WIDTH: usize = 16;

/// Between columns.
const GAP: usize = 2;

/// Below tables of two seeds, whose intervals are those of Student's distribution with one degree
/// of freedom.
const TWO_SEEDS: &str = "Two seeds say little about a mean, so that intervals are wide: more \
                         narrow them, as --seeds 10.";

const FLOWS: &[Column<FlowOutcome>] = &[
    Column("goodput Mbit/s", 2, |flow| Some(flow.goodput_bps / 1e6)),
    Column("share %", 1, |flow| Some(flow.share * 100.0)),
    Column("lost %", 2, |flow| Some(percent(flow.lost, flow.messages))),
    Column("repeated %", 2, |flow| Some(percent(flow.retransmitted, flow.packets))),
];

const DELAYS: &[Column<FlowOutcome>] = &[
    Column("p50", 1, |flow| flow.delay_p50_ms),
    Column("p95", 1, |flow| flow.delay_p95_ms),
    Column("p99", 1, |flow| flow.delay_p99_ms),
    Column("first", 1, |flow| flow.first_ms),
];

const MEDIA: &[Column<FlowOutcome>] = &[
    Column("layers", 0, |flow| Some(flow.messages as f64)),
    Column("late", 1, |flow| Some(flow.late? as f64)),
    Column("freezes", 1, |flow| Some(flow.freezes? as f64)),
    Column("frozen s", 2, |flow| Some(flow.frozen_ms? / 1e3)),
];

const LINKS: &[Column<LinkOutcome>] = &[
    Column("used %", 1, |link| link.utilisation.map(|share| share * 100.0)),
    Column("lost", 0, |link| Some(link.lost as f64)),
    Column("refused", 0, |link| Some(link.refused as f64)),
    Column("cut", 0, |link| Some(link.cut as f64)),
    Column("queue kB", 1, |link| Some(link.queue_mean_bytes / 1e3)),
    Column("longest", 1, |link| Some(link.queue_max_bytes as f64 / 1e3)),
];

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
        let Rows { flows, media, links } = Rows::of(runs);
        table(&mut text, "flow", FLOWS, &flows);
        table(&mut text, "delay ms", DELAYS, &flows);
        table(&mut text, "media", MEDIA, &media);
        table(&mut text, "link", LINKS, &links);
        ended(&mut text, runs);
    }
    if has_two_seeds(runs) {
        let _ = writeln!(text, "{TWO_SEEDS}\n");
    }
    text
}

fn has_two_seeds(runs: &[Run]) -> bool {
    runs.chunk_by(|a, b| a.point == b.point).any(|runs| runs.len() == 2)
}

/// What is to be known of the intervals, for a page.
pub(super) fn html_intervals(runs: &[Run]) -> Markup {
    html! {
        "Intervals hold the mean with 95 % confidence. "
        @if has_two_seeds(runs) { (TWO_SEEDS) " " }
    }
}

/// The same tables for a page.
pub(super) fn html_tables(runs: &[Run]) -> Markup {
    let Rows { flows, media, links } = Rows::of(runs);
    let mut endings = String::new();
    ended(&mut endings, runs);
    html! {
        (html_table("flow", FLOWS, &flows))
        (html_table("delay, ms", DELAYS, &flows))
        (html_table("media", MEDIA, &media))
        (html_table("link", LINKS, &links))
        @for line in endings.lines().filter(|line| !line.is_empty()) { p { (line) } }
    }
}

/// The rows of all tables of a point, each with what all of its runs gave.
struct Rows<'a> {
    flows: Vec<(&'a str, Vec<&'a FlowOutcome>)>,
    media: Vec<(&'a str, Vec<&'a FlowOutcome>)>,
    links: Vec<(&'a str, Vec<&'a LinkOutcome>)>,
}

impl<'a> Rows<'a> {
    fn of(runs: &'a [Run]) -> Self {
        let flows: Vec<_> = named(runs, |outcome| &outcome.flows, |flow| &flow.name);
        let is_media = |flows: &[&FlowOutcome]| flows.iter().any(|flow| flow.late.is_some());
        let media = flows.iter().filter(|(_, flows)| is_media(flows)).cloned().collect();
        let links = named(runs, |outcome| &outcome.links, |link| &link.name);
        Self { flows, media, links }
    }
}

/// What all runs gave of each flow, or of each link.
fn named<'a, T>(
    runs: &'a [Run],
    of: impl Fn(&'a Outcome) -> &'a Vec<T>,
    name: impl Fn(&'a T) -> &'a String,
) -> Vec<(&'a str, Vec<&'a T>)> {
    let Some(first) = runs.first() else { return Vec::new() };
    let rows = of(&first.outcome).iter().enumerate();
    let of_all = |(number, row): (usize, &'a T)| {
        let all = runs.iter().filter_map(|run| of(&run.outcome).get(number));
        (name(row).as_str(), all.collect())
    };
    rows.map(of_all).collect()
}

fn table<T>(text: &mut String, title: &str, columns: &[Column<T>], rows: &[(&str, Vec<&T>)]) {
    if rows.is_empty() {
        return;
    }
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|(_, row)| columns.iter().map(|column| column.shown(row)).collect())
        .collect();
    let widths = columns.iter().enumerate().map(|(number, Column(title, ..))| {
        let cells = shown.iter().filter_map(|row| row.get(number));
        cells.map(|cell| cell.chars().count()).fold(title.len(), usize::max) + GAP
    });
    let widths: Vec<usize> = widths.collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect()
    };
    let titles = line(&mut columns.iter().map(|Column(title, ..)| *title));
    let _ = writeln!(text, "{title:<NAME_WIDTH$}{titles}");
    for ((name, _), row) in rows.iter().zip(&shown) {
        let cells = line(&mut row.iter().map(String::as_str));
        // A long name moves what follows to a line of its own.
        let fits = name.chars().count() < NAME_WIDTH;
        let name = if fits {
            format!("{name:<NAME_WIDTH$}")
        } else {
            format!("{name}\n{:<NAME_WIDTH$}", "")
        };
        let _ = writeln!(text, "{name}{cells}");
    }
}

fn html_table<T>(title: &str, columns: &[Column<T>], rows: &[(&str, Vec<&T>)]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div class="scroll" { table {
                thead { tr { th { (title) } @for column in columns { th { (column.0) } } } }
                tbody {
                    @for (name, row) in rows {
                        tr { th { (name) } @for column in columns { td { (column.shown(row)) } } }
                    }
                }
            } }
        }
    }
}

impl<T> Column<T> {
    /// The mean of a row's runs, with its interval.
    fn shown(&self, row: &[&T]) -> String {
        let Self(_, digits, value) = self;
        let values: Vec<f64> = row.iter().filter_map(|one| value(one)).collect();
        let mean = (!values.is_empty()).then(|| Estimate::of(&values));
        mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.digits$}"))
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
        late: Option<u64>,
        freezes: Option<u64>,
        frozen_ms: Option<f64>,
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
            late: flow.late,
            freezes: flow.freezes,
            frozen_ms: flow.frozen_ms,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64) -> Run {
        let so_much = seed as f64;
        let flow = FlowOutcome {
            name: "a flow with a name".to_owned(),
            kind: "media".to_owned(),
            goodput_bps: 1.234e9 + so_much * 1e8,
            share: 0.5 + so_much / 10.0,
            delay_p50_ms: Some(12_345.6 + so_much * 1e3),
            delay_p95_ms: Some(12_345.6 + so_much * 1e3),
            delay_p99_ms: Some(12_345.6 + so_much * 1e3),
            delay_max_ms: None,
            first_ms: Some(12_345.6 + so_much * 1e3),
            messages: 100_000,
            lost: 1_000,
            packets: 1_000_000,
            retransmitted: 10_000,
            late: Some(1_000),
            freezes: Some(100),
            frozen_ms: Some(12_345.0 + so_much * 1e3),
            ended: None,
        };
        let link = LinkOutcome {
            name: "bottleneck back".to_owned(),
            utilisation: Some(0.9 + so_much / 100.0),
            lost: 10_000,
            refused: 10_000 + seed * 1_000,
            cut: 1_000,
            queue_mean_bytes: 312_500.0 + so_much * 1e4,
            queue_max_bytes: 3_125_000,
        };
        let outcome = Outcome { flows: vec![flow], links: vec![link] };
        Run { point: Vec::new(), seed, outcome }
    }

    #[test]
    fn tables_fit_a_terminal_of_80_characters() {
        let text = tables(&[run(1), run(2), run(3)]);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{widest:?}\n{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.contains(&"bottleneck") && words.contains(&"12000±2484"), "{text}");
        assert!(!text.contains(TWO_SEEDS), "{text}");
    }

    #[test]
    fn regression_wide_intervals_touched_the_next_column() {
        let mut runs = [run(1), run(2)];
        runs[1].outcome.links[0].queue_mean_bytes = 9e9;
        runs[1].outcome.links[0].queue_max_bytes = 9_000_000_000;
        let text = tables(&runs);
        let row = text.lines().find(|line| line.starts_with("bottleneck back")).unwrap();
        assert_eq!(row.split("  ").filter(|cell| !cell.is_empty()).count(), 7, "{text}");
        assert!(text.ends_with(&format!("{TWO_SEEDS}\n\n")), "{text}");
    }
}
