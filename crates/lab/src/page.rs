//! What the reports of all experiments share: one page that refers to nothing outside itself.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// The whole document.
pub(crate) fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// What is open, and the choice with its reason.
pub(crate) fn assumed(assumptions: &[(&str, &str)]) -> Markup {
    html! {
        h2 id="assumptions" { "Assumptions" }
        p { "What the paper leaves open or contradicts itself on, and what was chosen." }
        dl { @for (what, chosen) in assumptions { dt { (what) } dd { (chosen) } } }
    }
}

/// How to cite what this build, by its version and commit, gave: what makes it again is named.
pub(crate) fn cited(version: &str, what: &str) -> Markup {
    let citation = format!(
        "@software{{anabranch,\n  title   = {{anabranch}},\n  author  = {{{{The anabranch \
         authors}}}},\n  version = {{{version}}},\n  note    = {{Experiment: {what}}}\n}}"
    );
    html! {
        h2 id="cite" { "How to cite" }
        p { "Name the version and the commit, so that others can build the same:" }
        pre { (citation) }
    }
}

/// The first and the last of them.
pub(crate) fn seeds_in_words(seeds: impl Iterator<Item = u64> + Clone) -> String {
    match (seeds.clone().min(), seeds.max()) {
        (Some(first), Some(last)) if first < last => format!("{first} to {last}"),
        (Some(one), _) => one.to_string(),
        (None, _) => "none".to_owned(),
    }
}

/// How a report begins.
pub(crate) struct Heading<'a> {
    pub(crate) title: &'a str,
    /// Which experiment it is.
    pub(crate) about: &'a str,
    /// What is not the paper's, if anything, and what follows from that.
    pub(crate) said: Option<String>,
    pub(crate) left_out: &'a str,
    /// The command that gives the same results.
    pub(crate) command: &'a str,
    pub(crate) seeds: String,
    pub(crate) cells: usize,
    pub(crate) simulated_s: usize,
    /// The command that runs one cell again.
    pub(crate) again: String,
    /// Its parts: what they are called here, and in words.
    pub(crate) parts: Vec<(&'a str, &'a str)>,
}

impl Heading<'_> {
    /// As the report's first lines.
    pub(crate) fn shown(&self) -> Markup {
        html! {
            h1 { (self.title) }
            p { (self.about) }
            @if let Some(said) = &self.said { p { strong { (said) } " " (self.left_out) } }
            p {
                "Run as " code { (self.command) } " with anabranch " (env!("CARGO_PKG_VERSION"))
                ", seeds " (self.seeds) ": " (self.cells) " cells, " (self.simulated_s)
                " simulated seconds. Any cell runs again, and is captured, by "
                code { (self.again) }
                "."
            }
            nav { @for (id, words) in &self.parts { a href={ "#" (id) } { (words) } } }
        }
    }
}
