//! Why a statement of the paper does not hold here: what runs with something chosen otherwise show.

use super::paper::statements_at;
use super::sensitivity::{GROUPS, Variation};
use super::source::Source;
use super::table::Row;
use crate::statement::{Statement, Verdict};

/// A statement of the paper that our runs do not show.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) statement: Statement,
    /// With what else it is shown.
    pub(super) met_by: Vec<String>,
    /// What follows without any run.
    pub(super) follows: Option<&'static str>,
}

/// All of them, in the paper's order.
pub(super) fn differences(rows: &[Row]) -> Vec<Difference> {
    let as_run = statements_at(rows, Source::Constant, Variation::AsRun);
    let differs = |it: &Statement| it.figure.is_some() && it.verdict != Verdict::Shown;
    let difference = |statement: Statement| {
        let met_by = met_by(rows, statement.says);
        let follows = FOLLOWS.iter().find(|(words, _)| statement.says.contains(words));
        Difference { met_by, follows: follows.map(|(_, why)| *why), statement }
    };
    as_run.into_iter().filter(differs).map(difference).collect()
}

/// What is no matter of values.
const FOLLOWS: [(&str, &str); 1] = [(
    "throughput",
    "Who changes the order of reading delivers no more: the paper's own figure 11 has the same \
     number of chunks for both.",
)];

/// The choices with which a statement is shown.
fn met_by(rows: &[Row], says: &str) -> Vec<String> {
    let mut met_by = Vec::new();
    for source in Source::ALL {
        let mut varied: Vec<_> = GROUPS.iter().flat_map(|group| group.points(source)).collect();
        varied.sort_by_key(|(variation, _)| *variation);
        varied.dedup_by_key(|(variation, _)| *variation);
        for (variation, _) in varied {
            let found = statements_at(rows, source, variation).into_iter();
            let is_shown = |it: &Statement| it.says == says && it.verdict == Verdict::Shown;
            if found.into_iter().any(|statement| is_shown(&statement)) {
                met_by.push(match source {
                    Source::Constant => variation.to_string(),
                    Source::Pictures => format!("pictures, {variation}"),
                });
            }
        }
    }
    met_by
}

#[cfg(test)]
mod tests {
    use super::super::method::Method;
    use super::super::table::testing::row;
    use super::*;

    #[test]
    fn what_differs_names_the_runs_that_meet_the_paper() {
        let methods = [(Method::Sctp, 10.0), (Method::SctpPq, 5.0), (Method::Anabranch, 5.0)];
        let as_run = methods.map(|(method, ms)| row(method, Variation::AsRun, [ms; 3]));
        let methods = [(Method::Sctp, 10.0), (Method::SctpPq, 1.0), (Method::Anabranch, 1.0)];
        let loaded = methods.map(|(method, ms)| row(method, Variation::Load(99), [ms; 3]));
        let differences = differences(&[as_run, loaded].concat());
        let of = |says: &str| differences.iter().find(|it| it.statement.says.contains(says));
        let queue = of("I: the queue delay").expect("half is no tenth");
        assert_eq!(queue.met_by, ["load 99 %"]);
        assert_eq!(of("P: the queue delay"), None, "it is shown as run");
        let throughput = of("throughput").expect("it is the same");
        assert!(throughput.met_by.is_empty() && throughput.follows.is_some());
    }
}
