//! [`Narrator`]: what happens, in words.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_driver::emulator::EmulatedLinkStats;
use anabranch_netsim::NamedLink;
use anabranch_sansio::PathId;
use anabranch_sansio::{Rate, Time};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::PathState;

use super::clip::ClipLayer;
use super::links::settings_of;
use super::timeline::LinkChange;
use crate::page::protocol::{AbandonedTally, EventKind, NewEvent, Severity};
use crate::page::sentence;
use crate::service;

/// How often it is looked whether something was abandoned, or a slider rests.
const GATHER: Duration = Duration::from_secs(1);

/// While more and more is abandoned, it is told so often.
const ABANDONED_AGAIN: Duration = Duration::from_secs(5);

/// Finds the words for what happens.
#[derive(Debug)]
pub(super) struct Narrator {
    names: Vec<String>,
    states: BTreeMap<PathId, PathState>,
    /// Links that were set anew since the last word about it.
    changed: BTreeMap<String, Time>,
    gathered_at: Time,
    /// The counters at the last look.
    abandoned: BTreeMap<ClipLayer, Abandoned>,
    /// What was abandoned and not told yet, and since when.
    untold: BTreeMap<ClipLayer, Abandoned>,
    untold_since: Option<Time>,
    abandoned_told_at: Option<Time>,
}

/// Messages given up, in the order of [`REASONS`].
type Abandoned = [u64; 3];

/// Why messages are given up, as the page names it.
const REASONS: [&str; 3] = ["expired", "retries used up", "never sent"];

impl Narrator {
    pub(super) fn new(links: &[NamedLink]) -> Self {
        Self {
            names: links.iter().map(|link| link.name.clone()).collect(),
            states: BTreeMap::new(),
            changed: BTreeMap::new(),
            gathered_at: Time::ZERO,
            abandoned: BTreeMap::new(),
            untold: BTreeMap::new(),
            untold_since: None,
            abandoned_told_at: None,
        }
    }

    /// A path's state changed.
    pub(super) fn path_state(&mut self, path: PathId, to: PathState) -> NewEvent {
        let name = self.name(path);
        let before = self.states.insert(path, to);
        let (severity, kind, text) = match to {
            PathState::PotentiallyFailed => (
                Severity::Warning,
                EventKind::PathPotentiallyFailed,
                format!("{name} does not answer."),
            ),
            PathState::Inactive => {
                (Severity::Bad, EventKind::PathFailed, format!("{name} failed."))
            }
            PathState::Active if before.is_some_and(has_failed) => {
                (Severity::Good, EventKind::PathActive, format!("{name} is back."))
            }
            PathState::Active => {
                (Severity::Info, EventKind::PathActive, format!("{name} answers and can be used."))
            }
            PathState::Unconfirmed => {
                (Severity::Info, EventKind::PathAdded, format!("{name} is being tried."))
            }
        };
        event(severity, kind, Some(path), text)
    }

    /// Data takes another path.
    pub(super) fn data_path(&self, from: PathId, to: PathId) -> NewEvent {
        let failed = self.states.get(&from).copied().is_some_and(has_failed);
        let name = self.name(to);
        let text = if failed {
            format!("Data now goes over {name}.")
        } else {
            format!("Data goes over {name} again.")
        };
        event(Severity::Info, EventKind::PrimaryChanged, Some(to), text)
    }

    /// A link was cut, restored or set anew. The last is told later, gathered.
    pub(super) fn link(&mut self, now: Time, change: &LinkChange) -> Option<NewEvent> {
        let path = self.path_of(change.link());
        match change {
            LinkChange::Cut(link) => {
                let text = format!("The link of {link} was cut.");
                Some(event(Severity::Warning, EventKind::LinkCut, path, text))
            }
            LinkChange::Restore(link) => {
                let text = format!("The link of {link} was mended.");
                Some(event(Severity::Info, EventKind::LinkRestored, path, text))
            }
            LinkChange::Rebind(link) => {
                let text = format!("The link of {link} changed its ports, as a NAT that restarts.");
                Some(event(Severity::Info, EventKind::LinkChanged, path, text))
            }
            LinkChange::Set(link) => {
                self.changed.insert(link.name.clone(), now);
                None
            }
        }
    }

    /// The sender left out pictures that the network does not carry.
    pub(super) fn left_out(
        &self,
        class: MediaClass,
        pictures: u64,
        span: Duration,
        carried: Option<Rate>,
    ) -> NewEvent {
        let text = sentence(&service::left_out(class, pictures, span, carried));
        event(Severity::Warning, EventKind::Abandoned, None, text)
    }

    /// All pictures of a class go again.
    pub(super) fn whole_again(&self, class: MediaClass) -> NewEvent {
        event(Severity::Good, EventKind::Note, None, sentence(&service::whole_again(class)))
    }

    /// What was gathered, if it is time to tell it.
    pub(super) fn gathered(
        &mut self,
        now: Time,
        links: &[EmulatedLinkStats],
        abandoned: &[(ClipLayer, AbandonedTally)],
    ) -> Vec<NewEvent> {
        let before = self.gathered_at;
        if now - before < GATHER {
            return Vec::new();
        }
        self.gathered_at = now;
        self.count_abandoned(before, abandoned);
        let settled = links.iter().filter_map(|link| self.link_settled(now, link));
        let mut events: Vec<_> = settled.collect();
        events.extend(self.tell_abandoned(now));
        events
    }

    /// A slider that moves is not told of before it rests.
    fn link_settled(&mut self, now: Time, link: &EmulatedLinkStats) -> Option<NewEvent> {
        self.changed.get(&link.name).filter(|moved| now - **moved >= GATHER / 2)?;
        self.changed.remove(&link.name);
        let set = settings_of(link);
        let text = format!(
            "The link of {} now has {} Mbit/s, a delay of {} ms and {} % loss.",
            link.name,
            set.rate_kbps / 1e3,
            set.delay_ms,
            set.loss_percent
        );
        Some(event(Severity::Info, EventKind::LinkChanged, self.path_of(&link.name), text))
    }

    fn count_abandoned(&mut self, before: Time, counters: &[(ClipLayer, AbandonedTally)]) {
        for (layer, tally) in counters {
            let now = [tally.lifetime, tally.retransmissions, tally.before_sending];
            let now = now.map(|tally| tally.messages);
            let then = self.abandoned.insert(*layer, now).unwrap_or_default();
            if now == then {
                continue;
            }
            self.untold_since.get_or_insert(before);
            let untold = self.untold.entry(*layer).or_default();
            for ((untold, now), then) in untold.iter_mut().zip(now).zip(then) {
                *untold += now.saturating_sub(then);
            }
        }
    }

    fn tell_abandoned(&mut self, now: Time) -> Option<NewEvent> {
        if self.abandoned_told_at.is_some_and(|told| now - told < ABANDONED_AGAIN) {
            return None;
        }
        let since = self.untold_since.take()?;
        self.abandoned_told_at = Some(now);
        let untold = std::mem::take(&mut self.untold);
        let total: u64 = untold.values().flatten().sum();
        let messages = if total == 1 { "message" } else { "messages" };
        let span = match (now - since).as_secs_f64().round() as u64 {
            0 | 1 => "second".to_owned(),
            seconds => format!("{seconds} seconds"),
        };
        let layers: Vec<_> =
            untold.iter().map(|(layer, counts)| describe(*layer, counts)).collect();
        let text =
            format!("{total} {messages} abandoned in the last {span}: {}.", layers.join(", "));
        Some(event(Severity::Warning, EventKind::Abandoned, None, text))
    }

    fn name(&self, path: PathId) -> String {
        let name = self.names.get(path.0 as usize).cloned();
        name.unwrap_or_else(|| format!("path {}", page_id(path)))
    }

    fn path_of(&self, link: &str) -> Option<PathId> {
        let index = self.names.iter().position(|name| name == link)?;
        u32::try_from(index).ok().map(PathId)
    }
}

/// `enhancement (29 expired, 28 never sent)`.
fn describe(layer: ClipLayer, counts: &Abandoned) -> String {
    let reasons = counts.iter().zip(REASONS).filter(|(count, _)| **count > 0);
    let reasons: Vec<_> = reasons.map(|(count, reason)| format!("{count} {reason}")).collect();
    format!("{} ({})", layer.noun(), reasons.join(", "))
}

/// Pages count paths from 1.
pub(super) fn page_id(path: PathId) -> u32 {
    path.0 + 1
}

fn has_failed(state: PathState) -> bool {
    matches!(state, PathState::PotentiallyFailed | PathState::Inactive)
}

pub(super) fn event(
    severity: Severity,
    kind: EventKind,
    path: Option<PathId>,
    text: String,
) -> NewEvent {
    NewEvent { severity, kind, path: path.map(page_id), text }
}

#[cfg(test)]
mod tests {
    use super::super::links::{mobile, wifi};
    use super::*;
    use crate::page::protocol::Tally;

    const WIFI: PathId = PathId(0);
    const MOBILE: PathId = PathId(1);

    fn narrator() -> Narrator {
        Narrator::new(&[wifi(), mobile()])
    }

    #[test]
    fn a_handoff_and_the_return_are_told_in_words() {
        let mut narrator = narrator();
        let texts = [
            narrator.path_state(MOBILE, PathState::Active),
            narrator.link(Time::ZERO, &LinkChange::Cut("wifi".into())).unwrap(),
            narrator.path_state(WIFI, PathState::PotentiallyFailed),
            narrator.data_path(WIFI, MOBILE),
            narrator.path_state(WIFI, PathState::Inactive),
            narrator.link(Time::ZERO, &LinkChange::Restore("wifi".into())).unwrap(),
            narrator.path_state(WIFI, PathState::Active),
            narrator.data_path(MOBILE, WIFI),
        ]
        .map(|event| event.text);
        let expected = [
            "mobile answers and can be used.",
            "The link of wifi was cut.",
            "wifi does not answer.",
            "Data now goes over mobile.",
            "wifi failed.",
            "The link of wifi was mended.",
            "wifi is back.",
            "Data goes over wifi again.",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_was_abandoned_is_told_at_once_and_then_every_five_seconds() {
        let mut narrator = narrator();
        let tally = |messages| Tally { messages, bytes: 0 };
        let mut look = |second: u64, lifetime, before| {
            let before_sending = tally(before);
            let abandoned =
                AbandonedTally { lifetime: tally(lifetime), before_sending, ..Default::default() };
            let layers =
                [(ClipLayer::Enhancement, abandoned), (ClipLayer::Base, AbandonedTally::default())];
            let events = narrator.gathered(Time::from_millis(second * 1_000), &[], &layers);
            events.into_iter().map(|event| event.text).collect::<Vec<_>>()
        };
        let none = Vec::<String>::new();
        assert_eq!(look(60, 0, 0), none);
        let first =
            "12 messages abandoned in the last second: enhancement (11 expired, 1 never sent).";
        assert_eq!(look(61, 11, 1), [first]);
        assert_eq!(look(62, 13, 1), none);
        assert_eq!(look(65, 14, 1), none);
        let more = "4 messages abandoned in the last 5 seconds: enhancement (4 expired).";
        assert_eq!(look(66, 15, 1), [more]);
        assert_eq!(look(99, 15, 1), none);
        let one = "1 message abandoned in the last second: enhancement (1 never sent).";
        assert_eq!(look(100, 15, 2), [one]);
    }

    #[tokio::test]
    async fn a_slider_is_told_of_when_it_rests() {
        let mut narrator = narrator();
        let targets = ["127.0.0.1:9".parse().unwrap()];
        let links = super::super::links::Links::spawn(&[wifi()], &targets, 1).unwrap();
        let change = LinkChange::Set(Box::new(wifi()));
        assert_eq!(narrator.link(Time::from_millis(900), &change), None);
        assert_eq!(narrator.gathered(Time::from_millis(1_000), &links.stats(), &[]), []);
        let told = narrator.gathered(Time::from_millis(2_000), &links.stats(), &[]);
        assert_eq!(
            told[0].text,
            "The link of wifi now has 20 Mbit/s, a delay of 10 ms and 0.1 % loss."
        );
        assert_eq!(narrator.gathered(Time::from_millis(3_000), &links.stats(), &[]), []);
    }
}
