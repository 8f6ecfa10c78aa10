//! Figures 3 to 5: one run over time.

use std::error::Error;

use anabranch_sansio::Time;
use plotters::prelude::*;

use super::super::super::cell::{Cell, Setup};
use super::super::super::measure::{Measured, SliceRecord};
use super::super::super::paper::{COLUMNS, Column, Measure};
use super::graph::{Axis, Graph, Line, Style};
use super::{COLORS, Figure, SIZE};
use crate::Estimate;
use crate::drawing::{Area, FigureError, RED, TEXT, drawn, label, text};
use crate::statement::exact;

/// One run over time.
pub(super) struct Course<'a> {
    setup: &'a Setup,
    slices: &'a [SliceRecord],
    start: Time,
    seconds: usize,
    connections: u16,
}

impl<'a> Course<'a> {
    pub(super) fn new(setup: &'a Setup, measured: &'a Measured) -> Self {
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
    pub(super) fn groups(&self, cell: &Cell) -> Result<Figure, FigureError> {
        let bars = self.intervals();
        let svg =
            drawn(SIZE, |root| self.draw_groups(root, &bars, self.paper(cell, Measure::Period)))?;
        let caption = format!(
            "When the first and the last slice of each group of pictures arrived, by connection: \
             {cell}. A viewer who waits for {:.1} s at first need not wait again.{}",
            self.longest_wait_s(&bars),
            match self.paper(cell, Measure::Period) {
                Some(_) => {
                    " The paper found about 6 s to be enough; the dashed line is when its videos \
                     were over on average (table 4)."
                }
                None => "",
            },
        );
        Ok(Figure { name: "figure-3".to_owned(), table: None, caption, svg })
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
        paper_s: Option<f64>,
    ) -> Result<(), Box<dyn Error>> {
        root.fill(&WHITE)?;
        let rows = f64::from(self.connections);
        let last = paper_s.map_or(0.0, f64::ceil).max(self.seconds as f64);
        let mut chart = ChartBuilder::on(root)
            .margin(12)
            .caption("Figure 3: arrival of the groups of pictures", text(17))
            .x_label_area_size(42)
            .y_label_area_size(40)
            .build_cartesian_2d(0.0..last, 0.5..rows + 0.5)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(TEXT)
            .y_labels(self.connections.into())
            .x_label_formatter(&label)
            .y_label_formatter(&|value| format!("{value:.0}"))
            .x_desc("s")
            .y_desc("connection")
            .label_style(text(14))
            .axis_desc_style(text(14))
            .draw()?;
        let number = text(11);
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
        if let Some(at) = paper_s {
            let ends = [(at, 0.5), (at, rows + 0.5)];
            chart.draw_series(DashedLineSeries::new(ends, 5, 5, TEXT.stroke_width(2)))?;
        }
        Ok(())
    }

    /// Figure 4: what each connection and all of them brought.
    pub(super) fn throughput(&self, cell: &Cell) -> Result<Figure, FigureError> {
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
            Line { name, color, style: Style::Plain, points: over_seconds(&values) }
        };
        let mut lines: Vec<Line> = kbits.into_iter().enumerate().map(line).collect();
        lines.extend(self.papers_mean(cell));
        let graph = Graph {
            size: SIZE,
            title: "Figure 4: throughput".to_owned(),
            x: Axis::Numbers("s"),
            y: "kbit/s",
            bottom: None,
            lines,
        };
        let caption = format!("Video that arrived in each second, by connection: {cell}.");
        Ok(Figure { name: "figure-4".to_owned(), table: None, caption, svg: graph.svg()? })
    }

    /// What the paper's table has of its throughput: for as long as it takes there.
    fn papers_mean(&self, cell: &Cell) -> Option<Line> {
        let kbps = self.paper(cell, Measure::Throughput)?;
        let ends = [0.5, self.paper(cell, Measure::Period)?];
        let points = ends.map(|at| (at, exact(kbps))).to_vec();
        let name = "the paper's mean of all".to_owned();
        Some(Line { name, color: TEXT, style: Style::PaperLevel, points })
    }

    /// What the paper's tables have of a cell.
    fn paper(&self, cell: &Cell, measure: Measure) -> Option<f64> {
        let of_cell = |it: &&Column| {
            (it.scenario, it.frame_us, it.measure) == (cell.scenario, cell.frame_us, measure)
        };
        let column = COLUMNS.iter().find(of_cell).filter(|_| self.setup.are_papers())?;
        column.paper(cell.carrier)
    }

    /// Figure 5: what was lost.
    pub(super) fn losses(&self, cell: &Cell) -> Result<Figure, FigureError> {
        let mut lost = vec![0.0; self.seconds];
        for slice in self.slices.iter().filter(|slice| slice.arrived.is_none()) {
            let second = slice.sent.map(|at| self.since_start(at) as usize);
            if let Some(sum) = second.and_then(|second| lost.get_mut(second)) {
                *sum += 1.0;
            }
        }
        let name = "all connections".to_owned();
        let points = over_seconds(&lost);
        let graph = Graph {
            size: SIZE,
            title: "Figure 5: slices lost".to_owned(),
            x: Axis::Numbers("s"),
            y: "slices in a second",
            bottom: None,
            lines: vec![Line { name, color: RED, style: Style::Plain, points }],
        };
        let caption = format!(
            "Of those sent in each second: {cell}. The paper has no numbers of losses to node C."
        );
        Ok(Figure { name: "figure-5".to_owned(), table: None, caption, svg: graph.svg()? })
    }
}

/// Each in the middle of its second.
fn over_seconds(values: &[f64]) -> Vec<(f64, Estimate)> {
    let seconds = (0_u32..).zip(values);
    seconds.map(|(second, value)| (f64::from(second) + 0.5, exact(*value))).collect()
}
