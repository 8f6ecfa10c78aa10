//! The paper's figures 7 to 11 over time, and delays over what was varied.

use anabranch_sctp::Level;
use plotters::style::RGBColor;

use super::super::cell::{Cell, LastHop};
use super::super::measure::{Means, Outcome, Second};
use super::super::method::Method;
use super::super::sensitivity::{GROUPS, Group, Variation};
use super::super::source::Source;
use super::super::table::{NAMES, Row};
use crate::Estimate;
use crate::drawing::{BLUE, FigureError, ORANGE, PURPLE};
use crate::graph::{Graph, Line};

/// The names of graphs, which fit files, and their SVG documents.
pub type Graphs = Vec<(String, String)>;

/// What a figure shows of each level.
struct Measure {
    figure: u32,
    what: &'static str,
    of: fn(&Means) -> f64,
}

const OF_LEVELS: [Measure; 3] = [
    Measure { figure: 7, what: "queue delay", of: |means| means.queue_ms },
    Measure { figure: 8, what: "IPDV", of: |means| means.ipdv_ms },
    Measure { figure: 9, what: "jitter", of: |means| means.jitter_ms },
];

/// I, P and B, with the letters that the paper's figures have.
const LEVELS: [(Level, char); 3] = [(Level::High, 'a'), (Level::Normal, 'b'), (Level::Low, 'c')];

/// The figures of all that was run.
///
/// # Errors
/// The drawing library's.
pub fn figures(results: &[(Cell, Outcome)], rows: &[Row]) -> Result<Graphs, FigureError> {
    let mut graphs = Vec::new();
    for source in Source::ALL {
        for last_hop in LastHop::ALL {
            let place = (source, last_hop, Variation::AsRun);
            let is_here = |(cell, _): &&(Cell, Outcome)| {
                (cell.source, cell.last_hop, cell.variation) == place
            };
            let here: Vec<_> = results.iter().filter(is_here).collect();
            if !here.is_empty() {
                graphs.extend(over_time(&format!("{source}-{last_hop}-"), &here));
            }
        }
    }
    for group in &GROUPS {
        for source in Source::ALL {
            let graph = |shown| varied(shown, group, source, rows);
            graphs.extend(OVER_VARIED.iter().filter_map(graph));
        }
    }
    graphs.into_iter().map(|graph| Ok((graph.name.clone(), graph.svg()?))).collect()
}

fn over_time(prefix: &str, results: &[&(Cell, Outcome)]) -> Vec<Graph> {
    let mut graphs = Vec::new();
    for measure in &OF_LEVELS {
        for (level, letter) in LEVELS {
            let Measure { figure, what, of } = measure;
            let value = |second: &Second| second.levels[level.index()].map(|means| of(&means));
            graphs.push(Graph {
                name: format!("{prefix}figure-{figure:02}{letter}"),
                title: format!("Figure {figure}: {what} of {}", NAMES[level.index()]),
                unit: "ms",
                ..seconds(results, value)
            });
        }
    }
    graphs.push(Graph {
        name: format!("{prefix}figure-10"),
        title: "Figure 10: total queue delay".to_owned(),
        unit: "s",
        ..seconds(results, |second| Some(second.total_queue_s))
    });
    graphs.push(Graph {
        name: format!("{prefix}figure-11"),
        title: "Figure 11: chunks received".to_owned(),
        unit: "thousands",
        ..seconds(results, |second| Some(second.received as f64 / 1e3))
    });
    graphs
}

/// A line for each method: the mean over the seeds, second by second.
fn seconds(results: &[&(Cell, Outcome)], value: impl Fn(&Second) -> Option<f64>) -> Graph {
    let line = |method: Method| {
        let of_method = results.iter().filter(|(cell, _)| cell.method == method);
        let seeds: Vec<_> = of_method.map(|(_, outcome)| &outcome.seconds).collect();
        let count = seeds.iter().map(|seconds| seconds.len()).max().unwrap_or_default();
        let at = |second: usize| {
            let here = seeds.iter().filter_map(|seconds| value(seconds.get(second)?));
            let here: Vec<_> = here.collect();
            (!here.is_empty()).then(|| (second as f64, Estimate::of(&here)))
        };
        line(method, method.to_string(), (0..count).filter_map(at).collect())
    };
    let lines: Vec<_> = Method::ALL.map(line).into_iter().collect();
    let lines = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    let (name, title) = (String::new(), String::new());
    Graph { name, title, x: "seconds", unit: "", has_dots: false, lines }
}

const fn color(method: Method) -> RGBColor {
    match method {
        Method::Sctp => BLUE,
        Method::SctpPq => ORANGE,
        Method::Anabranch => PURPLE,
    }
}

const fn line(method: Method, name: String, points: Vec<(f64, Estimate)>) -> Line {
    Line { name, color: color(method), is_ours: matches!(method, Method::Anabranch), points }
}

/// How the graphs of a group's source are called.
pub(super) fn name_of(group: &Group, source: Source) -> String {
    format!("{}-{source}", group.title.to_lowercase().replace(' ', "-"))
}

/// What is shown over what is varied.
struct OverVaried {
    /// Behind the name of the group's graphs.
    suffix: &'static str,
    what: &'static str,
    unit: &'static str,
    of: fn(&Row) -> Option<Estimate>,
}

const OVER_VARIED: [OverVaried; 2] = [
    OverVaried {
        suffix: "",
        what: "queue delay of I",
        unit: "ms",
        of: |row| Some(row.levels[Level::High.index()]?.queue_ms),
    },
    OverVaried {
        suffix: "-passed",
        what: "goes past on insertion",
        unit: "chunks",
        of: |row| Some(row.passed),
    },
];

fn varied(shown: &OverVaried, group: &Group, source: Source, rows: &[Row]) -> Option<Graph> {
    let axis = group.axis?;
    let of_method = |method: Method| {
        let point = |(variation, x): (Variation, f64)| {
            let place = (source, LastHop::Wired, variation, method);
            let is_it = |row: &&Row| {
                let Cell { source, last_hop, variation, method, .. } = row.cell;
                (source, last_hop, variation, method) == place
            };
            let row = rows.iter().find(is_it)?;
            Some((x, (shown.of)(row)?))
        };
        line(method, method.to_string(), group.points(source).filter_map(point).collect())
    };
    let lines: Vec<_> = Method::ALL.map(of_method).into_iter().collect();
    if lines.iter().any(|line| line.points.len() < 2) {
        return None;
    }
    Some(Graph {
        name: name_of(group, source) + shown.suffix,
        title: format!("{}: {}", group.title, shown.what),
        x: axis,
        unit: shown.unit,
        has_dots: true,
        lines,
    })
}
