//! The report: all that was run and measured, on one page that can be sent.

mod assumptions;
mod figure;

use anabranch_sctp::Level;
use maud::{Markup, PreEscaped, html};

use super::cause::{Difference, differences};
use super::cell::{Cell, LastHop};
use super::measure::Outcome;
use super::method::Method;
use super::paper::statements;
use super::sensitivity::{GROUPS, Group, Variation};
use super::source::Source;
use super::table::{COLUMNS, NAMES, Row, again, as_run, rows};
use super::values::Values;
use crate::Parameters;
use crate::drawing::FigureError;
use crate::page::{Heading, assumed, cited, page, seeds_in_words};
use crate::statement::held;
use assumptions::ASSUMPTIONS;
pub use figure::{Graphs, figures};

/// What was run.
#[derive(Debug)]
pub struct Experiment {
    /// What is not the paper's.
    pub parameters: Parameters<Values>,
    /// The command that gives the same results.
    pub command: String,
    /// All cells, the seeds of each beside each other.
    pub results: Vec<(Cell, Outcome)>,
}

impl Experiment {
    /// The report: an HTML page that refers to nothing outside itself. `version` is the build, with
    /// its commit: who cites it needs both.
    ///
    /// # Errors
    /// A figure cannot be drawn.
    pub fn report(&self, version: &str) -> Result<String, FigureError> {
        let rows = rows(&self.results);
        let graphs = figures(&self.results, &rows)?;
        let body = html! {
            (self.heading())
            @if self.parameters.are_papers() {
                (held(&statements(&rows), NOTE))
                (different(&differences(&rows)))
            }
            h2 id="figures" { "Figures 7 to 11" }
            p {
                "Means over the seeds, second by second; ours are dashed. The values below are \
                 over the whole stream, with their 95 % confidence intervals."
            }
            @for source in Source::ALL { @for last_hop in LastHop::ALL {
                @let of_place = as_run(&rows, source, last_hop);
                @if !of_place.is_empty() {
                    h3 { (source.title()) ", " (last_hop) }
                    (drawn(&graphs, &format!("{source}-{last_hop}-")))
                    (levels(&of_place))
                }
            } }
            (insertions(&rows))
            @if self.is_varied() { (sensitive(&rows, &graphs)) }
            (assumed(&ASSUMPTIONS))
            (cited(version, "the commands of this page"))
        };
        Ok(page("SCTP-PQ: anabranch beside H\u{fc}seynli and others, 2023", &body))
    }

    fn is_varied(&self) -> bool {
        self.results.iter().any(|(cell, _)| cell.variation != Variation::AsRun)
    }

    /// How a reader runs one cell again.
    fn again(&self) -> String {
        let first = self.results.first();
        first.map(|(cell, _)| again(&self.parameters, cell)).unwrap_or_default()
    }

    fn heading(&self) -> Markup {
        let mut parts = vec![("figures", "Figures"), ("insertions", "What an insertion costs")];
        if self.parameters.are_papers() {
            parts.insert(0, ("statements", "The paper's statements"));
            parts.insert(1, ("differences", "Differences"));
        }
        if self.is_varied() {
            parts.push(("sensitivity", "Sensitivity"));
        }
        parts.push(("assumptions", "Assumptions"));
        let heading = Heading {
            title: "SCTP-PQ, a receive queue of four levels",
            about: "The experiment of H\u{fc}seynli, \u{15e}im\u{15f}ek and Akcayol, \
                    \u{201c}Improving QoS in mobile multimedia streaming with SCTP-PQ\u{201d} \
                    (Acta Polytechnica 2023), with real packets: every one is made and read by the \
                    code that runs on sockets, and only links, clock and the reading program are \
                    simulated.",
            said: self.parameters.said(),
            left_out: "The paper's statements are left out, as they are about its own.",
            command: &self.command,
            seeds: seeds_in_words(self.results.iter().map(|(cell, _)| cell.seed)),
            cells: self.results.len(),
            simulated_s: self.results.iter().map(|(_, outcome)| outcome.duration_s).sum(),
            again: self.again(),
            parts,
        };
        heading.shown()
    }
}

/// About the list of statements.
const NOTE: &str = "The list is the paper's SCTP-PQ. Values are those of the authors' source, at a \
                    constant rate with random levels over wires, unless they say otherwise.";

fn different(differences: &[Difference]) -> Markup {
    html! {
        h2 id="differences" { "Differences from the paper, and why" }
        p {
            "What the paper says and our runs do not show, or leave undecided. A cause is named \
             only where it follows from what is said itself, or where a run with one thing chosen \
             otherwise shows the statement."
        }
        div.scroll { table {
            thead { tr {
                th { "Figure" } th.text { "Statement" } th.text { "Here" } th.text { "Cause" }
            } }
            tbody { @for it in differences { tr {
                td { @if let Some(figure) = it.statement.figure { (figure) } }
                td.text { (it.statement.says) }
                td.text { (it.statement.evidence) }
                td.text { (cause(it)) }
            } } }
        } }
    }
}

fn cause(difference: &Difference) -> String {
    match (difference.follows, &difference.met_by[..]) {
        (Some(why), _) => why.to_owned(),
        (None, []) => "unexplained: no run meets it".to_owned(),
        (None, met_by) => format!("Shown with: {}.", met_by.join("; ")),
    }
}

/// The graphs whose names begin so, side by side.
fn drawn(graphs: &Graphs, prefix: &str) -> Markup {
    html! {
        div.mosaic {
            @for (_, svg) in graphs.iter().filter(|(name, _)| name.starts_with(prefix)) {
                div { (PreEscaped(svg)) }
            }
        }
    }
}

/// A row for each level and method, and one for all levels.
fn levels(rows: &[&Row]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { "Level" } th { "Method" }
                @for column in &COLUMNS {
                    th { (column.title) @if column.title != "chunks" { small { " ms" } } }
                }
            } }
            tbody {
                @for level in Level::ALL { @for row in rows {
                    @if let Some(of_level) = &row.levels[level.index()] {
                        tr.ours[row.cell.method == Method::Anabranch] {
                            td { (NAMES[level.index()]) } td { (row.cell.method) }
                            @for column in &COLUMNS { td { (column.value(of_level)) } }
                        }
                    }
                } }
                @for row in rows {
                    tr.ours[row.cell.method == Method::Anabranch] {
                        td { "all" } td { (row.cell.method) }
                        td { (format!("{:.0}", row.received)) }
                        td colspan="5" {
                            (format!("{:.1} s of waiting in all", row.total_queue_s))
                            (format!(", {:.0} out of order", row.out_of_order))
                        }
                    }
                }
            }
        } }
    }
}

/// What the list takes to insert, beside a queue with a line for each level.
fn insertions(rows: &[Row]) -> Markup {
    html! {
        h2 id="insertions" { "What an insertion costs" }
        p {
            "How many chunks one goes past on its way into the queue, by its level: the paper's \
             list goes past all that matter as much or more, from the head on, and so is O(n). Who \
             reads by arrival, and ours, which has a line for each level, put it behind the last \
             one however many wait. Counted from what waited when each chunk arrived."
        }
        div.scroll { table {
            thead { tr {
                th.text { "Source" } th.text { "Network" } th { "Method" }
                @for name in NAMES { th { (name) } }
                th { "all" } th { "at most" }
            } }
            tbody { @for source in Source::ALL { @for last_hop in LastHop::ALL {
                @for row in as_run(rows, source, last_hop) {
                    tr.ours[row.cell.method == Method::Anabranch] {
                        td.text { (source.title()) } td.text { (last_hop) } td { (row.cell.method) }
                        @for level in &row.levels {
                            td {
                                @if let Some(level) = level { (format!("{:.2}", level.passed)) }
                            }
                        }
                        td { (format!("{:.2}", row.passed)) }
                        td { (format!("{:.0}", row.passed_max)) }
                    }
                }
            } } }
        } }
    }
}

fn sensitive(rows: &[Row], graphs: &Graphs) -> Markup {
    html! {
        h2 id="sensitivity" { "Sensitivity: why the figures are as they are" }
        p {
            "The wired network with one parameter chosen otherwise: mean queue delays in ms, the \
             total of equation 3, what was not read when the run was over, 12 s after the end \
             of the stream, and how many chunks one goes past on its way into the queue."
        }
        @for group in &GROUPS { @for source in Source::ALL {
            @if group.points(source).next().is_some() {
                h3 { (group.title) ": " (source.title().to_lowercase()) }
                (drawn(graphs, &figure::name_of(group, source)))
                (variations(rows, group, source))
            }
        } }
    }
}

/// A row for each variation and method.
fn variations(rows: &[Row], group: &Group, source: Source) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { "Parameter" } th { "Method" }
                @for name in NAMES { th { (name) } }
                th { "total s" } th { "not read" } th { "out of order" } th { "goes past" }
            } }
            tbody { @for (variation, _) in group.points(source) {
                @for row in rows.iter().filter(|row| is_of(row, source, variation)) {
                    tr.ours[row.cell.method == Method::Anabranch] {
                        td { (variation) } td { (row.cell.method) }
                        @for level in &row.levels {
                            td {
                                @if let Some(level) = level { (format!("{:.1}", level.queue_ms)) }
                            }
                        }
                        td { (format!("{:.1}", row.total_queue_s)) }
                        td { (format!("{:.0}", row.missing)) }
                        td { (format!("{:.0}", row.out_of_order)) }
                        td { (format!("{:.2}", row.passed)) }
                    }
                }
            } }
        } }
    }
}

fn is_of(row: &Row, source: Source, variation: Variation) -> bool {
    (row.cell.source, row.cell.last_hop, row.cell.variation) == (source, LastHop::Wired, variation)
}

#[cfg(test)]
mod tests {
    use super::super::table::testing;
    use super::*;

    #[test]
    fn the_report_has_all_parts_and_refers_to_nothing_outside() {
        let variations = [Variation::AsRun, Variation::Load(80)];
        let cells = variations.into_iter().flat_map(|variation| {
            Method::ALL.map(|method| testing::outcome(method, variation, [2.0, 5.0, 20.0]))
        });
        let report = Experiment {
            parameters: Parameters::default(),
            command: "anabranch lab <huseynli2023>".to_owned(),
            results: cells.collect(),
        };
        let report = report.report("0.1.0 (abc)").unwrap();
        let parts = [
            "anabranch lab &lt;huseynli2023&gt;",
            "id=\"statements\"",
            "id=\"differences\"",
            "id=\"insertions\"",
            "Load of the reader: goes past on insertion",
            "equation 3",
            "Figure 7: queue delay of I",
            "Constant rate, random levels, wired",
            "Load of the reader",
            "load 80 %",
            "id=\"assumptions\"",
            "version = {0.1.0 (abc)}",
        ];
        for part in parts {
            assert!(report.contains(part), "{part}");
        }
        for outside in ["src=", "href=\"h", "@import", "url("] {
            assert!(!report.contains(outside), "{outside}");
        }
    }
}
