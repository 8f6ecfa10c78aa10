//! [`Graph`]: lines over one axis, as the figures of several experiments have them.

use std::error::Error;

use plotters::prelude::*;

use crate::Estimate;
use crate::drawing::{
    Area, Chart, DASH, FigureError, LONG_SAMPLE, TEXT, draw_axes, draw_sample, drawn, interval,
    label, nice, text,
};

const PANEL: (u32, u32) = (690, 380);
/// On the right of a graph, for its legend: the longest entry is "Anabranch-PR, 10 %".
const LEGEND: u32 = 200;

/// An axis of shares begins here, in per cent, where all are higher: it is about what is missing.
const SHARES_FROM: f64 = 85.0;

/// A graph: lines over one axis.
pub(crate) struct Graph {
    /// What its file is called, without ending.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) unit: &'static str,
    /// Whether each point has a dot and its confidence interval; else there are too many.
    pub(crate) has_dots: bool,
    pub(crate) lines: Vec<Line>,
}

/// A line of a graph.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) color: RGBColor,
    /// Drawn dashed: it is not the paper's.
    pub(crate) is_ours: bool,
    pub(crate) points: Vec<(f64, Estimate)>,
}

impl Graph {
    /// As an SVG document.
    pub(crate) fn svg(&self) -> Result<String, FigureError> {
        drawn(PANEL, |root| self.draw(root))
    }

    fn draw(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        area.fill(&WHITE)?;
        let (body, legend) = area.split_horizontally(PANEL.0 - LEGEND);
        let ((left, right), (bottom, top)) = (self.x_range(), self.y_range());
        let mut chart = ChartBuilder::on(&body)
            .margin(12)
            .caption(&self.title, text(17))
            .x_label_area_size(44)
            .y_label_area_size(62)
            .build_cartesian_2d(left..right, bottom..top)?;
        let (x, y) = (self.x, format!("in {}", self.unit));
        draw_axes(&mut chart, 15, (x, self.x_labels(), &label), (&y, 6, TEXT))?;
        for line in &self.lines {
            line.draw(&mut chart, self.has_dots)?;
        }
        for (index, line) in (0..).zip(&self.lines) {
            line.draw_in_legend(&legend, 60 + index * 24)?;
        }
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
        let shown = |y: &Estimate| y.mean + if self.has_dots { y.drawn_half_width() } else { 0.0 };
        let highest = points.fold(0.0, |top: f64, (_, y)| top.max(shown(y)));
        // An axis of nothing still needs a length.
        (0.0, if highest > 0.0 { nice(highest) } else { 1.0 })
    }
}

impl Line {
    /// Its means joined, and at each the confidence interval.
    fn draw(&self, chart: &mut Chart<'_, '_>, has_dots: bool) -> Result<(), Box<dyn Error>> {
        let stroke = self.color.stroke_width(2);
        let path: Vec<_> = self.points.iter().map(|(x, y)| (*x, y.mean)).collect();
        match self.is_ours {
            true => chart.draw_series(DashedLineSeries::new(path.clone(), DASH, DASH, stroke))?,
            false => chart.draw_series(LineSeries::new(path.clone(), stroke))?,
        };
        if !has_dots {
            return Ok(());
        }
        let intervals = self.points.iter().map(|(x, y)| interval(*x, *y, self.color));
        chart.draw_series(intervals)?;
        chart.draw_series(path.into_iter().map(|at| Circle::new(at, 3, self.color.filled())))?;
        Ok(())
    }

    fn draw_in_legend(&self, area: &Area<'_>, y: i32) -> Result<(), Box<dyn Error>> {
        let dashes = if self.is_ours { (DASH, DASH) } else { (LONG_SAMPLE, 0) };
        draw_sample(area, y, self.color, dashes)?;
        Ok(area.draw_text(&self.name, &text(15), (LONG_SAMPLE + 8, y - 7))?)
    }
}
