//! Tables 3 to 10 drawn: the paper's values beside ours.

use super::super::super::cell::{Carrier, Setup};
use super::super::super::paper::{COLUMNS, Column, Measure, TITLES};
use super::super::super::table::Row;
use super::graph::{Axis, Graph, Line, Style};
use super::{COLORS, Figure};
use crate::Estimate;
use crate::drawing::FigureError;
use crate::statement::exact;

/// Two of them are beside each other.
const SIZE: (u32, u32) = (640, 340);
/// How far places are beside each other, where 1 is from one carrier to the next.
const ASIDE: f64 = 0.14;
/// No picture is worse than this: an axis of PSNR-Y begins here.
const PSNR_FROM_DB: f64 = 20.0;

/// A figure for each measure of each table for which there are runs.
pub(super) fn drawn(setup: &Setup, rows: &[Row]) -> Result<Vec<Figure>, FigureError> {
    let mut figures = Vec::new();
    for (table, _) in TITLES {
        let of_table = || COLUMNS.iter().filter(move |column| column.table == table);
        let mut measures: Vec<Measure> = of_table().map(|column| column.measure).collect();
        measures.sort_unstable();
        measures.dedup();
        for measure in measures {
            let columns = of_table().filter(|column| column.measure == measure).collect();
            figures.extend(Panel { setup, rows, table, measure, columns }.figure()?);
        }
    }
    Ok(figures)
}

/// A measure of a table.
struct Panel<'a> {
    setup: &'a Setup,
    rows: &'a [Row],
    table: u8,
    measure: Measure,
    columns: Vec<&'static Column>,
}

impl Panel<'_> {
    /// Nothing where nothing of it was run.
    fn figure(&self) -> Result<Option<Figure>, FigureError> {
        let Self { table, measure, .. } = self;
        let places = self.columns.iter().enumerate();
        let lines: Vec<Line> = places.flat_map(|(nth, column)| self.lines(nth, column)).collect();
        if lines.iter().all(|line| line.style == Style::Paper || line.points.is_empty()) {
            return Ok(None);
        }
        let names = self.carriers().map(|carrier| carrier.short_name()).collect();
        let graph = Graph {
            size: SIZE,
            title: format!("Table {table}: {}", measure.name()),
            x: Axis::Names(names),
            y: measure.name(),
            bottom: (*measure == Measure::Psnr).then_some(PSNR_FROM_DB),
            lines,
        };
        let caption = format!("Table {table} drawn: {}.", measure.name());
        let name = format!("table-{table}-{}", measure.file_name());
        Ok(Some(Figure { name, table: Some(*table), caption, svg: graph.svg()? }))
    }

    /// Of a place: ours with as many connections as the paper's, the paper's, and ours beside it.
    /// They are a little aside of those of the other places, so that each interval shows.
    fn lines(&self, nth: usize, column: &Column) -> [Line; 3] {
        let color = COLORS[nth % COLORS.len()];
        let aside = ASIDE * (nth as f64 - (self.columns.len() - 1) as f64 / 2.0);
        let place = format!("{}, {} ms", column.scenario, f64::from(column.frame_us) / 1e3);
        let ours = self.points(|carrier| self.ours(column, carrier));
        let (apart, joined) = ours.into_iter().partition(|(carrier, _)| carrier.is_ours());
        let paper = self.points(|carrier| {
            let value = column.paper(carrier).filter(|_| self.setup.are_papers())?;
            Some(exact(value))
        });
        let line = |name: &str, style, points| {
            let points = self.placed(points, aside);
            let name = if points.is_empty() { String::new() } else { name.to_owned() };
            Line { name, color, style, points }
        };
        [
            line(&place, Style::Marked, joined),
            line("the paper's", Style::Paper, paper),
            line("", Style::Apart, apart),
        ]
    }

    fn ours(&self, column: &Column, carrier: Carrier) -> Option<Estimate> {
        let is_it = |row: &&Row| row.is_at(column.scenario, column.frame_us, carrier);
        self.rows.iter().find(is_it)?.measure(self.measure)
    }

    fn points(&self, of: impl Fn(Carrier) -> Option<Estimate>) -> Vec<(Carrier, Estimate)> {
        self.carriers().filter_map(|carrier| Some((carrier, of(carrier)?))).collect()
    }

    fn placed(&self, points: Vec<(Carrier, Estimate)>, aside: f64) -> Vec<(f64, Estimate)> {
        let place = |carrier| self.carriers().position(|it| it == carrier);
        let at = |(it, value)| Some((place(it)? as f64 + aside, value));
        points.into_iter().filter_map(at).collect()
    }

    /// What lies along the bottom.
    fn carriers(&self) -> impl Iterator<Item = Carrier> {
        let values = self.columns.first().map(|column| column.values).unwrap_or_default();
        values.iter().map(|(connections, _)| Carrier::Dccp(*connections)).chain(Carrier::OURS)
    }
}
