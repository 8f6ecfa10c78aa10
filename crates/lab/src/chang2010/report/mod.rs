//! The report: all that was run and measured, on one page that can be sent.

mod assumptions;
mod figure;

use maud::{Markup, PreEscaped, html};

use super::cell::{Cell, Handoff, Method, Place};
use super::measure::{Counts, Outcome};
use super::paper::{self, Compared};
use super::statement::statements;
use super::table::{
    ByRoundTrip, Gaps, Row, Versus, again, by_round_trips, find, line_cells, lines, rows,
    varied_rows, versus,
};
use super::values::Values;
use super::variation::{THRESHOLDS_MS, Variation};
use crate::drawing::FigureError;
use crate::page::{Heading, assumed, cited, page, seeds_in_words};
use crate::statement::{Statement, held};
use crate::{Estimate, Parameters};
use assumptions::ASSUMPTIONS;
pub use figure::{Figures, figures};

/// What was run.
#[derive(Debug)]
pub struct Experiment {
    /// What is not the paper's.
    pub parameters: Parameters<Values>,
    /// The command that gives the same results.
    pub command: String,
    /// All cells, the seeds of each beside each other.
    pub results: Vec<(Cell, Outcome)>,
    /// The cells in which a parameter was varied, in the order of [`Variation::cells`]; none if
    /// only some cells were asked for.
    pub varied: Vec<(Variation, Cell, Outcome)>,
    /// Calls that were run live, the seeds of each cell beside each other; none unless asked for.
    pub live: Vec<(Cell, Outcome)>,
}

impl Experiment {
    /// What the seeds of each cell say together.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        rows(self.results.iter().map(|(cell, outcome)| (*cell, outcome)))
    }

    /// The same of what was run live.
    #[must_use]
    pub fn live_rows(&self) -> Vec<Row> {
        rows(self.live.iter().map(|(cell, outcome)| (*cell, outcome)))
    }

    /// What the paper says, and what is said of ours; nothing where parameters are not the paper's.
    #[must_use]
    pub fn statements(&self) -> Vec<Statement> {
        match self.parameters.are_papers() {
            true => statements(&self.rows(), &varied_rows(&self.varied), &self.live_rows()),
            false => Vec::new(),
        }
    }

    /// Figure 13, what decides whether a handoff succeeds, and how long ours take.
    ///
    /// # Errors
    /// The drawing library's.
    pub fn figures(&self) -> Result<Figures, FigureError> {
        let (rows, varied, live) = (self.rows(), varied_rows(&self.varied), self.live_rows());
        figures(self.parameters.are_papers(), &rows, &varied, &live)
    }

    /// How many seconds were simulated.
    #[must_use]
    pub fn simulated_s(&self) -> usize {
        let varied = self.varied.iter().map(|(_, _, outcome)| outcome.simulated_s);
        let results = self.results.iter().map(|(_, outcome)| outcome.simulated_s);
        results.chain(varied).sum::<f64>().round() as usize
    }

    /// The report: an HTML page that refers to nothing outside itself. `version` is the build, with
    /// its commit: who cites it needs both.
    ///
    /// # Errors
    /// A figure cannot be drawn.
    pub fn report(&self, version: &str) -> Result<String, FigureError> {
        let (rows, varied) = (self.rows(), varied_rows(&self.varied));
        let are_papers = self.parameters.are_papers();
        let figures = self.figures()?;
        let body = html! {
            (self.heading())
            @if are_papers { (held(&self.statements(), "")) }
            (table_3(&rows, are_papers))
            @if !figures.is_empty() {
                h2 id="figures" { "Figures" }
                div.mosaic { @for (_, svg) in &figures { div { (PreEscaped(svg)) } } }
            }
            (table_4(&rows, are_papers))
            (ours(&rows, &self.live_rows()))
            @if !varied.is_empty() { (sensitive(&rows, &varied)) }
            (assumed(&ASSUMPTIONS))
            (cited(version, "the commands of this page"))
        };
        Ok(page("Timed PR-SCTP calls: anabranch beside Chang and others, 2010", &body))
    }

    fn heading(&self) -> Markup {
        let mut parts = vec![("table-3", "Table 3"), ("figures", "Figures"), ("ours", "Ours")];
        if self.parameters.are_papers() {
            parts.insert(0, ("statements", "The paper's statements"));
        }
        if !self.varied.is_empty() {
            parts.push(("sensitivity", "Sensitivity"));
        }
        parts.push(("assumptions", "Assumptions"));
        let place = Place::Handoff(Handoff::WiredToWireless);
        let cell = Cell { place, method: Method::Timed(paper::SHORTEST_MS), seed: 1 };
        let heading = Heading {
            title: "Calls that go on when a path dies",
            about: "The experiment of Chang, Young, Tsai and Fang, \u{201c}Timed PR-SCTP for Fast \
                    Voice/Video over IP in Wired/Wireless Environments\u{201d} (2010), with real \
                    packets: every one is made and read by the code that runs on sockets, and only \
                    links, cells and clock are simulated.",
            said: self.parameters.said(),
            left_out: "The paper's values and statements are left out, as they are about its own.",
            command: &self.command,
            seeds: seeds_in_words(self.results.iter().map(|(cell, _)| cell.seed)),
            cells: self.results.len() + self.varied.len(),
            simulated_s: self.simulated_s(),
            again: again(&self.parameters, &cell),
            parts,
        };
        heading.shown()
    }
}

fn table_3(rows: &[Row], are_papers: bool) -> Markup {
    let lines = lines();
    let run = lines.iter().filter_map(|line| Some((line, line_cells(rows, line)?)));
    html! {
        h2 id="table-3" { "Table 3: the gap of a handoff" }
        p {
            "In seconds, means over the seeds with 95 % intervals, over the calls that went on"
            @if are_papers { "; the paper's values in grey, which end at 1.5 s" }
            ". A call fails when its monitor finds no other path and gives up."
        }
        div.scroll { table {
            thead { tr {
                th { "Threshold" }
                @for handoff in Handoff::ALL { th {
                    "Handoff " (handoff.number()) small { br; (handoff) }
                } }
            } }
            tbody { @for (line, cells) in run {
                tr.ours[line.method.is_ours()] {
                    td { (line.title) }
                    @for (ours, paper) in cells { td {
                        (ours)
                        @if let Some(paper) = paper.filter(|_| are_papers) {
                            small { "paper " (format!("{paper:.3}")) }
                        }
                    } }
                }
            } }
        } }
    }
}

fn table_4(rows: &[Row], are_papers: bool) -> Markup {
    let place = Place::Handoff(Handoff::WiredToWireless);
    let versus = versus();
    let run = versus.iter().filter_map(|it| Some((it, find(rows, place, it.method)?)));
    html! {
        h2 id="table-4" { "Table 4: beside a TCP that connects anew" }
        p { "From wired to wireless, each direction; loss is the share of frames of both kinds." }
        div.scroll { table {
            thead { tr {
                th { "" } th { "video, kB/s" } th { "voice, kB/s" } th { "gap, s" }
                th { "frames lost, %" }
            } }
            tbody { @for (Versus { title, method, paper }, row) in run {
                @let [voice, video] = [0, 1].map(|kind| row.estimate(|it| it.kbytes_per_s[kind]));
                @let paper = paper.as_ref().filter(|_| are_papers);
                tr.ours[method.is_ours()] {
                    td { (title) }
                    (beside(&format!("{video:.0}"), paper, |it| Some((it.video_kbytes, 0))))
                    (beside(&format!("{voice:.0}"), paper, |it| Some((it.voice_kbytes?, 0))))
                    (beside(&row.in_words(), paper, |it| Some((it.gap_s, 3))))
                    (beside(&format!("{:.2}", row.lost_percent()), paper, |it| {
                        Some((it.lost_percent, 2))
                    }))
                }
            } }
        } }
    }
}

/// A value, and the paper's with its digits.
fn beside(
    ours: &str,
    paper: Option<&Compared>,
    of: impl Fn(&Compared) -> Option<(f64, usize)>,
) -> Markup {
    html! {
        td {
            (ours)
            @if let Some((value, digits)) = paper.and_then(of) {
                small { "paper " (format!("{value:.digits$}")) }
            }
        }
    }
}

fn ours(rows: &[Row], live: &[Row]) -> Markup {
    html! {
        h2 id="ours" { "Ours by round trip, voice and video apart" }
        p {
            "The longest time without a frame around each cut, in each direction, over all seeds; \
             a frame of voice comes every 20 ms and a picture every 40 ms anyhow."
        }
        @if !live.is_empty() { p id="live" {
            "Live: two agents (" code { "anabranch call" } "), each in a network namespace, in \
             real time, with the emulator between them; links behind it are taken down. Gaps, and \
             what was lost or late, are those of what the agents played out, so that a playout's \
             wait is in them. " code { "live.csv" } " has the command of each call."
        } }
        div.scroll { table {
            thead { tr {
                th { "Round trip" } th.text { "The path goes" } th.text { "Run" } th { "" }
                th { "cuts" } th { "gap p50, s" } th { "p95, s" } th { "longest, s" }
                th { "frames" } th { "lost" } th { "late" }
            } }
            tbody { @for it in by_round_trips(rows, live) { (ours_row(&it)) } }
        } }
    }
}

fn ours_row(it: &ByRoundTrip) -> Markup {
    let ByRoundTrip { ms, method, run, name, gaps, counts } = it;
    let Gaps { p50, p95, max, .. } = gaps;
    let Counts { taken, lost, late } = counts;
    let way = if *method == Method::Planned { "on purpose" } else { "unannounced" };
    html! {
        tr {
            td { (ms) " ms" } td.text { (way) } td.text { (run) } td { (name) } td { (it.cuts()) }
            @for gap in [p50, p95, max] { td { (format!("{gap:.3}")) } }
            @for count in [taken, lost, late] { td { (count) } }
        }
    }
}

fn sensitive(rows: &[Row], varied: &[(Variation, Row)]) -> Markup {
    let place = Place::Handoff(Handoff::WiredToWireless);
    let usual = THRESHOLDS_MS.map(|ms| find(rows, place, Method::Timed(ms)));
    html! {
        h2 id="sensitivity" { "Sensitivity: why the handoff fails" }
        p {
            "From wired to wireless, single parameters chosen otherwise: the share of calls that \
             end at the cut, in per cent, by threshold; in grey the gap of the others, in seconds."
        }
        div.scroll { table {
            thead { tr {
                th { "" }
                @for ms in THRESHOLDS_MS { th { (f64::from(ms) / 1e3) " s" } }
            } }
            tbody {
                tr { td { "as in table 3" } @for row in usual { (failing(row)) } }
                @for group in varied.chunk_by(|a, b| a.0 == b.0) { tr {
                    td { (group[0].0) small { code { "--set " (group[0].0.set) } } }
                    @for ms in THRESHOLDS_MS {
                        (failing(group.iter().map(|(_, row)| row).find(|row| {
                            row.cell.method == Method::Timed(ms)
                        })))
                    }
                } }
            }
        } }
    }
}

fn failing(row: Option<&Row>) -> Markup {
    let gap = row.and_then(Row::handoff_s).map(|gap: Estimate| format!("{gap:.2}"));
    html! {
        td {
            @match row {
                Some(row) => (format!("{:.0}", row.failed_percent().mean)),
                None => "–",
            }
            @if let Some(gap) = gap { small { (gap) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(handoff_s: Option<f64>) -> Outcome {
        Outcome {
            handoff_s,
            gave_up_s: handoff_s.is_none().then_some(0.5),
            voice_gaps_s: vec![0.02; 4],
            video_gaps_s: vec![0.04, 0.05, 0.06, 0.4],
            voice: Counts { taken: 100, lost: 0, late: 0 },
            video: Counts { taken: 100, lost: 3, late: 1 },
            kbytes_per_s: [100.0, 1_000.0],
            simulated_s: 20.0,
        }
    }

    fn experiment(parameters: Parameters<Values>) -> Experiment {
        let result = |cell: Cell| {
            let fails = matches!(cell.method, Method::Timed(ms) if ms < 1_000);
            (cell, outcome((!fails).then_some(1.7)))
        };
        let varied = Variation::cells(2).map(|(it, cell)| (it, cell, outcome(Some(1.0))));
        Experiment {
            parameters,
            command: "anabranch lab <chang2010>".to_owned(),
            results: super::super::cells(2).into_iter().map(result).collect(),
            varied: varied.collect(),
            live: Vec::new(),
        }
    }

    #[test]
    fn what_was_run_live_is_in_the_table_and_among_the_statements() {
        let simulated = experiment(Parameters::default());
        let report = simulated.report("0.1.0 (abc)").unwrap();
        assert!(!report.contains("id=\"live\"") && !report.contains("Live, no frame of voice"));
        let live = super::super::live_cells(2).into_iter().map(|cell| (cell, outcome(None)));
        let experiment = Experiment { live: live.collect(), ..simulated };
        let report = experiment.report("0.1.0 (abc)").unwrap();
        for part in ["id=\"live\"", "<td class=\"text\">live</td>", "Live, no frame of voice"] {
            assert!(report.contains(part), "{part}");
        }
        let names: Vec<_> =
            experiment.figures().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["figure-13", "failures", "round-trips"]);
    }

    #[test]
    fn the_report_has_all_parts_and_refers_to_nothing_outside() {
        let report = experiment(Parameters::default()).report("0.1.0 (abc)").unwrap();
        for part in [
            "anabranch lab &lt;chang2010&gt;",
            "id=\"statements\"",
            "paper 1.865",
            "paper 47.849",
            "fails",
            "Figure 13: gap of a handoff by threshold",
            "TCP that reconnects (USHA)",
            "unannounced",
            "--set rto-min=500ms",
            "id=\"assumptions\"",
            "version = {0.1.0 (abc)}",
        ] {
            assert!(report.contains(part), "{part}");
        }
        for outside in ["src=", "href=\"h", "@import", "url("] {
            assert!(!report.contains(outside), "{outside}");
        }
    }

    #[test]
    fn what_is_not_the_papers_stands_beside_none_of_its_values() {
        let parameters = Parameters::read(["delay=5ms"]).unwrap();
        let report = experiment(parameters).report("0.1.0 (abc)").unwrap();
        assert!(report.contains("Not the paper's: delay 5ms (open: 1ms)."));
        for part in ["paper 1.865", "id=\"statements\"", "the paper's mean"] {
            assert!(!report.contains(part), "{part}");
        }
    }
}
