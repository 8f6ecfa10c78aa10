//! The paper's figures 8 to 12: lines over loss, streams or delay.

use std::error::Error;

use plotters::chart::ChartContext;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::super::carrier::Carrier;
use super::super::live::{LiveSwitch, MILESTONES};
use super::super::scenario::Scenario;
use super::super::table::{MEASURES, Measure, Row, line_name};
use crate::Estimate;
use crate::drawing::{Area, BLUE, FigureError, GREEN, GRID, PURPLE, RED, TEXT, drawn, nice, short};

const PANEL: (u32, u32) = (690, 380);
/// On the right of a graph, for its legend: the longest entry is "Anabranch-PR, 10 %".
const LEGEND: u32 = 200;

/// Length of a dash, and of the gap behind it.
const DASH: i32 = 5;

const ORANGE: RGBColor = RGBColor(205, 110, 20);
const TEAL: RGBColor = RGBColor(15, 135, 145);

/// Figure 9's axis begins here, in per cent: it is about what is missing.
const SHARES_FROM: f64 = 85.0;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A measure, and its graphs as SVG documents.
#[derive(Debug)]
pub struct Figure {
    /// What is drawn.
    pub measure: &'static Measure,
    /// The graphs with their names, which fit files.
    pub graphs: Vec<(String, String)>,
}

/// A graph: lines over one axis.
struct Graph {
    name: String,
    title: String,
    x: &'static str,
    unit: &'static str,
    lines: Vec<Line>,
}

struct Line {
    name: String,
    color: RGBColor,
    /// Drawn dashed: it is not the paper's.
    is_ours: bool,
    points: Vec<(f64, Estimate)>,
}

/// The figures of all that was run.
///
/// # Errors
/// The drawing library's.
pub fn figures(rows: &[Row]) -> Result<Vec<Figure>, FigureError> {
    let of_measure = |measure: &'static Measure| {
        let svg = |graph: &Graph| Ok((graph.name.clone(), drawn(PANEL, |root| graph.draw(root))?));
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
        lines: simulated_switching(rows).into_iter().chain(live_lines(switches)).collect(),
    };
    Ok((graph.name.clone(), drawn(PANEL, |root| graph.draw(root))?))
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

impl Graph {
    fn draw(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        area.fill(&WHITE)?;
        let (body, legend) = area.split_horizontally(PANEL.0 - LEGEND);
        let ((left, right), (bottom, top)) = (self.x_range(), self.y_range());
        let mut chart = ChartBuilder::on(&body)
            .margin(12)
            .caption(&self.title, ("sans-serif", 17).into_font().color(&TEXT))
            .x_label_area_size(44)
            .y_label_area_size(62)
            .build_cartesian_2d(left..right, bottom..top)?;
        self.draw_axes(&mut chart)?;
        for line in &self.lines {
            line.draw(&mut chart)?;
        }
        for (index, line) in (0..).zip(&self.lines) {
            line.draw_in_legend(&legend, 60 + index * 24)?;
        }
        Ok(())
    }

    fn draw_axes(&self, chart: &mut Chart<'_, '_>) -> Result<(), Box<dyn Error>> {
        let font = ("sans-serif", 15).into_font();
        let label = |value: &f64| short(*value);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(TEXT)
            .x_labels(self.x_labels())
            .y_labels(6)
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .x_desc(self.x)
            .y_desc(format!("in {}", self.unit))
            .label_style(font.color(&TEXT))
            .axis_desc_style(font.color(&TEXT))
            .draw()?;
        Ok(())
    }

    /// A single point still needs a length of axis around it.
    fn x_range(&self) -> (f64, f64) {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let (left, right) = points.fold((f64::MAX, 0.0), |(left, right): (f64, f64), (x, _)| {
            (left.min(*x), right.max(*x))
        });
        if left < right { (left, right) } else { (right - 1.0, right + 1.0) }
    }

    /// No more than there are whole numbers.
    fn x_labels(&self) -> usize {
        const MAX: f64 = 11.0;
        let (left, right) = self.x_range();
        (right - left + 1.0).min(MAX) as usize
    }

    fn y_range(&self) -> (f64, f64) {
        let values = || self.lines.iter().flat_map(|line| &line.points).map(|(_, y)| y);
        if self.unit == "%" {
            let is_low = values().any(|share| share.mean < SHARES_FROM);
            return (if is_low { 0.0 } else { SHARES_FROM }, 100.0);
        }
        let points = self.lines.iter().flat_map(|line| &line.points);
        let highest = points.fold(0.0, |top: f64, (_, y)| top.max(y.mean + y.half_width));
        // An axis of nothing still needs a length.
        (0.0, if highest > 0.0 { nice(highest) } else { 1.0 })
    }
}

impl Line {
    /// Its means joined, and at each the confidence interval.
    fn draw(&self, chart: &mut Chart<'_, '_>) -> Result<(), Box<dyn Error>> {
        let stroke = self.color.stroke_width(2);
        let path: Vec<_> = self.points.iter().map(|(x, y)| (*x, y.mean)).collect();
        match self.is_ours {
            true => chart.draw_series(DashedLineSeries::new(path.clone(), DASH, DASH, stroke))?,
            false => chart.draw_series(LineSeries::new(path.clone(), stroke))?,
        };
        let interval = |(x, y): &(f64, Estimate)| {
            let ends = [(*x, y.mean - y.half_width), (*x, y.mean + y.half_width)];
            PathElement::new(ends, self.color.stroke_width(1))
        };
        chart.draw_series(self.points.iter().map(interval))?;
        chart.draw_series(path.into_iter().map(|at| Circle::new(at, 3, self.color.filled())))?;
        Ok(())
    }

    fn draw_in_legend(&self, area: &Area<'_>, y: i32) -> Result<(), Box<dyn Error>> {
        const SAMPLE: i32 = 26;
        let (len, gap) = if self.is_ours { (DASH, DASH) } else { (SAMPLE, 0) };
        let mut x = 0;
        while x < SAMPLE {
            area.draw(&PathElement::new([(x, y), (x + len, y)], self.color.stroke_width(2)))?;
            x += len + gap;
        }
        let style = ("sans-serif", 15).into_font().color(&TEXT);
        area.draw_text(&self.name, &style, (SAMPLE + 8, y - 7))?;
        Ok(())
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
