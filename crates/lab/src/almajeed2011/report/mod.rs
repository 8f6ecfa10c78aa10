//! The report: all that was run and measured, on one page that can be sent.

mod assumptions;
mod difference;
mod figure;

use maud::{Markup, PreEscaped, html};

use super::beside::{Beside, Part, beside};
use super::cell::{Carrier, Cell, Scenario, Setup};
use super::measure::{Measured, Outcome};
use super::paper::{COLUMNS, Column, Measure, TITLES};
use super::statement::{Statement, statements};
use super::table::{Row, rows, varied_rows};
use super::variation::{BESIDE, Variation};
use crate::drawing::FigureError;
use crate::page::{assumed, cited, page, seeds_in_words};
use crate::{Estimate, Verdict};
use assumptions::ASSUMPTIONS;
use difference::{Difference, compared, differences};
pub use figure::{Figure, figures, shown};

/// What was run.
#[derive(Debug)]
pub struct Experiment<'a> {
    /// The command that gives the same results.
    pub command: String,
    /// What was sent, and how.
    pub setup: &'a Setup,
    /// All cells, in the order of [`cells`](super::cells).
    pub results: Vec<(Cell, Measured)>,
    /// The cells in which a parameter was varied, in the order of [`Variation::cells`]; none if
    /// only some cells were asked for.
    pub varied: Vec<(Variation, Cell, Outcome)>,
}

impl Experiment<'_> {
    /// What the seeds of each cell say together.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        rows(self.results.iter().map(|(cell, measured)| (*cell, &measured.outcome)))
    }

    /// What the paper says, as far as there are runs for it; nothing of what is not the paper's.
    #[must_use]
    pub fn statements(&self) -> Vec<Statement> {
        match self.setup.are_papers() {
            true => statements(&self.rows(), &varied_rows(&self.varied)),
            false => Vec::new(),
        }
    }

    /// What a TCP beside the video gets, as far as there are runs for it.
    #[must_use]
    pub fn beside(&self) -> Vec<Beside> {
        beside(&varied_rows(&self.varied))
    }

    /// Tables 3 to 10 drawn, and figures 2 to 5, as far as there are runs for them.
    ///
    /// # Errors
    /// The drawing library's.
    pub fn figures(&self) -> Result<Vec<Figure>, FigureError> {
        figures(self.setup, &self.rows(), self.results.iter().find(|(cell, _)| shown(cell)))
    }

    /// The report: an HTML page that refers to nothing outside itself. `version` is the build, with
    /// its commit: who cites it needs both.
    ///
    /// # Errors
    /// A figure cannot be drawn.
    pub fn report(&self, version: &str) -> Result<String, FigureError> {
        let (rows, varied) = (self.rows(), varied_rows(&self.varied));
        let are_papers = self.setup.are_papers();
        let figures = self.figures()?;
        let title = "One video over several DCCP connections: anabranch beside Al-Majeed, 2011";
        let body = html! {
            (self.heading())
            (said(&self.statements()))
            (tables(self.setup, &rows, &figures))
            @if figures.iter().any(|figure| figure.table.is_none()) {
                h2 id="figures" { "Figures 2 to 5" }
                @for figure in figures.iter().filter(|figure| figure.table.is_none()) {
                    p { (figure.caption) }
                    div { (PreEscaped(&figure.svg)) }
                }
            }
            (ours(&rows, &varied))
            @if are_papers { (different(&differences(&rows, &varied))) }
            @if !varied.is_empty() { (sensitive(&rows, &varied)) }
            (assumed(&ASSUMPTIONS))
            (cited(version, "the commands of this page"))
        };
        Ok(page(title, &body))
    }

    fn heading(&self) -> Markup {
        let seeds = seeds_in_words(self.results.iter().map(|(cell, _)| cell.seed));
        let are_papers = self.setup.are_papers();
        html! {
            h1 { "One video over several DCCP connections" }
            p {
                "The experiment of Al-Majeed and Fleury, \u{201c}DCCP video streaming over \
                 multiple connections in the wireless Internet\u{201d} (2011), with real packets: \
                 every one is made and read by the code that runs on sockets, and only radio, \
                 links and clock are simulated."
            }
            @if let Some(said) = self.setup.parameters.said() {
                p { strong { (said) } " The paper's values are left out." }
            }
            @if let Some(why) = self.setup.unscored() { p { (why) } }
            p {
                "Run as " code { (self.command) } " with anabranch " (env!("CARGO_PKG_VERSION"))
                ", seeds " (seeds) ": " (self.results.len() + self.varied.len())
                " cells. In cells.csv each has the command that runs it again."
            }
            nav {
                @if !self.statements().is_empty() { a href="#statements" { "Statements" } }
                a href="#tables" { "Tables" }
                a href="#figures" { "Figures" }
                a href="#ours" { "Ours" }
                @if are_papers { a href="#differences" { "Differences" } }
                @if !self.varied.is_empty() { a href="#sensitivity" { "Sensitivity" } }
                a href="#assumptions" { "Assumptions" }
            }
        }
    }
}

fn said(statements: &[Statement]) -> Markup {
    html! { @if !statements.is_empty() {
        h2 id="statements" { "What the paper says" }
        p {
            "Shown is what holds with room between the 95 % confidence intervals, undecided where \
             they overlap, and where there are none: one seed decides nothing."
        }
        div.scroll { table {
            thead { tr {
                th { "In" } th.text { "Statement" } th { "Our runs" } th.text { "Our values" }
            } }
            tbody { @for Statement { place, said, verdict, ours } in statements { tr {
                td { (place) }
                td.text { (said) }
                td class=(class_of(*verdict)) { (verdict.as_str()) }
                td.text { (ours) }
            } } }
        } }
    } }
}

const fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Shown => "good",
        Verdict::NotShown => "bad",
        Verdict::Undecided => "open",
    }
}

fn tables(setup: &Setup, rows: &[Row], figures: &[Figure]) -> Markup {
    html! {
        h2 id="tables" { "Tables 3 to 10" }
        p {
            "Means over the seeds with 95 % intervals"
            @if setup.are_papers() {
                ", and the paper's values in grey; in the figures, these are rings"
            }
            ". Ours are connections=auto, as many as bring rate while no queue grows; SCTP, one \
             association in the place of the connections, which repeats what is lost; and both \
             Multipath DCCP and SCTP by a sender that is a station of two cells (MP and SCTP2 in \
             the figures)."
        }
        @for (number, title) in TITLES {
            (table(setup, rows, number, title))
            div.mosaic {
                @for figure in figures.iter().filter(|figure| figure.table == Some(number)) {
                    (PreEscaped(&figure.svg))
                }
            }
        }
    }
}

fn table(setup: &Setup, rows: &[Row], number: u8, title: &str) -> Markup {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.table == number).collect();
    let Some(first) = columns.first() else { return html! {} };
    let is_run = |column: &&&Column| rows.iter().any(|row| row.is_at_any(column));
    let columns: Vec<&Column> = columns.iter().filter(is_run).copied().collect();
    let connections = first.values.iter().map(|(connections, _)| Carrier::Dccp(*connections));
    html! { @if !columns.is_empty() {
        h3 { "Table " (number) ": " (title) }
        div.scroll { table {
            thead { tr {
                th { "" }
                @for Column { scenario, frame_us, measure, .. } in &columns { th {
                    (measure.name())
                    small { br; (scenario) ", " (milliseconds(*frame_us)) }
                } }
            } }
            tbody {
                @for carrier in connections.chain(Carrier::OURS) {
                    tr class=[carrier.is_ours().then_some("ours")] {
                        td { (carrier) }
                        @for column in &columns {
                            td { (value(setup, rows, column, carrier)) }
                        }
                    }
                }
            }
        } }
    } }
}

fn value(setup: &Setup, rows: &[Row], column: &Column, carrier: Carrier) -> Markup {
    let digits = column.measure.digits();
    let row = rows.iter().find(|row| row.is_at(column.scenario, column.frame_us, carrier));
    let paper = column.paper(carrier).filter(|_| setup.are_papers());
    html! {
        @match row.and_then(|row| row.measure(column.measure)) {
            Some(ours) => (format!("{ours:.digits$}")),
            None => "–",
        }
        @if let Some(words) = row.and_then(Row::in_vain_in_words) { small { (words) } }
        @if let Some(paper) = paper { small { "paper " (format!("{paper:.digits$}")) } }
    }
}

fn milliseconds(frame_us: u32) -> String {
    format!("{} ms", f64::from(frame_us) / 1e3)
}

/// What a viewer sees in time, and what a TCP beside it gets.
fn ours(rows: &[Row], varied: &[(Variation, Row)]) -> Markup {
    let at_five = rows.iter().filter(|row| row.is_as_usual());
    let mut at_five: Vec<&Row> = at_five.collect();
    at_five.sort_by_key(|row| (row.cell.scenario, row.cell.frame_us, row.cell.carrier));
    html! {
        h2 id="ours" { "Quality in time, and ours: connections=auto, SCTP, two cells" }
        p {
            "The paper scores what arrived, however late. A viewer who waits for 6 s and then \
             watches at 30 pictures a second sees what arrived in time: the second column."
        }
        p {
            "Over two cells, the sender is the first station of a second cell as well, which has \
             stations and traffic of its own and loses packets by itself. One MP-DCCP connection \
             (RFC 9897) sends each slice by the cell where it arrives first, and one SCTP \
             association does the same. Both have the radio of two cells: compare them with each \
             other, and with twice what one has."
        }
        div.scroll { table {
            thead { tr {
                th { "" } th { "PSNR-Y of all that came" } th { "in time" } th { "SSIM" }
                th { "slices lost, %" } th { "mean delay, s" } th { "kbit/s" }
            } }
            tbody { @for row in at_five {
                tr class=[row.cell.carrier.is_ours().then_some("ours")] {
                    td { (row.cell.scenario) ", " (milliseconds(row.cell.frame_us)) ", "
                        (row.cell.carrier) }
                    td { (shown_as(row, 2, |it| it.psnr_y_db)) }
                    td { (shown_as(row, 2, |it| it.psnr_y_in_time_db)) }
                    td { (shown_as(row, 3, |it| it.ssim)) }
                    td { (shown_as(row, 1, |it| Measure::Lost.of(it))) }
                    td { (shown_as(row, 3, |it| it.delay_s)) }
                    td { (shown_as(row, 0, |it| Some(it.throughput_kbps))) }
                }
            } }
        } }
        (with_tcp(&beside(varied)))
    }
}

/// What a TCP gets: a column for each place.
fn with_tcp(all: &[Beside]) -> Markup {
    let mut places: Vec<(Scenario, u32)> =
        all.iter().map(|it| (it.scenario, it.frame_us)).collect();
    places.dedup();
    let mut carriers: Vec<Carrier> = all.iter().map(|it| it.carrier).collect();
    carriers.sort_unstable();
    carriers.dedup();
    let found = |place: &(Scenario, u32), carrier: Carrier| {
        all.iter().find(|it| (it.scenario, it.frame_us) == *place && it.carrier == carrier)
    };
    html! { @if !all.is_empty() {
        h3 id="beside" { "A TCP beside the video, kbit/s" }
        p {
            "A TCP transfer goes through the same queues to the same place while the video is \
             sent. In grey: its share, as a multiple of what it has beside one connection to that \
             place, and the video's rate. A sender with two cells has one in each; to node C and \
             from user to user both of them, and the video, share what is behind the cells."
        }
        div.scroll { table {
            thead { tr {
                th { "" }
                @for (scenario, frame_us) in &places { th {
                    (scenario) small { br; (milliseconds(*frame_us)) }
                } }
            } }
            tbody { @for carrier in &carriers {
                tr class=[carrier.is_ours().then_some("ours")] {
                    td { (carrier) }
                    @for place in &places { td {
                        @if let Some(it) = found(place, *carrier) {
                            (part(&it.tcp, ""))
                            @if let Some(other) = &it.other { (part(other, " in the other cell")) }
                            small { "video " (format!("{:.0}", it.video_kbps)) }
                        } @else { "–" }
                    } }
                }
            } }
        } }
    } }
}

fn part(Part { kbps, share }: &Part, what: &str) -> Markup {
    html! { (format!("{kbps:.0}")) small { "× " (format!("{share:.2}")) (what) } }
}

fn shown_as(row: &Row, digits: usize, of: impl Fn(&Outcome) -> Option<f64>) -> String {
    row.estimate(of).map_or_else(|| "–".to_owned(), |it: Estimate| format!("{it:.digits$}"))
}

fn different(differences: &[Difference]) -> Markup {
    html! {
        h2 id="differences" { "Differences from the paper" }
        p {
            "A value is listed when it is off by more than a fifth, or by more than 1 dB: "
            (differences.len()) " of "
            (compared().map(|column| column.values.len()).sum::<usize>())
            ". Sending times follow from throughputs and from the size of the video, which is not \
             the paper's, and are left out. A cause is named only where a run without it meets \
             the paper for every number of connections that was run."
        }
        div.scroll { table {
            thead { tr {
                th { "Cell" } th { "What" } th { "Ours" } th { "Paper" } th.text { "Cause" }
            } }
            tbody { @for it in differences { tr {
                td {
                    "Table " (it.column.table) ": " (it.column.scenario)
                    small { (milliseconds(it.column.frame_us)) ", " (it.carrier) }
                }
                td { (it.column.measure.name()) }
                td { (it.ours) }
                td { (it.paper) }
                td.text { (it.cause) }
            } } }
        } }
    }
}

fn sensitive(rows: &[Row], varied: &[(Variation, Row)]) -> Markup {
    html! {
        h2 id="sensitivity" { "Sensitivity" }
        p { "Single parameters chosen otherwise; in grey what the tables have." }
        @let chosen = varied.chunk_by(|a, b| a.0 == b.0);
        @for group in chosen.filter(|group| group[0].0.set != BESIDE) {
            @let variation = group[0].0;
            h3 { (variation) " " code { "--set " (variation.set) } }
            div.scroll { table {
                thead { tr {
                    th { "" } th { "sending time, s" } th { "kbit/s" } th { "delay, s" }
                    th { "lost, %" } th { "PSNR-Y, dB" } th { "round trip, s" }
                } }
                tbody { @for (_, row) in group { (varied_row(rows, row)) } }
            } }
        }
    }
}

fn varied_row(rows: &[Row], varied: &Row) -> Markup {
    let cell = varied.cell;
    let usual = rows.iter().find(|row| row.is_at(cell.scenario, cell.frame_us, cell.carrier));
    let [period, throughput, delay, lost, psnr] =
        [Measure::Period, Measure::Throughput, Measure::Delay, Measure::Lost, Measure::Psnr]
            .map(|measure| [Some(varied), usual].map(|row| measured_as(row?, measure)));
    let rtt = [Some(varied), usual].map(|row| Some(shown_as(row?, 3, |it| it.rtt_s)));
    html! { tr {
        td {
            (cell.scenario) ", " (milliseconds(cell.frame_us)) ", " (cell.carrier)
            @if let Some(words) = varied.in_vain_in_words() { small { (words) } }
        }
        @for [varied, usual] in [period, throughput, delay, lost, psnr, rtt] { td {
            @if let Some(varied) = varied { (varied) }
            @if let Some(usual) = usual { small { (usual) } }
        } }
    } }
}

fn measured_as(row: &Row, measure: Measure) -> Option<String> {
    Some(shown_as(row, measure.digits(), |it| measure.of(it)))
}

impl Row {
    /// Whether it is of this scenario and frame.
    fn is_at_any(&self, column: &Column) -> bool {
        self.is_as_usual()
            && (self.cell.scenario, self.cell.frame_us) == (column.scenario, column.frame_us)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Scenario;
    use super::*;
    use crate::Parameters;

    #[test]
    fn where_nothing_ever_gets_through_it_says_so() {
        // The answer to the first packet waits in a queue that the stream of constant rate fills.
        let parameters = Parameters::read(["own-feedback=no,queue=1"]).unwrap();
        let setup = Setup::with(parameters, Some(3)).unwrap();
        let (scenario, carrier) = (Scenario::BaseStation, Carrier::Dccp(1));
        let cell = Cell { scenario, carrier, frame_us: 5_000, bad_loss_percent: 5, seed: 1 };
        let results = vec![(cell, cell.run(&setup).unwrap())];
        let experiment =
            Experiment { command: String::new(), setup: &setup, results, varied: Vec::new() };
        let words = "nothing ever got through";
        assert!(experiment.report("1").unwrap().contains(words));
        assert!(super::super::tables(&setup, &experiment.rows()).contains(words));
    }

    #[test]
    fn the_report_has_all_parts_and_refers_to_nothing_outside() {
        let setup = Setup::with(Parameters::default(), Some(60)).unwrap();
        let run = |cell: Cell| (cell, cell.run(&setup).expect("machines that behave"));
        let cells = super::super::cells(1).into_iter();
        let chosen = |cell: &Cell| cell.scenario == Scenario::NodeC;
        let results = cells.filter(chosen).map(run).collect();
        let command = "anabranch lab <almajeed2011>".to_owned();
        let beside = Variation::cells(1).filter(|(it, _)| it.set == BESIDE).take(1);
        let varied = beside.map(|(it, cell)| (it, cell, it.run(&cell, &setup).unwrap().0));
        let varied = varied.collect();
        let experiment = Experiment { command, setup: &setup, results, varied };
        let report = experiment.report("0.1.0 (abc)").unwrap();
        for part in [
            "anabranch lab &lt;almajeed2011&gt;",
            "Table 4: to node C",
            "paper 35.2",
            "With four connections slices take longer than with one.",
            "Figure 3: arrival of the groups of pictures",
            "A TCP beside the video, kbit/s",
            "id=\"differences\"",
            "id=\"sensitivity\"",
            "id=\"assumptions\"",
            "version = {0.1.0 (abc)}",
        ] {
            assert!(report.contains(part), "{part}");
        }
        assert!(!report.contains("href=\"http") && !report.contains("src="));
        let figures = experiment.figures().unwrap();
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        // Figure 2 needs other cells.
        let papers = ["figure-3", "figure-4", "figure-5"];
        let drawn = ["table-4-period", "table-4-throughput", "table-5-delay", "table-6-psnr"];
        assert_eq!(names, [&drawn[..], &papers].concat());
    }
}
