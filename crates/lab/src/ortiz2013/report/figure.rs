//! The paper's figures 2 to 12: four graphs over time for a strategy.

use std::error::Error;

use plotters::chart::DualCoordChartContext;
use plotters::prelude::*;

use super::super::cell::{Cell, Setup};
use super::super::measure::{Measured, Second};
use crate::drawing::{
    Area, BLUE, FigureError, GREEN, PURPLE, Plane, RED, TEXT, draw_axes, drawn, label, nice, text,
};

const PANEL: (u32, u32) = (560, 260);
const HEADING: u32 = 40;
const FONT_SIZE: u32 = 14;

type Chart<'a, 'b> = DualCoordChartContext<'a, SVGBackend<'b>, Plane, Plane>;

/// All graphs of a cell side by side, as one SVG document.
///
/// # Errors
/// The drawing library's.
pub fn figure(setup: &Setup, cell: &Cell, measured: &Measured) -> Result<String, FigureError> {
    let graphs = graphs(setup, cell, measured);
    let rows = graphs.len().div_ceil(2);
    let size = (2 * PANEL.0, HEADING + rows as u32 * PANEL.1);
    drawn(size, |root| {
        root.fill(&WHITE)?;
        let (heading, body) = root.split_vertically(HEADING);
        heading.draw_text(&setup.title(cell), &text(20), (16, 12))?;
        // The paper's order: interfaces on the left, what comes of them on the right.
        let areas = body.split_evenly((rows, 2));
        for (graph, area) in graphs.iter().zip(&areas) {
            graph.draw(area)?;
        }
        Ok(())
    })
}

/// Each graph of a cell as an SVG document of its own.
///
/// # Errors
/// The drawing library's.
pub(super) fn panels(
    setup: &Setup,
    cell: &Cell,
    measured: &Measured,
) -> Result<Vec<String>, FigureError> {
    graphs(setup, cell, measured)
        .iter()
        .map(|graph| drawn(PANEL, |root| graph.draw(root)))
        .collect()
}

/// Two quantities over time, with an axis each.
struct Graph {
    title: String,
    seconds: f64,
    left: Quantity,
    right: Option<Quantity>,
    /// When the link begins to lose packets.
    mark: Option<f64>,
}

struct Quantity {
    unit: String,
    color: RGBColor,
    form: Form,
    range: (f64, f64),
    values: Vec<Option<f64>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Line,
    Area,
    Bars,
}

/// In rows of two. A second interface that carried nothing has no graph, as in the paper.
fn graphs(setup: &Setup, cell: &Cell, measured: &Measured) -> Vec<Graph> {
    let seconds = &measured.seconds[..];
    let graph = |title: &str, left, right| Graph {
        title: title.to_owned(),
        seconds: nice(seconds.len() as f64),
        left,
        right,
        mark: None,
    };
    let interface = |index: usize, mbps: fn(&Second) -> f64, discards: fn(&Second) -> u32| {
        let rate = of(seconds, "Mbit/s", BLUE, Form::Area, |second| Some(mbps(second)));
        // A second may catch one packet more than the link's share.
        let rate = Quantity { range: (0.0, nice(cell.mbps)), ..rate };
        let lost =
            of(seconds, "packets discarded", RED, Form::Bars, |it| Some(discards(it).into()));
        let lost = lost.up_to(10.0);
        let title = format!("eth{index}: rate and discarded packets");
        Graph {
            mark: Some(setup.values().loss_from[index].as_secs_f64()),
            ..graph(&title, rate, Some(lost))
        }
    };
    let eth0 = interface(0, |second| second.eth0_mbps, |second| second.eth0_discards);
    let eth1 = interface(1, |second| second.eth1_mbps, |second| second.eth1_discards);
    let psnr = of(seconds, "dB", GREEN, Form::Line, |second| second.psnr_y_db).near_its_values();
    // A film is not scored.
    let is_scored = seconds.iter().any(|second| second.psnr_y_db.is_some());
    let psnr = is_scored.then(|| graph("PSNR-Y", psnr, None));
    let loss = of(seconds, "Mbit/s lost", RED, Form::Area, |second| Some(second.loss_mbps));
    let loss = loss.up_to(0.1);
    let delay = graph("delay, and loss at the receiver", delay(seconds), Some(loss));
    let eth1 = seconds.iter().any(|second| second.eth1_mbps > 0.0).then_some(eth1);
    match psnr {
        Some(psnr) => [eth0, psnr].into_iter().chain(eth1).chain([delay]).collect(),
        None => [eth0, delay].into_iter().chain(eth1).collect(),
    }
}

/// In milliseconds where that reads better.
fn delay(seconds: &[Second]) -> Quantity {
    let longest = seconds.iter().filter_map(|second| second.delay_s).fold(0.0, f64::max);
    if longest < 1.0 {
        let ms = |second: &Second| second.delay_s.map(|delay| delay * 1e3);
        of(seconds, "ms", PURPLE, Form::Line, ms).up_to(10.0)
    } else {
        of(seconds, "s", PURPLE, Form::Line, |second| second.delay_s)
    }
}

fn of(
    seconds: &[Second],
    unit: &str,
    color: RGBColor,
    form: Form,
    value: impl Fn(&Second) -> Option<f64>,
) -> Quantity {
    let values: Vec<_> = seconds.iter().map(value).collect();
    let highest = values.iter().flatten().fold(0.0, |a: f64, b| a.max(*b));
    // An axis of nothing still needs a length.
    let range = (0.0, if highest > 0.0 { nice(highest) } else { 1.0 });
    Quantity { unit: unit.to_owned(), color, form, range, values }
}

impl Quantity {
    /// With an axis that reaches this value.
    fn up_to(mut self, value: f64) -> Self {
        self.range.1 = self.range.1.max(nice(value));
        self
    }

    /// With an axis that begins near the lowest value.
    fn near_its_values(mut self) -> Self {
        const STEP: f64 = 5.0;
        let lowest = self.values.iter().flatten().fold(self.range.1, |a: f64, b| a.min(*b));
        self.range.0 = ((lowest / STEP).floor() - 1.0).max(0.0) * STEP;
        self
    }
}

impl Graph {
    fn draw(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        area.fill(&WHITE)?;
        let right = self.right.as_ref();
        let range = |quantity: &Quantity| quantity.range.0..quantity.range.1;
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(if right.is_some() { 10 } else { 62 })
            .caption(&self.title, text(16))
            .x_label_area_size(38)
            .y_label_area_size(62)
            .right_y_label_area_size(if right.is_some() { 62 } else { 0 })
            .build_cartesian_2d(0.0..self.seconds, range(&self.left))?
            .set_secondary_coord(0.0..self.seconds, right.map_or(0.0..1.0, range));
        self.draw_axes(&mut chart)?;
        if let Some(at) = self.mark.filter(|at| *at < self.seconds) {
            let line = [(at, self.left.range.0), (at, self.left.range.1)];
            chart.draw_series(DashedLineSeries::new(line, 4, 4, TEXT.mix(0.6).into()))?;
        }
        if let Some(right) = right {
            for points in right.runs() {
                right.draw_secondary(&mut chart, points)?;
            }
        }
        for points in self.left.runs() {
            self.left.draw(&mut chart, points)?;
        }
        Ok(())
    }

    fn draw_axes(&self, chart: &mut Chart<'_, '_>) -> Result<(), Box<dyn Error>> {
        let left = (self.left.unit.as_str(), 5, self.left.color);
        draw_axes(chart, FONT_SIZE, ("s", 9, &label), left)?;
        let Some(right) = &self.right else { return Ok(()) };
        let font = ("sans-serif", FONT_SIZE).into_font().color(&right.color);
        chart
            .configure_secondary_axes()
            .axis_style(TEXT)
            .y_labels(5)
            .y_label_formatter(&label)
            .y_desc(&right.unit)
            .label_style(font.clone())
            .axis_desc_style(font)
            .draw()?;
        Ok(())
    }
}

impl Quantity {
    /// Seconds in a row that have a value, each in its middle.
    fn runs(&self) -> impl Iterator<Item = Vec<(f64, f64)>> {
        let seconds = (0_u32..).map(|second| f64::from(second) + 0.5);
        let points: Vec<_> = seconds.zip(self.values.iter().copied()).collect();
        let runs = points.chunk_by(|a, b| a.1.is_some() == b.1.is_some());
        let known = runs.map(|run| run.iter().filter_map(|(x, y)| Some((*x, (*y)?))).collect());
        let known: Vec<Vec<_>> = known.filter(|run: &Vec<_>| !run.is_empty()).collect();
        known.into_iter()
    }

    fn draw(
        &self,
        chart: &mut Chart<'_, '_>,
        points: Vec<(f64, f64)>,
    ) -> Result<(), Box<dyn Error>> {
        let fill = match self.form {
            Form::Area => self.color.mix(0.22),
            Form::Line | Form::Bars => TRANSPARENT,
        };
        let stroke = self.color.stroke_width(2);
        chart.draw_series(AreaSeries::new(points, self.range.0, fill).border_style(stroke))?;
        Ok(())
    }

    fn draw_secondary(
        &self,
        chart: &mut Chart<'_, '_>,
        points: Vec<(f64, f64)>,
    ) -> Result<(), Box<dyn Error>> {
        if self.form == Form::Bars {
            let bars = points.into_iter().filter(|(_, y)| *y > 0.0);
            chart.draw_secondary_series(bars.map(|(x, y)| {
                Rectangle::new([(x - 0.3, 0.0), (x + 0.3, y)], self.color.mix(0.5).filled())
            }))?;
        } else {
            let (fill, stroke) = (self.color.mix(0.15), self.color.stroke_width(1));
            chart.draw_secondary_series(AreaSeries::new(points, 0.0, fill).border_style(stroke))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_without_a_value_breaks_the_line() {
        let known = |second: usize| Second {
            second,
            delay_s: (second != 2).then_some(0.5),
            ..Second::default()
        };
        let seconds: Vec<_> = (0..4).map(known).collect();
        let runs: Vec<_> = delay(&seconds).runs().collect();
        assert_eq!(runs, [vec![(0.5, 500.0), (1.5, 500.0)], vec![(3.5, 500.0)]]);
    }
}
