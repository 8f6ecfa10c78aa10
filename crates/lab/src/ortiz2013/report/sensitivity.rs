//! How much of a difference from the paper may come from what it leaves open.

use maud::{Markup, html};

use super::super::cell::{Cell, LOSSES, RATES_MBPS};
use super::super::measure::Measured;
use super::super::paper::published;
use super::super::sensitivity::Variation;
use super::super::strategy::Strategy;
use super::super::table::{Row, rows};

/// All seeds of a varied cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct VariedRow {
    pub(super) variation: Variation,
    pub(super) row: Row,
}

/// Takes the seeds of each varied cell together.
pub(super) fn varied_rows(varied: &[(Variation, Cell, Measured)]) -> Vec<VariedRow> {
    let same = |a: &(Variation, Cell, Measured), b: &(Variation, Cell, Measured)| {
        (a.0, a.1.strategy) == (b.0, b.1.strategy)
    };
    let groups = varied.chunk_by(same).filter_map(|group| Some((group.first()?.0, group)));
    let of_group = |(variation, group): (Variation, &[(Variation, Cell, Measured)])| {
        let results: Vec<_> = group.iter().map(|(_, cell, it)| (*cell, it.clone())).collect();
        rows(&results).into_iter().map(move |row| VariedRow { variation, row })
    };
    groups.flat_map(of_group).collect()
}

/// A table for each strategy and loss: the paper's delays, those of the tables, and those with one
/// parameter chosen otherwise.
pub(super) fn sensitive(as_run: &[Row], varied: &[VariedRow]) -> Markup {
    let as_run = as_run.iter().map(|row| VariedRow { variation: Variation::AsRun, row: *row });
    let all: Vec<_> = as_run.chain(varied.iter().copied()).collect();
    html! {
        h2 id="sensitivity" { "Sensitivity" }
        p {
            "The same cells with one parameter chosen otherwise: how much of a difference from "
            "the paper may come from what it leaves open. Delays, and how many retransmission "
            "timers expired."
        }
        @for strategy in Variation::STRATEGIES {
            @for loss in LOSSES {
                @let place = |it: &VariedRow| (it.row.strategy, it.row.loss);
                @let is_here = |it: &&VariedRow| place(it) == (strategy, loss);
                @let rows: Vec<_> = all.iter().filter(is_here).copied().collect();
                @if rows.iter().any(|it| it.variation != Variation::AsRun) {
                    (table(strategy, loss, &rows))
                }
            }
        }
    }
}

fn table(strategy: Strategy, loss: f64, rows: &[VariedRow]) -> Markup {
    let variations = Variation::ALL.into_iter();
    let shown = variations.filter(|it| rows.iter().any(|row| row.variation == *it));
    html! {
        h3 { (strategy) ", loss " (loss) }
        div.scroll { table {
            thead { tr {
                th.text { "Parameter" }
                @for mbps in RATES_MBPS.map(f64::from) { th { (mbps) " Mbit/s" } }
            } }
            tbody {
                tr {
                    td.text { "the paper" }
                    @for mbps in RATES_MBPS.map(f64::from) {
                        @let delay_s = published(strategy, mbps, loss).map(|(delay_s, _)| delay_s);
                        td { @if let Some(delay_s) = delay_s { (format!("{delay_s:.4} s")) } }
                    }
                }
                @for variation in shown { tr {
                    td.text { (variation) }
                    @for mbps in RATES_MBPS.map(f64::from) {
                        @let place = |it: &VariedRow| (it.variation, it.row.mbps.to_bits());
                        @let here = (variation, mbps.to_bits());
                        @let found = rows.iter().find(|it| place(it) == here);
                        td { @if let Some(it) = found {
                            (super::seconds(it.row.delay_s))
                            small { (format!("{:.1} timers", it.row.timeouts)) }
                        } }
                    }
                } }
            }
        } }
    }
}
