//! The report of many runs of a scenario: one page, with all that it takes to run them again.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};

use super::plot::{Axes, PlotError, plot};
use super::table::{Run, csv, html_intervals, html_tables};
use crate::page::{cited, page, seeds_in_words};

/// What figures show upwards: a column of the table, and its title.
const FIGURES: [(&str, &str); 3] = [
    ("goodput_bps", "Goodput"),
    ("delay_p95_ms", "Delay that 95 % of the messages did not exceed"),
    ("frozen_ms", "Time for which the picture stood still"),
];

/// What was run.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The program's version, with the commit that it was built of.
    pub version: &'a str,
    /// The scenario's file.
    pub text: &'a str,
    /// What was given beside it for all runs.
    pub set: &'a [(String, String)],
}

/// The page, which refers to nothing outside itself.
///
/// # Errors
/// A figure cannot be drawn.
pub fn report(about: &About<'_>, runs: &[Run]) -> Result<String, PlotError> {
    let figures = figures(runs)?;
    let seeds = seeds_in_words(runs.iter().map(|run| run.seed));
    let points = runs.chunk_by(|a, b| a.point == b.point);
    let body = html! {
        h1 { "Runs of a scenario" }
        dl {
            dt { "Program" } dd { "anabranch " (about.version) }
            dt { "Seeds" } dd { (seeds) ", " (runs.len()) " runs in all" }
            dt { "Given beside the file" } dd { (given(about.set)) }
        }
        p {
            (html_intervals(runs))
            "Each table's command gives its values again, to the last digit, with this version and "
            "the scenario below as scenario.toml."
        }
        @if !figures.is_empty() {
            h2 id="figures" { "Figures" }
            @for Figure { title, caption, svg } in &figures {
                figure { (PreEscaped(svg)) figcaption { (title) (caption) } }
            }
        }
        h2 id="tables" { "Tables" }
        @for runs in points { (point(about, runs)) }
        h2 id="scenario" { "The scenario" }
        pre { (about.text) }
        (cited(about.version, "the scenario and the commands of this page"))
    };
    Ok(page("Runs of a scenario", &body))
}

struct Figure {
    title: &'static str,
    caption: String,
    svg: String,
}

/// A figure of each kind over each key that was swept; all other keys are at their first values.
fn figures(runs: &[Run]) -> Result<Vec<Figure>, PlotError> {
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    let mut figures = Vec::new();
    for (number, (key, _)) in first.point.iter().enumerate() {
        let is_first = |(at, (_, value)): (usize, &(String, String))| {
            at == number || first.point.get(at).is_some_and(|(_, kept)| kept == value)
        };
        let is_shown = |run: &&Run| run.point.iter().enumerate().all(is_first);
        let shown: Vec<Run> = runs.iter().filter(is_shown).cloned().collect();
        let values: BTreeSet<&str> =
            shown.iter().filter_map(|run| run.point.get(number)).map(|it| it.1.as_str()).collect();
        if values.len() < 2 {
            continue;
        }
        let others = first.point.iter().enumerate().filter(|(at, _)| *at != number);
        let others: Vec<(String, String)> = others.map(|(_, one)| one.clone()).collect();
        let caption = match others.is_empty() {
            true => format!(" over {key}."),
            false => format!(" over {key}, with {}.", given(&others)),
        };
        let table = csv(&shown)?;
        for (y, title) in FIGURES {
            let axes = Axes {
                x: key.clone(),
                y: y.to_owned(),
                by: "flow".to_owned(),
                flow: None,
                only: Vec::new(),
            };
            match plot(&table, &axes) {
                Ok(svg) => figures.push(Figure { title, caption: caption.clone(), svg }),
                // Words are no axis, and not every flow has every value.
                Err(PlotError::Number { .. } | PlotError::Empty { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(figures)
}

fn point(about: &About<'_>, runs: &[Run]) -> Markup {
    let point = runs.first().map(|run| run.point.as_slice()).unwrap_or_default();
    html! {
        h3 { @if point.is_empty() { "All runs" } @else { (given(point)) } }
        pre { (command(about.set, runs)) }
        (html_tables(runs))
    }
}

/// What runs these again.
fn command(set: &[(String, String)], runs: &[Run]) -> String {
    let first = runs.first();
    let point = first.map(|run| run.point.as_slice()).unwrap_or_default();
    let seed = first.map_or(1, |run| run.seed);
    let mut command = "anabranch lab run scenario.toml".to_owned();
    for (key, value) in set.iter().chain(point) {
        command += " --set ";
        command += &quoted(&format!("{key}={value}"));
    }
    format!("{command} --seed {seed} --seeds {}", runs.len())
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=.,:%/_-+".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn given(values: &[(String, String)]) -> String {
    let said: Vec<_> = values.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::{FlowOutcome, Outcome};
    use super::*;

    fn run(loss: &str, rate: &str, seed: u64) -> Run {
        let outcome = Outcome {
            flows: vec![FlowOutcome {
                name: "film".to_owned(),
                goodput_bps: 1e6 * seed as f64,
                delay_p95_ms: Some(20.0),
                ..FlowOutcome::default()
            }],
            links: Vec::new(),
        };
        let value = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        Run { point: vec![value("wifi.loss", loss), value("film.rate", rate)], seed, outcome }
    }

    #[test]
    fn a_report_has_all_that_it_takes_to_run_it_again() {
        let runs: Vec<Run> = [("0", "1M"), ("0", "2M"), ("1%", "1M"), ("1%", "2M")]
            .iter()
            .flat_map(|(loss, rate)| [1, 2].map(|seed| run(loss, rate, seed)))
            .collect();
        let set = [("wifi.rate".to_owned(), "trace:my file".to_owned())];
        let about = About { version: "0.1.0 (abc)", text: "duration = \"1s\"", set: &set };
        let page = report(&about, &runs).unwrap();
        for words in [
            "anabranch 0.1.0 (abc)",
            "anabranch lab run scenario.toml --set 'wifi.rate=trace:my file' --set wifi.loss=1% \
             --set film.rate=2M --seed 1 --seeds 2",
            "duration = &quot;1s&quot;",
            "1.50±6.35",
            "Goodput over wifi.loss, with film.rate=1M.",
            "version = {0.1.0 (abc)}",
        ] {
            assert!(page.contains(words), "lacks {words}:\n{page}");
        }
        // Two keys were swept, and there are goodput and delay, but no media.
        assert_eq!(page.matches("<svg").count(), 4);
    }

    #[test]
    fn what_was_swept_in_words_has_tables_alone() {
        let runs = [run("0", "bbr", 1), run("0", "cubic", 1)];
        let about = About { version: "0.1.0", text: "", set: &[] };
        let page = report(&about, &runs).unwrap();
        assert!(!page.contains("<svg") && page.contains("film.rate=cubic"));
    }
}
