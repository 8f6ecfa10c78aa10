//! [`Timeline`]: what happens to the links while the demo runs.

use std::collections::VecDeque;
use std::str::FromStr;
use std::time::Duration;

use anabranch_netsim::{Action, NamedLink, Scenario};
use thiserror::Error;

/// Cuts of a run that measures handoffs.
const HANDOFFS: u32 = 20;

/// Before the first cut, and between two: the path is back and carries data again. No multiple of
/// the 480 ms between key frames, so that cuts hit all parts of a group of pictures.
const HANDOFF_PERIOD: Duration = Duration::from_millis(6_100);

/// How long each lasts: the path is given up for good.
const HANDOFF_OUTAGE: Duration = Duration::from_secs(2);

/// What happens to the links, in the order of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    steps: VecDeque<Step>,
    end: Duration,
}

/// What happens at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// From the first picture.
    pub at: Duration,
    /// What happens.
    pub change: LinkChange,
}

/// What happens to a link.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkChange {
    /// Nothing passes any more.
    Cut(String),
    /// Packets pass again.
    Restore(String),
    /// The far end sees what comes through it from other ports, as after a NAT's restart.
    Rebind(String),
    /// It gets other settings.
    Set(Box<NamedLink>),
}

impl LinkChange {
    /// The link's name.
    #[must_use]
    pub fn link(&self) -> &str {
        match self {
            Self::Cut(link) | Self::Restore(link) | Self::Rebind(link) => link,
            Self::Set(link) => &link.name,
        }
    }
}

/// An outage: `LINK@FROM..TO` in seconds, as in `wifi@5s..8s`; without TO to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The link's name.
    pub link: String,
    /// Its start.
    pub from: Duration,
    /// Its end, if it has one.
    pub to: Option<Duration>,
}

/// What cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TimelineError {
    /// The text is no outage.
    #[error("\"{text}\" is no cut: give LINK@FROM..TO in seconds, as in wifi@5s..8s")]
    Cut {
        /// What was given.
        text: String,
    },
    /// It ends before it begins.
    #[error("the cut \"{text}\" ends before it begins: give the earlier time first")]
    Backwards {
        /// What was given.
        text: String,
    },
    /// There is no such link.
    #[error("there is no link \"{link}\"; there is {}", .known.join(", "))]
    UnknownLink {
        /// What was given.
        link: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A scenario has a NAT, which only the simulator has.
    #[error("the demo has no [[nats]]: leave out that of \"{link}\", each link is a NAT already")]
    Nat {
        /// The link where it stands.
        link: String,
    },
    /// A scenario asks what only the simulator can answer.
    #[error("the demo cannot check \"{expectation}\": leave check steps out, or simulate")]
    Check {
        /// What the scenario asks.
        expectation: String,
    },
}

impl Timeline {
    /// Cuts `link` twenty times, for two seconds every six or so.
    #[must_use]
    pub fn handoffs(link: &str) -> Self {
        let cuts = (1..=HANDOFFS).map(|nth| {
            let from = HANDOFF_PERIOD * nth;
            Cut { link: link.to_owned(), from, to: Some(from + HANDOFF_OUTAGE) }
        });
        let mut timeline = Self::of_cuts(cuts);
        timeline.end = HANDOFF_PERIOD * (HANDOFFS + 1);
        timeline
    }

    /// The steps of a scenario, which runs in the simulator as well.
    ///
    /// # Errors
    /// A step asks for what only the simulator can do.
    pub fn of_scenario(scenario: &Scenario) -> Result<Self, TimelineError> {
        if let Some(nat) = scenario.nats.first() {
            return Err(TimelineError::Nat { link: nat.link.clone() });
        }
        let mut timeline = Self::default();
        for action in &scenario.steps {
            let change = match action {
                Action::Run(span) => {
                    timeline.end += *span;
                    continue;
                }
                Action::Cut(link) => LinkChange::Cut(link.clone()),
                Action::Restore(link) => LinkChange::Restore(link.clone()),
                // The emulator has no other address: other ports have to do.
                Action::Rebind(link) | Action::Address(link) => LinkChange::Rebind(link.clone()),
                Action::Link(link) => LinkChange::Set(Box::new(link.clone())),
                Action::Check(expectation) => {
                    return Err(TimelineError::Check { expectation: expectation.clone() });
                }
            };
            timeline.steps.push_back(Step { at: timeline.end, change });
        }
        Ok(timeline)
    }

    /// Outages.
    pub fn of_cuts(cuts: impl IntoIterator<Item = Cut>) -> Self {
        let mut timeline = Self::default();
        for Cut { link, from, to } in cuts {
            timeline.steps.push_back(Step { at: from, change: LinkChange::Cut(link.clone()) });
            let restore = to.map(|at| Step { at, change: LinkChange::Restore(link) });
            timeline.steps.extend(restore);
        }
        timeline.in_order()
    }

    /// All steps of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self.end = self.end.max(other.end);
        self.in_order()
    }

    /// Whether every link that is named exists.
    ///
    /// # Errors
    /// The first one that does not.
    pub fn check(&self, links: &[NamedLink]) -> Result<(), TimelineError> {
        let exists = |name: &str| links.iter().any(|link| link.name == name);
        let Some(unknown) = self.steps.iter().find(|step| !exists(step.change.link())) else {
            return Ok(());
        };
        Err(TimelineError::UnknownLink {
            link: unknown.change.link().to_owned(),
            known: links.iter().map(|link| link.name.clone()).collect(),
        })
    }

    /// When all has happened.
    #[must_use]
    pub fn end(&self) -> Duration {
        let last = self.steps.back().map_or(Duration::ZERO, |step| step.at);
        self.end.max(last)
    }

    /// When the next step is due.
    pub(super) fn next_at(&self) -> Option<Duration> {
        self.steps.front().map(|step| step.at)
    }

    /// The next step, if it is due.
    pub(super) fn pop(&mut self, elapsed: Duration) -> Option<LinkChange> {
        self.steps.pop_front_if(|step| step.at <= elapsed).map(|step| step.change)
    }

    fn in_order(mut self) -> Self {
        self.steps.make_contiguous().sort_by_key(|step| step.at);
        self
    }
}

impl FromStr for Cut {
    type Err = TimelineError;

    fn from_str(text: &str) -> Result<Self, TimelineError> {
        let cut = || TimelineError::Cut { text: text.to_owned() };
        let (link, span) = text.split_once('@').ok_or_else(cut)?;
        let (from, to) = span.split_once("..").ok_or_else(cut)?;
        let from = seconds(from).filter(|_| !link.is_empty()).ok_or_else(cut)?;
        let to = match to {
            "" => None,
            to => Some(seconds(to).ok_or_else(cut)?),
        };
        if to.is_some_and(|to| to <= from) {
            return Err(TimelineError::Backwards { text: text.to_owned() });
        }
        Ok(Self { link: link.to_owned(), from, to })
    }
}

/// `5`, `5s`, `2.5s`.
fn seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.strip_suffix('s').unwrap_or(text).parse().ok()?;
    Duration::try_from_secs_f64(number).ok()
}

#[cfg(test)]
mod tests {
    use anabranch_netsim::{LinkConfig, NamedNat, NatConfig};

    use super::*;

    fn cut(text: &str) -> Result<Cut, TimelineError> {
        text.parse()
    }

    fn links() -> Vec<NamedLink> {
        let link = |name: &str| NamedLink {
            name: name.to_owned(),
            forward: LinkConfig::default(),
            backward: None,
        };
        vec![link("wifi"), link("mobile")]
    }

    #[test]
    fn cuts_are_read_as_people_write_them() {
        let wifi = Cut {
            link: "wifi".into(),
            from: Duration::from_secs(5),
            to: Some(Duration::from_secs(8)),
        };
        assert_eq!(cut("wifi@5s..8s"), Ok(wifi.clone()));
        assert_eq!(cut("wifi@5..8"), Ok(wifi));
        let open = cut("mobile@2.5s..").unwrap();
        assert_eq!((open.from, open.to), (Duration::from_millis(2_500), None));
    }

    #[test]
    fn what_is_no_cut_is_refused_with_an_example() {
        for text in
            ["", "wifi", "wifi@5", "@1..2", "wifi@..3", "wifi@a..b", "wifi@-1..2", "w@1..inf"]
        {
            let error = cut(text).unwrap_err();
            assert_eq!(error, TimelineError::Cut { text: text.into() });
            assert!(error.to_string().ends_with("as in wifi@5s..8s"));
        }
        assert!(matches!(cut("wifi@8s..5s"), Err(TimelineError::Backwards { .. })));
    }

    #[test]
    fn steps_come_in_the_order_of_time() {
        let both = Timeline::of_cuts([cut("wifi@5..8").unwrap(), cut("mobile@6..7").unwrap()]);
        let mut timeline = both.and(Timeline::of_cuts([cut("wifi@1..2").unwrap()]));
        assert_eq!(timeline.end(), Duration::from_secs(8));
        assert_eq!(timeline.pop(Duration::ZERO), None);
        let mut seen = Vec::new();
        while let Some(at) = timeline.next_at() {
            let change = timeline.pop(at).unwrap();
            seen.push((at.as_secs(), change.link().to_owned()));
        }
        let expected =
            [(1, "wifi"), (2, "wifi"), (5, "wifi"), (6, "mobile"), (7, "mobile"), (8, "wifi")];
        assert_eq!(seen, expected.map(|(at, link)| (at, link.to_owned())));
    }

    #[test]
    fn a_scenario_of_the_simulator_is_played_step_by_step() {
        let text = r#"
            duration = "3s"
            seed = 7
            events = [{ at = "1500ms", cut = "wifi" }, { at = "2s", restore = "wifi" },
                      { at = "2s", change = "wifi", rate = "2M" }, { at = "2s", rebind = "wifi" }]
            [[links]]
            name = "wifi"
            preset = "wifi"
        "#;
        let no_files = |file: &str| Err(format!("{file} is not needed"));
        let mut scenario = Scenario::from_toml(text, &no_files).unwrap();
        let mut timeline = Timeline::of_scenario(&scenario).unwrap();
        assert_eq!(timeline.end(), Duration::from_secs(3));
        assert_eq!(timeline.next_at(), Some(Duration::from_millis(1_500)));
        let cut = timeline.pop(Duration::from_secs(9));
        assert_eq!(cut, Some(LinkChange::Cut("wifi".into())));

        let last = std::iter::from_fn(|| timeline.pop(Duration::from_secs(9))).last();
        assert_eq!(last, Some(LinkChange::Rebind("wifi".into())));

        scenario.steps.push(Action::Check("all is well".into()));
        let error = Timeline::of_scenario(&scenario).unwrap_err();
        assert_eq!(error, TimelineError::Check { expectation: "all is well".into() });
        scenario.nats.push(NamedNat { link: "wifi".into(), config: NatConfig::default() });
        let error = Timeline::of_scenario(&scenario).unwrap_err();
        assert_eq!(error, TimelineError::Nat { link: "wifi".into() });
    }

    #[test]
    fn unknown_links_are_named_with_those_there_are() {
        let timeline = Timeline::of_cuts([cut("wifi@1..2").unwrap(), cut("dsl@1..2").unwrap()]);
        let error = timeline.check(&links()).unwrap_err();
        assert_eq!(error.to_string(), "there is no link \"dsl\"; there is wifi, mobile");
        assert_eq!(Timeline::handoffs("wifi").check(&links()), Ok(()));
    }

    #[test]
    fn twenty_handoffs_leave_time_to_return() {
        let timeline = Timeline::handoffs("wifi");
        assert_eq!(timeline.steps.len(), 40);
        let times: Vec<_> = timeline.steps.iter().map(|step| step.at).collect();
        assert!(times.is_sorted());
        assert_eq!(timeline.end(), Duration::from_millis(128_100));
    }
}
