//! [`Beside`]: what a TCP beside the video gets.

use std::fmt::Write as _;

use super::cell::{Carrier, Scenario};
use super::table::Row;
use super::variation::{BESIDE, Variation};
use crate::Estimate;
use crate::statement::{exact, ratio};

/// What a TCP in the same queue gets while the video is sent.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    /// Where the video goes.
    pub scenario: Scenario,
    /// The length of a frame, in microseconds.
    pub frame_us: u32,
    /// How it is sent.
    pub carrier: Carrier,
    /// The video's rate, in kbit/s.
    pub video_kbps: Estimate,
    /// The TCP's.
    pub tcp: Part,
    /// Of the one in the other cell, of a sender that has two.
    pub other: Option<Part>,
}

/// What a TCP gets.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Its rate, in kbit/s.
    pub kbps: Estimate,
    /// What that is of the rate that it has beside one connection to the same place.
    pub share: Estimate,
}

/// Of every place and carrier that was run with a TCP beside it, in the order of the runs.
#[must_use]
pub fn beside(varied: &[(Variation, Row)]) -> Vec<Beside> {
    let rows = || varied.iter().filter(|(it, _)| it.set == BESIDE).map(|(_, row)| row);
    let of_row = |row: &Row| {
        let (scenario, frame_us, carrier) =
            (row.cell.scenario, row.cell.frame_us, row.cell.carrier);
        let one = rows().find(|one| one.is_at(scenario, frame_us, Carrier::Dccp(1)));
        let one = one?.estimate(|it| it.tcp_kbps)?;
        // What it is of itself is known exactly.
        let is_one = carrier == Carrier::Dccp(1);
        let share = |kbps| if is_one { exact(1.0) } else { ratio(kbps, one) };
        let part = |kbps| Part { kbps, share: share(kbps) };
        Some(Beside {
            scenario,
            frame_us,
            carrier,
            video_kbps: row.estimate(|it| Some(it.throughput_kbps))?,
            tcp: part(row.estimate(|it| it.tcp_kbps)?),
            other: row.estimate(|it| it.tcp_other_kbps).map(part),
        })
    };
    rows().filter_map(of_row).collect()
}

/// The same as text: a line for each place; nothing where there is none.
#[must_use]
pub fn beside_table(all: &[Beside]) -> String {
    let mut text = String::new();
    for place in all.chunk_by(|a, b| (a.scenario, a.frame_us) == (b.scenario, b.frame_us)) {
        let Beside { scenario, frame_us, .. } = place[0];
        let parts = place.iter().map(|it| format!("{}: {}", it.carrier.label(), it.in_words()));
        let parts = parts.collect::<Vec<_>>().join("   ");
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {scenario}, {} ms\n    {parts}", f64::from(frame_us) / 1e3);
    }
    match text.is_empty() {
        true => text,
        false => format!(
            "A TCP beside the video, kbit/s (times what it has beside one connection; behind a \
             comma: in the other cell)\n{text}\n"
        ),
    }
}

impl Beside {
    fn in_words(&self) -> String {
        let words = |Part { kbps, share }: &Part| format!("{kbps:.0} ({:.2})", share.mean);
        let other = self.other.as_ref().map(|part| format!(", {}", words(part)));
        words(&self.tcp) + &other.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Outcome;
    use super::super::{Cell, Setup, rows};
    use super::*;
    use crate::Parameters;

    #[test]
    fn a_share_is_of_what_a_tcp_has_beside_one_connection_to_the_same_place() {
        let setup = Setup::with(Parameters::default(), Some(3)).unwrap();
        let variation = Variation::ALL.into_iter().find(|it| it.set == BESIDE).unwrap();
        let runs: Vec<_> = Variation::cells(2).filter(|(it, _)| it.set == BESIDE).collect();
        let any = runs[0].1.run(&setup).unwrap().outcome;
        // Beside one connection 1,000 kbit/s to a near place and 2,000 to a far one, beside others
        // half of it, and in another cell three quarters.
        let outcome = |cell: &Cell| {
            let one = if cell.scenario == Scenario::BaseStation { 1_000.0 } else { 2_000.0 };
            let is_one = cell.carrier == Carrier::Dccp(1);
            let tcp_kbps = Some(if is_one { one } else { one / 2.0 });
            let tcp_other_kbps = cell.carrier.has_two_cells().then_some(one * 0.75);
            Outcome { tcp_kbps, tcp_other_kbps, ..any }
        };
        let outcomes: Vec<_> = runs.iter().map(|(_, cell)| (*cell, outcome(cell))).collect();
        let rows = rows(outcomes.iter().map(|(cell, outcome)| (*cell, outcome)));
        let varied: Vec<_> = rows.into_iter().map(|row| (variation, row)).collect();
        let all = beside(&varied);
        assert_eq!(all.len(), 6 * 8, "all places of the tables, and all carriers of each");
        for it in &all {
            let share = if it.carrier == Carrier::Dccp(1) { 1.0 } else { 0.5 };
            assert!((it.tcp.share.mean - share).abs() < 1e-9, "{it:?}");
            assert!(share < 1.0 || it.tcp.share.half_width == 0.0, "of itself: {it:?}");
            let other = it.other.map(|part| part.share.mean);
            assert_eq!(other.is_some(), it.carrier.has_two_cells(), "{it:?}");
            assert!(other.is_none_or(|share| (share - 0.75).abs() < 1e-9), "{it:?}");
        }
        let text = beside_table(&all);
        assert!(text.contains("user to user, 12.5 ms"), "{text}");
        assert!(text.contains("MP-DCCP over two cells: 500 (0.50), 750 (0.75)"), "{text}");
        assert!(beside_table(&[]).is_empty());
    }
}
