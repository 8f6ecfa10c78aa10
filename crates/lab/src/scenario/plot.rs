//! A figure of many runs: one value over another, with 95 % intervals.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use plotters::prelude::*;
use thiserror::Error;

use crate::drawing::{
    Area, BLUE, GREEN, GRID, LEGEND_LINE, ORANGE, PURPLE, RED, TEAL, TEXT, draw_legend, drawn,
    label, legend_width, nice, text,
};
use crate::{Estimate, FigureError};

/// Without the legend.
const SIZE: (u32, u32) = (760, 560);
/// How the names of columns end that hold bits per second.
const BITS_PER_SECOND: &str = "_bps";

const COLOURS: [RGBColor; 6] = [BLUE, RED, GREEN, PURPLE, ORANGE, TEAL];

/// What a figure shows, by columns of the table that `lab run` writes, or a paper's experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axes {
    /// From left to right: a column of numbers, as `bottleneck.loss`; or its end, as `loss`.
    pub x: String,
    /// Upwards: a column of numbers, as `delay_p95_ms`; `delay.p95` is the same.
    pub y: String,
    /// A line for each value of this column.
    pub by: String,
    /// Of this flow only; without it, lines are by flow, or there is one flow.
    pub flow: Option<String>,
    /// Only of lines of the table that have these values in these columns.
    pub only: Vec<(String, String)>,
}

/// A table that no figure can be made of.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlotError {
    /// There is no such column.
    #[error("there is no column {column}: give one of {known}")]
    Column {
        /// What was asked for.
        column: String,
        /// What there is.
        known: String,
    },
    /// Lines are by flow unless it is said by what, and there are no flows.
    #[error(
        "the table has no flows: say what has a line of its own each, with --by one of {known}"
    )]
    NoFlows {
        /// What there is.
        known: String,
    },
    /// A value is no number.
    #[error("{column} has \"{value}\", which is no number: give a column of numbers")]
    Number {
        /// Where.
        column: String,
        /// What stands there.
        value: String,
    },
    /// The values of several flows would be one line.
    #[error("lines by {by} would mix the flows {flows}: give one of them")]
    Flows {
        /// What the lines are by.
        by: String,
        /// The flows.
        flows: String,
    },
    /// Runs that differ in more than the figure shows would be one point.
    #[error(
        "a point would be the mean of runs that differ in {column}: give one of its values by \
         --where {column}={value}, or a line for each by --by {column}"
    )]
    Mixed {
        /// In what they differ.
        column: String,
        /// What stands there.
        value: String,
    },
    /// There is nothing to draw.
    #[error("the table has no line with {x} and {y}: there is nothing to draw")]
    Empty {
        /// One column.
        x: String,
        /// The other.
        y: String,
    },
    /// The table is none.
    #[error("the table cannot be read: {0}")]
    Table(#[from] csv::Error),
    /// It cannot be drawn.
    #[error(transparent)]
    Figure(#[from] FigureError),
}

/// A line: its name, and its points from left to right.
type Line = (String, Vec<(f64, Estimate)>);

/// A figure of a table as `lab run` writes it, or a paper's experiment, as SVG.
///
/// # Errors
/// A column is missing or has no numbers, or runs would be one point that differ in more than their
/// seeds.
pub fn plot(table: &[u8], axes: &Axes) -> Result<String, PlotError> {
    let mut reader = csv::Reader::from_reader(table);
    let headers = reader.headers()?.clone();
    let [x, y, by] = [&axes.x, &axes.y, &axes.by].map(|name| column(&headers, name));
    let (x, y) = (x?, y?);
    if by.is_err() && axes.by == "flow" {
        return Err(PlotError::NoFlows { known: listed(&headers) });
    }
    let by = by?;
    // Papers' experiments have no flows.
    let flow = column(&headers, "flow").ok();
    let wanted = axes.wanted(&headers)?;
    let mut flows = BTreeSet::new();
    // In the order of the table, which is that of the values as they were given.
    let mut values: Vec<(String, BTreeMap<u64, Vec<f64>>)> = Vec::new();
    let mut mixing = Mixing::new(&headers, [x, by]);
    for record in reader.records() {
        let record = record?;
        let cell = |index: usize| record.get(index).unwrap_or_default();
        let is_wanted = wanted.iter().all(|(index, value)| cell(*index) == value.as_str());
        if cell(y).is_empty() || !is_wanted {
            continue;
        }
        flows.extend(flow.map(|flow| cell(flow).to_owned()));
        let [x, y] = [x, y].map(|index| number(&headers[index], cell(index)));
        let known = values.iter().position(|(name, _)| name == cell(by));
        let nth = known.unwrap_or(values.len());
        if known.is_none() {
            values.push((cell(by).to_owned(), BTreeMap::new()));
        }
        // Numbers of zero and more are in the order of their bits.
        values[nth].1.entry(x?.to_bits()).or_default().push(y?);
        mixing.look(record);
    }
    if Some(by) != flow && flows.len() > 1 {
        let flows = flows.into_iter().collect::<Vec<_>>().join(", ");
        return Err(PlotError::Flows { by: axes.by.clone(), flows });
    }
    if let Some((column, value)) = mixing.found {
        return Err(PlotError::Mixed { column, value });
    }
    let point = |(x, values): (u64, Vec<f64>)| (f64::from_bits(x), Estimate::of(&values));
    let lines: Vec<Line> = values
        .into_iter()
        .map(|(name, points)| (name, points.into_iter().map(point).collect()))
        .collect();
    if lines.is_empty() {
        return Err(PlotError::Empty { x: axes.x.clone(), y: axes.y.clone() });
    }
    Ok(drawn(size(&lines), |area| draw(area, &lines, [&headers[x], &headers[y]]))?)
}

impl Axes {
    /// The columns that must have a value, and the value.
    fn wanted(&self, headers: &csv::StringRecord) -> Result<Vec<(usize, String)>, PlotError> {
        let flow = self.flow.iter().map(|flow| ("flow", flow));
        let only = self.only.iter().map(|(name, value)| (name.as_str(), value));
        flow.chain(only).map(|(name, value)| Ok((column(headers, name)?, value.clone()))).collect()
    }
}

/// Looks for runs that would be one point and have one seed: they differ in something else.
struct Mixing<'a> {
    headers: &'a csv::StringRecord,
    shown: [usize; 2],
    seed: Option<usize>,
    seen: BTreeMap<[String; 3], csv::StringRecord>,
    /// A column in which two differ, and what one has there.
    found: Option<(String, String)>,
}

impl<'a> Mixing<'a> {
    fn new(headers: &'a csv::StringRecord, shown: [usize; 2]) -> Self {
        let seed = headers.iter().position(|header| header == "seed");
        Self { headers, shown, seed, seen: BTreeMap::new(), found: None }
    }

    fn look(&mut self, record: csv::StringRecord) {
        let Some(seed) = self.seed.filter(|_| self.found.is_none()) else { return };
        let cell = |record: &csv::StringRecord, index: usize| {
            record.get(index).unwrap_or_default().to_owned()
        };
        let [x, by] = self.shown;
        let key = [x, by, seed].map(|index| cell(&record, index));
        let Some(other) = self.seen.get(&key) else {
            self.seen.insert(key, record);
            return;
        };
        let differs = |index: &usize| cell(&record, *index) != cell(other, *index);
        let column = (0..self.headers.len()).find(differs).unwrap_or(seed);
        self.found = Some((self.headers[column].to_owned(), cell(other, column)));
    }
}

fn column(headers: &csv::StringRecord, name: &str) -> Result<usize, PlotError> {
    let wanted = name.replace('.', "_");
    let is_exact = |header: &str| header == name;
    let is_end = |header: &str| header.rsplit('.').next() == Some(name);
    let is_unit = |header: &str| {
        let rest = header.strip_prefix(wanted.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let find = |is: &dyn Fn(&str) -> bool| headers.iter().position(is);
    find(&is_exact)
        .or_else(|| find(&is_end))
        .or_else(|| find(&is_unit))
        .ok_or_else(|| PlotError::Column { column: name.to_owned(), known: listed(headers) })
}

fn listed(headers: &csv::StringRecord) -> String {
    headers.iter().collect::<Vec<_>>().join(", ")
}

/// What stands beside an axis.
fn axis_name(column: &str) -> String {
    let units = [(BITS_PER_SECOND, "Mbit/s"), ("_ms", "ms"), ("_bytes", "bytes")];
    let in_unit = units.iter().find_map(|(ending, unit)| {
        let quantity = column.strip_suffix(ending)?;
        Some(format!("{}, {unit}", quantity.replace('_', " ")))
    });
    in_unit.unwrap_or_else(|| column.to_owned())
}

/// `1%`, `20ms`, `10M`, `3`: times in milliseconds, rates in Mbit/s.
fn number(column: &str, text: &str) -> Result<f64, PlotError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match unit {
        "" if column.ends_with(BITS_PER_SECOND) => Some(1e-6),
        "" | "%" | "ms" | "M" | "p" => Some(1.0),
        "us" | "k" | "K" => Some(1e-3),
        "s" | "G" => Some(1e3),
        _ => None,
    };
    let number = digits.parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
    let wrong = || PlotError::Number { column: column.to_owned(), value: text.to_owned() };
    number.filter(|number| number.is_finite()).ok_or_else(wrong)
}

/// With room for the legend, whatever the lines are called and however many there are.
fn size(lines: &[Line]) -> (u32, u32) {
    let legend = legend_width(lines.iter().map(|(name, _)| name.as_str()));
    (SIZE.0 + legend, SIZE.1.max((lines.len() as u32 + 2) * LEGEND_LINE))
}

fn draw(area: &Area<'_>, lines: &[Line], names: [&str; 2]) -> Result<(), Box<dyn Error>> {
    let points = || lines.iter().flat_map(|(_, points)| points);
    let x_min = points().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let x_max = points().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
    let y_max = points().map(|(_, y)| y.mean + y.drawn_half_width()).fold(0.0, f64::max);
    let margin = if x_max > x_min { (x_max - x_min) * 0.03 } else { 1.0 };
    let y_end = if y_max > 0.0 { nice(y_max) } else { 1.0 };
    let (body, legend) = area.split_horizontally(SIZE.0);
    let mut chart = ChartBuilder::on(&body)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(x_min - margin..x_max + margin, 0.0..y_end)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .label_style(text(14))
        .x_desc(axis_name(names[0]))
        .y_desc(axis_name(names[1]))
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .draw()?;
    let coloured = || lines.iter().zip(COLOURS.iter().cycle());
    for ((_, points), colour) in coloured() {
        let means = points.iter().map(|(x, y)| (*x, y.mean));
        chart.draw_series(LineSeries::new(means, colour.stroke_width(2)))?;
        let bars = points.iter().map(|(x, y)| {
            let ends = [
                (*x, (y.mean - y.drawn_half_width()).max(0.0)),
                (*x, y.mean + y.drawn_half_width()),
            ];
            PathElement::new(ends, colour.stroke_width(1))
        });
        chart.draw_series(bars)?;
        chart.draw_series(
            points.iter().map(|(x, y)| Circle::new((*x, y.mean), 3, colour.filled())),
        )?;
    }
    draw_legend(&legend, coloured().map(|((name, _), colour)| (name.as_str(), *colour)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"a.loss,a.delay,seed,flow,goodput_bps,delay_p95_ms\n\
        0,20ms,1,x,5,10\n0,20ms,2,x,5,12\n1%,20ms,1,x,4,20\n1%,20ms,2,x,4,\n1%,20ms,1,y,4,30\n";

    fn axes(x: &str, y: &str, by: &str) -> Axes {
        Axes { x: x.to_owned(), y: y.to_owned(), by: by.to_owned(), flow: None, only: Vec::new() }
    }

    #[test]
    fn columns_may_be_named_by_their_ends_and_without_units() {
        let svg = plot(TABLE, &axes("loss", "delay.p95", "flow")).unwrap();
        assert!(svg.contains("a.loss") && svg.contains("delay p95, ms"), "{svg}");
        assert!(svg.contains("<circle") && svg.matches("<circle").count() == 3);
        assert_eq!(svg, plot(TABLE, &axes("a.loss", "delay_p95_ms", "flow")).unwrap());
    }

    #[test]
    fn regression_the_legend_covered_points() {
        let table =
            b"x,strategy,seed,y\n1,RTP,1,9\n2,RTP,1,9\n1,a long name,1,8\n2,a long name,1,9\n";
        let svg = plot(table, &axes("x", "y", "strategy")).unwrap();
        let number = |text: &str, name: &str| {
            let (_, rest) = text.split_once(&format!("{name}=\"")).unwrap();
            rest.split_once('"').unwrap().0.parse::<f64>().unwrap()
        };
        let circles = svg.split("<circle").skip(1).map(|circle| number(circle, "cx"));
        let last = circles.fold(0.0, f64::max);
        let elements: Vec<_> = svg.split("<text").skip(1).collect();
        for name in ["RTP", "a long name"] {
            let entry = elements.iter().find(|text| text.contains(&format!("{name}\n"))).unwrap();
            assert!(number(entry, "x") > last + 20.0, "{entry}");
        }
        let (width, height) = (number(&svg, "width"), number(&svg, "height"));
        assert!(width > f64::from(SIZE.0) && (height - 560.0).abs() < 1e-9, "{width} {height}");
    }

    #[test]
    fn rates_are_drawn_in_megabits_per_second_and_axes_name_units() {
        assert_eq!(number("goodput_bps", "2500000").unwrap(), 2.5);
        assert_eq!(axis_name("goodput_bps"), "goodput, Mbit/s");
        assert_eq!(axis_name("delay_p95_ms"), "delay p95, ms");
        assert_eq!(axis_name("bottleneck.loss"), "bottleneck.loss");
    }

    #[test]
    fn lines_are_named_in_the_order_of_the_table() {
        let table = b"x,delay,seed,y\n1,20ms,1,9\n1,100ms,1,8\n2,20ms,1,7\n2,100ms,1,6\n";
        let svg = plot(table, &axes("x", "y", "delay")).unwrap();
        let [first, second] = ["20ms\n", "100ms\n"].map(|name| svg.find(name).unwrap());
        assert!(first < second);
        let said = plot(table, &axes("x", "y", "flow")).unwrap_err().to_string();
        assert!(said.contains("no flows") && said.contains("--by one of x, delay"), "{said}");
    }

    #[test]
    fn what_cannot_be_drawn_is_said_in_words() {
        let refused = |axes: &Axes| plot(TABLE, axes).unwrap_err().to_string();
        let said = refused(&axes("rate", "delay.p95", "flow"));
        assert!(said.starts_with("there is no column rate: give one of a.loss, a.delay"), "{said}");
        let said = refused(&axes("loss", "flow", "flow"));
        assert!(said.contains("flow has \"x\", which is no number"), "{said}");
        let said = refused(&axes("loss", "goodput", "delay"));
        assert_eq!(said, "lines by delay would mix the flows x, y: give one of them");
        let one = Axes { flow: Some("y".to_owned()), ..axes("loss", "goodput", "delay") };
        assert!(plot(TABLE, &one).unwrap().contains("20ms"));
        let table = b"a.loss,a.delay,seed,flow,y\n0,1ms,1,x,5\n0,2ms,1,x,6\n";
        let mixed = plot(table, &axes("loss", "y", "flow")).unwrap_err().to_string();
        assert!(mixed.contains("differ in a.delay: give one of its values by --where a.delay=1ms"));
        let only = vec![("delay".to_owned(), "2ms".to_owned())];
        assert!(plot(table, &Axes { only, ..axes("loss", "y", "flow") }).is_ok());
        assert!(plot(table, &axes("loss", "y", "delay")).is_ok());
        let paper = b"rate,strategy,seed,psnr_y_db\n20M,RTP,1,30\n40M,RTP,1,33\n";
        assert!(plot(paper, &axes("rate", "psnr", "strategy")).is_ok());
        let empty = plot(b"x,y,flow\n", &axes("x", "y", "flow")).unwrap_err().to_string();
        assert!(empty.contains("nothing to draw"), "{empty}");
    }
}
