//! [`Graph`]: lines over one axis, the paper's beside ours.

use std::error::Error;

use plotters::prelude::*;

use crate::Estimate;
use crate::drawing::{
    Area, Chart, DASH, FigureError, LEGEND_LINE, LONG_SAMPLE, TEXT, draw_axes, draw_sample, drawn,
    interval, legend_width, nice, short, text,
};

/// Lines over an axis.
pub(super) struct Graph {
    pub(super) size: (u32, u32),
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: &'static str,
    /// Where the axis of values begins; none: at 0.
    pub(super) bottom: Option<f64>,
    pub(super) lines: Vec<Line>,
}

/// What lies along the bottom.
pub(super) enum Axis {
    /// A measure.
    Numbers(&'static str),
    /// Names, at 0, 1 and so on.
    Names(Vec<String>),
}

pub(super) struct Line {
    /// As the legend has it; empty: another line says it.
    pub(super) name: String,
    pub(super) color: RGBColor,
    pub(super) style: Style,
    pub(super) points: Vec<(f64, Estimate)>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Through all values: there are too many to mark each.
    Plain,
    /// Each value is marked with its interval.
    Marked,
    /// The same, but nothing joins them.
    Apart,
    /// The paper's values: dashed, each a ring.
    Paper,
    /// One value of the paper, or a bound: dashed, without rings.
    PaperLevel,
}

impl Graph {
    pub(super) fn svg(&self) -> Result<String, FigureError> {
        drawn(self.size, |root| self.draw(root))
    }

    fn draw(&self, root: &Area<'_>) -> Result<(), Box<dyn Error>> {
        root.fill(&WHITE)?;
        let ((first, last), (bottom, top)) = (self.across(), self.up());
        let width = legend_width(self.named().map(|line| line.name.as_str()));
        let (body, legend) = root.split_horizontally(self.size.0 - width);
        let mut chart = ChartBuilder::on(&body)
            .margin(12)
            .caption(&self.title, text(17))
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(first..last, bottom..top)?;
        self.draw_axes(&mut chart)?;
        for line in &self.lines {
            line.draw(&mut chart)?;
        }
        for (nth, line) in (0..).zip(self.named()) {
            line.draw_in_legend(&legend, 48 + nth * LEGEND_LINE as i32)?;
        }
        Ok(())
    }

    fn draw_axes(&self, chart: &mut Chart<'_, '_>) -> Result<(), Box<dyn Error>> {
        let (x, x_labels) = match &self.x {
            Axis::Numbers(name) => (*name, 11),
            Axis::Names(names) => ("connections, and ours", names.len()),
        };
        let label = |value: &f64| self.x.label(*value);
        draw_axes(chart, 14, (x, x_labels, &label), (self.y, 6, TEXT))
    }

    fn named(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !line.name.is_empty())
    }

    fn points(&self) -> impl Iterator<Item = &(f64, Estimate)> {
        self.lines.iter().flat_map(|line| &line.points)
    }

    fn across(&self) -> (f64, f64) {
        match &self.x {
            Axis::Names(names) => (-0.4, names.len() as f64 - 0.6),
            Axis::Numbers(_) => {
                let first = self.points().map(|(x, _)| *x).fold(f64::MAX, f64::min);
                (first, self.points().map(|(x, _)| *x).fold(first + 1e-3, f64::max))
            }
        }
    }

    /// An axis of nothing still needs a length.
    fn up(&self) -> (f64, f64) {
        let ends = self.points().map(|(_, y)| y.mean + y.drawn_half_width());
        let highest = ends.fold(1e-3, f64::max);
        match self.bottom {
            Some(bottom) => (bottom, bottom + nice((highest - bottom).max(1.0))),
            // A line along the edge would not show.
            None => (0.0, nice(1.02 * highest)),
        }
    }
}

impl Axis {
    fn label(&self, value: f64) -> String {
        match self {
            Self::Numbers(_) => short(value),
            Self::Names(names) => {
                let is_whole = (value - value.round()).abs() < 1e-6 && value > -0.5;
                let name = names.get(value.round() as usize).filter(|_| is_whole);
                name.cloned().unwrap_or_default()
            }
        }
    }
}

impl Line {
    fn draw(&self, chart: &mut Chart<'_, '_>) -> Result<(), Box<dyn Error>> {
        let stroke = self.color.stroke_width(2);
        let path: Vec<_> = self.points.iter().map(|(x, y)| (*x, y.mean)).collect();
        match self.style {
            Style::Plain | Style::Marked => {
                chart.draw_series(LineSeries::new(path.clone(), stroke))?;
            }
            Style::Paper | Style::PaperLevel => {
                let dashed = DashedLineSeries::new(path.clone(), DASH, DASH, stroke);
                chart.draw_series(dashed)?;
            }
            Style::Apart => {}
        }
        match self.style {
            Style::Marked | Style::Apart => {
                let known = self.points.iter().filter(|(_, y)| y.has_interval());
                chart.draw_series(known.map(|(x, y)| interval(*x, *y, self.color)))?;
                let dots = path.into_iter().map(|at| Circle::new(at, 3, self.color.filled()));
                chart.draw_series(dots)?;
            }
            Style::Paper => {
                let ring = |at| EmptyElement::at(at) + Circle::new((0, 0), 4, WHITE.filled());
                chart.draw_series(path.iter().copied().map(ring))?;
                let rings = path.into_iter().map(|at| Circle::new(at, 4, stroke));
                chart.draw_series(rings)?;
            }
            Style::Plain | Style::PaperLevel => {}
        }
        Ok(())
    }

    fn draw_in_legend(&self, area: &Area<'_>, y: i32) -> Result<(), Box<dyn Error>> {
        let dashes = match self.style {
            Style::Paper | Style::PaperLevel => (DASH, DASH),
            Style::Plain | Style::Marked => (LONG_SAMPLE, 0),
            Style::Apart => (0, LONG_SAMPLE),
        };
        draw_sample(area, y, self.color, dashes)?;
        let middle = (LONG_SAMPLE / 2, y);
        match self.style {
            Style::Marked | Style::Apart => {
                area.draw(&Circle::new(middle, 3, self.color.filled()))?;
            }
            Style::Paper => {
                area.draw(&Circle::new(middle, 4, WHITE.filled()))?;
                area.draw(&Circle::new(middle, 4, self.color.stroke_width(2)))?;
            }
            Style::Plain | Style::PaperLevel => {}
        }
        Ok(area.draw_text(&self.name, &text(14), (LONG_SAMPLE + 8, y - 7))?)
    }
}
