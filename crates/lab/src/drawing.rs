//! What the figures of all experiments share: colours, axes, the way to SVG.

use std::error::Error;

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::TextStyle;
use thiserror::Error;

use crate::Estimate;

/// A figure that cannot be drawn.
#[derive(Debug, Error)]
#[error("a figure cannot be drawn: {0}")]
pub struct FigureError(String);

pub(crate) const TEXT: RGBColor = RGBColor(51, 60, 70);
pub(crate) const GRID: RGBColor = RGBColor(225, 229, 234);
pub(crate) const BLUE: RGBColor = RGBColor(30, 100, 190);
pub(crate) const GREEN: RGBColor = RGBColor(20, 120, 60);
pub(crate) const ORANGE: RGBColor = RGBColor(205, 110, 20);
pub(crate) const PURPLE: RGBColor = RGBColor(115, 70, 180);
pub(crate) const RED: RGBColor = RGBColor(200, 45, 45);
pub(crate) const TEAL: RGBColor = RGBColor(15, 135, 145);

/// How far a line of a legend is from the next, in pixels.
pub(crate) const LEGEND_LINE: u32 = 22;
/// Length of a line's sample in a legend below each other, in pixels.
const SAMPLE: i32 = 18;
/// The same in a legend of lines that are dashed or marked.
pub(crate) const LONG_SAMPLE: i32 = 26;
/// Length of a dash, and of the gap behind it.
pub(crate) const DASH: i32 = 5;

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Plane = Cartesian2d<RangedCoordf64, RangedCoordf64>;
pub(crate) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Plane>;

/// An SVG document of this size in pixels.
pub(crate) fn drawn(
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), Box<dyn Error>>,
) -> Result<String, FigureError> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let result = draw(&root).and_then(|()| Ok(root.present()?));
        result.map_err(|error| FigureError(error.to_string()))?;
    }
    Ok(svg)
}

/// How wide a legend of these names is, in pixels.
pub(crate) fn legend_width<'a>(names: impl Iterator<Item = &'a str>) -> u32 {
    // Letters of this size are hardly wider; the sample and what is left and right of it are 60.
    const LETTER: usize = 8;
    (names.map(|name| name.chars().count()).max().unwrap_or_default() * LETTER + 60) as u32
}

/// Text of this size in pixels.
pub(crate) fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&TEXT)
}

/// How a value is written beside its axis.
type Written<'a> = &'a dyn Fn(&f64) -> String;

/// Draws axes with text of this size, and a line across the chart at each value of the upright one:
/// what they are called, how many values they have, how one is written, and the upright one's
/// colour.
pub(crate) fn draw_axes(
    chart: &mut Chart<'_, '_>,
    font_size: u32,
    x: (&str, usize, Written<'_>),
    y: (&str, usize, RGBColor),
) -> Result<(), Box<dyn Error>> {
    let upright = ("sans-serif", font_size).into_font().color(&y.2);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(TEXT)
        .x_labels(x.1)
        .y_labels(y.1)
        .x_label_formatter(&x.2)
        .y_label_formatter(&label)
        .x_desc(x.0)
        .y_desc(y.0)
        .x_label_style(text(font_size))
        .y_label_style(upright.clone())
        .axis_desc_style(upright)
        .draw()?;
    Ok(())
}

/// A mean's confidence interval, of no length where it has none.
pub(crate) fn interval(x: f64, y: Estimate, color: RGBColor) -> PathElement<(f64, f64)> {
    let half = y.drawn_half_width();
    PathElement::new([(x, y.mean - half), (x, y.mean + half)], color.stroke_width(1))
}

/// Draws a line's sample in a legend, of dashes and gaps of these lengths.
pub(crate) fn draw_sample(
    area: &Area<'_>,
    y: i32,
    color: RGBColor,
    (dash, gap): (i32, i32),
) -> Result<(), Box<dyn Error>> {
    for x in (0..LONG_SAMPLE).step_by((dash + gap) as usize) {
        area.draw(&PathElement::new([(x, y), (x + dash, y)], color.stroke_width(2)))?;
    }
    Ok(())
}

/// Names lines beside their axes: within them a legend could cover a point.
pub(crate) fn draw_legend<'a>(
    area: &Area<'_>,
    lines: impl Iterator<Item = (&'a str, RGBColor)>,
) -> Result<(), Box<dyn Error>> {
    let style = text(14);
    for (nth, (name, colour)) in (1..).zip(lines) {
        let y = nth * LEGEND_LINE as i32;
        area.draw(&PathElement::new([(8, y), (8 + SAMPLE, y)], colour.stroke_width(2)))?;
        area.draw_text(name, &style, (16 + SAMPLE, y - 7))?;
    }
    Ok(())
}

/// The next round number that is not below.
pub(crate) fn nice(value: f64) -> f64 {
    const STEPS: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let magnitude = 10_f64.powf(value.log10().floor());
    let step = STEPS.into_iter().find(|step| value <= step * magnitude * (1.0 + 1e-9));
    step.unwrap_or(10.0) * magnitude
}

/// A value beside its axis.
pub(crate) fn label(value: &f64) -> String {
    short(*value)
}

/// Without a fraction where there is none.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_the_next_round_number() {
        for (value, end) in [(30.0, 30.0), (30.1, 40.0), (84.0, 100.0), (0.012, 0.015)] {
            assert!((nice(value) - end).abs() < 1e-9, "{value}: {}", nice(value));
        }
        assert_eq!([short(1.5), short(20.0), short(0.0)], ["1.5", "20", "0"]);
    }
}
