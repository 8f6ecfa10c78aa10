//! The report: all that was run and measured, on one page that can be sent.

mod assumptions;
mod differences;
mod figure;
mod sensitivity;
mod shapes;

use maud::{Markup, PreEscaped, html};

use super::bar::{DELAY_MARGIN_S, PSNR_Y_MARGIN_DB, Standing, standings, terms};
use super::cell::{Cell, Setup, Source};
use super::measure::{Measured, Outcome};
use super::paper::{FULL, published};
use super::sensitivity::Variation;
use super::strategy::Strategy;
use super::table::{Row, rows};
use crate::Estimate;
use crate::drawing::FigureError;
use crate::page::{assumed, cited, page, seeds_in_words};
use assumptions::assumptions;
use differences::{Cause, Difference, differences};
pub use figure::figure;
use sensitivity::{VariedRow, sensitive, varied_rows};
pub use shapes::figure_name;
use shapes::{observed, paper_figure};

/// What was run.
#[derive(Debug)]
pub struct Experiment<'a> {
    /// The command that gives the same results.
    pub command: String,
    /// What was sent.
    pub setup: &'a Setup,
    /// All cells, in the order of [`cells`](super::cells).
    pub results: Vec<(Cell, Measured)>,
    /// The cells in which a parameter was varied, in the order of
    /// [`Variation::cells`](super::Variation::cells); none if only some cells were asked for.
    pub varied: Vec<(Variation, Cell, Measured)>,
}

impl Experiment<'_> {
    /// The cell of each strategy whose course is drawn: the one with the highest loss and the
    /// slowest links, with the first seed, as in the paper.
    #[must_use]
    pub fn drawn(&self) -> Vec<&(Cell, Measured)> {
        let of = |strategy: Strategy| {
            let cells = self.results.iter().filter(move |(cell, _)| cell.strategy == strategy);
            cells.min_by(|(a, _), (b, _)| {
                b.loss.total_cmp(&a.loss).then(a.mbps.total_cmp(&b.mbps)).then(a.seed.cmp(&b.seed))
            })
        };
        Strategy::ALL.into_iter().filter_map(of).collect()
    }

    /// The report: an HTML page that refers to nothing outside itself. `version` is the build, with
    /// its commit: who cites it needs both.
    ///
    /// # Errors
    /// A figure cannot be drawn.
    pub fn report(&self, version: &str) -> Result<String, FigureError> {
        let rows = rows(&self.results);
        let varied = varied_rows(&self.varied);
        let full = self.setup.full_psnr_y_db();
        let are_papers = self.setup.parameters.are_papers();
        let figures: Result<Vec<_>, _> =
            self.drawn().into_iter().map(|(cell, measured)| self.mosaic(cell, measured)).collect();
        let title = "Layered video over SCTP: anabranch beside Ortiz and others, 2013";
        let body = html! {
            (self.heading())
            (bar(&standings(&rows, full), self.setup))
            @if !varied.is_empty() { (on_equal_terms(&rows, &varied, full)) }
            (tables(self.setup, &rows))
            h2 id="figures" { (if are_papers { "Figures 2 to 12, and ours" } else { "Figures" }) }
            p { "One run of each strategy. The dashed line is where the link begins to lose \
                 packets." }
            @for figure in figures? { (figure) }
            @if are_papers { (different(&rows, &varied, full)) }
            @if !varied.is_empty() { (sensitive(&rows, &varied)) }
            (assumed(&assumptions(self.setup.video.film().is_some())))
            (cited(version, "the commands of this page"))
        };
        Ok(page(title, &body))
    }

    /// A strategy's course, with the command that gives it again.
    fn mosaic(&self, cell: &Cell, measured: &Measured) -> Result<Markup, FigureError> {
        let panels = figure::panels(self.setup, cell, measured)?;
        let are_papers = self.setup.parameters.are_papers();
        let paper = paper_figure(cell.strategy).filter(|_| are_papers);
        let values = self.setup.published(cell.strategy, cell.mbps, cell.loss);
        Ok(html! {
            h3 {
                @if let Some((number, _)) = paper { "Figure " (number) ": " }
                (cell)
            }
            p {
                "Delay " (format!("{:.4} s, ", measured.outcome.delay_s)) (seen(&measured.outcome))
                @if let Some((delay_s, psnr)) = values {
                    small { " (paper: " (format!("{delay_s:.4} s, {psnr:.2} dB")) ")" }
                }
                ". " (observed(self.setup, measured))
                @if let Some((_, shape)) = paper { " In the paper it " (shape) }
            }
            p { "Again, captured: " code { (self.setup.again(cell)) } }
            div.mosaic { @for panel in panels { div { (PreEscaped(panel)) } } }
        })
    }

    fn heading(&self) -> Markup {
        let seeds = seeds_in_words(self.results.iter().map(|(cell, _)| cell.seed));
        let simulated: usize =
            self.results.iter().map(|(_, measured)| measured.outcome.duration_s).sum();
        html! {
            h1 { "Layered video over SCTP, CMT-SCTP, RTP and TCP" }
            p {
                "The experiment of Ortiz, Martínez Graciá and Skarmeta, \u{201c}SCTP as scalable \
                 video coding transport\u{201d} (EURASIP Journal on Advances in Signal Processing \
                 2013:115), with real packets: every one is made and read by the code that runs \
                 on sockets, and only links and clock are simulated."
            }
            @if let Some(said) = self.setup.parameters.said() {
                p {
                    strong { (said) }
                    " Nothing here can be compared with the paper's numbers, which are left out; \
                     where the text speaks of its parameters, these are meant."
                }
            }
            @for said in self.setup.said_of_film() { p { (said) } }
            p {
                "Run as " code { (self.command) } " with anabranch " (env!("CARGO_PKG_VERSION"))
                ", seeds " (seeds) ": " (self.results.len()) " cells, " (simulated)
                " simulated seconds. In cells.csv each cell has the command that runs it again."
            }
            nav {
                a href="#bar" { "Ours" }
                a href="#tables" { "Tables" }
                a href="#figures" { "Figures" }
                @if self.setup.parameters.are_papers() {
                    a href="#differences" { "Differences" }
                }
                @if !self.varied.is_empty() { a href="#sensitivity" { "Sensitivity" } }
                a href="#assumptions" { "Assumptions" }
            }
        }
    }
}

fn bar(standings: &[Standing], setup: &Setup) -> Markup {
    html! {
        h2 id="bar" { "Ours beside the fastest of the others" }
        p { (terms(setup)) }
        @if setup.source != Source::Literal && setup.are_papers() {
            p {
                "The paper's rates can be read otherwise, as 30.3 Mbit/s in all, more than the \
                 slowest link carries: "
                code { "--source literal" }
                " runs that. With the paper's other parameters four of twelve cells then miss the \
                 bar: all of 30 Mbit/s, at about 15 ms, where the fastest takes 8.9."
            }
        }
        @if setup.full_psnr_y_db().is_some() {
            p {
                "The bar: a mean delay at most " (DELAY_MARGIN_S * 1e3)
                " ms above the lowest of all others in the same network, and PSNR-Y within "
                (PSNR_Y_MARGIN_DB) " dB of the whole video's. Then none of them is better on both. "
                (met(standings))
            }
        }
        (standing_table(standings))
    }
}

/// The same with the receive window, the timers and the order of the others.
fn on_equal_terms(rows: &[Row], varied: &[VariedRow], full: Option<f64>) -> Markup {
    let others = rows.iter().filter(|row| row.strategy != Strategy::OURS);
    let ours = varied.iter().filter(|it| it.variation == Variation::EqualTerms);
    let rows: Vec<_> = others.chain(ours.map(|it| &it.row)).copied().collect();
    let standings = standings(&rows, full);
    html! {
        h3 id="equal-terms" { "On equal terms" }
        p {
            "Ours with a receive window of 64 KiB, timers of 3 s at first and 1 s at least, and \
             delivery in order. "
            (met(&standings))
        }
        (standing_table(&standings))
    }
}

fn met(standings: &[Standing]) -> String {
    let met = standings.iter().filter(|standing| standing.is_within_bar() == Some(true)).count();
    format!("Met in {met} of {}.", standings.len())
}

fn standing_table(standings: &[Standing]) -> Markup {
    let is_scored = standings.iter().any(|standing| standing.full_psnr_y_db.is_some());
    let seen = if is_scored { "PSNR-Y" } else { "missing pictures" };
    html! {
        div.scroll { table {
            thead { tr {
                th { "Links" } th { "Fastest other" } th { "its delay" } th { "its " (seen) }
                th { "our delay" } th { "our " (seen) } @if is_scored { th { "Bar" } }
            } }
            tbody { @for standing in standings {
                tr {
                    td { (standing.ours.mbps) " Mbit/s, " (standing.ours.loss) }
                    td { (standing.fastest.strategy) }
                    td { (milliseconds(standing.fastest.delay_s)) }
                    td { (standing.fastest.seen()) }
                    td { (milliseconds(standing.ours.delay_s)) }
                    td { (standing.ours.seen()) }
                    @match standing.is_within_bar() {
                        Some(true) => td.good { "within" },
                        Some(false) => td.bad { "missed" },
                        None => {}
                    }
                }
            } }
        } }
    }
}

fn tables(setup: &Setup, rows: &[Row]) -> Markup {
    let are_papers = setup.parameters.are_papers();
    html! {
        h2 id="tables" { (if are_papers { "Tables 2 to 5" } else { "Tables" }) }
        p {
            @if setup.full_psnr_y_db().is_some() {
                "Mean one-way delay of the packets and mean PSNR-Y, each with its 95 % confidence \
                 interval over the seeds where that shows."
            } @else {
                "Mean one-way delay of the packets with its 95 % confidence interval over the \
                 seeds where that shows, and how many pictures are missing, in brackets how many \
                 of the base layer."
            }
            " In grey: the mean over seconds instead of packets"
            @if are_papers {
                ", and the paper's values. The paper's whole video has " (FULL) " dB."
            } @else { "." }
        }
        @for (number, loss) in (2..).zip(setup.values().losses()) {
            @let of_table: Vec<_> =
                rows.iter().filter(|row| row.loss.total_cmp(loss).is_eq()).collect();
            @if !of_table.is_empty() {
                h3 {
                    @if are_papers { "Table " (number) ": packet" } @else { "Packet" }
                    " error rate " (loss)
                }
                div.scroll { table {
                    thead { tr {
                        th { "Strategy" }
                        @for mbps in setup.values().rates_mbps() { th { (mbps) " Mbit/s" } }
                    } }
                    tbody { @for of_strategy in of_table.chunk_by(|a, b| a.strategy == b.strategy) {
                        (strategy_row(setup, of_strategy))
                    } }
                } }
            }
        }
    }
}

fn strategy_row(setup: &Setup, rows: &[&Row]) -> Markup {
    let strategy = rows.first().map(|row| row.strategy);
    let class = (strategy == Some(Strategy::OURS)).then_some("ours");
    html! {
        tr class=[class] {
            td { @if let Some(strategy) = strategy { (strategy) } }
            @for mbps in setup.values().rates_mbps() {
                @let is_here = |row: &&&Row| row.mbps.total_cmp(&mbps).is_eq();
                td { @if let Some(row) = rows.iter().find(is_here) {
                    (seconds(row.delay_s)) " · " (row.seen())
                    small { "per second " (seconds(row.delay_by_second_s)) }
                    @if let Some((delay_s, psnr)) = setup.published(row.strategy, mbps, row.loss) {
                        small { "paper " (format!("{delay_s:.4} s · {psnr:.2} dB")) }
                    }
                } }
            }
        }
    }
}

fn different(rows: &[Row], varied: &[VariedRow], full: Option<f64>) -> Markup {
    let differences = differences(rows, varied, full);
    let compared = rows.iter().filter(|row| published(row.strategy, row.mbps, row.loss).is_some());
    html! {
        h2 id="differences" { "Differences from the paper" }
        p {
            "A delay is listed when it is off by more than 5 ms and a fifth of the paper's; a \
             picture when what is missing from the whole video's PSNR-Y is off by more than 0.1 \
             dB. "
            (differences.len()) " values of " (2 * compared.count()) " are. The counts are means \
                                                                      over the seeds of the cell."
        }
        @for cause in Cause::ALL {
            @let of_cause: Vec<_> = differences.iter().filter(|it| it.cause == cause).collect();
            @if !of_cause.is_empty() { (with_cause(cause, &of_cause)) }
        }
    }
}

fn with_cause(cause: Cause, differences: &[&Difference]) -> Markup {
    html! {
        h3 { (cause.title()) }
        p { (cause.explanation()) }
        div.scroll { table {
            thead { tr { th { "Cell" } th { "Ours" } th { "Paper" } th.text { "In our runs" } } }
            tbody { @for it in differences {
                tr {
                    td { (it.row.strategy) small { (it.row.mbps) " Mbit/s, " (it.row.loss) } }
                    td { (it.ours) }
                    td { (it.paper) }
                    td.text { (it.evidence) }
                }
            } }
        } }
    }
}

fn milliseconds(delay_s: Estimate) -> String {
    format!("{:.2} ms", delay_s.times(1e3))
}

fn seconds(delay_s: Estimate) -> String {
    format!("{delay_s:.4} s")
}

/// What a viewer sees of one run.
fn seen(outcome: &Outcome) -> String {
    match (outcome.psnr_y_db, outcome.base_missing) {
        (Some(psnr_y_db), _) => format!("PSNR-Y {psnr_y_db:.2} dB"),
        (None, base) => {
            let all = outcome.frames_full + outcome.frames_repeated;
            let (missing, base) = (outcome.frames_repeated, base.unwrap_or_default());
            format!("{missing} of {all} pictures missing, {base} of the base layer")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::strategy::RtpStrategy;
    use super::*;

    fn report() -> String {
        let setup = Setup::new(Source::Plain).cut_after(3);
        let strategies = [Strategy::OURS, Strategy::Rtp(RtpStrategy::Single)];
        let cells = super::super::cells(setup.values(), &strategies, 1);
        let run = |cell: Cell| (cell, cell.run(&setup).expect("the machines behave"));
        let results =
            cells.into_iter().filter(|cell| (29.0..31.0).contains(&cell.mbps)).map(run).collect();
        let command = "anabranch lab <ortiz2013>".to_owned();
        let varied = Variation::cells(1)
            .map(|(variation, cell)| (variation, cell, variation.run(&cell, &setup).unwrap()));
        Experiment { command, setup: &setup, results, varied: varied.collect() }
            .report("0.1.0 (abc)")
            .unwrap()
    }

    #[test]
    fn the_report_has_all_parts_and_refers_to_nothing_outside() {
        let report = report();
        let parts = [
            "anabranch lab &lt;ortiz2013&gt;",
            "Table 2:",
            "Table 5:",
            "Figure 11: RTP, 30 Mbit/s, loss 0.01, seed 1",
            "paper 0.0094 s · 24.77 dB",
            "id=\"differences\"",
            "id=\"equal-terms\"",
            "--cell 30,0.01,1 --strategy RTP --source plain --pictures 3 --capture",
            "<h3>CMTMultiReliable, loss 0.01</h3>",
            "<td class=\"text\">potentially failed paths (RFC 7829)</td>",
            "id=\"assumptions\"",
            "version = {0.1.0 (abc)}",
        ];
        for part in parts {
            assert!(report.contains(part), "{part}");
        }
        assert_eq!(report.matches("<svg ").count(), 4 + 3, "ours has two interfaces, RTP one");
        for outside in ["src=", "href=\"h", "@import", "url("] {
            assert!(!report.contains(outside), "{outside}");
        }
    }
}
