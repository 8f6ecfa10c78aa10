//! [`Statement`]: what a paper says, held against our rows.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::Estimate;

/// A statement of the paper, and whether our runs show it too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The paper's figure; none for what is said of ours.
    pub figure: Option<u32>,
    /// What it says.
    pub says: &'static str,
    /// Whether our runs show it.
    pub verdict: Verdict,
    /// The values that decide.
    pub evidence: String,
}

/// What runs with several seeds say of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It holds, with room between all confidence intervals.
    Shown,
    /// The opposite holds somewhere, with room between the intervals.
    NotShown,
    /// Intervals overlap, or there are none, of one seed: more seeds would tell.
    Undecided,
}

impl Verdict {
    /// The verdict in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::NotShown => "not shown",
            Self::Undecided => "undecided",
        }
    }

    /// Of a statement that is made of these: one that is not shown refutes it.
    pub(crate) fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self::Shown, |all, part| match (all, part) {
            (Self::NotShown, _) | (_, Self::NotShown) => Self::NotShown,
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Shown, Self::Shown) => Self::Shown,
        })
    }

    /// Whether one is above another by more than `margin`.
    pub(crate) fn is_above(high: Estimate, low: Estimate, margin: f64) -> Self {
        Self::is_positive(plus(minus(high, low), exact(-margin)))
    }

    /// Whether something is so that its values say without their interval, but not by one seed.
    pub(crate) const fn counted(value: Estimate, is_so: bool) -> Self {
        match (value.has_interval(), is_so) {
            (false, _) => Self::Undecided,
            (true, true) => Self::Shown,
            (true, false) => Self::NotShown,
        }
    }

    fn is_positive(value: Estimate) -> Self {
        match value {
            it if it.mean > it.half_width => Self::Shown,
            it if it.mean < -it.half_width => Self::NotShown,
            _ => Self::Undecided,
        }
    }

    /// Whether a value is within `margin` of another.
    pub(crate) fn is_near(value: Estimate, other: f64, margin: f64) -> Self {
        let distance = (value.mean - other).abs();
        Self::is_positive(Estimate { mean: margin - distance, half_width: value.half_width })
    }
}

pub(crate) const fn exact(mean: f64) -> Estimate {
    Estimate { mean, half_width: 0.0 }
}

/// The intervals add up: what is above 0 by more has intervals that do not overlap.
pub(crate) fn plus(a: Estimate, b: Estimate) -> Estimate {
    Estimate { mean: a.mean + b.mean, half_width: a.half_width + b.half_width }
}

pub(crate) fn minus(a: Estimate, b: Estimate) -> Estimate {
    Estimate { mean: a.mean - b.mean, half_width: a.half_width + b.half_width }
}

/// Whether each is above the one before it.
pub(crate) fn rises(values: &[Estimate]) -> Verdict {
    Verdict::all(values.windows(2).map(|pair| Verdict::is_above(pair[1], pair[0], 0.0)))
}

/// To first order in the intervals.
pub(crate) fn ratio(a: Estimate, b: Estimate) -> Estimate {
    let mean = a.mean / b.mean;
    Estimate { mean, half_width: mean * (a.half_width / a.mean + b.half_width / b.mean) }
}

/// The lowest and the highest mean.
pub(crate) fn range(values: &[Estimate]) -> (f64, f64) {
    let means = values.iter().map(|value| value.mean);
    means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)))
}

/// Means with their intervals where these show.
pub(crate) fn words(values: &[Estimate], digits: usize) -> String {
    values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(", ")
}

/// The statements as text, the paper's and then ours; nothing where there are none.
#[must_use]
pub fn statements_table(statements: &[Statement]) -> String {
    let (papers, ours): (Vec<_>, Vec<_>) =
        statements.iter().partition(|statement| statement.figure.is_some());
    let mut text = String::new();
    for (title, statements) in [
        ("What the paper says of its figures, and our runs", papers),
        ("What is said of ours", ours),
    ] {
        if statements.is_empty() {
            continue;
        }
        // Writing to a string does not fail.
        let _ = writeln!(text, "{title}");
        for Statement { figure, says, verdict, evidence } in statements {
            let figure = figure.map_or("ours".to_owned(), |figure| figure.to_string());
            let verdict = verdict.as_str().to_uppercase();
            let _ = writeln!(text, "{figure:>4}  {verdict:10}{says}\n{:16}{evidence}", "");
        }
        text.push('\n');
    }
    text
}

/// The statements as a part of a report, the paper's and then ours, with a note about them.
pub(crate) fn held(statements: &[Statement], note: &str) -> Markup {
    let (papers, ours): (Vec<_>, Vec<_>) =
        statements.iter().partition(|statement| statement.figure.is_some());
    let count = |verdict| papers.iter().filter(|it| it.verdict == verdict).count();
    html! {
        h2 id="statements" { "What the paper says, and our runs" }
        @if statements.is_empty() {
            p { "Points of figures were run, and no figure whole: there is nothing to compare." }
        } @else {
            p {
                "Shown: " (count(Verdict::Shown)) " of " (papers.len()) ", undecided: "
                (count(Verdict::Undecided)) ". Shown is what holds with room between the 95 % \
                 confidence intervals, undecided where they overlap, and where there are none: \
                 one seed decides nothing. " (note)
            }
            (statement_table(&papers))
            @if !ours.is_empty() {
                h3 { "What is said of ours" }
                (statement_table(&ours))
            }
        }
    }
}

/// The statements as a table of a report.
fn statement_table(statements: &[&Statement]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { "Figure" } th.text { "Statement" } th { "Ours" } th.text { "Values" }
            } }
            tbody { @for statement in statements { (statement_row(statement)) } }
        } }
    }
}

fn statement_row(statement: &Statement) -> Markup {
    html! {
        tr {
            td { @match statement.figure {
                Some(figure) => (figure),
                None => "ours",
            } }
            td.text { (statement.says) }
            td class=(match statement.verdict {
                Verdict::Shown => "good",
                Verdict::NotShown => "bad",
                Verdict::Undecided => "open",
            }) { (statement.verdict.as_str()) }
            td.text { (statement.evidence) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(mean: f64, half_width: f64) -> Estimate {
        Estimate { mean, half_width }
    }

    #[test]
    fn a_verdict_is_given_beyond_the_intervals_only() {
        assert_eq!(Verdict::is_above(of(5.0, 1.0), of(2.0, 1.0), 0.0), Verdict::Shown);
        assert_eq!(Verdict::is_above(of(2.0, 1.0), of(5.0, 1.0), 0.0), Verdict::NotShown);
        assert_eq!(Verdict::is_above(of(3.0, 1.0), of(2.0, 1.0), 0.0), Verdict::Undecided);
        assert_eq!(Verdict::all([Verdict::Shown, Verdict::Undecided]), Verdict::Undecided);
        assert_eq!(Verdict::all([Verdict::Undecided, Verdict::NotShown]), Verdict::NotShown);
    }

    #[test]
    fn one_seed_decides_nothing() {
        let [high, low] = [9.0, 1.0].map(|value| Estimate::of(&[value]));
        for verdict in [
            Verdict::is_above(high, low, 0.0),
            Verdict::is_above(low, high, 0.0),
            Verdict::is_above(exact(30.0), low.times(2.0), 0.0),
            Verdict::is_near(high, 9.0, 0.1),
            Verdict::counted(high, true),
            Verdict::counted(high, false),
        ] {
            assert_eq!(verdict, Verdict::Undecided);
        }
        assert_eq!(Verdict::counted(Estimate::of(&[9.0, 9.0]), true), Verdict::Shown);
    }
}
