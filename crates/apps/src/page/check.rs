//! What is wrong with a request, in words for the page.

use serde_json::Value;
use thiserror::Error;

use super::protocol::{Hello, Range, Reliability, Request};

/// Texts of a bad request that are repeated in the answer: at most so many characters.
const ECHO_CHARS_MAX: usize = 60;

/// Why a request was not taken.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub(super) enum RequestError {
    #[error("That was binary; requests are JSON texts.")]
    Binary,
    #[error("That was not JSON: {reason}.")]
    NotJson { reason: String },
    #[error(
        "There is no request {}; there are set_link, set_treatment, preset, set_latency, choose, \
         seen, restart and page_stats.",
        .kind.as_deref().unwrap_or("without a type")
    )]
    UnknownType { kind: Option<String> },
    #[error("The request {kind} cannot be read: {reason}.")]
    BadFields { kind: String, reason: String },
    #[error("Path {path} does not exist; there {}.", numbers("is path", "are paths", .known))]
    UnknownPath { path: u32, known: Vec<u32> },
    #[error("There is no class {class}; there {}.", texts("is", "are", .known))]
    UnknownClass { class: String, known: Vec<String> },
    #[error("The {what} cannot be changed here.")]
    Fixed { what: &'static str },
    #[error("Nothing has finished here that could be started again.")]
    NotFinished,
    #[error("{value} is out of range: the {what} is {} to {}.", .range.0, .range.1)]
    OutOfRange { what: &'static str, value: f64, range: Range },
}

impl RequestError {
    /// Whether the page broke the protocol, rather than asked for what cannot be.
    pub(super) const fn is_breach(&self) -> bool {
        match self {
            Self::Binary
            | Self::NotJson { .. }
            | Self::UnknownType { .. }
            | Self::BadFields { .. } => true,
            Self::UnknownPath { .. }
            | Self::UnknownClass { .. }
            | Self::Fixed { .. }
            | Self::NotFinished
            | Self::OutOfRange { .. } => false,
        }
    }
}

/// The request's type, if it has one that is known.
const TYPES: [&str; 8] = [
    "set_link",
    "set_treatment",
    "preset",
    "set_latency",
    "choose",
    "seen",
    "restart",
    "page_stats",
];

/// Reads a request. An error comes with the request's type.
pub(super) fn parse(text: &str) -> Result<Request, (Option<String>, RequestError)> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| (None, RequestError::NotJson { reason: error.to_string() }))?;
    let kind = value.get("type").and_then(Value::as_str).map(echo);
    let Some(known) = kind.clone().filter(|kind| TYPES.contains(&kind.as_str())) else {
        return Err((kind.clone(), RequestError::UnknownType { kind }));
    };
    serde_json::from_value(value).map_err(|error| {
        let reason = echo(&error.to_string());
        (kind, RequestError::BadFields { kind: known, reason })
    })
}

/// Whether what a request names exists and is within the ranges that the page was told.
pub(super) fn check(request: &Request, hello: &Hello, paths: &[u32]) -> Result<(), RequestError> {
    let controls = &hello.controls;
    match request {
        Request::SetLink(set) => {
            let ranges = controls.links.ok_or(RequestError::Fixed { what: "links" })?;
            known_path(set.path, paths)?;
            within("rate in kbit/s", set.link.rate_kbps, ranges.rate_kbps)?;
            within("delay in ms", set.link.delay_ms, ranges.delay_ms)?;
            within("loss in percent", set.link.loss_percent, ranges.loss_percent)
        }
        Request::SetTreatment(treatment) => {
            let fixed = RequestError::Fixed { what: "treatments" };
            let ranges = controls.treatments.ok_or(fixed)?;
            known_class(&treatment.class, hello)?;
            if let Some(path) = treatment.path {
                known_path(path, paths)?;
            }
            within("priority", treatment.priority.into(), ranges.priority)?;
            match treatment.reliability {
                Reliability::Reliable => Ok(()),
                Reliability::LifetimeMs(ms) => {
                    within("lifetime in ms", ms.into(), ranges.lifetime_ms)
                }
                Reliability::MaxRetransmissions(most) => {
                    within("number of retransmissions", most.into(), ranges.max_retransmissions)
                }
            }
        }
        Request::Preset { .. } if controls.treatments.is_none() => {
            Err(RequestError::Fixed { what: "treatments" })
        }
        Request::SetLatency { latency_ms } => {
            let range = controls.latency_ms.ok_or(RequestError::Fixed { what: "latency" })?;
            within("latency in ms", *latency_ms, range)
        }
        Request::Choose { .. } | Request::Seen { .. } if !controls.channels => {
            Err(RequestError::Fixed { what: "channel" })
        }
        Request::Preset { .. }
        | Request::Choose { .. }
        | Request::Seen { .. }
        | Request::Restart
        | Request::PageStats(_) => Ok(()),
    }
}

/// The `type` of a request.
pub(super) const fn type_of(request: &Request) -> &'static str {
    match request {
        Request::SetLink(_) => "set_link",
        Request::SetTreatment(_) => "set_treatment",
        Request::Preset { .. } => "preset",
        Request::SetLatency { .. } => "set_latency",
        Request::Choose { .. } => "choose",
        Request::Seen { .. } => "seen",
        Request::Restart => "restart",
        Request::PageStats(_) => "page_stats",
    }
}

fn known_path(path: u32, known: &[u32]) -> Result<(), RequestError> {
    if known.contains(&path) {
        return Ok(());
    }
    Err(RequestError::UnknownPath { path, known: known.to_vec() })
}

fn known_class(class: &str, hello: &Hello) -> Result<(), RequestError> {
    if hello.classes.iter().any(|known| known.id == class) {
        return Ok(());
    }
    let known = hello.classes.iter().map(|class| class.id.clone()).collect();
    Err(RequestError::UnknownClass { class: echo(class), known })
}

fn within(what: &'static str, value: f64, range: Range) -> Result<(), RequestError> {
    if range.contains(value) {
        return Ok(());
    }
    Err(RequestError::OutOfRange { what, value, range })
}

fn echo(text: &str) -> String {
    text.chars().take(ECHO_CHARS_MAX).collect()
}

fn numbers(one: &str, several: &str, values: &[u32]) -> String {
    let values: Vec<_> = values.iter().map(u32::to_string).collect();
    texts(one, several, &values)
}

/// "is path 1", "are paths 1, 2 and 3", "are none".
fn texts(one: &str, several: &str, values: &[String]) -> String {
    match values {
        [] => "are none".to_owned(),
        [only] => format!("{one} {only}"),
        [first @ .., last] => format!("{several} {} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocol::{Controls, Mode, ProgramMessage};
    use super::*;

    fn hello() -> Hello {
        let text = include_str!("../../../../web/fixtures/hello.json");
        let Ok(ProgramMessage::Hello(hello)) = serde_json::from_str(text) else {
            panic!("not a hello");
        };
        *hello
    }

    fn refused(text: &str, hello: &Hello) -> String {
        let request = parse(text).unwrap();
        let error = check(&request, hello, &[1, 2]).unwrap_err();
        assert!(!error.is_breach());
        error.to_string()
    }

    #[test]
    fn what_the_page_was_offered_is_taken() {
        for text in [
            include_str!("../../../../web/fixtures/set_link.json"),
            include_str!("../../../../web/fixtures/set_treatment.json"),
            include_str!("../../../../web/fixtures/preset.json"),
            include_str!("../../../../web/fixtures/set_latency.json"),
            include_str!("../../../../web/fixtures/page_stats.json"),
        ] {
            let request = parse(text).unwrap();
            assert_eq!(check(&request, &hello(), &[1, 2]), Ok(()));
            assert!(text.contains(type_of(&request)));
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_what_would_be_right() {
        let link = |path, rate| {
            format!(
                r#"{{"type":"set_link","path":{path},"rate_kbps":{rate},"delay_ms":1,
                "loss_percent":0,"cut":false}}"#
            )
        };
        assert_eq!(
            refused(&link(7, "500"), &hello()),
            "Path 7 does not exist; there are paths 1 and 2."
        );
        assert_eq!(
            refused(&link(1, "1e300"), &hello()),
            format!("{} is out of range: the rate in kbit/s is 100 to 100000.", 1e300)
        );
        let treatment = r#"{"type":"set_treatment","class":"fog","reliability":"reliable",
            "ordered":true,"priority":1,"path":null}"#;
        assert!(refused(treatment, &hello()).starts_with("There is no class fog; there are "));
        let treatment = treatment.replace("fog", "audio").replace("1,", "8,");
        assert!(refused(&treatment, &hello()).ends_with("the priority is 0 to 7."));
        let short = treatment.replace(r#""reliable""#, r#"{"lifetime_ms":9}"#).replace("8,", "1,");
        assert!(refused(&short, &hello()).ends_with("the lifetime in ms is 10 to 10000."));
    }

    #[test]
    fn a_receiver_that_controls_nothing_says_so() {
        let hello = Hello { controls: Controls::default(), ..Hello::new(Mode::Recv) };
        let preset = r#"{"type":"preset","preset":"live"}"#;
        assert_eq!(refused(preset, &hello), "The treatments cannot be changed here.");
        let latency = r#"{"type":"set_latency","latency_ms":100}"#;
        assert_eq!(refused(latency, &hello), "The latency cannot be changed here.");
    }

    #[test]
    fn channels_are_chosen_where_there_are_some() {
        let [choose, seen] = [
            include_str!("../../../../web/fixtures/choose.json"),
            include_str!("../../../../web/fixtures/seen.json"),
        ];
        for text in [choose, seen] {
            assert_eq!(refused(text, &hello()), "The channel cannot be changed here.");
            let mut hello = Hello::new(Mode::Watch);
            hello.controls.channels = true;
            let request = parse(text).unwrap();
            assert_eq!(check(&request, &hello, &[]), Ok(()));
            assert!(text.contains(type_of(&request)));
        }
    }

    #[test]
    fn what_is_no_request_is_a_breach_and_named() {
        for (text, kind, words) in [
            ("{", None, "That was not JSON"),
            ("[1]", None, "There is no request without a type"),
            (r#"{"type":"dance"}"#, Some("dance"), "There is no request dance"),
            (r#"{"type":"preset","preset":"best"}"#, Some("preset"), "cannot be read"),
            (r#"{"type":"set_link","path":-1}"#, Some("set_link"), "cannot be read"),
            (r#"{"type":"choose","number":"two"}"#, Some("choose"), "cannot be read"),
            (r#"{"type":"choose","number":4294967296}"#, Some("choose"), "cannot be read"),
            (r#"{"type":"seen"}"#, Some("seen"), "cannot be read"),
        ] {
            let (named, error) = parse(text).unwrap_err();
            assert_eq!(named.as_deref(), kind);
            assert!(error.is_breach() && error.to_string().contains(words), "{error}");
        }
        let long = format!(r#"{{"type":"{}"}}"#, "x".repeat(5_000));
        assert!(parse(&long).unwrap_err().1.to_string().len() < 200);
    }
}
