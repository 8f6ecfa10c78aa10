//! The paper's figures 8 to 12: lines over loss, streams or delay.

use plotters::style::RGBColor;

use super::super::carrier::Carrier;
use super::super::live::{LiveSwitch, MILESTONES};
use super::super::scenario::Scenario;
use super::super::table::{MEASURES, Measure, Row, line_name};
use crate::drawing::{BLUE, FigureError, GREEN, ORANGE, PURPLE, RED, TEAL};
use crate::graph::{Graph, Line};

/// A measure, and its graphs as SVG documents.
#[derive(Debug)]
pub struct Figure {
    /// What is drawn.
    pub measure: &'static Measure,
    /// The graphs with their names, which fit files.
    pub graphs: Vec<(String, String)>,
}

/// The figures of all that was run.
///
/// # Errors
/// The drawing library's.
pub fn figures(rows: &[Row]) -> Result<Vec<Figure>, FigureError> {
    let of_measure = |measure: &'static Measure| {
        let svg = |graph: &Graph| Ok((graph.name.clone(), graph.svg()?));
        let graphs: Result<_, _> = graphs(measure, rows).iter().map(svg).collect();
        Ok(Figure { measure, graphs: graphs? })
    };
    let figures: Result<Vec<_>, _> = MEASURES.iter().map(of_measure).collect();
    Ok(figures?.into_iter().filter(|figure| !figure.graphs.is_empty()).collect())
}

/// Figure 12 with what was measured for real: the graph with its name, which fits a file.
/// `switches` are in the order of their delays.
///
/// # Errors
/// The drawing library's.
pub fn live_figure(switches: &[LiveSwitch], rows: &[Row]) -> Result<(String, String), FigureError> {
    let graph = Graph {
        name: "figure-12-live".to_owned(),
        title: "Figure 12: live".to_owned(),
        x: Scenario::Switching.axis(),
        unit: "ms",
        has_dots: true,
        lines: simulated_switching(rows).into_iter().chain(live_lines(switches)).collect(),
    };
    Ok((graph.name.clone(), graph.svg()?))
}

fn simulated_switching(rows: &[Row]) -> Vec<Line> {
    let measures = MEASURES.iter().filter(|measure| measure.scenario == Scenario::Switching);
    let lines = measures.flat_map(|measure| {
        measure.lines(rows).into_iter().filter_map(|line| of_line(measure, &line))
    });
    lines.map(|(_, line)| line).collect()
}

fn live_lines(switches: &[LiveSwitch]) -> impl Iterator<Item = Line> {
    MILESTONES.iter().zip([GREEN, TEAL]).map(|(milestone, color)| {
        let points = milestone.points(switches).into_iter();
        Line {
            name: milestone.name.to_owned(),
            color,
            is_ours: true,
            points: points.map(|(delay, value)| (delay.into(), value)).collect(),
        }
    })
}

/// One, or one for each carrier where there is a line for each loss.
fn graphs(measure: &Measure, rows: &[Row]) -> Vec<Graph> {
    let lines = measure.lines(rows);
    let shown: Vec<_> = lines.iter().filter_map(|line| of_line(measure, line)).collect();
    let is_same = |a: &(Carrier, Line), b: &(Carrier, Line)| {
        measure.scenario != Scenario::Streams || a.0 == b.0
    };
    let graph = |lines: Vec<(Carrier, Line)>| {
        let carrier = lines.first().map(|(carrier, _)| *carrier);
        let of = carrier.filter(|_| measure.scenario == Scenario::Streams);
        Graph {
            name: of.map_or(measure.name.to_owned(), |of| format!("{}-{of}", measure.name)),
            title: of.map_or(measure.title.to_owned(), |of| format!("{}, {of}", measure.title)),
            x: measure.scenario.axis(),
            unit: measure.unit,
            has_dots: true,
            lines: lines.into_iter().map(|(_, line)| line).collect(),
        }
    };
    in_runs(shown, is_same).into_iter().map(graph).collect()
}

/// What follows each other and is alike, together.
fn in_runs<T>(items: Vec<T>, is_same: impl Fn(&T, &T) -> bool) -> Vec<Vec<T>> {
    let mut runs: Vec<Vec<T>> = Vec::new();
    for item in items {
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|last| is_same(last, &item)) => run.push(item),
            _ => runs.push(vec![item]),
        }
    }
    runs
}

/// Nothing for a line that is not drawn: figure 9 has those that may lose messages.
fn of_line(measure: &Measure, line: &[&Row]) -> Option<(Carrier, Line)> {
    let cell = line.first()?.cell;
    if measure.is_share() && cell.carrier.is_reliable() {
        return None;
    }
    let value = |row: &&Row| Some((f64::from(row.cell.point()), (measure.of)(row)?));
    let color = match measure.scenario {
        Scenario::Streams => color_of_loss(cell.loss_percent),
        Scenario::Loss | Scenario::Channels | Scenario::Switching => color_of_carrier(cell.carrier),
    };
    let points = line.iter().filter_map(value).collect();
    let is_ours = cell.carrier.is_ours();
    Some((cell.carrier, Line { name: line_name(&cell), color, is_ours, points }))
}

const fn color_of_carrier(carrier: Carrier) -> RGBColor {
    match carrier {
        Carrier::Tcp => RED,
        Carrier::Udp => ORANGE,
        Carrier::Sctp => BLUE,
        Carrier::PrSctp => GREEN,
        Carrier::Anabranch => PURPLE,
        Carrier::AnabranchPr => TEAL,
    }
}

const fn color_of_loss(percent: u32) -> RGBColor {
    match percent {
        0..=1 => GREEN,
        2..=3 => BLUE,
        4..=5 => ORANGE,
        _ => RED,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::live::testing::switches;
    use super::super::super::table::testing::row;
    use super::*;

    #[test]
    fn the_live_figure_shows_both_milestones() {
        let (name, svg) = live_figure(&switches(), &[]).unwrap();
        assert_eq!(name, "figure-12-live");
        assert!(svg.contains("first message") && svg.contains("first picture"), "{svg}");
    }

    #[test]
    fn figure_10_has_a_graph_for_each_carrier_and_the_others_have_one() {
        let rows: Vec<_> = [Carrier::Sctp, Carrier::PrSctp]
            .into_iter()
            .flat_map(|carrier| [1, 10].map(|loss| row(Scenario::Streams, carrier, loss, 3, 17.0)))
            .collect();
        let names = |rows: &[Row]| -> Vec<String> {
            let graphs = figures(rows).unwrap().into_iter().flat_map(|figure| figure.graphs);
            graphs.map(|(name, _)| name).collect()
        };
        assert_eq!(names(&rows), ["figure-10-SCTP", "figure-10-PR-SCTP"]);
        let one = row(Scenario::Switching, Carrier::Tcp, 0, 50, 17.0);
        assert_eq!(names(&[one]), [""; 0], "nothing that was measured");
        let one = row(Scenario::Channels, Carrier::Tcp, 0, 3, 17.0);
        assert_eq!(names(&[one]), ["figure-11"]);
    }
}
