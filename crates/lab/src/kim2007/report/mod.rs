//! The report: all that was run and measured, on one page that can be sent.

mod assumptions;
mod figure;

use maud::{Markup, PreEscaped, html};

use super::carrier::Carrier;
use super::cell::Cell;
use super::live::{LiveSwitch, MILESTONES};
use super::measure::Outcome;
use super::paper::statements;
use super::scenario::Scenario;
use super::sensitivity::Variation;
use super::table::{Measure, Row, again, line_name, rows};
use super::values::Values;
use crate::drawing::FigureError;
use crate::page::{Heading, assumed, cited, page, seeds_in_words};
use crate::statement::{Verdict, held};
use crate::{Estimate, Parameters};
use assumptions::ASSUMPTIONS;
pub use figure::{Figure, figures, live_figure};

/// What was run.
#[derive(Debug)]
pub struct Experiment {
    /// What is not the paper's.
    pub parameters: Parameters<Values>,
    /// The command that gives the same results.
    pub command: String,
    /// All cells, in the order of [`Scenario::cells`].
    pub results: Vec<(Cell, Outcome)>,
    /// The cells in which a parameter was varied, in the order of [`GROUPS`](super::GROUPS); none
    /// if only some cells were asked for.
    pub varied: Vec<(Variation, Cell, Outcome)>,
    /// Keys that were pressed for real; none if that was not asked for.
    pub live: Vec<LiveSwitch>,
}

impl Experiment {
    /// The report: an HTML page that refers to nothing outside itself. `version` is the build, with
    /// its commit: who cites it needs both.
    ///
    /// # Errors
    /// A figure cannot be drawn.
    pub fn report(&self, version: &str) -> Result<String, FigureError> {
        let rows = rows(&self.results);
        let figures = figures(&rows)?;
        let are_papers = self.parameters.are_papers();
        let body = html! {
            (self.heading())
            @if are_papers { (held(&statements(&rows), "")) }
            @if !self.varied.is_empty() { (one_direction(&self.varied)) }
            h2 id="figures" { "Figures 8 to 12" }
            p {
                "Means over the seeds, with their 95 % confidence intervals. Ours are dashed."
            }
            @for scenario in Scenario::ALL {
                @let of_test: Vec<_> =
                    figures.iter().filter(|it| it.measure.scenario == scenario).collect();
                @if !of_test.is_empty() { (drawn(scenario, &of_test, &rows)) }
            }
            @if !self.live.is_empty() { (live(&self.live, &rows)?) }
            @if !self.varied.is_empty() { (sensitive(&self.varied)) }
            (assumed(&ASSUMPTIONS))
            (cited(version, "the commands of this page"))
        };
        Ok(page("IPTV over SCTP: anabranch beside Kim and others, 2007", &body))
    }

    /// How a reader runs one cell again.
    fn again(&self) -> String {
        let first = self.results.first();
        first.map(|(cell, _)| again(&self.parameters, cell)).unwrap_or_default()
    }

    fn heading(&self) -> Markup {
        let mut parts = vec![("figures", "Figures")];
        if self.parameters.are_papers() {
            parts.insert(0, ("statements", "The paper's statements"));
        }
        if !self.varied.is_empty() {
            parts.push(("sensitivity", "Sensitivity"));
        }
        parts.push(("assumptions", "Assumptions"));
        let heading = Heading {
            title: "IPTV over SCTP, PR-SCTP, UDP and TCP",
            about: "The experiments of S. T. Kim, Koh and Y. J. Kim, \u{201c}Performance of SCTP \
                    for IPTV Applications\u{201d} (ICACT 2007), with real packets: every one is \
                    made and read by the code that runs on sockets, and only links and clock are \
                    simulated.",
            said: self.parameters.said(),
            left_out: "The paper's statements are left out, as they are about its own; where the \
                       text speaks of its parameters, these are meant.",
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

/// Who is faster of TCP and SCTP at 10 %, with losses both ways and towards the client only.
fn one_direction(varied: &[(Variation, Cell, Outcome)]) -> Markup {
    html! {
        h3 id="one-direction" { "Losses in one direction" }
        p {
            "The paper does not say whether acknowledgements are lost, too; in our runs they are. \
             Completion at 10 % of loss, with one stream in figure 8 and three channels in 11:"
        }
        div.scroll { table {
            thead { tr {
                th { "Figure" } th.text { "Losses" } th { "TCP" } th { "SCTP" } th { "Faster" }
            } }
            tbody {
                @for (figure, scenario) in [(8, Scenario::Loss), (11, Scenario::Channels)] {
                    @for (losses, variation) in [
                        ("both ways", Variation::AsRun),
                        ("towards the client", Variation::LossOfMediaOnly),
                    ] {
                        @let of = |carrier| varied_completion(varied, scenario, variation, carrier);
                        @if let (Some(tcp), Some(sctp)) = (of(Carrier::Tcp), of(Carrier::Sctp)) {
                            tr {
                                td { (figure) }
                                td.text { (losses) }
                                td { (format!("{tcp:.1} s")) }
                                td { (format!("{sctp:.1} s")) }
                                td { (match Verdict::is_above(tcp, sctp, 0.0) {
                                    Verdict::Shown => "SCTP",
                                    Verdict::NotShown => "TCP",
                                    Verdict::Undecided => "undecided",
                                }) }
                            }
                        }
                    }
                }
            }
        } }
    }
}

fn varied_completion(
    varied: &[(Variation, Cell, Outcome)],
    scenario: Scenario,
    variation: Variation,
    carrier: Carrier,
) -> Option<Estimate> {
    let place = (variation, scenario, carrier);
    let here = varied.iter().filter(|(it, cell, _)| (*it, cell.scenario, cell.carrier) == place);
    let results: Vec<_> = here.map(|(_, cell, outcome)| (*cell, *outcome)).collect();
    rows(&results).first()?.completion_s
}

/// The graphs of a test side by side, and their values.
fn drawn(scenario: Scenario, figures: &[&Figure], rows: &[Row]) -> Markup {
    html! {
        h3 { (scenario.title()) }
        div.mosaic {
            @for (_, svg) in figures.iter().flat_map(|figure| &figure.graphs) {
                div { (PreEscaped(svg)) }
            }
        }
        @for figure in figures { (values(figure.measure, rows)) }
    }
}

fn values(measure: &Measure, rows: &[Row]) -> Markup {
    let lines = measure.lines(rows);
    let points = measure.points(&lines);
    html! {
        details {
            summary { (measure.title) ", in " (measure.unit) }
            div.scroll { table {
                thead { tr {
                    th { (measure.scenario.axis()) }
                    @for point in &points { th { (point) } }
                } }
                tbody { @for line in &lines { (line_row(measure, line, &points)) } }
            } }
        }
    }
}

fn line_row(measure: &Measure, line: &[&Row], points: &[u32]) -> Markup {
    let first = line.first().map(|row| row.cell);
    let class = first.is_some_and(|cell| cell.carrier.is_ours()).then_some("ours");
    html! {
        tr class=[class] {
            td { @if let Some(cell) = first { (line_name(&cell)) } }
            @for point in points {
                td {
                    @if let Some(row) = line.iter().find(|row| row.cell.point() == *point) {
                        (measure.value(row))
                    }
                }
            }
        }
    }
}

/// Figure 12 again, with the programs that people run.
fn live(switches: &[LiveSwitch], rows: &[Row]) -> Result<Markup, FigureError> {
    let (_, svg) = live_figure(switches, rows)?;
    Ok(html! {
        h3 id="live" { "Figure 12 for real" }
        p {
            code { "anabranch serve" } " with its demo channels and native viewers, on UDP \
             sockets and in real time, with the live emulator between them: links of 100 Mbit/s \
             as above, one for each delay, and " (keys_in_words(switches)) " at each, at random \
             moments. The first message describes the channel; the first picture is whole when \
             its last packet is there. Beside it what the simulator says of the message."
        }
        div.mosaic { div { (PreEscaped(svg)) } }
        details {
            summary { "Figure 12 for real, in ms" }
            div.scroll { table {
                thead { tr {
                    th { (Scenario::Switching.axis()) }
                    @for (delay, _) in MILESTONES[0].points(switches) { th { (delay) } }
                } }
                tbody { @for milestone in &MILESTONES { tr.ours {
                    td { (milestone.name) }
                    @for (_, value) in milestone.points(switches) { td { (format!("{value:.1}")) } }
                } } }
            } }
        }
    })
}

fn keys_in_words(switches: &[LiveSwitch]) -> String {
    match switches.iter().map(|switch| switch.key).max() {
        Some(1) | None => "a key".to_owned(),
        Some(keys) => format!("{keys} keys"),
    }
}

fn sensitive(varied: &[(Variation, Cell, Outcome)]) -> Markup {
    html! {
        h2 id="sensitivity" { "Sensitivity: why the figures are as they are" }
        p {
            "Points of the figures with one parameter chosen otherwise: what a result hangs on, \
             and how much of it may come from what the paper leaves open. Empty where nothing \
             would change."
        }
        @for scenario in Scenario::ALL {
            @let of_figure: Vec<_> =
                varied.iter().filter(|(_, cell, _)| cell.scenario == scenario).collect();
            @if !of_figure.is_empty() {
                h3 { (heading_of(scenario)) }
                p { (lesson_of(scenario)) }
                (variations(scenario, &of_figure))
            }
        }
    }
}

const fn heading_of(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Loss => "Figures 8 and 9 at 10 % of loss",
        Scenario::Streams => "Figure 10 at 10 % of loss, with 1, 3 and 10 streams",
        Scenario::Channels => "Figure 11 at 10 % of loss",
        Scenario::Switching => "Figure 12 at a delay of 50 ms",
    }
}

const fn lesson_of(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Loss => {
            "A retransmission that is lost waits for the timer, and the server with it: completion \
             counts timers. So it hangs on their minimum, on whether acknowledgements are lost \
             too, and on the round trip, which bounds what a window halved by each loss carries. \
             Where that is less than the file's rate, as from 50 ms on, PR-SCTP gives up more \
             than UDP loses. R decides what PR-SCTP delivers: with 0 nothing is sent again, and \
             what the window holds back is given up besides; a few round trips are enough."
        }
        Scenario::Streams => {
            "SCTP numbers, retransmits and limits all streams together: streams change when a \
             message is delivered, not when it arrives. They change completion by the receive \
             window alone. What waits behind a lost message of its own stream fills the 55 kB \
             before the timer of 1 s has expired, and nothing more is sent; with three streams two \
             thirds of that are read meanwhile. With a window of 1 MiB completion is the same for \
             any number of streams, and with timers of 0.25 s nearly so."
        }
        Scenario::Channels => {
            "TCP's timers of 0.2 s hide what its single order costs: with the 1 s of SCTP it takes \
             longest by far. They and its buffer of 16 kB, which makes the server wait instead of \
             the message, make its delivery delay shorter than SCTP's, too. Head-of-line blocking \
             alone is seen in SCTP with all channels on one stream beside three: the same packets \
             are lost, and three streams spare messages what they need not wait for."
        }
        Scenario::Switching => {
            "Without loss, round trips and the time on the link are all there is. A SYN that is \
             lost costs its timer of 3 s. So does an SCTP client's request, as it has sent no data \
             before that would have told it the round trip; ours begins with a quarter of a \
             second."
        }
    }
}

/// A row for each variation, a column for each carrier and point.
fn variations(scenario: Scenario, varied: &[&(Variation, Cell, Outcome)]) -> Markup {
    let mut columns: Vec<_> = varied.iter().map(|(_, cell, _)| Cell { seed: 0, ..*cell }).collect();
    columns.sort_unstable();
    columns.dedup();
    html! {
        div.scroll { table {
            thead { tr {
                th { "Parameter" }
                @for cell in &columns {
                    th {
                        (cell.carrier)
                        @if scenario == Scenario::Streams { small { " " (cell.streams) } }
                    }
                }
            } }
            tbody { @for group in varied.chunk_by(|a, b| a.0 == b.0) {
                tr {
                    td { @if let Some((variation, ..)) = group.first() { (variation) } }
                    @for column in &columns { td { (varied_value(column, group)) } }
                }
            } }
        } }
    }
}

/// The seeds of a varied point together.
fn varied_value(column: &Cell, group: &[&(Variation, Cell, Outcome)]) -> Markup {
    let here = group.iter().filter(|(_, cell, _)| Cell { seed: 0, ..*cell } == *column);
    let results: Vec<_> = here.map(|(_, cell, outcome)| (*cell, *outcome)).collect();
    html! {
        @for row in rows(&results) {
            @if let Some(completion) = row.completion_s { (format!("{completion:.1} s")) }
            @if let Some(after) = row.switching_s { (format!("{:.0} ms", after.times(1e3))) }
            @if let Some(share) = row.share_received.filter(|share| share.mean < 1.0) {
                small { (format!("{:.1} % received", share.times(100.0))) }
            }
            @if let Some(delay) = row.delay_s {
                small { (format!("delay {:.0} ms", delay.times(1e3))) }
            }
            @if row.timeouts > 0.0 { small { (format!("{:.1} timers", row.timeouts)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::live::testing::switches;
    use super::super::sensitivity::GROUPS;
    use super::*;

    fn report() -> String {
        let cells = Scenario::ALL.into_iter().flat_map(|scenario| {
            let two = scenario.cells(1).into_iter().filter(|cell| [3, 10].contains(&cell.point()));
            two.filter(|cell| matches!(cell.carrier, Carrier::Sctp | Carrier::AnabranchPr))
        });
        let run = |cell: Cell| (cell, cell.run().expect("the machines behave"));
        let varied = GROUPS.iter().flat_map(|group| group.cells(1));
        let varied = varied.filter(|(_, cell)| cell.carrier == Carrier::Sctp);
        let vary = |(variation, cell): (Variation, Cell)| {
            (variation, cell, variation.run(&cell).expect("the machines behave"))
        };
        Experiment {
            parameters: Parameters::default(),
            command: "anabranch lab <kim2007>".to_owned(),
            results: cells.map(run).collect(),
            varied: varied.map(vary).collect(),
            live: switches(),
        }
        .report("0.1.0 (abc)")
        .unwrap()
    }

    #[test]
    fn the_report_has_all_parts_and_refers_to_nothing_outside() {
        let report = report();
        let parts = [
            "anabranch lab &lt;kim2007&gt;",
            "Figure 8: completion time",
            "Anabranch-PR, 10 %",
            "Figure 12: channel switching time",
            "id=\"statements\"",
            "id=\"one-direction\"",
            "all channels on one stream",
            "Figure 12 for real",
            "receive window of 1 MiB",
            "id=\"assumptions\"",
            "version = {0.1.0 (abc)}",
        ];
        for part in parts {
            assert!(report.contains(part), "{part}");
        }
        assert_eq!(report.matches("<svg ").count(), 2 + 2 * 2 + 2 + 1 + 1);
        for outside in ["src=", "href=\"h", "@import", "url("] {
            assert!(!report.contains(outside), "{outside}");
        }
    }
}
