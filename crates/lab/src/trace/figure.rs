//! The figure of a run: rates, the window, and what went wrong, one above the other.

use std::error::Error;

use plotters::prelude::*;

use super::{Intervals, Tally};
use crate::FigureError;
use crate::drawing::{Area, BLUE, GREEN, PURPLE, RED, TEXT, draw_axes, drawn, label, nice, text};

const SIZE: (u32, u32) = (960, 760);
const TITLE_HEIGHT: u32 = 34;
const LEGEND_HEIGHT: u32 = 26;
const FONT_SIZE: u32 = 13;
const ORANGE: RGBColor = RGBColor(215, 125, 0);

/// One line of a panel: its name, its colour, and how high it is in an interval.
type Curve<'a> = (&'a str, RGBColor, Box<dyn Fn(&Tally) -> Option<f64> + 'a>);

struct Panel<'a> {
    unit: &'a str,
    curves: Vec<Curve<'a>>,
    /// Whether the curves count events, which are drawn as bars.
    counts: bool,
}

pub(super) fn draw(intervals: &Intervals, title: &str) -> Result<String, FigureError> {
    let panels = panels(intervals);
    drawn(SIZE, |root| {
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(TITLE_HEIGHT);
        head.draw(&Text::new(title.to_owned(), (14, 12), text(17)))?;
        for (area, panel) in body.split_evenly((panels.len(), 1)).iter().zip(&panels) {
            panel.draw(area, intervals)?;
        }
        Ok(())
    })
}

fn panels(intervals: &Intervals) -> Vec<Panel<'static>> {
    let seconds = intervals.span.as_secs_f64();
    let mbps = move |bytes: f64| Some(bytes * 8.0 / 1e6 / seconds);
    let bars = |curves| Panel { unit: "in each interval", curves, counts: true };
    if intervals.is_of_receiver() {
        let received: Curve<'_> = ("received", BLUE, Box::new(move |it| mbps(it.received)));
        let spare: Curve<'_> = ("least time to spare", GREEN, Box::new(|it| it.spare));
        let late: Curve<'_> = ("late pieces", ORANGE, Box::new(|it| Some(it.late)));
        let missing: Curve<'_> = ("missing items", RED, Box::new(|it| Some(it.skipped)));
        return vec![
            Panel { unit: "Mbit/s", curves: vec![received], counts: false },
            Panel { unit: "ms", curves: vec![spare], counts: false },
            bars(vec![late, missing]),
        ];
    }
    let rates: Vec<Curve<'_>> = vec![
        ("sent", BLUE, Box::new(move |it| mbps(it.sent))),
        ("acknowledged", GREEN, Box::new(move |it| mbps(it.acknowledged))),
        ("can be carried", PURPLE, Box::new(|it| it.carries.map(|bps| bps / 1e6))),
    ];
    let window: Vec<Curve<'_>> = vec![
        ("window", PURPLE, Box::new(|it| it.window.map(|bytes| bytes / 1e3))),
        ("in flight", BLUE, Box::new(|it| it.in_flight.map(|bytes| bytes / 1e3))),
    ];
    let delay: Curve<'_> = ("round trip", GREEN, Box::new(|it| it.srtt));
    let wrong: Vec<Curve<'_>> = vec![
        ("lost chunks", RED, Box::new(|it| Some(it.lost))),
        ("pictures left out", ORANGE, Box::new(|it| Some(it.left_out))),
    ];
    vec![
        Panel { unit: "Mbit/s", curves: rates, counts: false },
        Panel { unit: "kB", curves: window, counts: false },
        Panel { unit: "ms", curves: vec![delay], counts: false },
        bars(wrong),
    ]
}

impl Panel<'_> {
    fn draw(&self, area: &Area<'_>, intervals: &Intervals) -> Result<(), Box<dyn Error>> {
        let seconds = intervals.span.as_secs_f64();
        let end = intervals.tallies.len() as f64 * seconds;
        let values = |(_, _, value): &Curve<'_>| {
            intervals.tallies.iter().filter_map(value).fold(0.0, f64::max)
        };
        let top = nice(self.curves.iter().map(values).fold(0.0, f64::max).max(1e-3));
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_top(LEGEND_HEIGHT)
            .margin_right(18)
            .x_label_area_size(30)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..end, 0.0..top)?;
        draw_axes(&mut chart, FONT_SIZE, ("s", 10, &label), (self.unit, 5, TEXT))?;
        for (nth, (_, colour, value)) in self.curves.iter().enumerate() {
            let at = |index: usize| index as f64 * seconds;
            let known = intervals.tallies.iter().enumerate();
            let known = known.filter_map(|(index, tally)| Some((index, value(tally)?)));
            if self.counts {
                let width = seconds / self.curves.len() as f64;
                let bars = known.filter(|(_, height)| *height > 0.0).map(|(index, height)| {
                    let left = at(index) + nth as f64 * width;
                    Rectangle::new([(left, 0.0), (left + width, height)], colour.filled())
                });
                chart.draw_series(bars)?;
            } else {
                let line = known.flat_map(|(index, y)| [(at(index), y), (at(index + 1), y)]);
                chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
            }
        }
        self.draw_legend(area)
    }

    /// Names beside each other, above the curves.
    fn draw_legend(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let mut x = 72;
        for (name, colour, _) in &self.curves {
            area.draw(&Rectangle::new([(x, 11), (x + 14, 15)], colour.filled()))?;
            area.draw(&Text::new((*name).to_owned(), (x + 20, 6), text(FONT_SIZE)))?;
            x += 38 + 8 * name.len() as i32;
        }
        Ok(())
    }
}
