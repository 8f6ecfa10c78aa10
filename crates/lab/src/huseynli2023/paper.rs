//! What the paper says of its figures, held against our rows. Its text has round numbers and
//! ratios; its source is the authors' own, at a constant rate with random levels.

use super::cell::LastHop;
use super::method::Method;
use super::sensitivity::{GROUPS, Variation};
use super::source::Source;
use super::table::{LevelRow, NAMES, Row};
use super::values::Values;
use crate::Estimate;
use crate::statement::{Statement, Verdict, exact, minus, range, ratio, words};

/// A ratio that the paper rounds may be higher by half.
const ABOUT: f64 = 1.5;
/// "Nearly the same" is within this share.
const SAME: f64 = 0.02;
/// "Does not affect" leaves the ratio of the delays within this much of what it was.
const UNAFFECTED: f64 = 0.05;
/// The loss, in tenths of a per cent, at which what was sent again is looked at.
const LOSS: u32 = 10;

/// The levels of [`Level::ALL`](anabranch_sctp::Level::ALL).
const AGAIN: usize = 0;
const I: usize = 1;
const P: usize = 2;
const B: usize = 3;

/// All statements that the rows are enough for.
#[must_use]
pub fn statements(rows: &[Row]) -> Vec<Statement> {
    statements_at(rows, Source::Constant, Variation::AsRun)
}

/// The same, where what is said of the authors' runs is held against these.
pub(super) fn statements_at(rows: &[Row], source: Source, variation: Variation) -> Vec<Statement> {
    let rows = Rows { rows, source, variation };
    let all = [
        falls_to(rows, 7, |row| row.queue_ms),
        p_is_lower(rows, 7, |row| row.queue_ms),
        b_is_higher(rows, 7, |row| row.queue_ms),
        what_is_sent_again(rows),
        never_later(rows),
        falls_to(rows, 8, |row| row.ipdv_ms),
        p_is_lower(rows, 8, |row| row.ipdv_ms),
        b_is_higher(rows, 8, |row| row.ipdv_ms),
        falls_to(rows, 9, |row| row.jitter_ms),
        p_is_lower(rows, 9, |row| row.jitter_ms),
        b_is_higher(rows, 9, |row| row.jitter_ms),
        total_is_the_same(rows),
        received_is_the_same(rows),
        throughput(rows),
        loss_changes_nothing(rows),
        pictures_change_nothing(rows),
        ours_falls_to(rows),
        levels_alone_decide(rows),
        ours_conserves(rows),
        nothing_waits_forever(rows),
        order_is_kept(rows),
    ];
    all.into_iter().flatten().collect()
}

/// Looks values up.
#[derive(Clone, Copy)]
struct Rows<'a> {
    rows: &'a [Row],
    /// What stands for the authors' runs.
    source: Source,
    variation: Variation,
}

impl<'a> Rows<'a> {
    fn find(self, source: Source, variation: Variation, method: Method) -> Option<&'a Row> {
        let wanted = (source, LastHop::Wired, variation, method);
        self.rows.iter().find(|row| {
            (row.cell.source, row.cell.last_hop, row.cell.variation, row.cell.method) == wanted
        })
    }

    fn authors(self, method: Method) -> Option<&'a Row> {
        self.find(self.source, self.variation, method)
    }

    /// A level's value in SCTP and in the paper's list.
    fn both(self, level: usize, of: fn(&LevelRow) -> Estimate) -> Option<[Estimate; 2]> {
        let of_method = |method| Some(of(self.authors(method)?.levels[level].as_ref()?));
        Some([of_method(Method::Sctp)?, of_method(Method::SctpPq)?])
    }

    /// How much of SCTP's queue delay I has in the paper's list.
    fn share_of_i(self, source: Source, variation: Variation) -> Option<Estimate> {
        let of = |method| Some(self.find(source, variation, method)?.levels[I]?.queue_ms);
        Some(ratio(of(Method::SctpPq)?, of(Method::Sctp)?))
    }
}

type Value = fn(&LevelRow) -> Estimate;

fn falls_to(rows: Rows<'_>, figure: u32, of: Value) -> Option<Statement> {
    let [sctp, list] = rows.both(I, of)?;
    let (says, share) = match figure {
        7 => ("I: the queue delay falls from about 10 ms to about 1 ms", 0.1),
        8 => ("I: IPDV falls from about 8 ms to about 1 ms", 0.125),
        _ => ("I: jitter falls to a tenth", 0.1),
    };
    let mut evidence = format!("{sctp:.2} and {list:.2} ms: {:.3} of it", ratio(list, sctp));
    if figure == 8 {
        let of_method = |method| {
            let row = rows.find(Source::Constant, Variation::ReadsEvery(25), method)?;
            row.levels[I].map(|level| level.ipdv_ms)
        };
        if let (Some(sctp), Some(list)) = (of_method(Method::Sctp), of_method(Method::SctpPq)) {
            evidence += &format!(
                "; with a reader that takes all every 25 ms {sctp:.2} and {list:.2} ms: unexplained"
            );
        }
    }
    Some(Statement {
        figure: Some(figure),
        says,
        verdict: Verdict::is_above(sctp.times(share * ABOUT), list, 0.0),
        evidence,
    })
}

fn p_is_lower(rows: Rows<'_>, figure: u32, of: Value) -> Option<Statement> {
    let [sctp, list] = rows.both(P, of)?;
    Some(Statement {
        figure: Some(figure),
        says: match figure {
            7 => "P: the queue delay is lower, too",
            8 => "P: IPDV is lower, too",
            _ => "P: jitter is lower, too",
        },
        verdict: Verdict::is_above(sctp, list, 0.0),
        evidence: format!("{sctp:.2} and {list:.2} ms: {:.3} of it", ratio(list, sctp)),
    })
}

fn b_is_higher(rows: Rows<'_>, figure: u32, of: Value) -> Option<Statement> {
    let [sctp, list] = rows.both(B, of)?;
    Some(Statement {
        figure: Some(figure),
        says: match figure {
            7 => "B: the queue delay is higher than SCTP's",
            8 => "B: IPDV is higher than SCTP's",
            _ => "B: jitter is higher than SCTP's",
        },
        verdict: Verdict::is_above(list, sctp, 0.0),
        evidence: format!("{sctp:.2} and {list:.2} ms: {:.2} times", ratio(list, sctp)),
    })
}

fn what_is_sent_again(rows: Rows<'_>) -> Option<Statement> {
    let of = |method| rows.find(Source::Constant, Variation::Loss(LOSS), method);
    let sctp = of(Method::Sctp)?.levels[AGAIN]?.queue_ms;
    let levels = &of(Method::SctpPq)?.levels;
    let (list, of_i) = (levels[AGAIN]?.queue_ms, levels[I]?.queue_ms);
    Some(Statement {
        figure: Some(7),
        says: "what was sent again waits very short, less than I",
        verdict: Verdict::is_above(of_i, list, 0.0),
        evidence: format!("at a loss of 1 %: SCTP {sctp:.2}, list {list:.2} ms; I {of_i:.2} ms"),
    })
}

fn never_later(rows: Rows<'_>) -> Option<Statement> {
    let [sctp, list] = rows.both(I, |row| row.queue_max_ms)?;
    Some(Statement {
        figure: Some(7),
        says: "I: the longest wait is not longer than SCTP's (equations 1 and 2)",
        verdict: Verdict::is_above(sctp, list, 0.0),
        evidence: format!("longest: {sctp:.1} and {list:.1} ms"),
    })
}

/// How far a value is from another, as a share.
fn off(value: Estimate, from: Estimate) -> Estimate {
    minus(ratio(value, from), exact(1.0))
}

fn is_same(value: Estimate, other: Estimate) -> Verdict {
    // With the same seeds, both have the same arrivals and service times: their intervals say how
    // the seeds differ, and not the methods.
    let off = (value.mean / other.mean - 1.0).abs();
    Verdict::counted(other, off <= SAME)
}

fn total_is_the_same(rows: Rows<'_>) -> Option<Statement> {
    let off_at = |variation| {
        let of = |method| Some(rows.find(Source::Constant, variation, method)?.total_queue_s);
        Some(off(of(Method::SctpPq)?, of(Method::Sctp)?).mean * 100.0)
    };
    let of = |method| rows.authors(method).map(|row| row.total_queue_s);
    let (sctp, list) = (of(Method::Sctp)?, of(Method::SctpPq)?);
    let mut evidence = format!("{sctp:.1} and {list:.1} s: {:+.2} %", off(list, sctp).mean * 100.0);
    if let (Some(ordered), Some(unordered)) =
        (off_at(Variation::Loss(1)), off_at(Variation::LossUnordered(1)))
    {
        evidence += &format!(
            "; at a loss of 0.1 % {ordered:+.1} %, as SCTP's chunks wait behind gaps, too, and \
             {unordered:+.1} % where it delivers without order"
        );
    }
    Some(Statement {
        figure: Some(10),
        says: "the total queue delay (equation 3) is nearly the same",
        verdict: is_same(list, sctp),
        evidence,
    })
}

fn ours_conserves(rows: Rows<'_>) -> Option<Statement> {
    let of =
        |variation, method| Some(rows.find(Source::Constant, variation, method)?.total_queue_s);
    let alike = Variation::OurTransport;
    let (sctp, ours) = (of(alike, Method::Sctp)?, of(alike, Method::Anabranch)?);
    let papers = of(Variation::AsRun, Method::Sctp)?;
    Some(Statement {
        figure: None,
        says: "the total queue delay of ours is SCTP's over the same transport",
        verdict: is_same(ours, sctp),
        evidence: format!(
            "{sctp:.1} and {ours:.1} s: {:+.2} %; SCTP over the paper's transport {papers:.1} s",
            off(ours, sctp).mean * 100.0
        ),
    })
}

fn received_is_the_same(rows: Rows<'_>) -> Option<Statement> {
    let of = |method| rows.authors(method).map(|row| row.received);
    let all: Option<Vec<_>> = Method::ALL.into_iter().map(of).collect();
    let all = all?;
    Some(Statement {
        figure: Some(11),
        says: "the number of chunks received is the same",
        verdict: Verdict::all(all.iter().map(|value| is_same(*value, all[0]))),
        evidence: format!("SCTP, list, ours: {}", words(&all, 0)),
    })
}

fn throughput(rows: Rows<'_>) -> Option<Statement> {
    let of = |method| rows.authors(method).map(|row| row.received);
    let (sctp, list) = (of(Method::Sctp)?, of(Method::SctpPq)?);
    Some(Statement {
        figure: Some(11),
        says: "throughput is ten times as high (abstract)",
        verdict: Verdict::is_above(list, sctp.times(10.0 / ABOUT), 0.0),
        evidence: format!(
            "{:.3} times: who changes the order alone delivers no more, as figure 11 itself has it",
            ratio(list, sctp)
        ),
    })
}

fn loss_changes_nothing(rows: Rows<'_>) -> Option<Statement> {
    let without = rows.share_of_i(Source::Constant, Variation::AsRun)?;
    let with: Option<Vec<_>> = [1, 10, 50]
        .into_iter()
        .map(|tenths| rows.share_of_i(Source::Constant, Variation::Loss(tenths)))
        .collect();
    let with = with?;
    let (low, high) = range(&with);
    let mut evidence = format!(
        "I waits {without:.3} of what it does in SCTP without loss, {low:.3} to {high:.3} at 0.1 \
         to 5 %, where SCTP's chunks wait behind gaps, too"
    );
    if let Some(unordered) = rows.share_of_i(Source::Constant, Variation::LossUnordered(1)) {
        evidence += &format!("; {unordered:.3} at 0.1 % where it delivers without order");
    }
    let is_near = |share: &Estimate| Verdict::is_near(*share, without.mean, UNAFFECTED);
    Some(Statement {
        figure: Some(7),
        says: "the packet error rate does not affect what I gains",
        verdict: Verdict::all(with.iter().map(is_near)),
        evidence,
    })
}

fn pictures_change_nothing(rows: Rows<'_>) -> Option<Statement> {
    let constant = rows.share_of_i(Source::Constant, Variation::AsRun)?;
    let pictures = rows.share_of_i(Source::Pictures, Variation::AsRun)?;
    let mut evidence =
        format!("I waits {constant:.3} of what it does in SCTP, with pictures {pictures:.3}");
    if let Some(even) = rows.share_of_i(Source::Pictures, Variation::Even) {
        evidence += &format!(", and {even:.3} with pictures sent at a constant rate");
    }
    Some(Statement {
        figure: Some(7),
        says: "the stream does not affect what I gains",
        verdict: Verdict::is_near(pictures, constant.mean, UNAFFECTED),
        evidence,
    })
}

fn ours_falls_to(rows: Rows<'_>) -> Option<Statement> {
    let of = |method| Some(rows.authors(method)?.levels[I]?.queue_ms);
    let (sctp, list) = (of(Method::Sctp)?, of(Method::SctpPq)?);
    let ours = of(Method::Anabranch)?;
    Some(Statement {
        figure: None,
        says: "I waits as short as in the paper's list",
        verdict: Verdict::is_above(sctp.times(0.1 * ABOUT), ours, 0.0),
        evidence: format!("SCTP {sctp:.2}, list {list:.2}, ours {ours:.2} ms"),
    })
}

/// Why P does not fall to a tenth: no order of reading could have it wait less beside I.
fn levels_alone_decide(rows: Rows<'_>) -> Option<Statement> {
    let sctp = rows.authors(Method::Sctp)?;
    let ours = rows.authors(Method::Anabranch)?;
    let mut evidence = Vec::new();
    let mut verdicts = Vec::new();
    for level in [I, P] {
        let (ours, sctp) = (ours.levels[level]?, sctp.levels[level]?.queue_ms);
        verdicts.push(is_same(ours.queue_ms, ours.strict_ms));
        evidence.push(format!(
            "{} {:.2} ms, strictly {:.2} ms: {:.3} and {:.3} of SCTP's",
            NAMES[level],
            ours.queue_ms,
            ours.strict_ms,
            ratio(ours.queue_ms, sctp),
            ratio(ours.strict_ms, sctp)
        ));
    }
    Some(Statement {
        figure: None,
        says: "I and P wait as short as any reader could have them that finishes what it began and \
               goes strictly by level, with the same arrivals and times",
        verdict: Verdict::all(verdicts),
        evidence: evidence.join("; "),
    })
}

fn nothing_waits_forever(rows: Rows<'_>) -> Option<Statement> {
    let bound_ms = Values::default().bound.as_secs_f64() * 1e3;
    let mut verdicts = Vec::new();
    let mut longest = (0.0, exact(0.0), exact(0.0));
    let load = GROUPS.first()?;
    for source in Source::ALL {
        for (variation, percent) in load.points(source).filter(|(_, load)| *load < 100.0) {
            let of = |method: Method| {
                let levels = &rows.find(source, variation, method)?.levels;
                let most = levels.iter().flatten().map(|row| row.queue_max_ms);
                most.max_by(|a, b| a.mean.total_cmp(&b.mean))
            };
            let older = of(Method::Sctp)?;
            let ours = of(Method::Anabranch)?;
            let bound = Estimate { mean: older.mean + bound_ms, ..older };
            verdicts.push(Verdict::is_above(bound, ours, 0.0));
            if ours.mean > longest.1.mean {
                longest = (percent, ours, older);
            }
        }
    }
    Some(Statement {
        figure: None,
        says: "nothing waits longer than 500 ms and what is older, at any load below 100 %",
        verdict: Verdict::all(verdicts),
        evidence: format!(
            "{:.0} ms at most, at {} %, of the {bound_ms:.0} ms and {:.0} ms that the longest wait \
             of SCTP, for all that is older, comes to there",
            longest.1, longest.0, longest.2
        ),
    })
}

fn order_is_kept(rows: Rows<'_>) -> Option<Statement> {
    let of =
        |method| Some(rows.find(Source::Pictures, Variation::Loss(LOSS), method)?.out_of_order);
    let (list, ours) = (of(Method::SctpPq)?, of(Method::Anabranch)?);
    let is_kept = ours.mean == 0.0;
    Some(Statement {
        figure: None,
        says: "ours keeps the order of each kind of picture, which the paper's list gives up",
        verdict: Verdict::all([
            Verdict::counted(ours, is_kept),
            Verdict::is_above(list, ours, 0.0),
        ]),
        evidence: format!("at a loss of 1 %, chunks out of order: list {list:.0}, ours {ours:.0}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::testing::row;
    use super::*;

    fn verdict(rows: &[Row], says: &str) -> Option<Verdict> {
        let found = statements(rows).into_iter().find(|it| it.says.contains(says));
        found.map(|statement| statement.verdict)
    }

    fn of_methods(list_ms: [f64; 3]) -> Vec<Row> {
        let sctp = row(Method::Sctp, Variation::AsRun, [10.0; 3]);
        let list = row(Method::SctpPq, Variation::AsRun, list_ms);
        vec![
            sctp,
            list,
            Row { cell: super::super::Cell { method: Method::Anabranch, ..list.cell }, ..list },
        ]
    }

    #[test]
    fn the_papers_own_values_would_show_it() {
        let rows = of_methods([1.0, 4.0, 25.0]);
        for says in ["about 10 ms", "P: jitter", "B: IPDV", "equation 3", "chunks received"] {
            assert_eq!(verdict(&rows, says), Some(Verdict::Shown), "{says}");
        }
        assert_eq!(verdict(&rows, "throughput"), Some(Verdict::NotShown));
        assert_eq!(verdict(&rows, "packet error rate"), None, "that was not run");
    }

    #[test]
    fn a_total_that_grows_is_not_conserved() {
        let rows = of_methods([2.0, 4.0, 26.0]);
        assert_eq!(verdict(&rows, "equation 3"), Some(Verdict::NotShown));
        assert_eq!(verdict(&rows, "about 10 ms"), Some(Verdict::NotShown), "a fifth");
    }
}
