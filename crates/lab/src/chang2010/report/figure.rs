//! Figure 13, what decides whether a handoff succeeds, and how long pictures of ours stand still.

use super::super::cell::{Handoff, Method, Place};
use super::super::paper::{self, THRESHOLDS_MS};
use super::super::table::{Row, by_round_trips, find};
use super::super::variation::{BY_STATE, LONG_RTO, SHORT_RTO, Variation};
use crate::Estimate;
use crate::drawing::{BLUE, FigureError, GREEN, ORANGE, PURPLE, RED};
use crate::graph::{Graph, Line};
use crate::statement::exact;

/// The names of graphs, which fit files, and their SVG documents.
pub type Figures = Vec<(String, String)>;

/// The figures of all that was run.
///
/// # Errors
/// The drawing library's.
pub fn figures(
    are_papers: bool,
    rows: &[Row],
    varied: &[(Variation, Row)],
    live: &[Row],
) -> Result<Figures, FigureError> {
    let graphs = [gaps(are_papers, rows), failures(rows, varied), round_trips(rows, live)];
    let drawn =
        graphs.into_iter().filter(|graph| graph.lines.iter().any(|it| !it.points.is_empty()));
    drawn.map(|graph| Ok((graph.name.clone(), graph.svg()?))).collect()
}

fn seconds(ms: u32) -> f64 {
    f64::from(ms) / 1e3
}

/// From 4 s on: what takes longer would leave no room for the rest.
fn thresholds() -> impl Iterator<Item = u32> + Clone {
    THRESHOLDS_MS.into_iter().filter(|ms| *ms <= 4_000).rev()
}

fn gaps(are_papers: bool, rows: &[Row]) -> Graph {
    let colors = [BLUE, ORANGE, GREEN, PURPLE];
    let of = |(handoff, color): (Handoff, _)| {
        let point = |ms| {
            let row = find(rows, Place::Handoff(handoff), Method::Timed(ms))?;
            Some((seconds(ms), row.handoff_s()?))
        };
        let points = thresholds().filter_map(point).collect();
        Line { name: handoff.to_string(), color, is_ours: false, points }
    };
    let mut lines: Vec<_> = Handoff::ALL.into_iter().zip(colors).map(of).collect();
    if are_papers && lines.iter().any(|line| !line.points.is_empty()) {
        let point = |ms| Some((seconds(ms), exact(paper::mean_gap_s(ms)?)));
        let points = thresholds().filter_map(point).collect();
        let name = "the paper's mean".to_owned();
        lines.push(Line { name, color: RED, is_ours: true, points });
    }
    Graph {
        name: "figure-13".to_owned(),
        title: "Figure 13: gap of a handoff by threshold".to_owned(),
        x: "threshold in s",
        unit: "s",
        has_dots: true,
        lines,
    }
}

fn failures(rows: &[Row], varied: &[(Variation, Row)]) -> Graph {
    let place = Place::Handoff(Handoff::WiredToWireless);
    let usual = |ms| find(rows, place, Method::Timed(ms));
    let with = |set: &str, ms| {
        let is_it =
            |(it, row): &&(Variation, Row)| it.set == set && row.cell.method == Method::Timed(ms);
        varied.iter().find(is_it).map(|(_, row)| row)
    };
    let at_most = thresholds().filter(|ms| *ms <= 2_000);
    let line = |name: &str, color, is_ours, row: &dyn Fn(u32) -> Option<Estimate>| {
        let points = at_most.clone().filter_map(|ms| Some((seconds(ms), row(ms)?))).collect();
        Line { name: name.to_owned(), color, is_ours, points }
    };
    let share = |row: Option<&Row>| row.map(|row| exact(row.failed_percent().mean));
    let lines = vec![
        line("RTO.Min 1 s", BLUE, false, &|ms| share(usual(ms))),
        line("RTO.Min 0.5 s", GREEN, false, &|ms| share(with(SHORT_RTO, ms))),
        line("RTO.Min 1.4 s", ORANGE, false, &|ms| share(with(LONG_RTO, ms))),
        line("by SCTP's state", PURPLE, true, &|ms| share(with(BY_STATE, ms))),
    ];
    Graph {
        name: "failures".to_owned(),
        title: "Calls that end at the cut, wired to wireless".to_owned(),
        x: "threshold in s",
        unit: "%",
        has_dots: true,
        lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect(),
    }
}

/// The gaps of pictures, 95 of 100 of which are no longer; simulated and live.
fn round_trips(rows: &[Row], live: &[Row]) -> Graph {
    let all = by_round_trips(rows, live);
    let line = |run: &str, method: Method, color| {
        let of_line = all.iter().filter(|it| (it.run, it.method) == (run, method));
        let pictures = of_line.filter(|it| it.name == "video");
        let points = pictures.map(|it| (f64::from(it.ms), exact(it.gaps.p95))).collect();
        Line { name: format!("{method}, {run}"), color, is_ours: run == "live", points }
    };
    let lines = vec![
        line("simulated", Method::Unplanned, BLUE),
        line("live", Method::Unplanned, ORANGE),
        line("simulated", Method::Planned, GREEN),
        line("live", Method::Planned, PURPLE),
    ];
    Graph {
        name: "round-trips".to_owned(),
        title: "Pictures of ours: gap around a cut, p95".to_owned(),
        x: "round trip in ms",
        unit: "s",
        has_dots: true,
        lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect(),
    }
}
