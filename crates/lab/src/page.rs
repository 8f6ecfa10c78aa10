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

/// The first and the last of them.
pub(crate) fn seeds_in_words(seeds: impl Iterator<Item = u64> + Clone) -> String {
    match (seeds.clone().min(), seeds.max()) {
        (Some(first), Some(last)) if first < last => format!("{first} to {last}"),
        (Some(one), _) => one.to_string(),
        (None, _) => "none".to_owned(),
    }
}
