//! What the figures of all experiments share: colours, axes, the way to SVG.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;
use thiserror::Error;

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
/// Length of a line's sample in a legend, in pixels.
const SAMPLE: i32 = 18;

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

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

/// Names lines beside their axes: within them a legend could cover a point.
pub(crate) fn draw_legend<'a>(
    area: &Area<'_>,
    lines: impl Iterator<Item = (&'a str, RGBColor)>,
) -> Result<(), Box<dyn Error>> {
    let style = ("sans-serif", 14).into_font().color(&TEXT);
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
