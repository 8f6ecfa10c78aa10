//! The paper's figures 2 to 5, and its tables drawn.

mod course;
mod graph;
mod table;

use plotters::style::RGBColor;

use super::super::cell::{Carrier, Cell, Scenario, Setup};
use super::super::measure::Measured;
use super::super::paper::Measure;
use super::super::table::{BAD_LOSSES_PERCENT, Row};
use crate::drawing::{BLUE, FigureError, GREEN, PURPLE, RED, TEXT};
use crate::statement::exact;
use course::Course;
use graph::{Axis, Graph, Line, Style};

const SIZE: (u32, u32) = (900, 420);
const COLORS: [RGBColor; 4] = [BLUE, GREEN, PURPLE, RED];

/// Section 4.1 of figure 2: "for all but the highest error rates the packet loss rate is below
/// 10%".
const PAPERS_BOUND_PERCENT: f64 = 10.0;

/// A figure as an SVG document, with its name and what stands under it.
#[derive(Debug)]
pub struct Figure {
    /// As a file has it.
    pub name: String,
    /// The paper's table that it draws; none: the paper's figure.
    pub table: Option<u8>,
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
    let mut figures = table::drawn(setup, rows)?;
    figures.extend(drop_rates(setup, rows)?);
    if let Some((cell, measured)) = run {
        let course = Course::new(setup, measured);
        figures.push(course.groups(cell)?);
        figures.push(course.throughput(cell)?);
        figures.push(course.losses(cell)?);
    }
    Ok(figures)
}

/// Figure 2: losses over the channel's.
fn drop_rates(setup: &Setup, rows: &[Row]) -> Result<Option<Figure>, FigureError> {
    let line = |(connections, color): (u32, RGBColor)| {
        let points = BAD_LOSSES_PERCENT.filter_map(|percent| {
            let row = rows.iter().find(|row| {
                let Cell { scenario, carrier, frame_us, bad_loss_percent, .. } = row.cell;
                (scenario, frame_us) == (Scenario::BaseStation, 5_000)
                    && (carrier, bad_loss_percent) == (Carrier::Dccp(connections), percent)
            })?;
            // Beside each other, so that each interval shows.
            let aside = 0.06 * (f64::from(connections) - 2.5);
            Some((f64::from(percent) + aside, row.measure(Measure::Lost)?))
        });
        let name = Carrier::Dccp(connections).to_string();
        Line { name, color, style: Style::Marked, points: points.collect() }
    };
    let mut lines: Vec<_> = (1..=4).zip(COLORS).map(line).collect();
    if lines.iter().any(|line| line.points.len() < 2) {
        return Ok(None);
    }
    if setup.are_papers() {
        let bound = BAD_LOSSES_PERCENT.map(|it| (f64::from(it), exact(PAPERS_BOUND_PERCENT)));
        let name = "the paper's bound".to_owned();
        let points = bound.collect();
        lines.push(Line { name, color: TEXT, style: Style::PaperLevel, points });
    }
    let graph = Graph {
        size: SIZE,
        title: "Figure 2: slices lost".to_owned(),
        x: Axis::Numbers("losses in the channel's bad state, %"),
        y: "% of slices",
        bottom: None,
        lines,
    };
    let caption = "Means over the seeds with 95 % intervals, to the base station, frames of 5 ms. \
                   The paper prints no values of this figure; it says that all but those at the \
                   highest losses are below 10 %."
        .to_owned();
    Ok(Some(Figure { name: "figure-2".to_owned(), table: None, caption, svg: graph.svg()? }))
}

#[cfg(test)]
mod tests {
    use super::super::super::measure::Outcome;
    use super::super::super::rows;
    use super::*;
    use crate::Parameters;

    const FRAME_US: u32 = 5_000;

    fn setup(set: &str) -> Setup {
        let parameters = Parameters::read((!set.is_empty()).then_some(set)).unwrap();
        Setup::with(parameters, Some(3)).unwrap()
    }

    /// What a cell gives, which is varied from there.
    fn any(setup: &Setup) -> (Cell, Outcome) {
        let (scenario, carrier) = (Scenario::BaseStation, Carrier::Dccp(1));
        let cell = Cell { scenario, carrier, frame_us: FRAME_US, bad_loss_percent: 5, seed: 1 };
        (cell, cell.run(setup).unwrap().outcome)
    }

    /// All points of figure 2, of so many seeds.
    fn points(setup: &Setup, seeds: u64) -> Vec<Row> {
        let (cell, outcome) = any(setup);
        let mut results = Vec::new();
        for percent in BAD_LOSSES_PERCENT {
            for (n, seed) in (1..=4).flat_map(|n| (1..=seeds).map(move |seed| (n, seed))) {
                let carrier = Carrier::Dccp(n);
                let lost = seed as usize;
                let cell = Cell { carrier, bad_loss_percent: percent, seed, ..cell };
                results.push((cell, Outcome { lost, ..outcome }));
            }
        }
        rows(results.iter().map(|(cell, outcome)| (*cell, outcome)))
    }

    fn count(svg: &str, what: &str) -> usize {
        svg.matches(what).count()
    }

    #[test]
    fn figure_2_has_an_interval_at_each_point_where_there_are_seeds_for_it() {
        let setup = setup("");
        let of = |seeds| drop_rates(&setup, &points(&setup, seeds)).unwrap().unwrap().svg;
        let (one, three) = (of(1), of(3));
        // The points, and a sample of each line in the legend.
        assert_eq!([&one, &three].map(|svg| count(svg, "<circle")), [44, 44]);
        let bars = |svg| count(svg, "stroke-width=\"1\"");
        assert!(bars(&three) >= bars(&one) + 40, "{} and {}", bars(&one), bars(&three));
        assert!(three.contains("bound"), "the paper's");
    }

    #[test]
    fn a_table_is_drawn_with_the_papers_values_unless_something_is_changed() {
        for (set, is_there) in [("", true), ("queue=40", false)] {
            let setup = setup(set);
            let (cell, outcome) = any(&setup);
            let rows = rows([(cell, &outcome)]);
            let figures = figures(&setup, &rows, None).unwrap();
            let names: Vec<&str> = figures.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(names, ["table-3-period", "table-3-throughput", "table-6-psnr"], "{set}");
            for figure in figures {
                assert_eq!(figure.svg.contains("the paper"), is_there, "{set} {}", figure.name);
            }
        }
    }
}
