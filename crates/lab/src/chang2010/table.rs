//! [`Row`]: what the seeds of a cell say together, and the tables made of rows.

use std::fmt::Write as _;

use serde::Serialize;

use super::cell::{Cell, Handoff, Method, Place, RTTS_MS};
use super::measure::{Counts, Outcome};
use super::paper::{self, Compared, SCTP_IHU, THRESHOLDS_MS, USHA};
use super::variation::Variation;
use crate::{Estimate, Parameters};
use crate::{Origin, csv_lines};

use super::values::Values;

/// One way of calling at one place, with all its seeds.
#[derive(Debug, Clone)]
pub struct Row {
    /// Any of its cells.
    pub cell: Cell,
    /// Of each seed.
    pub outcomes: Vec<Outcome>,
}

/// The seeds of each cell together, which are beside each other.
#[must_use]
pub fn rows<'a>(results: impl IntoIterator<Item = (Cell, &'a Outcome)>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (cell, outcome) in results {
        match rows.last_mut().filter(|row| Cell { seed: cell.seed, ..row.cell } == cell) {
            Some(row) => row.outcomes.push(outcome.clone()),
            None => rows.push(Row { cell, outcomes: vec![outcome.clone()] }),
        }
    }
    rows
}

/// The same of what was varied.
pub(super) fn varied_rows(varied: &[(Variation, Cell, Outcome)]) -> Vec<(Variation, Row)> {
    let runs = varied.chunk_by(|a, b| a.0 == b.0);
    let of_run = |run: &[(Variation, Cell, Outcome)]| {
        let variation = run[0].0;
        let rows = rows(run.iter().map(|(_, cell, outcome)| (*cell, outcome)));
        rows.into_iter().map(move |row| (variation, row)).collect::<Vec<_>>()
    };
    runs.flat_map(of_run).collect()
}

/// Gaps of all cuts, directions and seeds, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gaps {
    pub(super) count: usize,
    pub(super) p50: f64,
    pub(super) p95: f64,
    pub(super) max: f64,
}

impl Gaps {
    fn of(mut gaps: Vec<f64>) -> Option<Self> {
        gaps.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * gaps.len() as f64).ceil() as usize;
            gaps.get(rank.saturating_sub(1)).copied()
        };
        Some(Self { count: gaps.len(), p50: at(0.5)?, p95: at(0.95)?, max: at(1.0)? })
    }
}

impl Row {
    pub(super) fn estimate(&self, of: impl Fn(&Outcome) -> f64) -> Estimate {
        Estimate::of(&self.outcomes.iter().map(of).collect::<Vec<_>>())
    }

    /// Of those calls that went on; none where fewer than half did.
    pub(super) fn handoff_s(&self) -> Option<Estimate> {
        let gaps: Vec<f64> = self.outcomes.iter().filter_map(|it| it.handoff_s).collect();
        (2 * gaps.len() >= self.outcomes.len() && !gaps.is_empty()).then(|| Estimate::of(&gaps))
    }

    /// Calls that did not go on.
    pub(super) fn failed(&self) -> usize {
        self.outcomes.iter().filter(|it| it.handoff_s.is_none()).count()
    }

    pub(super) fn failed_percent(&self) -> Estimate {
        self.estimate(|it| if it.handoff_s.is_none() { 100.0 } else { 0.0 })
    }

    pub(super) fn lost_percent(&self) -> Estimate {
        self.estimate(|it| it.voice.plus(it.video).lost_percent())
    }

    pub(super) fn voice_gaps(&self) -> Option<Gaps> {
        Gaps::of(self.outcomes.iter().flat_map(|it| it.voice_gaps_s.iter().copied()).collect())
    }

    pub(super) fn video_gaps(&self) -> Option<Gaps> {
        Gaps::of(self.outcomes.iter().flat_map(|it| it.video_gaps_s.iter().copied()).collect())
    }

    pub(super) fn voice(&self) -> Counts {
        self.outcomes.iter().fold(Counts::default(), |all, it| all.plus(it.voice))
    }

    pub(super) fn video(&self) -> Counts {
        self.outcomes.iter().fold(Counts::default(), |all, it| all.plus(it.video))
    }

    /// The gap, or how many calls failed.
    pub(super) fn in_words(&self) -> String {
        let (failed, all) = (self.failed(), self.outcomes.len());
        match self.handoff_s() {
            Some(gap) if failed == 0 => format!("{gap:.3}"),
            Some(gap) => format!("{gap:.3}, {failed} of {all} fail"),
            None if failed == all => "fails".to_owned(),
            None => format!("{failed} of {all} fail"),
        }
    }
}

pub(super) fn find(rows: &[Row], place: Place, method: Method) -> Option<&Row> {
    rows.iter().find(|row| (row.cell.place, row.cell.method) == (place, method))
}

/// A line of table 3: what it is, how it was called, and the paper's threshold.
pub(super) struct Line {
    pub(super) title: String,
    pub(super) method: Method,
    pub(super) paper_ms: u32,
}

/// The lines of table 3 and those below the paper's, ours last.
pub(super) fn lines() -> Vec<Line> {
    let default = paper::DEFAULT_MS;
    let title = "30 s, SCTP's own".to_owned();
    let mut lines = vec![Line { title, method: Method::Sctp, paper_ms: default }];
    lines.extend(THRESHOLDS_MS.into_iter().map(|ms| {
        let method = Method::Timed(ms);
        let by = if ms == default { ", the monitor's" } else { "" };
        Line { title: format!("{} s{by}", f64::from(ms) / 1e3), method, paper_ms: ms }
    }));
    for method in Method::OURS {
        lines.push(Line { title: format!("ours, {method}"), method, paper_ms: 0 });
    }
    lines
}

/// The gaps of a line, one for each handoff, and the paper's.
pub(super) fn line_cells(rows: &[Row], line: &Line) -> Option<[(String, Option<f64>); 4]> {
    let row = |handoff| find(rows, Place::Handoff(handoff), line.method);
    Handoff::ALL.iter().any(|handoff| row(*handoff).is_some()).then(|| {
        Handoff::ALL.map(|handoff| {
            let ours = row(handoff).map_or_else(|| "–".to_owned(), Row::in_words);
            (ours, paper::gap_s(line.paper_ms, handoff.number()))
        })
    })
}

/// A line of table 4.
pub(super) struct Versus {
    pub(super) title: &'static str,
    pub(super) method: Method,
    pub(super) paper: Option<Compared>,
}

pub(super) fn versus() -> [Versus; 3] {
    [
        Versus { title: "TCP that reconnects (USHA)", method: Method::Usha, paper: Some(USHA) },
        Versus {
            title: "SCTP-IHU, 1.5 s",
            method: Method::Timed(paper::SHORTEST_MS),
            paper: Some(SCTP_IHU),
        },
        Versus { title: "ours, unplanned", method: Method::Unplanned, paper: None },
    ]
}

/// Tables 3 and 4 with the paper's values in brackets, and ours by round trip, simulated and live,
/// for a terminal.
#[must_use]
pub fn tables(parameters: &Parameters<Values>, rows: &[Row], live: &[Row]) -> String {
    let mut text = String::new();
    if let Some(said) = parameters.said() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{said}\n");
    }
    text.push_str(&table_3(parameters, rows));
    text.push_str(&table_4(parameters, rows));
    text.push_str(&by_round_trip(rows, live));
    text
}

fn table_3(parameters: &Parameters<Values>, rows: &[Row]) -> String {
    let [a, b, c, d] = Handoff::ALL.map(|handoff| handoff.to_string());
    let mut lines_of_text = vec![["threshold".to_owned(), a, b, c, d]];
    for line in lines() {
        let Some(cells) = line_cells(rows, &line) else { continue };
        let [a, b, c, d] =
            cells.map(|(ours, paper)| match paper.filter(|_| parameters.are_papers()) {
                Some(paper) => format!("{ours} ({paper:.3})"),
                None => ours,
            });
        lines_of_text.push([line.title.to_string(), a, b, c, d]);
    }
    titled("Table 3: gap in s, the paper's in brackets", &lines_of_text)
}

fn table_4(parameters: &Parameters<Values>, rows: &[Row]) -> String {
    let place = Place::Handoff(Handoff::WiredToWireless);
    let mut lines =
        vec![["", "video kB/s", "voice kB/s", "gap, s", "frames lost, %"].map(str::to_owned)];
    for Versus { title, method, paper } in versus() {
        let Some(row) = find(rows, place, method) else { continue };
        let [voice, video] =
            [0, 1].map(|kind| format!("{:.0}", row.estimate(|it| it.kbytes_per_s[kind])));
        let lost = format!("{:.2}", row.lost_percent());
        lines.push([title.to_owned(), video, voice, row.in_words(), lost]);
        if let Some(paper) = paper.filter(|_| parameters.are_papers()) {
            let Compared { video_kbytes, voice_kbytes, gap_s, lost_percent } = paper;
            let voice = voice_kbytes.map_or_else(|| "both".to_owned(), |it| format!("{it:.0}"));
            lines.push([
                "    the paper's".to_owned(),
                format!("{video_kbytes:.0}"),
                voice,
                format!("{gap_s:.3}"),
                format!("{lost_percent:.2}"),
            ]);
        }
    }
    titled("Table 4, wired to wireless", &lines)
}

/// A table whose columns are as wide as what is in them; nothing if there is a header only.
fn titled<const COLUMNS: usize>(title: &str, lines: &[[String; COLUMNS]]) -> String {
    if lines.len() < 2 {
        return String::new();
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = format!("{title}\n");
    for line in lines {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        let cells: Vec<String> = cells.collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text + "\n"
}

/// What was measured of voice or of pictures, by round trip.
pub(super) struct ByRoundTrip {
    pub(super) ms: u32,
    pub(super) method: Method,
    /// Simulated, or live.
    pub(super) run: &'static str,
    /// Voice, or video.
    pub(super) name: &'static str,
    pub(super) gaps: Gaps,
    pub(super) counts: Counts,
}

impl ByRoundTrip {
    /// A path is missed in both directions.
    pub(super) const fn cuts(&self) -> usize {
        self.gaps.count / 2
    }
}

/// All there is by round trip, what is live below what is simulated.
pub(super) fn by_round_trips(rows: &[Row], live: &[Row]) -> Vec<ByRoundTrip> {
    let mut all = Vec::new();
    for ms in RTTS_MS {
        for method in Method::OURS {
            for (run, rows) in [("simulated", rows), ("live", live)] {
                let Some(row) = find(rows, Place::Rtt(ms), method) else { continue };
                let kinds = [
                    ("voice", row.voice_gaps(), row.voice()),
                    ("video", row.video_gaps(), row.video()),
                ];
                all.extend(kinds.into_iter().filter_map(|(name, gaps, counts)| {
                    Some(ByRoundTrip { ms, method, run, name, gaps: gaps?, counts })
                }));
            }
        }
    }
    all
}

fn by_round_trip(rows: &[Row], live: &[Row]) -> String {
    let header = ["RTT", "path left", "run", "", "cuts", "p50", "p95", "max", "lost", "late", "of"];
    let mut lines = vec![header.map(str::to_owned)];
    for it in by_round_trips(rows, live) {
        let Gaps { p50, p95, max, .. } = it.gaps;
        let [p50, p95, max] = [p50, p95, max].map(|gap| format!("{gap:.3}"));
        let Counts { taken, lost, late } = it.counts;
        let [lost, late, taken] = [lost, late, taken].map(|count| count.to_string());
        let (rtt, cuts) = (format!("{} ms", it.ms), it.cuts().to_string());
        let (method, run, name) = (it.method.to_string(), it.run.to_owned(), it.name.to_owned());
        lines.push([rtt, method, run, name, cuts, p50, p95, max, lost, late, taken]);
    }
    let title = "Ours by round trip, from wired to wireless and back: longest gap around each \
                 cut in s, frames";
    titled(title, &lines)
}

/// Which cell it is.
#[derive(Serialize)]
struct Key {
    place: String,
    method: String,
    seed: u64,
}

impl Key {
    fn of(cell: &Cell) -> Self {
        let Cell { place, method, seed } = cell;
        Self { place: place.to_string(), method: method.to_string(), seed: *seed }
    }
}

/// Its results.
#[derive(Serialize)]
struct CellLine {
    handoff_s: Option<f64>,
    gave_up_s: Option<f64>,
    voice_taken: u64,
    voice_lost: u64,
    voice_late: u64,
    video_taken: u64,
    video_lost: u64,
    video_late: u64,
    voice_kbytes_per_s: f64,
    video_kbytes_per_s: f64,
    simulated_s: f64,
}

impl CellLine {
    const fn of(outcome: &Outcome) -> Self {
        let Outcome { handoff_s, gave_up_s, voice, video, kbytes_per_s, simulated_s, .. } = outcome;
        Self {
            handoff_s: *handoff_s,
            gave_up_s: *gave_up_s,
            voice_taken: voice.taken,
            voice_lost: voice.lost,
            voice_late: voice.late,
            video_taken: video.taken,
            video_lost: video.lost,
            video_late: video.late,
            voice_kbytes_per_s: kbytes_per_s[0],
            video_kbytes_per_s: kbytes_per_s[1],
            simulated_s: *simulated_s,
        }
    }
}

/// The command that runs a cell again, and captures it.
pub(super) fn again(parameters: &Parameters<Values>, cell: &Cell) -> String {
    let set = parameters.flag();
    format!("anabranch lab chang2010 --cell {}{set} --capture --out DIR", cell.name())
}

/// The command that runs a live call of so many cuts again, and captures it.
fn again_live(parameters: &Parameters<Values>, cell: &Cell, cuts: usize) -> String {
    let (name, set) = (cell.name(), parameters.flag());
    format!("anabranch lab chang2010 --cell {name} --live {cuts}{set} --capture --out DIR")
}

/// What a live call has beside the results of a simulated one.
#[derive(Serialize)]
struct Live {
    run: &'static str,
    cuts: usize,
}

/// A line for each live call, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn live_csv(
    parameters: &Parameters<Values>,
    live: &[(Cell, Outcome)],
) -> Result<Vec<u8>, csv::Error> {
    csv_lines(live.iter().map(|(cell, outcome)| {
        let cuts = outcome.voice_gaps_s.len() / 2;
        let origin = Origin::new(again_live(parameters, cell, cuts));
        (Key::of(cell), Live { run: "live", cuts }, CellLine::of(outcome), origin)
    }))
}

/// A line for each cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn cells_csv(
    parameters: &Parameters<Values>,
    results: &[(Cell, Outcome)],
) -> Result<Vec<u8>, csv::Error> {
    csv_lines(results.iter().map(|(cell, outcome)| {
        (Key::of(cell), CellLine::of(outcome), Origin::new(again(parameters, cell)))
    }))
}

/// A gap around a cut, in one direction.
#[derive(Serialize)]
struct GapLine {
    cut: usize,
    direction: &'static str,
    voice_gap_s: f64,
    video_gap_s: f64,
}

/// A line for each cut and direction of each cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn gaps_csv(results: &[(Cell, Outcome)]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(results.iter().flat_map(|(cell, outcome)| {
        let gaps = outcome.voice_gaps_s.iter().zip(&outcome.video_gaps_s).enumerate();
        gaps.map(|(n, (voice_gap_s, video_gap_s))| {
            let direction = if n % 2 == 0 { "from the caller" } else { "to the caller" };
            let line = GapLine {
                cut: n / 2 + 1,
                direction,
                voice_gap_s: *voice_gap_s,
                video_gap_s: *video_gap_s,
            };
            (Key::of(cell), line)
        })
    }))
}

#[derive(Serialize)]
struct Varied {
    varied: &'static str,
}

/// A line for each cell with a parameter chosen otherwise, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn variations_csv(varied: &[(Variation, Cell, Outcome)]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(varied.iter().map(|(it, cell, outcome)| {
        (Varied { varied: it.set }, Key::of(cell), CellLine::of(outcome))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell { place: Place::Rtt(20), method: Method::Planned, seed: 3 };

    fn outcome(video_gap_s: f64) -> Outcome {
        Outcome {
            handoff_s: None,
            gave_up_s: None,
            voice_gaps_s: vec![0.02; 6],
            video_gaps_s: vec![0.04, 0.04, 0.04, 0.04, 0.04, video_gap_s],
            voice: Counts { taken: 700, lost: 0, late: 1 },
            video: Counts { taken: 350, lost: 2, late: 0 },
            kbytes_per_s: [5.0, 250.0],
            simulated_s: 0.0,
        }
    }

    #[test]
    fn what_is_live_stands_below_what_is_simulated_with_its_cuts() {
        let rows = |gap| vec![Row { cell: CELL, outcomes: vec![outcome(gap)] }];
        let text = by_round_trip(&rows(0.05), &rows(0.125));
        let lines: Vec<Vec<_>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        let video = |run, max| {
            ["20", "ms", "planned", run, "video", "3", "0.040", max, max, "2", "0", "350"]
        };
        assert_eq!(lines[1], video("simulated", "0.050"));
        assert_eq!(lines[3], video("live", "0.125"));
        assert_eq!(by_round_trip(&[], &[]), "");
    }

    #[test]
    fn a_live_call_is_a_line_with_the_command_that_runs_it_again() {
        let csv = live_csv(&Parameters::default(), &[(CELL, outcome(0.05))]).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let lines: Vec<_> = csv.lines().collect();
        assert!(lines[0].starts_with("place,method,seed,run,cuts,handoff_s,"), "{csv}");
        assert!(lines[1].starts_with("20ms,planned,3,live,3,,,700,0,1,350,2,0,"), "{csv}");
        assert!(lines[1].contains("--cell 20ms,planned,3 --live 3 --capture --out DIR"), "{csv}");
    }

    #[test]
    fn regression_columns_ran_into_each_other_where_a_value_was_longer_than_its_title() {
        let lines = [["", "kB/s", "gap"], ["TCP", "1133±310", "1.6"], ["ours", "1239", "0.07"]];
        let lines = lines.map(|line| line.map(str::to_owned));
        assert_eq!(
            titled("Rates", &lines),
            "Rates\n      kB/s      gap\nTCP   1133±310  1.6\nours  1239      0.07\n\n"
        );
        assert_eq!(titled("Rates", &lines[..1]), "", "no lines, no title");
    }
}
