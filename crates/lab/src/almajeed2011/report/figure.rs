//! The paper's figures 2 to 5.

use std::error::Error;

use anabranch_sansio::Time;
use plotters::prelude::*;

use super::super::cell::{Carrier, Cell, Scenario, Setup};
use super::super::measure::{Measured, SliceRecord};
use super::super::paper::Measure;
use super::super::table::{BAD_LOSSES_PERCENT, Row};
use crate::drawing::{
    Area, BLUE, FigureError, GREEN, GRID, PURPLE, RED, TEXT, draw_legend, drawn, legend_width,
    nice, short,
};

const SIZE: (u32, u32) = (900, 420);
const COLORS: [RGBColor; 4] = [BLUE, GREEN, PURPLE, RED];

/// A figure as an SVG document, with its name and what stands under it.
#[derive(Debug)]
pub struct Figure {
    /// As a file has it.
    pub name: &'static str,
    /// What it shows.
    pub caption: String,
    /// The document.
    pub svg: String,
}

/// The cell whose run figures 3 to 5 show: four connections to node C.
#[must_use]
pub fn shown(cell: &Cell) -> bool {
    (cell.scenario, cell.carrier, cell.seed) == (Scenario::NodeC, Carrier::Dccp(4), 1)
}

/// All figures for which there are runs.
///
/// # Errors
/// The drawing library's.
pub fn figures(
    setup: &Setup,
    rows: &[Row],
    run: Option<&(Cell, Measured)>,
) -> Result<Vec<Figure>, FigureError> {
    let mut figures = Vec::from_iter(drop_rates(rows)?);
    if let Some((cell, measured)) = run {
        let course = Course::new(setup, measured);
        figures.push(course.groups(cell)?);
        figures.push(course.throughput(cell)?);
        figures.push(course.losses(cell)?);
    }
    Ok(figures)
}

/// Lines over an axis.
struct Graph {
    title: String,
    x: &'static str,
    y: &'static str,
    lines: Vec<Line>,
}

/// Its name in the legend, its colour, its points.
type Line = (String, RGBColor, Vec<(f64, f64)>);

impl Graph {
    fn svg(&self) -> Result<String, FigureError> {
        drawn(SIZE, |root| self.draw(root))
    }

    fn draw(&self, root: &Area<'_>) -> Result<(), Box<dyn Error>> {
        root.fill(&WHITE)?;
        let points = || self.lines.iter().flat_map(|(.., points)| points);
        let first = points().map(|(x, _)| *x).fold(f64::MAX, f64::min);
        let last = points().map(|(x, _)| *x).fold(first + 1e-3, f64::max);
        let top = nice(points().map(|(_, y)| *y).fold(1e-3, f64::max));
        let legend = legend_width(self.lines.iter().map(|(name, ..)| name.as_str()));
        let (body, legend) = root.split_horizontally(SIZE.0 - legend);
        let mut chart = ChartBuilder::on(&body)
            .margin(12)
            .caption(&self.title, ("sans-serif", 17).into_font().color(&TEXT))
            .x_label_area_size(42)
            .y_label_area_size(64)
            .build_cartesian_2d(first..last, 0.0..top)?;
        let font = ("sans-serif", 14).into_font().color(&TEXT);
        let label = |value: &f64| short(*value);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(TEXT)
            .y_labels(6)
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .x_desc(self.x)
            .y_desc(self.y)
            .label_style(font.clone())
            .axis_desc_style(font)
            .draw()?;
        for (_, color, points) in &self.lines {
            let style = color.stroke_width(2);
            chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
        }
        draw_legend(&legend, self.lines.iter().map(|(name, color, _)| (name.as_str(), *color)))
    }
}

/// Figure 2: losses over the channel's.
fn drop_rates(rows: &[Row]) -> Result<Option<Figure>, FigureError> {
    let line = |(connections, color): (u32, RGBColor)| {
        let points = BAD_LOSSES_PERCENT.filter_map(|percent| {
            let row = rows.iter().find(|row| {
                let Cell { scenario, carrier, frame_us, bad_loss_percent, .. } = row.cell;
                (scenario, frame_us) == (Scenario::BaseStation, 5_000)
                    && (carrier, bad_loss_percent) == (Carrier::Dccp(connections), percent)
            })?;
            Some((f64::from(percent), row.measure(Measure::Lost)?.mean))
        });
        (Carrier::Dccp(connections).to_string(), color, points.collect::<Vec<_>>())
    };
    let lines: Vec<_> = (1..=4).zip(COLORS).map(line).collect();
    if lines.iter().any(|(.., points)| points.len() < 2) {
        return Ok(None);
    }
    let graph = Graph {
        title: "Figure 2: slices lost".to_owned(),
        x: "losses in the channel's bad state, %",
        y: "% of slices",
        lines,
    };
    let caption = "Means over the seeds, to the base station, frames of 5 ms.".to_owned();
    Ok(Some(Figure { name: "figure-2", caption, svg: graph.svg()? }))
}

/// One run over time.
struct Course<'a> {
    setup: &'a Setup,
    slices: &'a [SliceRecord],
    start: Time,
    seconds: usize,
    connections: u16,
}

impl<'a> Course<'a> {
    fn new(setup: &'a Setup, measured: &'a Measured) -> Self {
        let slices = &measured.slices[..];
        let sent = slices.iter().filter_map(|slice| slice.sent);
        let start = sent.clone().min().unwrap_or_default();
        let end = slices.iter().filter_map(|slice| slice.arrived.max(slice.sent)).max();
        let span = end.unwrap_or_default().saturating_since(start);
        let connections = slices.iter().map(|slice| slice.connection + 1).max().unwrap_or(1);
        Self { setup, slices, start, seconds: span.as_secs() as usize + 1, connections }
    }

    fn since_start(&self, at: Time) -> f64 {
        at.saturating_since(self.start).as_secs_f64()
    }

    /// Figure 3: when the slices of each group arrived, by connection.
    fn groups(&self, cell: &Cell) -> Result<Figure, FigureError> {
        let bars = self.intervals();
        let svg = drawn(SIZE, |root| self.draw_groups(root, &bars))?;
        let caption = format!(
            "When the first and the last slice of each group of pictures arrived, by connection: \
             {cell}. A viewer who waits for {:.1} s at first need not wait again.",
            self.longest_wait_s(&bars),
        );
        Ok(Figure { name: "figure-3", caption, svg })
    }

    /// Connection, group, and when its first and last slice arrived.
    fn intervals(&self) -> Vec<(u16, usize, f64, f64)> {
        let groups = self.setup.video.groups().enumerate();
        let bars = groups.filter_map(|(group, (_, slices))| {
            let slices = &self.slices[slices];
            let arrived: Vec<f64> =
                slices.iter().filter_map(|it| Some(self.since_start(it.arrived?))).collect();
            let first = arrived.iter().copied().fold(f64::MAX, f64::min);
            let last = arrived.iter().copied().fold(0.0, f64::max);
            (!arrived.is_empty()).then_some((slices.first()?.connection, group, first, last))
        });
        bars.collect()
    }

    /// How long a viewer has to wait for all groups to be there when they are to be shown.
    fn longest_wait_s(&self, bars: &[(u16, usize, f64, f64)]) -> f64 {
        let shown: Vec<_> =
            self.setup.video.groups().map(|(shown, _)| shown.as_secs_f64()).collect();
        let waits = bars.iter().map(|(_, number, _, last)| last - shown[*number]);
        waits.fold(0.0, f64::max)
    }

    fn draw_groups(
        &self,
        root: &Area<'_>,
        bars: &[(u16, usize, f64, f64)],
    ) -> Result<(), Box<dyn Error>> {
        root.fill(&WHITE)?;
        let rows = f64::from(self.connections);
        let mut chart = ChartBuilder::on(root)
            .margin(12)
            .caption(
                "Figure 3: arrival of the groups of pictures",
                ("sans-serif", 17).into_font().color(&TEXT),
            )
            .x_label_area_size(42)
            .y_label_area_size(40)
            .build_cartesian_2d(0.0..self.seconds as f64, 0.5..rows + 0.5)?;
        let font = ("sans-serif", 14).into_font().color(&TEXT);
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(TEXT)
            .y_labels(self.connections.into())
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| format!("{value:.0}"))
            .x_desc("s")
            .y_desc("connection")
            .label_style(font.clone())
            .axis_desc_style(font)
            .draw()?;
        let number = ("sans-serif", 11).into_font().color(&TEXT);
        for (place, (connection, group, first, last)) in bars.iter().enumerate() {
            let row = f64::from(*connection) + 1.0;
            // Neighbours of a connection are a little above and below each other.
            let shift = if place / usize::from(self.connections) % 2 == 0 { 0.12 } else { -0.12 };
            let color = COLORS[usize::from(*connection) % COLORS.len()];
            let (low, high) = (row + shift - 0.1, row + shift + 0.1);
            chart.draw_series([Rectangle::new(
                [(*first, low), (*last, high)],
                color.mix(0.45).filled(),
            )])?;
            let above = (*first, row + 3.0 * shift + 0.07);
            chart.draw_series([Text::new((group + 1).to_string(), above, number.clone())])?;
        }
        Ok(())
    }

    /// Figure 4: what each connection and all of them brought.
    fn throughput(&self, cell: &Cell) -> Result<Figure, FigureError> {
        let mut kbits = vec![vec![0.0; self.seconds]; usize::from(self.connections) + 1];
        let all = usize::from(self.connections);
        for (number, slice) in self.slices.iter().enumerate() {
            let Some(at) = slice.arrived else { continue };
            let second = self.since_start(at) as usize;
            let kbit = self.setup.video.slice(number).len() as f64 * 8.0 / 1e3;
            for line in [usize::from(slice.connection), all] {
                if let Some(sum) = kbits[line].get_mut(second) {
                    *sum += kbit;
                }
            }
        }
        let line = |(number, values): (usize, Vec<f64>)| {
            let is_sum = number == all;
            let name = if is_sum { "all".to_owned() } else { format!("connection {}", number + 1) };
            let color = if is_sum { TEXT } else { COLORS[number % COLORS.len()] };
            (name, color, over_seconds(&values))
        };
        let graph = Graph {
            title: "Figure 4: throughput".to_owned(),
            x: "s",
            y: "kbit/s",
            lines: kbits.into_iter().enumerate().map(line).collect(),
        };
        let caption = format!("Video that arrived in each second, by connection: {cell}.");
        Ok(Figure { name: "figure-4", caption, svg: graph.svg()? })
    }

    /// Figure 5: what was lost.
    fn losses(&self, cell: &Cell) -> Result<Figure, FigureError> {
        let mut lost = vec![0.0; self.seconds];
        for slice in self.slices.iter().filter(|slice| slice.arrived.is_none()) {
            let second = slice.sent.map(|at| self.since_start(at) as usize);
            if let Some(sum) = second.and_then(|second| lost.get_mut(second)) {
                *sum += 1.0;
            }
        }
        let graph = Graph {
            title: "Figure 5: slices lost".to_owned(),
            x: "s",
            y: "slices in a second",
            lines: vec![("all connections".to_owned(), RED, over_seconds(&lost))],
        };
        let caption = format!("Of those sent in each second: {cell}.");
        Ok(Figure { name: "figure-5", caption, svg: graph.svg()? })
    }
}

/// Each in the middle of its second.
fn over_seconds(values: &[f64]) -> Vec<(f64, f64)> {
    (0_u32..).zip(values).map(|(second, value)| (f64::from(second) + 0.5, *value)).collect()
}
